//! A real PostgreSQL for tests: on loopback, as a user who is not root, with data that go with the process.
//!
//! Law: without PostgreSQL the tests that need it say so and skip. Each test has a database of its own.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// A server.
pub(crate) struct Server {
    programs: PathBuf,
    folder: tempfile::TempDir,
    port: u16,
    child: Mutex<Option<Child>>,
    next: AtomicU64,
    /// Further arguments.
    settings: Vec<String>,
}

/// A database in it, with tables, and a folder for objects.
pub(crate) struct Database {
    port: u16,
    pub(crate) name: String,
    pub(crate) objects: tempfile::TempDir,
}

/// Roles that can log in, and what each belongs to.
const ROLES: [(&str, Option<&str>); 5] = [
    ("olga", Some("headwater_owner")),
    ("ann", Some("headwater_writer")),
    ("bob", Some("headwater_writer")),
    ("rea", Some("headwater_reader")),
    ("eve", None),
];

/// The server that all tests of this process share; `None` where there is no PostgreSQL.
pub(crate) fn shared() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(Server::start).as_ref()
}

/// Where the programs of the server are.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let mut found: Vec<PathBuf> = versions
        .map(|version| version.path().join("bin"))
        .filter(|path| path.join("initdb").is_file())
        .collect();
    found.sort();
    found.pop()
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0)
}

/// A command that runs as somebody who is not root, and does not outlive the thread that starts it.
fn command(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if is_root() {
        command.args([
            "--reuid",
            "postgres",
            "--regid",
            "postgres",
            "--clear-groups",
        ]);
    }
    command.arg(program).stdin(Stdio::null());
    command
}

/// Starts a process from a thread that lives as long as this process: its end is the end of what it started.
fn start_for_ever(mut command: Command) -> Option<Child> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = sender.send(command.spawn());
        loop {
            std::thread::park();
        }
    });
    receiver.recv().ok()?.ok()
}

impl Server {
    /// Starts one.
    pub(crate) fn start() -> Option<Server> {
        Server::start_with(|_| Vec::new())
    }

    /// Starts one after something was changed in the folder of its data; gives further arguments.
    pub(crate) fn start_with(change: impl FnOnce(&Path) -> Vec<String>) -> Option<Server> {
        let Some(programs) = programs() else {
            eprintln!("skipped: PostgreSQL is not installed (Debian package `postgresql`)");
            return None;
        };
        let memory = Path::new("/dev/shm");
        let folder = tempfile::tempdir_in(memory)
            .or_else(|_| tempfile::tempdir())
            .expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("a mode");
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|it| it.local_addr())
            .expect("a port")
            .port();
        let made = command(&programs.join("initdb"))
            .args([
                "--username=postgres",
                "--auth=trust",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
                "-D",
            ])
            .arg(folder.path().join("data"))
            .output()
            .expect("setpriv is there");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let settings = change(&folder.path().join("data"));
        let server = Server {
            settings,
            programs,
            folder,
            port,
            child: Mutex::new(None),
            next: AtomicU64::new(0),
        };
        server.begin();
        let mut client = server.client("postgres", "postgres").expect("a connection");
        for (role, _) in ROLES {
            client
                .batch_execute(&format!("CREATE ROLE {role} LOGIN"))
                .expect("a role");
        }
        Some(server)
    }

    /// Starts the process and waits until it answers.
    pub(crate) fn begin(&self) {
        let mut command = command(&self.programs.join("postgres"));
        command
            .arg("-D")
            .arg(self.folder.path().join("data"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(["-c", "fsync=off", "-c", "max_connections=200"])
            .args([
                "-c",
                "shared_buffers=64MB",
                "-c",
                "unix_socket_directories=",
            ])
            .args(&self.settings)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        *self.child() = start_for_ever(command);
        let end = Instant::now() + Duration::from_secs(60);
        while self.client("postgres", "postgres").is_err() {
            assert!(Instant::now() < end, "PostgreSQL does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn child(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills it: as when the machine that it runs on loses its process.
    pub(crate) fn kill(&self) {
        if let Some(mut child) = self.child().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        // Its children end by themselves; a new one waits for their memory otherwise.
        std::thread::sleep(Duration::from_millis(300));
    }

    /// A connection as a role.
    pub(crate) fn client(
        &self,
        role: &str,
        database: &str,
    ) -> Result<postgres::Client, postgres::Error> {
        let url = format!("postgresql://{role}@127.0.0.1:{}/{database}", self.port);
        postgres::Client::connect(&url, postgres::NoTls)
    }

    /// A database with tables, and with the roles in it.
    pub(crate) fn database(&self) -> Database {
        self.database_with(None)
    }

    /// The same, with objects elsewhere.
    pub(crate) fn database_with(&self, place: Option<&str>) -> Database {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("group_{number}");
        let mut client = self.client("postgres", "postgres").expect("a connection");
        client
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .expect("a database");
        let objects = tempfile::tempdir().expect("a folder");
        fs::set_permissions(objects.path(), fs::Permissions::from_mode(0o777)).expect("a mode");
        let database = Database {
            port: self.port,
            name,
            objects,
        };
        let folder = database.objects.path().display().to_string();
        let place = place.unwrap_or(&folder);
        headwater_group::init(&database.url("postgres"), Some(place)).expect("tables");
        for (role, member) in ROLES {
            if let Some(member) = member {
                client
                    .batch_execute(&format!("GRANT {member} TO {role}"))
                    .expect("a grant");
            }
        }
        database
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Database {
    /// Its URL, for a role.
    pub(crate) fn url(&self, role: &str) -> String {
        format!("postgresql://{role}@127.0.0.1:{}/{}", self.port, self.name)
    }
}

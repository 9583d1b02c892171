//! Nodes that Slurm starts: a real controller and two real nodes of it, on this machine.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::nodes::{files, mixed};
use crate::place::{Place, Ran};

/// Slurm without systemd; it ends with this.
struct Slurm {
    folder: TempDir,
    processes: Vec<Child>,
}

/// A port that nobody has now.
fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Slurm {
    /// `None` where it cannot be started, with the reason on standard error.
    fn start() -> Option<Slurm> {
        let is_root = fs::metadata("/proc/self").is_ok_and(|own| {
            use std::os::unix::fs::MetadataExt as _;
            own.uid() == 0
        });
        let has = |program: &str| {
            let mut command = Command::new(program);
            let told = command
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            told.status().is_ok()
        };
        let programs = ["munged", "slurmctld", "slurmd", "sbatch"];
        if !is_root || !programs.into_iter().all(has) {
            eprintln!("skipped: Slurm is not installed, or this is not root");
            return None;
        }
        // Slurm takes no spaces in paths.
        let folder = tempfile::Builder::new()
            .prefix("slurm")
            .tempdir()
            .expect("a folder");
        let mut slurm = Slurm {
            folder,
            processes: Vec::new(),
        };
        use std::os::unix::fs::PermissionsExt as _;
        let at = slurm.folder.path().to_path_buf();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).expect("a mode");
        for name in ["state", "spool", "log", "run"] {
            fs::create_dir(at.join(name)).expect("a folder");
        }
        let mut key = [0; 1024];
        use std::io::Read as _;
        let random = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
        random.expect("random bytes");
        fs::write(at.join("key"), key).expect("a file");
        fs::set_permissions(at.join("key"), fs::Permissions::from_mode(0o400)).expect("a mode");
        let shown = at.display();
        let text = format!(
            "ClusterName=test\nSlurmctldHost=localhost\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={shown}/run/munge\nCredType=cred/munge\n\
             StateSaveLocation={shown}/state\nSlurmdSpoolDir={shown}/spool/%n\n\
             SlurmctldPidFile={shown}/run/ctld.pid\nSlurmdPidFile={shown}/run/%n.pid\n\
             SlurmctldLogFile={shown}/log/ctld\nSlurmdLogFile={shown}/log/%n\nSlurmctldPort={}\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nMpiDefault=none\nReturnToService=2\n\
             SchedulerType=sched/backfill\nSchedulerParameters=batch_sched_delay=0,sched_min_interval=0\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nSwitchType=switch/none\n\
             SlurmdTimeout=10\nMessageTimeout=10\nKillWait=2\n\
             NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={} CPUs=2 State=UNKNOWN\n\
             NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={} CPUs=2 State=UNKNOWN\n\
             PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES\n",
            port(),
            port(),
            port(),
        );
        fs::write(at.join("slurm.conf"), text).expect("a file");
        let key = format!("--key-file={shown}/key");
        let socket = format!("--socket={shown}/run/munge");
        let others = ["pid-file", "log-file", "seed-file"]
            .map(|name| format!("--{name}={shown}/run/{name}"));
        let mut munge = vec!["--foreground", "--force", &key, &socket];
        munge.extend(others.iter().map(String::as_str));
        slurm.begin("munged", &munge);
        let until = Instant::now() + Duration::from_secs(20);
        while !at.join("run/munge").exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        let conf = format!("{shown}/slurm.conf");
        slurm.begin("slurmctld", &["-D", "-f", &conf]);
        slurm.begin("slurmd", &["-D", "-f", &conf, "-N", "n1"]);
        slurm.begin("slurmd", &["-D", "-f", &conf, "-N", "n2"]);
        while Instant::now() < until {
            let idle = slurm.said("sinfo", &["-h", "-o", "%D %t"]);
            if idle.trim() == "2 idle" {
                return Some(slurm);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        eprintln!("skipped: Slurm did not start on this machine");
        None
    }

    fn begin(&mut self, program: &str, arguments: &[&str]) {
        let begun = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.processes.push(begun.expect("it can be started"));
    }

    fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    fn said(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        let output = command
            .args(arguments)
            .env("SLURM_CONF", self.conf())
            .output();
        output.map_or_else(
            |_| String::new(),
            |output| String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    }

    fn run(&self, place: &Place, more: &[&str]) -> Command {
        let mut all = vec![
            "run",
            "flow.yaml",
            "--inputs",
            "data.yaml",
            "--json",
            "-o",
            "results",
        ];
        all.extend(more);
        let mut command = place.command(&all);
        command.env("SLURM_CONF", self.conf());
        command
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

#[test]
fn jobs_of_slurm_give_the_same_and_one_that_is_killed_costs_what_it_had() {
    let Some(slurm) = Slurm::start() else {
        return;
    };
    let (alone, nodes) = (mixed(), mixed());
    alone.run(&["--inputs", "data.yaml", "-o", "results"], 0);
    let run = slurm
        .run(&nodes, &["--nodes", "slurm:2", "--slurm=--partition=main"])
        .output();
    let report = Ran::from(run.expect("it runs")).ended(0).report();
    assert_eq!(report.number("failed"), 0);
    assert_eq!(files(&alone.path("results")), files(&nodes.path("results")));
    // One job is ended by force while both work.
    let place = crate::nodes::waits();
    let mut command = slurm.run(&place, &["--nodes", "slurm:2"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    while place.told("log").len() < 2 {
        assert!(
            child.try_wait().expect("a child").is_none(),
            "the run ended"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let jobs = slurm.said("squeue", &["-h", "-r", "-o", "%i", "-t", "R"]);
    let job = jobs.lines().next().expect("a job").to_owned();
    slurm.said("scancel", &["--signal=KILL", &job]);
    fs::write(place.side().join("go"), "").expect("a file");
    let ran = Ran::from(child.wait_with_output().expect("it ends"))
        .ended(0)
        .report();
    assert_eq!((ran.number("executed"), ran.number("failed")), (6, 0));
    // What Slurm refuses is reported in its words.
    let refused = slurm
        .run(
            &mixed(),
            &["--nodes", "slurm:1", "--slurm=--partition=none"],
        )
        .output();
    let refused = Ran::from(refused.expect("it runs")).ended(1);
    assert!(
        refused.stdout.contains("`sbatch` refused the job"),
        "{}",
        refused.stdout
    );
    // Nothing stays in the queue.
    let until = Instant::now() + Duration::from_secs(20);
    while !slurm.said("squeue", &["-h"]).is_empty() {
        assert!(Instant::now() < until, "{}", slurm.said("squeue", &[]));
        std::thread::sleep(Duration::from_millis(100));
    }
}

//! How many `/bin/true` per second: the spawner against loops that do the least a program can do.
//!
//! `cargo test --release -p headwater-execute --test spawn -- --measure`

use std::ffi::CString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use headwater_execute::spawn::{Cancel, Request, Spawner};
use tempfile::TempDir;

const JOBS: usize = 500;
const ROUNDS: usize = 10;

type Job<'a> = &'a (dyn Fn(&Path) + Sync);

pub(crate) fn measure() {
    let direct = Spawner::direct();
    let ways: [(&str, Job); 7] = [
        ("bare posix_spawn and waitpid, no files", &|_| bare(None)),
        ("spawner with helper, no files", &|_| {
            let nowhere = Path::new("/dev/null");
            spawner(Spawner::global(), [nowhere; 2]);
        }),
        ("bare posix_spawn and waitpid, two files", &|path| {
            bare(Some(path));
        }),
        ("std::process::Command, two files", &standard),
        ("spawner with helper, two files", &|path| {
            spawner(Spawner::global(), [&files(path)[0], &files(path)[1]]);
        }),
        ("spawner with helper, two bounded streams", &|path| {
            let [out, err] = files(path);
            let mut request = Request::new("/bin/true", "/tmp", out, err);
            request.most = [Some(1 << 20); 2];
            run(Spawner::global(), &request);
        }),
        ("spawner without helper, two files", &|path| {
            spawner(&direct, [&files(path)[0], &files(path)[1]]);
        }),
    ];
    for callers in [1, 2] {
        println!("{callers} calling threads, best of {ROUNDS} rounds of {JOBS}");
        let mut best = [0.0_f64; 7];
        for _ in 0..ROUNDS {
            for ((_, job), best) in ways.iter().zip(&mut best) {
                *best = best.max(rate(callers, *job));
            }
        }
        for ((name, _), rate) in ways.iter().zip(best) {
            let ratio = rate / best[0];
            println!("  {rate:7.0} per second  {ratio:5.2}  {name}");
        }
    }
    let helper = Spawner::global().helper_process().unwrap_or_default();
    let status = std::fs::read_to_string(format!("/proc/{helper}/status")).unwrap_or_default();
    for line in status
        .lines()
        .filter(|line| line.starts_with("VmHWM") || line.starts_with("Threads"))
    {
        println!("helper {line}");
    }
}

fn rate(callers: usize, job: Job) -> f64 {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let began = Instant::now();
    thread::scope(|scope| {
        for caller in 0..callers {
            scope.spawn(move || {
                for number in 0..JOBS / callers {
                    job(&folder.join(format!("{caller}-{number}")));
                }
            });
        }
    });
    (JOBS / callers * callers) as f64 / began.elapsed().as_secs_f64()
}

fn bare(path: Option<&Path>) {
    let program = c"/bin/true";
    let paths = path.map(|path| {
        ["out", "err"].map(|kind| {
            let path = path
                .with_extension(kind)
                .into_os_string()
                .into_encoded_bytes();
            CString::new(path).unwrap()
        })
    });
    // SAFETY: every pointer is to a live variable or string, the arrays end with null, and the
    // file actions are initialised before use and destroyed after.
    unsafe {
        let mut actions: libc::posix_spawn_file_actions_t = std::mem::zeroed();
        libc::posix_spawn_file_actions_init(&raw mut actions);
        for (path, number) in paths.iter().flatten().zip(1..) {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
            let path = path.as_ptr();
            libc::posix_spawn_file_actions_addopen(&raw mut actions, number, path, flags, 0o644);
        }
        let arguments = [program.as_ptr().cast_mut(), std::ptr::null_mut()];
        let environment = [std::ptr::null_mut()];
        let (mut child, mut status) = (0, 0);
        let result = libc::posix_spawn(
            &raw mut child,
            program.as_ptr(),
            &raw const actions,
            std::ptr::null(),
            arguments.as_ptr(),
            environment.as_ptr(),
        );
        assert_eq!(result, 0);
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert_eq!(status, 0);
        libc::posix_spawn_file_actions_destroy(&raw mut actions);
    }
}

fn standard(path: &Path) {
    let status = Command::new("/bin/true")
        .env_clear()
        .stdin(Stdio::null())
        .stdout(File::create(path.with_extension("out")).unwrap())
        .stderr(File::create(path.with_extension("err")).unwrap())
        .status();
    assert!(status.unwrap().success());
}

fn spawner(spawner: &Spawner, [out, err]: [&Path; 2]) {
    run(spawner, &Request::new("/bin/true", "/tmp", out, err));
}

fn run(spawner: &Spawner, request: &Request) {
    assert!(spawner.run(request, &Cancel::new()).unwrap().success());
}

fn files(path: &Path) -> [PathBuf; 2] {
    ["out", "err"].map(|kind| path.with_extension(kind))
}

//! The spawner against real processes. Most cases run twice, with the helper and without, because
//! callers must not be able to tell the two apart.
//!
//! The helper is this very program started again, so `init` has to come first in `main`; the
//! standard test harness has no room for that, hence the small one at the end.

#[path = "spawn/measure.rs"]
mod measure;
#[path = "spawn/runaways.rs"]
mod runaways;
#[path = "spawn/scene.rs"]
mod scene;

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use headwater_execute::spawn::{self, Cancel, ExitStatusKind, Request, SpawnError, Spawner};
use runaways::{
    a_killed_lane_leaves_nothing, a_program_that_detaches_itself, comets_are_caught,
    nothing_gets_away, nothing_outlives_engine_and_helper, orphans_are_reaped_in_time,
    other_jobs_keep_their_runaways,
};
use scene::{PATIENCE, Scene, eventually, gone, process, process_group, zombies_of};

/// Says which part a copy of this program plays; see `play`.
const ROLE: &str = "HEADWATER_TEST_ROLE";

fn exit_code(scene: &Scene) {
    for code in [0, 1, 7, 255] {
        let exit = scene.run(&scene.script(&format!("exit {code}"))).unwrap();
        assert_eq!(exit.status, ExitStatusKind::Code(code));
        assert_eq!(exit.success(), code == 0);
        assert!(!exit.timed_out && !exit.cancelled);
    }
}

fn signal(scene: &Scene) {
    for (name, number) in [("KILL", 9), ("SEGV", 11), ("TERM", 15)] {
        let request = scene.script(&format!("kill -{name} $$"));
        assert_eq!(scene.status(&request), ExitStatusKind::Signal(number));
    }
}

fn arguments(scene: &Scene) {
    let mut given: Vec<OsString> = [
        "",
        "-n",
        "--",
        "a b",
        "\"'`$HOME\\",
        "two\nlines\n",
        "*",
        "",
    ]
    .map(OsString::from)
    .to_vec();
    given.push(OsString::from_vec(vec![0xff, 0xfe]));
    given.push("long".repeat(20_000).into());
    let mut request = scene.request("/usr/bin/printf", &["%s\\0"]);
    request.arguments.extend(given.iter().cloned());
    assert_eq!(scene.status(&request), ExitStatusKind::Code(0));
    let mut expected = Vec::new();
    for argument in given {
        expected.extend(argument.into_vec());
        expected.push(0);
    }
    assert_eq!(fs::read(scene.path("out")).unwrap(), expected);
}

fn environment(scene: &Scene) {
    let mut request = scene.request("/usr/bin/env", &["-0"]);
    for (environment, expected) in [
        (vec![], ""),
        (vec![("B", "2"), ("A", "x\ny =z")], "A=x\ny =z\0B=2\0"),
        (vec![("A", "1"), ("A", "2")], "A=2\0"),
    ] {
        request.environment = environment
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        assert_eq!(scene.status(&request), ExitStatusKind::Code(0));
        assert_eq!(scene.read("out"), expected);
    }
}

fn folder(scene: &Scene) {
    let inner = scene.path("inner folder");
    fs::create_dir(&inner).unwrap();
    let mut request = scene.request("pwd", &["-P"]);
    request.folder = inner.clone();
    assert_eq!(scene.status(&request), ExitStatusKind::Code(0));
    let expected = format!("{}\n", inner.canonicalize().unwrap().display());
    assert_eq!(scene.read("out"), expected);
}

fn standard_files(scene: &Scene) {
    fs::write(scene.path("in"), "some\ninput").unwrap();
    fs::write(scene.path("out"), "something longer from before").unwrap();
    let mut request = scene.script("cat; echo problem >&2");
    request.stdin = Some(scene.path("in"));
    assert_eq!(scene.status(&request), ExitStatusKind::Code(0));
    assert_eq!(scene.read("out"), "some\ninput");
    assert_eq!(scene.read("err"), "problem\n");

    request.stdin = None;
    assert_eq!(scene.status(&request), ExitStatusKind::Code(0));
    assert_eq!(scene.read("out"), "");

    let mut request = scene.script("echo one; echo two >&2; echo three");
    request.stderr = request.stdout.clone();
    assert_eq!(scene.status(&request), ExitStatusKind::Code(0));
    assert_eq!(scene.read("out"), "one\ntwo\nthree\n");
}

/// Of a bounded stream the beginning and the end are kept, and never more than that lies on the disk.
fn bounded_streams(scene: &Scene) {
    let mut request = scene.script("seq 1000000; echo problem >&2");
    request.most = [Some(1000), Some(1000)];
    let exit = scene.run(&request).unwrap();
    assert_eq!(exit.said, [6_888_896, 8]);
    let out = scene.read("out");
    assert!(out.starts_with("1\n2\n3\n"), "{out}");
    assert!(out.ends_with("999999\n1000000\n"), "{out}");
    assert!(out.contains("\n[6887896 bytes left out]\n"), "{out}");
    assert!(out.len() < 1100);
    assert_eq!(scene.read("err"), "problem\n");

    // What was there before is not what a silent program said.
    let mut request = scene.request("true", &[]);
    request.stdout = scene.path("silent");
    request.most = [Some(1000), None];
    assert_eq!(scene.run(&request).unwrap().said, [0, 0]);
    assert!(!scene.path("silent").exists());

    // A program that never stops talking is ended when its time is over, and so is one whose words nobody can keep.
    for file in ["out", "missing/out"] {
        let mut request = scene.request("yes", &[]);
        request.stdout = scene.path(file);
        request.most = [Some(1000); 2];
        request.timeout = Some(Duration::from_millis(50));
        let exit = scene.run(&request).unwrap();
        assert!(exit.timed_out, "{exit:?}");
        assert!(exit.said[0] > 0);
    }
    assert!(scene.read("out").len() < 1100);
    // A child that outlives its parent does not hold anything up, and is ended as ever.
    let mut request = scene.script("yes & echo $! >&2");
    request.most = [Some(1000), None];
    assert_eq!(scene.status(&request), ExitStatusKind::Code(0));
    let child = scene.number("err");
    assert!(eventually(|| gone(child)));
}

fn search_path(scene: &Scene) {
    let tool = |place: &str, mode: u32| {
        let path = scene.path(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\necho {place}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    };
    tool("refused/tool", 0o644);
    tool("first/tool", 0o755);
    tool("second/tool", 0o755);
    let absolute = scene.path("second").display().to_string();
    for (program, search, expected) in [
        ("tool", "first:second", "first/tool\n"),
        ("tool", "nowhere:refused:second:first", "second/tool\n"),
        ("tool", absolute.as_str(), "second/tool\n"),
        ("first/tool", "", "first/tool\n"),
        ("./second/tool", "first", "second/tool\n"),
    ] {
        let mut request = scene.request(program, &[]);
        request.environment = vec![("PATH".into(), search.into())];
        assert_eq!(scene.status(&request), ExitStatusKind::Code(0), "{program}");
        assert_eq!(scene.read("out"), expected);
    }
    let mut request = scene.request("true", &[]);
    request.environment.clear();
    assert_eq!(scene.status(&request), ExitStatusKind::Code(0));
}

fn refusals(scene: &Scene) {
    let check = |expected: &str, change: &dyn Fn(&mut Request)| {
        let mut request = scene.request("true", &[]);
        change(&mut request);
        let error = scene.run(&request).unwrap_err();
        let found = format!("{error:?}");
        let found = found.split([' ', '{']).next().unwrap();
        assert_eq!(found, expected, "{error}");
    };
    let write = |name: &str, text: &str, mode: u32| {
        fs::write(scene.path(name), text).unwrap();
        fs::set_permissions(scene.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    write("plain", "text", 0o644);
    write("lost", "#!/no/such/interpreter\n", 0o755);
    write("unknown", "\u{1}\u{2}\u{3}\u{4}", 0o755);
    for (program, expected) in [
        ("no-such-tool", "NotFound"),
        ("/no/such/tool", "NotFound"),
        ("plain/tool", "NotFound"),
        ("", "NotFound"),
        ("./plain", "NotExecutable"),
        ("./lost", "NotExecutable"),
        ("./unknown", "NotExecutable"),
        ("plain", "NotExecutable"),
        ("/usr", "NotExecutable"),
    ] {
        check(expected, &|request| {
            request.program = program.into();
            request.environment = vec![("PATH".into(), "/usr/bin:.".into())];
        });
    }
    check("Folder", &|request| request.folder = scene.path("missing"));
    check("Folder", &|request| request.folder = scene.path("plain"));
    check("Folder", &|request| {
        request.folder = scene.path("missing");
        request.stdout = scene.path("missing/out");
    });
    check("File", &|request| {
        request.stdin = Some(scene.path("missing"));
    });
    check("File", &|request| {
        request.stdout = scene.path("missing/out");
    });
    check("File", &|request| request.stderr = scene.path(""));
    check("Invalid", &|request| request.arguments.push("a\0b".into()));
    check("Invalid", &|request| {
        request.environment.push(("a=b".into(), "".into()));
    });
    check("Start", &|request| {
        request.arguments = vec!["x".repeat(100_000).into(); 40];
    });
    check("Start", &|request| {
        request.arguments = vec!["x".repeat(100_000).into(); 200];
    });
    // None of this has harmed the spawner.
    assert_eq!(
        scene.status(&scene.request("true", &[])),
        ExitStatusKind::Code(0)
    );
}

fn time_out_ends_grandchildren(scene: &Scene) {
    let mut request = scene.script("sleep 1000 & echo $! > number; sleep 1000");
    request.timeout = Some(Duration::from_millis(300));
    let exit = scene.run(&request).unwrap();
    assert!(exit.timed_out && !exit.cancelled && !exit.success());
    assert_eq!(exit.status, ExitStatusKind::Signal(libc::SIGTERM));
    assert!(exit.wall >= Duration::from_millis(300) && exit.wall < PATIENCE);
    let number = scene.number("number");
    assert!(eventually(|| gone(number)));

    let mut request = scene.script("exit 3");
    request.timeout = Some(PATIENCE);
    let exit = scene.run(&request).unwrap();
    assert_eq!(
        (exit.status, exit.timed_out),
        (ExitStatusKind::Code(3), false)
    );
}

fn leftovers_are_ended(scene: &Scene) {
    let request = scene.script("trap '' TERM HUP; sleep 1000 & echo $! > number");
    let exit = scene.run(&request).unwrap();
    assert!(exit.success() && exit.wall < PATIENCE);
    let number = scene.number("number");
    assert!(eventually(|| gone(number)));
}

fn stubborn_programs_are_killed(scene: &Scene) {
    let mut request = scene.script("trap '' TERM; echo $$ > number; while :; do sleep 0.05; done");
    request.timeout = Some(Duration::from_millis(300));
    request.grace = Duration::from_millis(300);
    let exit = scene.run(&request).unwrap();
    assert!(exit.timed_out);
    assert_eq!(exit.status, ExitStatusKind::Signal(libc::SIGKILL));
    assert!(exit.wall >= Duration::from_millis(600) && exit.wall < PATIENCE);
    let number = scene.number("number");
    assert!(eventually(|| gone(number)));
}

fn cancel(scene: &Scene) {
    let cancel = Cancel::new();
    let request = scene.script("trap 'exit 7' TERM; sleep 1000 & echo $! > number; wait");
    let exit = thread::scope(|scope| {
        let running = scope.spawn(|| scene.spawner.run(&request, &cancel));
        let number = scene.number("number");
        cancel.cancel();
        let exit = running.join().unwrap().unwrap();
        assert!(eventually(|| gone(number)));
        exit
    });
    assert!(exit.cancelled && !exit.timed_out && exit.wall < PATIENCE);
    assert_eq!(exit.status, ExitStatusKind::Code(7));

    fs::remove_file(scene.path("number")).unwrap();
    let error = scene.spawner.run(&request, &cancel).unwrap_err();
    assert!(matches!(error, SpawnError::Cancelled));
    assert!(!scene.path("number").exists());
}

/// A cancellation that comes as the program ends must not reach the next one on the same lane.
fn late_cancellation(scene: &Scene) {
    let request = scene.request("true", &[]);
    for round in 0..100 {
        let cancel = Cancel::new();
        thread::scope(|scope| {
            let running = scope.spawn(|| scene.spawner.run(&request, &cancel));
            thread::sleep(Duration::from_micros(round * 20));
            cancel.cancel();
            match running.join().unwrap() {
                Ok(_) | Err(SpawnError::Cancelled) => {}
                Err(error) => panic!("{error}"),
            }
        });
        let exit = scene.run(&request).unwrap();
        assert!(exit.success(), "round {round}: {exit:?}");
    }
}

fn many_at_once(scene: &Scene) {
    thread::scope(|scope| {
        for caller in 0..8 {
            scope.spawn(move || {
                for job in 0..25 {
                    let name = format!("{caller}-{job}");
                    let code = caller * 25 + job;
                    let mut request = scene.script(&format!("echo {name}; exit {code}"));
                    request.stdout = scene.path(&name);
                    assert_eq!(scene.status(&request), ExitStatusKind::Code(code));
                    assert_eq!(scene.read(&name), format!("{name}\n"));
                }
            });
        }
    });
}

fn usage(scene: &Scene) {
    let request = scene.script("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.2");
    let exit = scene.run(&request).unwrap();
    let processor = exit.user_cpu + exit.system_cpu;
    assert!(processor > Duration::from_millis(20), "{exit:?}");
    assert!(
        exit.wall > processor + Duration::from_millis(100),
        "{exit:?}"
    );
    assert!(exit.peak_memory > 100_000, "{exit:?}");
    let helper = scene.spawner.helper_process().is_some();
    assert_eq!(exit.peak_reliable, helper);
}

/// Programs get the signals as this program got them, not as the helper has set them for itself.
fn signals_are_untouched(scene: &Scene) {
    let masks = |text: &str| -> Vec<u64> {
        let lines = text.lines().filter_map(|line| line.split_once(":\t"));
        let lines = lines.filter(|(name, _)| ["SigBlk", "SigIgn", "SigCgt"].contains(name));
        lines
            .map(|(_, mask)| u64::from_str_radix(mask, 16).unwrap())
            .collect()
    };
    let mut expected = masks(&fs::read_to_string("/proc/thread-self/status").unwrap());
    // The Rust runtime ignores SIGPIPE for itself only and catches SIGSEGV and SIGBUS. Signals 32
    // and 33 are the C library's own; its `posix_spawn` leaves them ignored.
    let internal = 0b11 << 31;
    expected[1] = (expected[1] | internal) & !(1 << (libc::SIGPIPE - 1));
    expected[2] = 0;
    scene
        .run(&scene.request("cat", &["/proc/self/status"]))
        .unwrap();
    let mut found = masks(&scene.read("out"));
    found[1] |= internal;
    assert_eq!(found, expected);
}

fn no_zombies(scene: &Scene) {
    for _ in 0..20 {
        assert!(scene.run(&scene.request("true", &[])).unwrap().success());
    }
    let parent = scene.spawner.helper_process().unwrap_or(std::process::id());
    assert!(gone(u32::MAX) && !gone(parent));
    assert_eq!(zombies_of(parent), 0);
}

/// With the helper only: `main` has opened a descriptor that children inherit.
fn no_descriptors_leak(scene: &Scene) {
    let request = scene.request("ls", &["/proc/self/fd"]);
    assert_eq!(scene.status(&request), ExitStatusKind::Code(0));
    assert_eq!(scene.read("out"), "0\n1\n2\n3\n");
    let helper = scene.spawner.helper_process().unwrap();
    assert_ne!(process_group(helper), process_group(std::process::id()));
}

/// With the helper a small program stays small; without it the test would find our own size.
fn peak_of_a_small_program(scene: &Scene) {
    let mut large = vec![0_u8; 300 << 20];
    large.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    let request = scene.request("true", &[]);
    let exit = scene.run(&request).unwrap();
    let direct = Spawner::direct().run(&request, &Cancel::new()).unwrap();
    std::hint::black_box(&large);
    assert!(exit.peak_reliable && !direct.peak_reliable);
    assert!(exit.peak_memory < 20 << 20, "{exit:?}");
    assert!(direct.peak_memory > 300 << 20, "{direct:?}");
}

fn copy_of_this_program(role: &str, folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, role).current_dir(folder).spawn().unwrap()
}

/// The parts that copies of this program play, in the folder they are started in.
fn play(role: &str) {
    let here = std::env::current_dir().unwrap();
    let request = |script: &str| {
        let mut request = Request::new("/bin/sh", &here, here.join("out"), here.join("err"));
        request.arguments = vec!["-c".into(), script.into()];
        request
    };
    let run = |script: &str| Spawner::global().run(&request(script), &Cancel::new());
    match role {
        // Runs a program until this process is killed.
        "victim" => {
            spawn::init();
            let helper = Spawner::global().helper_process().unwrap();
            fs::write("helper", format!("{helper}\n")).unwrap();
            let script = "sleep 1000 & echo $! > second; echo $$ > first; wait";
            run(&format!("{} {script}", runaways::RUNAWAYS)).unwrap();
        }
        // Kills its own helper.
        "widow" => {
            spawn::init();
            let helper = Spawner::global().helper_process().unwrap();
            run("true").unwrap();
            let error = run(&format!("kill -KILL {helper}; sleep 1")).unwrap_err();
            assert!(matches!(error, SpawnError::HelperDied), "{error:?}");
            assert!(eventually(|| {
                let error = run("true").unwrap_err();
                assert!(matches!(error, SpawnError::HelperDied), "{error:?}");
                process(helper).is_none()
            }));
        }
        // Never calls `init` where it matters.
        "impostor" => {
            if std::env::args().len() > 1 {
                return;
            }
            spawn::init();
            spawn::init();
            let exit = run("exit 5").unwrap();
            assert_eq!(exit.status, ExitStatusKind::Code(5));
            assert!(!exit.peak_reliable);
        }
        "comet" => runaways::run_away(1),
        "bomb" => runaways::run_away(2),
        "hydra" => runaways::grow_again(),
        "plain" => assert!(!run("exit 5").unwrap().peak_reliable),
        _ => panic!("unknown role {role}"),
    }
}

fn programs_die_with_a_killed_engine(scene: &Scene) {
    let mut victim = copy_of_this_program("victim", scene.folder.path());
    let numbers = ["helper", "first", "second"].map(|name| scene.number(name));
    assert!(!numbers.into_iter().any(gone));
    // The terminal's and the administrator's signals leave the helper alone.
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: a plain system call; the process was alive a moment ago and is our grandchild.
        unsafe { libc::kill(numbers[0].cast_signed(), signal) };
    }
    thread::sleep(Duration::from_millis(100));
    assert!(!numbers.into_iter().any(gone));
    victim.kill().unwrap();
    victim.wait().unwrap();
    for number in numbers {
        assert!(eventually(|| gone(number)));
    }
}

fn other_lives(scene: &Scene) {
    for role in ["widow", "impostor", "plain"] {
        let mut copy = copy_of_this_program(role, scene.folder.path());
        assert!(copy.wait().unwrap().success(), "{role}");
    }
}

type Case = (&'static str, fn(&Scene));

macro_rules! cases {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name)),*] };
}

const WITH_AND_WITHOUT_HELPER: &[Case] = cases![
    exit_code,
    signal,
    arguments,
    environment,
    folder,
    standard_files,
    bounded_streams,
    search_path,
    refusals,
    time_out_ends_grandchildren,
    leftovers_are_ended,
    stubborn_programs_are_killed,
    cancel,
    late_cancellation,
    many_at_once,
    usage,
    signals_are_untouched,
    no_zombies,
];

const WITH_HELPER: &[Case] = cases![
    no_descriptors_leak,
    peak_of_a_small_program,
    programs_die_with_a_killed_engine,
    other_lives,
    nothing_gets_away,
    a_program_that_detaches_itself,
    other_jobs_keep_their_runaways,
    comets_are_caught,
    orphans_are_reaped_in_time,
    a_killed_lane_leaves_nothing,
    nothing_outlives_engine_and_helper,
];

fn main() {
    if let Ok(role) = std::env::var(ROLE) {
        return play(&role);
    }
    // SAFETY: a plain system call. The copy is inherited by children, which is its purpose.
    unsafe { libc::dup(libc::STDERR_FILENO) };
    spawn::init();

    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.find(|argument| !argument.starts_with("--") || argument == "--measure");
    let wanted = wanted.unwrap_or_default();
    if wanted == "--measure" {
        return measure::measure();
    }
    let helper = Spawner::global();
    assert!(helper.helper_process().is_some());
    let direct = Spawner::direct();
    let both = [("helper", helper), ("direct", &direct)];
    let both = both.into_iter().flat_map(|(kind, spawner)| {
        let cases = WITH_AND_WITHOUT_HELPER.iter();
        cases.map(move |case| (kind, spawner, case))
    });
    let cases = both.chain(WITH_HELPER.iter().map(|case| ("helper", helper, case)));

    let (mut passed, mut failed, mut filtered) = (0, 0, 0);
    for (kind, spawner, (name, case)) in cases {
        let name = format!("{kind}::{name}");
        if !name.contains(&wanted) {
            filtered += 1;
            continue;
        }
        let scene = Scene::new(spawner);
        let result = panic::catch_unwind(AssertUnwindSafe(|| case(&scene)));
        let (count, word) = match result {
            Ok(()) => (&mut passed, "ok"),
            Err(_) => (&mut failed, "FAILED"),
        };
        *count += 1;
        println!("test {name} ... {word}");
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; \
         {filtered} filtered out\n"
    );
    if failed > 0 {
        std::process::exit(101);
    }
}

//! What a program leaves running, or tries to: with the helper, nothing that descends from it outlives its job.
//!
//! A script tells the number of each such process in a file of its name. All of them ignore the signals that ask
//! for an end.

use std::fs;
use std::thread;
use std::time::Duration;

use headwater_execute::spawn::{Cancel, Request, SpawnError};

use super::scene::{Scene, children_of, eventually, gone, process, working_in, zombies_of};
use super::{ROLE, copy_of_this_program};

/// Starts processes that get away from their group in all the ways there are, and waits until they run.
pub(crate) const RUNAWAYS: &str = "
    trap '' TERM HUP INT
    tell() { echo \"echo \\$\\$ > $1.new; mv $1.new $1; exec sleep 1000\"; }
    setsid sh -c \"$(tell session)\" &
    env -i setsid sh -c \"$(tell cleared)\" &
    (setsid sh -c \"setsid sh -c '$(tell twice)' & exit\" &)
    env -i sh -c \"(setsid sh -c '$(tell twice-cleared)' &)\"
    sh -mc \"sh -c '$(tell group)' & exit\"
    until [ -e session -a -e cleared -a -e twice -a -e twice-cleared -a -e group ]; do sleep 0.01; done
    ";
const NAMES: [&str; 5] = ["session", "cleared", "twice", "twice-cleared", "group"];

/// The numbers of the runaways, once all of them run.
pub(crate) fn runaways(scene: &Scene) -> [u32; 5] {
    NAMES.map(|name| scene.number(name))
}

fn forget(scene: &Scene) {
    for name in NAMES {
        fs::remove_file(scene.path(name)).unwrap();
    }
}

/// When `run` has returned there is nothing left to wait for.
fn assert_gone(numbers: &[u32], how: &str) {
    let left = numbers.iter().filter(|number| process(**number).is_some());
    assert_eq!(left.count(), 0, "after {how}: {numbers:?}");
}

pub(crate) fn nothing_gets_away(scene: &Scene) {
    for (end, how) in [
        ("exit 0", "success"),
        ("exit 3", "failure"),
        ("kill -9 $$", "a crash"),
    ] {
        scene
            .run(&scene.script(&format!("{RUNAWAYS} {end}")))
            .unwrap();
        assert_gone(&runaways(scene), how);
        forget(scene);
    }

    let mut request = scene.script(&format!("{RUNAWAYS} wait; sleep 1000"));
    request.grace = Duration::from_millis(10);
    // On a busy machine they may take a while to be started.
    let all = || NAMES.iter().all(|name| scene.path(name).exists());
    for seconds in [1, 4, 16, 64] {
        request.timeout = Some(Duration::from_secs(seconds));
        let exit = scene.run(&request).unwrap();
        assert!(exit.timed_out);
        assert_eq!(working_in(scene.folder.path()), 0);
        if all() {
            break;
        }
    }
    assert_gone(&runaways(scene), "a time-out");
    forget(scene);

    request.timeout = None;
    let cancel = Cancel::new();
    thread::scope(|scope| {
        let running = scope.spawn(|| scene.spawner.run(&request, &cancel));
        let numbers = runaways(scene);
        cancel.cancel();
        assert!(running.join().unwrap().unwrap().cancelled);
        assert_gone(&numbers, "a cancellation");
    });
}

/// The program itself may be the one that leaves at once.
pub(crate) fn a_program_that_detaches_itself(scene: &Scene) {
    let request = scene.request("setsid", &["sh", "-c", "echo $$ > number; exec sleep 1000"]);
    for _ in 0..20 {
        assert!(scene.run(&request).unwrap().success());
        assert_eq!(working_in(scene.folder.path()), 0);
    }
}

/// The end of a job is none of the business of those beside it.
pub(crate) fn other_jobs_keep_their_runaways(scene: &Scene) {
    let mut lasting = scene.script(&format!("{RUNAWAYS} wait; sleep 1000"));
    lasting.grace = Duration::from_millis(10);
    let cancel = Cancel::new();
    thread::scope(|scope| {
        let running = scope.spawn(|| scene.spawner.run(&lasting, &cancel));
        let numbers = runaways(scene);
        let beside = Scene::new(scene.spawner);
        let beside_went = beside.run(&beside.script(&format!("{RUNAWAYS} exit")));
        let were_there = numbers.map(|number| !gone(number));
        // Before anything is asserted, or the scope would wait for ever.
        cancel.cancel();
        running.join().unwrap().unwrap();
        assert!(beside_went.unwrap().success());
        assert_eq!(were_there, [true; 5]);
        assert_gone(&runaways(&beside), "success beside another job");
        assert_gone(&numbers, "a cancellation");
    });
}

/// What starts itself anew for ever, each time in a new session, is caught.
pub(crate) fn comets_are_caught(scene: &Scene) {
    let this = std::env::current_exe().unwrap();
    for (role, ends) in [
        ("comet", true),
        ("bomb", true),
        ("bomb", false),
        ("hydra", false),
    ] {
        let mut request = Request::new(
            &this,
            scene.folder.path(),
            scene.path("out"),
            scene.path("err"),
        );
        request.environment = vec![(ROLE.into(), role.into())];
        if !ends {
            request.program = "sh".into();
            request.arguments = vec![
                "-c".into(),
                "\"$0\"; sleep 1000".into(),
                this.clone().into(),
            ];
            request.timeout = Some(Duration::from_millis(300));
            request.grace = Duration::from_millis(10);
        }
        scene.run(&request).unwrap();
        assert_eq!(working_in(scene.folder.path()), 0, "{role}");
    }
}

/// The parts of copies of this program in `comets_are_caught`; the first process of each ends when others run.
pub(crate) fn run_away(children: u32) {
    // A bomb need not take the machine with it.
    for _ in 0..if children == 1 { u32::MAX } else { 9 } {
        let mut is_child = false;
        for _ in 0..children {
            // SAFETY: this process has one thread; its copy makes plain system calls only.
            unsafe {
                if libc::fork() == 0 {
                    libc::setsid();
                    is_child = true;
                    break;
                }
            }
        }
        if !is_child {
            return;
        }
    }
    loop {
        thread::park();
    }
}

/// A tree of processes, each in a session of its own, that start again whatever is missing below them.
pub(crate) fn grow_again() {
    let (mut generation, mut children) = (0, 0);
    loop {
        if generation == 6 {
            thread::park();
        } else if children < 2 {
            children += 1;
            // SAFETY: this process has one thread; its copy makes plain system calls only.
            if unsafe { libc::fork() } == 0 {
                // SAFETY: a plain system call.
                unsafe { libc::setsid() };
                (generation, children) = (generation + 1, 0);
            }
        } else {
            // SAFETY: a null pointer stands for a status that nobody wants.
            unsafe { libc::wait(std::ptr::null_mut()) };
            children -= 1;
        }
    }
}

/// Orphans that end while their job goes on do not stay as zombies.
pub(crate) fn orphans_are_reaped_in_time(scene: &Scene) {
    let request = scene.script(
        "echo $PPID > lane; i=0
         while [ $i -lt 50 ]; do (setsid true &); i=$((i+1)); done
         until [ -e enough ]; do sleep 0.01; done",
    );
    thread::scope(|scope| {
        let running = scope.spawn(|| scene.run(&request));
        let lane = scene.number("lane");
        // Those that end between two looks wait for the next one to end, which the shell's `sleep`s are not.
        assert!(eventually(|| zombies_of(lane) < 5));
        fs::write(scene.path("enough"), "").unwrap();
        assert!(running.join().unwrap().unwrap().success());
        assert_eq!(children_of(lane), 0);
    });
}

/// A program that kills the process that watches it harms only itself.
pub(crate) fn a_killed_lane_leaves_nothing(scene: &Scene) {
    let request = scene.script(&format!("{RUNAWAYS} kill -KILL $PPID; sleep 1000"));
    let error = scene.run(&request).unwrap_err();
    assert!(matches!(error, SpawnError::HelperDied), "{error:?}");
    let numbers = runaways(scene);
    assert!(eventually(|| numbers.into_iter().all(gone)));
    assert!(eventually(|| working_in(scene.folder.path()) == 0));
    assert!(scene.run(&scene.request("true", &[])).unwrap().success());
}

/// Engine and helper killed at the same time.
pub(crate) fn nothing_outlives_engine_and_helper(scene: &Scene) {
    for helper_too in [false, true] {
        let mut victim = copy_of_this_program("victim", scene.folder.path());
        let helper = scene.number("helper");
        let mut numbers = runaways(scene).to_vec();
        numbers.extend(["first", "second"].map(|name| scene.number(name)));
        let were_there = numbers.iter().all(|number| !gone(*number));
        if helper_too {
            // SAFETY: a plain system call; the process is the helper of our child, which lives.
            unsafe { libc::kill(helper.cast_signed(), libc::SIGKILL) };
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        assert!(were_there);
        numbers.push(helper);
        for number in numbers {
            assert!(eventually(|| gone(number)), "{number}");
        }
        assert!(eventually(|| working_in(scene.folder.path()) == 0));
        for name in ["helper", "first", "second"] {
            fs::remove_file(scene.path(name)).unwrap();
        }
        forget(scene);
    }
}

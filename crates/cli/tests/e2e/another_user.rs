//! What a user meets who may not do everything: folders of a store that cannot be written to, few threads.
//!
//! Law: these tests give up the rights of root, so that only root can run them; others skip them and say so.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::place::{Place, Ran};

/// A user without rights, and without files.
const NOBODY: &str = "65534";

const FLOW: &str = r#"
headwater: 1
workflow: copies
inputs: {file: file}
stages:
  copy:
    tasks: [{op: copy, in: {file: file}, out: {file: copied}}]
outputs: {file: copied}
operations:
  copy:
    command: [cp, "{in.file}", "{out.file}"]
    inputs: {file: file}
    outputs: {file: {type: file, path: copied}}
"#;

/// A folder that everybody may use, with the program in it; `None` where rights cannot be given up.
fn place() -> Option<Place> {
    let tried = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .args(["prlimit", "--nproc=100", "true"])
        .output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        eprintln!("skipped: rights cannot be given up here (setpriv, prlimit)");
        return None;
    }
    let place = Place::with_flow(FLOW);
    fs::copy(env!("CARGO_BIN_EXE_headwater"), place.path("headwater")).expect("a copy");
    for number in 0..40 {
        place.write(&format!("in/{number}.txt"), &number.to_string());
    }
    place.write("data.yaml", "inputs: {file: in/*.txt}\n");
    open(&place, ".", 0o777);
    open(&place, "headwater", 0o755);
    Some(place)
}

fn open(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).expect("a mode");
}

/// Runs the workflow as nobody, with at most this number of threads.
fn run(place: &Place, threads: usize, folder: &str) -> Ran {
    let output = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg("prlimit")
        .arg(format!("--nproc={threads}"))
        .arg(place.path("headwater"))
        .args(["run", "flow.yaml", "--inputs", "data.yaml", "-o", folder])
        .current_dir(place.root())
        .env("TMPDIR", "/tmp")
        .env_remove("HEADWATER_STORE")
        .output();
    Ran::from(output.expect("it starts"))
}

#[test]
fn what_may_not_be_written_to_is_not_taken_for_planted() {
    let Some(place) = place() else {
        return;
    };
    run(&place, 500, "out").ended(0);
    for part in ["", "objects", "runs", "staging", "work"] {
        let name = format!(".headwater/{part}");
        // Another recipe, so that there is something to write.
        place.write(
            "flow.yaml",
            &FLOW.replace("copies", &format!("copies-{part}x")),
        );
        open(&place, &name, 0o555);
        let refused = run(&place, 500, &format!("out-{part}"));
        let said = format!("{}{}", refused.stdout, refused.stderr);
        for wrong in ["of the store's own", "did not make", "panicked"] {
            assert!(!said.contains(wrong), "{part}: {said}");
        }
        open(&place, &name, 0o755);
        let _ = fs::remove_dir_all(place.path(&format!("out-{part}")));
        run(&place, 500, &format!("again-{part}")).ended(0);
    }
}

#[test]
fn a_machine_that_gives_no_threads_is_an_error_or_slower_but_no_panic() {
    let Some(place) = place() else {
        return;
    };
    for threads in [1, 2, 3, 4, 5, 6, 8] {
        let ran = run(&place, threads, &format!("out-{threads}"));
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.contains("panicked"), "{threads}: {said}");
    }
    run(&place, 500, "out").ended(0);
}

/// How inputs are protected is no part of a result: a folder that the program has shut matters to nobody else.
#[test]
fn a_folder_that_the_program_has_shut_is_its_own_affair() {
    let Some(place) = place() else {
        return;
    };
    let shut = FLOW.replace(
        r#"command: [cp, "{in.file}", "{out.file}"]"#,
        "shell: cp {in.file} {out.file}; mkdir shut; echo 1 > shut/x; chmod 000 shut",
    );
    place.write("flow.yaml", &shut);
    // Large enough to be mounted where that is possible.
    place.write("data.yaml", "inputs: {file: large}\n");
    place.write("large", &"x".repeat(3 << 20));
    run(&place, 500, "out").ended(0);
    let left = fs::read_dir(place.path(".headwater/work"));
    let left = left.map_or(0, |entries| {
        entries
            .flatten()
            .filter(|run| run.path().join("0").exists())
            .count()
    });
    assert_eq!(left, 0, "folders of tasks that succeeded");
}

/// The folder of a failed task is as the program left it: what it has left can be written to again.
#[test]
fn a_failed_task_leaves_its_folders_as_they_were() {
    let Some(place) = place() else {
        return;
    };
    place.write(
        "flow.yaml",
        r#"
headwater: 1
workflow: folders
inputs: {file: file}
stages:
  only:
    tasks: [{op: make, in: {file: file}, out: {good: good, bad: bad}}]
outputs: {good: good, bad: bad}
operations:
  make:
    shell: mkdir -p good bad; echo 1 > good/a; ln -f good/a good/b; ln -sf /etc/passwd bad/link
    inputs: {file: file}
    outputs: {good: {type: directory, path: good}, bad: {type: directory, path: bad}}
"#,
    );
    place.write("data.yaml", "inputs: {file: in/1.txt}\n");
    run(&place, 500, "out").ended(1);
    let work = fs::read_dir(place.path(".headwater/work")).expect("a folder");
    let made = work.flatten().map(|run| run.path().join("0/good/a"));
    let made = made.map(|path| fs::metadata(path).expect("what was made"));
    let made: Vec<_> = made.collect();
    assert_eq!(made.len(), 1);
    assert_eq!(std::os::unix::fs::MetadataExt::nlink(&made[0]), 2);
    assert_eq!(made[0].permissions().mode() & 0o200, 0o200);
}

/// Folders that a program has shut are removed in time: those of failed tasks after ten later ones.
#[test]
fn shut_folders_of_failed_tasks_are_not_kept_for_ever() {
    let Some(place) = place() else { return };
    let shut = FLOW.replace(
        r#"command: [cp, "{in.file}", "{out.file}"]"#,
        r#"shell: "mkdir -p shut/in; touch shut/in/x {out.file} {in.file}; chmod 555 shut/in; chmod 000 shut; false""#,
    );
    place.write("flow.yaml", &shut);
    place.write("data.yaml", "inputs: {file: in/1.txt}\n");
    for number in 0..13 {
        run(&place, 100, &format!("out-{number}")).ended(1);
    }
    let work = fs::read_dir(place.path(".headwater/work")).expect("the folder");
    assert!(work.count() <= 11, "they are kept for ever");
}

/// A program may make the folder that it works in read-only, whatever the size of its input is.
#[test]
fn a_folder_that_a_program_makes_read_only_fails_nothing() {
    let Some(place) = place() else { return };
    let shut = FLOW.replace(
        r#"command: [cp, "{in.file}", "{out.file}"]"#,
        r#"shell: "cp {in.file} {out.file}; chmod 500 .""#,
    );
    place.write("flow.yaml", &shut);
    place.write("in/large.txt", &"large\n".repeat(500_000));
    place.write("data.yaml", "inputs: {file: [in/1.txt, in/large.txt]}\n");
    run(&place, 100, "out").ended(0);
}

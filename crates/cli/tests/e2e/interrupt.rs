//! Ctrl-C once stops in order, twice stops now, and nothing is left running.

use std::fs;
use std::process::Child;
use std::time::Duration;

use crate::place::{Place, Ran};

/// Two quick items and two that would never end, with processes that have left their group; each tells its process
/// number when it runs.
const FLOW: &str = r#"
headwater: 1
workflow: slow
inputs: {item: int}
stages:
  work:
    tasks: [{op: work, in: {item: item}, out: {file: file}}]
outputs: {file: file}
operations:
  work:
    shell: |
      echo {in.item} $$ >> "$TMPDIR/log"
      if test {in.item} -ge 2 -a ! -e "$TMPDIR/quick"; then
        setsid sh -c 'echo away $$ >> "$TMPDIR/log"; exec sleep 1000' &
        (env -i TMPDIR="$TMPDIR" setsid sh -c 'echo away $$ >> "$TMPDIR/log"; exec sleep 1000' &)
        sleep 1000 &
        echo child $! >> "$TMPDIR/log"
        trap "$TRAP" TERM
        wait
        wait
      fi
      echo {in.item} > {out.file}
    inputs: {item: int}
    env: {TRAP: "exit 5"}
    outputs: {file: {type: file, path: file.txt}}
"#;

const COMMAND: [&str; 7] = [
    "run",
    "flow.yaml",
    "--inputs",
    "data.yaml",
    "-j",
    "2",
    "--json",
];

/// Whether a process is no more, after a while; one that only waits to be noticed by its parent counts as gone.
pub(crate) fn is_gone(process: &str) -> bool {
    for _ in 0..2000 {
        let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // The name in parentheses may hold anything; the state is the word after it.
        let state = status
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().next());
        if state.is_none_or(|state| matches!(state, "Z" | "X")) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

pub(crate) fn signal(child: &Child, signal: libc::c_int) {
    let process = libc::pid_t::try_from(child.id()).expect("a process number");
    // SAFETY: a plain system call; the child has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0);
}

/// A run in the middle: items 0 and 1 are done, 2 and 3 go on for ever.
fn in_the_middle(flow: &str) -> (Place, Child) {
    let place = Place::with_flow(flow);
    place.write("data.yaml", "inputs: {item: [0, 1, 2, 3, 4, 5]}\n");
    let mut child = place.start(&COMMAND);
    let running = |word: &str| {
        let told = place.told("log");
        told.iter().filter(|line| line.starts_with(word)).count()
    };
    while running("child ") < 2 || running("away ") < 4 {
        assert!(
            child.try_wait().expect("it can be waited for").is_none(),
            "the run ended"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    (place, child)
}

fn end(child: Child) -> Ran {
    Ran::from(child.wait_with_output().expect("it ends"))
}

/// Every process that a command has told of.
fn all_gone(place: &Place) {
    for line in place.told("log") {
        let process = line
            .rsplit(' ')
            .next()
            .expect("a process number")
            .to_owned();
        assert!(is_gone(&process), "`{line}` is still running");
    }
}

#[test]
fn once_ends_what_runs_and_keeps_what_is_done() {
    for number in [libc::SIGINT, libc::SIGTERM] {
        let (place, child) = in_the_middle(FLOW);
        signal(&child, number);
        let ran = end(child)
            .ended(1)
            .says(&["stopping", "finished work is kept"]);
        let report = ran.report();
        assert_eq!(report.0["stopped"], true);
        assert_eq!((report.number("executed"), report.number("failed")), (2, 0));
        assert_eq!(report.texts("file"), ["0\n", "1\n"]);
        assert_eq!(
            report.failures().len(),
            0,
            "a task that was stopped has not failed"
        );
        all_gone(&place);
        let runs = place.headwater(&["runs", "ls"]).ended(0).stdout;
        assert!(runs.contains("cancelled"), "{runs}");
        place
            .headwater(&["explain", "last", "work.work[5]"])
            .ended(2)
            .says(&["did not reach `work.work[5]`"]);
        // Nothing of the work is left behind.
        let work = place.path(".headwater/work");
        assert!(!work.exists() || fs::read_dir(work).expect("a folder").next().is_none());

        fs::write(place.side().join("quick"), "").expect("a file");
        let again = place
            .headwater(&COMMAND)
            .ended(0)
            .report()
            .counts(6, 4, 2, 0);
        assert_eq!(again.texts("file").len(), 6);
    }
}

#[test]
fn twice_stops_at_once() {
    // This one does not let itself be stopped in order.
    let (place, mut child) = in_the_middle(&FLOW.replace("exit 5", ":"));
    signal(&child, libc::SIGINT);
    // It has been heard once it is told.
    let mut talk = std::io::BufReader::new(child.stderr.take().expect("its talk"));
    let mut line = String::new();
    while !line.contains("stopping") {
        line.clear();
        let count = std::io::BufRead::read_line(&mut talk, &mut line).expect("a line");
        assert!(count > 0, "it ended without a word");
    }
    signal(&child, libc::SIGINT);
    end(child).ended(1);
    all_gone(&place);
    fs::write(place.side().join("quick"), "").expect("a file");
    let report = place.headwater(&COMMAND).ended(0).report();
    assert_eq!(report.texts("file").len(), 6);
}

#[test]
fn a_killed_engine_leaves_no_process_behind() {
    let (place, mut child) = in_the_middle(FLOW);
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    all_gone(&place);
    // What the dead run has left does not bother the next one, which says what became of it.
    let runs = place.headwater(&["runs", "ls"]).ended(0).stdout;
    assert!(runs.contains("interrupted"), "{runs}");
    fs::write(place.side().join("quick"), "").expect("a file");
    let report = place.headwater(&COMMAND).ended(0).report();
    assert_eq!(report.texts("file").len(), 6);
}

/// A file system that is full may say so by a signal alone.
#[test]
fn a_page_that_cannot_be_had_is_an_error_in_words() {
    let (place, child) = in_the_middle(FLOW);
    signal(&child, libc::SIGBUS);
    let ran = Ran::from(child.wait_with_output().expect("it ends"));
    ran.ended(1)
        .says(&["No space left on device", "give the command again"]);
    fs::write(place.side().join("quick"), "").expect("a file");
    place.headwater(&COMMAND).ended(0);
}

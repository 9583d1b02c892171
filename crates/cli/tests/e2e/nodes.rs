//! Tasks in other processes: what comes out is the same, whatever happens to them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use headwater::graph::Digest;

use crate::interrupt::{is_gone, signal};
use crate::place::{Place, Ran};

/// Files used, lists, something impure, a failure that is tried again, and outputs that are too large for a record.
const FLOW: &str = r#"
headwater: 1
workflow: mixed
inputs: {item: int, word: file}
stages:
  first:
    tasks: [{op: first, in: {item: item, word: word}, out: {large: large, parts: parts}}]
  second:
    iterate: dot(large, parts)
    tasks:
      - {op: count, in: {large: large, part: parts}, out: {count: count}}
      - {op: stamp, in: {count: count}, out: {stamp: stamp}}
  last:
    wait: all
    tasks: [{op: last, in: {counts: count, stamps: stamp}, out: {total: total}}]
outputs: {total: total, count: count, large: large}
operations:
  first:
    shell: |
      cat {in.word} scripts/more.txt > {out.large}
      seq {in.item} 9000 >> {out.large}
      mkdir parts
      for part in 1 2 3; do echo {in.item}-$part > parts/$part.txt; done
    inputs: {item: int, word: file}
    uses: [scripts/*]
    outputs: {large: {type: file, path: large.txt}, parts: {type: file, glob: "parts/*.txt"}}
  count:
    shell: |
      echo x >> "$TMPDIR/tries"
      wc -l < {in.large} > {out.count}
      cat {in.part} >> {out.count}
    inputs: {large: file, part: list of file}
    outputs: {count: {type: file, path: count.txt}}
  stamp:
    shell: "echo stamped > {out.stamp}; wc -c < {in.count} >> {out.stamp}"
    pure: false
    inputs: {count: file}
    outputs: {stamp: {type: file, path: stamp.txt}}
  last:
    shell: "cat {in.counts} {in.stamps} > {out.total}"
    inputs: {counts: list of file, stamps: list of file}
    outputs: {total: {type: file, path: total.txt}}
"#;

pub(crate) fn mixed() -> Place {
    let place = Place::with_flow(FLOW);
    place.write("scripts/more.txt", "more\n");
    place.write("word.txt", "word\n");
    place.write(
        "data.yaml",
        "inputs: {item: [1, 2, 3, 4], word: word.txt}\n",
    );
    place
}

/// The digests of all files below a folder but those that say when, how and where.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Digest> {
    let mut found = BTreeMap::new();
    let mut next = vec![folder.to_path_buf()];
    while let Some(below) = next.pop() {
        for entry in fs::read_dir(below).expect("a folder").flatten() {
            let path = entry.path();
            let name = path
                .strip_prefix(folder)
                .expect("below")
                .display()
                .to_string();
            if path.is_dir() {
                next.push(path);
            } else if !matches!(&*name, "trace.tsv" | "report.html" | "inputs.yaml") {
                found.insert(name, Digest::of(&fs::read(&path).expect("a file")));
            }
        }
    }
    found
}

#[test]
fn the_same_comes_out_and_nothing_is_made_twice() {
    let (alone, nodes) = (mixed(), mixed());
    let inputs = ["--inputs", "data.yaml", "-o", "results"];
    let told = alone.run(&inputs, 0);
    let with: Vec<&str> = inputs.into_iter().chain(["--nodes", "local:2"]).collect();
    let told_by_nodes = nodes.run(&with, 0);
    for key in ["tasks", "executed", "failed", "reused"] {
        assert_eq!(told.number(key), told_by_nodes.number(key), "{key}");
    }
    let results = files(&alone.path("results"));
    assert!(results.len() > 8, "{:?}", results.keys());
    assert_eq!(results, files(&nodes.path("results")));
    // What nodes have made is remembered for everybody, and what was made without them for nodes.
    let again = ["--inputs", "data.yaml"];
    let impure = 4;
    assert_eq!(nodes.run(&again, 0).number("executed"), impure);
    let again: Vec<&str> = again.into_iter().chain(["--nodes", "local:2"]).collect();
    assert_eq!(alone.run(&again, 0).number("executed"), impure);
    let damage = nodes.headwater(&["products", "verify"]).ended(0);
    assert!(damage.stdout.contains("all of them"), "{}", damage.stdout);
}

/// A task sees a file of the user with the mode that it has, on a node as elsewhere.
#[test]
fn files_of_the_user_have_their_modes_on_nodes() {
    use std::os::unix::fs::PermissionsExt as _;
    let flow = r#"
headwater: 1
workflow: modes
inputs: {program: file, secret: file}
stages:
  run:
    tasks:
      - {op: run, in: {program: program}, out: {said: said}}
      - {op: look, in: {file: secret}, out: {mode: mode}}
outputs: {said: said, mode: mode}
operations:
  run: {shell: "./{in.program} > {out.said}", inputs: {program: {type: file, extension: sh}}, outputs: {said: {type: file, path: said.txt}}}
  look: {shell: "stat -L -c %a {in.file} > {out.mode}", inputs: {file: file}, outputs: {mode: {type: file, path: mode.txt}}}
"#;
    let place = Place::with_flow(flow);
    let program = place.write("program.sh", "#!/bin/sh\necho it runs\n");
    let secret = place.write("secret.txt", "secret\n");
    for (file, mode) in [(program, 0o755), (secret, 0o600)] {
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("a mode");
    }
    place.write(
        "data.yaml",
        "inputs: {program: program.sh, secret: secret.txt}\n",
    );
    let report = place.run(&["--inputs", "data.yaml", "--nodes", "local:2"], 0);
    assert_eq!(report.texts("said"), ["it runs\n"]);
    assert_eq!(report.texts("mode"), ["600\n"]);
}

#[test]
fn a_study_gives_the_same_answer_with_nodes() {
    let answers = ["", "local:2"].map(|nodes| {
        let place = Place::new();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nuclei");
        for name in ["moat.yaml", "nuclei.yaml", "own.yaml", "tissue.png"] {
            fs::copy(examples.join(name), place.path(name)).expect("an example");
        }
        let mut command = vec![
            "study",
            "run",
            "moat.yaml",
            "--set",
            "method.moat.trajectories=2",
            "-o",
            "results",
        ];
        if !nodes.is_empty() {
            command.extend(["--nodes", nodes]);
        }
        place.headwater(&command).ended(0);
        place.read("results/results.json")
    });
    assert_eq!(answers[0], answers[1]);
}

/// Tasks that say which process runs them, and wait until they may end.
const WAITING: &str = r#"
headwater: 1
workflow: waiting
inputs: {item: int}
stages:
  work:
    tasks: [{op: work, in: {item: item}, out: {file: file}}]
outputs: {file: file}
operations:
  work:
    shell: |
      echo {in.item} $$ >> "$TMPDIR/log"
      while ! test -e "$TMPDIR/go"; do sleep 0.02; done
      echo {in.item} > {out.file}
    inputs: {item: int}
    outputs: {file: {type: file, path: file.txt}}
"#;

/// The processes of the nodes of a place.
fn nodes_of(place: &Place) -> Vec<String> {
    let root = place.root().display().to_string();
    let mut nodes = Vec::new();
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).into_owned();
        if command.contains("--headwater-node") && command.contains(&root) {
            nodes.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    nodes.sort();
    nodes
}

/// Six tasks that wait.
pub(crate) fn waits() -> Place {
    let place = Place::with_flow(WAITING);
    place.write("data.yaml", "inputs: {item: [0, 1, 2, 3, 4, 5]}\n");
    place
}

/// A run with two nodes, each of which has begun a task.
fn waiting() -> (Place, Child, Vec<String>) {
    let place = waits();
    let mut child = place.start(&[
        "run",
        "flow.yaml",
        "--inputs",
        "data.yaml",
        "--nodes",
        "local:2",
        "-j",
        "2",
        "--json",
    ]);
    while place.told("log").len() < 2 {
        let ended = child.try_wait().expect("it can be waited for");
        assert!(ended.is_none(), "the run ended");
        std::thread::sleep(Duration::from_millis(2));
    }
    let nodes = nodes_of(&place);
    assert_eq!(nodes.len(), 2);
    (place, child, nodes)
}

fn kill(process: &str) {
    let killed = std::process::Command::new("kill")
        .args(["-9", process])
        .status();
    assert!(killed.is_ok_and(|status| status.success()));
}

fn end(child: Child) -> Ran {
    Ran::from(child.wait_with_output().expect("it ends"))
}

#[test]
fn a_node_that_is_killed_costs_only_what_it_had() {
    let (place, child, nodes) = waiting();
    kill(&nodes[0]);
    // The other one begins what was lost, and nothing of it counts as a failure.
    fs::write(place.side().join("go"), "").expect("a file");
    let report = end(child).ended(0).report();
    assert_eq!((report.number("executed"), report.number("failed")), (6, 0));
    assert_eq!(
        report.texts("file"),
        ["0\n", "1\n", "2\n", "3\n", "4\n", "5\n"]
    );
    let begun = place.told("log").len();
    assert!(begun <= 7, "{begun} tasks were begun");
    assert!(nodes.iter().all(|node| is_gone(node)));
}

#[test]
fn where_all_nodes_are_gone_the_run_ends_and_can_be_given_again() {
    let (place, child, nodes) = waiting();
    nodes.iter().for_each(|node| kill(node));
    let ran = end(child).ended(1);
    assert!(
        ran.stdout.contains("no node is left to go on"),
        "{}",
        ran.stdout
    );
    fs::write(place.side().join("go"), "").expect("a file");
    let report = place.run(&["--inputs", "data.yaml", "--nodes", "local:2"], 0);
    assert_eq!(report.number("executed"), 6);
}

#[test]
fn a_stop_ends_nodes_and_what_they_run() {
    let (place, child, nodes) = waiting();
    signal(&child, libc::SIGINT);
    let report = end(child).ended(1).says(&["stopping"]).report();
    assert_eq!(report.0["stopped"], true);
    assert_eq!(report.failures().len(), 0);
    for process in nodes {
        assert!(is_gone(&process), "node {process} is still there");
    }
    for line in place.told("log") {
        let process = line.rsplit(' ').next().expect("a number");
        assert!(is_gone(process), "`{line}` still runs");
    }
}

#[test]
fn what_fails_on_a_node_is_reported_as_everywhere() {
    let flow = WAITING.replace(
        "      while ! test",
        "      echo oh no >&2; test {in.item} -ne 1 || exit 7\n      touch \"$TMPDIR/go\"\n      while ! test",
    );
    let place = Place::with_flow(&flow);
    place.write("data.yaml", "inputs: {item: [0, 1]}\n");
    let report = place.run(&["--inputs", "data.yaml", "--nodes", "local:2"], 1);
    assert_eq!((report.number("executed"), report.number("failed")), (1, 1));
    assert!(report.message("work.work[1]").contains("exit code 7"));
    let failures = place.read("outputs/last/failures.txt");
    assert!(failures.contains("oh no"), "{failures}");
    let again = failures
        .lines()
        .find_map(|line| line.trim().strip_prefix("again:"));
    let script = again
        .expect("a way to run it again")
        .trim()
        .trim_start_matches("sh ");
    let script = script.trim_matches('\'');
    assert!(Path::new(script).exists(), "{script}");
}

#[test]
fn what_cannot_be_is_refused_with_a_way_out() {
    let place = Place::with_flow(WAITING);
    place.write("data.yaml", "inputs: {item: [0]}\n");
    let run = |more: &[&str]| {
        let mut command = vec!["run", "flow.yaml", "--inputs", "data.yaml"];
        command.extend(more);
        place.headwater(&command)
    };
    run(&["--nodes", "local:none"])
        .ended(2)
        .says(&["`local:none` does not say which nodes to use", "local:N"]);
    run(&["--nodes", "local:1", "--memory", "1GiB"])
        .ended(2)
        .says(&["--memory cannot be kept to with --nodes yet"]);
    run(&["--nodes", "local:1", "--read-only"])
        .ended(2)
        .says(&["leave --read-only or --nodes out"]);
    run(&["--slurm=--partition=main"]).ended(2);
    // One that never becomes a node is not waited for.
    run(&["--nodes", "command:true {node}"])
        .ended(1)
        .says(&["no node is left to go on"]);
    assert!(nodes_of(&place).is_empty());
}

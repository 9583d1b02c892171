//! What tasks read stays what it was: nobody's file is written to, and a change while a run goes on is told
//! instead of remembered.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use crate::place::{Place, Ran, Report, contents, read};

/// Starts a run whose commands tell `ready` and then wait for the file `go`.
fn start(place: &Place) -> Child {
    let _ = fs::remove_file(place.side().join("ready"));
    let _ = fs::remove_file(place.side().join("go"));
    let mut child = place.start(&["run", "flow.yaml", "--inputs", "data.yaml", "--json"]);
    until(&mut child, || place.side().join("ready").exists());
    child
}

/// Waits until something is so while a run goes on.
#[track_caller]
pub(crate) fn until(child: &mut Child, so: impl Fn() -> bool) {
    while !so() {
        let ended = child.try_wait().expect("it can be waited for");
        assert!(ended.is_none(), "it ended early");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Lets the commands go on.
#[track_caller]
fn end(place: &Place, child: Child, code: i32) -> Report {
    fs::write(place.side().join("go"), "").expect("a file");
    let output = child.wait_with_output().expect("it can be waited for");
    Ran::from(output).ended(code).report()
}

const GATE: &str = r#"touch "$TMPDIR/ready"; while ! test -e "$TMPDIR/go"; do sleep 0.01; done"#;

#[track_caller]
fn folder(report: &Report, task: &str) -> String {
    let folder = report.failures()[task]["folder"].clone();
    folder.as_str().expect("a folder").to_owned()
}

/// Two stages of one task each; both run the same kind of script.
fn scripted() -> Place {
    let place = Place::with_flow(&format!(
        r#"
headwater: 1
workflow: scripted
inputs: {{item: text}}
stages:
  first:
    tasks: [{{op: gate, in: {{item: item}}, out: {{made: opened}}}}]
  second:
    tasks: [{{op: script, in: {{from: opened}}, out: {{made: made}}}}]
outputs: {{made: made}}
operations:
  gate:
    shell: |
      {GATE}
      echo open > {{out.made}}
    inputs: {{item: text}}
    outputs: {{made: {{type: file, path: made.txt}}}}
  script:
    shell: |
      ./tools/run.sh > {{out.made}}
      ls "$(dirname "$(realpath tools/run.sh)")" > "$TMPDIR/beside"
      touch "$(dirname "$(realpath tools/run.sh)")/cache"
      stat -L -c %a tools/run.sh > "$TMPDIR/mode"
    uses: [tools/run.sh]
    inputs: {{from: file}}
    outputs: {{made: {{type: file, path: made.txt}}}}
"#
    ));
    place.write("data.yaml", "inputs: {item: thing}\n");
    place.write("tools/other.sh", "");
    script(&place, "one");
    place
}

fn script(place: &Place, word: &str) {
    let path = place.write("tools/run.sh", &format!("#!/bin/sh\necho {word}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

#[test]
fn a_script_that_is_edited_during_a_run_is_the_old_one_until_the_next() {
    let place = scripted();
    let child = start(&place);
    script(&place, "two");
    let report = end(&place, child, 0).counts(2, 2, 0, 0);
    assert_eq!(report.texts("made"), ["one\n"]);
    // It sees the files it uses and no others, and what it puts beside them is not in the user's folder.
    assert_eq!(place.told("beside"), ["run.sh"]);
    assert_eq!(place.told("mode"), ["555"]);
    assert!(!place.path("tools/cache").exists());

    let report = place.run(&["--inputs", "data.yaml"], 0).counts(2, 1, 1, 0);
    assert_eq!(report.texts("made"), ["two\n"]);
    script(&place, "one");
    let report = place.run(&["--inputs", "data.yaml"], 0).counts(2, 0, 2, 0);
    assert_eq!(report.texts("made"), ["one\n"]);
}

#[test]
fn a_script_that_changes_while_a_run_starts_is_told() {
    let place = scripted();
    let flow = place.read("flow.yaml").replace(
        "    uses: [tools/run.sh]\n",
        "    uses: [tools/run.sh]\n    version: {command: [sh, -c, echo >> tools/run.sh]}\n",
    );
    place.write("flow.yaml", &flow);
    place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml"])
        .ended(2)
        .says(&["`tools/run.sh` changed while the run was starting; give the command again"]);
    assert!(!place.path("outputs").exists());
    assert!(!place.side().join("ready").exists(), "a task ran");
}

/// One task that waits and one after it; both read the user's file.
fn reading(input: &str, show: &str) -> Place {
    let place = Place::with_flow(&format!(
        r#"
headwater: 1
workflow: reading
inputs: {{item: {input}}}
stages:
  first:
    tasks: [{{op: gate, out: {{made: opened}}}}]
  second:
    tasks: [{{op: show, in: {{item: item, from: opened}}, out: {{made: made}}}}]
  third:
    tasks: [{{op: wait, in: {{item: item}}, out: {{made: waited}}}}]
outputs: {{made: made, waited: waited}}
operations:
  gate:
    shell: |
      while ! test -e "$TMPDIR/go"; do sleep 0.01; done
      echo open > {{out.made}}
    outputs: {{made: {{type: file, path: made.txt}}}}
  show:
    shell: |
      {show} > {{out.made}}
    inputs: {{item: {input}, from: file}}
    outputs: {{made: {{type: file, path: made.txt}}}}
  wait:
    shell: |
      {GATE}
      {show} > {{out.made}}
    inputs: {{item: {input}}}
    outputs: {{made: {{type: file, path: made.txt}}}}
"#
    ));
    place.write("data.yaml", "inputs: {item: given}\n");
    place
}

#[test]
fn an_input_that_is_edited_during_a_run_fails_its_readers() {
    let cases = [
        ("file", "cat {in.item}", "given", "inputs: {item: given}\n"),
        (
            "directory",
            "cat {in.item}/sub/a",
            "given/sub/a",
            "inputs: {item: given}\n",
        ),
        (
            "list of file",
            "cat {in.item}",
            "given",
            "inputs: {item: [[given]]}\n",
        ),
    ];
    for (input, show, name, data) in cases {
        let place = reading(input, show);
        place.write("data.yaml", data);
        let path = place.write(name, "old\n");
        let child = start(&place);
        // The same size, and not by much another time.
        fs::write(&path, "new\n").expect("a file");
        let report = end(&place, child, 1).counts(3, 1, 0, 2);
        let path = path.display();
        assert_eq!(
            report.message("second.show"),
            format!("`{path}` changed since the run began"),
            "{input}"
        );
        assert_eq!(
            report.message("third.wait"),
            format!("`{path}` changed while the task ran; inputs are only there to be read"),
            "{input}"
        );
        let report = place.run(&["--inputs", "data.yaml"], 0).counts(3, 2, 1, 0);
        assert_eq!(report.texts("made"), ["new\n"], "{input}");
        assert_eq!(report.texts("waited"), ["new\n"], "{input}");
    }
}

/// A product with two readers: `bad` may write to it, `good` shows it.
const POISON: &str = r#"
headwater: 1
workflow: poison
inputs: {item: text}
stages:
  first:
    tasks: [{op: make, in: {item: item}, out: {made: product}}]
  second:
    tasks:
      - {op: bad, in: {from: product}, out: {made: bad}}
      - {op: good, in: {from: product}, out: {made: good}}
outputs: {bad: bad, good: good}
operations:
  make:
    shell: echo {in.item} > {out.made}
    inputs: {item: text}
    outputs: {made: {type: file, path: made.txt}}
  bad:
    shell: |
      touch "$TMPDIR/ready"; while ! test -e "$TMPDIR/go"; do sleep 0.01; done
      stat -L -c %a {in.from} > "$TMPDIR/mode"
      if test -e "$TMPDIR/bad"; then chmod u+w "$(realpath {in.from})"; echo more >> {in.from}; fi
      cat {in.from} > {out.made}
    inputs: {from: file}
    outputs: {made: {type: file, path: made.txt}}
  good:
    shell: |
      sed s/^/good/ {in.from} > {out.made}
      touch "$TMPDIR/seen"
    inputs: {from: file}
    outputs: {made: {type: file, path: made.txt}}
"#;

#[test]
fn a_product_that_a_reader_writes_to_stays_what_it_was() {
    let place = Place::with_flow(POISON);
    place.write("data.yaml", "inputs: {item: thing}\n");
    fs::write(place.side().join("bad"), "").expect("a file");
    let mut child = start(&place);
    // The other reader has seen it, and the store has what both of them read.
    until(&mut child, || {
        place.side().join("seen").exists()
            && !contents(&place.path(".headwater/objects")).is_empty()
    });
    let report = end(&place, child, 0).counts(3, 3, 0, 0);
    assert_eq!(place.told("mode"), ["444"]);
    // What it does to its copy is its own.
    assert_eq!(report.texts("bad"), ["thing\nmore\n"]);
    assert_eq!(report.texts("good"), ["goodthing\n"]);
    place.headwater(&["products", "verify"]).ended(0);
    let report = place.run(&["--inputs", "data.yaml"], 0).counts(3, 0, 3, 0);
    assert_eq!(report.texts("good"), ["goodthing\n"]);
}

#[test]
fn a_program_that_writes_beside_its_input_writes_into_its_own_folder() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: beside
inputs: {item: directory}
stages:
  first:
    tasks: [{op: index, in: {item: item}, out: {made: made, same: same}}]
outputs: {made: made, same: same}
operations:
  index:
    shell: |
      echo index > {in.item}/a.idx
      mkdir {in.item}/more
      cat {in.item}/a {in.item}/sub/b {in.item}/a.idx > {out.made}
      rm -r {in.item}/a.idx {in.item}/more
      cp -r {in.item} {out.same}
    inputs: {item: directory}
    outputs: {made: {type: file, path: made.txt}, same: {type: directory, path: same}}
"#,
    );
    place.write("data.yaml", "inputs: {item: given}\n");
    place.write("given/a", "A\n");
    place.write("given/sub/b", "B\n");
    let before = contents(&place.path("given"));
    let report = place.run(&["--inputs", "data.yaml"], 0).counts(1, 1, 0, 0);
    assert_eq!(report.texts("made"), ["A\nB\nindex\n"]);
    assert_eq!(contents(&place.path("given")), before);
    assert!(!place.path("given/more").exists());
    // A copy of an input folder is a folder of files.
    let same = &report.files("same")[""];
    assert_eq!(contents(same), before);
    let mode = |name: &str| {
        let found = fs::metadata(place.path(name)).expect("a file");
        found.permissions().mode() & 0o200
    };
    assert_eq!(mode("given/a"), 0o200, "the user's file stays writable");
}

#[test]
fn the_script_of_a_failed_task_finds_the_products_of_other_tasks() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: again
inputs: {item: int}
stages:
  first:
    tasks: [{op: make, in: {item: item}, out: {made: one, folder: folder, parts: parts}}]
  second:
    tasks:
      - op: join
        in: {one: one, folder: folder, all: parts}
        out: {made: made}
outputs: {made: made}
operations:
  make:
    shell: |
      echo {in.item} > {out.made}
      mkdir -p {out.folder}/sub parts
      echo part > parts/p
      echo folder {in.item} > {out.folder}/sub/x
    inputs: {item: int}
    pure: false
    outputs:
      made: {type: file, path: made.txt}
      folder: {type: directory, path: folder}
      parts: {type: file, glob: "parts/*"}
  join:
    shell: |
      cat > {out.made}
      cat {in.one} {in.folder}/sub/x {in.all} >> {out.made}
      ./tool.sh >> {out.made}
      test -e "$TMPDIR/luck"
    stdin: "{in.one}"
    uses: [tool.sh]
    inputs: {one: file, folder: directory, all: list of file}
    outputs: {made: {type: file, path: made.txt}}
"#,
    );
    place.write("data.yaml", "inputs: {item: 7}\n");
    let tool = place.write("tool.sh", "#!/bin/sh\necho tool\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    let report = place.run(&["--inputs", "data.yaml"], 1).counts(2, 1, 0, 1);
    let folder = folder(&report, "second.join");
    let folder = Path::new(&folder);
    assert!(
        !place.path(".headwater/staging").exists()
            || contents(&place.path(".headwater/staging")).is_empty()
    );
    fs::remove_file(folder.join("made.txt")).expect("removed");
    fs::write(place.side().join("luck"), "").expect("luck");
    let again = Command::new("sh").arg(folder.join(".again.sh")).output();
    let again = again.expect("sh can be started");
    assert!(again.status.success(), "{again:?}");
    assert_eq!(
        read(&folder.join("made.txt")),
        "7\n7\nfolder 7\npart\ntool\n"
    );
}

/// One stage with one operation, whose body is given; its input is the file `mine.txt`.
fn one_operation(body: &str) -> Place {
    let place = Place::with_flow(&format!(
        "headwater: 1\nworkflow: one\ninputs: {{mine: file}}\nstages:\n  only:\n    tasks: [{{op: work, in: \
         {{mine: mine}}, out: {{made: made}}}}]\noutputs: {{made: made}}\noperations:\n  work:\n{body}"
    ));
    place.write("mine.txt", "mine\n");
    place.write("data.yaml", "inputs: {mine: mine.txt}\n");
    place
}

#[track_caller]
fn failure_of(place: &Place) -> String {
    let ran = place.headwater(&["run", "flow.yaml", "--inputs", "data.yaml", "--json"]);
    ran.ended(1).report().message("only.work")
}

#[test]
fn a_pattern_does_not_collect_what_was_put_there() {
    let place = one_operation(
        "    shell: echo a > a.txt; echo b > b.txt\n    inputs: {mine: {type: file, extension: txt}}\n    \
         outputs: {made: {type: file, glob: \"*.txt\"}}\n",
    );
    place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml"])
        .ended(0);
    let made = place.path("outputs/last/made");
    assert_eq!(read(&made.join("0.txt")), "a\n");
    assert_eq!(read(&made.join("1.txt")), "b\n");
    assert!(!made.join("2.txt").exists(), "the input is not an output");
    assert_eq!(read(&place.path("mine.txt")), "mine\n");
}

/// The name comes from a parameter, so that only the run can see the clash.
#[test]
fn what_a_program_says_does_not_go_over_an_input() {
    let place = one_operation(
        "    command: [echo, \"{in.mine}\"]\n    inputs: {mine: {type: file, extension: txt}}\n    params: \
         {to: {type: text, default: mine}}\n    stdout: \"{param.to}.txt\"\n    outputs: {made: {type: file, \
         path: other.txt}}\n",
    );
    assert!(failure_of(&place).contains("would overwrite the input `mine.txt`"));
    assert_eq!(place.read("mine.txt"), "mine\n");
}

#[test]
fn a_pipe_left_as_output_does_not_hang_the_run() {
    let place = one_operation(
        "    shell: mkfifo {out.made}\n    inputs: {mine: file}\n    outputs: {made: {type: file, path: made}}\n",
    );
    assert!(failure_of(&place).contains("not a regular file"));
}

#[test]
fn another_type_of_an_input_is_another_computation() {
    let flow = |number: &str| {
        format!(
            "headwater: 1\nworkflow: one\ninputs: {{n: int}}\nstages:\n  only:\n    tasks: [{{op: work, in: \
             {{n: n}}, out: {{made: made}}}}]\noutputs: {{made: made}}\noperations:\n  work:\n    shell: echo \
             {{in.n}} > {{out.made}}\n    inputs: {{n: {number}}}\n    outputs: {{made: text}}\n"
        )
    };
    let place = Place::with_flow(&flow("int"));
    place.write("data.yaml", "inputs: {n: 3}\n");
    let run = || {
        let ran = place.headwater(&["run", "flow.yaml", "--inputs", "data.yaml", "--json"]);
        ran.ended(0).report().values("made")[""].clone()
    };
    assert_eq!(run(), "3");
    place.write("flow.yaml", &flow("float"));
    assert_eq!(run(), "3.0");
}

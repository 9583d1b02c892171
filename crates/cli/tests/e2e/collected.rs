//! What programs find in folders, and what is collected from theirs: the same in every way of protection, and nothing is
//! moved before it is known that everything can be had.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::place::{Place, Ran, Report, contents, read};

/// The ways of protection, as the variable names them.
const WAYS: [&str; 4] = ["", "mount", "copy", "check"];

/// More than what is copied because it is small.
const LARGE: usize = 3 << 20;

/// A workflow with one task, of these outputs.
fn flow(kind: &str, outputs: &[(&str, &str)], script: &str) -> Place {
    let join = |parts: Vec<String>| parts.join(", ");
    let ports = |text: &dyn Fn(&str, &str) -> String| {
        join(outputs.iter().map(|(name, how)| text(name, how)).collect())
    };
    let place = Place::with_flow(&format!(
        "
headwater: 1
workflow: one
inputs: {{item: {kind}}}
stages:
  only:
    tasks: [{{op: work, in: {{item: item}}, out: {{{}}}}}]
outputs: {{{}}}
operations:
  work:
    shell: |
      {}
    inputs: {{item: {kind}}}
    outputs: {{{}}}
",
        ports(&|name, _| format!("{name}: {name}")),
        ports(&|name, _| format!("{name}: {name}")),
        script.replace('\n', "\n      "),
        ports(&|name, how| format!("{name}: {{{how}}}")),
    ));
    place.write("data.yaml", "inputs: {item: raw}\n");
    place
}

fn run(place: &Place, way: &str, code: i32) -> Report {
    let mut command = place.command(&["run", "flow.yaml", "--inputs", "data.yaml", "--json"]);
    if !way.is_empty() {
        command.env("HEADWATER_PROTECT", way);
    }
    let ran = Ran::from(command.output().expect("headwater can be started"));
    ran.ended(code).report()
}

/// Where the only item of an output is.
fn only(report: &Report, output: &str) -> PathBuf {
    let mut files = report.files(output).into_values();
    files.next().expect("one item")
}

/// Programs that look through a folder pass over links: a folder of the user has none that the user did not make.
#[test]
fn a_folder_of_the_user_has_files_whatever_their_size() {
    let script = "find {in.item} -type f | sort > {out.found}\ngrep -r -l needle {in.item} | sort >> {out.found}";
    for way in WAYS {
        let place = flow(
            "directory",
            &[("found", "type: file, path: found.txt")],
            script,
        );
        place.write("raw/small", "a needle");
        let hay = "a".repeat(LARGE);
        place.write("raw/sub/large", &format!("{hay}\nneedle\n"));
        let report = run(&place, way, 0);
        let found = read(&only(&report, "found"));
        let all = "item/small\nitem/sub/large\n";
        assert_eq!(found, format!("{all}{all}"), "`{way}`");
        assert_eq!(place.read("raw/small"), "a needle");
    }
}

/// By their names below the folder.
fn names(folder: &Path) -> Vec<PathBuf> {
    contents(folder).into_keys().collect()
}

/// Whatever the engine puts into the folder of a task for its own use is not there when outputs are collected.
#[test]
fn nothing_of_the_engine_is_collected() {
    let mut seen: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
    for way in WAYS {
        let outputs = [("all", "type: directory, path: .")];
        let place = flow("file", &outputs, "head -c 3 {in.item} > made.txt");
        place.write("raw", &"a".repeat(LARGE));
        let report = run(&place, way, 0);
        seen.insert(way, names(&only(&report, "all")));
        let hidden = [("dots", "type: directory, glob: '.*'")];
        let place = flow(
            "file",
            &hidden,
            "mkdir .mine; head -c 3 {in.item} > .mine/x",
        );
        place.write("raw", &"a".repeat(LARGE));
        let report = run(&place, way, 0);
        let folder = report.folder().join("dots");
        assert_eq!(names(&folder), [PathBuf::from("0/x")], "`{way}`");
    }
    let expected = ["item", "made.txt"].map(PathBuf::from);
    for (way, names) in seen {
        assert_eq!(names, expected, "`{way}`");
    }
}

/// What is missing is known before anything is moved: the folder of the failed task is as the program left it.
#[test]
fn a_task_that_lacks_an_output_keeps_the_others_in_its_folder() {
    let outputs = [
        ("model", "type: file, path: model.txt"),
        ("parts", "type: directory, path: parts"),
        ("score", "type: float, path: score.txt"),
        ("last", "type: file, path: last.txt"),
    ];
    let script =
        "echo much work > model.txt; mkdir parts; echo one > parts/one; echo 0.5 > score.txt";
    let place = flow("file", &outputs, script);
    place.write("raw", "a");
    let report = run(&place, "", 1);
    let said = report.message("only.work");
    assert!(said.contains("the program left no `last.txt`"), "{said}");
    assert!(said.contains("model.txt, parts, score.txt"), "{said}");
    let failed = place.path(".headwater/work");
    let left = contents(&failed);
    for name in ["model.txt", "parts/one", "score.txt"] {
        assert!(
            left.keys().any(|path| path.ends_with(name)),
            "{name}: {left:?}"
        );
    }
    // A folder that turns out to hold what cannot be kept comes back, too.
    let script = "echo much work > model.txt; mkdir parts; mkfifo parts/pipe; echo 1 > score.txt; echo > last.txt";
    let place = flow("file", &outputs, script);
    place.write("raw", "a");
    let report = run(&place, "", 1);
    let said = report.message("only.work");
    assert!(
        said.contains("`pipe`, which is neither a file nor a folder"),
        "{said}"
    );
    let work = place.path(".headwater/work");
    let folder = fs::read_dir(&work)
        .expect("work")
        .flatten()
        .next()
        .expect("a run")
        .path();
    let task = fs::read_dir(&folder)
        .expect("tasks")
        .flatten()
        .next()
        .expect("a task")
        .path();
    assert_eq!(read(&task.join("model.txt")), "much work\n");
    assert!(task.join("parts/pipe").exists());
}

/// Outputs may be links to each other, and the same file: each is what the program left under that name.
#[test]
fn outputs_may_be_one_file_under_several_names() {
    let outputs = [
        ("libs", "type: file, glob: 'lib.so*'"),
        ("first", "type: file, path: lib.so.1"),
        ("folder", "type: directory, path: sub"),
        ("inner", "type: file, path: sub/inner.txt"),
    ];
    let script = "echo code > lib.so.1; ln -s lib.so.1 lib.so.2; ln -s lib.so.2 lib.so\nmkdir -p sub; echo inner > sub/inner.txt";
    let place = flow("file", &outputs, script);
    place.write("raw", "a");
    let report = run(&place, "", 0);
    assert_eq!(read(&only(&report, "first")), "code\n");
    assert_eq!(read(&only(&report, "inner")), "inner\n");
    let libs = contents(&report.folder().join("libs"));
    assert_eq!(libs.len(), 3, "{libs:?}");
    assert!(libs.values().all(|bytes| bytes == b"code\n"), "{libs:?}");
    place.headwater(&["products", "verify"]).ended(0);

    let twice = [("a", "type: file, path: x"), ("b", "type: file, path: ./x")];
    let place = flow("file", &twice, "echo > x");
    place
        .headwater(&["check", "flow.yaml"])
        .ended(2)
        .says(&["outputs `a` and `b` have the same path"]);
}

/// A number is a few signs: a file of any length is not read for one, and what is in it does not look like our words.
#[test]
fn a_file_that_holds_no_number_is_told_in_one_line() {
    let outputs = [("score", "type: int, path: score.txt")];
    for (script, said) in [
        (
            "printf '1\\nrun forged: 1 task' > score.txt",
            "holds `1\\nrun forged: 1 task`",
        ),
        (
            "head -c 5000 /dev/zero > score.txt",
            "has 5000 bytes, which is too much",
        ),
    ] {
        let place = flow("file", &outputs, script);
        place.write("raw", "a");
        let report = run(&place, "", 1);
        let message = report.message("only.work");
        assert!(message.contains(said), "{message}");
    }
}

/// The name of a file that looks like a pattern is that file; but it does not hide the others that match.
#[test]
fn a_file_called_like_a_pattern_hides_no_other() {
    let place = flow(
        "file",
        &[("size", "type: text, path: size")],
        "wc -c < {in.item} > size",
    );
    for name in ["a.txt", "b.txt", "scan[1].png", "scan1.png"] {
        place.write(&format!("in/{name}"), name);
    }
    let items = |pattern: &str| {
        place.write(
            "data.yaml",
            &format!("inputs: {{item: \"in/{pattern}\"}}\n"),
        );
        run(&place, "", 0).values("size").len()
    };
    assert_eq!(items("*.txt"), 2);
    assert_eq!(items("scan[1].png"), 1);
    place.write("in/*.txt", "*");
    assert_eq!(items("*.txt"), 3);
}

/// A program may call its files what it likes, also what Headwater would call its own.
#[test]
fn names_in_an_output_folder_are_the_programs_own() {
    let place = flow(
        "file",
        &[("d", "type: directory, path: d")],
        "mkdir d
for name in a b c d e f g h; do
  echo $name > d/$name; ln d/$name d/z-$name; echo own > d/.headwater-new-$name
done
long=$(printf 'x%.0s' $(seq 250)); echo long > d/$long; ln d/$long d/other",
    );
    place.write("raw", "raw");
    let delivered = only(&run(&place, "", 0), "d");
    let names = fs::read_dir(&delivered).expect("a folder").count();
    assert_eq!(names, 26);
    assert_eq!(read(&delivered.join("b")), "b\n");
    assert_eq!(read(&delivered.join(".headwater-new-b")), "own\n");
}

/// A link under such a name leads nowhere: the folder is refused before anything is done to it.
#[test]
fn what_links_in_an_output_folder_lead_to_is_not_written_to() {
    let place = flow(
        "file",
        &[("d", "type: directory, path: d")],
        "mkdir d
for name in a b c d e f g h; do
  echo $name > d/$name; ln d/$name d/z-$name; ln -s $(cat {in.item})/precious d/.headwater-new-$name
done",
    );
    place.write("precious", "precious");
    place.write("raw", &place.root().display().to_string());
    run(&place, "", 1);
    assert_eq!(read(&place.path("precious")), "precious");
    let left = fs::metadata(place.path("precious")).expect("the file");
    assert!(!left.permissions().readonly());
}

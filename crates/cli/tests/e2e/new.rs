//! `headwater new`: what it writes runs as it is, or says what is missing; nothing of the user's is touched.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::place::{Place, contents, read};

/// The commands that `new` says to type next, without `headwater`.
fn next(stdout: &str) -> Vec<Vec<String>> {
    let lines = stdout.lines().skip_while(|line| *line != "next:").skip(1);
    let words = |line: &str| {
        let words = line.trim().strip_prefix("headwater ").expect("a command");
        words.split(' ').map(str::to_owned).collect()
    };
    lines.map(words).collect()
}

#[test]
fn a_new_workflow_runs_as_it_is_and_once() {
    let place = Place::new();
    let ran = place.headwater(&["new", "workflow", "words"]).ended(0);
    assert_eq!(ran.stderr, "");
    assert!(
        ran.stdout
            .starts_with("wrote words.yaml\nwrote words-data.yaml\n")
    );
    let commands = next(&ran.stdout);
    assert_eq!(commands.len(), 2);
    let checked = place.headwater(&commands[0]).ended(0);
    assert_eq!(checked.stderr, "", "no warnings, no notes");
    let checked = place.headwater(&["check", "words-data.yaml"]).ended(0);
    assert_eq!(checked.stderr, "");
    assert!(
        checked
            .stdout
            .starts_with("words-data.yaml: data: 1 input;"),
        "{}",
        checked.stdout
    );
    let mut run = commands[1].clone();
    run.push("--json".to_owned());
    let report = place.headwater(&run).ended(0).report().counts(8, 8, 0, 0);
    let frequent = report.texts("frequent");
    assert_eq!(frequent.len(), 3);
    assert!(frequent.iter().all(|words| words.lines().count() == 5));
    let table = place.read(report.files("table")[""].to_str().expect("a path in UTF-8"));
    assert_eq!(report.values("different")[""], table.lines().count());
    place.headwater(&run).ended(0).report().counts(8, 0, 8, 0);
    // The parameter reaches the tool, and what does not depend on it is not run again.
    run.extend(["--set".to_owned(), "most=2".to_owned()]);
    let report = place.headwater(&run).ended(0).report();
    assert!(
        report
            .texts("frequent")
            .iter()
            .all(|words| words.lines().count() == 2)
    );
    assert!(
        report
            .ran()
            .iter()
            .all(|task| !task.starts_with("count.split"))
    );
}

#[test]
fn a_new_study_runs_as_it_is() {
    let place = Place::new();
    let ran = place.headwater(&["new", "study"]).ended(0);
    assert_eq!(ran.stderr, "");
    assert!(
        ran.stdout
            .starts_with("wrote study.yaml\nwrote study-workflow.yaml\n")
    );
    let commands = next(&ran.stdout);
    let checked = place.headwater(&commands[0]).ended(0);
    assert_eq!(checked.stderr, "", "no warnings, no notes");
    assert!(
        checked.stdout.contains("100 parameter sets"),
        "{}",
        checked.stdout
    );
    place.headwater(&commands[1]).ended(0);
    let mut run = commands[2].clone();
    run.push("--json".to_owned());
    let report = place.headwater(&run).ended(0).report();
    assert_eq!(report.0["failed"], 0, "{}", report.0);
    assert!(place.last().join("report.html").is_file());
    let workflow = place.headwater(&["check", "study-workflow.yaml"]).ended(0);
    assert_eq!(workflow.stderr, "");
}

#[test]
fn files_go_where_they_are_wanted_and_programs_are_told() {
    let place = Place::new();
    let told = place
        .headwater(&[
            "new",
            "workflow",
            "a.yaml",
            "-o",
            "deep/my folder",
            "--json",
        ])
        .ended(0)
        .report();
    let expected = [
        "deep/my folder/a.yaml",
        "deep/my folder/a-data.yaml",
        "deep/my folder/a-texts/brook.txt",
        "deep/my folder/a-texts/river.txt",
        "deep/my folder/a-texts/sea.txt",
    ];
    assert_eq!(told.0["files"], serde_json::json!(expected));
    assert_eq!(
        told.0["next"][1],
        "headwater run 'deep/my folder/a.yaml' --inputs 'deep/my folder/a-data.yaml'"
    );
    let mut found: Vec<_> = contents(&place.path("deep")).into_keys().collect();
    found.sort();
    assert_eq!(found.len(), expected.len());
    place
        .headwater(&["run", expected[0], "--inputs", expected[1]])
        .ended(0);
}

#[test]
fn nothing_of_the_users_is_overwritten() {
    let place = Place::new();
    for (arguments, taken) in [
        (&["new", "workflow"][..], "workflow-data.yaml"),
        (&["new", "study"], "study-workflow.yaml"),
    ] {
        place.write(taken, "mine");
        let before = contents(place.root());
        place.headwater(arguments).ended(2).says(&[
            &format!("`{taken}` already exists and has other contents"),
            "help: give another name, or name another folder with -o",
        ]);
        assert_eq!(
            contents(place.root()),
            before,
            "nothing is written, not even in part"
        );
        fs::remove_file(place.path(taken)).expect("a file");
        place.headwater(arguments).ended(0);
        let written = contents(place.root());
        place.headwater(arguments).ended(0);
        assert_eq!(
            contents(place.root()),
            written,
            "given again, all is as it was"
        );
    }
    place.write("file", "");
    place
        .headwater(&["new", "workflow", "-o", "file"])
        .ended(2)
        .says(&["`file` is a file, and a folder is needed"]);
}

#[test]
fn names_stay_in_their_folder() {
    let place = Place::new();
    fs::create_dir(place.path("in")).expect("a folder");
    for kind in ["workflow", "study"] {
        for (name, says) in [
            ("../out", "`../out` is a path, and a name is wanted"),
            ("a/b", "say with -o which folder"),
            ("..", "begins with `.`"),
            (".hidden", "begins with `.`"),
            ("", "a name cannot be empty"),
            ("two words", "contains a space"),
            ("a\nb: c", "the name"),
        ] {
            let ran = place.headwater(&["new", kind, "-o", "in", "--", name]);
            ran.ended(2).says(&[says, "help: "]);
        }
        // Words that mean something else in YAML are names like others.
        for name in ["true", "null", "007", "1e5", "größe"] {
            let told = place.headwater(&["new", kind, name, "-o", "in", "--json"]);
            let told = told.ended(0).report();
            let file = told.0["files"][0].as_str().expect("a file").to_owned();
            let checked = place.headwater(&["check", &file]).ended(0);
            assert_eq!(checked.stderr, "");
            assert!(
                checked.stdout.contains(&format!("{kind} `{name}`")),
                "{}",
                checked.stdout
            );
            for file in told.0["files"].as_array().expect("files") {
                let path = place.path(file.as_str().expect("a file"));
                fs::remove_file(path).expect("removed");
            }
        }
    }
    let left = contents(place.root());
    assert!(left.is_empty(), "{:?}", left.keys());
}

const FLOW: &str = r#"
headwater: 1
workflow: cells
inputs:
  image: file
  reference: {type: file, optional: true}
  extra: {type: int, optional: true}
parameters:
  low: {type: int, range: [1, 9], step: 2, default: 3}
  kind: {type: choice, values: [a, "b: c"], default: a}
  plain: {type: float, default: 0.5}
  idle: {type: int, range: [1, 9], default: 2}
stages:
  cut: [{op: cut, in: {image: image}, params: {low: $low, kind: $kind, plain: $plain}, out: {mask: mask, size: size}}]
  compare: [{op: compare, in: {a: mask, b: reference}, out: {score: score}}]
  other: [{op: other, in: {n: extra}, params: {n: $idle}, out: {n: n}}]
outputs: OUTPUTS
operations:
  cut:
    shell: cat {in.image} > {out.mask}; echo $(( {param.low} + 1 )) {param.kind} {param.plain} | cut -d ' ' -f 1 > {out.size}
    inputs: {image: file}
    params: {low: int, kind: text, plain: float}
    outputs: {mask: file, size: int}
  compare: {shell: "cat {in.a} {in.b} | wc -c > {out.score}", inputs: {a: file, b: file}, outputs: {score: float}}
  other: {shell: "echo {in.n} {param.n} | cut -d ' ' -f 2 > {out.n}", inputs: {n: int}, params: {n: int}, outputs: {n: int}}
"#;

#[test]
fn a_study_of_a_workflow_asks_for_what_is_missing_and_then_runs() {
    let place = Place::new();
    place.write(
        "flows/cells.yaml",
        &FLOW.replace("OUTPUTS", "[mask, size, score, n]"),
    );
    let ran = place
        .headwater(&[
            "new",
            "study",
            "--workflow",
            "flows/cells.yaml",
            "-o",
            "studies",
        ])
        .ended(0);
    assert!(
        ran.stdout.starts_with("wrote studies/cells-study.yaml\n"),
        "{}",
        ran.stdout
    );
    let text = place.read("studies/cells-study.yaml");
    assert!(text.contains("\nworkflow: ../flows/cells.yaml\n"), "{text}");
    insta::assert_snapshot!("study-of-a-workflow", text);
    let study = "studies/cells-study.yaml";
    let asked = place.headwater(&["check", study]).ended(2);
    asked.says(&[
        "input `image` has no value, and the workflow needs one",
        "studies/cells-study.yaml:15:3",
        "help: write a file, a list of them or a pattern",
        "1 mistake in studies/cells-study.yaml",
    ]);
    place.write("studies/a.txt", "one");
    place.write(study, &text.replace("  image:", "  image: a.txt"));
    let checked = place.headwater(&["check", study]).ended(0);
    assert_eq!(checked.stderr, "");
    assert!(
        checked.stdout.contains("study `cells-study`: 2 parameters"),
        "{}",
        checked.stdout
    );
    let report = place
        .headwater(&["study", "run", study, "--json"])
        .ended(0)
        .report();
    assert_eq!(report.0["failed"], 0);

    // An objective that needs an optional input gets an output at the default parameters.
    place.write(
        "flows/cells.yaml",
        &FLOW.replace("OUTPUTS", "[mask, score]"),
    );
    let told = place
        .headwater(&[
            "new",
            "study",
            "score",
            "--workflow",
            "flows/cells.yaml",
            "-o",
            "flows",
        ])
        .ended(0);
    assert!(
        told.stdout.starts_with("wrote flows/score.yaml\n"),
        "{}",
        told.stdout
    );
    let text = place.read("flows/score.yaml");
    assert!(text.contains("\nworkflow: cells.yaml\n"), "{text}");
    assert!(
        text.contains("\n  reference: {output: mask, at: default} #"),
        "{text}"
    );
    place.write("flows/a.txt", "one");
    place.write(
        "flows/score.yaml",
        &text.replace("  image:", "  image: a.txt"),
    );
    place.headwater(&["check", "flows/score.yaml"]).ended(0);
}

#[test]
fn a_study_without_parameters_or_numbers_is_refused_with_a_way_out() {
    let place = Place::new();
    let flow = |text: &str| {
        place.write("flow.yaml", text);
        place.headwater(&["new", "study", "--workflow", "flow.yaml"])
    };
    let none = FLOW.replace("OUTPUTS", "[mask]");
    flow(&none).ended(2).says(&[
        "no output of the workflow `cells` is a number",
        "help: add one of the numbers that it makes on the way to its `outputs`: `n`, `score`, `size`",
    ]);
    let plain = "headwater: 1\nworkflow: w\ninputs: {a: file}\nPARAMETERSstages: {s: [{op: o, in: {a: a}, out: {b: b}}]}\n\
                 operations: {o: {shell: 'wc -c < {in.a} > {out.b}', inputs: {a: file}, outputs: {b: TYPE}}}\n";
    flow(&plain.replace("PARAMETERS", "").replace("TYPE", "int"))
        .ended(2)
        .says(&[
            "the workflow `w` has no parameters",
            "help: declare one in the workflow",
        ]);
    flow(
        &plain
            .replace("PARAMETERS", "parameters: {p: int}\n")
            .replace("TYPE", "file"),
    )
    .ended(2)
    .says(&[
        "no output of the workflow `w` is a number",
        "declare that output of it with `type: float`",
    ]);
    flow("headwater: 1\nstudy: s\n")
        .ended(2)
        .says(&["`flow.yaml` is a study file already"]);
    flow("headwater: 1\nworkflow: w\n")
        .ended(2)
        .says(&["a workflow file needs `stages`"]);
    place
        .headwater(&["new", "study", "--workflow", "gone.yaml"])
        .ended(2)
        .says(&["there is no file `gone.yaml`"]);
    assert!(!place.path("w-study.yaml").exists() && !place.path("cells-study.yaml").exists());

    // Without a range there are places for ranges, and check asks for each of them.
    flow(
        &plain
            .replace(
                "PARAMETERS",
                "parameters: {p: int, q: {type: float, default: 1}}\n",
            )
            .replace("TYPE", "int"),
    )
    .ended(0);
    place.headwater(&["check", "w-study.yaml"]).ended(2).says(&[
        "input `a` has no value",
        "`p` has no range",
        "help: write `p: {range: [a, b]}`, or `p: {value: V}` if it is not varied",
        "`q` has no range",
        "3 mistakes in w-study.yaml",
    ]);
}

const SEGMENTATION: &str = include_str!("../../../flow/fixtures/segmentation.json");

/// The library is built with the versions and the settings of this project and in its folder of built things, so that
/// nothing is downloaded and little is built.
#[test]
fn a_new_library_of_operations_compiles() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("a folder above");
    let place = Place::new();
    // A stage of every type, and one whose names are words of Rust.
    let types = r#"{"name": "types", "tasks": [
        {"call": "match", "args": [{"name": "type", "type": "int"}, {"name": "in", "type": "dr", "io": "input"}, {"name": "context", "type": "float_array"}],
         "intertask_args": [{"name": "self", "type": "mat", "io": "output"}, {"name": "list", "type": "mat_vect", "io": "output"}, {"name": "n", "type": "int", "io": "output"}]},
        {"call": "::one::main", "args": [{"name": "x", "type": "double"}, {"name": "out", "type": "dr", "io": "output"}],
         "intertask_args": [{"name": "list", "type": "mat_vect", "io": "input"}, {"name": "n", "type": "int", "io": "input"}]},
        {"call": "::two::nothing"}
    ]}"#;
    for (name, descriptor, package) in [
        ("stage", SEGMENTATION, "nscale-operations"),
        ("types", types, "types-operations"),
    ] {
        let from = format!("{name}.json");
        place.write(&from, descriptor);
        let arguments = ["new", "operations", "--from", &from, "--headwater"];
        let mut command = place.command(&arguments);
        let made = command.arg(&project).output().expect("it can be started");
        assert!(made.status.success(), "{made:?}");
        let told = String::from_utf8(made.stdout).expect("UTF-8");
        assert!(
            told.starts_with(&format!("wrote {package}/Cargo.toml\n")),
            "{told}"
        );
        let folder = place.path(package);
        fs::copy(project.join("Cargo.lock"), folder.join("Cargo.lock")).expect("a copy");
        let settings = read(&project.join("Cargo.toml"));
        let settings = settings.split("[profile.dev]").nth(1).expect("a profile");
        let settings = settings.split("[profile.release]").next().expect("its end");
        place.write(
            &format!("{package}/.cargo/config.toml"),
            &format!("[profile.dev]{settings}"),
        );
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let asked = |arguments: &[&str]| {
            Command::new(&cargo)
                .args(arguments)
                .current_dir(&folder)
                .env("CARGO_TARGET_DIR", target)
                .output()
                .expect("cargo can be started")
        };
        let lints = asked(&["clippy", "--version"]).status.success();
        let built = if lints {
            asked(&[
                "clippy",
                "--offline",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ])
        } else {
            asked(&["check", "--offline", "--all-targets"])
        };
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{package}: {said}");
        assert!(!said.contains("warning: unused"), "{said}");
        // What is there is left alone, however little of it there is.
        place.write(&format!("{package}/src/lib.rs"), "// mine\n");
        place
            .headwater(&["new", "operations", "--from", &from])
            .ended(2)
            .says(&["src/lib.rs` already exists and has other contents"]);
        assert_eq!(place.read(&format!("{package}/src/lib.rs")), "// mine\n");
    }
}

#[test]
fn a_library_is_refused_where_there_is_no_descriptor_and_no_source() {
    let place = Place::new();
    place.write("stage.json", SEGMENTATION);
    let operations =
        |more: &[&str]| place.headwater(&[&["new", "operations", "--from"], more].concat());
    operations(&["gone.json"])
        .ended(2)
        .says(&["there is no file `gone.json`"]);
    operations(&["stage.json", "--headwater", "."])
        .ended(2)
        .says(&[
            "`.` has no source of Headwater",
            "help: give the folder that the project was cloned into",
        ]);
    place.write("empty.json", r#"{"name": "s", "tasks": []}"#);
    operations(&["empty.json"])
        .ended(2)
        .says(&["stage `s` has no tasks"]);
    place.write("flow.yaml", "headwater: 1\nworkflow: w\nstages: {}\n");
    operations(&["flow.yaml"])
        .ended(2)
        .says(&["a stage descriptor needs `name`"]);
    assert!(!place.path("nscale-operations").exists());
}

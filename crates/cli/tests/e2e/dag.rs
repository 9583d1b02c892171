//! `headwater dag`: workflows, studies and runs as pictures.

use std::fs;
use std::path::PathBuf;

use crate::place::Place;

fn example(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    folder.join(name).display().to_string()
}

/// Numbers in, one task each, and one task for all; the task of number 3 fails.
const FLOW: &str = "\
headwater: 1
workflow: numbers
inputs: {number: int}
stages:
  make:
    tasks:
      - {op: make, in: {n: number}, out: {file: made}}
  join:
    wait: all
    tolerate: 5
    tasks:
      - {op: join, in: {files: made}, out: {file: joined}}
outputs: {joined: joined}
operations:
  make:
    shell: test {in.n} != 3 && echo {in.n} > {out.file}
    inputs: {n: int}
    outputs: {file: {type: file, path: out.txt}}
  join:
    shell: cat {in.files} > {out.file}
    inputs: {files: list of file}
    outputs: {file: {type: file, path: out.txt}}
";

fn numbers(count: usize) -> String {
    let all: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    format!("inputs: {{number: [{}]}}\n", all.join(", "))
}

#[test]
fn all_examples_can_be_drawn_in_all_forms() {
    let place = Place::new();
    for (file, words) in [
        ("words/words.yaml", ["keep-long", "wait: all"]),
        ("contact-sheet/sheet.yaml", ["montage", "cross"]),
        (
            "nuclei/nuclei.yaml",
            ["reconstruct-background", "reference"],
        ),
        (
            "nuclei/moat.yaml",
            ["varies 15 parameters", "varies B, G, R, T1, T2"],
        ),
    ] {
        for form in ["svg", "dot", "mmd"] {
            let name = format!("{}.{form}", file.replace('/', "-"));
            let ran = place
                .headwater(&["dag", &example(file), "-o", &name])
                .ended(0);
            assert_eq!(ran.stdout, "");
            let text = place.read(&name);
            for word in words {
                assert!(text.contains(word), "{name} lacks {word}");
            }
            // A second time is the same, and may take the place of the first.
            place
                .headwater(&["dag", &example(file), "-o", &name])
                .ended(0);
            assert_eq!(place.read(&name), text);
            let printed = place
                .headwater(&["dag", &example(file), "--format", form])
                .ended(0);
            assert_eq!(printed.stdout, text);
        }
    }
    assert!(!place.path(".headwater").exists(), "drawing makes no store");
}

#[test]
fn a_run_is_drawn_with_what_became_of_its_tasks() {
    let place = Place::with_flow(FLOW);
    place.write("data.yaml", &numbers(5));
    place.run(&["--inputs", "data.yaml"], 1);
    let each = place.headwater(&["dag", "last"]).ended(0).stdout;
    for text in [
        "make#91;3#93;<br>failed",
        "make#91;4#93;<br>executed",
        "join<br>executed",
    ] {
        assert!(each.contains(text), "{text}\n{each}");
    }
    let grouped = place
        .headwater(&["dag", "last", "--grouped", "--json"])
        .ended(0);
    let diagram: serde_json::Value = serde_json::from_str(&grouped.stdout).expect("JSON");
    let make = &diagram["nodes"][1];
    assert_eq!(
        (&make["label"], &make["tasks"]),
        (&"make".into(), &5.into())
    );
    assert_eq!(
        (&make["counts"]["executed"], &make["counts"]["failed"]),
        (&4.into(), &1.into())
    );
    assert_eq!(diagram["edges"][1]["count"], 4);
    let name = place.headwater(&["runs", "ls", "--json"]).ended(0).stdout;
    let name = serde_json::from_str::<serde_json::Value>(&name).expect("JSON");
    let name = name.to_string();
    let at = name.find("20").expect("the name of a run");
    let by_prefix = place
        .headwater(&["dag", &name[at..at + 15]])
        .ended(0)
        .stdout;
    assert_eq!(by_prefix, each);
    // The failure is gone, and most is remembered.
    place.write("data.yaml", &numbers(3));
    place.run(&["--inputs", "data.yaml"], 0);
    let again = place.headwater(&["dag", "last"]).ended(0).stdout;
    assert_eq!(again.matches("reused").count(), 4, "{again}");
}

#[test]
fn a_run_of_10_000_tasks_is_a_small_picture() {
    let place = Place::with_flow(&FLOW.replace("tolerate: 5", "tolerate: 0").replace(
        "    shell: test {in.n} != 3 && echo {in.n} > {out.file}\n",
        "    shell: test {in.n} = 0 && echo > {out.file}\n",
    ));
    // Everything fails at once, which is quick: the first failure stops the rest.
    place.write("data.yaml", &numbers(10_000));
    place.run(&["--inputs", "data.yaml", "--fail-fast"], 1);
    place.headwater(&["dag", "last", "-o", "run.svg"]).ended(0);
    let size = fs::metadata(place.path("run.svg")).expect("a file").len();
    assert!(size < 20_000, "{size} bytes");
    let text = place.headwater(&["dag", "last", "--json"]).ended(0).stdout;
    let diagram: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let make = &diagram["nodes"][1];
    assert_eq!(
        (&make["label"], &make["tasks"]),
        (&"make".into(), &10_000.into())
    );
    let refused = place.headwater(&["dag", "last", "--each"]).ended(2);
    refused.says(&["tasks; each task is noted up to 200", "leave --each out"]);
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let place = Place::with_flow(FLOW);
    let said = |arguments: &[&str], texts: &[&str]| {
        let all = [&["dag"], arguments].concat();
        place.headwater(&all).ended(2).says(texts);
    };
    said(
        &["nothing"],
        &[
            "there is neither a file nor a run `nothing`",
            "headwater runs ls",
        ],
    );
    said(&["last"], &["there is neither a file nor a run `last`"]);
    said(&["flow.yaml", "--each"], &["only runs have single tasks"]);
    said(
        &["flow.yaml", "-o", "flow.png"],
        &["does not show the format", ".svg, .dot or .mmd"],
    );
    said(
        &["flow.yaml", "-o", "flow.yaml", "--format", "dot"],
        &["already exists and is not a graph of Headwater"],
    );
    assert_eq!(place.read("flow.yaml"), FLOW);
    said(&["."], &["is a folder, not a file"]);
    place.write("broken.yaml", "headwater: 1\nworkflow: x\nstages: 5\n");
    said(&["broken.yaml"], &["stages"]);
    // A file wins over a run of that name.
    place.write("last", FLOW);
    let drawn = place.headwater(&["dag", "last"]).ended(0).stdout;
    assert!(drawn.contains("numbers"));
}

#[test]
fn the_run_of_a_study_is_drawn_by_its_workflow() {
    let place = Place::with_flow(
        "headwater: 1
workflow: sum
inputs: {number: int}
parameters:
  x: {type: int, range: [0, 3], step: 1, default: 1}
stages:
  add:
    tasks:
      - {op: add, in: {n: number}, params: {x: $x}, out: {sum: sum}}
outputs: {sum: sum}
operations:
  add:
    shell: echo $(( {in.n} + {param.x} )) > {out.sum}
    inputs: {n: int}
    params: {x: int}
    outputs: {sum: {type: int, path: sum.txt}}
",
    );
    place.write(
        "study.yaml",
        "headwater: 1\nstudy: sums\nworkflow: flow.yaml\ninputs: {number: 5}\nobjective: sum\n\
         method: {moat: {trajectories: 2, levels: 4}}\nseed: 1\n",
    );
    place.headwater(&["study", "run", "study.yaml"]).ended(0);
    let drawn = place
        .headwater(&["dag", "last", "--grouped"])
        .ended(0)
        .stdout;
    assert!(
        drawn.contains("varies x") && drawn.contains("executed"),
        "{drawn}"
    );
}

#[test]
fn a_folder_of_the_name_of_a_run_does_not_hide_it() {
    let place = Place::with_flow(FLOW);
    place.write("data.yaml", &numbers(2));
    place.run(&["--inputs", "data.yaml"], 0);
    let drawn = place.headwater(&["dag", "last"]).ended(0).stdout;
    fs::create_dir(place.path("last")).expect("a folder");
    fs::create_dir_all(place.path("elsewhere/2")).expect("a folder");
    assert_eq!(place.headwater(&["dag", "last"]).ended(0).stdout, drawn);
    let folder = place.last().canonicalize().expect("the outputs");
    let folder = folder.display().to_string();
    for way in ["outputs/last", "outputs/last/", &folder] {
        assert_eq!(place.headwater(&["dag", way]).ended(0).stdout, drawn);
    }
    // The beginning of a name is not enough for a folder that lies anywhere.
    for other in ["elsewhere/2", ".", "outputs"] {
        let ran = place.headwater(&["dag", other]).ended(2);
        ran.says(&["is a folder, not a file"]);
    }
}

#[test]
fn a_graph_named_by_a_dash_goes_to_stdout() {
    let place = Place::with_flow(FLOW);
    let printed = place.headwater(&["dag", "flow.yaml"]).ended(0).stdout;
    let dashed = place.headwater(&["dag", "flow.yaml", "-o", "-"]).ended(0);
    assert_eq!((&*dashed.stdout, &*dashed.stderr), (&*printed, ""));
    let drawn = place
        .headwater(&["dag", "flow.yaml", "-o", "-", "--format", "svg"])
        .ended(0);
    assert!(drawn.stdout.starts_with("<svg "));
    assert!(!place.path("-").exists());
}

#[test]
fn a_document_with_a_graph_in_it_is_not_overwritten() {
    let place = Place::with_flow(FLOW);
    for form in ["mmd", "svg", "dot"] {
        let text = place
            .headwater(&["dag", "flow.yaml", "--format", form])
            .ended(0)
            .stdout;
        let document = format!("# Read me\n\n{text}");
        place.write("README.md", &document);
        place
            .headwater(&["dag", "flow.yaml", "--format", form, "-o", "README.md"])
            .ended(2)
            .says(&["already exists and is not a graph of Headwater"]);
        assert_eq!(place.read("README.md"), document);
    }
}

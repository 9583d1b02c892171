//! Study files and stage descriptors: checked with everything that they name, and never run by checking.

use crate::place::Place;

const NUCLEI: &str = include_str!("../../../../examples/nuclei/nuclei.yaml");
const SEGMENTATION: &str = include_str!("../../../flow/fixtures/segmentation.json");

const MOAT: &str = "headwater: 1
study: nuclei-moat
workflow: flows/nuclei.yaml
inputs: {tile: \"tiles/*.png\", reference: {output: mask, at: default}}
objective: dice
method: {moat: {trajectories: 40}}
";

fn place(study: &str) -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path("flows")).expect("a folder can be made");
    place.write("flows/nuclei.yaml", NUCLEI);
    place.write("study.yaml", study);
    place.write("tiles/0.png", "");
    place
}

#[track_caller]
fn summary(study: &str, expected: &str) -> Place {
    let place = place(study);
    let ran = place.headwater(&["check", "study.yaml"]).ended(0);
    assert_eq!(ran.stdout, format!("study.yaml: {expected}\n"));
    assert!(!place.path(".headwater").exists(), "nothing was written");
    place
}

#[test]
fn a_study_is_summed_up() {
    summary(
        MOAT,
        "study `nuclei-moat`: 15 parameters, MOAT, 40 random trajectories, 20 levels, 640 parameter sets",
    );
    let method = |method: &str| MOAT.replace("{moat: {trajectories: 40}}", method);
    summary(
        &method("{vbd: {samples: 128, second-order: true}}"),
        "study `nuclei-moat`: 15 parameters, VBD, 128 base points (Sobol'), second order, 4096 parameter sets",
    );
    summary(
        &method("{two-phase: {screen: {moat: }, keep: 8, then: {vbd: {samples: 64}}}}"),
        "study `nuclei-moat`: 15 parameters, MOAT, 10 random trajectories, 20 levels, then VBD, 64 base points (Sobol') of the 8 parameters with the largest effects, 800 parameter sets",
    );
}

#[test]
fn a_table_is_looked_at() {
    let table = MOAT.replace("{moat: {trajectories: 40}}", "{table: sets.csv}");
    let place = place(&table);
    place.write("sets.csv", "B,T1\n210,2.5\n220,3.5\n230,2.5\n");
    let ran = place.headwater(&["check", "study.yaml"]).ended(0);
    assert_eq!(
        ran.stdout,
        "study.yaml: study `nuclei-moat`: 2 parameters, samples of sets.csv, 3 parameter sets\n"
    );
    place.write("sets.csv", "B,T3\n210,2.5\n");
    place.headwater(&["check", "study.yaml"]).ended(2).says(&[
        "study.yaml:6:17",
        "the table has a column `T3`, and the workflow no such parameter",
    ]);
}

#[test]
fn mistakes_of_all_files_are_told_at_once() {
    let wrong = MOAT
        .replace("objective: dice", "objective: dise")
        .replace("inputs: {", "data: rows.csv\ninputs: {");
    let place = place(&wrong);
    place.write("rows.csv", "tile,color\na.png,red\n");
    place.headwater(&["check", "study.yaml"]).ended(2).says(&[
        "study.yaml:4:7",
        "`rows.csv` has data for `color`, which is no input",
        "study.yaml:5:10",
        "input `tile` is given here and in `rows.csv`",
        "study.yaml:6:12",
        "did you mean `dice`?",
        "3 mistakes in study.yaml",
    ]);
    place.write(
        "flows/nuclei.yaml",
        &NUCLEI.replace("op: imaging/dice", "op: imaging/dise"),
    );
    let ran = place.headwater(&["check", "study.yaml"]).ended(2);
    ran.says(&[
        "1 mistake in flows/nuclei.yaml",
        "did you mean `imaging/dice`?",
    ]);
    let report = place
        .headwater(&["check", "study.yaml", "--json"])
        .ended(2)
        .report();
    assert_eq!(report.number("errors"), 1);
    assert_eq!(report.0["files"][0]["file"], "flows/nuclei.yaml");
    let told = report.0["files"][0]["diagnostics"].as_array();
    let errors: Vec<&serde_json::Value> = told
        .expect("a list")
        .iter()
        .filter(|one| one["severity"] == "error")
        .map(|one| &one["line"])
        .collect();
    let line = NUCLEI
        .lines()
        .position(|line| line.contains("imaging/dice"));
    assert_eq!(errors, [&serde_json::json!(line.map(|line| line + 1))]);
}

#[test]
fn files_that_are_not_there_are_told_at_their_place() {
    let place = place(&MOAT.replace("flows/nuclei.yaml", "nuclei.yaml"));
    place
        .headwater(&["check", "study.yaml"])
        .ended(2)
        .says(&["study.yaml:3:11", "there is no file `nuclei.yaml`"]);
}

#[test]
fn a_stage_descriptor_is_checked_and_planned_and_not_run() {
    let place = Place::new();
    place.write("stage.json", SEGMENTATION);
    let ran = place.headwater(&["check", "stage.json"]).ended(0);
    assert_eq!(
        ran.stdout,
        "stage.json: workflow `Segmentation`: 1 input, 15 parameters, 1 stage, 7 tasks\n"
    );
    place.write("a.png", "anything");
    place.write(
        "data.yaml",
        "inputs: {normalized_rt: a.png}
parameters: {blue: 220, green: 220, red: 220, reconConnectivity: 8, G1: 80, fillHolesConnectivity: 4, minSize: 11, maxSize: 1000, G2: 45, minSizePl: 30, watershedConnectivity: 8, minSizeSeg: 21, maxSizeSeg: 1000}
",
    );
    let planned = place
        .headwater(&[
            "run",
            "stage.json",
            "--inputs",
            "data.yaml",
            "--dry-run",
            "--json",
        ])
        .ended(0)
        .report();
    assert_eq!(planned.number("tasks"), 7);
    let ran = place
        .headwater(&["run", "stage.json", "--inputs", "data.yaml"])
        .ended(2);
    let ran = ran.says(&["`stage.json` is a stage descriptor"]);
    for number in 1..=7 {
        let name = format!("nscale/HistologicalEntities.segmentNucleiStg{number}\n");
        assert!(ran.stderr.contains(&name), "{name} in\n{}", ran.stderr);
    }
    assert!(!place.path("outputs").exists(), "nothing was run");
}

#[test]
fn the_schema_of_studies_is_printed() {
    let place = Place::new();
    let ran = place.headwater(&["schema", "study"]).ended(0);
    let schema: serde_json::Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
    assert_eq!(schema["title"], "Headwater study");
    assert_eq!(
        schema["properties"]["method"]["properties"]["vbd"]["required"][0],
        "samples"
    );
}

#[test]
fn data_that_is_not_there_is_told_by_check() {
    let place = place(&MOAT.replace("tiles/*.png", "tiles/*.tif"));
    let ran = place.headwater(&["check", "study.yaml"]).ended(2);
    ran.says(&["no file matches `tiles/*.tif`", "study.yaml:4:16"]);
}

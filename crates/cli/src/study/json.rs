//! What a study came to, as `--json` prints it: held to its keys and values by the same summaries as the text.

use std::fs;

use headwater::study::{StudyFilesJson, StudyJson, StudySummary, study_files};
use serde_json::{Value, json};

use crate::study::cases;

pub(super) fn object(summary: &StudySummary) -> Value {
    let facts = StudyJson::of(summary, "nowhere".to_owned(), StudyFilesJson::default());
    json!(facts)
}

#[test]
fn a_screening() {
    let object = object(&cases::moat());
    let keys: Vec<&str> = object
        .as_object()
        .map(|object| object.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let expected = [
        "study",
        "workflow",
        "objective",
        "method",
        "seed",
        "run",
        "folder",
        "files",
        "items",
        "evaluations",
        "evaluated",
        "failed",
        "failures",
        "phases",
        "best",
        "worst",
        "counts",
        "sharing",
        "cores",
        "seconds",
        "running_seconds",
        "work_seconds",
        "saved_seconds",
        "forecast",
        "stopped",
        "notes",
    ];
    assert_eq!(keys, expected);
    assert_eq!(object["study"], "nuclei-moat");
    assert_eq!(object["evaluations"], 200);
    assert_eq!(object["evaluated"], 200);
    assert_eq!(object["failed"], 0);
    assert_eq!(
        object["counts"],
        json!({
            "tasks": 5120, "distinct": 2857, "executed": 1904, "cut_off": 953, "reused": 0,
            "failed": 0, "blocked": 0, "left": 0, "recomputed": 0,
        })
    );
    assert_eq!(object["work_seconds"], 26.0);
    assert_eq!(object["forecast"], Value::Null);
    let phase = &object["phases"][0];
    assert_eq!(phase["method"], "moat");
    assert_eq!(
        phase["evaluations"],
        json!({"planned": 200, "done": 200, "failed": 0})
    );
    assert_eq!(phase["names"], json!(["G1", "G2", "ReconConn", "T2"]));
    assert_eq!(phase["ranking"], json!(["G2", "G1", "T2", "ReconConn"]));
    assert_eq!(
        phase["range"],
        json!({"least": 0.5, "mean": 0.625, "most": 0.75})
    );
    let indices = &phase["indices"];
    assert_eq!(indices["mu_star"], json!([0.31, 0.412, 0.0, 0.0231]));
    assert_eq!(indices["mu_star_conf"], json!([0.06, 0.05, 0.0, 0.0117]));
    assert_eq!(indices["used"], json!([40, 40, 40, 40]));
    assert_eq!(phase.get("each"), None);
}

#[test]
fn a_decomposition_has_pairs_as_a_square() {
    let with_pairs = object(&cases::vbd_with_pairs());
    let phase = &with_pairs["phases"][0];
    assert_eq!(phase["fixed"], json!({"ReconConn": 8}));
    let indices = &phase["indices"];
    assert_eq!(indices["S1"], json!([0.21, 0.55, -0.002]));
    assert_eq!(indices["ST_conf"], json!([0.09, 0.11, 0.006]));
    let square = json!([[null, 0.12, 0.01], [null, null, null], [null, null, null]]);
    assert_eq!(indices["S2"], square);
    let without = object(&cases::vbd());
    assert_eq!(without["phases"][0]["indices"].get("S2"), None);
}

#[test]
fn several_items_have_their_own_indices() {
    let object = object(&cases::two_items());
    assert_eq!(object["evaluations"], 400);
    let item = json!({"index": "1", "inputs": {"tile": "tile1.png"}});
    assert_eq!(object["items"][1], item);
    let each = &object["phases"][0]["each"];
    assert_eq!(each[0], object["phases"][0]["indices"]);
    assert_eq!(each[1]["mu_star"], json!([0.1, 0.1, 0.1, 0.1]));
}

#[test]
fn items_without_an_answer() {
    let object = object(&cases::failed_items());
    let phase = &object["phases"][0];
    assert_eq!(
        phase["left_out"],
        json!([
            {"item": 1, "done": 0, "failed": 200, "why": "none of its 200 evaluations has a value"},
            {"item": 2, "done": 1, "failed": 199,
             "why": "199 of its 200 evaluations have no value, and no index is left"},
        ])
    );
    assert_eq!(phase["step"], "actual");
    assert_eq!(phase["effect"], headwater::study::EFFECT);
    assert_eq!(phase["each"][1]["no_step"], json!([0, 0, 0, 0]));
}

#[test]
fn failures_and_what_is_not_known() {
    let object = object(&cases::with_failures());
    assert_eq!(object["evaluations"], 200);
    assert_eq!(object["evaluated"], 197);
    assert_eq!(object["failed"], 3);
    let failures = object["failures"].as_array().expect("a list");
    assert_eq!(failures.len(), 3);
    assert_eq!(failures[2]["set"], 77);
    assert_eq!(failures[2]["phase"], 0);
    let why = failures[2]["message"].as_str().expect("a text");
    assert!(why.ends_with("and said much more"), "{why}");
    assert_eq!(object["phases"][0]["indices"]["mu_star"][3], Value::Null);
    assert_eq!(object["phases"][0]["indices"]["lost"], json!([5, 0, 0, 40]));
}

#[test]
fn stopped_and_forecast() {
    let stopped = object(&cases::stopped());
    assert_eq!(stopped["stopped"], true);
    assert_eq!(
        (&stopped["evaluated"], &stopped["evaluations"]),
        (&json!(80), &json!(200))
    );
    let two = object(&cases::two_phases());
    assert_eq!(two["forecast"]["tasks"], 2857);
    assert_eq!(two["phases"].as_array().map(Vec::len), Some(2));
}

#[test]
fn files_are_null_unless_they_are_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.html");
    fs::write(&report, "").expect("a file");
    let there = study_files(folder.path());
    let files = json!({"report": report, "results": null, "samples": null, "screen": null});
    assert_eq!(json!(there), files);
    let object = StudyJson::of(&cases::moat(), "nowhere".to_owned(), there);
    assert_eq!(json!(object)["files"], files);
    assert_eq!(json!(object)["folder"], "nowhere");
}

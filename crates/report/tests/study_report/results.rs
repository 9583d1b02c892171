//! `results.json` in the shapes of SALib.
//!
//! Law: equal phases give equal bytes.

use headwater_report::study::{StudySummary, study_results_json};
use serde_json::Value;

use crate::made_up;

fn read(summary: &StudySummary) -> Value {
    serde_json::from_str(&study_results_json(summary)).expect("JSON")
}

fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

#[test]
fn effects_are_arrays_in_the_order_of_the_names() {
    let results = read(&made_up::moat());
    assert_eq!(
        keys(&results),
        [
            "headwater",
            "study",
            "workflow",
            "objective",
            "complete",
            "best",
            "worst",
            "method",
            "method_in_words",
            "step",
            "effect",
            "unordered",
            "seed",
            "names",
            "mu",
            "mu_star",
            "sigma",
            "mu_star_conf",
            "ranking",
            "ranks",
            "remarks",
            "confidence",
            "groups",
            "sets",
            "evaluations",
            "failed",
            "left_out",
            "fixed",
            "used",
            "lost",
            "no_step",
            "convergence"
        ]
    );
    for array in [
        "mu",
        "mu_star",
        "sigma",
        "mu_star_conf",
        "ranking",
        "used",
        "lost",
    ] {
        assert_eq!(results[array].as_array().map(Vec::len), Some(15), "{array}");
    }
    assert_eq!(results["method"], "moat");
    assert_eq!(results["names"][6], "G2");
    assert_eq!(results["ranking"][0], "G2");
    assert_eq!(results["convergence"][5]["mu_star"], results["mu_star"]);
    assert_eq!(results["convergence"][0]["sets"], 128);
    assert_eq!(
        results["best"],
        serde_json::json!({"set": 411, "value": 0.948, "items": 1, "parameters": {"G1": 40, "T1": 2.5}})
    );
    assert_eq!(results["worst"]["set"], 37);
}

#[test]
fn pairs_are_squares_with_null_where_salib_has_no_number() {
    let results = read(&made_up::vbd());
    for array in ["S1", "S1_conf", "ST", "ST_conf", "S2", "S2_conf"] {
        assert_eq!(results[array].as_array().map(Vec::len), Some(8), "{array}");
    }
    for one in 0..8 {
        for other in 0..8 {
            assert_eq!(results["S2"][one][other].is_null(), other <= one);
        }
    }
    assert_eq!(results["S2"][1][2], 0.081);
    assert_eq!(results["used"], 200);
    assert_eq!(results["stop_rule"]["held"], false);
}

#[test]
fn of_two_phases_the_last_stands_on_top() {
    let results = read(&made_up::two_phase());
    assert_eq!(results["method"], "vbd");
    let screen = read(&made_up::moat());
    for key in [
        "method",
        "names",
        "mu_star",
        "ranking",
        "evaluations",
        "convergence",
    ] {
        assert_eq!(results["screen"][key], screen[key], "{key}");
    }
}

#[test]
fn results_do_not_depend_on_the_run() {
    for (name, summary) in made_up::all() {
        let text = study_results_json(&summary);
        let again = StudySummary {
            facts: made_up::table().facts,
            examples: Vec::new(),
            ..summary.clone()
        };
        assert_eq!(text, study_results_json(&again), "{name}");
        assert!(
            text.ends_with("}\n") && !text.contains(&summary.facts.run),
            "{name}"
        );
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{name}");
    }
}

#[test]
fn each_item_has_its_own_arrays_and_what_failed_is_told() {
    let results = read(&made_up::failing());
    assert_eq!(results["items"].as_array().map(Vec::len), Some(5));
    assert_eq!(results["items"][2]["inputs"]["tile"], "tile-2.png");
    assert_eq!(
        results["items"][2]["mu_star"].as_array().map(Vec::len),
        Some(15)
    );
    assert!(results["mu_star"][3].is_null());
    assert_eq!(results["failed"].as_array().map(Vec::len), Some(30));
    assert_eq!(results["failed"][1]["set"], 12);
    assert_eq!(results["evaluations"]["planned"], 3200);
    assert_eq!(results["evaluations"]["done"], 384 * 5 - 30);
    assert_eq!(results["evaluations"]["failed"], 30);
}

#[test]
fn the_text_is_made_to_be_read() {
    let mut summary = made_up::vbd();
    let phase = &mut summary.phases[0];
    phase.convergence.truncate(1);
    insta::assert_snapshot!("vbd", study_results_json(&summary));
    insta::assert_snapshot!(study_results_json(&made_up::single()), @r#"
{
  "headwater": 1,
  "study": "nuclei-moat",
  "workflow": "nuclei",
  "objective": "dice",
  "complete": false,
  "best": {
    "set": 411,
    "value": 0.948,
    "items": 1,
    "parameters": {
      "G1": 40,
      "T1": 2.5
    }
  },
  "worst": {
    "set": 37,
    "value": 0.104,
    "items": 1,
    "parameters": {
      "G1": 40,
      "T1": 2.5
    }
  },
  "method": "table",
  "method_in_words": "samples of samples.csv",
  "seed": 42,
  "names": ["B"],
  "ranking": [],
  "ranks": [],
  "remarks": [],
  "confidence": null,
  "groups": 1,
  "sets": 1,
  "evaluations": {
    "planned": 1,
    "done": 0,
    "failed": 0
  },
  "failed": [],
  "left_out": [
    {
      "index": "",
      "inputs": {
        "tile": "tissue.png"
      },
      "item": 0,
      "done": 0,
      "failed": 0,
      "why": "its evaluation was not made"
    }
  ],
  "fixed": {},
  "convergence": []
}
"#);
}

/// A screening whose second phase is missing is not taken for the answer.
#[test]
fn of_two_phases_of_which_one_is_missing_there_is_no_answer() {
    let mut summary = made_up::two_phase();
    assert_eq!(read(&summary)["complete"], true);
    summary.phases.truncate(1);
    let results = read(&summary);
    assert_eq!(results["complete"], false);
    assert!(results.get("names").is_none(), "{results}");
    assert_eq!(results["screen"]["method"], "moat");
}

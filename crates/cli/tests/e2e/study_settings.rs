//! Settings of studies on the command line: what they change, and how their mistakes are told.

use std::fs;

use serde_json::Value;

use crate::examples::example;
use crate::place::Place;

/// The plan of the screening of nuclei, with settings.
fn plan(place: &Place, settings: &[&str]) -> Value {
    let mut all = vec!["study", "plan", "--json", "nuclei/moat.yaml"];
    for setting in settings {
        all.extend(["--set", setting]);
    }
    let ran = place.headwater(&all).ended(0);
    serde_json::from_str(&ran.stdout).expect("one JSON object")
}

#[test]
fn settings_change_what_a_study_file_says() {
    let (place, folder) = example("nuclei");
    let file = fs::read(folder.join("moat.yaml")).expect("the study");
    assert_eq!(plan(&place, &[])["sets"], 640);
    let small = plan(&place, &["method.moat.trajectories=2"]);
    assert_eq!(small["sets"], 32);
    let fixed = plan(
        &place,
        &["method.moat.trajectories=2", "parameters.G1.value=40"],
    );
    assert_eq!(fixed["sets"], 30, "one parameter less is varied");
    assert_eq!(fixed["parameters"].as_array().expect("a list").len(), 14);
    let other = plan(&place, &["method={vbd: {samples: 4}}", "seed=1"]);
    assert_eq!(other["sets"], 4 * 17);
    let counted = plan(
        &place,
        &["method.moat.trajectories=2", "objective=nuclei_count"],
    );
    assert_eq!(counted["objective"], "nuclei_count");
    assert_eq!(
        fs::read(folder.join("moat.yaml")).expect("the study"),
        file,
        "the file stays as it is"
    );
    assert!(!place.path(".headwater").exists(), "nothing was written");
}

/// A study that may end earlier counts all that it may run.
#[test]
fn a_plan_says_that_a_study_may_end_earlier() {
    let (place, folder) = example("nuclei");
    let ran = place
        .headwater(&["study", "plan", "nuclei/moat.yaml", "--set", "until.ci=0.1"])
        .ended(0);
    assert!(ran.stdout.contains("640 parameter sets"), "{}", ran.stdout);
    assert!(
        ran.stderr
            .contains("note: `until` may end the study earlier"),
        "{}",
        ran.stderr
    );
    let study = fs::read_to_string(folder.join("moat.yaml")).expect("the study");
    place.write("nuclei/until.yaml", &format!("{study}until: {{ci: 0.1}}\n"));
    let ran = place.headwater(&["check", "nuclei/until.yaml"]).ended(0);
    assert!(
        ran.stdout.contains("at most 640 parameter sets"),
        "{}",
        ran.stdout
    );
}

#[test]
fn mistakes_in_settings_are_told_in_them() {
    let (place, _) = example("nuclei");
    let cases: [(&str, &[&str]); 9] = [
        (
            "method.moat.trajectory=2",
            &[
                "`moat` has no field `trajectory`",
                "--> --set:1:13",
                "did you mean `trajectories`?",
                "1 mistake in --set",
            ],
        ),
        ("seed=x", &["found `x`", "--> --set:1:6"]),
        ("seed", &["`seed` has no `=`", "a setting is PATH=VALUE"]),
        (
            "method.vbd.samples=64",
            &["--> --set:1:8", "`--set 'method={vbd: {samples: 64}}'`"],
        ),
        // Known when the workflow is there.
        (
            "parameters.G11.value=40",
            &["--> --set:1:12", "did you mean `G1`?"],
        ),
        (
            "objective=dise",
            &["--> --set:1:11", "did you mean `dice`?"],
        ),
        (
            "workflow=other.yaml",
            &["--> --set:1:10", "paths are relative to the study file"],
        ),
        // Known when the data are looked at.
        ("inputs.tile=none.png", &["none.png", "--> --set:1:13"]),
        (
            "method={vbd: {samples: 4294967295}}",
            &["--> --set:1:24", "at most 246723 samples will do"],
        ),
    ];
    for command in [["study", "plan"].as_slice(), &["tune"]] {
        for (setting, expected) in cases {
            let mut all = command.to_vec();
            all.extend(["nuclei/moat.yaml", "--set", setting]);
            let ran = place.headwater(&all).ended(2);
            for part in expected {
                assert!(ran.stderr.contains(part), "{setting}: {}", ran.stderr);
            }
        }
    }
    let ran = place
        .headwater(&[
            "study",
            "plan",
            "--json",
            "nuclei/moat.yaml",
            "--set",
            "seed=x",
        ])
        .ended(2);
    let told: Value = serde_json::from_str(&ran.stdout).expect("one JSON object");
    assert_eq!(told["file"], "--set");
    assert_eq!(told["diagnostics"][0]["column"], 6);
}

#[test]
fn a_tuning_run_heeds_settings_and_remembers_them() {
    let (place, _) = example("nuclei");
    let tuned = place
        .headwater(&[
            "tune",
            "nuclei/moat.yaml",
            "--set",
            "parameters.Normalize.value=false",
            "--json",
        ])
        .ended(0);
    let tuned: Value = serde_json::from_str(&tuned.stdout).expect("JSON");
    let shown = place.headwater(&["runs", "show", "--json"]).ended(0);
    assert!(
        shown.stdout.contains("parameters.Normalize.value=false"),
        "{}",
        shown.stdout
    );
    assert_eq!(tuned["failed"], 0);
}

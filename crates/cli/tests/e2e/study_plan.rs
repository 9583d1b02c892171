//! Plans of studies: what they say, that they change nothing, and that they speak of the tasks that runs execute.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::examples::example;
use crate::place::Place;

fn plan(place: &Place, arguments: &[&str]) -> Value {
    let mut all = vec!["study", "plan", "--json"];
    all.extend(arguments);
    let ran = place.headwater(&all).ended(0);
    serde_json::from_str(&ran.stdout).expect("one JSON object")
}

fn number(plan: &Value, field: &str) -> u64 {
    let found = &plan[field];
    found
        .as_u64()
        .unwrap_or_else(|| panic!("`{field}` is {found}"))
}

fn real(plan: &Value) -> f64 {
    plan.as_f64()
        .unwrap_or_else(|| panic!("{plan} is not a number"))
}

/// Every file below a folder: its bytes and when it was changed.
fn contents(folder: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let changed = entry.metadata().and_then(|found| found.modified());
                let bytes = fs::read(&path).expect("a file");
                let name = path.to_string_lossy().into_owned();
                found.insert(name, (bytes, changed.expect("a time")));
            }
        }
    }
    found
}

#[test]
fn the_plan_of_the_screening_shares_what_its_sets_have_in_common() {
    let (place, _) = example("nuclei");
    let plan = plan(&place, &["nuclei/moat.yaml", "--workers", "8"]);
    assert_eq!(number(&plan, "instances"), 640);
    assert_eq!(number(&plan, "stage_instances"), 3 * 640);
    assert_eq!(number(&plan, "tasks"), 9 * 640);
    assert_eq!(number(&plan, "reused"), 0);
    assert_eq!(plan["parameters"].as_array().expect("a list").len(), 15);
    let normalize = &plan["stages"][0];
    assert_eq!(normalize["instances"], 640);
    assert_eq!(normalize["instances_merged"], 1);
    let (chain, graph) = (&plan["sharing"]["chain"], &plan["sharing"]["graph"]);
    assert!((real(&chain["percent"]) - 33.2).abs() < 1.5, "{chain}");
    assert!((real(&graph["percent"]) - 50.8).abs() < 1.5, "{graph}");
    assert_eq!(plan["reuse_percent"], graph["percent"]);
    let merged = number(&plan, "stage_instances_merged") - 1;
    let segments = merged / 2;
    let left = number(&plan, "tasks_merged");
    assert_eq!(left, 1 + graph["tasks"].as_u64().unwrap() + segments);
    let references = &plan["references"];
    assert_eq!(references["items"], 1);
    assert_eq!(
        number(&plan, "to_execute"),
        left + references["tasks"].as_u64().unwrap()
    );
    assert!(real(&plan["makespan_estimate"]) >= real(&plan["lower_bound"]));
    assert!(number(&plan, "buckets") > 0 && number(&plan, "largest_bucket") > 0);
    assert_eq!(plan["cost_unit"], "tasks");

    assert!(!place.path(".headwater").exists(), "no store is made");
    let names: Vec<_> = fs::read_dir(place.root()).unwrap().flatten().collect();
    let others =
        |entry: &fs::DirEntry| !["nuclei", "side"].contains(&&*entry.file_name().to_string_lossy());
    assert!(!names.iter().any(others), "nothing is written: {names:?}");
}

#[test]
fn ways_of_sharing_can_be_compared() {
    let (place, _) = example("nuclei");
    let by = |reuse: &str| plan(&place, &["nuclei/vbd.yaml", "--reuse", reuse]);
    let (stage, chain, graph) = (by("stage"), by("chain"), by("graph"));
    assert_eq!(stage["reuse"], "stage");
    assert_eq!(stage["reuse_percent"], 0.0);
    assert!((real(&chain["reuse_percent"]) - 34.0).abs() < 1.5);
    assert!((real(&graph["reuse_percent"]) - 43.0).abs() < 1.5);
    let of_all = |plan: &Value, way: &str| real(&plan["sharing"][way]["percent_of_all_sets"]);
    assert!((of_all(&stage, "chain") - 41.0).abs() < 1.5);
    assert!((of_all(&stage, "graph") - 49.0).abs() < 1.5);
    let tasks = [&stage, &chain, &graph].map(|plan| number(plan, "tasks_merged"));
    assert!(tasks[0] > tasks[1] && tasks[1] > tasks[2], "{tasks:?}");
    assert_eq!(number(&stage, "tasks"), number(&graph, "tasks"));

    let compared = plan(
        &place,
        &[
            "nuclei/two-phase.yaml",
            "--compare",
            "--workers",
            "4",
            "--reuse",
            "chain",
        ],
    );
    let algorithms = compared["algorithms"].as_object().expect("an object");
    let names: Vec<&str> = algorithms.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "none",
            "naive",
            "smart-cut",
            "rtma",
            "trtma",
            "cost-balanced"
        ]
    );
    let done = |name: &str| real(&algorithms[name]["makespan_estimate"]);
    assert!(done("cost-balanced") <= done("none"));
    assert!(done("cost-balanced") <= done("trtma"));
    for (name, found) in algorithms {
        assert!(
            real(&found["makespan_estimate"]) >= real(&found["lower_bound"]),
            "{name}"
        );
    }
    assert_eq!(compared["later"]["sets"], 2000);
}

#[test]
fn the_same_seed_gives_the_same_samples_and_they_can_be_brought_back() {
    let (place, _) = example("nuclei");
    let first = plan(&place, &["nuclei/vbd.yaml", "-o", "one"]);
    plan(&place, &["nuclei/vbd.yaml", "-o", "two"]);
    for name in ["samples.csv", "samples.parquet", "samples.dat"] {
        let bytes = |folder: &str| fs::read(place.path(folder).join(name)).expect("samples");
        assert_eq!(bytes("one"), bytes("two"), "{name}");
    }
    let samples = place.read("one/samples.csv");
    assert_eq!(samples.lines().count(), 2001);
    assert_eq!(
        samples.lines().next().unwrap(),
        "T2,G1,G2,MinSize,MaxSize,MinSizePl,ReconConn,WatershedConn"
    );
    let dakota = place.read("one/samples.dat");
    let header: Vec<&str> = dakota.split_whitespace().take(4).collect();
    assert_eq!(header, ["%eval_id", "interface", "T2", "G1"]);

    let study = place.read("nuclei/vbd.yaml");
    let other = study.replace("seed: 42", "seed: 43");
    place.write("nuclei/other.yaml", &other);
    plan(&place, &["nuclei/other.yaml", "-o", "three"]);
    assert_ne!(samples, place.read("three/samples.csv"));

    for format in ["csv", "parquet", "dat"] {
        let table = format!("table: ../one/samples.{format}");
        let own = study.replace("vbd: {samples: 200, sampler: lhs}", &table);
        place.write("nuclei/own.yaml", &own);
        let own = plan(&place, &["nuclei/own.yaml", "-o", "four"]);
        for field in [
            "instances",
            "stage_instances_merged",
            "tasks_merged",
            "to_execute",
        ] {
            assert_eq!(own[field], first[field], "{field} of {format}");
        }
        assert_eq!(samples, place.read("four/samples.csv"), "{format}");
    }
}

/// The plan of a study speaks of the very tasks that a run executes: what a run of one of its sets has made counts
/// as remembered, all of it and nothing else.
#[test]
fn what_a_run_has_made_is_remembered_in_the_plan_and_the_store_stays_as_it_is() {
    let (place, _) = example("nuclei");
    let fresh = plan(&place, &["nuclei/moat.yaml", "-o", "samples"]);
    let samples = place.read("samples/samples.csv");
    let mut lines = samples.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let values: Vec<&str> = lines.nth(100).unwrap().split(',').collect();
    let mut arguments = vec![
        "run",
        "nuclei/nuclei.yaml",
        "--inputs",
        "nuclei/inputs.yaml",
    ];
    let settings: Vec<String> = names
        .iter()
        .zip(values)
        .map(|(name, value)| format!("{name}={value}"))
        .chain(["Normalize=true".to_owned()])
        .collect();
    for setting in &settings {
        arguments.extend(["--set", setting]);
    }
    place.headwater(&arguments).ended(0);

    let before = contents(&place.path(".headwater"));
    let plan = plan(&place, &["nuclei/moat.yaml"]);
    let after = contents(&place.path(".headwater"));
    // SQLite has two files of its own beside a database that somebody reads.
    let own = |name: &&String| name.ends_with("-shm") || name.ends_with("-wal");
    let names = |files: &BTreeMap<String, _>| -> Vec<String> {
        files.keys().filter(|name| !own(name)).cloned().collect()
    };
    assert_eq!(names(&after), names(&before), "the store stays as it is");
    let changed = |name: &&String| after[*name] != before[*name];
    let changed: Vec<&String> = before
        .keys()
        .filter(|name| !own(name))
        .filter(changed)
        .collect();
    assert!(changed.is_empty(), "the store stays as it is: {changed:?}");
    assert_eq!(
        number(&plan, "reused"),
        8,
        "normalization and the seven tasks"
    );
    assert_eq!(
        number(&plan, "to_execute"),
        number(&fresh, "to_execute") - 8
    );
    assert_eq!(plan["cost_unit"], "seconds");
    let costs = &plan["costs"];
    assert_eq!(costs["from"], "products");
    assert_eq!(costs["unknown"], serde_json::json!(["imaging/dice"]));
}

#[test]
fn a_tuning_run_makes_forecasts_possible() {
    let (place, _) = example("nuclei");
    let tuned = place
        .headwater(&["tune", "nuclei/moat.yaml", "--json"])
        .ended(0);
    let tuned: Value = serde_json::from_str(&tuned.stdout).expect("JSON");
    assert_eq!(tuned["tasks"], 9);
    assert_eq!(tuned["executed"], 9);
    let operations = tuned["operations"].as_array().expect("a list");
    assert_eq!(operations.len(), 9);
    assert_eq!(operations[0]["operation"], "imaging/normalize");
    assert!(operations.iter().all(|tuned| real(&tuned["seconds"]) > 0.0));

    let plan = plan(&place, &["nuclei/moat.yaml", "--compare"]);
    assert_eq!(plan["costs"]["from"], "tuning");
    assert_eq!(plan["costs"]["run"], tuned["run"]);
    assert_eq!(plan["costs"]["unknown"], serde_json::json!([]));
    let forecast = &plan["forecast"];
    assert!(real(&forecast["seconds"]) > 0.0);
    assert!(real(&forecast["work_seconds"]) >= real(&forecast["seconds"]));
    assert!(real(&forecast["disk_bytes"]) > 1e6);
    // The reference and what the sets share with it is there already.
    assert!(number(&plan, "reused") >= 7);

    let again = place
        .headwater(&["tune", "nuclei/moat.yaml", "--json"])
        .ended(0);
    let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(again["executed"], 0);
    let refused = place
        .headwater(&["tune", "nuclei/moat.yaml", "--read-only"])
        .ended(2);
    assert!(refused.stderr.contains("read-only"), "{}", refused.stderr);
}

/// Programs, two tables of inputs, a stage that waits: whatever a workflow has.
#[test]
fn any_workflow_can_be_studied() {
    let place = Place::new();
    place.write(
        "flow.yaml",
        "headwater: 1
workflow: sums
inputs: {number: int, more: int}
parameters:
  A: {type: int, range: [1, 4], step: 1, default: 2}
  B: {type: float, range: [0, 1], default: 0.5}
  Word: {type: choice, values: [plus, minus], default: plus}
  Unused: {type: int, default: 7}
stages:
  first:
    iterate: cross(number, more)
    tasks:
      - {op: add, in: {n: number, m: more}, params: {a: $A}, out: {sum: sum}}
      - {op: scale, in: {n: sum}, params: {b: $B}, out: {scaled: scaled}}
  last:
    wait: all
    tasks:
      - {op: total, in: {all: scaled}, params: {word: $Word}, out: {total: total}}
outputs: {total: total}
operations:
  add: {shell: 'echo $(({in.n} + {in.m} + {param.a})) > {out.sum}', inputs: {n: int, m: int}, params: {a: int}, outputs: {sum: {type: int, path: sum}}}
  scale: {shell: 'cat {in.n} {param.b} > {out.scaled}', inputs: {n: int}, params: {b: float}, outputs: {scaled: {type: float, path: scaled}}}
  total: {shell: 'cat {in.all} {param.word} > {out.total}', inputs: {all: list of float}, params: {word: text}, outputs: {total: {type: float, path: total}}}
",
    );
    let study = |more: &str| {
        format!(
            "headwater: 1
study: sums
workflow: flow.yaml
inputs: {{number: [1, 2, 3], more: [10, 20]}}
objective: total
{more}"
        )
    };
    place.write(
        "study.yaml",
        &study("method: {moat: {trajectories: 5, levels: grid}}\n"),
    );
    let refused = place.headwater(&["study", "plan", "study.yaml"]).ended(2);
    assert!(
        refused.stderr.contains("`B`") && refused.stderr.contains("grid"),
        "a continuous parameter has no grid: {}",
        refused.stderr
    );

    place.write("study.yaml", &study("method: {moat: {trajectories: 5}}\n"));
    let plan = plan(&place, &["study.yaml"]);
    assert_eq!(plan["parameters"], serde_json::json!(["A", "B", "Word"]));
    assert_eq!(number(&plan, "sets"), 20);
    assert_eq!(number(&plan, "items"), 1);
    assert_eq!(number(&plan, "stage_instances"), 20 * (6 + 1));
    assert_eq!(number(&plan, "tasks"), 20 * (6 * 2 + 1));
    let first = &plan["stages"][0];
    assert_eq!(first["tasks_per_instance"], 2);
    // `add` depends on A alone, of which there are at most four values.
    assert!(plan["sharing"]["chain"]["tasks"].as_u64().unwrap() <= 6 * 20 + 6 * 4);
}

#[test]
fn mistakes_in_a_study_are_told_at_their_places() {
    let (place, _) = example("nuclei");
    let study = place.read("nuclei/moat.yaml");
    let told = |from: &str, to: &str, expected: &[&str]| {
        place.write("nuclei/wrong.yaml", &study.replace(from, to));
        let ran = place
            .headwater(&["study", "plan", "nuclei/wrong.yaml"])
            .ended(2);
        for text in expected {
            assert!(ran.stderr.contains(text), "{text} in {}", ran.stderr);
        }
    };
    told(
        "objective: dice",
        "objective: dicee",
        &["nuclei/wrong.yaml:8:12", "dice"],
    );
    told(
        "workflow: nuclei.yaml",
        "workflow: nuclai.yaml",
        &["wrong.yaml:5:11", "nuclai.yaml"],
    );
    told("output: mask", "output: dice", &["wrong.yaml:6:"]);
    told(
        "tile: tissue.png",
        "tile: tisue.png",
        &["wrong.yaml:6:", "tisue.png"],
    );
    told("levels: 20", "levels: 19", &["wrong.yaml:10:36", "odd"]);
    told(
        "Normalize: {value: true}",
        "Normalise: {value: true}",
        &["wrong.yaml:7:", "Normalize"],
    );
    assert!(!place.path(".headwater").exists());
}

const PROGRAMS: &str = "headwater: 1
workflow: programs
inputs: {name: text, r1: {type: text, optional: true}, r2: {type: text, optional: true}}
parameters:
  N: {type: int, range: [1, 5], step: 1, default: 2}
  Word: {type: choice, values: [mean, max], default: mean}
  Code: {type: text, default: '007'}
stages:
  one: {tasks: [{op: say, in: {a: name}, params: {n: $N, w: $Word, c: $Code}, out: {c: o1}}]}
  two: {tasks: [{op: both, in: {a: o1, b: r1}, out: {c: o2}}]}
  three: {tasks: [{op: score, in: {a: o1, b: r2}, out: {y: y}}]}
outputs: {o1: o1, o2: o2, y: y}
operations:
  say: {shell: 'echo {in.a} {param.n} {param.w} {param.c} > {out.c}', inputs: {a: text}, params: {n: int, w: text, c: text}, outputs: {c: {type: text, path: c}}}
  both: {shell: 'echo {in.a} {in.b} > {out.c}', inputs: {a: text, b: text}, outputs: {c: {type: text, path: c}}}
  score: {shell: 'echo boom >&2; exit 3', inputs: {a: text, b: text}, outputs: {y: {type: float, path: y}}}
";

fn programs(method: &str) -> Place {
    let place = Place::with_flow(PROGRAMS);
    let study = format!(
        "headwater: 1
study: programs
workflow: flow.yaml
inputs: {{name: x, r2: {{output: o2, at: default}}, r1: {{output: o1, at: default}}}}
objective: y
method: {method}
"
    );
    place.write("study.yaml", &study);
    place
}

/// A reference may need another one, whichever is written first.
#[test]
fn references_are_made_in_the_order_in_which_they_need_each_other() {
    let place = programs("{moat: {trajectories: 3, levels: grid}}");
    let plan = plan(&place, &["study.yaml"]);
    assert_eq!(plan["references"]["items"], 2);
    assert_eq!(number(&plan, "instances"), 9);
}

/// A tuning run that fails says what happened, to which task, and what was not run.
#[test]
fn a_tuning_run_that_fails_says_why() {
    let place = programs("{moat: {trajectories: 3, levels: grid}}");
    let ran = place.headwater(&["tune", "study.yaml"]).ended(1);
    assert!(ran.stderr.contains("boom"), "{}", ran.stderr);
    assert!(ran.stderr.contains(".again.sh"), "{}", ran.stderr);
    assert!(
        ran.stdout
            .contains("2 tasks executed, 0 reused, 1 failed\n"),
        "{}",
        ran.stdout
    );
    let again = place.headwater(&["tune", "study.yaml", "--json"]).ended(1);
    let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(again["reused"], 2);
    assert_eq!(again["failed"], 1);
    assert_eq!(again["left"], 0);
}

/// Cells are read as their parameters want them, and those that cannot be are told with their places.
#[test]
fn a_table_is_read_cell_by_cell() {
    let place = programs("{table: sets.csv}");
    place.write("sets.csv", "N,Word,Code\n1,mean,007\n2,max,7\n2,max,1.10\n");
    let fine = plan(&place, &["study.yaml", "-o", "samples"]);
    assert_eq!(number(&fine, "sets"), 3);
    assert_eq!(
        place.read("samples/samples.csv"),
        "N,Word,Code\n1,mean,007\n2,max,7\n2,max,1.10\n"
    );
    place.write(
        "sets.csv",
        "N,Word,Code\n1,mean,a\none,max,b\n3,mx,c\n4,,d\n5,max,e\n",
    );
    for command in [
        ["check", "study.yaml"].as_slice(),
        &["study", "plan", "study.yaml"],
    ] {
        let ran = place.headwater(command).ended(2);
        for text in [
            "`N` cannot be `one`",
            "sets.csv:3:1",
            "`Word` cannot be `mx`",
            "sets.csv:4:3",
            "its values are mean, max",
            "`Word` has no value here",
            "3 mistakes",
        ] {
            assert!(ran.stderr.contains(text), "{text} in {}", ran.stderr);
        }
    }
}

/// A study of the example over two tiles, whose references are their own masks at the default parameters.
#[test]
fn what_tiles_do_not_share_is_there_for_each() {
    let (place, folder) = example("nuclei");
    fs::create_dir(folder.join("tiles")).expect("a folder");
    fs::copy(folder.join("tissue.png"), folder.join("tiles/a.png")).expect("a tile");
    place
        .headwater(&[
            "imaging",
            "synth",
            "-o",
            "nuclei/tiles/b.png",
            "--size",
            "96x96",
        ])
        .ended(0);
    let study = place.read("nuclei/moat.yaml");
    let study = study.replace("trajectories: 40", "trajectories: 3");
    place.write("nuclei/one.yaml", &study);
    let two = study.replace("tile: tissue.png", "tile: \"tiles/*.png\"");
    place.write("nuclei/two.yaml", &two);
    let one = plan(&place, &["nuclei/one.yaml"]);
    let two = plan(&place, &["nuclei/two.yaml"]);
    assert_eq!((number(&one, "items"), number(&two, "items")), (1, 2));
    assert_eq!(number(&two, "sets"), 48);
    assert_eq!(number(&two, "instances"), 2 * 48);
    let normalize = &two["stages"][0];
    assert_eq!(normalize["instances"], 2 * 48);
    assert_eq!(normalize["instances_merged"], 2);
    assert_eq!(two["references"]["items"], 2);
    // Two tiles have nothing in common: everything is there twice.
    for field in [
        "stage_instances",
        "stage_instances_merged",
        "tasks",
        "tasks_merged",
        "to_execute",
    ] {
        assert_eq!(number(&two, field), 2 * number(&one, field), "{field}");
    }
    let tasks = |plan: &Value| plan["references"]["tasks"].as_u64().expect("a number");
    assert_eq!(tasks(&two), 2 * tasks(&one));
    assert_eq!(two["reuse_percent"], one["reuse_percent"]);

    // A file that is there twice is one tile.
    fs::copy(folder.join("tissue.png"), folder.join("tiles/b.png")).expect("a tile");
    let same = plan(&place, &["nuclei/two.yaml"]);
    assert_eq!(number(&same, "instances"), 2 * 48);
    assert_eq!(number(&same, "to_execute"), number(&one, "to_execute"));
}

const SEGMENTATION: &str = include_str!("../../../flow/fixtures/segmentation.json");

/// A stage descriptor names operations that nothing runs: a study of it can be planned, with all figures, and no more.
#[test]
fn a_study_of_a_stage_descriptor_is_planned_and_not_run() {
    let place = Place::new();
    place.write("stage.json", SEGMENTATION);
    place.write("tile.png", "anything");
    place.write(
        "study.yaml",
        "headwater: 1
study: descriptor
workflow: stage.json
inputs: {normalized_rt: tile.png}
parameters:
  blue: {range: [210, 240], step: 10}
  green: {range: [210, 240], step: 10}
  red: {range: [210, 240], step: 10}
  T1: {range: [2.5, 7.5], step: 0.5}
  T2: {range: [2.5, 7.5], step: 0.5}
  reconConnectivity: {values: [4, 8]}
  G1: {range: [5, 80], step: 5}
  fillHolesConnectivity: {values: [4, 8]}
  minSize: {range: [2, 40], step: 2}
  maxSize: {range: [900, 1500], step: 50}
  G2: {range: [2, 40], step: 2}
  minSizePl: {range: [5, 80], step: 5}
  watershedConnectivity: {values: [4, 8]}
  minSizeSeg: {range: [2, 40], step: 2}
  maxSizeSeg: {range: [900, 1500], step: 50}
objective: segmented_rt
method: {moat: {trajectories: 40}}
",
    );
    let plan = plan(&place, &["study.yaml", "--workers", "4"]);
    assert_eq!(number(&plan, "instances"), 640);
    assert_eq!(number(&plan, "stage_instances"), 640);
    assert_eq!(number(&plan, "tasks"), 7 * 640);
    let percent = |way: &str| real(&plan["sharing"][way]["percent"]);
    assert!((percent("chain") - 33.2).abs() < 1.5, "{plan}");
    // The second task formally reads what the first one made: without contents, a graph shares little more.
    assert!(percent("graph") >= percent("chain"), "{plan}");
    assert!(number(&plan, "buckets") > 0);

    let told = place.headwater(&["study", "plan", "study.yaml"]).ended(0);
    assert!(told.stdout.contains("can be planned, and not run"));
    assert!(!told.stdout.contains("headwater tune"), "{}", told.stdout);

    let refused = place
        .headwater(&["tune", "study.yaml"])
        .ended(2)
        .says(&["`stage.json` is a stage descriptor", "help: "]);
    for number in 1..=7 {
        let name = format!("nscale/HistologicalEntities.segmentNucleiStg{number}\n");
        let said = &refused.stderr;
        assert!(said.contains(&name), "{name} in\n{said}");
    }
    assert!(!place.path(".headwater").exists(), "nothing was run");
}

const SUMS: &str = "headwater: 1
workflow: sums
inputs: {number: int}
parameters:
  A: {type: int, range: [1, 4], step: 1, default: 2}
  Word: {type: text, default: plus}
stages:
  only:
    tasks:
      - {op: add, in: {n: number}, params: {a: $A, word: $Word}, out: {sum: sum, report: report}}
outputs: {sum: sum, report: report}
operations:
  add: {shell: 'echo {param.a} > {out.sum}; echo {param.word} {in.n} > {out.report}', inputs: {n: int}, params: {a: int, word: text}, outputs: {sum: {type: float, path: sum}, report: {type: file, path: report.txt}}}
";

fn sums(method: &str) -> String {
    format!(
        "headwater: 1
study: sums
workflow: flow.yaml
inputs: {{number: 1}}
objective: sum
method: {method}
"
    )
}

#[test]
fn what_is_studied_is_a_number() {
    let (place, _) = example("nuclei");
    let study = place.read("nuclei/moat.yaml");
    place.write(
        "nuclei/wrong.yaml",
        &study.replace("objective: dice", "objective: mask"),
    );
    for command in [["study", "plan"].as_slice(), &["tune"], &["check"]] {
        let mut arguments = command.to_vec();
        arguments.push("nuclei/wrong.yaml");
        place.headwater(&arguments).ended(2).says(&[
            "nuclei/wrong.yaml:8:12",
            "`mask` is of type image, and what is studied is a number",
            "outputs that are numbers: `nuclei_count`, `status`, `dice`",
        ]);
    }
    assert!(!place.path(".headwater").exists());
    for objective in ["nuclei_count", "status"] {
        let whole = study.replace("objective: dice", &format!("objective: {objective}"));
        place.write("nuclei/whole.yaml", &whole);
        plan(&place, &["nuclei/whole.yaml"]);
    }

    let place = Place::with_flow(SUMS);
    let study = sums("{moat: {trajectories: 2}}");
    place.write("study.yaml", &study);
    plan(&place, &["study.yaml"]);
    place.write(
        "study.yaml",
        &study.replace("objective: sum", "objective: report"),
    );
    place
        .headwater(&["study", "plan", "study.yaml"])
        .ended(2)
        .says(&[
            "study.yaml:5:12",
            "`report` is of type file",
            "declare the output behind `report` with `type: float`",
        ]);
}

#[test]
fn samples_are_written_beside_what_is_there() {
    let place = Place::with_flow(SUMS);
    place.write("study.yaml", &sums("{moat: {trajectories: 2}}"));
    place.write("folder/notes.txt", "mine");
    let plan = plan(&place, &["study.yaml", "-o", "folder"]);
    assert_eq!(plan["written"].as_array().expect("a list").len(), 3);
    assert_eq!(place.read("folder/notes.txt"), "mine");
    assert_eq!(place.read("folder/samples.csv").lines().count(), 1 + 4);
    let names = fs::read_dir(place.path("folder")).expect("a folder");
    let mut names: Vec<String> = names
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["notes.txt", "samples.csv", "samples.dat", "samples.parquet"]
    );
    let told = place.headwater(&["study", "plan", "study.yaml"]).ended(0);
    let own = "no stage has several tasks, so each task is a unit of its own";
    assert!(told.stdout.contains(own), "{}", told.stdout);
    // What is in the way is told, and stays.
    place
        .headwater(&["study", "plan", "study.yaml", "-o", "folder/notes.txt"])
        .ended(2)
        .says(&["`folder/notes.txt` is a file", "help: "]);
    assert_eq!(place.read("folder/notes.txt"), "mine");
    place.write("folder/samples.csv", "mine too");
    place
        .headwater(&["study", "plan", "study.yaml", "-o", "folder"])
        .ended(2)
        .says(&["`folder/samples.csv` already exists", "help: "]);
    assert_eq!(place.read("folder/samples.csv"), "mine too");
}

#[test]
fn cells_that_do_not_fit_are_told_at_their_places() {
    let place = Place::with_flow(SUMS);
    place.write("study.yaml", &sums("{table: sets.csv}"));
    place.write("sets.csv", "A,Word\n1,plus\ntwo,minus\n3.0,\n4,plus\n");
    let told = place
        .headwater(&["study", "plan", "study.yaml"])
        .ended(2)
        .says(&[
            "sets.csv:3:1",
            "`A` cannot be `two`",
            "give a value of type int",
            "sets.csv:4:5",
            "`Word` has no value here",
            "2 mistakes in sets.csv",
        ]);
    assert!(!told.stderr.contains("sets.csv:2:"), "{}", told.stderr);
    place.write("sets.csv", "A,Word\n1,plus\n2,minus\n3.0,plus\n4,plus\n");
    let plan = plan(&place, &["study.yaml"]);
    assert_eq!(number(&plan, "sets"), 4);
    assert_eq!(number(&plan, "to_execute"), 4);

    // A text where a number belongs, in Parquet: samples of a workflow that has a text there.
    let texts = SUMS
        .replace(
            "A: {type: int, range: [1, 4], step: 1, default: 2}",
            "A: {type: text, default: one}",
        )
        .replace("params: {a: int,", "params: {a: text,");
    place.write("flow.yaml", &texts);
    place.write("sets.csv", "A,Word\n1,plus\n2,minus\nthree,plus\n");
    self::plan(&place, &["study.yaml", "-o", "texts"]);
    place.write("flow.yaml", SUMS);
    place.write("study.yaml", &sums("{table: texts/samples.parquet}"));
    place
        .headwater(&["study", "plan", "study.yaml"])
        .ended(2)
        .says(&[
            "texts/samples.parquet, row 1: `A` cannot be `1`, and 2 more cells like that",
            "give a value of type int",
        ]);
    assert!(!place.path(".headwater").exists());
}

#[test]
fn a_plan_looks_into_the_store_that_it_is_given() {
    let place = Place::with_flow(SUMS);
    place.write("study.yaml", &sums("{table: sets.csv}"));
    place.write("sets.csv", "A\n1\n2\n3\n");
    place.write("data.yaml", "inputs: {number: 1}\nparameters: {A: 2}\n");
    let given = ["--inputs", "data.yaml", "--store", "other"];
    place.run(&given, 0);
    let remembered = |arguments: &[&str]| {
        let mut all = vec!["study.yaml"];
        all.extend(arguments);
        let plan = plan(&place, &all);
        (number(&plan, "reused"), number(&plan, "to_execute"))
    };
    assert_eq!(remembered(&["--store", "other"]), (1, 2));
    assert_eq!(remembered(&["--store", "other", "--read-only"]), (1, 2));
    assert_eq!(remembered(&["--read-only"]), (0, 3));
    assert_eq!(remembered(&[]), (0, 3));
    assert_eq!(remembered(&["--store", "none"]), (0, 3));
    assert!(!place.path(".headwater").exists(), "no store is made");
    assert!(!place.path("none").exists(), "no store is made");
}

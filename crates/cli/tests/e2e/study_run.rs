//! Studies that are run: the answer, and that neither sharing nor workers leave a trace in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::examples::example;
use crate::place::{Place, Report, contents, read};

/// y = 10 a + b + 0 c + item, in two stages. Each command tells `$TMPDIR/log` that it ran.
pub(crate) const LINE: &str = r#"
headwater: 1
workflow: line
inputs: {item: int}
parameters:
  a: {type: int, range: [0, 19], step: 1, default: 3}
  b: {type: int, range: [0, 19], step: 1, default: 4}
  c: {type: int, range: [0, 19], step: 1, default: 5}
stages:
  first:
    tasks: [{op: tens, in: {item: item}, params: {a: $a}, out: {y: tens}}]
  last:
    tasks: [{op: sum, in: {tens: tens}, params: {b: $b, c: $c}, out: {y: sum}}]
outputs: {y: sum, tens: tens}
operations:
  tens:
    shell: |
      echo tens {param.a} {in.item} >> "$TMPDIR/log"
      echo $((10 * {param.a} + {in.item})) > {out.y}
    inputs: {item: int}
    params: {a: int}
    outputs: {y: {type: int, path: y}}
  sum:
    shell: |
      echo sum {in.tens} {param.b} {param.c} >> "$TMPDIR/log"
      echo $(({in.tens} + {param.b})) > {out.y}
    inputs: {tens: int}
    params: {b: int, c: int}
    outputs: {y: {type: int, path: y}}
"#;

/// A place with a workflow and a study of it, whose objective is `y`.
pub(crate) fn studied(flow: &str, items: &str, method: &str) -> Place {
    let place = Place::with_flow(flow);
    place.write("study.yaml", &study_file(items, method));
    place
}

pub(crate) fn study_file(items: &str, method: &str) -> String {
    format!(
        "headwater: 1\nstudy: line\nworkflow: flow.yaml\ninputs: {{item: {items}}}\nobjective: y\nmethod: {method}\n"
    )
}

/// `headwater study run study.yaml --json` with more arguments; it has to end with this exit code.
#[track_caller]
pub(crate) fn run(place: &Place, arguments: &[&str], code: i32) -> Report {
    let mut all = vec!["study", "run", "study.yaml", "--json"];
    all.extend(arguments);
    place.headwater(&all).ended(code).report()
}

/// How many tasks stand where: `executed`, `remembered`, `cut_off`, `failed`, `blocked`, `left`, `distinct`.
#[track_caller]
pub(crate) fn count(report: &Report, what: &str) -> usize {
    let found = &report.0["counts"][what];
    let found = found.as_u64();
    found.unwrap_or_else(|| panic!("no count `{what}` in {}", report.0)) as usize
}

/// The numbers of an index, in the order of the names.
#[track_caller]
pub(crate) fn index(indices: &Value, name: &str) -> Vec<f64> {
    let found = indices[name].as_array();
    let found = found.unwrap_or_else(|| panic!("no `{name}` in {indices}"));
    found
        .iter()
        .map(|found| found.as_f64().unwrap_or_else(|| panic!("{indices}")))
        .collect()
}

#[track_caller]
pub(crate) fn near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (one, other) in found.iter().zip(expected) {
        assert!(
            (one - other).abs() <= tolerance,
            "{found:?}, not {expected:?}"
        );
    }
}

/// What is a function of the study alone: results and samples, byte for byte.
#[track_caller]
pub(crate) fn results(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = contents(folder);
    found.retain(|name, _| {
        let name = name.to_string_lossy();
        name == "results.json" || name.ends_with("samples.csv") || name.ends_with("samples.parquet")
    });
    for name in ["results.json", "samples.csv", "samples.parquet"] {
        assert!(found.contains_key(Path::new(name)), "no {name}: {found:?}");
    }
    found
}

/// `results.json`.
#[track_caller]
pub(crate) fn answer(report: &Report) -> Value {
    let text = read(&report.folder().join("results.json"));
    serde_json::from_str(&text).expect("JSON")
}

/// The rows of a table, by column.
#[track_caller]
pub(crate) fn rows(report: &Report, name: &str) -> Vec<BTreeMap<String, String>> {
    let text = read(&report.folder().join(name));
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let header: Vec<String> = lines.next().expect("a header").collect();
    lines
        .map(|cells| header.iter().cloned().zip(cells).collect())
        .collect()
}

/// A screening of nuclei on a small tile: 4 trajectories of 16 sets.
pub(crate) fn small_nuclei() -> Place {
    let (place, _) = example("nuclei");
    place
        .headwater(&[
            "imaging",
            "synth",
            "-o",
            "nuclei/small.png",
            "--size",
            "96x96",
        ])
        .ended(0);
    let study = place.read("nuclei/moat.yaml");
    let study = study
        .replace("tissue.png", "small.png")
        .replace("trajectories: 40", "trajectories: 4");
    place.write("nuclei/study.yaml", &study);
    place
}

/// Every way of sharing and of cutting makes the same masks and the same answer as no sharing at all, and executes
/// fewer tasks the more it shares.
#[test]
fn whatever_is_shared_every_mask_is_the_same() {
    let place = small_nuclei();
    let made = |name: &str, arguments: &[&str]| {
        let mut all = vec![
            "study",
            "run",
            "nuclei/study.yaml",
            "--json",
            "--deliver",
            "mask",
        ];
        all.extend(["-o", name]);
        all.extend(arguments);
        let report = place.headwater(&all).ended(0).report();
        let mut files = contents(&place.path(name));
        for told in ["trace.tsv", "report.html"] {
            files.remove(Path::new(told));
        }
        (files, count(&report, "executed"))
    };
    let (masks, all) = made("none", &["--reuse", "none"]);
    let images = masks.keys().filter(|name| name.starts_with("mask"));
    assert_eq!(images.count(), 64, "a mask for each set");
    let distinct: std::collections::BTreeSet<_> = masks
        .iter()
        .filter(|(name, _)| name.starts_with("mask"))
        .map(|(_, bytes)| bytes)
        .collect();
    assert!(distinct.len() > 10, "masks differ: {}", distinct.len());
    let mut executed = BTreeMap::new();
    let ways: [(&str, &[&str]); 13] = [
        ("stage", &["--reuse", "stage"]),
        ("chain", &["--reuse", "chain"]),
        ("graph", &["--reuse", "graph", "--store", "graph-store"]),
        (
            "content",
            &["--reuse", "content", "--store", "content-store"],
        ),
        ("again", &["--reuse", "content", "--store", "content-store"]),
        ("naive", &["--buckets", "naive"]),
        ("rtma", &["--buckets", "rtma"]),
        ("trtma", &["--buckets", "trtma"]),
        ("cost", &["--buckets", "cost"]),
        ("naive-chain", &["--buckets", "naive", "--reuse", "chain"]),
        ("rtma-chain", &["--buckets", "rtma", "--reuse", "chain"]),
        ("trtma-chain", &["--buckets", "trtma", "--reuse", "chain"]),
        ("cost-chain", &["--buckets", "cost", "--reuse", "chain"]),
    ];
    for (name, arguments) in ways {
        let (found, count) = made(name, arguments);
        let names = |files: &BTreeMap<PathBuf, _>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&masks), "{name}");
        for (file, bytes) in &found {
            assert!(*bytes == masks[file], "{} of {name}", file.display());
        }
        executed.insert(name, count);
    }
    let order = [
        all,
        executed["stage"],
        executed["chain"],
        executed["graph"],
        executed["content"],
    ];
    assert!(order.windows(2).all(|pair| pair[0] > pair[1]), "{order:?}");
    assert_eq!(executed["again"], 0);
    for bucketed in ["naive", "rtma", "trtma", "cost"] {
        let (graph, chain) = (executed[bucketed], executed[&*format!("{bucketed}-chain")]);
        assert!(
            graph >= executed["graph"] && graph <= executed["stage"],
            "{executed:?}"
        );
        assert!(
            chain >= executed["chain"] && chain <= executed["stage"],
            "{executed:?}"
        );
        assert!(graph <= chain, "{executed:?}");
    }
    // The plan has counted all of it beforehand. The reference has a normalization that it shares with the sets, and
    // seven tasks of its own.
    let plan = |reuse: &str| {
        let plan = ["study", "plan", "nuclei/study.yaml", "--json", "--compare"];
        let plan = place.headwater(&[&plan[..], &["--reuse", reuse]].concat());
        let plan = plan.ended(0).report().0;
        assert_eq!(plan["cost_unit"], "tasks", "nothing was remembered");
        plan
    };
    let (chain, graph) = (plan("chain"), plan("graph"));
    let number = |found: &Value| found.as_u64().expect("a number") as usize;
    assert_eq!(all, number(&graph["tasks"]) + 8);
    assert_eq!(
        executed["stage"],
        number(&graph["algorithms"]["none"]["tasks"])
    );
    assert_eq!(executed["chain"], number(&chain["tasks_merged"]) + 7);
    for (name, algorithm) in [
        ("naive", "naive"),
        ("rtma", "rtma"),
        ("trtma", "trtma"),
        ("cost", "cost-balanced"),
    ] {
        let tasks = |plan: &Value| number(&plan["algorithms"][algorithm]["tasks"]);
        assert_eq!(executed[name], tasks(&graph), "{name}");
        assert_eq!(executed[&*format!("{name}-chain")], tasks(&chain), "{name}");
    }
    assert!(
        executed["rtma-chain"] <= executed["naive-chain"],
        "{executed:?}"
    );
}

#[test]
fn the_number_of_workers_leaves_no_trace() {
    let methods = [
        "{moat: {trajectories: 5}}",
        "{vbd: {samples: 8, second-order: true}}",
    ];
    for method in methods {
        let mut found = Vec::new();
        for jobs in ["1", "2", "7"] {
            let place = studied(LINE, "[100, 7]", method);
            found.push(results(&run(&place, &["-j", jobs], 0).folder()));
        }
        assert!(found[0] == found[1] && found[0] == found[2], "{method}");
    }
}

/// The effects of a sum are its factors, whatever the trajectories: exact for all items and for each.
#[test]
fn items_have_indices_of_their_own_and_together() {
    let place = studied(LINE, "[100, 7, 1]", "{moat: {trajectories: 3}}");
    let report = run(&place, &[], 0);
    assert_eq!(report.number("evaluations"), 3 * 12);
    assert_eq!(report.number("evaluated"), 3 * 12);
    let found = answer(&report);
    assert_eq!(found["names"], serde_json::json!(["a", "b", "c"]));
    for pooled in [&report.0["phases"][0]["indices"], &found] {
        near(&index(pooled, "mu_star"), &[190.0, 19.0, 0.0], 1e-9);
        near(&index(pooled, "mu"), &[190.0, 19.0, 0.0], 1e-9);
        near(&index(pooled, "sigma"), &[0.0, 0.0, 0.0], 1e-9);
        assert_eq!(index(pooled, "used"), [9.0, 9.0, 9.0]);
    }
    for each in [&report.0["phases"][0]["each"], &found["items"]] {
        let each = each.as_array().expect("a list");
        assert_eq!(each.len(), 3);
        for each in each {
            near(&index(each, "mu_star"), &[190.0, 19.0, 0.0], 1e-9);
            assert_eq!(index(each, "used"), [3.0, 3.0, 3.0]);
        }
    }
    assert_eq!(found["items"][1]["index"], "1");
    assert_eq!(found["items"][1]["inputs"]["item"], "7");
    let rows = rows(&report, "samples.csv");
    assert_eq!(rows.len(), 12);
    for row in rows {
        let number = |name: &str| row[name].parse::<f64>().expect("a number");
        for (item, value) in [(0, 100.0), (1, 7.0), (2, 1.0)] {
            let y = 10.0 * number("a") + number("b") + value;
            assert_eq!(number(&format!("y[{item}]")), y, "{row:?}");
        }
    }
}

#[test]
fn the_second_phase_has_the_parameters_that_matter() {
    let flow = LINE
        .replace(
            "  c: {type",
            "  d: {type: int, range: [0, 19], step: 1, default: 6}\n  c: {type",
        )
        .replace("params: {b: $b, c: $c}", "params: {b: $b, c: $c, d: $d}")
        .replace(
            "params: {b: int, c: int}",
            "params: {b: int, c: int, d: int}",
        )
        .replace(
            "{in.tens} + {param.b})",
            "{in.tens} - 8 * {param.d} + {param.b})",
        );
    let method =
        "{two-phase: {screen: {moat: {trajectories: 2}}, keep: 2, then: {vbd: {samples: 32}}}}";
    let place = studied(&flow, "100", method);
    let report = run(&place, &[], 0);
    assert_eq!(report.0["phases"].as_array().map(Vec::len), Some(2));
    let then = answer(&report);
    let screen = &then["screen"];
    assert_eq!(screen["names"], serde_json::json!(["a", "b", "d", "c"]));
    near(&index(screen, "mu_star"), &[190.0, 19.0, 152.0, 0.0], 1e-9);
    near(&index(screen, "mu"), &[190.0, 19.0, -152.0, 0.0], 1e-9);
    assert_eq!(then["names"], serde_json::json!(["a", "d"]));
    assert_eq!(then["fixed"]["b"], 4);
    // The shares of a sum of two are as the squares of their factors.
    let (a, d) = (100.0 / 164.0, 64.0 / 164.0);
    near(&index(&then, "S1"), &[a, d], 0.2);
    near(&index(&then, "ST"), &[a, d], 0.2);

    let screened = rows(&report, "screen-samples.csv");
    assert_eq!(screened.len(), 2 * 5);
    let rows = rows(&report, "samples.csv");
    assert_eq!(rows.len(), 32 * 4);
    for row in rows {
        let number = |name: &str| row[name].parse::<f64>().expect("a number");
        // The others stay at their defaults.
        let y = 100.0 + 10.0 * number("a") - 8.0 * number("d") + 4.0;
        assert_eq!(number("y"), y, "{row:?}");
    }
    let again = run(&place, &[], 0);
    assert_eq!(count(&again, "executed"), 0);
    assert_eq!(results(&again.folder()), results(&report.folder()));
}

#[test]
fn the_best_and_the_worst_set_are_told_and_few_have_no_ranks() {
    let place = studied(LINE, "[100, 300]", "{moat: {trajectories: 4}}");
    let ran = place.headwater(&["study", "run", "study.yaml", "-o", "out"]);
    let ran = ran.ended(0);
    let answer: Value = serde_json::from_str(&place.read("out/results.json")).expect("JSON");
    let samples = place.read("out/samples.csv");
    let rows: Vec<Vec<f64>> = samples
        .lines()
        .skip(1)
        .map(|line| {
            line.split(',')
                .map(|cell| cell.parse().expect("a number"))
                .collect()
        })
        .collect();
    // a, b, c, and the objective on both items, whose mean a set is judged by.
    let mean = |row: &Vec<f64>| f64::midpoint(row[3], row[4]);
    let least = rows.iter().map(mean).fold(f64::INFINITY, f64::min);
    let most = rows.iter().map(mean).fold(f64::NEG_INFINITY, f64::max);
    for (name, value) in [("best", most), ("worst", least)] {
        let found = &answer[name];
        let set = found["set"].as_u64().expect("a number") as usize;
        assert_eq!(
            (found["value"].as_f64(), &found["items"]),
            (Some(value), &2.into())
        );
        for (column, parameter) in ["a", "b", "c"].into_iter().enumerate() {
            assert_eq!(
                found["parameters"][parameter].as_f64(),
                Some(rows[set][column])
            );
        }
        let line = format!("\n{name:<5}  y ");
        assert!(ran.stdout.contains(&line), "{}", ran.stdout);
        let told = format!(", the mean over 2 items, set {set}: a = {}", rows[set][0]);
        assert!(ran.stdout.contains(&told), "{}", ran.stdout);
    }
    let few = "too few for ranks: 4 trajectories, and 8 are needed";
    assert!(ran.stdout.contains(few), "{}", ran.stdout);
    assert_eq!(answer["remarks"], serde_json::json!([few]));
    assert_eq!(answer["ranking"], serde_json::json!([]));
    assert!(
        place
            .read("out/report.html")
            .contains("there are too few for ranks")
    );
    // Eight have ranks.
    let enough = ["--set", "method.moat.trajectories=8"];
    let report = run(&place, &enough, 0);
    let phase = &report.0["phases"][0];
    assert_eq!(phase["ranking"], serde_json::json!(["a", "b", "c"]));
    assert_eq!(phase["ranks"], serde_json::json!([[1, 1], [2, 2], [3, 3]]));
    assert_eq!(phase["remarks"], serde_json::json!([]));
}

#[test]
fn a_study_ends_at_the_first_prefix_that_is_sure_enough() {
    // Effects of a sum do not vary: the first prefix is enough, whoever looks.
    let mut found = Vec::new();
    for jobs in ["1", "2", "5"] {
        let place = studied(LINE, "100", "{moat: {trajectories: 40}}");
        let report = run(&place, &["--set", "until.ci=0.05", "-j", jobs], 0);
        let phase = &report.0["phases"][0];
        assert_eq!(
            (&phase["groups"], &phase["groups_planned"]),
            (&8.into(), &40.into())
        );
        assert_eq!(
            (&phase["sets"], &phase["sets_planned"]),
            (&32.into(), &160.into())
        );
        assert_eq!(report.number("evaluated"), 32);
        assert_eq!(rows(&report, "samples.csv").len(), 32);
        let found_here = answer(&report);
        assert_eq!(found_here["stop_rule"]["held"], true, "{found_here}");
        assert_eq!(found_here["groups"], 8, "{found_here}");
        found.push(results(&report.folder()));
    }
    assert!(found[0] == found[1] && found[0] == found[2]);

    // Shares are not that sure: it goes on, and what was evaluated is not evaluated again.
    let place = studied(LINE, "100", "{vbd: {samples: 96}}");
    let report = run(&place, &["--set", "until.ci=0.1"], 0);
    assert_eq!(report.0["phases"][0]["groups"], 96);
    let log = place.told("log");
    let distinct: std::collections::BTreeSet<_> = log.iter().collect();
    assert_eq!(distinct.len(), log.len(), "nothing ran twice");
    assert_eq!(count(&report, "executed"), log.len());

    // It is asked from 64 base points on: fewer decide nothing, however wide intervals may be.
    let first = run(&place, &["--set", "until.ci=0.99"], 0);
    assert_eq!(first.0["phases"][0]["groups"], 64);
    assert_eq!(first.0["phases"][0]["stop_rule"]["held"], true);
    let few = ["--set", "until.ci=0.99", "--set", "method.vbd.samples=48"];
    let few = run(&place, &few, 0);
    assert_eq!(few.0["phases"][0]["groups"], 48);
    assert_eq!(few.0["phases"][0]["stop_rule"]["held"], false);
    assert_eq!(few.0["phases"][0]["ranking"], serde_json::json!([]));

    // Without hope it evaluates the whole design, and says that it is not sure enough.
    let whole = run(
        &place,
        &["--set", "until.ci=0.001", "--set", "method.vbd.samples=9"],
        0,
    );
    assert_eq!(whole.0["phases"][0]["groups"], 9);
    assert_eq!(whole.0["phases"][0]["stop_rule"]["held"], false);
}

#[test]
fn a_study_that_grows_runs_what_is_new() {
    let place = studied(LINE, "100", "{vbd: {samples: 8}}");
    let first = run(&place, &[], 0);
    let small = rows(&first, "samples.csv");
    let before = place.told("log").len();
    assert_eq!(count(&first, "executed"), before);
    let larger = run(&place, &["--set", "method.vbd.samples=16"], 0);
    let large = rows(&larger, "samples.csv");
    assert_eq!(large.len(), 2 * small.len());
    assert_eq!(large[..small.len()], small, "the first points are the same");
    let log = place.told("log");
    assert_eq!(
        count(&larger, "executed"),
        log.len() - before,
        "{:?}",
        larger.0["counts"]
    );
    let distinct: std::collections::BTreeSet<_> = log.iter().collect();
    assert_eq!(distinct.len(), log.len(), "nothing ran twice");
    // As if it had been that large from the beginning.
    let other = studied(LINE, "100", "{vbd: {samples: 16}}");
    let at_once = run(&other, &[], 0);
    assert_eq!(results(&larger.folder()), results(&at_once.folder()));
    assert_eq!(other.told("log").len(), log.len());
    // And back.
    let back = run(&place, &[], 0);
    assert_eq!(count(&back, "executed"), 0);
    assert_eq!(results(&back.folder()), results(&first.folder()));
}

#[test]
fn own_sets_have_values_and_no_indices() {
    let place = studied(LINE, "100", "{table: sets.csv}");
    place.write("sets.csv", "b,a\n1,2\n7,0\n1,2\n");
    let report = run(&place, &[], 0);
    let values: Vec<_> = rows(&report, "samples.csv")
        .into_iter()
        .map(|row| (row["a"].clone(), row["b"].clone(), row["y"].clone()))
        .collect();
    let row = |a: &str, b: &str, y: &str| (a.to_owned(), b.to_owned(), y.to_owned());
    assert_eq!(
        values,
        [
            row("2", "1", "121.0"),
            row("0", "7", "107.0"),
            row("2", "1", "121.0")
        ]
    );
    assert_eq!(report.0["phases"][0]["method"], "table");
    assert_eq!(report.0["phases"][0]["indices"], Value::Null);
    let found = answer(&report);
    assert_eq!(found["method"], "table");
    assert!(
        found.get("mu").is_none() && found.get("S1").is_none(),
        "{found}"
    );
    assert_eq!(
        count(&report, "executed"),
        4,
        "equal sets are evaluated once"
    );
    let told = place.headwater(&["study", "run", "study.yaml"]).ended(0);
    assert!(told.stdout.contains("from 107 to 121"), "{}", told.stdout);
}

/// What lists are made from is run first, once; then there is an item for each part.
#[test]
fn lists_that_no_studied_parameter_reaches_are_made_beforehand() {
    let flow = r#"
headwater: 1
workflow: parts
inputs: {numbers: file}
parameters:
  lines: {type: int, default: 3}
  a: {type: int, range: [0, 19], step: 1, default: 3}
  b: {type: int, range: [0, 19], step: 1, default: 4}
stages:
  cut: [{op: cut, in: {numbers: numbers}, params: {lines: $lines}, out: {parts: parts}}]
  add: [{op: add, in: {part: parts}, params: {a: $a}, out: {sum: sum}}]
  most: {wait: all, tasks: [{op: most, in: {sums: sum}, params: {b: $b}, out: {most: most}}]}
outputs: {sum: sum, y: most}
operations:
  cut:
    shell: 'echo cut >> "$TMPDIR/log"; split -l {param.lines} {in.numbers} part-'
    inputs: {numbers: file}
    params: {lines: int}
    outputs: {parts: {type: file, glob: part-*}}
  add:
    shell: awk -v a={param.a} '{ s += $1 } END { print s * a }' {in.part} > {out.sum}
    inputs: {part: file}
    params: {a: int}
    outputs: {sum: {type: int, path: sum.txt}}
  most:
    shell: 'echo $(( $(printf "%s\n" {in.sums} | sort -n | tail -n 1) + {param.b} )) > {out.most}'
    inputs: {sums: list of int}
    params: {b: int}
    outputs: {most: {type: int, path: most.txt}}
"#;
    let place = Place::with_flow(flow);
    place.write("numbers", "1\n2\n3\n4\n5\n6\n7\n");
    let study = |objective: &str, parameters: &str| {
        format!(
            "headwater: 1\nstudy: lists\nworkflow: flow.yaml\ninputs: {{numbers: numbers}}\nparameters: {parameters}\nobjective: {objective}\nmethod: {{moat: {{trajectories: 3, levels: 20}}}}\n"
        )
    };
    place.write("study.yaml", &study("y", "[a, b]"));
    let report = run(&place, &[], 0);
    assert_eq!(place.told("log"), ["cut"]);
    // y is the largest sum, 4 + 5 + 6, times a, plus b.
    let samples = read(&report.folder().join("samples.csv"));
    assert_eq!(samples.lines().count(), 10);
    for line in samples.lines().skip(1) {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(cells[2], 15.0 * cells[0] + cells[1], "{samples}");
    }
    assert_eq!(count(&run(&place, &[], 0), "executed"), 0);

    // Three parts are three items.
    place.write("study.yaml", &study("sum", "[a]"));
    let report = run(&place, &[], 0);
    let samples = read(&report.folder().join("samples.csv"));
    assert!(samples.starts_with("a,sum[0],sum[1],sum[2]\n"), "{samples}");

    // How many parts there are would differ from set to set.
    place.write(
        "study.yaml",
        &study("y", "{lines: {range: [2, 4], step: 1}, b: {}}"),
    );
    place
        .headwater(&["study", "run", "study.yaml"])
        .ended(2)
        .says(&["stage `cut`", "depends on parameters that vary"]);
}

#[test]
fn outputs_that_are_values_are_delivered_as_a_table() {
    let place = studied(LINE, "[100, 7]", "{table: sets.csv}");
    place.write("sets.csv", "a,b\n2,1\n0,7\n");
    run(&place, &["--deliver", "tens", "-o", "results"], 0);
    assert_eq!(
        place.read("results/tens/values.csv"),
        "set,index,tens\n0,0,120\n0,1,27\n1,0,100\n1,1,7\n"
    );
    let place = studied(LINE, "100", "{table: sets.csv}");
    place.write("sets.csv", "a,b\n2,1\n0,7\n");
    run(&place, &["--deliver", "tens", "-o", "results"], 0);
    assert_eq!(
        place.read("results/tens/values.csv"),
        "set,tens\n0,120\n1,100\n"
    );
}

/// Where nothing is shared everything runs: also what equals the reference, another set, or another item of its set.
#[test]
fn where_nothing_is_shared_everything_runs() {
    let flow = r#"
headwater: 1
workflow: apart
inputs: {item: int, reference: {type: int, optional: true}}
parameters:
  a: {type: int, range: [0, 19], step: 1, default: 3}
  b: {type: int, range: [0, 19], step: 1, default: 4}
stages:
  make:
    tasks:
      - {op: add, name: one, in: {x: item}, params: {n: $a}, out: {y: one}}
      - {op: add, name: two, in: {x: one}, params: {n: $b}, out: {y: two}}
  compare:
    tasks: [{op: less, in: {x: two, z: reference}, out: {y: less}}]
outputs: {two: two, y: less}
operations:
  add:
    shell: 'echo add >> "$TMPDIR/log"; echo $(({in.x} + {param.n})) > {out.y}'
    inputs: {x: int}
    params: {n: int}
    outputs: {y: {type: int, path: y}}
  less:
    shell: 'echo less >> "$TMPDIR/log"; echo $(({in.x} - {in.z})) > {out.y}'
    inputs: {x: int, z: int}
    outputs: {y: {type: int, path: y}}
"#;
    let place = Place::with_flow(flow);
    place.write("sets.csv", "a,b\n3,4\n3,5\n3,4\n");
    place.write(
        "study.yaml",
        "headwater: 1\nstudy: apart\nworkflow: flow.yaml\ninputs: {item: [7, 7], reference: {output: two, at: default}}\nobjective: y\nmethod: {table: sets.csv}\n",
    );
    let apart = run(&place, &["--reuse", "none"], 0);
    // Three sets of two items of three tasks, and one reference of two for both items.
    let told = place.told("log").len();
    assert_eq!((told, count(&apart, "executed")), (20, 20), "{}", apart.0);
    assert_eq!(count(&apart, "reused"), 0);
    let shared = run(&place, &[], 0);
    assert_eq!(count(&shared, "executed"), 5);
    assert_eq!(results(&shared.folder()), results(&apart.folder()));
}

/// What is asked for twice is delivered once, and names that clash are told apart.
#[test]
fn the_objective_may_be_delivered_and_be_called_as_a_parameter_is() {
    let flow = LINE.replace("outputs: {y: sum, tens: tens}", "outputs: {a: sum}");
    let place = Place::with_flow(&flow);
    place.write("sets.csv", "a,b\n2,1\n0,7\n");
    let study = study_file("100", "{table: sets.csv}").replace("objective: y", "objective: a");
    place.write("study.yaml", &study);
    run(&place, &["--deliver", "a", "-o", "results"], 0);
    assert_eq!(
        place.read("results/samples.csv"),
        "a,b,a (objective)\n2,1,121.0\n0,7,107.0\n"
    );
    assert_eq!(place.read("results/a/values.csv"), "set,a\n0,121\n1,107\n");
}

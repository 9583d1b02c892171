//! What is remembered, what is not, and that a plan is kept to the letter.

use std::collections::BTreeMap;
use std::fs;

use crate::place::{Place, Report, contents, delivered};

/// A chain of two stages per item, and one that waits for all.
const CHAIN: &str = r#"
headwater: 1
workflow: chain
inputs: {item: int}
parameters: {factor: {type: int, default: 3}, add: {type: int, default: 1}}
stages:
  double:
    tasks: [{op: multiply, in: {value: item}, params: {by: $factor}, out: {value: more}}]
  raise:
    tasks: [{op: add, in: {value: more}, params: {by: $add}, out: {value: raised}}]
  total:
    wait: all
    tasks: [{op: sum, in: {values: raised}, out: {sum: total}}]
outputs: {raised: raised, total: total}
operations:
  multiply:
    shell: echo $(( {in.value} * {param.by} )) > {out.value}
    inputs: {value: int}
    params: {by: int}
    outputs: {value: {type: int, path: value}}
  add:
    shell: echo $(( {in.value} + {param.by} )) > {out.value}
    inputs: {value: int}
    params: {by: int}
    outputs: {value: {type: int, path: value}}
  sum:
    command: [awk, '{{ s += $0 }} END {{ print s }}', "{in.values.listfile}"]
    inputs: {values: list of int}
    stdout: sum
    outputs: {sum: {type: int, path: sum}}
"#;

fn chain() -> Place {
    let place = Place::with_flow(CHAIN);
    place.write("data.yaml", "inputs: {item: [1, 2, 3, 4, 5]}\n");
    place
}

fn inputs<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["--inputs", "data.yaml"], more].concat()
}

#[test]
fn invariant_3_a_remembered_workflow_executes_nothing() {
    let place = chain();
    let first = place.run(&inputs(&[]), 0).counts(11, 11, 0, 0);
    assert_eq!(first.values("total")[""], 3 * 15 + 5);
    let second = place.run(&inputs(&[]), 0).counts(11, 0, 11, 0);
    assert_eq!(delivered(&first.folder()), delivered(&second.folder()));
    assert_eq!(second.tasks("executed"), Vec::<String>::new());
    // Also when everything that the run made outside the store is gone.
    fs::remove_dir_all(place.path("outputs")).expect("the outputs can be removed");
    place.run(&inputs(&[]), 0).counts(11, 0, 11, 0);
}

#[test]
fn the_last_parameter_costs_only_the_last_stages() {
    let place = chain();
    place.run(&inputs(&[]), 0).counts(11, 11, 0, 0);
    let changed = place
        .run(&inputs(&["--set", "add=2"]), 0)
        .counts(11, 6, 5, 0);
    assert_eq!(changed.values("total")[""], 3 * 15 + 10);
    // Two new items, and the sum over all.
    place.write("data.yaml", "inputs: {item: [1, 2, 3, 4, 5, 6, 7]}\n");
    place.run(&inputs(&[]), 0).counts(15, 5, 10, 0);
}

#[test]
fn equal_items_are_computed_once() {
    let place = chain();
    place.write("data.yaml", "inputs: {item: [4, 4, 4]}\n");
    let report = place.run(&inputs(&[]), 0);
    assert_eq!(report.number("executed"), 3, "one item of each stage");
    let raised = BTreeMap::from(["0", "1", "2"].map(|index| (index.to_owned(), 13.into())));
    assert_eq!(report.values("raised"), raised);
    assert_eq!(report.values("total")[""], 39);
}

/// The tasks that a dry run lists, sorted.
fn planned(place: &Place, arguments: &[&str]) -> Vec<String> {
    let report = place.run(&[arguments, &["--dry-run"]].concat(), 0);
    let list = report.0["to_run"]
        .as_array()
        .expect("a list of tasks")
        .clone();
    assert_eq!(list.len(), report.number("to_execute"));
    let mut tasks: Vec<String> = list
        .iter()
        .map(|task| task["task"].as_str().expect("an address").to_owned())
        .collect();
    tasks.sort();
    tasks
}

#[test]
fn invariant_5_a_run_executes_exactly_what_the_dry_run_listed() {
    let place = chain();
    let cases: [(&str, &[&str], usize); 5] = [
        ("[1, 2, 3]", &[], 7),
        ("[1, 2, 3]", &[], 0),
        ("[1, 2, 3, 4]", &[], 3),
        ("[1, 2, 3, 4]", &["--set", "add=7"], 5),
        ("[4, 1, 9]", &["--set", "factor=4", "-j", "1"], 7),
    ];
    for (items, arguments, expected) in cases {
        place.write("data.yaml", &format!("inputs: {{item: {items}}}\n"));
        let plan = planned(&place, &inputs(arguments));
        assert_eq!(plan.len(), expected, "{items} {arguments:?}");
        let report = place.run(&inputs(arguments), 0);
        assert_eq!(report.ran(), plan, "{items} {arguments:?}");
        assert_eq!(report.number("executed"), expected);
    }
}

#[test]
fn invariant_7_outputs_do_not_depend_on_the_number_of_workers() {
    let run = |arguments: &[&str]| {
        let place = chain();
        let report = place.run(&inputs(arguments), 0).counts(11, 11, 0, 0);
        delivered(&report.folder())
    };
    let expected = run(&["-j", "1"]);
    assert!(!expected.is_empty());
    let others: [&[&str]; 4] = [
        &["-j", "2"],
        &["-j", "8"],
        &["-j", "3", "--no-pipelining"],
        &[
            "-j",
            "8",
            "--no-data-parallelism",
            "--no-workflow-parallelism",
        ],
    ];
    for arguments in others {
        assert_eq!(run(arguments), expected, "{arguments:?}");
    }
}

/// `roll` is not pure: it runs each time, and gives what `$TMPDIR/die` shows.
const IMPURE: &str = r#"
headwater: 1
workflow: impure
stages:
  roll:
    tasks: [{op: roll, out: {number: number}}]
  use:
    tasks: [{op: use, in: {number: number}, out: {text: text}}]
outputs: {text: text, number: number}
operations:
  roll:
    shell: echo rolled >> "$TMPDIR/log"; cat "$TMPDIR/die" > {out.number}
    pure: false
    outputs: {number: {type: file, path: number.txt}}
  use:
    shell: echo used >> "$TMPDIR/log"; echo "it was $(cat {in.number})" > {out.text}
    inputs: {number: file}
    outputs: {text: {type: file, path: text.txt}}
"#;

#[test]
fn an_impure_operation_always_runs_and_unchanged_content_costs_nothing_downstream() {
    let place = Place::with_flow(IMPURE);
    let roll = |shown: &str, log: &[&str]| {
        fs::write(place.side().join("die"), shown).expect("a die");
        let _ = fs::remove_file(place.side().join("log"));
        let report = place.run(&[], 0);
        assert_eq!(place.told("log"), log, "after `{shown}`");
        assert_eq!(report.texts("text"), [format!("it was {shown}\n")]);
        assert_eq!(report.texts("number"), [shown]);
        assert_eq!(report.number("executed"), log.len());
    };
    roll("six", &["rolled", "used"]);
    roll("six", &["rolled"]);
    roll("one", &["rolled", "used"]);
    roll("six", &["rolled"]);
}

#[test]
fn what_a_program_is_made_of_is_part_of_its_recipe() {
    let flow = |more: &str| {
        format!(
            "headwater: 1\nworkflow: tool\nstages:\n  only:\n    tasks: [{{op: tool, out: {{text: text}}}}]\n\
             outputs: {{text: text}}\noperations:\n  tool:\n    command: [sh, tool.sh]\n    stdout: text\n    \
             outputs: {{text: {{type: file, path: text}}}}\n    uses: [tool.sh]\n{more}"
        )
    };
    let place = Place::new();
    let run = |more: &str, script: &str, executed: usize| {
        place.write("flow.yaml", &flow(more));
        place.write("tool.sh", script);
        place.run(&[], 0).counts(1, executed, 1 - executed, 0)
    };
    run("", "echo one\n", 1);
    run("", "echo one\n", 0);
    assert_eq!(run("", "echo two\n", 1).texts("text"), ["two\n"]);
    run("    version: 2\n", "echo two\n", 1);
    place.write("version.txt", "1.0\n");
    run(
        "    version: {command: [cat, version.txt]}\n",
        "echo two\n",
        1,
    );
    run(
        "    version: {command: [cat, version.txt]}\n",
        "echo two\n",
        0,
    );
    place.write("version.txt", "1.1\n");
    run(
        "    version: {command: [cat, version.txt]}\n",
        "echo two\n",
        1,
    );
}

#[test]
fn read_only_uses_the_store_and_writes_nothing_to_it() {
    let place = chain();
    place.run(&inputs(&[]), 0).counts(11, 11, 0, 0);
    let listing = || -> Vec<(std::path::PathBuf, u64, std::time::SystemTime)> {
        let store = place.path(".headwater");
        let side_file = |name: &std::path::Path| {
            let name = name.to_string_lossy();
            name.ends_with("-shm") || name.ends_with("-wal")
        };
        contents(&store)
            .into_keys()
            .filter(|name| !side_file(name))
            .map(|name| {
                let metadata = fs::metadata(store.join(&name)).expect("a file");
                (name, metadata.len(), metadata.modified().expect("a time"))
            })
            .collect()
    };
    let before = listing();
    assert!(!before.is_empty());
    let run = |add: &str, executed: usize| -> Report {
        let set = format!("add={add}");
        let report = place.run(&inputs(&["--read-only", "--set", &set]), 0);
        report.counts(11, executed, 11 - executed, 0)
    };
    assert_eq!(run("1", 0).values("total")[""], 50);
    assert_eq!(run("2", 6).values("total")[""], 55);
    assert_eq!(
        run("2", 6).values("total")[""],
        55,
        "nothing was remembered"
    );
    assert_eq!(listing(), before);
    assert!(
        contents(&place.side()).is_empty(),
        "temporary files are removed"
    );
}

#[test]
fn two_runs_at_once_in_one_folder() {
    let place = chain();
    let arguments: Vec<String> = ["run", "flow.yaml", "--inputs", "data.yaml", "--json"]
        .map(str::to_owned)
        .to_vec();
    let mut other = arguments.clone();
    other.extend(["--set", "add=2"].map(str::to_owned));
    let children = [
        place.start(&arguments),
        place.start(&arguments),
        place.start(&other),
    ];
    let reports = children.map(|child| {
        let output = child.wait_with_output().expect("it ends");
        crate::place::Ran::from(output).ended(0).report()
    });
    let totals = reports
        .each_ref()
        .map(|report| report.values("total")[""].clone());
    assert_eq!(totals, [50, 50, 55]);
    assert_eq!(
        delivered(&reports[0].folder()),
        delivered(&reports[1].folder())
    );
    assert!(place.last().join("outputs.csv").is_file());
    place.run(&inputs(&[]), 0).counts(11, 0, 11, 0);
    place
        .run(&inputs(&["--set", "add=2"]), 0)
        .counts(11, 0, 11, 0);
}

#[test]
fn the_nearest_store_is_used() {
    let place = chain();
    fs::create_dir_all(place.path("deep/er")).expect("a folder");
    fs::create_dir_all(place.path("deep/.headwater")).expect("a store to be");
    let run = |store: Option<&str>| {
        let arguments = [
            "run",
            "../../flow.yaml",
            "--inputs",
            "../../data.yaml",
            "--json",
        ];
        let mut command = place.command(&arguments);
        command
            .current_dir(place.path("deep/er"))
            .env_remove("HEADWATER_STORE");
        if let Some(store) = store {
            command.args(["--store", store]);
        }
        let output = command.output().expect("headwater can be started");
        crate::place::Ran::from(output)
            .ended(0)
            .report()
            .number("executed")
    };
    assert_eq!(run(None), 11);
    assert_eq!(run(None), 0);
    assert!(
        place.path("deep/.headwater/objects").exists()
            || place.path("deep/.headwater/records.sqlite").exists()
    );
    assert!(!place.path("deep/er/.headwater").exists());
    assert_eq!(
        run(Some("own")),
        11,
        "--store is relative to the current folder"
    );
    assert!(place.path("deep/er/own").is_dir());
}

/// Two files per item, one made from the other.
const FILES: &str = r#"
headwater: 1
workflow: files
inputs: {item: int}
stages:
  first:
    tasks: [{op: first, in: {item: item}, out: {file: half}}]
  second:
    tasks: [{op: second, in: {file: half}, out: {file: whole}}]
outputs: {whole: whole}
operations:
  first:
    shell: seq {in.item} > {out.file}
    inputs: {item: int}
    outputs: {file: {type: file, path: half}}
  second:
    shell: wc -l < {in.file} > {out.file}
    inputs: {file: file}
    outputs: {file: {type: file, path: whole}}
"#;

#[test]
fn lost_bytes_are_made_again_as_the_plan_says() {
    let place = Place::with_flow(FILES);
    place.write("data.yaml", "inputs: {item: [11, 22, 33]}\n");
    let run = |executed: usize| {
        let plan = planned(&place, &inputs(&[]));
        let report = place.run(&inputs(&[]), 0);
        assert_eq!(report.texts("whole"), ["11\n", "22\n", "33\n"]);
        assert_eq!(report.ran(), plan);
        assert_eq!(plan.len(), executed, "{plan:?}");
    };
    let objects = place.path(".headwater/objects");
    // Removes the objects whose text passes the test.
    let lose = |wanted: &dyn Fn(&str) -> bool| {
        for (name, bytes) in contents(&objects) {
            if wanted(&String::from_utf8_lossy(&bytes)) {
                fs::remove_file(objects.join(name)).expect("removed");
            }
        }
    };
    run(6);
    run(0);
    lose(&|text| text.starts_with("1\n2\n"));
    run(0);
    lose(&|text| text == "22\n");
    run(2);
    lose(&|text| text == "33\n");
    run(2);
    lose(&|_| true);
    run(6);
    run(0);
}

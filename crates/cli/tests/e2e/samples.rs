//! Scripts over a sample sheet: what is made from which sample, what is missing, and what scripts lie beside the file.

use std::fs;

use crate::place::{Place, read};

/// Counts the letters of a text, and adds them up per group; a text with an `!` fails.
const GROUPS: &str = r#"
headwater: 1
workflow: groups
inputs: {group: text, table: file}
stages:
  count:
    - {op: count, in: {table: table}, out: {number: number}}
  sum:
    wait: {per: group}
    tolerate: 50%
    tasks: [{op: add, in: {numbers: number, name: group}, out: {sum: sum}}]
  total:
    wait: all
    tasks: [{op: add, in: {numbers: sum}, out: {sum: total}}]
outputs: {number: number, sum: sum, total: total}
operations:
  count:
    shell: |
      if grep -q '!' {in.table}; then echo "cannot read it" >&2; exit 3; fi
      tr -d '\n' < {in.table} | wc -c > {out.number}
    inputs: {table: file}
    outputs: {number: int}
  add:
    shell: echo $(( 0 $(for n in {in.numbers}; do echo "+ $n"; done) )) > {out.sum}
    inputs: {numbers: list of int, name: {type: text, optional: true}}
    outputs: {sum: int}
"#;

fn sheet() -> Place {
    let place = Place::with_flow(GROUPS);
    for (name, text) in [("a", "1"), ("b", "22"), ("c", "3!"), ("d", "4444")] {
        place.write(&format!("raw/{name}.txt"), &format!("{text}\n"));
    }
    place.write(
        "samples.csv",
        "sample,group,table\nw0,ctrl,raw/a.txt\nw1,drug,raw/b.txt\nw2,drug,raw/c.txt\nw3,ctrl,raw/d.txt\n",
    );
    place
}

#[test]
fn results_and_failures_carry_the_names_of_their_samples_and_what_is_missing() {
    let place = sheet();
    let report = place.run(&["--inputs", "samples.csv"], 1);
    let folder = report.folder();
    let table = read(&folder.join("outputs.csv"));
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(
        rows[0],
        "output,index,path,value,missing,from group,from table,value of group,value of sample,value of table"
    );
    for row in [
        "number,1,,2,0,,1,drug,w1,raw/b.txt",
        "sum,0,,5,0,0 3,0 3,ctrl,,",
        // Only one of its two samples is in it.
        "sum,1,,2,1,1 2,1,drug,,",
        "total,,,7,1,0 1 2 3,0 1 3,,,",
    ] {
        assert!(rows.contains(&row), "`{row}` in\n{table}");
    }
    let sums = &report.0["outputs"]["sum"];
    assert_eq!(
        (&sums[0]["missing"], &sums[1]["missing"]),
        (&0.into(), &1.into())
    );
    assert_eq!(sums[1]["from"], serde_json::json!({"group": "drug"}));
    assert_eq!(report.0["outputs"]["number"][0]["from"]["sample"], "w0");

    let notes = report.0["notes"].as_array().expect("notes");
    let told: Vec<&str> = notes.iter().filter_map(|note| note.as_str()).collect();
    assert_eq!(
        told,
        [
            "`sum[1]` (`group` is `drug`) goes on, but 1 of 2 items of `number` failed and are left out: `number[2]`"
        ]
    );

    let failure = &report.failures()["count.count[2]"];
    assert_eq!(failure["from"]["sample"], "w2");
    assert_eq!(failure["from"]["table"], "raw/c.txt");
    let described = read(&folder.join("failures.txt"));
    let from = "  from:    group=drug, table=raw/c.txt, sample=w2\n";
    assert!(described.contains(from), "{described}");
    let page = read(&folder.join("report.html"));
    assert!(page.contains("1 item is missing from what it was made from"));
    assert!(page.contains("group=drug, table=raw/c.txt, sample=w2"));
}

#[test]
fn columns_that_are_no_inputs_name_rows_and_are_saved() {
    let place = sheet();
    place
        .headwater(&["run", "flow.yaml", "--inputs", "samples.csv"])
        .ended(1)
        .says(&["note: column `sample` is no input of the workflow, and only names rows"]);
    let saved = read(&place.last().join("inputs.yaml"));
    assert!(saved.contains("sample: w3"), "{saved}");
    // Declared and read by nobody, it names rows just the same.
    let declared = GROUPS.replace(
        "inputs: {group: text, table: file}\nstages",
        "inputs: {sample: text, group: text, table: file}\nstages",
    );
    place.write("flow.yaml", &declared);
    let ran = place
        .headwater(&["run", "flow.yaml", "--inputs", "samples.csv"])
        .ended(1);
    assert!(
        !ran.stderr.contains("not read by any task"),
        "{}",
        ran.stderr
    );
}

/// Lanes, then patients, then cohorts: a patient counts once, however many rows it has.
#[test]
fn groups_of_groups() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: nest
inputs: {cohort: text, patient: text, value: int}
stages:
  patients:
    wait: {per: patient}
    tasks: [{op: most, in: {numbers: value}, out: {most: most}}]
  cohorts:
    wait: {per: cohort}
    tasks: [{op: most, in: {numbers: most}, out: {most: sum}}]
outputs: {sum: sum}
operations:
  most:
    shell: echo $(( 0 $(for n in {in.numbers}; do echo "+ $n"; done) )) > {out.most}
    inputs: {numbers: list of int}
    outputs: {most: int}
"#,
    );
    let rows = "cohort,patient,value\nA,ann,1\nA,ann,2\nB,ben,3\nA,cy,4\n";
    place.write("nest.csv", rows);
    let report = place.run(&["--inputs", "nest.csv"], 0);
    let sums = &report.0["outputs"]["sum"];
    assert_eq!(
        (&sums[0]["value"], &sums[1]["value"]),
        (&7.into(), &3.into())
    );
    place.write("nest.csv", &format!("{rows}B,ann,5\n"));
    place
        .headwater(&["run", "flow.yaml", "--inputs", "nest.csv"])
        .ended(2)
        .says(&[
            "`patient[0]` and `patient[4]` are equal, `cohort[0]` and `cohort[4]` are not",
            "flow.yaml:10:11",
        ]);
}

const SCRIPT: &str = r#"
headwater: 1
workflow: script
inputs: {item: int}
stages:
  work: [{op: tool, in: {item: item}, out: {made: made}}]
outputs: {made: made}
operations:
  tool:
    command: [sh, scripts/tool.sh, "{in.item}", "{out.made}"]
    inputs: {item: int}
    outputs: {made: int}
"#;

fn script(uses: &str) -> Place {
    let place = Place::with_flow(&format!("{SCRIPT}{uses}"));
    place.write("scripts/tool.sh", "echo $1 > $2\n");
    place.write("data.yaml", "inputs: {item: [1, 2, 3, 4, 5, 6, 7]}\n");
    place
}

#[test]
fn a_script_that_no_task_sees_is_told_when_checked_and_when_run() {
    let place = script("");
    let told = [
        "warning: operation `tool` names `scripts/tool.sh`, which lies beside this file",
        "flow.yaml:10:19",
        "help: add `uses: [scripts/tool.sh]` to the operation",
    ];
    place
        .headwater(&["check", "flow.yaml"])
        .ended(0)
        .says(&told);
    let ran = place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml"])
        .ended(1)
        .says(&told)
        .says(&["and 6 more tasks failed alike"]);
    assert_eq!(
        ran.stderr.matches("  command: sh").count(),
        1,
        "{}",
        ran.stderr
    );
    place.write(
        "flow.yaml",
        &format!("{SCRIPT}    uses: [scripts/tool.sh]\n"),
    );
    let checked = place.headwater(&["check", "flow.yaml"]).ended(0);
    assert!(!checked.stderr.contains("warning"), "{}", checked.stderr);
}

#[test]
fn a_pattern_that_stands_for_nothing_is_the_same_mistake_when_checked_and_when_run() {
    let place = script("    uses: [scripts/tol.sh]\n");
    let told = [
        "error: operation `tool` uses `scripts/tol.sh`, but there is no such file",
        "flow.yaml:13:12",
        "help: did you mean `scripts/tool.sh`?",
    ];
    place
        .headwater(&["check", "flow.yaml"])
        .ended(2)
        .says(&told);
    place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml"])
        .ended(2)
        .says(&told);
}

#[test]
fn what_editors_and_interpreters_leave_behind_is_no_part_of_a_program() {
    let place = script("    uses: [\"scripts/**\"]\n");
    place.run(&["--inputs", "data.yaml"], 0).counts(7, 7, 0, 0);
    place.write("scripts/__pycache__/tool.cpython-312.pyc", "x");
    place.write("scripts/tool.sh~", "x");
    place.write("scripts/.tool.sh.swp", "x");
    place.run(&["--inputs", "data.yaml"], 0).counts(7, 0, 7, 0);
    place.write("scripts/more.sh", "x");
    place.run(&["--inputs", "data.yaml"], 0).counts(7, 7, 0, 0);
}

#[test]
fn a_script_by_its_whole_path_is_noted_once() {
    let place = Place::new();
    let tool = place.write("elsewhere/tool.sh", "echo $1 > $2\n");
    let tool = tool.to_str().expect("a name");
    place.write(
        "flow.yaml",
        &SCRIPT.replace("scripts/tool.sh", &format!("\"{tool}\"")),
    );
    place.write("data.yaml", "inputs: {item: [1, 2]}\n");
    let told = format!(
        "operation `tool` names `{tool}` by its whole path: a change of that file is not noticed"
    );
    for arguments in [
        &["check", "flow.yaml"][..],
        &["run", "flow.yaml", "--inputs", "data.yaml"],
    ] {
        let ran = place.headwater(arguments).ended(0);
        assert_eq!(ran.stderr.matches(&told).count(), 1, "{}", ran.stderr);
    }
    let version = format!(
        "{}    version: \"1\"\n",
        SCRIPT.replace("scripts/tool.sh", &format!("\"{tool}\""))
    );
    place.write("flow.yaml", &version);
    let ran = place.headwater(&["check", "flow.yaml"]).ended(0);
    assert!(!ran.stderr.contains("whole path"), "{}", ran.stderr);
}

#[test]
fn an_input_given_as_a_parameter_is_told_apart() {
    let place = script("    uses: [scripts/tool.sh]\n");
    place
        .headwater(&["run", "flow.yaml", "--set", "item=3"])
        .ended(2)
        .says(&[
            "there is no workflow parameter `item`",
            "`item` is an input: give it in the file named by --inputs",
        ]);
    fs::write(place.path("data.tsv"), "item\tgroup\n1\tx\n").expect("a file");
    place
        .headwater(&["run", "flow.yaml", "--inputs", "data.tsv"])
        .ended(2)
        .says(&["cells are separated by commas"]);
}

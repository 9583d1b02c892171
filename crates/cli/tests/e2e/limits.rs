//! Order and limits that a workflow asks for hold for real processes.

use crate::place::Place;

/// Four items through a stage whose commands fail if they meet each other.
fn alone(stage: &str, operation: &str) -> Place {
    let place = Place::with_flow(&format!(
        r#"
headwater: 1
workflow: alone
inputs: {{item: int}}
stages:
  work:
    tasks: [{{op: work, in: {{item: item}}, out: {{made: made}}}}]
{stage}
outputs: {{made: made}}
operations:
  work:
    shell: mkdir "$TMPDIR/busy"; sleep 0.02; rmdir "$TMPDIR/busy"; echo {{in.item}} > {{out.made}}
    inputs: {{item: int}}
    outputs: {{made: {{type: int, path: made}}}}
{operation}
"#
    ));
    place.write("data.yaml", "inputs: {item: [0, 1, 2, 3, 4, 5]}\n");
    place
}

#[test]
fn tasks_that_must_not_meet_do_not() {
    let cases: [(&str, &str, &[&str]); 6] = [
        ("    concurrency: 1", "", &["-j", "4"]),
        ("", "    resources: {cores: 4}", &["-j", "4"]),
        ("", "    resources: {cores: 3}", &["-j", "5"]),
        (
            "",
            "    resources: {gpu: 1}",
            &["-j", "4", "--resource", "gpu=1"],
        ),
        (
            "",
            "    resources: {memory: 600MiB}",
            &["-j", "4", "--memory", "1GiB"],
        ),
        ("", "", &["-j", "4", "--no-data-parallelism"]),
    ];
    for (stage, operation, arguments) in cases {
        let place = alone(stage, operation);
        let report = place.run(&[&["--inputs", "data.yaml"], arguments].concat(), 0);
        assert_eq!(report.number("executed"), 6, "{stage}{operation}");
    }
    // Without a limit they do meet, or this test would prove nothing.
    let place = alone("", "");
    let report = place.run(&["--inputs", "data.yaml", "-j", "6"], 1);
    assert!(report.number("failed") > 0);
}

const ORDER: &str = r#"
headwater: 1
workflow: order
inputs: {item: int}
stages:
  second:
    after: [first]
    tasks: [{op: say, in: {item: item}, params: {word: second}, out: {said: said2}}]
  first:
    tasks: [{op: say, in: {item: item}, params: {word: first}, out: {said: said1}}]
outputs: {first: said1, second: said2}
operations:
  say:
    shell: sleep 0.0{in.item}; echo {in.item} {param.word} >> "$TMPDIR/log"; echo {param.word} > {out.said}
    inputs: {item: int}
    params: {word: text}
    outputs: {said: {type: text, path: said}}
"#;

#[test]
fn a_stage_comes_after_another_item_by_item() {
    let place = Place::with_flow(ORDER);
    place.write("data.yaml", "inputs: {item: [3, 0, 2, 1]}\n");
    place
        .run(&["--inputs", "data.yaml", "-j", "4"], 0)
        .counts(8, 8, 0, 0);
    let log = place.told("log");
    let position = |line: String| log.iter().position(|found| *found == line).expect("it ran");
    for item in 0..4 {
        assert!(
            position(format!("{item} first")) < position(format!("{item} second")),
            "{log:?}"
        );
    }
}

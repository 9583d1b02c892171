//! Numbers reach programs as recipes know them: there is one zero.

use crate::place::Place;

/// A task that makes a float, and one that writes down what it is given.
const FLOW: &str = r#"
headwater: 1
workflow: zero
inputs: {given: float, listed: list of float}
parameters: {p: {type: float, default: 1.5}}
stages:
  first:
    tasks: [{op: make, out: {made: number}}]
  second:
    tasks:
      - {op: show, in: {made: number, given: given, listed: listed}, params: {p: $p}, out: {text: text}}
outputs: {number: number, text: text}
operations:
  make:
    shell: printf -- '-0.0\n' > {out.made}
    outputs: {made: {type: float, path: made}}
  show:
    shell: echo {in.made} {in.given} {in.listed} {param.p} > {out.text}
    inputs: {made: float, given: float, listed: list of float}
    params: {p: float}
    outputs: {text: {type: file, path: text}}
"#;

#[test]
fn a_program_never_meets_a_negative_zero() {
    let place = Place::with_flow(FLOW);
    place.write(
        "minus.yaml",
        "inputs: {given: -0.0, listed: [[-0.0, 1.5]]}\nparameters: {p: -0.0}\n",
    );
    place.write(
        "plus.yaml",
        "inputs: {given: 0.0, listed: [[0.0, 1.5]]}\nparameters: {p: 0.0}\n",
    );
    let report = place.run(&["--inputs", "minus.yaml"], 0).counts(2, 2, 0, 0);
    assert_eq!(report.texts("text"), ["0.0 0.0 0.0 1.5 0.0\n"]);
    assert_eq!(report.0["outputs"]["number"][0]["value"].to_string(), "0.0");
    // It is the same computation, with the same result.
    let report = place.run(&["--inputs", "plus.yaml"], 0).counts(2, 0, 2, 0);
    assert_eq!(report.texts("text"), ["0.0 0.0 0.0 1.5 0.0\n"]);
    for setting in ["p=-0.0", "p=-0", "p=-0e5"] {
        let report = place.run(&["--inputs", "plus.yaml", "--set", setting], 0);
        assert_eq!(report.number("executed"), 0, "{setting}");
    }
    // And so is what comes back from the store, when only the reader runs.
    place.headwater(&["products", "gc", "--max", "0"]).ended(0);
    let report = place.run(&["--inputs", "minus.yaml", "--set", "p=2.5"], 0);
    assert_eq!(report.texts("text"), ["0.0 0.0 0.0 1.5 2.5\n"]);
}

#[test]
fn a_study_gives_programs_one_zero() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: line
inputs: {item: int}
parameters: {p: {type: float, range: [-1.0, 1.0], step: 1.0, default: 1.0}}
stages:
  only:
    tasks: [{op: say, in: {item: item}, params: {p: $p}, out: {y: y}}]
outputs: {y: y}
operations:
  say:
    shell: |
      echo {param.p} >> "$TMPDIR/log"
      printf -- '-0.0' > {out.y}
    inputs: {item: int}
    params: {p: float}
    outputs: {y: {type: float, path: y}}
"#,
    );
    place.write("samples.csv", "p\n-0.0\n0.0\n-1.0\n");
    place.write(
        "study.yaml",
        "headwater: 1\nstudy: zero\nworkflow: flow.yaml\ninputs: {item: 1}\nparameters: {p: }\nobjective: y\nmethod: {table: samples.csv}\n",
    );
    place
        .headwater(&["study", "run", "study.yaml", "-o", "out"])
        .ended(0);
    let mut said = place.told("log");
    said.sort();
    assert_eq!(said, ["-1.0", "0.0"]);
    let samples = place.read("out/samples.csv");
    assert!(!samples.contains("-0"), "{samples}");
}

//! Study files: what they say, and what that means for a workflow.

use std::sync::Arc;

use headwater_flow::{
    DataValue, Levels, Method, Read, ResolvedStudy, Sampler, Setting, StudyFile, StudyParameters,
    StudyValue, Walk, mutate, read_study, read_workflow, resolve,
};
use headwater_graph::{Diagnostic, Scalar, Workflow};
use headwater_sensitivity::Domain;

#[track_caller]
fn good(text: &str) -> StudyFile {
    let read = read_study(text);
    assert_eq!(read.diagnostics, [], "{text}");
    read.value.expect("a file without mistakes has a value")
}

fn study(rest: &str) -> String {
    format!(
        "headwater: 1\nstudy: s\nworkflow: w.yaml\ninputs: {{tile: \"tiles/*.png\"}}\nobjective: score\n{rest}\n"
    )
}

const WORKFLOW: &str = "
headwater: 1
workflow: w
inputs: {tile: file, other: {type: file, optional: true}}
parameters:
  B: {type: int, range: [210, 240], step: 10, default: 220}
  T: {type: float, range: [2.5, 7.5], step: 0.5, default: 5.0}
  C: {type: choice, values: [4, 8], default: 4}
  F: {type: float, range: [0, 1], default: 0.5}
  I: {type: int, range: [1, 3], default: 1}
  On: {type: bool, default: false}
  Word: {type: text, default: a}
  Free: {type: float, default: 1.5}
stages:
  first:
    - {op: first, in: {tile: tile}, params: {b: $B, t: $T, c: $C, f: $F, i: $I, on: $On, word: $Word, free: $Free}, out: {mask: mask}}
  second:
    - {op: second, in: {a: mask, b: other}, out: {score: second_score}}
  third:
    - {op: third, in: {a: mask}, out: {score: score}}
outputs: {mask: mask, score: score, against: second_score}
operations:
  first:
    command: [a, \"{in.tile}\", \"{param.b}\", \"{param.t}\", \"{param.c}\", \"{param.f}\", \"{param.i}\", \"{param.on}\", \"{param.word}\", \"{param.free}\"]
    inputs: {tile: file}
    params: {b: int, t: float, c: int, f: float, i: int, on: bool, word: text, free: float}
    outputs: {mask: file}
  second:
    command: [b, \"{in.a}\", \"{in.b}\"]
    inputs: {a: file, b: file}
    outputs: {score: {type: float, path: score}}
  third:
    command: [c, \"{in.a}\"]
    inputs: {a: file}
    outputs: {score: {type: float, path: score}}
";

fn workflow() -> Workflow {
    let read = read_workflow(WORKFLOW, &mutate::registry());
    assert!(!read.has_errors(), "{:?}", read.diagnostics);
    read.value.expect("the workflow is right").workflow
}

fn resolved(rest: &str, columns: &[&str]) -> Read<ResolvedStudy> {
    let columns: Vec<Arc<str>> = columns.iter().map(|name| Arc::from(*name)).collect();
    resolve(&good(&study(rest)), &workflow(), &columns)
}

#[track_caller]
fn right(rest: &str, columns: &[&str]) -> ResolvedStudy {
    let read = resolved(rest, columns);
    assert!(!read.has_errors(), "{:?}", read.diagnostics);
    read.value.expect("without errors there is a value")
}

fn names(found: &ResolvedStudy) -> Vec<&str> {
    found.studied.iter().map(|studied| &*studied.name).collect()
}

fn line(found: &Diagnostic) -> String {
    let span = found.span.expect("every mistake has a place");
    let hint = found.hint.as_ref().map(|hint| format!(" => {hint}"));
    let hint = hint.unwrap_or_default();
    format!(
        "{}:{} {}: {}{hint}",
        span.line, span.column, found.severity, found.message
    )
}

#[track_caller]
fn says(text: &str, columns: &[&str], expected: &[&str]) {
    let columns: Vec<Arc<str>> = columns.iter().map(|name| Arc::from(*name)).collect();
    let found = resolve(&good(text), &workflow(), &columns);
    let lines: Vec<String> = found.diagnostics.iter().map(line).collect();
    assert_eq!(lines, expected, "{text}");
}

#[test]
fn the_example_of_the_design() {
    let file = good(
        "headwater: 1
study: nuclei-moat
workflow: ../nuclei.yaml
inputs: {tile: \"tiles/*.png\", reference: {output: mask, at: default}}
parameters: [B, G]
objective: dice
method:
  moat: {trajectories: 40, levels: 20, design: random, bootstrap: 100, confidence: 0.95}
seed: 7
",
    );
    assert_eq!(&*file.name.value, "nuclei-moat");
    assert_eq!(&*file.workflow.value, "../nuclei.yaml");
    assert_eq!(
        (file.workflow.span.line, file.workflow.span.column),
        (3, 11)
    );
    assert_eq!(file.seed, 7);
    assert!(matches!(
        file.inputs[0].value,
        StudyValue::Data(DataValue::Single(_))
    ));
    let StudyValue::Reference(output) = &file.inputs[1].value else {
        panic!("the second input refers to an output");
    };
    assert_eq!(&*output.value, "mask");
    assert_eq!(file.parameters.overrides().len(), 2);
    assert!(file.parameters.names_studied());
    let Method::Moat(moat) = &file.method else {
        panic!("the method is moat");
    };
    assert_eq!((moat.trajectories, moat.levels), (40, Levels::Each(20)));
    assert_eq!(file.method.evaluations(15), Some(640));
}

#[test]
fn a_study_may_end_when_it_is_enough() {
    for method in [
        "{moat: }",
        "{vbd: {samples: 64}}",
        "{two-phase: {screen: {moat: }, keep: 1, then: {vbd: {samples: 8}}}}",
    ] {
        let file = good(&study(&format!("method: {method}\nuntil: {{ci: 0.02}}")));
        let until = file.until.expect("there is a rule");
        assert_eq!((until.ci, until.span.line, until.span.column), (0.02, 7, 1));
    }
}

#[test]
fn everything_has_a_default() {
    let file = good(&study("method: {moat: }"));
    assert_eq!(file.parameters, StudyParameters::All);
    assert_eq!(file.seed, 42);
    assert_eq!(file.until, None);
    let Method::Moat(moat) = &file.method else {
        panic!("the method is moat");
    };
    assert_eq!(
        (moat.trajectories, moat.levels, moat.walk, moat.bootstrap),
        (10, Levels::Each(20), Walk::Random, 100)
    );
    assert_eq!(moat.confidence.to_bits(), 0.95_f64.to_bits());
    let file = good(&study("method: {vbd: {samples: 128}}"));
    let Method::Vbd(vbd) = &file.method else {
        panic!("the method is vbd");
    };
    assert_eq!(
        (vbd.samples, vbd.sampler, vbd.second_order, vbd.bootstrap),
        (128, Sampler::Sobol, false, 100)
    );
    assert_eq!(file.method.evaluations(8), Some(1280));
}

#[test]
fn methods() {
    let file = good(&study(
        "method: {two-phase: {screen: {moat: {levels: grid, design: spread}}, keep: 8, then: {vbd: {samples: 200, sampler: lhs, second-order: true}}}}",
    ));
    let Method::TwoPhase { screen, keep, then } = &file.method else {
        panic!("the method has two phases");
    };
    assert_eq!((screen.levels, screen.walk), (Levels::Grid, Walk::Spread));
    assert_eq!((keep.value, then.sampler), (8, Sampler::Lhs));
    assert_eq!(file.method.evaluations(15), Some(160 + 200 * 18));
    assert_eq!(file.method.evaluations(3), Some(40 + 200 * 8));
    let file = good(&study("method: {moat: {design: radial}}"));
    assert!(matches!(file.method, Method::Moat(moat) if moat.walk == Walk::Radial));
    let file = good(&study("method: {table: samples.csv}"));
    let Method::Table(path) = &file.method else {
        panic!("the method is a table");
    };
    assert_eq!(&*path.value, "samples.csv");
    assert_eq!(file.method.evaluations(15), None);
}

#[test]
fn a_data_file_in_either_place() {
    let text = study("method: {moat: }");
    let named = text.replace("{tile: \"tiles/*.png\"}", "rows.csv");
    let file = good(&named);
    assert_eq!(
        file.data.map(|path| path.value).as_deref(),
        Some("rows.csv")
    );
    assert!(file.inputs.is_empty());
    let both = format!("{text}data: rows.csv\n");
    let file = good(&both);
    assert_eq!(
        file.data.map(|path| path.value).as_deref(),
        Some("rows.csv")
    );
    assert_eq!(file.inputs.len(), 1);
}

#[test]
fn all_that_have_a_range_or_values_are_varied() {
    let found = right("method: {moat: }", &[]);
    assert_eq!(names(&found), ["B", "T", "C", "F", "I"]);
    let domains: Vec<&Domain> = found
        .studied
        .iter()
        .filter_map(|studied| studied.values.domain())
        .collect();
    let expected = [
        Domain::Grid {
            low: 210.0,
            step: 10.0,
            count: 4,
        },
        Domain::Grid {
            low: 2.5,
            step: 0.5,
            count: 11,
        },
        // Counted from the smallest.
        Domain::Listed {
            numbers: [0.0, 4.0].into(),
        },
        Domain::Interval {
            low: 0.0,
            high: 1.0,
        },
        Domain::Grid {
            low: 1.0,
            step: 1.0,
            count: 3,
        },
    ];
    assert_eq!(domains, expected.iter().collect::<Vec<_>>());
    let listed = found.studied[2].values.list();
    assert_eq!(listed, Some(&[Scalar::Int(4), Scalar::Int(8)][..]));
    let fixed: Vec<(&str, String)> = found
        .fixed
        .iter()
        .map(|(name, value)| (&**name, value.to_string()))
        .collect();
    assert_eq!(
        fixed,
        [
            ("On", "false".to_owned()),
            ("Word", "a".to_owned()),
            ("Free", "1.5".to_owned())
        ]
    );
    assert_eq!(&*found.objective.data, "score");
    let word = right("parameters: all\nmethod: {moat: }", &[]);
    assert_eq!(names(&word), names(&found));
}

#[test]
fn a_map_that_only_fixes_leaves_the_others_varied() {
    let found = right(
        "parameters: {On: {value: true}, B: {value: 230}}\nmethod: {moat: }",
        &[],
    );
    assert_eq!(names(&found), ["T", "C", "F", "I"]);
    assert_eq!(found.fixed[0], ("B".into(), Scalar::Int(230)));
    assert_eq!(found.fixed[1], ("On".into(), Scalar::Bool(true)));
}

#[test]
fn a_map_that_names_what_is_varied_keeps_the_others() {
    let found = right(
        "parameters:
  T:
  B: {}
  I: {step: none}
  F: {step: 0.25}
  On:
  Word: {values: [a, b]}
  Free: {range: [0, 2]}
  C: {value: 8}
method: {moat: }",
        &[],
    );
    assert_eq!(names(&found), ["T", "B", "I", "F", "On", "Word", "Free"]);
    let values = |position: usize| &found.studied[position].values;
    let domain = |position: usize| values(position).domain();
    assert_eq!(
        domain(2),
        Some(&Domain::Interval {
            low: 1.0,
            high: 3.0
        })
    );
    assert_eq!(
        domain(3),
        Some(&Domain::Grid {
            low: 0.0,
            step: 0.25,
            count: 5
        })
    );
    assert_eq!(
        values(4).list(),
        Some(&[Scalar::Bool(false), Scalar::Bool(true)][..])
    );
    assert_eq!(
        values(5).list(),
        Some(&[Scalar::Text("a".into()), Scalar::Text("b".into())][..])
    );
    assert_eq!(
        domain(6),
        Some(&Domain::Interval {
            low: 0.0,
            high: 2.0
        })
    );
    assert_eq!(found.fixed, [("C".into(), Scalar::Int(8))]);
    let only = right("parameters: [T]\nmethod: {moat: }", &[]);
    assert_eq!(names(&only), ["T"]);
    assert_eq!(only.fixed.len(), 7);
}

#[test]
fn overrides_keep_what_they_do_not_say() {
    let found = right(
        "parameters: {T: {range: [3, 5]}, B: {step: 5}}\nmethod: {moat: }",
        &[],
    );
    let domains: Vec<Domain> = found
        .studied
        .into_iter()
        .filter_map(|studied| studied.values.domain().cloned())
        .collect();
    assert_eq!(
        domains,
        [
            Domain::Grid {
                low: 3.0,
                step: 0.5,
                count: 5
            },
            Domain::Grid {
                low: 210.0,
                step: 5.0,
                count: 7
            },
        ]
    );
    let file = good(&study("parameters: {T: {range: [3, 5]}}\nmethod: {moat: }"));
    let Setting::Range { range, .. } = &file.parameters.overrides()[0].setting else {
        panic!("the setting is a range");
    };
    let span = range
        .as_ref()
        .map(|range| (range.span.line, range.span.column));
    assert_eq!(span, Some((6, 25)));
}

#[test]
fn a_table_says_what_is_varied() {
    let found = right("method: {table: t.csv}", &["T", "Free", "B"]);
    assert_eq!(names(&found), ["T", "Free", "B"]);
    assert_eq!(found.studied[1].values.domain(), None);
    assert_eq!(found.fixed.len(), 5);
    let chosen = right(
        "parameters: [B]\nmethod: {table: t.csv}",
        &["set", "T", "B"],
    );
    assert_eq!(names(&chosen), ["B"]);
    says(
        &study("method: {table: t.csv}"),
        &["T", "Fre", "T"],
        &[
            "6:17 error: the table has a column `Fre`, and the workflow no such parameter => did you mean `Free`?",
            "6:17 error: the table has two columns `T`",
        ],
    );
    says(
        &study("parameters: {B: {value: 220}, F: }\nmethod: {table: t.csv}"),
        &["T", "B"],
        &[
            "6:25 error: `B` has a value here and a column in the table => leave one of them out",
            "6:31 error: the table has no column `F` => there are `T` and `B`",
        ],
    );
    says(
        &study("method: {table: t.csv}"),
        &[],
        &["6:17 error: the table has no columns => its first line names the parameters"],
    );
}

#[test]
fn a_reference_is_an_output_that_does_not_need_its_input() {
    let text = study("method: {moat: }").replace("objective: score", "objective: against");
    let text = text.replace("png\"}", "png\", other: {output: mask, at: default}}");
    says(&text, &[], &[]);
    says(
        &text.replace("{output: mask", "{output: against"),
        &[],
        &[
            "4:47 error: output `against` depends on input `other`, so it cannot be the value of that input => name an output that is made without `other`",
        ],
    );
    says(
        &text.replace("{output: mask", "{output: maks"),
        &[],
        &["4:47 error: the workflow has no output `maks` => did you mean `mask`?"],
    );
    // Through another reference.
    let circle = text.replace(
        "tile: \"tiles/*.png\"",
        "tile: {output: against, at: default}",
    );
    says(
        &circle,
        &[],
        &[
            "4:25 error: output `against` depends on input `tile`, so it cannot be the value of that input => name an output that is made without `tile`",
            "4:64 error: output `mask` depends on input `other`, so it cannot be the value of that input => name an output that is made without `other`",
        ],
    );
}

#[test]
fn a_value_that_is_listed_twice_is_found_in_long_lists() {
    let numbers: Vec<String> = (0..1500).map(|number| number.to_string()).collect();
    let list = format!("[{}, 1200.0]", numbers.join(", "));
    let text = study(&format!(
        "parameters:\n  F: {{values: {list}}}\nmethod: {{moat: }}"
    ));
    let column = "  F: {values: [".len() + numbers.join(", ").len() + ", ".len() + 1;
    let expected =
        format!("7:{column} error: `1200.0` is among the values of `F` twice => keep one of them");
    says(&text, &[], &[&expected]);
}

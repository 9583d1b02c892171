//! The mistakes of a workflow: one test per message.

use std::sync::Arc;

use headwater_graph::{
    Binding, OutputBinding, Parameter, Place, Registry, RegistryError, Scalar, ScalarType,
    Severity, Signature, Strategy, Tolerance, Type, Wait, Workflow, check,
};

use crate::support::{codec, input, operation, registry, stage, task, workflow};

fn operations() -> Registry {
    let mut optional = Signature::new("maybe", "1")
        .input("in", Type::Text)
        .output("out", Type::Text);
    optional.inputs[0].optional = true;
    let mut unsure = Signature::new("unsure", "1")
        .input("in", Type::Text)
        .output("out", Type::Text);
    unsure.outputs[0].optional = true;
    let mut impure = Signature::new("fetch", "1").output("out", Type::Text);
    impure.pure = false;
    let mut registry = registry(vec![
        Signature::new("copy", "1")
            .input("in", Type::Text)
            .output("out", Type::Text),
        Signature::new("both", "1")
            .input("a", Type::Text)
            .input("b", Type::Text)
            .output("out", Type::Text),
        Signature::new("count", "1")
            .input("in", Type::Text)
            .output("out", Type::Int),
        Signature::new("split", "1")
            .input("in", Type::Text)
            .output("out", Type::Text.list()),
        Signature::new("mean", "1")
            .input("in", Type::Text.list())
            .output("out", Type::Text),
        Signature::new("show", "1")
            .input("in", Type::Image)
            .output("out", Type::Text),
        Signature::new("resize", "1")
            .input("in", Type::Text)
            .output("out", Type::Text)
            .parameter("size", ScalarType::Int, None)
            .parameter("scale", ScalarType::Float, Some(Scalar::Float(1.0))),
        optional,
        unsure,
        impure,
    ]);
    registry.register_codec(codec(Type::Image)).unwrap();
    registry
}

/// A workflow without mistakes: `a` is copied to `b`.
fn good() -> Workflow {
    workflow(
        vec![input("a", Type::Text)],
        vec![stage("s", vec![task("copy", "copy", "in=a", "out=b")])],
    )
}

/// The problems of a changed workflow, as `severity place: message (hint)`.
fn problems(change: impl FnOnce(&mut Workflow)) -> Vec<String> {
    let mut flow = good();
    change(&mut flow);
    let show = |problem: headwater_graph::Problem| {
        let hint = problem
            .hint
            .map(|hint| format!(" ({hint})"))
            .unwrap_or_default();
        format!(
            "{} {:?}: {}{hint}",
            problem.severity, problem.place, problem.message
        )
    };
    check(&flow, &operations()).into_iter().map(show).collect()
}

fn check_problem(change: impl FnOnce(&mut Workflow), expected: &str) {
    assert_eq!(problems(change), [expected]);
}

#[test]
fn a_good_workflow_has_no_problems() {
    assert_eq!(problems(|_| {}), Vec::<String>::new());
}

#[test]
fn an_unknown_operation_gives_the_candidates() {
    let mut flow = good();
    flow.stages[0].tasks[0].operation = "cpoy".into();
    let found = check(&flow, &operations());
    assert_eq!(found[0].message, "there is no operation `cpoy`");
    assert_eq!(found[0].place, Place::TaskOperation("s".into(), 0));
    let (name, candidates) = found[0].unknown.as_ref().unwrap();
    assert_eq!(&**name, "cpoy");
    assert!(candidates.contains(&Arc::from("copy")));
}

#[test]
fn data_that_nobody_makes() {
    let change =
        |flow: &mut Workflow| flow.stages[0].tasks[0].inputs = [("in".into(), "aa".into())].into();
    let found = problems(change);
    assert_eq!(
        found[0],
        "error TaskInput(\"s\", 0, \"in\"): nothing makes data called `aa`"
    );
    assert_eq!(
        found[1],
        "warning Input(\"a\"): input `a` is not read by any task"
    );
}

#[test]
fn ports_that_do_not_exist() {
    check_problem(
        |flow| {
            flow.stages[0].tasks[0]
                .inputs
                .insert("inn".into(), "a".into());
        },
        "error TaskInput(\"s\", 0, \"inn\"): `copy` has no input `inn`",
    );
    check_problem(
        |flow| {
            flow.stages[0].tasks[0]
                .outputs
                .insert("outt".into(), "c".into());
        },
        "error TaskOutput(\"s\", 0, \"outt\"): `copy` has no output `outt`",
    );
}

#[test]
fn an_input_that_is_not_given() {
    check_problem(
        |flow| flow.stages[0].tasks[0] = task("both", "both", "a=a", "out=b"),
        "error Task(\"s\", 0): input `b` of `both` is not given (add `b: NAME` to `in:`)",
    );
    assert_eq!(
        problems(|flow| flow.stages[0].tasks[0] = task("m", "maybe", "", "out=b")).len(),
        1,
        "only that `a` is not read"
    );
}

#[test]
fn what_may_be_missing_is_not_for_a_port_that_needs_it() {
    let second = |operation: &str, wait: Wait| {
        let (operation, wait) = (operation.to_owned(), wait);
        problems(move |flow: &mut Workflow| {
            flow.stages[0].tasks[0].operation = "unsure".into();
            flow.stages
                .push(stage("t", vec![task("u", &operation, "in=b", "out=c")]));
            flow.stages[1].wait = wait;
        })
    };
    assert_eq!(
        second("copy", Wait::No),
        [
            "error TaskInput(\"t\", 0, \"in\"): `b` (port `out` of `unsure` in `s.copy`) may be missing, \
             but port `in` of `copy` needs it (say `optional: true` at this input too, or take it away at \
             the output)"
        ]
    );
    assert_eq!(second("maybe", Wait::No), Vec::<String>::new());
    assert_eq!(second("mean", Wait::All), Vec::<String>::new());
}

#[test]
fn types_name_both_ports() {
    check_problem(
        |flow| {
            flow.stages.push(stage(
                "t",
                vec![
                    task("count", "count", "in=b", "out=n"),
                    task("copy", "copy", "in=n", "out=c"),
                ],
            ));
        },
        "error TaskInput(\"t\", 1, \"in\"): port `in` of `copy` takes a `text`, but `n` (port `out` of `count` in `t.count`) is an `int`",
    );
    check_problem(
        |flow| flow.inputs[0].input_type = Type::Image,
        "error TaskInput(\"s\", 0, \"in\"): port `in` of `copy` takes a `text`, but `a` (a workflow input) is an `image`",
    );
}

#[test]
fn files_are_decoded_and_lists_unfolded() {
    let fits = |input_type: Type, operation: &str| {
        let found = problems(|flow| {
            flow.inputs[0].input_type = input_type;
            flow.stages[0].tasks[0].operation = operation.into();
        });
        found.is_empty()
    };
    assert!(fits(Type::File, "show"));
    assert!(fits(Type::File.list(), "show"));
    assert!(!fits(Type::File, "copy"), "text has no codec here");
    assert!(fits(Type::Text.list(), "copy"));
    assert!(
        !fits(Type::Text, "mean"),
        "one item is no list, unless the stage waits"
    );
}

#[test]
fn how_data_reaches_a_port() {
    let registry = operations();
    let link = |port: &str, given: &str, synchronised: bool| {
        registry.link(
            &port.parse().unwrap(),
            &given.parse().unwrap(),
            synchronised,
        )
    };
    // (gathered, unfolded, decoded)
    assert_eq!(link("text", "text", false), Some((false, false, false)));
    assert_eq!(
        link("text", "list of text", false),
        Some((false, true, false))
    );
    assert_eq!(
        link("image", "list of file", false),
        Some((false, true, true))
    );
    assert_eq!(
        link("list of text", "list of text", false),
        Some((false, false, false))
    );
    assert_eq!(link("text", "list of list of text", false), None);
    assert_eq!(link("list of text", "text", false), None);
    assert_eq!(
        link("list of text", "text", true),
        Some((true, false, false))
    );
    assert_eq!(
        link("list of text", "list of text", true),
        Some((true, true, false))
    );
    assert_eq!(
        link("list of image", "file", true),
        Some((true, false, true))
    );
    assert_eq!(
        link("list of any", "list of text", true),
        Some((true, true, false))
    );
    assert_eq!(link("any", "text", true), Some((true, false, false)));
    assert_eq!(link("text", "text", true), Some((false, false, false)));
    assert_eq!(link("list of int", "text", true), None);
}

#[test]
fn a_list_cannot_be_iterated_in_the_stage_that_makes_it() {
    check_problem(
        |flow| {
            flow.stages[0].tasks = vec![
                task("split", "split", "in=a", "out=l"),
                task("copy", "copy", "in=l", "out=b"),
            ];
        },
        "error TaskInput(\"s\", 1, \"in\"): `l` is a list made in this stage; its items cannot be iterated here (move task `copy` to a stage of its own)",
    );
}

fn resize(flow: &mut Workflow, parameters: &[(&str, Binding)]) {
    let mut resize = task("resize", "resize", "in=a", "out=b");
    resize.parameters = parameters
        .iter()
        .map(|(name, binding)| ((*name).into(), binding.clone()))
        .collect();
    flow.stages[0].tasks = vec![resize];
}

fn parameter(flow: &mut Workflow, name: &str, scalar_type: ScalarType) {
    let (default, range, step, values) = (None, None, None, Vec::new());
    flow.parameters.push(Parameter {
        name: name.into(),
        scalar_type,
        default,
        range,
        step,
        values,
    });
}

#[test]
fn a_parameter_that_does_not_exist() {
    let one = Binding::Literal(Scalar::Int(1));
    check_problem(
        |flow| resize(flow, &[("size", one.clone()), ("sise", one.clone())]),
        "error TaskParameter(\"s\", 0, \"sise\"): `resize` has no parameter `sise`",
    );
}

#[test]
fn a_parameter_of_the_wrong_type() {
    check_problem(
        |flow| {
            resize(
                flow,
                &[("size", Binding::Literal(Scalar::Text("x".into())))],
            );
        },
        "error TaskParameter(\"s\", 0, \"size\"): parameter `size` of `resize` is an `int`, but `x` is a `text`",
    );
    check_problem(
        |flow| {
            parameter(flow, "P", ScalarType::Float);
            resize(flow, &[("size", Binding::Parameter("P".into()))]);
        },
        "error TaskParameter(\"s\", 0, \"size\"): parameter `size` of `resize` is an `int`, but `$P` is a `float`",
    );
    let int_for_float = problems(|flow| {
        parameter(flow, "P", ScalarType::Int);
        let both = Binding::Parameter("P".into());
        resize(flow, &[("size", both.clone()), ("scale", both)]);
    });
    assert_eq!(int_for_float, Vec::<String>::new());
}

#[test]
fn a_workflow_parameter_that_does_not_exist() {
    check_problem(
        |flow| resize(flow, &[("size", Binding::Parameter("Q".into()))]),
        "error TaskParameter(\"s\", 0, \"size\"): there is no workflow parameter `Q` (`$$` stands for a literal `$`)",
    );
}

#[test]
fn a_parameter_without_value_and_default() {
    check_problem(
        |flow| resize(flow, &[]),
        "error Task(\"s\", 0): parameter `size` of `resize` has no default and is not given (add `size: VALUE` to `params:`)",
    );
}

#[test]
fn names_that_are_taken() {
    check_problem(
        |flow| {
            flow.stages[0]
                .tasks
                .push(task("copy", "copy", "in=a", "out=c"));
        },
        "error Task(\"s\", 1): stage `s` has two tasks called `copy` (give one of them a `name:` of its own)",
    );
    check_problem(
        |flow| {
            flow.stages
                .push(stage("t", vec![task("copy", "copy", "in=a", "out=b")]));
        },
        "error TaskOutput(\"t\", 0, \"out\"): data name `b` is made twice: by task `s.copy` and by task `t.copy` (data names are unique in a workflow)",
    );
    let input_again =
        problems(|flow| flow.stages[0].tasks[0].outputs = [("out".into(), "a".into())].into());
    assert_eq!(
        input_again[0],
        "error TaskOutput(\"s\", 0, \"out\"): data name `a` is made twice: by a workflow input and by task `s.copy` (data names are unique in a workflow)"
    );
}

#[test]
fn a_stage_without_tasks() {
    check_problem(
        |flow| flow.stages.push(stage("t", Vec::new())),
        "error Stage(\"t\"): stage `t` has no tasks",
    );
}

#[test]
fn tolerate_without_wait() {
    check_problem(
        |flow| flow.stages[0].tolerate = Some(Tolerance::Count(1)),
        "error StageField(\"s\", \"tolerate\"): stage `s` has `tolerate` but waits for nothing (`tolerate` belongs to a stage with `wait`)",
    );
}

#[test]
fn no_concurrency_at_all() {
    check_problem(
        |flow| flow.stages[0].concurrency = Some(0),
        "error StageField(\"s\", \"concurrency\"): stage `s` could never run: its `concurrency` is 0",
    );
}

#[test]
fn iterate_names_what_the_stage_reads() {
    let strategy = |text: &str| Some(Strategy::parse(text).unwrap());
    check_problem(
        |flow| flow.stages[0].iterate = strategy("cross(a, c)"),
        "error StageField(\"s\", \"iterate\"): `iterate` names `c`, which this stage does not read",
    );
    check_problem(
        |flow| flow.stages[0].iterate = strategy("dot(a, b)"),
        "error StageField(\"s\", \"iterate\"): `iterate` names `b`, which this stage makes itself (name data that the stage only reads)",
    );
    check_problem(
        |flow| {
            flow.stages[0].tasks[0].operation = "mean".into();
            flow.stages[0].wait = Wait::All;
            flow.stages[0].iterate = strategy("a");
        },
        "error StageField(\"s\", \"iterate\"): stage `s` both iterates and waits (a stage with `wait` gets lists; remove `iterate`)",
    );
}

#[test]
fn stages_that_do_not_exist() {
    check_problem(
        |flow| flow.stages[0].after = vec!["t".into()],
        "error StageField(\"s\", \"after\"): there is no stage `t`",
    );
    let waits = problems(|flow| flow.stages[0].wait = Wait::Stages(vec!["t".into()]));
    assert_eq!(
        waits,
        ["error StageField(\"s\", \"wait\"): there is no stage `t`"]
    );
    let itself = problems(|flow| flow.stages[0].after = vec!["s".into()]);
    assert_eq!(
        itself[0],
        "error StageField(\"s\", \"after\"): stage `s` cannot come after itself"
    );
}

#[test]
fn per_names_an_input() {
    check_problem(
        |flow| {
            flow.stages[0].tasks[0].operation = "mean".into();
            flow.stages[0].wait = Wait::Per("b".into());
        },
        "error StageField(\"s\", \"wait\"): `per` names `b`, which is not a workflow input",
    );
    // An input that only `per` names is read.
    let grouped = problems(|flow| {
        flow.inputs.push(input("g", Type::Text));
        flow.stages[0].tasks[0].operation = "mean".into();
        flow.stages[0].wait = Wait::Per("g".into());
    });
    assert_eq!(grouped, Vec::<String>::new());
}

#[test]
fn a_cycle_of_stages_names_the_ports() {
    let found = problems(|flow| {
        flow.stages = vec![
            stage("p", vec![task("both", "both", "a=a b=y", "out=x")]),
            stage("q", vec![task("copy", "copy", "in=x", "out=y")]),
        ];
    });
    let cycle = found
        .iter()
        .find(|problem| problem.contains("wait for each other"))
        .unwrap();
    assert_eq!(
        cycle,
        "error Stage(\"q\"): stages `q`, `p` wait for each other: `p.both` reads `y` at port `b`; `q.copy` reads `x` at port `in`"
    );
    let found = problems(|flow| {
        flow.stages
            .push(stage("t", vec![task("copy", "copy", "in=b", "out=c")]));
        flow.stages[0].after = vec!["t".into()];
    });
    assert!(found[0].contains("`s` comes after `t`"), "{found:?}");
    assert!(
        found[0].contains("`t.copy` reads `b` at port `in`"),
        "{found:?}"
    );
}

#[test]
fn a_cycle_of_tasks_names_the_ports() {
    let found = problems(|flow| {
        flow.stages[0].tasks = vec![
            task("first", "both", "a=a b=y", "out=x"),
            task("second", "copy", "in=x", "out=y"),
            task("third", "copy", "in=y", "out=z"),
        ];
    });
    assert_eq!(
        found[0],
        "error Task(\"s\", 0): tasks of stage `s` wait for each other: `first` reads `y` of `second` at port `b`; `second` reads `x` of `first` at port `in`"
    );
}

#[test]
fn an_output_that_nobody_makes() {
    let found = problems(|flow| {
        flow.outputs = vec![OutputBinding {
            name: "end".into(),
            data: "c".into(),
        }];
    });
    assert_eq!(
        found[0],
        "error Output(\"end\"): nothing makes data called `c`"
    );
}

#[test]
fn what_leads_nowhere() {
    let wanted = |flow: &mut Workflow| {
        flow.outputs = vec![OutputBinding {
            name: "b".into(),
            data: "b".into(),
        }];
    };
    check_problem(
        |flow| {
            wanted(flow);
            flow.stages
                .push(stage("t", vec![task("copy", "copy", "in=a", "out=c")]));
        },
        "warning Stage(\"t\"): stage `t` feeds no output and will not run (name one of its results under `outputs:`, or say `pure: false`)",
    );
    let impure = problems(|flow| {
        wanted(flow);
        flow.stages
            .push(stage("t", vec![task("fetch", "fetch", "", "out=c")]));
    });
    assert_eq!(impure, Vec::<String>::new());
    let before = problems(|flow| {
        wanted(flow);
        flow.stages
            .push(stage("t", vec![task("copy", "copy", "in=a", "out=c")]));
        flow.stages[0].after = vec!["t".into()];
    });
    assert_eq!(before, Vec::<String>::new());
}

#[test]
fn what_nobody_uses() {
    check_problem(
        |flow| flow.inputs.push(input("z", Type::Text)),
        "warning Input(\"z\"): input `z` is not read by any task",
    );
    check_problem(
        |flow| parameter(flow, "P", ScalarType::Int),
        "warning Parameter(\"P\"): parameter `P` is not used by any task",
    );
}

#[test]
fn all_mistakes_at_once() {
    let found = problems(|flow| {
        flow.stages[0].tasks[0].operation = "cpoy".into();
        flow.stages[0].concurrency = Some(0);
        flow.stages[0].after = vec!["nowhere".into()];
        flow.stages.push(stage("t", Vec::new()));
        flow.outputs = vec![OutputBinding {
            name: "end".into(),
            data: "nothing".into(),
        }];
    });
    let errors = found
        .iter()
        .filter(|problem| problem.starts_with("error"))
        .count();
    assert_eq!(errors, 5, "{found:?}");
}

#[test]
fn severities_have_names() {
    let names =
        [Severity::Error, Severity::Warning, Severity::Note].map(|severity| severity.to_string());
    assert_eq!(names, ["error", "warning", "note"]);
}

#[test]
fn names_are_registered_once() {
    let mut registry = Registry::new();
    let copy = || operation(Signature::new("copy", "1"));
    registry.register(Some("lib"), copy()).unwrap();
    registry.register(None, copy()).unwrap();
    assert_eq!(
        registry.register(None, copy()),
        Err(RegistryError::Operation("copy".into()))
    );
    assert_eq!(registry.names().collect::<Vec<_>>(), ["copy", "lib/copy"]);
    registry.register_codec(codec(Type::Image)).unwrap();
    assert_eq!(
        registry.register_codec(codec(Type::Image)),
        Err(RegistryError::Codec(Type::Image))
    );
    assert_eq!(registry.codec_types().count(), 1);
    let signature = registry.codec(&Type::Image).unwrap().read_signature();
    assert_eq!((&*signature.name, signature.implicit), ("lib/read", true));
}

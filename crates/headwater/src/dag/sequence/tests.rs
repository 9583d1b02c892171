//! Sequences as drawings, and as runs that are drawn later.
//!
//! Law: the example of four calls is six marked arrows before the reduction, and three after it.

use std::path::PathBuf;

use headwater_graph::Recipe;
use headwater_remember::{Mode, RunRecord, RunStatus, RunTask, Store, TaskState};

use super::*;
use crate::dag::{DiagramDetail, note_sequence, run_diagram};
use crate::dag::{DiagramFormat, diagram_dot, diagram_mermaid, diagram_svg};

fn call(operation: &str, number: usize, rank: u32) -> SequenceCall {
    SequenceCall {
        label: operation.rsplit('/').next().unwrap_or_default().to_owned(),
        operation: operation.to_owned(),
        address: format!("{operation}[{number}]"),
        rank,
        needed: true,
    }
}

fn edge_of(from: usize, to: usize, marks: &[(Mark, &str)]) -> SequenceEdge {
    let marks = marks.iter().map(|(mark, name)| (*mark, (*name).to_owned()));
    SequenceEdge {
        from,
        to,
        marks: marks.collect(),
    }
}

fn item(name: &str, calls: &[usize]) -> SequenceItem {
    SequenceItem {
        name: name.to_owned(),
        item_type: None,
        calls: calls.to_vec(),
    }
}

/// Four calls, of which three change a vector one after the other.
fn calls() -> Vec<SequenceCall> {
    let names = [
        "return_int_vector",
        "vpass_int",
        "iqsort",
        "int_vector_add5",
    ];
    let calls = names.iter().enumerate();
    calls
        .map(|(number, name)| call(name, number, number as u32))
        .collect()
}

/// What is left of their dependences.
fn reduced() -> Vec<SequenceEdge> {
    (0..3)
        .map(|from| edge_of(from, from + 1, &[(Mark::Raw, "ovec")]))
        .collect()
}

/// All pairs of calls, as the table of accesses says it.
fn all_pairs() -> Vec<SequenceEdge> {
    let pairs = (0..4).flat_map(|from| (from + 1..4).map(move |to| (from, to)));
    pairs
        .map(|(from, to)| edge_of(from, to, &[(Mark::Raw, "ovec")]))
        .collect()
}

fn drawn(edges: &[SequenceEdge]) -> Diagram {
    let inputs = [item("ivec", &[0]), item("n", &[0, 1, 2, 3])];
    let outputs = [item("ovec", &[2]), item("ovec2", &[3])];
    sequence_diagram("four calls", &calls(), edges, &inputs, &outputs)
}

/// A sequence with every kind of dependence, and with names that try to leave their places.
fn marked() -> Diagram {
    let calls = [
        call("lib/a", 0, 0),
        call("lib/b", 1, 1),
        call("lib/c", 2, 2),
        call("d", 3, 3),
    ];
    let edges = [
        edge_of(0, 1, &[(Mark::War, "x"), (Mark::Raw, "y<\"]|&")]),
        edge_of(
            1,
            2,
            &[(Mark::Waw, "x"), (Mark::War, "x"), (Mark::War, "x")],
        ),
        edge_of(0, 3, &[(Mark::Scalar, "int")]),
        edge_of(2, 3, &[(Mark::Waw, "y<\"]|&")]),
    ];
    sequence_diagram("marks", &calls, &edges, &[], &[])
}

fn between_calls(diagram: &Diagram) -> Vec<&DiagramEdge> {
    let is_call = |end: DiagramEnd| match end {
        DiagramEnd::Node(node) => diagram.nodes[node].kind == NodeKind::Task,
        DiagramEnd::Group(_) => false,
    };
    let edges = diagram.edges.iter();
    edges
        .filter(|edge| is_call(edge.from) && is_call(edge.to))
        .collect()
}

#[test]
fn four_calls_before_and_after() {
    for (edges, count) in [(all_pairs(), 6), (reduced(), 3)] {
        let diagram = drawn(&edges);
        let arrows = between_calls(&diagram);
        assert_eq!(arrows.len(), count);
        assert!(arrows.iter().all(|arrow| arrow.label() == "RAW ovec"));
        // Every arrow is told in the picture, and no label is left out.
        let svg = diagram_svg(&diagram);
        assert_eq!(svg.matches(">RAW ovec</text>").count(), count, "{svg}");
        let dot = diagram_dot(&diagram);
        assert_eq!(dot.matches("label=\"RAW ovec\"").count(), count);
    }
    insta::assert_snapshot!(diagram_mermaid(&drawn(&reduced())), @"");
    insta::assert_snapshot!(diagram_mermaid(&drawn(&all_pairs())), @"");
}

#[test]
fn orders_are_told_apart_from_data() {
    let diagram = marked();
    let kinds: Vec<(EdgeKind, String)> = (diagram.edges.iter())
        .map(|edge| (edge.kind, edge.label()))
        .collect();
    let expected = [
        (EdgeKind::Data, "RAW y<\"]|&, WAR x"),
        (EdgeKind::Order, "WAR x, WAW x"),
        (EdgeKind::Order, "scalar int"),
        (EdgeKind::Order, "WAW y<\"]|&"),
    ];
    let expected = expected.map(|(kind, label)| (kind, label.to_owned()));
    assert_eq!(kinds, expected);
    let svg = diagram_svg(&diagram);
    assert_eq!(svg.matches("class=\"hw-arrow hw-later\"").count(), 3);
    assert_eq!(svg.matches("class=\"hw-over hw-later\"").count(), 3);
    for label in [
        "RAW y&lt;&quot;]|&amp;, WAR x",
        "WAR x, WAW x",
        "scalar int",
    ] {
        assert!(svg.contains(&format!(">{label}</text>")), "{label}\n{svg}");
    }
    insta::assert_snapshot!(diagram_mermaid(&diagram), @"");
    insta::assert_snapshot!(diagram_dot(&diagram), @"");
}

#[test]
fn long_sequences_leave_items_out() {
    let few: Vec<SequenceCall> = (0..40).map(|number| call("f", number, 0)).collect();
    let many: Vec<SequenceCall> = (0..41).map(|number| call("f", number, 0)).collect();
    let items = [item("x", &[0, 1, 1])];
    let diagram = sequence_diagram("few", &few, &[], &items, &items);
    assert_eq!((diagram.nodes.len(), diagram.edges.len()), (42, 4));
    let diagram = sequence_diagram("many", &many, &[], &items, &items);
    assert_eq!((diagram.nodes.len(), diagram.edges.len()), (41, 0));
}

#[test]
fn calls_of_one_operation_as_one() {
    let names = ["lib/add", "lib/multiply"];
    let mut calls: Vec<SequenceCall> = (0..2500)
        .map(|number| call(names[number % 2], number, number as u32))
        .collect();
    // The last addition is the first one again, and what the last product is nobody asks.
    calls[2498].address = calls[0].address.clone();
    calls[2499].needed = false;
    let mut edges: Vec<SequenceEdge> = (1..2500)
        .map(|to| edge_of(to - 1, to, &[(Mark::Raw, "x")]))
        .collect();
    edges.push(edge_of(0, 3, &[(Mark::Waw, "y")]));
    edges.push(edge_of(0, 2, &[(Mark::War, "y"), (Mark::Waw, "z")]));
    let diagram = grouped_sequence_diagram("long", calls, edges);
    insta::assert_snapshot!(diagram_mermaid(&diagram), @"");
    let addresses: Vec<Option<&str>> = (diagram.nodes.iter())
        .map(|node| node.address.as_deref())
        .collect();
    assert_eq!(addresses, [Some("lib/add"), Some("lib/multiply")]);
    // Both ways are drawn.
    let svg = diagram_svg(&diagram);
    assert!(svg.contains(">RAW, WAW ×1,251</text>"), "{svg}");
    assert!(svg.contains(">RAW ×1,249</text>"), "{svg}");
}

struct Place {
    _folder: tempfile::TempDir,
    store: Store,
    run: RunRecord,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store"), Mode::ReadWrite).unwrap();
        let run = RunRecord {
            id: "20261116-150000-abcd".to_owned(),
            workflow: "four calls".to_owned(),
            file: PathBuf::from("program"),
            started: 0,
            ended: Some(1),
            status: RunStatus::Done,
            tasks: 3,
            executed: 2,
            reused: 1,
            failed: 0,
            outputs: PathBuf::new(),
            command: Vec::new(),
        };
        store.begin_run(&run).unwrap();
        Place {
            _folder: folder,
            store,
            run,
        }
    }

    fn note(&self, calls: Vec<SequenceCall>) {
        let each = sequence_diagram("four calls", &calls, &reduced(), &[], &[]);
        let unreduced = sequence_diagram("four calls", &calls, &all_pairs(), &[], &[]);
        let count = calls.len();
        let grouped = grouped_sequence_diagram("four calls", calls, reduced());
        let run = &self.run.id;
        note_sequence(
            &self.store,
            run,
            grouped,
            Some(each),
            Some(unreduced),
            count,
        )
        .unwrap();
    }

    fn drawn(&self, detail: DiagramDetail) -> Result<Diagram, (String, String)> {
        run_diagram(&self.store, &self.run, detail)
            .map_err(|error| (error.to_string(), error.hint().unwrap_or_default()))
    }
}

fn ended(address: &str, state: TaskState) -> RunTask {
    RunTask {
        address: address.to_owned(),
        recipe: Recipe([address.len() as u8; 32]),
        state,
        started: 0,
        wall: 0,
    }
}

#[test]
fn a_recorded_sequence_says_what_became_of_its_calls() {
    let place = Place::new();
    let mut calls = calls();
    // The third call is the second one again: one task, and two nodes that tell of it.
    calls[2] = SequenceCall {
        rank: 2,
        ..calls[1].clone()
    };
    place.note(calls);
    let tasks = [
        ended("return_int_vector[0]", TaskState::Reused),
        ended("vpass_int[1]", TaskState::Executed),
        ended("int_vector_add5[3]", TaskState::Failed),
    ];
    place.store.put_run_tasks(&place.run.id, &tasks).unwrap();
    for (detail, arrows) in [
        (DiagramDetail::Automatic, 3),
        (DiagramDetail::Each, 3),
        (DiagramDetail::Unreduced, 6),
    ] {
        let diagram = place.drawn(detail).unwrap();
        assert_eq!(between_calls(&diagram).len(), arrows);
        let told: Vec<(&str, String)> = (diagram.nodes.iter())
            .map(|node| (&*node.label, node.told_counts().unwrap_or_default()))
            .collect();
        let expected = [
            ("return_int_vector[0]", "reused"),
            ("vpass_int[1]", "executed"),
            ("vpass_int[2]", "executed"),
            ("int_vector_add5[3]", "failed"),
        ];
        assert_eq!(told, expected.map(|(label, told)| (label, told.to_owned())));
        assert_eq!(
            diagram.notes[0],
            "run 20261116-150000-abcd, done: 1 failed, 1 executed, 1 reused"
        );
        assert_eq!(
            diagram.notes[1],
            format!("4 calls, {arrows} dependent pairs")
        );
    }
    let grouped = place.drawn(DiagramDetail::Grouped).unwrap();
    assert_eq!(grouped.nodes.len(), 3);
    assert_eq!(grouped.nodes[1].words[0], "2 calls, ranks 1 to 2");
    assert_eq!(grouped.nodes[1].told_counts().as_deref(), Some("executed"));
}

#[test]
fn what_cannot_be_drawn_before_the_reduction_is_refused() {
    let place = Place::new();
    place.note((0..201).map(|number| call("f", number, 0)).collect());
    let id = &place.run.id;
    let (error, hint) = place.drawn(DiagramDetail::Unreduced).unwrap_err();
    assert_eq!(
        error,
        format!("run `{id}` has 201 calls; each call is noted up to 200")
    );
    assert_eq!(
        hint,
        "leave --unreduced out: calls of one kind are drawn as one"
    );
    let (error, _) = place.drawn(DiagramDetail::Each).unwrap_err();
    assert_eq!(
        error,
        format!("run `{id}` has 201 calls; each call is noted up to 200")
    );
    assert_eq!(
        place.drawn(DiagramDetail::Automatic).unwrap().nodes.len(),
        1
    );

    // As runs of workflows note it, and as they did before there were sequences.
    let note =
        r#"{"grouped": {"title": "t", "groups": [], "nodes": [], "edges": []}, "tasks": 300}"#;
    let path = place.store.run_folder(id).join("dag.json");
    std::fs::write(path, note).unwrap();
    assert_eq!(place.drawn(DiagramDetail::Automatic).unwrap().title, "t");
    let (error, hint) = place.drawn(DiagramDetail::Unreduced).unwrap_err();
    assert_eq!(
        error,
        format!("run `{id}` was not made by a sequence of calls")
    );
    assert!(hint.starts_with("leave --unreduced out"), "{hint}");
    let (error, _) = place.drawn(DiagramDetail::Each).unwrap_err();
    assert_eq!(
        error,
        format!("run `{id}` has 300 tasks; each task is noted up to 200")
    );
}

#[test]
fn what_nobody_asks_for_says_so() {
    let mut calls = calls();
    calls[3].needed = false;
    let diagram = sequence_diagram("t", &calls, &reduced(), &[], &[]);
    assert_eq!(diagram.nodes[3].words, ["rank 3", "not needed"]);
    assert_eq!(diagram.nodes[3].told_counts(), None);
    let text = DiagramFormat::Mermaid.text(&diagram);
    assert!(text.contains("<br>rank 3<br>not needed\"]"), "{text}");
}

#[test]
fn zz_dump() {
    let strassen: Vec<(&str, Vec<usize>)> = {
        let mut v = vec![];
        for _ in 0..10 {
            v.push(("linear/add", vec![]));
        }
        for p in [
            vec![0usize, 5],
            vec![1],
            vec![6],
            vec![7],
            vec![2],
            vec![3, 8],
            vec![4, 9],
        ] {
            v.push(("linear/multiply", p));
        }
        for p in [
            vec![10usize, 13, 14, 16],
            vec![12, 14],
            vec![11, 13],
            vec![10, 11, 12, 15],
        ] {
            v.push(("linear/sum", p));
        }
        v
    };
    let calls: Vec<SequenceCall> = strassen
        .iter()
        .enumerate()
        .map(|(n, (o, _))| call(o, n, (n / 9) as u32))
        .collect();
    let names = [
        "T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9", "T10", "Q1", "Q2", "Q3", "Q4", "Q5",
        "Q6", "Q7", "C11", "C12", "C21", "C22",
    ];
    let mut edges = vec![];
    for (to, (_, from)) in strassen.iter().enumerate() {
        for f in from {
            edges.push(edge_of(*f, to, &[(Mark::Raw, names[*f])]));
        }
    }
    let ins: Vec<SequenceItem> = [
        ("A11", vec![0usize, 2, 3, 12]),
        ("A12", vec![2, 4]),
        ("A21", vec![1, 3]),
        ("A22", vec![0, 1, 4, 13]),
        ("B11", vec![5, 7, 8, 11]),
        ("B12", vec![6, 8]),
        ("B21", vec![7, 9]),
        ("B22", vec![5, 6, 9, 14]),
    ]
    .iter()
    .map(|(n, c)| item(n, c))
    .collect();
    let outs: Vec<SequenceItem> = (17..21).map(|n| item(names[n], &[n])).collect();
    let reuse = {
        let mut e = edges.clone();
        for n in 1..5 {
            e.push(edge_of(10 + n - 1, n, &[(Mark::War, "temporary")]));
        }
        e.push(edge_of(
            0,
            17,
            &[
                (Mark::Raw, "some_long_name"),
                (Mark::War, "other"),
                (Mark::Waw, "third_one"),
            ],
        ));
        e
    };
    let grouped = {
        let c: Vec<SequenceCall> = (0..900)
            .map(|n| {
                call(
                    ["linear/add", "linear/multiply", "check", "linear/sum"][n * n % 7 % 4],
                    n,
                    n as u32 / 3,
                )
            })
            .collect();
        let mut e = vec![];
        for n in 3..900 {
            e.push(edge_of(
                n - 1 - n % 3,
                n,
                &[(
                    [Mark::Raw, Mark::War, Mark::Waw, Mark::Scalar][n * 7 % 11 % 4],
                    "x",
                )],
            ));
        }
        grouped_sequence_diagram("many", c, e)
    };
    let fan = {
        let c: Vec<SequenceCall> = (0..120)
            .map(|n| {
                call(
                    if n < 119 { "project" } else { "join" },
                    n,
                    (n / 119) as u32,
                )
            })
            .collect();
        let e: Vec<_> = (0..119)
            .map(|n| edge_of(n, 119, &[(Mark::Raw, "image")]))
            .collect();
        sequence_diagram("fan", &c, &e, &[], &[])
    };
    for (name, d) in [
        ("reduced", drawn(&reduced())),
        ("unreduced", drawn(&all_pairs())),
        ("marked", marked()),
        (
            "strassen",
            sequence_diagram("Strassen", &calls, &edges, &ins, &outs),
        ),
        (
            "plain",
            sequence_diagram("Strassen", &calls, &reuse, &[], &[]),
        ),
        ("grouped", grouped),
        ("fan", fan),
    ] {
        std::fs::write(format!("/tmp/wt-draw-{name}.svg"), diagram_svg(&d)).unwrap();
        std::fs::write(format!("/tmp/wt-draw-{name}.dot"), diagram_dot(&d)).unwrap();
    }
}

//! Runs of sequences that are drawn later.
//!
//! Law: what became of a call stands on it, however many calls are one task.

use std::path::PathBuf;

use headwater_derive::Kind;
use headwater_draw::{
    DiagramEdge, DiagramEnd, NodeKind, SequenceCall, SequenceEdge, grouped_sequence_diagram,
    sequence_diagram,
};
use headwater_graph::{Mode, Outcome, Recipe, RunRecord, RunStatus, RunTask, Store};

use super::*;

fn call(operation: &str, number: usize, rank: u32) -> SequenceCall {
    SequenceCall {
        label: operation.rsplit('/').next().unwrap_or_default().to_owned(),
        operation: operation.to_owned(),
        address: format!("{operation}[{number}]"),
        rank,
        needed: true,
    }
}

fn edge_of(from: usize, to: usize, marks: &[(Kind, &str)]) -> SequenceEdge {
    let marks = marks.iter().map(|(mark, name)| (*mark, (*name).to_owned()));
    SequenceEdge {
        from,
        to,
        marks: marks.collect(),
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
        .map(|from| edge_of(from, from + 1, &[(Kind::Raw, "ovec")]))
        .collect()
}

/// All pairs of calls, as the table of accesses says it.
fn all_pairs() -> Vec<SequenceEdge> {
    let pairs = (0..4).flat_map(|from| (from + 1..4).map(move |to| (from, to)));
    pairs
        .map(|(from, to)| edge_of(from, to, &[(Kind::Raw, "ovec")]))
        .collect()
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

struct Place {
    _folder: tempfile::TempDir,
    store: Arc<dyn Store>,
    run: RunRecord,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let store =
            headwater_remember::open(&folder.path().join("store"), Mode::ReadWrite).unwrap();
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
            ..RunRecord::default()
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
            &*self.store,
            run,
            grouped,
            Some(each),
            Some(unreduced),
            count,
        )
        .unwrap();
    }

    fn drawn(&self, detail: DiagramDetail) -> Result<Diagram, (String, String)> {
        run_diagram(&*self.store, &self.run, detail)
            .map_err(|error| (error.to_string(), error.hint().unwrap_or_default()))
    }
}

fn ended(address: &str, state: Outcome) -> RunTask {
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
        ended("return_int_vector[0]", Outcome::Reused),
        ended("vpass_int[1]", Outcome::Executed),
        ended("int_vector_add5[3]", Outcome::Failed),
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

    // Each call of 50 after each other is more than anybody could see.
    let calls: Vec<SequenceCall> = (0..50).map(|number| call("f", number, 0)).collect();
    let pairs = (0..50).flat_map(|from| (from + 1..50).map(move |to| (from, to)));
    let edges: Vec<SequenceEdge> = pairs
        .map(|(from, to)| edge_of(from, to, &[(Kind::Waw, "x")]))
        .collect();
    let all = sequence_diagram("t", &calls, &edges, &[], &[]);
    let each = sequence_diagram("t", &calls, &edges[..49], &[], &[]);
    let grouped = grouped_sequence_diagram("t", calls, edges);
    note_sequence(&*place.store, id, grouped, Some(each), Some(all), 50).unwrap();
    assert_eq!(place.drawn(DiagramDetail::Each).unwrap().nodes.len(), 50);
    let (error, _) = place.drawn(DiagramDetail::Unreduced).unwrap_err();
    assert_eq!(
        error,
        format!(
            "run `{id}` has 50 calls; more than 1,000 pairs of them depend on each other, which are too many arrows"
        )
    );

    // As runs of workflows note it, and as they did before there were sequences.
    let note =
        r#"{"grouped": {"title": "t", "groups": [], "nodes": [], "edges": []}, "tasks": 300}"#;
    let path = place.store.attachment_place(id, "dag.json");
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

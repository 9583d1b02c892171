//! Levels and the critical path, against brute force.

use std::sync::Arc;

use headwater_graph::{
    NewTask, Operation, Scalar, ScalarType, Signature, Source, TaskGraph, TaskId, Type,
    critical_path, levels,
};
use proptest::prelude::*;

use crate::support::operation;

/// A graph from the inputs of each task, as distances back.
fn graph(edges: &[Vec<usize>]) -> TaskGraph {
    let mut graph = TaskGraph::new();
    let operations: Vec<Arc<Operation>> = (0..4)
        .map(|inputs| {
            let mut signature = Signature::new(&format!("op{inputs}"), "1")
                .output("out", Type::Any)
                .parameter("n", ScalarType::Int, None);
            for input in 0..inputs {
                signature = signature.input(&format!("in{input}"), Type::Any);
            }
            Arc::new(operation(signature))
        })
        .collect();
    for (number, back) in edges.iter().enumerate() {
        let inputs: Vec<(u16, Source)> = back
            .iter()
            .filter(|distance| **distance < number)
            .enumerate()
            .map(|(port, distance)| {
                let task = TaskId((number - 1 - distance) as u32);
                (port as u16, Source::Product { task, port: 0 })
            })
            .collect();
        let operation = graph.operation(&operations[inputs.len()]);
        let parameters = &[Scalar::Int(number as i64)];
        graph
            .add(&NewTask {
                operation,
                parameters,
                inputs: &inputs,
                address: "",
            })
            .unwrap();
    }
    graph
}

fn inputs(graph: &TaskGraph, task: TaskId) -> Vec<TaskId> {
    let mut found = Vec::new();
    graph.for_each_input_task(task, |input| found.push(input));
    found
}

/// All paths that end at `task`, the slow way.
fn longest(graph: &TaskGraph, task: TaskId, cost: &dyn Fn(TaskId) -> f64) -> f64 {
    let before = inputs(graph, task)
        .iter()
        .map(|input| longest(graph, *input, cost))
        .fold(0.0, f64::max);
    before + cost(task)
}

proptest! {
    #[test]
    fn levels_and_critical_path_equal_brute_force(
        edges in proptest::collection::vec(proptest::collection::vec(0usize..6, 0..4), 0..14),
        costs in proptest::collection::vec(0u32..9, 14),
    ) {
        let graph = graph(&edges);
        let found = levels(&graph);
        for task in graph.ids() {
            let expected = longest(&graph, task, &|_| 1.0) as u32 - 1;
            prop_assert_eq!(found.of_task[task.index()], expected);
        }
        let widths: Vec<usize> = (0..found.widths.len() as u32)
            .map(|level| found.of_task.iter().filter(|of| **of == level).count())
            .collect();
        prop_assert_eq!(&found.widths, &widths);

        let cost = |task: TaskId| f64::from(costs[task.index()]);
        let (total, path) = critical_path(&graph, cost);
        let expected = graph.ids().map(|task| longest(&graph, task, &cost)).fold(0.0, f64::max);
        prop_assert_eq!(total, expected);
        prop_assert_eq!(path.iter().map(|task| cost(*task)).sum::<f64>(), expected);
        for pair in path.windows(2) {
            prop_assert!(inputs(&graph, pair[1]).contains(&pair[0]));
        }
    }
}

#[test]
fn an_empty_graph_has_no_path() {
    let graph = TaskGraph::new();
    assert!(graph.is_empty());
    assert_eq!(critical_path(&graph, |_| 1.0), (0.0, Vec::new()));
    assert_eq!(levels(&graph).widths, Vec::<usize>::new());
}

#[test]
fn of_equal_paths_the_one_with_smaller_ids() {
    // 0 and 1 feed 2.
    let graph = graph(&[vec![], vec![], vec![0, 1]]);
    let (cost, path) = critical_path(&graph, |_| 1.0);
    assert_eq!((cost, path), (2.0, vec![TaskId(0), TaskId(2)]));
}

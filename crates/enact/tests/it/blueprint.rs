//! Workflows with their parameters left open, and inputs that other instances make.

use std::sync::Arc;

use headwater_graph::{OutputBinding, Scalar, TaskGraph};

use crate::support::{Flow, index};

fn flow() -> Flow {
    Flow::new()
        .items("tile", 2)
        .stage("clean(tile) -> tidy")
        .stage("segment: smooth(tidy) -> smoothed; cut(smoothed) -> mask")
        .parameter("level", Scalar::Int(3))
        .absent("reference")
        .stage("compare(mask, reference) -> score")
}

/// Equal tasks stay apart in a blueprint, and each says which parameters of the workflow it takes.
#[test]
fn a_blueprint_has_every_task_of_every_item_and_its_parameters() {
    let flow = flow().output("mask");
    let mut graph = TaskGraph::unshared();
    let blueprint = flow.expander().unwrap().blueprint(&mut graph).unwrap();
    assert_eq!(blueprint.stages.len(), 4);
    assert!(blueprint.open.is_empty());
    let segment = blueprint
        .stages
        .iter()
        .find(|stage| stage.stage == 1 && stage.index == index(&[1]))
        .unwrap();
    let bound: Vec<Vec<(usize, &str)>> = segment
        .tasks
        .iter()
        .map(|task| {
            let bindings = blueprint.bindings[task.index()].iter();
            bindings.map(|(at, name)| (*at, &**name)).collect()
        })
        .collect();
    assert_eq!(bound, [vec![], vec![(0, "level")]]);
    let twice = flow.expander().unwrap().blueprint(&mut graph).unwrap();
    assert_eq!(
        graph.len(),
        12,
        "the second one shares nothing with the first"
    );
    assert_eq!(twice.bindings.len(), 12);
}

/// A reference is an output of the same workflow at other parameter values. It is bound to an input, item by item.
#[test]
fn products_of_one_expansion_are_items_of_another() {
    let first = flow().output("mask");
    let mut graph = TaskGraph::unshared();
    let mut reference = first.expander().unwrap();
    let made = reference.blueprint(&mut graph).unwrap();
    let (mask, input) = (Arc::from("mask"), Arc::from("reference"));
    let products = reference
        .products(&mask, &input, &first.registry())
        .expect("all of it is known");
    let mut second = flow();
    second.data.products.push(products);
    second.workflow.outputs = vec![OutputBinding {
        name: "score".into(),
        data: "score".into(),
    }];
    let blueprint = second.expander().unwrap().blueprint(&mut graph).unwrap();
    let scores: Vec<_> = blueprint
        .requested
        .iter()
        .map(|requested| requested.index.clone())
        .collect();
    assert_eq!(
        scores,
        [index(&[0]), index(&[1])],
        "they pair, item by item"
    );
    for (number, requested) in blueprint.requested.iter().enumerate() {
        let mut compare = None;
        requested
            .source
            .for_each_task(&mut |task| compare = Some(task));
        let (_, bound) = graph.inputs(compare.unwrap()).last().unwrap();
        assert_eq!(*bound, made.requested[number].source);
    }
}

/// What is known only when something has run is named.
#[test]
fn stages_behind_an_impure_task_are_open() {
    let flow = Flow::new()
        .one("seed")
        .stage("draw(seed) -> drawn")
        .impure()
        .stage("use(drawn) -> used");
    let mut graph = TaskGraph::unshared();
    let mut expander = flow.expander().unwrap();
    let blueprint = expander.blueprint(&mut graph).unwrap();
    assert_eq!(blueprint.open, [1]);
    let (used, input) = (Arc::from("used"), Arc::from("reference"));
    assert!(expander.products(&used, &input, &flow.registry()).is_none());
}

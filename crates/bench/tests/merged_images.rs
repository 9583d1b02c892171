//! Merged and unmerged studies on an image: the same masks, whatever is shared and however it is cut into buckets.
//!
//! Law: what is executed is counted where it happens, in the body of each operation; what is compared are digests of
//! whole values. The workflow is the one of `examples/nuclei`, the oracle the plain function that knows no engine.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use headwater::graph::{
    Binding, Context, Digest, External, Identity, Kind, NewTask, Operation, Parameter, Recipe,
    Registry, Scalar, ScalarType, Source, Stage, TaskGraph, TaskId, Value, value_digest,
};
use headwater::run_graph;
use headwater_imaging::files::read_image;
use headwater_imaging::nuclei::{Parameters, segment};
use headwater_imaging::{Colour, LIBRARY, Plane, colour_value, grey_value};
use headwater_merge::{
    Buckets, Compact, CostBalanced, Merge, Naive, Occurrence, Rtma, Sets, Sharing, SmartCut,
    Stages, Step, Template, Tree, Trtma, Weight, Word,
};
use headwater_sensitivity::sample::moat::{self, Levels, Moat, StepLength, Walk};
use headwater_sensitivity::{Domain, Space};

/// Pixels on a side of the tile, and where it begins in the image.
const SIDE: usize = 160;
const CORNER: (usize, usize) = (384, 0);
/// Trajectories of sixteen sets each, and sets that are there twice.
const TRAJECTORIES: u32 = 3;
const TWICE: usize = 2;
/// What t1 to t7 cost, after table 6 of the paper, in ten-thousandths of a stage.
const COSTS: [u64; 7] = [1_203, 2_090, 692, 349, 802, 3_959, 905];
/// Tasks of a stage that count: all but the channel split.
const WIDTH: usize = COSTS.len();

/// What a parameter set gives: digests of the mask, the number of nuclei and the status.
type Made = [Digest; 3];

/// Tasks by what they are and what comes before them in their stage: how the paper shares.
type Beginnings = HashMap<Vec<String>, TaskId>;

fn examples() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nuclei")
}

/// A square of stained tissue.
fn tissue() -> Plane<Colour> {
    let bytes = std::fs::read(examples().join("tissue.png")).expect("the example has an image");
    let image = read_image(&bytes).expect("an image").into_colour();
    let (left, top) = CORNER;
    let mut tile = Plane::filled(SIDE, SIDE, [0; 3]);
    for y in 0..SIDE {
        let row = &image.row(top + y)[left..][..SIDE];
        tile.row_mut(y).copy_from_slice(row);
    }
    tile
}

/// Operations of images that count their executions, those that are not worth counting left out.
fn counting(executed: &Arc<AtomicUsize>) -> Registry {
    let mut registry = Registry::new();
    for operation in headwater_imaging::operations() {
        let Kind::Native(body) = operation.kind else {
            panic!("operations of images are native");
        };
        let (executed, counts) = (Arc::clone(executed), !operation.signature.implicit);
        let run = move |inputs: &[Value], parameters: &[Scalar], context: &mut Context| {
            executed.fetch_add(usize::from(counts), Ordering::Relaxed);
            body.run(inputs, parameters, context)
        };
        let counting = Operation::native(operation.signature, run);
        registry
            .register(Some(LIBRARY), counting)
            .expect("names differ");
    }
    registry
}

/// The values that a study may give a parameter.
fn domain(parameter: &Parameter) -> Domain {
    match (parameter.range, parameter.step) {
        (Some((low, high)), Some(step)) => Domain::Grid {
            low,
            step,
            count: ((high - low) / step).round() as u32 + 1,
        },
        _ => Domain::Choice {
            count: parameter.values.len() as u32,
        },
    }
}

/// A number of the design as a value of its parameter.
fn scalar(parameter: &Parameter, number: f64) -> Scalar {
    match parameter.scalar_type {
        _ if !parameter.values.is_empty() => parameter.values[number as usize].clone(),
        ScalarType::Int => Scalar::Int(number as i64),
        _ => Scalar::Float(number),
    }
}

fn number(scalar: &Scalar) -> f64 {
    match scalar {
        Scalar::Int(number) => *number as f64,
        Scalar::Float(number) => *number,
        other => panic!("{other} is no number"),
    }
}

/// The segmentation of one tile with many parameter sets.
struct Study {
    registry: Registry,
    stage: Stage,
    names: Vec<Arc<str>>,
    sets: Vec<Vec<Scalar>>,
    tile: External,
    executed: Arc<AtomicUsize>,
}

impl Study {
    fn new(tile: &Plane<Colour>) -> Study {
        let executed = Arc::<AtomicUsize>::default();
        let registry = counting(&executed);
        let text =
            std::fs::read_to_string(examples().join("nuclei.yaml")).expect("there is a workflow");
        let read = headwater_flow::read_workflow(&text, &registry);
        let workflow = read.value.expect("the workflow has no mistakes").workflow;
        let segmentation = workflow.stages.into_iter();
        let mut segmentation = segmentation.filter(|stage| &*stage.name == "segment");
        let parameters: Vec<Parameter> = Parameters::NAMES
            .map(|name| {
                let mut known = workflow.parameters.iter();
                let found = known.find(|parameter| &*parameter.name == name);
                found.expect("the workflow has it").clone()
            })
            .into();
        let space = Space {
            parameters: parameters
                .iter()
                .map(|parameter| headwater_sensitivity::Parameter {
                    name: Arc::clone(&parameter.name),
                    domain: domain(parameter),
                })
                .collect(),
        };
        let wanted = Moat {
            trajectories: TRAJECTORIES,
            levels: Levels::Grid,
            walk: Walk::Random,
            length: StepLength::Actual,
        };
        let design = moat::design(&space, &wanted, 42).expect("a design");
        let mut sets: Vec<Vec<Scalar>> = design
            .points
            .rows()
            .map(|row| {
                let values = parameters.iter().zip(row);
                values
                    .map(|(parameter, number)| scalar(parameter, *number))
                    .collect()
            })
            .collect();
        assert_eq!(sets.len(), 48);
        sets.extend_from_within(..TWICE);
        let value = colour_value(tile.view()).expect("a tile is small");
        Study {
            registry,
            stage: segmentation.next().expect("there is a segmentation"),
            names: parameters
                .into_iter()
                .map(|parameter| parameter.name)
                .collect(),
            sets,
            tile: External {
                identity: Identity::of(&value),
                value,
            },
            executed,
        }
    }

    fn column(&self, parameter: &str) -> Option<usize> {
        self.names.iter().position(|name| **name == *parameter)
    }

    /// What the plain function gives.
    fn plainly(&self, tile: &Plane<Colour>, set: usize) -> Made {
        let mut parameters = Parameters::default();
        for (name, value) in self.names.iter().zip(&self.sets[set]) {
            parameters.set(name, number(value)).expect("a parameter");
        }
        let found = segment(tile.view(), &parameters, |_| {});
        let mask = grey_value(found.mask.view()).expect("a mask is small");
        [
            value_digest(&mask),
            value_digest(&Value::Int(found.nuclei as i64)),
            value_digest(&Value::Int(found.status.code())),
        ]
    }

    /// Adds the tasks of a set; gives all of them. With `beginnings`, a task is the one that is there if all tasks
    /// before it in the stage are.
    fn add(
        &self,
        graph: &mut TaskGraph,
        set: usize,
        mut beginnings: Option<&mut Beginnings>,
    ) -> Vec<TaskId> {
        let tile = graph.external(self.tile.clone());
        let mut data = BTreeMap::from([(Arc::<str>::from("tissue"), tile)]);
        let mut tasks = Vec::new();
        let mut beginning = Vec::new();
        for definition in &self.stage.tasks {
            let operation = self.registry.operation(&definition.operation);
            let operation = operation.expect("the operation is there");
            let signature = &operation.signature;
            let parameters: Vec<Scalar> = signature
                .parameters
                .iter()
                .map(|declared| match definition.parameters.get(&declared.name) {
                    Some(Binding::Parameter(name)) => {
                        let column = self.column(name).expect("all parameters vary");
                        let value = &self.sets[set][column];
                        let value = value.coerce(declared.scalar_type, false);
                        value.expect("a value of its type")
                    }
                    Some(Binding::Literal(value)) => value.clone(),
                    None => declared.default.clone().expect("a default"),
                })
                .collect();
            let port = |name: &Arc<str>| {
                let place = signature.input_index(name).expect("an input");
                u16::try_from(place).expect("few inputs")
            };
            let inputs = definition.inputs.iter();
            let mut inputs: Vec<(u16, Source)> = inputs
                .map(|(name, made)| (port(name), data[made].clone()))
                .collect();
            inputs.sort_by_key(|(place, _)| *place);
            beginning.push(format!("{} {parameters:?}", definition.operation));
            let known = beginnings.as_ref().and_then(|known| known.get(&beginning));
            let task = known.copied().unwrap_or_else(|| {
                let new = NewTask {
                    operation: graph.operation(operation),
                    parameters: &parameters,
                    inputs: &inputs,
                    address: "",
                };
                graph.add(&new).expect("the task fits").0
            });
            if let Some(known) = &mut beginnings {
                known.insert(beginning.clone(), task);
            }
            for (name, made) in &definition.outputs {
                let place = signature.output_index(name).expect("an output");
                let port = u16::try_from(place).expect("few outputs");
                data.insert(Arc::clone(made), Source::Product { task, port });
            }
            tasks.push(task);
        }
        tasks
    }

    /// Computes sets in one graph: what each gives, and how many tasks were executed.
    fn run(&self, sets: &[usize], sharing: Sharing) -> (Vec<Made>, usize) {
        let mut beginnings = Beginnings::new();
        let mut graph = match sharing {
            Sharing::Graph => TaskGraph::new(),
            Sharing::Chain | Sharing::Nothing => TaskGraph::unshared(),
        };
        let wanted: Vec<TaskId> = sets
            .iter()
            .map(|set| {
                let chain = (sharing == Sharing::Chain).then_some(&mut beginnings);
                let tasks = self.add(&mut graph, *set, chain);
                *tasks.last().expect("a stage has tasks")
            })
            .collect();
        let before = self.executed.load(Ordering::Relaxed);
        let run = run_graph(graph, &wanted, 2, None).expect("the run ends");
        assert_eq!(run.failures, []);
        let made = wanted.iter().map(|task| {
            let outputs = run.output(*task).expect("every wanted task ran");
            // Outputs are sorted by name: mask, nuclei, status.
            <[&Value; 3]>::try_from(outputs.iter().collect::<Vec<_>>())
                .expect("three outputs")
                .map(value_digest)
        });
        let made = made.collect();
        (made, self.executed.load(Ordering::Relaxed) - before)
    }

    /// The stage as words: operations, parameters, what is read.
    fn template(&self) -> Template {
        let mut makers: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        let mut steps = Vec::new();
        for (step, definition) in (0..).zip(&self.stage.tasks) {
            let mut words = vec![Word::Fixed(step)];
            for binding in definition.parameters.values() {
                let Binding::Parameter(name) = binding else {
                    continue;
                };
                let column = self.column(name).expect("all parameters vary");
                words.push(Word::Value(column as u32));
            }
            for made in definition.inputs.values() {
                if let Some((maker, port)) = makers.get(&**made) {
                    words.extend([Word::Node(*maker), Word::Fixed(*port)]);
                }
            }
            for (port, made) in (0..).zip(definition.outputs.values()) {
                makers.insert(made, (step, port));
            }
            steps.push(Step { words });
        }
        let counted = (1..steps.len() as u32).collect();
        Template {
            steps,
            occurrences: vec![Occurrence {
                stage: 0,
                steps: counted,
            }],
            stages: 1,
        }
    }

    /// The sets as numbers, in which equal numbers are equal values.
    fn numbers(&self) -> Sets {
        let width = self.names.len();
        let mut known: Vec<Vec<&Scalar>> = vec![Vec::new(); width];
        let mut numbers = Vec::new();
        for set in &self.sets {
            for (value, known) in set.iter().zip(&mut known) {
                let place = known.iter().position(|other| *other == value);
                numbers.push(place.unwrap_or_else(|| {
                    known.push(value);
                    known.len() - 1
                }) as u32);
            }
        }
        Sets::new(width, self.sets.len(), numbers)
    }
}

/// What merging makes of a study: the stages that differ, and which of them each set has.
struct Merged {
    compact: Compact,
    stages: Stages,
    /// By set, the nodes of its tasks.
    nodes: Vec<Vec<u32>>,
    /// By set, its stage.
    stage_of: Vec<u32>,
}

impl Merged {
    fn new(study: &Study) -> Merged {
        let mut nodes = vec![Vec::new(); study.sets.len()];
        let compact = Compact::with(&study.template(), &study.numbers(), |set, found| {
            nodes[set] = found.to_vec();
        });
        let stages = compact.stages[0].distinct.clone();
        let stage_of = nodes.iter().map(|nodes| {
            let mut rows = stages.rows();
            rows.position(|row| *row == nodes[1..])
                .expect("every set has a stage") as u32
        });
        Merged {
            stage_of: stage_of.collect(),
            compact,
            stages,
            nodes,
        }
    }

    /// The first set with a stage.
    fn set_of(&self, stage: u32) -> usize {
        let mut stages = self.stage_of.iter();
        stages
            .position(|known| *known == stage)
            .expect("a stage has a set")
    }

    fn weights(&self) -> Vec<Weight> {
        let weight = |node: headwater_merge::Node<'_>| match node.step {
            0 => Weight::default(),
            step => Weight {
                cost: COSTS[step as usize - 1],
                bytes: (SIDE * SIDE) as u64,
            },
        };
        self.compact.nodes().map(weight).collect()
    }
}

/// The memory bound of a bucket: what one stage has alive, and not a product more.
const BYTES: u64 = (WIDTH * SIDE * SIDE) as u64;
/// The algorithm that has it, and the same without.
const BOUNDED: &str = "cost-balanced, graph, within a memory bound";
const UNBOUNDED: &str = "cost-balanced, graph";

/// Every algorithm with its limits, and a name for messages.
fn algorithms() -> Vec<(&'static str, Box<dyn Merge>)> {
    let rtma = |paper| Rtma {
        max_bucket_size: 7,
        paper,
    };
    let trtma = |paper| Trtma {
        max_buckets: 9,
        paper,
    };
    vec![
        ("naive", Box::new(Naive { max_bucket_size: 7 })),
        ("smart cut", Box::new(SmartCut { max_bucket_size: 7 })),
        ("RTMA", Box::new(rtma(false))),
        ("RTMA of the paper", Box::new(rtma(true))),
        ("TRTMA", Box::new(trtma(false))),
        ("TRTMA of the paper", Box::new(trtma(true))),
        (
            "cost-balanced, chain",
            Box::new(CostBalanced::new(3, None, Sharing::Chain)),
        ),
        (
            UNBOUNDED,
            Box::new(CostBalanced::new(3, None, Sharing::Graph)),
        ),
        (
            BOUNDED,
            Box::new(CostBalanced::new(3, Some(BYTES), Sharing::Graph)),
        ),
    ]
}

/// The graph of all sets has the tasks that merging counts: two tasks are one in both or in neither.
fn same_tasks(study: &Study, merged: &Merged) {
    let mut graph = TaskGraph::new();
    let mut recipes: BTreeMap<u32, Recipe> = BTreeMap::new();
    for set in 0..study.sets.len() {
        let tasks = study.add(&mut graph, set, None);
        for (node, task) in merged.nodes[set].iter().zip(tasks) {
            let recipe = graph.recipe(task);
            let known = recipes.entry(*node).or_insert(recipe);
            assert_eq!(*known, recipe, "set {set}: one node, two tasks");
        }
    }
    let distinct: BTreeSet<&Recipe> = recipes.values().collect();
    assert_eq!(distinct.len(), recipes.len(), "two nodes, one task");
    assert_eq!(graph.len(), merged.compact.len());
}

#[test]
fn invariant_4_merged_and_unmerged_studies_of_an_image_give_equal_products() {
    let tile = tissue();
    let study = Study::new(&tile);
    let all: Vec<usize> = (0..study.sets.len()).collect();
    assert_eq!(study.stage.tasks.len(), 1 + WIDTH);

    // Unmerged: a graph for each set.
    let mut expected = Vec::new();
    let mut executed = 0;
    for set in &all {
        let (made, tasks) = study.run(&[*set], Sharing::Graph);
        assert_eq!(made[0], study.plainly(&tile, *set), "set {set}");
        expected.extend(made);
        executed += tasks;
    }
    assert_eq!(executed, WIDTH * all.len());
    let distinct: BTreeSet<[String; 3]> = expected
        .iter()
        .map(|made| made.map(|digest| digest.hex()))
        .collect();
    assert!(
        distinct.len() > all.len() / 2,
        "the parameters matter on this tile: {} results",
        distinct.len()
    );

    // Merged: one graph for all sets, by every way of sharing.
    let merged = Merged::new(&study);
    let (stages, tree) = (&merged.stages, Tree::new(&merged.stages));
    let weights = merged.weights();
    assert_eq!(stages.len(), all.len() - TWICE, "whole stages are merged");
    same_tasks(&study, &merged);
    let together = Buckets {
        stages: vec![(0..stages.len() as u32).collect()],
    };
    for sharing in [Sharing::Graph, Sharing::Chain, Sharing::Nothing] {
        let predicted = together.loads(stages, &tree, &weights, sharing)[0].tasks as usize;
        let repeated = match sharing {
            Sharing::Nothing => WIDTH * TWICE,
            Sharing::Graph | Sharing::Chain => 0,
        };
        let (made, executed) = study.run(&all, sharing);
        assert_eq!(made, expected, "{sharing:?}");
        assert_eq!(executed, predicted + repeated, "{sharing:?}");
    }
    let (_, executed) = study.run(&all, Sharing::Graph);
    assert_eq!(executed, merged.compact.len() - 1, "all but the split");

    // In buckets: a graph for each bucket, which knows nothing of the others.
    for (name, algorithm) in algorithms() {
        let buckets = algorithm.merge(stages, &tree, &weights);
        assert!(buckets.len() > 1, "{name} cuts");
        let peaks = buckets.peaks(stages, &tree, &weights, Sharing::Graph);
        let within = peaks.iter().all(|peak| *peak <= BYTES);
        match name {
            BOUNDED => assert!(within, "{name}: {peaks:?}"),
            UNBOUNDED => assert!(!within, "there is no need to bound it: {peaks:?}"),
            _ => {}
        }
        let mut made_of: BTreeMap<u32, Made> = BTreeMap::new();
        for sharing in [Sharing::Graph, Sharing::Chain] {
            let loads = buckets.loads(stages, &tree, &weights, sharing);
            for (members, load) in buckets.stages.iter().zip(loads) {
                let sets: Vec<usize> = members.iter().map(|stage| merged.set_of(*stage)).collect();
                let (made, executed) = study.run(&sets, sharing);
                assert_eq!(executed as u64, load.tasks, "{name}, {sharing:?}");
                for (stage, made) in members.iter().zip(made) {
                    let before = made_of.insert(*stage, made);
                    let again = sharing == Sharing::Chain;
                    assert_eq!(before.is_some(), again, "{name}: {stage} is in one bucket");
                    assert!(before.is_none_or(|before| before == made), "{name}");
                }
            }
        }
        for (set, expected) in expected.iter().enumerate() {
            let made = made_of.get(&merged.stage_of[set]);
            assert_eq!(made, Some(expected), "{name}, set {set}");
        }
    }
}

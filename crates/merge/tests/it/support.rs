//! Random workflows and parameter sets, all algorithms with their limits, and what each of them must keep to.
//!
//! Law: nothing here looks into an algorithm; it is given stages and judged by its buckets.

use std::collections::{BTreeMap, BTreeSet};

use headwater_merge::{
    Buckets, Compact, CostBalanced, Merge, Naive, Occurrence, Rtma, Sets, Sharing, SmartCut,
    Stages, Step, Template, Tree, Trtma, Weight, Word,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// What an algorithm was told to keep to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    pub(crate) max_bucket_size: Option<usize>,
    pub(crate) max_buckets: Option<usize>,
    /// Bytes while a bucket runs, and what its stages share then; single stages may need more.
    pub(crate) max_bytes: Option<(u64, Sharing)>,
}

/// Every algorithm, with a limit of `limit` in whatever it limits.
pub(crate) fn algorithms(limit: usize) -> Vec<(Box<dyn Merge>, Limits)> {
    let max_bucket_size = limit;
    let by_size = Limits {
        max_bucket_size: Some(max_bucket_size),
        ..Limits::default()
    };
    let rtma = |paper| Rtma {
        max_bucket_size,
        paper,
    };
    let by_count = Limits {
        max_buckets: Some(limit),
        ..Limits::default()
    };
    let trtma = |paper| Trtma {
        max_buckets: limit,
        paper,
    };
    let workers = limit.div_ceil(3);
    let balanced = |sharing| CostBalanced {
        max_buckets: limit,
        workers,
        max_bytes: None,
        sharing,
    };
    // Memory goes before the number of buckets.
    let bytes = 3 * limit as u64;
    let small = |sharing| {
        let algorithm = CostBalanced {
            max_bytes: Some(bytes),
            ..balanced(sharing)
        };
        let limits = Limits {
            max_bytes: Some((bytes, sharing)),
            ..Limits::default()
        };
        (Box::new(algorithm) as Box<dyn Merge>, limits)
    };
    vec![
        (Box::new(trtma(false)), by_count),
        (Box::new(trtma(true)), by_count),
        (Box::new(balanced(Sharing::Nothing)), by_count),
        (Box::new(balanced(Sharing::Chain)), by_count),
        (Box::new(balanced(Sharing::Graph)), by_count),
        small(Sharing::Chain),
        small(Sharing::Graph),
        (Box::new(Naive { max_bucket_size }), by_size),
        (Box::new(SmartCut { max_bucket_size }), by_size),
        (Box::new(rtma(false)), by_size),
        (Box::new(rtma(true)), by_size),
    ]
}

/// Stages that all differ, with what their tasks cost.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) stages: Stages,
    pub(crate) weights: Vec<Weight>,
}

/// A template and parameter sets.
#[derive(Debug, Clone)]
pub(crate) struct Study {
    pub(crate) template: Template,
    pub(crate) sets: Sets,
}

/// What a step is made from: an operation, and for each of its words a number to choose by.
type Choices = (u32, Vec<u32>);

/// Whether a word of an operation after its first is the output of another step, by operation.
const READS: [&[bool]; 4] = [&[], &[false], &[true, false], &[false, true, true]];

/// The columns of all parameter sets.
const WIDTH: usize = 4;

/// A template of steps that read any steps before them, in stages one after the other, each with so many items.
/// Numbers are few, so that constants meet values, and steps of different places are equal.
fn template(choices: &[Choices], ends: &BTreeSet<usize>, items: u32) -> Template {
    let mut steps: Vec<Step> = Vec::new();
    for (operation, numbers) in choices {
        // The first steps have nothing to read.
        let operation = if steps.is_empty() {
            operation % 2
        } else {
            *operation
        };
        let word = |(reads, number): (&bool, &u32)| match (reads, number % 3) {
            (true, _) => Word::Node(number % steps.len() as u32),
            (false, 0) => Word::Fixed(number / 3 % 3),
            (false, _) => Word::Value(number / 3 % WIDTH as u32),
        };
        let words = READS[operation as usize].iter().zip(numbers).map(word);
        let words = std::iter::once(Word::Fixed(operation)).chain(words);
        let words = words.collect();
        steps.push(Step { words });
    }
    let mut ends: Vec<usize> = ends
        .iter()
        .copied()
        .filter(|end| *end < steps.len())
        .collect();
    ends.push(steps.len());
    let stages = ends.len() as u32;
    let mut occurrences = Vec::new();
    let mut all = Vec::new();
    for item in 0..items {
        let first = all.len() as u32;
        let mut begin = first;
        for (stage, end) in (0..).zip(&ends) {
            let end = first + *end as u32;
            occurrences.push(Occurrence {
                stage,
                steps: (begin..end).collect(),
            });
            begin = end;
        }
        all.extend(steps.iter().map(|step| of_item(step, item, first)));
    }
    Template {
        stages,
        steps: all,
        occurrences,
    }
}

/// A step as another item has it: it reads what that item has made, and its constants are others. Without any it is
/// the same.
fn of_item(step: &Step, item: u32, first: u32) -> Step {
    let (operation, words) = step.words.split_first().expect("an operation");
    let word = |word: &Word| match word {
        Word::Fixed(number) => Word::Fixed((number + item) % 3),
        Word::Value(column) => Word::Value(*column),
        Word::Node(step) => Word::Node(first + step),
    };
    let words = words.iter().map(word);
    Step {
        words: std::iter::once(*operation).chain(words).collect(),
    }
}

fn sets(most: usize) -> impl Strategy<Value = Sets> {
    // Columns differ in how many values they have, as parameters do.
    let set = (0..2_u32, 0..3_u32, 0..4_u32, 0..8_u32);
    prop::collection::vec(set, 0..most).prop_map(|sets| {
        let count = sets.len();
        let values = sets.into_iter().flat_map(|(a, b, c, d)| [a, b, c, d]);
        Sets::new(WIDTH, count, values.collect())
    })
}

/// Workflows of up to three stages in a row, of up to three items each, with up to `most` parameter sets.
pub(crate) fn study(most: usize) -> impl Strategy<Value = Study> {
    let numbers = prop::collection::vec(0..60_u32, 3);
    let choices = prop::collection::vec((0..4_u32, numbers), 1..9);
    let ends = prop::collection::btree_set(1..8_usize, 0..3);
    (choices, ends, 1..4_u32, sets(most)).prop_map(|(choices, ends, items, sets)| Study {
        template: template(&choices, &ends, items),
        sets,
    })
}

/// Stages of a workflow of one stage whose tasks form a chain: each reads the one before it and one parameter.
fn chain(most: usize) -> impl Strategy<Value = Stages> {
    let columns = prop::collection::vec(0..WIDTH as u32, 1..7);
    (columns, sets(most)).prop_map(|(columns, sets)| {
        let step = |(position, column): (usize, &u32)| {
            let mut words = vec![Word::Fixed(position as u32), Word::Value(*column)];
            words.extend(
                position
                    .checked_sub(1)
                    .map(|before| Word::Node(before as u32)),
            );
            Step { words }
        };
        let template = Template {
            steps: columns.iter().enumerate().map(step).collect(),
            occurrences: vec![Occurrence {
                stage: 0,
                steps: (0..columns.len() as u32).collect(),
            }],
            stages: 1,
        };
        Compact::new(&template, &sets).stages[0].distinct.clone()
    })
}

/// The stages of the first stage of a workflow.
fn any_stages(most: usize) -> impl Strategy<Value = Stages> {
    let graph = study(most).prop_map(|study| {
        let mut compact = Compact::new(&study.template, &study.sets);
        compact.stages.swap_remove(0).distinct
    });
    prop_oneof![chain(most), graph]
}

/// Stages and weights, the weights different from task to task.
pub(crate) fn case(most: usize) -> impl Strategy<Value = Case> {
    (
        any_stages(most),
        prop::collection::vec((1..20_u64, 0..9_u64), 1..9),
    )
        .prop_map(|(stages, weights)| {
            let tasks = stages.rows().flatten().map(|task| *task as usize + 1);
            let weight = |(cost, bytes): &(u64, u64)| Weight {
                cost: *cost,
                bytes: *bytes,
            };
            let weights = weights.iter().map(weight).cycle();
            let weights = weights.take(tasks.max().unwrap_or(0)).collect();
            Case { stages, weights }
        })
}

/// Each stage exactly once, and no bucket without a stage.
pub(crate) fn check_partition(buckets: &Buckets, stages: &Stages) -> Result<(), TestCaseError> {
    prop_assert!(buckets.stages.iter().all(|bucket| !bucket.is_empty()));
    let mut all: Vec<u32> = buckets.stages.concat();
    all.sort_unstable();
    prop_assert_eq!(all, (0..stages.len() as u32).collect::<Vec<u32>>());
    Ok(())
}

/// All that every algorithm must keep to.
pub(crate) fn check(
    algorithm: &dyn Merge,
    limits: Limits,
    case: &Case,
) -> Result<Buckets, TestCaseError> {
    let Case { stages, weights } = case;
    let tree = Tree::new(stages);
    let buckets = algorithm.merge(stages, &tree, weights);
    check_partition(&buckets, stages)?;

    if let Some(most) = limits.max_bucket_size {
        prop_assert!(buckets.stages.iter().all(|bucket| bucket.len() <= most));
    }
    if let Some(most) = limits.max_buckets {
        prop_assert!(buckets.len() <= most);
    }
    if let Some((most, sharing)) = limits.max_bytes {
        let peaks = buckets.peaks(stages, &tree, weights, sharing);
        let mut sized = buckets.stages.iter().zip(peaks);
        prop_assert!(sized.all(|(bucket, peak)| bucket.len() == 1 || peak <= most));
    }

    // What is computed is what would be computed without buckets.
    let of_rows = |rows: &mut dyn Iterator<Item = u32>| -> BTreeSet<u32> {
        rows.flat_map(|stage| stages.row(stage).iter().copied())
            .collect()
    };
    let all = of_rows(&mut (0..stages.len() as u32));
    let in_buckets = buckets.stages.iter().flatten().copied();
    prop_assert_eq!(&of_rows(&mut { in_buckets }), &all);

    // No bucket executes more than without sharing, and all of them no less than if all were one.
    let tasks = |sharing| {
        let loads = buckets.loads(stages, &tree, weights, sharing);
        loads
            .iter()
            .map(|load| load.tasks as usize)
            .collect::<Vec<usize>>()
    };
    let [nothing, chain, graph] = [Sharing::Nothing, Sharing::Chain, Sharing::Graph].map(tasks);
    prop_assert!(
        chain
            .iter()
            .zip(&nothing)
            .all(|(chain, nothing)| chain <= nothing)
    );
    prop_assert!(
        graph
            .iter()
            .zip(&chain)
            .all(|(graph, chain)| graph <= chain)
    );
    prop_assert!(chain.iter().sum::<usize>() >= tree.tasks());
    prop_assert!(graph.iter().sum::<usize>() >= all.len());

    // The same again, and whatever numbers the tasks have.
    prop_assert_eq!(&algorithm.merge(stages, &tree, weights), &buckets);
    let renumbered = renumber(case);
    let tree = Tree::new(&renumbered.stages);
    let again = algorithm.merge(&renumbered.stages, &tree, &renumbered.weights);
    prop_assert_eq!(&again, &buckets);
    Ok(buckets)
}

/// The same stages, with other numbers for their tasks.
fn renumber(case: &Case) -> Case {
    let last = (case.weights.len() as u32).saturating_sub(1);
    let cells = case.stages.rows().flatten().map(|task| last - task);
    let stages = match case.stages.width() {
        0 => Stages::default(),
        width => Stages::new(width, cells.collect()),
    };
    Case {
        stages,
        weights: case.weights.iter().rev().copied().collect(),
    }
}

/// For each node of the tree but the root, the stages below it.
pub(crate) fn below(tree: &Tree) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut below: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (stage, leaf) in tree.leaves().iter().enumerate() {
        let mut at = *leaf;
        while at != 0 {
            below.entry(at).or_default().insert(stage as u32);
            at = tree.node(at).parent;
        }
    }
    below
}

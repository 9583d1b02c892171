//! Merged and unmerged graphs give equal products.
//!
//! Law: a product is a digest of what made it: the operation, the literal words, the products that were read. It is
//! computed for each instance on its own from the template, which knows nothing of merging, and compared with what
//! the merged graph, and the buckets one by one, come to.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use headwater_merge::{Compact, Node, Occurrence, Template, Tree, Weight, Word};
use proptest::prelude::*;

use crate::support::{Study, algorithms, study};

/// The toy interpreter: whether a word is a product, and the word.
fn run(words: impl Iterator<Item = (bool, u64)>) -> u64 {
    let mut digest = DefaultHasher::new();
    for word in words {
        word.hash(&mut digest);
    }
    digest.finish()
}

/// The products of the steps of one instance.
fn alone(template: &Template, set: &[u32]) -> Vec<u64> {
    let mut products = Vec::new();
    for step in &template.steps {
        let word = |word: &Word| match word {
            Word::Fixed(number) => (false, u64::from(*number)),
            Word::Value(column) => (false, u64::from(set[*column as usize])),
            Word::Node(step) => (true, products[*step as usize]),
        };
        let product = run(step.words.iter().map(word));
        products.push(product);
    }
    products
}

/// The product of a node, from the products of those that it reads; none if one of these is not there.
fn of_node(template: &Template, node: Node<'_>, there: impl Fn(u32) -> Option<u64>) -> Option<u64> {
    let kinds = template.steps[node.step as usize].words.iter();
    let word = |(kind, word): (&Word, &u32)| match kind {
        Word::Node(_) => Some((true, there(*word)?)),
        Word::Fixed(_) | Word::Value(_) => Some((false, u64::from(*word))),
    };
    let words = kinds.zip(node.words).map(word);
    let words: Option<Vec<(bool, u64)>> = words.collect();
    Some(run(words?.into_iter()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn invariant_4_the_merged_graph_gives_the_products_of_each_instance(study in study(30)) {
        let Study { template, sets } = &study;
        let mut nodes_of: Vec<Vec<u32>> = Vec::new();
        let compact = Compact::with(template, sets, |_, nodes| nodes_of.push(nodes.to_vec()));
        prop_assert_eq!(nodes_of.len(), sets.len());
        let mut merged: Vec<u64> = Vec::new();
        for node in compact.nodes() {
            let there = |node: u32| merged.get(node as usize).copied();
            let product = of_node(template, node, there);
            prop_assert!(product.is_some(), "a node reads a later one");
            merged.extend(product);
        }
        for (set, nodes) in nodes_of.iter().enumerate() {
            let expected = alone(template, sets.set(set));
            let found = nodes.iter().map(|node| merged[*node as usize]);
            prop_assert_eq!(found.collect::<Vec<u64>>(), expected);
        }
        // And nothing is there twice.
        let mut distinct = merged.clone();
        distinct.sort_unstable();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), merged.len());
        for (number, stage) in (0..).zip(&compact.stages) {
            let rows: BTreeSet<Vec<u32>> = stage.distinct.rows().map(<[u32]>::to_vec).collect();
            prop_assert_eq!(rows.len(), stage.distinct.len());
            // Each item of each set is one of its rows.
            let items = template.occurrences.iter().filter(|one| one.stage == number);
            prop_assert_eq!(stage.instances, items.clone().count() * sets.len());
            let row = |nodes: &Vec<u32>, item: &Occurrence| -> Vec<u32> {
                item.steps.iter().map(|step| nodes[*step as usize]).collect()
            };
            let each = |nodes| items.clone().map(move |item| row(nodes, item));
            prop_assert_eq!(nodes_of.iter().flat_map(each).collect::<BTreeSet<_>>(), rows);
        }
    }

    #[test]
    fn invariant_4_buckets_give_the_products_of_each_instance(study in study(20), limit in 1..6_usize) {
        let Study { template, sets } = &study;
        let mut nodes_of: Vec<Vec<u32>> = Vec::new();
        let compact = Compact::with(template, sets, |_, nodes| nodes_of.push(nodes.to_vec()));
        let weights = vec![Weight { cost: 1, bytes: 0 }; compact.len()];
        for (algorithm, _) in algorithms(limit) {
            // What the stages before this one have made; each step of these templates is part of a stage.
            let mut made: BTreeMap<u32, u64> = BTreeMap::new();
            for stage in &compact.stages {
                let stages = &stage.distinct;
                let buckets = algorithm.merge(stages, &Tree::new(stages), &weights);
                let mut by_buckets = BTreeMap::new();
                for bucket in &buckets.stages {
                    // A bucket knows its own tasks, and nothing of other buckets of the same stage.
                    let rows = bucket.iter().flat_map(|stage| stages.row(*stage));
                    let mut tasks: Vec<u32> = rows.copied().collect();
                    tasks.sort_unstable();
                    tasks.dedup();
                    let mut own: BTreeMap<u32, u64> = BTreeMap::new();
                    for task in tasks {
                        let there = |node: u32| own.get(&node).or(made.get(&node)).copied();
                        let product = of_node(template, compact.node(task), there);
                        prop_assert!(product.is_some(), "a bucket lacks what its task reads");
                        own.extend(product.map(|product| (task, product)));
                    }
                    by_buckets.extend(own);
                }
                made.extend(by_buckets);
            }
            for (set, nodes) in nodes_of.iter().enumerate() {
                let expected: Vec<Option<u64>> =
                    alone(template, sets.set(set)).into_iter().map(Some).collect();
                let found = nodes.iter().map(|node| made.get(node).copied());
                prop_assert_eq!(found.collect::<Vec<Option<u64>>>(), expected, "{}", algorithm.name());
            }
        }
    }
}

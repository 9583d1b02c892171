//! The reuse-tree merging algorithm, by what it promises of every node of the tree.
//!
//! Law: a bucket that is not full holds what no full bucket could take.

use headwater_merge::{Merge, Rtma, Tree};
use proptest::prelude::*;

use crate::support::{below, case};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn full_buckets_as_deep_as_possible(case in case(80), size in 1..6_usize) {
        let tree = Tree::new(&case.stages);
        let below = below(&tree);
        let [ours, papers] = [false, true].map(|paper| {
            let algorithm = Rtma { max_bucket_size: size, paper };
            algorithm.merge(&case.stages, &tree, &case.weights).stages
        });
        // Below each node, fewer than a bucket of stages went to buckets that reach beyond it, or are not full.
        for (node, stages) in &below {
            let inside = |bucket: &&Vec<u32>| bucket.iter().all(|stage| stages.contains(stage));
            let full = papers.iter().filter(|bucket| bucket.len() == size);
            let taken = full.filter(inside).flatten().count();
            let left = stages.len() - taken;
            prop_assert!(left < size, "{left} left below {node}");
        }
        // What a full bucket did not take is alone in the one variant, by first task in the other.
        prop_assert!(papers.iter().all(|bucket| [1, size].contains(&bucket.len())));
        let full = |buckets: &[Vec<u32>]| -> Vec<Vec<u32>> {
            buckets.iter().filter(|bucket| bucket.len() == size).cloned().collect()
        };
        if size > 1 {
            prop_assert_eq!(full(&ours), full(&papers));
        }
        for first in tree.children(0) {
            let stages = &below[&first];
            let here: Vec<&Vec<u32>> =
                ours.iter().filter(|bucket| stages.contains(&bucket[0])).collect();
            prop_assert!(here.iter().copied().flatten().all(|stage| stages.contains(stage)));
            prop_assert_eq!(here.len(), stages.len().div_ceil(size));
        }
    }
}

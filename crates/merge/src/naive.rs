//! The naive algorithm: runs of stages in the order given.
//!
//! Law: the i-th bucket holds the i-th run of `max_bucket_size` stages, the last one what is left. What it shares
//! depends on the order of the stages alone; it is what the other algorithms are measured against. O(n).

use crate::{Buckets, Merge, Stages, Tree, Weight};

/// Cuts the list of stages into runs (Barreiros and Teodoro 2017, section 3.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Naive {
    /// How many stages a bucket may have; 0 counts as 1.
    pub max_bucket_size: usize,
}

impl Merge for Naive {
    fn name(&self) -> &'static str {
        "naive"
    }

    fn merge(&self, stages: &Stages, _: &Tree, _: &[Weight]) -> Buckets {
        let all: Vec<u32> = (0..stages.len() as u32).collect();
        let runs = all.chunks(self.max_bucket_size.max(1));
        Buckets {
            stages: runs.map(<[u32]>::to_vec).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_cut_in_the_order_given() {
        let stages = Stages::new(1, vec![9, 8, 7, 6, 5]);
        let merge = |max_bucket_size| {
            Naive { max_bucket_size }
                .merge(&stages, &Tree::new(&stages), &[])
                .stages
        };
        assert_eq!(merge(2), [vec![0, 1], vec![2, 3], vec![4]]);
        assert_eq!(merge(5).len(), 1);
        assert_eq!(merge(0).len(), 5);
    }
}

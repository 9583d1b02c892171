//! What every algorithm keeps to, on random stages.
//!
//! Law: each stage in exactly one bucket, limits never exceeded, the same set of tasks as without buckets, the same
//! buckets each time.

use proptest::prelude::*;

use crate::support::{algorithms, case, check};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn buckets_are_a_partition_within_limits(case in case(80), limit in 1..12_usize) {
        for (algorithm, limits) in algorithms(limit) {
            check(&*algorithm, limits, &case)
                .map_err(|error| error_of(algorithm.name(), &error))?;
        }
    }
}

fn error_of(name: &str, error: &TestCaseError) -> TestCaseError {
    TestCaseError::fail(format!("{name}: {error}"))
}

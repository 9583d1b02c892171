//! Where one looks while a design is under way.
//!
//! Law: where to look is fixed before anything is evaluated, and a design of more groups is looked at wherever a
//! smaller one is, but for the smaller one's own end. So what is found at a prefix depends neither on how far a study
//! has got, nor on how many groups it may have in all.

/// The smallest prefix at which there is something to see.
const FIRST: u32 = 8;

/// The numbers of groups (trajectories or base points) at which indices are looked at, ascending: 8, 12, 16, 24, 32,
/// 48, 64 and so on, each 2^a or 3·2^(a−1), as far as they are below `groups`, and `groups` itself. None for no
/// groups.
///
/// Steps are by a third to a half, so that all prefixes together have less than five times the groups of the whole,
/// and looking at all of them costs less than five analyses of it. The powers of two are where Sobol' points are even.
///
/// ```
/// assert_eq!(headwater_sensitivity::prefixes(3), [3]);
/// assert_eq!(headwater_sensitivity::prefixes(8), [8]);
/// assert_eq!(headwater_sensitivity::prefixes(20), [8, 12, 16, 20]);
/// ```
pub fn prefixes(groups: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut power = FIRST;
    while power < groups {
        found.push(power);
        let between = power.saturating_add(power / 2);
        if between < groups {
            found.push(between);
        }
        power = power.saturating_mul(2);
    }
    found.extend((groups > 0).then_some(groups));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prefixes_are_powers_of_two_and_what_lies_between_them() {
        assert_eq!(prefixes(0), []);
        assert_eq!(prefixes(1), [1]);
        assert_eq!(prefixes(7), [7]);
        assert_eq!(prefixes(9), [8, 9]);
        assert_eq!(prefixes(12), [8, 12]);
        assert_eq!(
            prefixes(128),
            [8, 12, 16, 24, 32, 48, 64, 96, 128],
            "the end stands once"
        );
        let most = prefixes(u32::MAX);
        assert_eq!(most.len(), 2 * 29 + 1, "from 2^3 to 2^31, two each");
        assert_eq!(most[most.len() - 3..], [1 << 31, 3 << 30, u32::MAX]);
    }

    proptest! {
        #[test]
        fn a_larger_design_has_the_same_prefixes_and_more(
            small in 1_u32..100_000,
            more in 0_u32..1_000_000,
        ) {
            let (few, many) = (prefixes(small), prefixes(small + more));
            prop_assert!(few.is_sorted_by(|one, other| one < other));
            prop_assert_eq!(few.last(), Some(&small));
            let common = few.len() - 1;
            prop_assert_eq!(&few[..common], &many[..common]);
        }

        #[test]
        fn all_prefixes_together_are_a_few_times_the_whole(groups in 1_u32..10_000_000) {
            let sum: u64 = prefixes(groups).into_iter().map(u64::from).sum();
            prop_assert!(sum < 5 * u64::from(groups));
        }
    }
}

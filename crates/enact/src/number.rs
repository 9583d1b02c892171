//! The numbering of pairs that needs no knowledge of how many will come: f(i, j) = k² + k + i − j with
//! k = max(i, j) (Glatard, Montagnat and Pennec, 2005, section V-C).
//!
//! Law: a bijection between pairs and numbers. The engine itself keeps tuples, since the numbers have holes
//! for unequal counts and overflow when crosses nest; this is for where one number is wanted.

/// The number of the pair (i, j).
pub fn pair_number(i: u32, j: u32) -> u64 {
    let k = u64::from(i.max(j));
    k * k + k + u64::from(i) - u64::from(j)
}

/// The pair with that number; `None` where a part of it would not fit.
pub fn pair_of(number: u64) -> Option<(u32, u32)> {
    let k = number.isqrt();
    let offset = number - k * k;
    let (i, j) = if offset <= k {
        (offset, k)
    } else {
        (k, 2 * k - offset)
    };
    Some((u32::try_from(i).ok()?, u32::try_from(j).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_paper() {
        let numbers = [(0, 0), (0, 1), (1, 1), (1, 0)].map(|(i, j)| pair_number(i, j));
        assert_eq!(numbers, [0, 1, 2, 3]);
    }

    #[test]
    fn every_number_has_one_pair() {
        for number in 0..100_000 {
            let (i, j) = pair_of(number).unwrap();
            assert_eq!(pair_number(i, j), number);
        }
        assert_eq!(
            pair_number(u32::MAX, 0),
            u64::from(u32::MAX) * u64::from(u32::MAX) + 2 * u64::from(u32::MAX)
        );
    }
}

//! Which values have been seen.
//!
//! Law: two values are the same if they have one type and are equal; 0.0 and -0.0 are one number. Finding out costs a
//! logarithm of how many there are.

use std::collections::BTreeSet;

use headwater_graph::{Scalar, ScalarKey};

/// A set of values.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    seen: BTreeSet<ScalarKey>,
}

impl Distinct {
    /// Takes a value; whether it is a new one.
    pub(crate) fn insert(&mut self, value: &Scalar) -> bool {
        self.seen.insert(value.key())
    }

    /// Whether the value is among them.
    pub(crate) fn contains(&self, value: &Scalar) -> bool {
        self.seen.contains(&value.key())
    }
}

impl<'s> FromIterator<&'s Scalar> for Distinct {
    fn from_iter<I: IntoIterator<Item = &'s Scalar>>(values: I) -> Distinct {
        let seen = values.into_iter().map(Scalar::key).collect();
        Distinct { seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_apart() {
        let mut seen = Distinct::default();
        for value in [
            Scalar::Int(1),
            Scalar::Float(1.0),
            Scalar::Text("1".into()),
            Scalar::Bool(true),
            Scalar::Float(0.0),
            Scalar::Float(-1.0),
        ] {
            assert!(!seen.contains(&value), "{value}");
            assert!(seen.insert(&value), "{value}");
            assert!(!seen.insert(&value), "{value}");
        }
        assert!(seen.contains(&Scalar::Float(-0.0)));
    }
}

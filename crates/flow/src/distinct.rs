//! Which values have been seen.
//!
//! Law: two values are the same if they have one type and are equal; 0.0 and -0.0 are one number. Finding out costs a
//! logarithm of how many there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use headwater_graph::Scalar;

/// A set of values.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    seen: BTreeSet<Key>,
}

/// What values are told apart by.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(Arc<str>),
}

impl Key {
    fn of(value: &Scalar) -> Key {
        match value {
            Scalar::Bool(value) => Key::Bool(*value),
            Scalar::Int(value) => Key::Int(*value),
            // The sum of -0.0 and 0.0 is 0.0.
            Scalar::Float(value) => Key::Float((value + 0.0).to_bits()),
            Scalar::Text(value) => Key::Text(Arc::clone(value)),
        }
    }
}

impl Distinct {
    /// Takes a value; whether it is a new one.
    pub(crate) fn insert(&mut self, value: &Scalar) -> bool {
        self.seen.insert(Key::of(value))
    }

    /// Whether the value is among them.
    pub(crate) fn contains(&self, value: &Scalar) -> bool {
        self.seen.contains(&Key::of(value))
    }
}

impl<'s> FromIterator<&'s Scalar> for Distinct {
    fn from_iter<I: IntoIterator<Item = &'s Scalar>>(values: I) -> Distinct {
        let seen = values.into_iter().map(Key::of).collect();
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

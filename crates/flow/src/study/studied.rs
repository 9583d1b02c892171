//! A parameter that is varied, and the values over which it is.
//!
//! Law: a design knows numbers alone, and a workflow gets scalars; here one becomes the other, and nowhere else. Of a
//! list, a number is the position of a value; otherwise it is the value.

use std::fmt;
use std::sync::Arc;

use headwater_graph::{Scalar, ScalarType, Span};
use headwater_sensitivity::Domain;

/// A parameter that is varied.
#[derive(Debug, Clone, PartialEq)]
pub struct StudiedParameter {
    /// Its name.
    pub name: Arc<str>,
    /// Its values.
    pub values: StudiedValues,
    /// The value that it has at the default parameters; there if an input of the study refers to an output.
    pub default: Option<Scalar>,
    /// Where the study speaks of it.
    pub span: Span,
}

/// The values over which a parameter is varied.
#[derive(Debug, Clone, PartialEq)]
pub struct StudiedValues {
    scalar_type: ScalarType,
    /// `None`: the table of the study has them, and the workflow says nothing about them.
    domain: Option<Domain>,
    /// What the positions of a list stand for; empty where the numbers of the domain are the values.
    listed: Vec<Scalar>,
}

impl StudiedValues {
    /// Those that the table of the study has.
    pub(super) fn open(scalar_type: ScalarType) -> StudiedValues {
        StudiedValues {
            scalar_type,
            domain: None,
            listed: Vec::new(),
        }
    }

    /// The numbers of an interval, or of a grid of at least 2.
    pub(super) fn numbers(scalar_type: ScalarType, domain: Domain) -> StudiedValues {
        StudiedValues {
            scalar_type,
            domain: Some(domain),
            listed: Vec::new(),
        }
    }

    /// These, of which there are at least 2, all of that type.
    pub(super) fn listed(scalar_type: ScalarType, listed: Vec<Scalar>) -> StudiedValues {
        StudiedValues {
            scalar_type,
            domain: Some(domain_of(&listed)),
            listed,
        }
    }

    /// Their type; an int with a [`Domain::Interval`] is sampled as a real number.
    pub fn scalar_type(&self) -> ScalarType {
        self.scalar_type
    }

    /// The numbers that a design draws; `None` where only a table says which values there are.
    pub fn domain(&self) -> Option<&Domain> {
        self.domain.as_ref()
    }

    /// The values of a list; `None` of an interval, of a grid, and where only a table has them.
    pub fn list(&self) -> Option<&[Scalar]> {
        (!self.listed.is_empty()).then_some(&self.listed)
    }

    /// How many there are; `None` for all numbers of an interval, and where only a table has them.
    pub fn count(&self) -> Option<u32> {
        self.domain.as_ref().and_then(Domain::count)
    }

    /// A number of a design as a value of the parameter. An int that was drawn as a real number stays one.
    ///
    /// # Panics
    ///
    /// If the values are a list without that position.
    pub fn value_at(&self, number: f64) -> Scalar {
        if let Some(values) = self.list() {
            return values[number as usize].clone();
        }
        match Scalar::Float(number).coerce(self.scalar_type, false) {
            Some(scalar) => scalar,
            None => Scalar::Float(number),
        }
    }

    /// The first value of a list, else the smallest number, cut if an int is wanted; `None` where only a table has
    /// the values.
    pub fn first(&self) -> Option<Scalar> {
        match self.domain.as_ref()? {
            Domain::Interval { low, .. } | Domain::Grid { low, .. } => {
                let wanted = self.scalar_type;
                Scalar::Float(*low).coerce(wanted, wanted == ScalarType::Int)
            }
            Domain::Choice { .. } | Domain::Listed { .. } => self.listed.first().cloned(),
        }
    }

    /// Whether a table may have a value of the right type: a list is all there is, whereas the table may leave a range.
    pub fn may_be(&self, value: &Scalar) -> bool {
        self.list().is_none_or(|values| values.contains(value))
    }

    /// Whether a value is none of these; one between the values of a grid is within them.
    pub fn is_outside(&self, value: &Scalar) -> bool {
        let beyond = |low: f64, high: f64| match value {
            Scalar::Int(number) => !(low..=high).contains(&(*number as f64)),
            Scalar::Float(number) => !(low..=high).contains(number),
            Scalar::Bool(_) | Scalar::Text(_) => false,
        };
        match &self.domain {
            Some(Domain::Interval { low, high }) => beyond(*low, *high),
            Some(Domain::Grid { low, step, count }) => {
                // Steps such as 0.1 do not add up to the number that was written.
                let high = low + step * (f64::from(count.saturating_sub(1)) + 1e-9);
                beyond(*low, high)
            }
            Some(Domain::Choice { .. } | Domain::Listed { .. }) => !self.listed.contains(value),
            None => false,
        }
    }
}

/// In words: `1 to 3`, `1 to 3 by 0.5` or `a, b`; nothing where only a table has the values.
impl fmt::Display for StudiedValues {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.domain {
            Some(Domain::Interval { low, high }) => write!(formatter, "{low} to {high}"),
            Some(Domain::Grid { low, step, count }) => {
                let high = low + step * f64::from(count.saturating_sub(1));
                // Steps such as 0.1 add up to numbers that nobody wrote.
                let high = (high * 1e9).round() / 1e9;
                write!(formatter, "{low} to {high} by {step}")
            }
            Some(Domain::Choice { .. } | Domain::Listed { .. }) => {
                for (position, value) in self.listed.iter().enumerate() {
                    let comma = if position == 0 { "" } else { ", " };
                    write!(formatter, "{comma}{value}")?;
                }
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// A list as a domain: numbers have their order and their distances, whatever their order in the list; all else has
/// none.
fn domain_of(values: &[Scalar]) -> Domain {
    let wholes: Option<Vec<i64>> = values.iter().map(whole_number).collect();
    let numbers: Option<Vec<f64>> = match wholes {
        // Counted from the smallest, large numbers that differ by little are told apart.
        Some(wholes) => {
            let least = wholes.iter().copied().min().unwrap_or(0);
            let above = |number: &i64| (i128::from(*number) - i128::from(least)) as f64;
            Some(wholes.iter().map(above).collect())
        }
        None => values.iter().map(real_number).collect(),
    };
    match numbers {
        Some(numbers) => Domain::Listed {
            numbers: numbers.into(),
        },
        None => Domain::Choice {
            count: values.len() as u32,
        },
    }
}

fn whole_number(value: &Scalar) -> Option<i64> {
    match value {
        Scalar::Int(number) => Some(*number),
        _ => None,
    }
}

/// A value as a number that has a distance from others.
fn real_number(value: &Scalar) -> Option<f64> {
    match value {
        Scalar::Int(number) => Some(*number as f64),
        Scalar::Float(number) => Some(*number).filter(|number| number.is_finite()),
        Scalar::Bool(_) | Scalar::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: &[i64]) -> StudiedValues {
        let values = values.iter().copied().map(Scalar::Int).collect();
        StudiedValues::listed(ScalarType::Int, values)
    }

    fn words(values: &[&str]) -> StudiedValues {
        let values = values.iter().map(|text| Scalar::Text((*text).into()));
        StudiedValues::listed(ScalarType::Text, values.collect())
    }

    fn grid(scalar_type: ScalarType, low: f64, step: f64, count: u32) -> StudiedValues {
        StudiedValues::numbers(scalar_type, Domain::Grid { low, step, count })
    }

    fn interval(scalar_type: ScalarType, low: f64, high: f64) -> StudiedValues {
        StudiedValues::numbers(scalar_type, Domain::Interval { low, high })
    }

    #[test]
    fn numbers_of_a_list_have_distances_and_other_things_none() {
        let numbers = |values: &[f64]| {
            let numbers = values.into();
            Some(Domain::Listed { numbers })
        };
        assert_eq!(ints(&[8, 4, 16]).domain, numbers(&[4.0, 0.0, 12.0]));
        // As doubles both would be 2⁶³.
        assert_eq!(ints(&[i64::MAX - 1, i64::MAX]).domain, numbers(&[0.0, 1.0]));
        let floats = |values: &[f64]| {
            let values = values.iter().copied().map(Scalar::Float).collect();
            StudiedValues::listed(ScalarType::Float, values)
        };
        assert_eq!(floats(&[0.5, -0.5]).domain, numbers(&[0.5, -0.5]));
        let choice = Some(Domain::Choice { count: 2 });
        assert_eq!(floats(&[0.5, f64::INFINITY]).domain, choice);
        assert_eq!(words(&["1", "2"]).domain, choice);
        let truths = vec![Scalar::Bool(false), Scalar::Bool(true)];
        assert_eq!(
            StudiedValues::listed(ScalarType::Bool, truths).domain,
            choice
        );
    }

    #[test]
    fn a_number_of_a_design_is_a_position_or_the_value() {
        assert_eq!(ints(&[8, 4]).value_at(1.0), Scalar::Int(4));
        assert_eq!(words(&["a", "b"]).value_at(0.0), Scalar::Text("a".into()));
        let whole = grid(ScalarType::Int, 1.0, 1.0, 3);
        assert_eq!(whole.value_at(2.0), Scalar::Int(2));
        let drawn = interval(ScalarType::Int, 1.0, 3.0);
        assert_eq!(drawn.value_at(2.5), Scalar::Float(2.5));
    }

    #[test]
    fn what_is_asked_of_values() {
        struct Answers(
            &'static str,
            Option<u32>,
            Option<Scalar>,
            [bool; 3],
            [bool; 3],
        );
        let open = StudiedValues::open(ScalarType::Float);
        // Of 2, 2.25 and 9: which a table may have, and which are outside.
        let asked = [2.0, 2.25, 9.0].map(Scalar::Float);
        let float = ScalarType::Float;
        let listed = StudiedValues::listed(float, vec![Scalar::Float(9.0), Scalar::Float(2.0)]);
        let (any, none) = ([true; 3], [false; 3]);
        let last = [false, false, true];
        let two = Some(Scalar::Float(2.0));
        for (values, expected) in [
            (
                interval(float, 2.0, 3.0),
                Answers("2 to 3", None, two.clone(), any, last),
            ),
            (
                grid(float, 2.0, 0.1, 4),
                Answers("2 to 2.3 by 0.1", Some(4), two, any, last),
            ),
            (
                listed,
                Answers(
                    "9.0, 2.0",
                    Some(2),
                    Some(Scalar::Float(9.0)),
                    [true, false, true],
                    [false, true, false],
                ),
            ),
            (open, Answers("", None, None, any, none)),
        ] {
            let Answers(text, count, first, may_be, outside) = expected;
            assert_eq!(values.to_string(), text);
            assert_eq!(values.count(), count, "{text}");
            assert_eq!(values.first(), first, "{text}");
            assert_eq!(asked.each_ref().map(|one| values.may_be(one)), may_be);
            assert_eq!(asked.each_ref().map(|one| values.is_outside(one)), outside);
        }
    }

    #[test]
    fn the_last_value_of_a_grid_is_within_whatever_its_steps_add_up_to() {
        let tenths = grid(ScalarType::Float, 0.0, 0.1, 4);
        assert!(!tenths.is_outside(&Scalar::Float(0.3)));
        assert!(tenths.is_outside(&Scalar::Float(0.31)));
    }
}

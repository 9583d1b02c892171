//! The values of a parameter, found by position.
//!
//! Law: a table gives what the domain gives, bit for bit; it only spares making a value anew for every row.

use crate::{Domain, Space};

/// More values than these are made when they are asked for.
const LIMIT: u32 = 4096;

/// The values of one parameter.
pub(super) struct Table {
    domain: Domain,
    count: u32,
    values: Vec<f64>,
}

impl Table {
    /// For each parameter the values of its domain; nothing for an interval.
    pub(super) fn shares(space: &Space) -> Vec<Table> {
        space
            .parameters
            .iter()
            .map(|parameter| {
                let count = parameter.domain.count().unwrap_or(0);
                let kept = if count <= LIMIT { count } else { 0 };
                Table {
                    values: (0..kept).map(|at| parameter.domain.value(at)).collect(),
                    domain: parameter.domain.clone(),
                    count,
                }
            })
            .collect()
    }

    /// How many values there are; 0 for all numbers of an interval.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// [`Domain::at`].
    pub(super) fn at(&self, unit: f64) -> f64 {
        match self.position(unit) {
            None => self.domain.at(unit),
            Some(position) => self.value(position),
        }
    }

    /// The position of the value that [`at`](Self::at) gives; `None` for an interval.
    pub(super) fn position(&self, unit: f64) -> Option<u32> {
        let last = self.count.checked_sub(1)?;
        Some(((unit * f64::from(self.count)) as u32).min(last))
    }

    /// The value at a position of a discrete domain.
    pub(super) fn value(&self, position: u32) -> f64 {
        match self.values.get(position as usize) {
            Some(value) => *value,
            None => self.domain.value(position),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameter;

    #[test]
    fn a_table_gives_what_the_domain_gives() {
        let domains = [
            Domain::Interval {
                low: -1.0,
                high: 2.0,
            },
            Domain::Grid {
                low: 0.1,
                step: 0.1,
                count: 7,
            },
            Domain::Grid {
                low: 0.1,
                step: 0.1,
                count: LIMIT + 1,
            },
            Domain::Choice { count: 3 },
        ];
        let space = Space {
            parameters: domains
                .iter()
                .map(|domain| Parameter {
                    name: "x".into(),
                    domain: domain.clone(),
                })
                .collect(),
        };
        for (table, domain) in Table::shares(&space).iter().zip(&domains) {
            for number in 0..1000 {
                let unit = f64::from(number) / 1000.0;
                assert_eq!(table.at(unit).to_bits(), domain.at(unit).to_bits());
            }
        }
    }
}

//! List scheduling: how long units take on equal workers.
//!
//! Law: whenever a worker is free and a unit is ready, the first ready one of the list begins; of several free
//! workers it does not matter which. The same list gives the same makespan. It costs O((units + dependences) · log).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that runs on one worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unit {
    /// How long it takes.
    pub cost: u64,
    /// The positions of the units that have to end before it begins.
    pub after: Vec<u32>,
}

/// When the last unit ends, if `workers` (at least one) take them from the list. Units on a circle of dependences,
/// or after one, never begin and do not count.
pub fn makespan(units: &[Unit], workers: usize) -> u64 {
    let (mut waits, followers) = dependences(units);
    let mut ready: BinaryHeap<Reverse<u32>> = BinaryHeap::with_capacity(units.len());
    ready.extend(waits.iter().enumerate().filter_map(|(unit, waits)| {
        let free = *waits == 0;
        free.then_some(Reverse(unit as u32))
    }));
    let mut running: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    let mut now = 0;
    loop {
        while running.len() < workers.max(1) {
            let Some(Reverse(unit)) = ready.pop() else {
                break;
            };
            running.push(Reverse((now + units[unit as usize].cost, unit)));
        }
        let Some(Reverse((end, _))) = running.peek().copied() else {
            return now;
        };
        now = end;
        // All that end now, before anything begins.
        while let Some(Reverse((end, unit))) = running.peek().copied() {
            if end > now {
                break;
            }
            running.pop();
            for follower in followers.of(unit) {
                waits[*follower as usize] -= 1;
                if waits[*follower as usize] == 0 {
                    ready.push(Reverse(*follower));
                }
            }
        }
    }
}

/// The makespan of units that do not depend on each other.
pub fn makespan_of(costs: impl IntoIterator<Item = u64>, workers: usize) -> u64 {
    let mut free: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let mut last = 0;
    for cost in costs {
        let end = if free.len() < workers.max(1) {
            free.push(Reverse(cost));
            cost
        } else {
            // Replacing the top sifts once, where a pop and a push would sift twice.
            match free.peek_mut() {
                Some(mut first) => {
                    first.0 += cost;
                    first.0
                }
                None => cost,
            }
        };
        last = last.max(end);
    }
    last
}

/// Who waits for whom, the other way round.
struct Followers {
    begins: Vec<usize>,
    units: Vec<u32>,
}

impl Followers {
    fn of(&self, unit: u32) -> &[u32] {
        &self.units[self.begins[unit as usize]..self.begins[unit as usize + 1]]
    }
}

/// For how many others each unit waits, and its followers.
fn dependences(units: &[Unit]) -> (Vec<u32>, Followers) {
    let waits = units.iter().map(|unit| unit.after.len() as u32).collect();
    let mut begins = vec![0; units.len() + 1];
    for before in units.iter().flat_map(|unit| &unit.after) {
        begins[*before as usize + 1] += 1;
    }
    for position in 0..units.len() {
        begins[position + 1] += begins[position];
    }
    let mut next = begins.clone();
    let mut followers = vec![0; begins[units.len()]];
    for (position, unit) in units.iter().enumerate() {
        for before in &unit.after {
            let place = &mut next[*before as usize];
            followers[*place] = position as u32;
            *place += 1;
        }
    }
    let followers = Followers {
        begins,
        units: followers,
    };
    (waits, followers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(cost: u64, after: &[u32]) -> Unit {
        Unit {
            cost,
            after: after.to_vec(),
        }
    }

    #[test]
    fn free_workers_take_the_first_ready_unit() {
        let units = [4, 3, 3, 2].map(|cost| unit(cost, &[]));
        assert_eq!(makespan(&units, 1), 12);
        assert_eq!(makespan(&units, 2), 6);
        assert_eq!(makespan(&units, 9), 4);
        assert_eq!(makespan(&[], 2), 0);
    }

    #[test]
    fn dependences_are_waited_for() {
        // A diamond, and something that fits beside it; the list is not in the order of dependences.
        let units = [
            unit(1, &[1, 2]),
            unit(5, &[3]),
            unit(2, &[3]),
            unit(1, &[]),
            unit(6, &[]),
        ];
        assert_eq!(makespan(&units, 2), 9);
        assert_eq!(makespan(&units, 3), 7);
    }

    #[test]
    fn an_order_can_be_worse_than_another() {
        let costs = [1, 1, 1, 1, 4];
        assert_eq!(makespan_of(costs, 2), 6);
        assert_eq!(makespan_of(costs.into_iter().rev(), 2), 4);
        assert_eq!(makespan_of([], 2), 0);
    }

    #[test]
    fn independent_units_take_as_long_either_way() {
        let mut state = 1u64;
        for workers in 1..20 {
            let costs: Vec<u64> = (0..50)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    state >> 58
                })
                .collect();
            let units: Vec<Unit> = costs.iter().map(|cost| unit(*cost, &[])).collect();
            assert_eq!(makespan(&units, workers), makespan_of(costs, workers));
        }
    }

    #[test]
    fn a_circle_never_begins() {
        let units = [unit(1, &[1]), unit(1, &[0]), unit(3, &[])];
        assert_eq!(makespan(&units, 2), 3);
    }
}

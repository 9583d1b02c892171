//! The tasks that could start now, in order.
//!
//! Law: a priority queue; of two tasks the one with the smaller number comes first. A round offers its
//! first tasks in order, so what arrives in order is kept in a line, and only what arrives out of order (the
//! few tasks that became ready since) goes to a heap. That makes a million waiting tasks cost nothing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use headwater_graph::TaskId;

/// Priority and task.
pub(super) type Entry = (u64, TaskId);

#[derive(Debug, Default)]
pub(super) struct Ready {
    line: VecDeque<Entry>,
    heap: BinaryHeap<Reverse<Entry>>,
}

impl Ready {
    pub(super) fn push(&mut self, entry: Entry) {
        if self.line.back().is_none_or(|last| *last <= entry) {
            self.line.push_back(entry);
        } else {
            self.heap.push(Reverse(entry));
        }
    }

    pub(super) fn peek(&self) -> Option<Entry> {
        match (self.line.front(), self.heap.peek()) {
            (Some(line), Some(Reverse(heap))) => Some(*line.min(heap)),
            (line, heap) => line.or(heap.map(|Reverse(entry)| entry)).copied(),
        }
    }

    pub(super) fn pop(&mut self) -> Option<Entry> {
        let first = self.peek()?;
        if self.line.front() == Some(&first) {
            self.line.pop_front();
        } else {
            self.heap.pop();
        }
        Some(first)
    }

    pub(super) fn len(&self) -> usize {
        self.line.len() + self.heap.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        let heap = self.heap.iter().map(|Reverse(entry)| entry);
        self.line.iter().chain(heap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_out_in_order_however_it_went_in() {
        // A multiplicative walk through 0..997 visits every number once, in a scattered order.
        let numbers: Vec<u64> = (0..997u64).map(|step| step * 389 % 997).collect();
        let mut ready = Ready::default();
        let mut seen = Vec::new();
        for (step, number) in numbers.iter().enumerate() {
            ready.push((*number, TaskId(step as u32)));
            assert_eq!(ready.len(), step + 1);
        }
        while let Some((number, _)) = ready.pop() {
            seen.push(number);
        }
        assert_eq!(seen, (0..997).collect::<Vec<_>>());
    }

    #[test]
    fn what_comes_late_still_goes_first_if_it_is_smaller() {
        let mut ready = Ready::default();
        (10..20).for_each(|number| ready.push((number, TaskId(0))));
        assert_eq!(ready.pop(), Some((10, TaskId(0))));
        ready.push((3, TaskId(1)));
        ready.push((15, TaskId(2)));
        assert_eq!(ready.peek(), Some((3, TaskId(1))));
        let rest: Vec<u64> = std::iter::from_fn(|| ready.pop())
            .map(|(number, _)| number)
            .collect();
        assert_eq!(rest, [3, 11, 12, 13, 14, 15, 15, 16, 17, 18, 19]);
        assert_eq!(ready.iter().count(), 0);
    }
}

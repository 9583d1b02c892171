//! Who has read each item since it was written: many lists in one piece of memory.
//!
//! Law: to add a reader is one step, to empty a list is one step for each reader in it, and what was emptied is used
//! again. So there is never more memory than for the most readers at one time. The last reader stands in the list
//! itself: most lists have one, and need no look elsewhere.

use std::mem;

use crate::argument::CallId;

/// The members of all lists, apart from the last ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readers {
    nodes: Vec<Node>,
    /// Nodes that are in no list.
    free: Link,
}

/// A list of calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    /// How many calls there were with the last member; 0 if the list is empty.
    last: u32,
    /// Those before the last one.
    earlier: Link,
}

/// Where a node is, counted from 1; 0 is nowhere.
#[derive(Debug, Clone, Copy, Default)]
struct Link(u32);

#[derive(Debug, Clone)]
struct Node {
    call: CallId,
    /// The one that was added before.
    before: Link,
}

impl Link {
    fn place(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

impl List {
    /// The last member.
    fn last(&self) -> Option<CallId> {
        self.last.checked_sub(1).map(CallId)
    }
}

impl Readers {
    /// Adds a call to a list.
    pub(crate) fn push(&mut self, list: &mut List, call: CallId) {
        if let Some(last) = list.last() {
            list.earlier = self.keep(Node {
                call: last,
                before: list.earlier,
            });
        }
        list.last = call.0 + 1;
    }

    /// Finds a place for a node.
    fn keep(&mut self, node: Node) -> Link {
        match self.free.place() {
            Some(place) => {
                let free = mem::replace(&mut self.nodes[place], node);
                mem::replace(&mut self.free, free.before)
            }
            None => {
                self.nodes.push(node);
                Link(self.nodes.len() as u32)
            }
        }
    }

    /// Empties a list, the last one first.
    pub(crate) fn drain(&mut self, list: &mut List, mut each: impl FnMut(CallId)) {
        list.last().into_iter().for_each(&mut each);
        list.last = 0;
        while let Some(place) = list.earlier.place() {
            let node = &mut self.nodes[place];
            each(node.call);
            let before = mem::replace(&mut node.before, self.free);
            self.free = mem::replace(&mut list.earlier, before);
        }
    }

    /// How many members there is memory for, apart from the last ones.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_do_not_mix_and_memory_is_used_again() {
        let mut readers = Readers::default();
        let (mut one, mut other) = (List::default(), List::default());
        for round in 0..100 {
            for call in 0..3 {
                readers.push(&mut one, CallId(10 * round + call));
                readers.push(&mut other, CallId(10 * round + call + 5));
            }
            let mut found = Vec::new();
            readers.drain(&mut one, |call| found.push(call.0 - 10 * round));
            assert_eq!(found, [2, 1, 0]);
            found.clear();
            readers.push(&mut one, CallId(10 * round + 9));
            readers.drain(&mut other, |call| found.push(call.0 - 10 * round));
            assert_eq!(found, [7, 6, 5]);
            found.clear();
            readers.drain(&mut one, |call| found.push(call.0 - 10 * round));
            assert_eq!(found, [9]);
            readers.drain(&mut one, |_| unreachable!("it is empty"));
        }
        // Two before the last one in each of two lists.
        assert_eq!(readers.len(), 4);
    }
}

//! Who has read each item since it was written: many lists in one piece of memory.
//!
//! Law: to add a reader is one step, to empty a list is one step for each reader in it, and what was emptied is used
//! again. So there is never more memory than for the most readers at one time.

use crate::argument::CallId;

/// The members of all lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readers {
    nodes: Vec<Node>,
    /// Members that are in no list.
    free: List,
}

/// A list of calls: where its last member is, counted from 1; 0 is the empty list.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct List(u32);

#[derive(Debug, Clone)]
struct Node {
    call: CallId,
    /// The one that was added before.
    before: List,
}

impl List {
    /// Where the last member is; nowhere if there is none.
    fn place(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

impl Readers {
    /// Adds a call to a list.
    pub(crate) fn push(&mut self, list: &mut List, call: CallId) {
        let node = Node {
            call,
            before: *list,
        };
        *list = match self.free.place() {
            Some(place) => {
                let free = std::mem::replace(&mut self.nodes[place], node);
                std::mem::replace(&mut self.free, free.before)
            }
            None => {
                self.nodes.push(node);
                List(self.nodes.len() as u32)
            }
        };
    }

    /// Empties a list, the last one first.
    pub(crate) fn drain(&mut self, list: &mut List, mut each: impl FnMut(CallId)) {
        while let Some(place) = list.place() {
            let node = &mut self.nodes[place];
            each(node.call);
            let before = std::mem::replace(&mut node.before, self.free);
            self.free = std::mem::replace(list, before);
        }
    }

    /// How many members there is memory for.
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
        assert_eq!(readers.len(), 6);
    }
}

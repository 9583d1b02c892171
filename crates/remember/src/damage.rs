//! What was found damaged, in words, until somebody asks.
//!
//! Law: what is told has an end, however much is damaged.

use std::sync::{Arc, Mutex};

/// The most that is told of damage at once. Where there is more, nobody would read it.
const TOLD: usize = 100;

/// What was found damaged, in words.
#[derive(Debug, Default)]
pub(crate) struct Told {
    messages: Vec<String>,
    more: u64,
}

impl Told {
    /// Adds a message, or counts it.
    pub(crate) fn push(&mut self, message: String) {
        if self.messages.len() < TOLD {
            self.messages.push(message);
        } else {
            self.more += 1;
        }
    }

    /// All of it so far; from then on it is empty.
    pub(crate) fn take(&mut self) -> Vec<String> {
        let Told { mut messages, more } = std::mem::take(self);
        if more > 0 {
            messages.push(format!("and {more} more"));
        }
        messages
    }
}

/// What was found damaged, as all parts of a store add to it.
pub(crate) type Damage = Arc<Mutex<Told>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_damage_has_an_end() {
        let mut told = Told::default();
        for number in 0..TOLD + 7 {
            told.push(number.to_string());
        }
        let messages = told.take();
        assert_eq!(messages.len(), TOLD + 1);
        assert_eq!(messages[TOLD - 1..], ["99", "and 7 more"]);
        assert_eq!(told.take(), [""; 0]);
    }
}

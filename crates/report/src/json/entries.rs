//! Names with values, as one JSON object.
//!
//! Law: entries keep the order in which they came. Of two with the same name the later value counts, in the place of the
//! first, because readers of JSON disagree about objects that have a name twice.

use serde::{Serialize, Serializer};

/// Names with values, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Entries<T>(Vec<(String, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Entries(Vec::new())
    }
}

impl<T> Entries<T> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> FromIterator<(String, T)> for Entries<T> {
    /// Takes time in the square of their number: they are inputs, outputs or parameters, of which there are few.
    fn from_iter<I: IntoIterator<Item = (String, T)>>(entries: I) -> Self {
        let mut all: Vec<(String, T)> = Vec::new();
        for (name, value) in entries {
            match all.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = value,
                None => all.push((name, value)),
            }
        }
        Entries(all)
    }
}

impl<T: Serialize> Serialize for Entries<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_stays_and_no_name_comes_twice() {
        let entries = [("b", 1), ("a", 2), ("b", 3)];
        let entries = entries.map(|(name, value)| (name.to_owned(), value));
        let entries: Entries<i32> = entries.into_iter().collect();
        let text = serde_json::to_string(&entries).expect("text");
        assert_eq!(text, r#"{"b":3,"a":2}"#);
    }
}

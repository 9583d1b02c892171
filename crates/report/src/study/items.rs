//! What a study says of each item, and which items it says nothing of.
//!
//! Law: an item without an index has failed, or was not reached; it is no item on which nothing has an effect. What is
//! said of all items together leaves it out and names it.

use super::summary::{FailedEvaluation, Indices, PhaseKind, PhaseSummary, StudyItem};

/// So many items are named, one by one.
const NAMED: usize = 5;

/// What the indices of an item say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemAnswer {
    /// This parameter comes first.
    First(usize),
    /// No parameter has an effect.
    NoEffect,
    /// No parameter that has an index has an effect, but for want of values not all have one.
    Open,
    /// There is no index.
    Nothing,
}

/// An item of which nothing is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The position of the item.
    pub item: usize,
    /// How many of its evaluations have a value.
    pub evaluated: usize,
    /// How many failed.
    pub failed: usize,
    /// How many it was to have, as far as the study went.
    pub evaluations: usize,
}

impl LeftOut {
    /// Why nothing is known of it.
    pub fn why(&self) -> String {
        let all = format!("its {} evaluations", self.evaluations);
        match (self.evaluated, self.failed) {
            (0, 0) if self.evaluations == 1 => "its evaluation was not made".to_owned(),
            (0, _) if self.evaluations == 1 => "its evaluation has no value".to_owned(),
            (0, 0) => format!("none of {all} was made"),
            (0, failed) if failed < self.evaluations => {
                format!("{failed} of {all} failed and the others were not made")
            }
            (0, _) => format!("none of {all} has a value"),
            (evaluated, _) => format!(
                "{} of {all} have no value, and no index is left",
                self.evaluations.saturating_sub(evaluated)
            ),
        }
    }
}

impl StudyItem {
    /// What an item is called in a sentence: `item 1 (tile b.png)`.
    pub fn called(&self) -> String {
        let inputs = self.inputs.iter();
        let inputs: Vec<String> = inputs
            .map(|(name, called)| format!("{name} {called}"))
            .collect();
        if inputs.is_empty() {
            format!("item {}", self.index)
        } else {
            format!("item {} ({})", self.index, inputs.join(", "))
        }
    }
}

impl Indices {
    /// What they say.
    pub fn answer(&self) -> ItemAnswer {
        let (ranking, sizes) = (self.ranking(), self.sizes());
        let first = ranking
            .first()
            .and_then(|first| Some((*first, sizes[*first].0?)));
        let effects_lost = match self {
            Indices::None => false,
            Indices::Moat(rows) => rows.iter().any(|row| row.used == 0 && row.lost > 0),
            Indices::Vbd(found) if found.constant => return ItemAnswer::NoEffect,
            Indices::Vbd(_) => false,
        };
        match first {
            None => ItemAnswer::Nothing,
            Some((first, size)) if size > 0.0 => ItemAnswer::First(first),
            Some(_) if effects_lost => ItemAnswer::Open,
            Some(_) => ItemAnswer::NoEffect,
        }
    }
}

impl PhaseSummary {
    /// The items of which nothing is known: without any value, or with so few that no index is left. Of sets of one's own,
    /// which have no indices, those without any value.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let mut failed = vec![0; self.values.len()];
        for FailedEvaluation { item, .. } in &self.failed {
            if let Some(failed) = failed.get_mut(*item) {
                *failed += 1;
            }
        }
        let items = self.values.iter().zip(failed).enumerate();
        items
            .map(|(item, (values, failed))| LeftOut {
                item,
                evaluated: values.iter().flatten().count(),
                failed,
                evaluations: values.len(),
            })
            .filter(|item| item.evaluated == 0 || self.says_nothing_of(item))
            .collect()
    }

    fn says_nothing_of(&self, item: &LeftOut) -> bool {
        let indices = self.each.get(item.item).unwrap_or(&self.pooled);
        let missing = item.evaluated < item.evaluations;
        self.kind != PhaseKind::Table && missing && indices.answer() == ItemAnswer::Nothing
    }

    /// The same in words, an item after the other: `item 1 (tile b.png) failed: none of its 12 evaluations has a value; it is
    /// left out`. Empty where there is but one item.
    pub fn left_out_in_words(&self, items: &[StudyItem]) -> Vec<String> {
        if items.len() < 2 {
            return Vec::new();
        }
        let all = self.left_out();
        let said = |left: &LeftOut| {
            let called = items.get(left.item).map(StudyItem::called);
            let called = called.unwrap_or_else(|| format!("item {}", left.item));
            let failed = if left.failed > 0 { " failed" } else { "" };
            format!("{called}{failed}: {}; it is left out", left.why())
        };
        let mut words: Vec<String> = all.iter().take(NAMED).map(said).collect();
        if let Some(more) = all.len().checked_sub(NAMED).filter(|more| *more > 0) {
            let (items, are) = if more == 1 {
                ("item", "is")
            } else {
                ("items", "are")
            };
            words.push(format!(
                "{more} more {items} without an answer {are} left out; results.json names all"
            ));
        }
        words
    }

    /// On how many of how many items what is said of all together is based.
    pub fn answered_items(&self) -> (usize, usize) {
        let all = self.values.len();
        (all - self.left_out().len().min(all), all)
    }

    /// What is first by item, on how many items, the most frequent first. Items of which nothing is known are left out.
    /// Empty where there is but one item.
    pub fn first_by_item(&self) -> Vec<(ItemAnswer, usize)> {
        let left_out = self.left_out();
        let mut counts: Vec<(ItemAnswer, usize)> = Vec::new();
        for (item, indices) in self.each.iter().enumerate() {
            let answer = indices.answer();
            if answer == ItemAnswer::Nothing || left_out.iter().any(|left| left.item == item) {
                continue;
            }
            match counts.iter_mut().find(|(known, _)| *known == answer) {
                Some((_, count)) => *count += 1,
                None => counts.push((answer, 1)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    /// The same in words: `G1 comes first on 3 of 4 items, G2 on 1`. Nothing where there are too few for ranks.
    pub fn first_by_item_in_words(&self) -> Option<String> {
        if !self.pooled.has_ranks() {
            return None;
        }
        let counts = self.first_by_item();
        let all: usize = counts.iter().map(|(_, count)| count).sum();
        let mut words = Vec::new();
        for (place, (answer, count)) in counts.iter().enumerate() {
            let whole = match (place, *count == all) {
                (0, true) => format!("all {all} items"),
                (0, false) => format!("{count} of {all} items"),
                _ => count.to_string(),
            };
            let whole = if all == 1 {
                "the only item that has indices".to_owned()
            } else {
                whole
            };
            let comes = |first: usize| {
                let name = &self.parameters.get(first)?.name;
                let named = matches!(counts[0].0, ItemAnswer::First(_)) && place > 0;
                Some(if named {
                    format!("{name} on {whole}")
                } else {
                    format!("{name} comes first on {whole}")
                })
            };
            words.push(match answer {
                ItemAnswer::First(first) => comes(*first)?,
                ItemAnswer::NoEffect => format!("no parameter has an effect on {whole}"),
                ItemAnswer::Open | ItemAnswer::Nothing => {
                    format!("too many values are missing to say which comes first on {whole}")
                }
            });
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

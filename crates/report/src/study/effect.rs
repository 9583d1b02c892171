//! What an effect is, in words.
//!
//! Law: the terminal, the report, `results.json`, `--json` and the guide say it in these words and no others.

use super::summary::{EffectStep, Indices, PhaseKind, PhaseSummary, StudyParameter};

/// Where effects are divided by the step that was taken.
pub const EFFECT: &str = "an effect is the change of the objective divided by the length of the step; the whole range of a \
                          parameter has length 1";

/// Where they are divided by the nominal step.
pub const NOMINAL_EFFECT: &str = "an effect is the change of the objective divided by the nominal step of the design, \
                                  whatever the length of the step was";

/// What is different for words.
pub const UNORDERED_EFFECT: &str = "effects of a choice of three or more words are the sizes of changes: they have no \
                                    sign, and cannot cancel";

impl EffectStep {
    /// As a study file has it.
    pub fn name(self) -> &'static str {
        match self {
            EffectStep::Actual => "actual",
            EffectStep::Nominal => "nominal",
        }
    }
}

impl PhaseSummary {
    /// What its effects are: a sentence without a capital and a full stop. Absent where it has none.
    pub fn effect_in_words(&self) -> Option<&'static str> {
        match (self.kind, self.step) {
            (PhaseKind::Moat, EffectStep::Actual) => Some(EFFECT),
            (PhaseKind::Moat, EffectStep::Nominal) => Some(NOMINAL_EFFECT),
            (PhaseKind::Vbd | PhaseKind::Table, _) => None,
        }
    }

    /// The parameters whose effects have no sign.
    pub fn unordered(&self) -> Vec<&str> {
        self.named(|_, parameter| parameter.unordered)
    }

    /// The parameters without any effect, because none of their steps has a length.
    pub fn without_steps(&self) -> Vec<&str> {
        let Indices::Moat(rows) = &self.pooled else {
            return Vec::new();
        };
        self.named(|place, _| {
            let row = rows.get(place);
            row.is_some_and(|row| row.used == 0 && row.lost == 0 && row.no_step > 0)
        })
    }

    /// How many steps had no length and so no effect, by parameter; those that have none are left out. One step counts
    /// once on each item.
    pub fn steps_of_no_length(&self) -> Vec<(&str, usize)> {
        let Indices::Moat(rows) = &self.pooled else {
            return Vec::new();
        };
        let parameters = self.parameters.iter().zip(rows);
        let without = parameters.filter(|(_, row)| row.no_step > 0);
        without
            .map(|(parameter, row)| (parameter.name.as_str(), row.no_step))
            .collect()
    }

    fn named(&self, wanted: impl Fn(usize, &StudyParameter) -> bool) -> Vec<&str> {
        let parameters = self.parameters.iter().enumerate();
        let wanted = parameters.filter(|(place, parameter)| wanted(*place, parameter));
        wanted
            .map(|(_, parameter)| parameter.name.as_str())
            .collect()
    }
}

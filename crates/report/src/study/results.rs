//! `results.json`: the answer of a study for programs, in the shapes of SALib.
//!
//! Law: the text is a function of the phases. It carries no times, machines or names of runs, so that equal answers are
//! equal byte by byte. A number that is not known is null.

use serde::Serialize;
use serde_json::{Value, json};

use super::json::{
    EvaluationsJson, ExtremeJson, IndexColumnsJson, IndexCountsJson, LeftOutJson, PairSquaresJson,
    StudyItemJson, left_out, ranking,
};
use super::summary::{
    FailedEvaluation, FixedValue, Indices, PhaseKind, PhaseSummary, StopRule, StudyItem,
    StudySummary,
};
use crate::json::Entries;

/// The results of a study as JSON: the answer, and under `screen` that of a screening that comes before it. `complete` says
/// whether every evaluation has a value.
pub fn study_results_json(summary: &StudySummary) -> String {
    let extremes = summary.extremes.as_ref();
    // A screening whose second phase is missing is no answer.
    let (screen, answer) = summary.split();
    let results = ResultsJson {
        headwater: 1,
        study: &summary.study,
        workflow: &summary.workflow,
        objective: &summary.objective,
        complete: summary.is_complete(),
        best: extremes.map(|extremes| ExtremeJson::of(&extremes.best)),
        worst: extremes.map(|extremes| ExtremeJson::of(&extremes.worst)),
        answer: answer.map(|phase| PhaseResultsJson::of(phase, summary)),
        screen: screen.map(|phase| PhaseResultsJson::of(phase, summary)),
    };
    let mut text = String::new();
    print(&json!(results), 0, &mut text);
    text.push('\n');
    text
}

/// The file.
#[derive(Serialize)]
struct ResultsJson<'a> {
    /// The version of the format.
    headwater: u32,
    study: &'a str,
    workflow: &'a str,
    objective: &'a str,
    complete: bool,
    /// Absent where nothing has a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<ExtremeJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst: Option<ExtremeJson>,
    /// Absent where its phase was not reached.
    #[serde(flatten)]
    answer: Option<PhaseResultsJson<'a>>,
    /// Absent where there is no screening.
    #[serde(skip_serializing_if = "Option::is_none")]
    screen: Option<PhaseResultsJson<'a>>,
}

/// What a phase found. What it has in common with `--json` has the same name there.
#[derive(Serialize)]
struct PhaseResultsJson<'a> {
    method: PhaseKind,
    method_in_words: &'a str,
    /// Absent where there are no effects.
    #[serde(flatten)]
    effect: Option<EffectJson<'a>>,
    seed: u64,
    names: Vec<&'a str>,
    #[serde(flatten)]
    indices: IndexResultsJson,
    ranking: Vec<String>,
    ranks: Vec<Option<(usize, usize)>>,
    remarks: Vec<String>,
    confidence: Option<f64>,
    groups: usize,
    sets: usize,
    evaluations: EvaluationsJson,
    failed: &'a [FailedEvaluation],
    left_out: Vec<LeftOutItemJson>,
    /// Absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_rule: Option<StopRule>,
    fixed: Entries<&'a FixedValue>,
    #[serde(flatten)]
    counts: Option<IndexCountsJson>,
    /// Absent where there is but one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    items: Vec<ItemResultsJson>,
    convergence: Vec<PrefixJson>,
}

/// What an effect is.
#[derive(Serialize)]
struct EffectJson<'a> {
    step: &'static str,
    effect: &'static str,
    /// The parameters whose effects have no sign.
    unordered: Vec<&'a str>,
}

/// The arrays that the analyses of SALib give, one entry per parameter.
#[derive(Serialize)]
struct IndexResultsJson {
    #[serde(flatten)]
    columns: Option<IndexColumnsJson>,
    #[serde(flatten)]
    pairs: Option<PairSquaresJson>,
}

/// An item of which nothing is known.
#[derive(Serialize)]
struct LeftOutItemJson {
    #[serde(flatten)]
    called: StudyItemJson,
    #[serde(flatten)]
    left_out: LeftOutJson,
}

/// The indices of an item.
#[derive(Serialize)]
struct ItemResultsJson {
    #[serde(flatten)]
    called: StudyItemJson,
    #[serde(flatten)]
    indices: IndexResultsJson,
    #[serde(flatten)]
    counts: Option<IndexCountsJson>,
}

/// What the first groups of a design say.
#[derive(Serialize)]
struct PrefixJson {
    groups: usize,
    sets: usize,
    #[serde(flatten)]
    indices: IndexResultsJson,
}

impl PhaseResultsJson<'_> {
    fn of<'a>(phase: &'a PhaseSummary, summary: &StudySummary) -> PhaseResultsJson<'a> {
        let names = phase.parameters.iter();
        let count = phase.evaluations(summary.items.len());
        let fixed = phase.fixed.iter();
        let items = phase.each.iter().enumerate();
        let prefixes = phase.convergence.iter();
        PhaseResultsJson {
            method: phase.kind,
            method_in_words: &phase.method,
            effect: phase.effect_in_words().map(|effect| EffectJson {
                step: phase.step.name(),
                effect,
                unordered: phase.unordered(),
            }),
            seed: summary.seed,
            names: names.map(|parameter| &*parameter.name).collect(),
            indices: IndexResultsJson::of(&phase.pooled),
            ranking: ranking(phase),
            ranks: phase.pooled.places(),
            remarks: phase.remarks(),
            confidence: phase.confidence,
            groups: phase.groups,
            sets: phase.sets,
            evaluations: EvaluationsJson {
                planned: phase.sets_planned * summary.items.len().max(1),
                done: count.evaluated,
                failed: count.failed,
            },
            failed: &phase.failed,
            left_out: left_out(phase)
                .into_iter()
                .map(|left_out| LeftOutItemJson {
                    called: StudyItemJson::of(summary.items.get(left_out.item)),
                    left_out,
                })
                .collect(),
            stop_rule: phase.rule,
            fixed: fixed.map(|(name, value)| (name.clone(), value)).collect(),
            counts: IndexCountsJson::of(&phase.pooled),
            items: items
                .map(|(position, found)| ItemResultsJson::of(summary.items.get(position), found))
                .collect(),
            convergence: prefixes
                .map(|prefix| PrefixJson {
                    groups: prefix.groups,
                    sets: prefix.sets,
                    indices: IndexResultsJson::of(&prefix.indices),
                })
                .collect(),
        }
    }
}

impl IndexResultsJson {
    fn of(found: &Indices) -> IndexResultsJson {
        IndexResultsJson {
            columns: IndexColumnsJson::of(found),
            pairs: PairSquaresJson::of(found),
        }
    }
}

impl ItemResultsJson {
    fn of(item: Option<&StudyItem>, found: &Indices) -> ItemResultsJson {
        ItemResultsJson {
            called: StudyItemJson::of(item),
            indices: IndexResultsJson::of(found),
            counts: IndexCountsJson::of(found),
        }
    }
}

/// Writes a value with two blanks for each level; arrays of plain values stand in one line.
fn print(value: &Value, depth: usize, text: &mut String) {
    let plain = |value: &Value| !matches!(value, Value::Array(_) | Value::Object(_));
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    };
    match value {
        Value::Array(entries) if entries.iter().all(plain) => {
            text.push('[');
            for (position, entry) in entries.iter().enumerate() {
                text.push_str(if position == 0 { "" } else { ", " });
                text.push_str(&entry.to_string());
            }
            text.push(']');
        }
        Value::Array(entries) => {
            text.push('[');
            for (position, entry) in entries.iter().enumerate() {
                text.push_str(if position == 0 { "" } else { "," });
                line(text, depth + 1);
                print(entry, depth + 1, text);
            }
            line(text, depth);
            text.push(']');
        }
        Value::Object(entries) if entries.is_empty() => text.push_str("{}"),
        Value::Object(entries) => {
            text.push('{');
            for (position, (key, entry)) in entries.iter().enumerate() {
                text.push_str(if position == 0 { "" } else { "," });
                line(text, depth + 1);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push_str(": ");
                print(entry, depth + 1, text);
            }
            line(text, depth);
            text.push('}');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

//! What a study came to, as one JSON object for scripts.
//!
//! Law: it says what the terminal says, with all digits and for all items. What is in `results.json` too has its key and is
//! made here for both; indices are arrays beside `names`, as SALib has them; what is not known is null.

use serde::Serialize;

use super::summary::{
    Extreme, FixedValue, ForecastFacts, Indices, MoatRow, PhaseKind, PhaseSummary, StopRule,
    StudyFacts, StudyItem, StudySummary, VbdRow, VbdRows,
};
use crate::json::{DiagnosticJson, Entries};

/// What a run of a study came to: `headwater study run`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyRunJson {
    /// What the study came to.
    #[serde(flatten)]
    pub study: StudyJson,
    /// How the run ended.
    pub status: &'static str,
    /// What went wrong besides tasks that failed.
    pub errors: Vec<String>,
    /// What the readers of the files said.
    pub diagnostics: Vec<DiagnosticJson>,
}

/// What a study came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyJson {
    /// The name of the study.
    pub study: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The output that is studied.
    pub objective: String,
    /// The method, in words.
    pub method: String,
    /// Which of the random sequences.
    pub seed: u64,
    /// The run.
    pub run: String,
    /// Where the results are.
    pub folder: String,
    /// The files in it.
    pub files: StudyFilesJson,
    /// What the objective was computed for.
    pub items: Vec<StudyItemJson>,
    /// How many evaluations were to be made, in all phases.
    pub evaluations: usize,
    /// How many of them have a value.
    pub evaluated: usize,
    /// How many of them failed.
    pub failed: usize,
    /// Those that failed.
    pub failures: Vec<FailedEvaluationJson>,
    /// What each phase found.
    pub phases: Vec<PhaseJson>,
    /// Where the objective is highest; null where nothing has a value.
    pub best: Option<ExtremeJson>,
    /// Where it is lowest.
    pub worst: Option<ExtremeJson>,
    /// How many tasks stand where.
    pub counts: StudyCountsJson,
    /// What was shared, in words.
    pub sharing: String,
    /// On how many cores it ran.
    pub cores: usize,
    /// How long it took, from reading the study to its results.
    pub seconds: f64,
    /// How long tasks were running, from the first to the last.
    pub running_seconds: f64,
    /// How long tasks ran, all together.
    pub work_seconds: f64,
    /// The processor time that sharing and remembering saved; null where it is not known of all tasks.
    pub saved_seconds: Option<f64>,
    /// What the plan foresaw; null where costs were not known beforehand.
    pub forecast: Option<ForecastFactsJson>,
    /// Whether it was stopped before it was done.
    pub stopped: bool,
    /// Things worth telling, those first that put the answer in doubt.
    pub notes: Vec<String>,
}

/// The files that a study writes; null where one is not there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct StudyFilesJson {
    /// The page for people.
    pub report: Option<String>,
    /// The answer for programs.
    pub results: Option<String>,
    /// The parameter sets and what the objective is there.
    pub samples: Option<String>,
    /// The same of a first phase.
    pub screen: Option<String>,
}

/// Something that the objective was computed for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyItemJson {
    /// Its index path; null where it is not known.
    pub index: Option<String>,
    /// The inputs that it was made from, and what they are called.
    pub inputs: Entries<String>,
}

/// An evaluation without a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedEvaluationJson {
    /// The position of the phase, from 0.
    pub phase: usize,
    /// The parameter set; sets are numbered from 0 through all phases.
    pub set: usize,
    /// The position of the item, from 0.
    pub item: usize,
    /// Why.
    pub message: String,
}

/// A parameter set, and what the objective is there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExtremeJson {
    /// The parameter set; sets are numbered from 0 through all phases.
    pub set: usize,
    /// The objective, or its mean where there are several items.
    pub value: f64,
    /// Over how many items.
    pub items: usize,
    /// The parameters, and their values there.
    pub parameters: Entries<FixedValue>,
}

/// How many tasks of a study stand where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StudyCountsJson {
    /// How often all sets and items ask for tasks.
    pub tasks: usize,
    /// How many of them differ; the following ones are counted among these.
    pub distinct: usize,
    /// Those that ran.
    pub executed: usize,
    /// Those that were new, but read the same contents as others.
    pub cut_off: usize,
    /// Those that were remembered.
    pub reused: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that could not run because others failed.
    pub blocked: usize,
    /// Those that were not reached.
    pub left: usize,
    /// Those that were run again because what they had made was gone.
    pub recomputed: usize,
}

/// What a plan foresaw, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForecastFactsJson {
    /// What the forecast was made from, in words.
    pub from: String,
    /// Tasks to execute, at most.
    pub tasks: usize,
    /// Seconds of work.
    pub work_seconds: f64,
    /// Seconds until everything is done.
    pub seconds: f64,
    /// What came of it.
    pub fact: ForecastFactJson,
}

/// What came of what a forecast speaks of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForecastFactJson {
    /// Tasks that ran.
    pub tasks: usize,
    /// Seconds of work.
    pub work_seconds: f64,
    /// Seconds from the first task to the last.
    pub seconds: f64,
}

/// What a phase found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseJson {
    /// In one word.
    pub method: PhaseKind,
    /// In words.
    pub method_in_words: String,
    /// How many trajectories or base points were evaluated.
    pub groups: usize,
    /// How many the design has.
    pub groups_planned: usize,
    /// How many parameter sets were evaluated.
    pub sets: usize,
    /// How many the design has.
    pub sets_planned: usize,
    /// How many evaluations stand where.
    pub evaluations: EvaluationsJson,
    /// The parameters that do not vary, and their values.
    pub fixed: Entries<FixedValue>,
    /// What the objective may be; null where nothing has a value.
    pub range: Option<RangeJson>,
    /// The rule that a phase may end by; null where there is none.
    pub stop_rule: Option<StopRule>,
    /// The share that intervals cover, such as 0.95; null where there are none.
    pub confidence: Option<f64>,
    /// What effects are divided by; null where there are none.
    pub step: Option<&'static str>,
    /// What an effect is, in words; null where there are none.
    pub effect: Option<&'static str>,
    /// The items of which nothing is known.
    pub left_out: Vec<LeftOutJson>,
    /// The parameters; indices and ranks are in this order.
    pub names: Vec<String>,
    /// The parameters, the one that counts most first; empty where there are too few effects for an order.
    pub ranking: Vec<String>,
    /// The first and the last place that each parameter may have, from 1.
    pub ranks: Vec<Option<(usize, usize)>>,
    /// What to know before somebody relies on the indices.
    pub remarks: Vec<String>,
    /// The indices of all items together; null where the sets are the user's own.
    pub indices: Option<IndicesJson>,
    /// The indices of each item; absent where there is but one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<Option<IndicesJson>>,
}

/// How many evaluations of a phase stand where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvaluationsJson {
    /// Those of the whole design.
    pub planned: usize,
    /// Those that have a value.
    pub done: usize,
    /// Those that failed.
    pub failed: usize,
}

/// What the objective may be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RangeJson {
    /// The least value.
    pub least: f64,
    /// The mean of all.
    pub mean: f64,
    /// The largest.
    pub most: f64,
}

/// An item of which nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOutJson {
    /// The position of the item, from 0.
    pub item: usize,
    /// How many of its evaluations have a value.
    pub done: usize,
    /// How many failed.
    pub failed: usize,
    /// Why nothing is known.
    pub why: String,
}

/// Indices, and how much they rest on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IndicesJson {
    /// The indices themselves.
    #[serde(flatten)]
    pub indices: IndexColumnsJson,
    /// How much they rest on.
    #[serde(flatten)]
    pub counts: IndexCountsJson,
    /// What pairs do together; absent where it was not asked for.
    #[serde(flatten)]
    pub pairs: Option<PairSquaresJson>,
}

/// Indices by parameter, as the analyses of SALib name them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum IndexColumnsJson {
    /// Effects.
    Moat {
        /// The mean effect.
        mu: Vec<Option<f64>>,
        /// The mean size of the effects.
        mu_star: Vec<Option<f64>>,
        /// Their standard deviation.
        sigma: Vec<Option<f64>>,
        /// Half the width of the interval of `mu_star`.
        mu_star_conf: Vec<Option<f64>>,
    },
    /// Shares of the variance.
    Vbd {
        /// By itself.
        #[serde(rename = "S1")]
        s1: Vec<Option<f64>>,
        /// Half the width of its interval.
        #[serde(rename = "S1_conf")]
        s1_conf: Vec<Option<f64>>,
        /// Together with others.
        #[serde(rename = "ST")]
        st: Vec<Option<f64>>,
        /// Half the width of its interval.
        #[serde(rename = "ST_conf")]
        st_conf: Vec<Option<f64>>,
    },
}

/// How much counts, how much was lost for want of values, and how many steps had no length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum IndexCountsJson {
    /// Effects, by parameter.
    Moat {
        /// Those that count.
        used: Vec<usize>,
        /// Those without a value.
        lost: Vec<usize>,
        /// Those whose step had no length.
        no_step: Vec<usize>,
    },
    /// Base points.
    Vbd {
        /// Those that count.
        used: usize,
        /// Those without a value.
        lost: usize,
        /// Whether the objective is the same everywhere.
        constant: bool,
    },
}

/// Shares of pairs in squares: where SALib has no number, on the diagonal and below it, there is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairSquaresJson {
    /// What two parameters do together, beyond what each does by itself.
    #[serde(rename = "S2")]
    pub s2: Vec<Vec<Option<f64>>>,
    /// Half the width of its interval.
    #[serde(rename = "S2_conf")]
    pub s2_conf: Vec<Vec<Option<f64>>>,
}

impl StudyJson {
    /// From a summary; who knows files says where its results are, and which of them are there.
    pub fn of(summary: &StudySummary, folder: String, files: StudyFilesJson) -> StudyJson {
        let facts = &summary.facts;
        let all = summary.evaluations();
        let extremes = summary.extremes.as_ref();
        let phases = summary.phases.iter();
        let notes = summary.doubts.iter().chain(&facts.notes);
        StudyJson {
            study: summary.study.clone(),
            workflow: summary.workflow.clone(),
            objective: summary.objective.clone(),
            method: summary.method.clone(),
            seed: summary.seed,
            run: facts.run.clone(),
            folder,
            files,
            items: (summary.items.iter())
                .map(|item| StudyItemJson::of(Some(item)))
                .collect(),
            evaluations: all.wanted,
            evaluated: all.evaluated,
            failed: all.failed,
            failures: failures(&summary.phases),
            phases: phases.map(|phase| PhaseJson::of(phase, summary)).collect(),
            best: extremes.map(|extremes| ExtremeJson::of(&extremes.best)),
            worst: extremes.map(|extremes| ExtremeJson::of(&extremes.worst)),
            counts: StudyCountsJson::of(facts),
            sharing: facts.sharing.clone(),
            cores: facts.cores,
            seconds: facts.seconds,
            running_seconds: facts.running_seconds,
            work_seconds: facts.tasks.iter().map(|task| task.seconds).sum(),
            saved_seconds: facts.processor_seconds().1,
            forecast: facts.forecast.as_ref().map(ForecastFactsJson::of),
            stopped: facts.stopped,
            notes: notes.cloned().collect(),
        }
    }
}

fn failures(phases: &[PhaseSummary]) -> Vec<FailedEvaluationJson> {
    let phases = phases.iter().enumerate();
    let failed = phases.flat_map(|(phase, found)| {
        let failed = found.failed.iter();
        failed.map(move |failed| FailedEvaluationJson {
            phase,
            set: failed.set,
            item: failed.item,
            message: failed.why.clone(),
        })
    });
    failed.collect()
}

impl StudyItemJson {
    /// From an item, as far as it is known.
    pub(super) fn of(item: Option<&StudyItem>) -> StudyItemJson {
        let inputs = item.iter().flat_map(|item| item.inputs.iter().cloned());
        StudyItemJson {
            index: item.map(|item| item.index.clone()),
            inputs: inputs.collect(),
        }
    }
}

impl ExtremeJson {
    pub(super) fn of(found: &Extreme) -> ExtremeJson {
        ExtremeJson {
            set: found.set,
            value: found.value,
            items: found.items,
            parameters: found.parameters.iter().cloned().collect(),
        }
    }
}

impl StudyCountsJson {
    fn of(facts: &StudyFacts) -> StudyCountsJson {
        let tally = facts.tally();
        StudyCountsJson {
            tasks: facts.asked(),
            distinct: tally.tasks,
            executed: tally.executed,
            cut_off: tally.cut_off,
            reused: tally.reused,
            failed: tally.failed,
            blocked: tally.blocked,
            left: tally.left(),
            recomputed: facts.recomputed,
        }
    }
}

impl ForecastFactsJson {
    fn of(forecast: &ForecastFacts) -> ForecastFactsJson {
        let (tasks, work_seconds, seconds) = forecast.fact;
        ForecastFactsJson {
            from: forecast.from.clone(),
            tasks: forecast.tasks,
            work_seconds: forecast.work_seconds,
            seconds: forecast.seconds,
            fact: ForecastFactJson {
                tasks,
                // The sum of nothing has a sign.
                work_seconds: work_seconds + 0.0,
                seconds,
            },
        }
    }
}

impl PhaseJson {
    fn of(phase: &PhaseSummary, summary: &StudySummary) -> PhaseJson {
        let count = phase.evaluations(summary.items.len());
        let effect = phase.effect_in_words();
        let names = phase.parameters.iter();
        let range = phase.range();
        PhaseJson {
            method: phase.kind,
            method_in_words: phase.method.clone(),
            groups: phase.groups,
            groups_planned: phase.groups_planned,
            sets: phase.sets,
            sets_planned: phase.sets_planned,
            evaluations: EvaluationsJson {
                planned: phase.sets_planned * summary.items.len(),
                done: count.evaluated,
                failed: count.failed,
            },
            fixed: phase.fixed.iter().cloned().collect(),
            range: range.map(|(least, mean, most)| RangeJson { least, mean, most }),
            stop_rule: phase.rule,
            confidence: phase.confidence,
            step: effect.map(|_| phase.step.name()),
            effect,
            left_out: left_out(phase),
            names: names.map(|parameter| parameter.name.clone()).collect(),
            ranking: ranking(phase),
            ranks: phase.pooled.places(),
            remarks: phase.remarks(),
            indices: IndicesJson::of(&phase.pooled),
            each: phase.each.iter().map(IndicesJson::of).collect(),
        }
    }
}

/// The items of which nothing is known, in their order.
pub(super) fn left_out(phase: &PhaseSummary) -> Vec<LeftOutJson> {
    let left_out = phase.left_out();
    let left_out = left_out.iter().map(|left| LeftOutJson {
        item: left.item,
        done: left.evaluated,
        failed: left.failed,
        why: left.why(),
    });
    left_out.collect()
}

/// The parameters by falling size. Where there are too few effects or base points for ranks, no order is claimed.
pub(super) fn ranking(phase: &PhaseSummary) -> Vec<String> {
    if !phase.pooled.has_ranks() {
        return Vec::new();
    }
    let ranking = phase.pooled.ranking();
    let ranked = ranking.iter();
    let ranked = ranked.filter_map(|position| phase.parameters.get(*position));
    ranked.map(|parameter| parameter.name.clone()).collect()
}

impl IndicesJson {
    fn of(found: &Indices) -> Option<IndicesJson> {
        Some(IndicesJson {
            indices: IndexColumnsJson::of(found)?,
            counts: IndexCountsJson::of(found)?,
            pairs: PairSquaresJson::of(found),
        })
    }
}

impl IndexColumnsJson {
    pub(super) fn of(found: &Indices) -> Option<IndexColumnsJson> {
        match found {
            Indices::None => None,
            Indices::Moat(rows) => {
                let column =
                    |of: fn(&MoatRow) -> Option<f64>| rows.iter().map(of).collect::<Vec<_>>();
                Some(IndexColumnsJson::Moat {
                    mu: column(|row| row.mu),
                    mu_star: column(|row| row.mu_star),
                    sigma: column(|row| row.sigma),
                    mu_star_conf: column(|row| row.mu_star_conf),
                })
            }
            Indices::Vbd(VbdRows { rows, .. }) => {
                let column =
                    |of: fn(&VbdRow) -> Option<f64>| rows.iter().map(of).collect::<Vec<_>>();
                Some(IndexColumnsJson::Vbd {
                    s1: column(|row| row.s1),
                    s1_conf: column(|row| row.s1_conf),
                    st: column(|row| row.st),
                    st_conf: column(|row| row.st_conf),
                })
            }
        }
    }
}

impl IndexCountsJson {
    pub(super) fn of(found: &Indices) -> Option<IndexCountsJson> {
        match found {
            Indices::None => None,
            Indices::Moat(rows) => {
                let column = |of: fn(&MoatRow) -> usize| rows.iter().map(of).collect::<Vec<_>>();
                Some(IndexCountsJson::Moat {
                    used: column(|row| row.used),
                    lost: column(|row| row.lost),
                    no_step: column(|row| row.no_step),
                })
            }
            Indices::Vbd(found) => Some(IndexCountsJson::Vbd {
                used: found.used,
                lost: found.lost,
                constant: found.constant,
            }),
        }
    }
}

impl PairSquaresJson {
    /// Absent where there are no pairs.
    pub(super) fn of(found: &Indices) -> Option<PairSquaresJson> {
        let Indices::Vbd(found) = found else {
            return None;
        };
        if found.pairs.is_empty() {
            return None;
        }
        let many = found.rows.len();
        let mut s2 = vec![vec![None; many]; many];
        let mut s2_conf = s2.clone();
        for pair in &found.pairs {
            let (one, other) = pair.parameters;
            if one < many && other < many {
                s2[one][other] = pair.s2;
                s2_conf[one][other] = pair.s2_conf;
            }
        }
        Some(PairSquaresJson { s2, s2_conf })
    }
}

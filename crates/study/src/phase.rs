//! One phase of a study: its design is evaluated, prefix by prefix where a rule may end it early.
//!
//! Law: where a phase ends depends on the values at the fixed prefixes of its design and on nothing else. Sets are
//! numbered through all phases of a study.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_engine::keep::StoreKeeper;
use headwater_engine::listener::Ran;
use headwater_engine::load::Loaded;
use headwater_engine::{Error, Run};
use headwater_flow::{Method, StudiedParameter};
use headwater_graph::Scalar;
use headwater_graph::progress::StudySnapshot;
use headwater_merge::{
    Buckets, CostBalanced, Merge, Naive, Rtma, Sharing, SmartCut, Stages, Tree, Trtma, Weight,
};
use headwater_report::study::{
    CoursePoint, FailedEvaluation, FixedValue, ForecastFacts, Indices, PhaseKind, PhaseSummary,
    StopRule, StudyParameter,
};
use headwater_sensitivity::analyze::{AnalyzeError, Bootstrap};
use headwater_sensitivity::sample::MoatDesign;

use super::doubt;
use super::noted;
use crate::answer::{Values, answer, at_prefix};
use crate::assemble::{Assembled, Cut, assemble};
use crate::buckets::longest_chain;
use crate::costs::Costing;
use crate::course::courses;
use crate::design::{self, Design};
use crate::facts::{Book, Part};
use crate::instances::{Instances, Varied};
use crate::live::LiveValues;
use crate::load::Study;
use crate::names::Names;
use crate::open::{MadeReference, Open};
use crate::recalled::RecalledRound;
use crate::refuse::{misfit, refuse_too_many};
use crate::round::{Cell, EndedRound, Evaluation, Ground};
use crate::shared::{LookedUp, Shared};
use crate::words;

/// What is shared between the tasks of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StudyReuse {
    /// Nothing: every parameter set has its own tasks. For comparison; nothing is remembered or looked up.
    None,
    /// Whole stages that are equal. For comparison; nothing is remembered or looked up.
    Stage,
    /// Common beginnings of stages besides. For comparison; nothing is remembered or looked up.
    Chain,
    /// Every task that is the same, and what is remembered.
    Graph,
    /// The same, and tasks that turn out to be equal by content.
    #[default]
    Content,
}

/// How stages are put into buckets, each of which runs as one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucketing {
    /// Runs of so many stages, in the order in which they come.
    Naive,
    /// By repeated cuts; for few stages.
    SmartCut,
    /// By the reuse tree, at most N stages each.
    Rtma,
    /// By the reuse tree, at most N buckets, balanced by the number of tasks.
    Trtma,
    /// As TRTMA, balanced by cost.
    Cost,
}

/// Units that the coordinator can tell apart.
const MOST_BUCKETS: usize = 60_000;

/// How tasks are shared and cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Division {
    pub(crate) reuse: StudyReuse,
    pub(crate) buckets: Option<Bucketing>,
    pub(crate) max_bucket_size: usize,
    pub(crate) max_buckets: Option<usize>,
    pub(crate) workers: usize,
}

impl Division {
    /// Whether products are looked up and kept.
    pub(crate) fn remembers(&self) -> bool {
        self.buckets.is_none() && matches!(self.reuse, StudyReuse::Graph | StudyReuse::Content)
    }

    /// What is shared, in words.
    pub(crate) fn in_words(&self) -> String {
        let shared = match self.reuse {
            StudyReuse::None => "nothing is shared",
            StudyReuse::Stage => "equal stages are shared",
            StudyReuse::Chain => "common beginnings of stages are shared",
            StudyReuse::Graph => "equal tasks are shared",
            // Contents are compared where they are kept.
            StudyReuse::Content if !self.remembers() => "equal tasks are shared",
            StudyReuse::Content => "equal tasks are shared, also those that turn out to be equal",
        };
        match self.buckets {
            None => shared.to_owned(),
            Some(bucketing) => {
                let name = match bucketing {
                    Bucketing::Naive => "naive",
                    Bucketing::SmartCut => "smart cut",
                    Bucketing::Rtma => "RTMA",
                    Bucketing::Trtma => "TRTMA",
                    Bucketing::Cost => "cost-balanced",
                };
                format!("{name} buckets, in each of which {shared}")
            }
        }
    }

    fn cut(&self, shared: &Shared<'_>, costing: &Costing) -> Result<Cut, Error> {
        let Some(bucketing) = self.buckets else {
            return Ok(match self.reuse {
                StudyReuse::None => Cut::BySet,
                StudyReuse::Stage => Cut::ByStage,
                StudyReuse::Chain => Cut::ByChain,
                StudyReuse::Graph | StudyReuse::Content => Cut::Shared,
            });
        };
        let nodes = shared.compact.nodes();
        let weights: Vec<Weight> = nodes.map(|node| costing.weight(node.step)).collect();
        let chain = self.reuse == StudyReuse::Chain;
        let size = self.max_bucket_size;
        let buckets = |per_worker: usize| self.max_buckets.unwrap_or(per_worker * self.workers);
        let algorithm: Box<dyn Merge> = match bucketing {
            Bucketing::Naive => Box::new(Naive {
                max_bucket_size: size,
            }),
            Bucketing::SmartCut => Box::new(SmartCut {
                max_bucket_size: size,
            }),
            Bucketing::Rtma => Box::new(Rtma {
                max_bucket_size: size,
                paper: false,
            }),
            Bucketing::Trtma => Box::new(Trtma {
                max_buckets: buckets(crate::buckets::TRTMA_BUCKETS_PER_WORKER),
                paper: false,
            }),
            Bucketing::Cost => Box::new(CostBalanced {
                max_buckets: buckets(CostBalanced::BUCKETS_PER_WORKER),
                max_bytes: None,
                workers: self.workers,
                sharing: if chain {
                    Sharing::Chain
                } else {
                    Sharing::Graph
                },
            }),
        };
        let cut = |stages: &Stages| -> Option<Buckets> {
            (stages.width() > 1).then(|| algorithm.merge(stages, &Tree::new(stages), &weights))
        };
        let kinds = shared.compact.stages.iter();
        let buckets: Vec<Option<Buckets>> = kinds.map(|rows| cut(&rows.distinct)).collect();
        let count: usize = buckets.iter().flatten().map(Buckets::len).sum();
        if count < MOST_BUCKETS {
            Ok(Cut::ByBucket { buckets, chain })
        } else {
            Err(Error::usage(
                format!("{count} buckets are more than can be run on one machine"),
                Some("make them larger with --bucket-size, or fewer with --max-buckets".to_owned()),
            ))
        }
    }
}

/// What all phases of a study stand on.
pub(crate) struct Workplace<'a> {
    pub(crate) study: &'a Study,
    pub(crate) loaded: &'a Loaded,
    pub(crate) open: &'a Open,
    pub(crate) baseline: &'a BTreeMap<Arc<str>, Scalar>,
    pub(crate) ground: &'a Ground<'a>,
    pub(crate) division: Division,
    /// Whether outputs are to be written for every evaluation.
    pub(crate) delivers: bool,
}

/// A phase that is to be run.
pub(crate) struct Phase {
    pub(crate) design: Design,
    pub(crate) studied: Vec<StudiedParameter>,
    /// In words.
    pub(crate) method: String,
    pub(crate) bootstrap: Bootstrap,
    /// Which one, counted from 1, and of how many.
    pub(crate) number: (usize, usize),
    /// The number of its first set.
    pub(crate) first_set: usize,
}

/// A round of a phase.
pub(crate) struct Stretch {
    /// Its sets.
    pub(crate) varied: Varied,
    /// The number of its first set in the phase, and in the study.
    pub(crate) first: usize,
    pub(crate) first_set: usize,
    /// It is the first of the study.
    pub(crate) is_first: bool,
    /// It has all sets of the phase.
    pub(crate) is_whole: bool,
}

/// A phase that has ended.
pub(crate) struct EndedPhase {
    pub(crate) summary: PhaseSummary,
    /// The sets that were evaluated.
    pub(crate) varied: Varied,
    /// Its rounds that were run.
    pub(crate) rounds: Vec<EndedRound>,
    /// Those of which everything was remembered, and known beforehand.
    pub(crate) recalled: Vec<RecalledRound>,
    /// Stretch by round, whether it was recalled.
    pub(crate) is_recalled: Vec<bool>,
    /// References that show nothing, where it is the first phase.
    pub(crate) blank: Vec<MadeReference>,
    pub(crate) forecast: Option<ForecastFacts>,
}

/// Whether all evaluations of a prefix were come to.
fn is_whole(
    design: &Design,
    values: &Values,
    failed: &[FailedEvaluation],
    groups: usize,
    phase: &Phase,
) -> bool {
    let sets = design.prefix(groups).sets();
    let cells = values.iter().flat_map(|item| &item[..sets]);
    let missing = cells.filter(|value| value.is_none()).count();
    let failed = failed
        .iter()
        .filter(|failed| failed.set < phase.first_set + sets);
    missing <= failed.count()
}

/// How many tasks of some rounds ran, the seconds that they took, and the seconds from the first to the last.
fn what_ran(rounds: &[EndedRound]) -> (usize, f64, f64) {
    let ran = || {
        rounds.iter().flat_map(|ended| {
            let counts = |ran: &&Ran| ended.names.step(ran.task).is_some();
            ended.ran.iter().filter(counts)
        })
    };
    let work = ran().map(|ran| ran.wall as f64 / 1e9).sum();
    let begin = ran().map(|ran| ran.started).min().unwrap_or_default();
    let end = ran().map(|ran| ran.started + ran.wall).max();
    let took = end.unwrap_or_default().saturating_sub(begin);
    (ran().count(), work, took as f64 / 1e9)
}

/// What the store says about the tasks of a graph that is to be run. It is asked once: the keeper says the same when the
/// graph is opened.
fn look_up(shared: &Shared<'_>, assembled: &Assembled, keeper: &mut StoreKeeper) -> LookedUp {
    let by_task = keeper.look_up(&assembled.graph);
    let tasks = &assembled.of_nodes;
    let known = tasks.iter().map(|task| by_task[task.index()]).collect();
    LookedUp::of(shared, &assembled.graph, tasks, known)
}

/// An answer that cannot be given.
fn no_answer(error: AnalyzeError) -> Error {
    Error::usage(error.to_string(), None)
}

impl Workplace<'_> {
    /// The evaluations of a graph whose first set is `first`.
    fn cells(&self, assembled: &Assembled, first: usize) -> Vec<Cell> {
        let mut items = vec![None; self.open.blueprint.requested.len()];
        for (item, position) in self.open.items.iter().enumerate() {
            items[*position] = Some(item);
        }
        let requests = assembled.requested.iter().zip(&assembled.cells);
        let cell = |(requested, (set, position)): (&headwater_enact::Requested, &(u32, u32))| {
            Some(Cell {
                set: first + *set as usize,
                item: items[*position as usize]?,
                source: requested.source.clone(),
            })
        };
        requests.filter_map(cell).collect()
    }

    /// The instances of these sets.
    fn instances(&self, varied: &Varied) -> Result<Instances, Error> {
        let instances = Instances::new(&self.open.graph, &self.open.blueprint, varied)
            .map_err(|unfit| misfit(self.study, &unfit))?;
        refuse_too_many(self.study, &instances)?;
        Ok(instances)
    }

    fn assemble(
        &self,
        shared: &Shared<'_>,
        first_set: usize,
        cut: &Cut,
    ) -> Result<Assembled, Error> {
        let workflow = &self.loaded.workflow;
        assemble(
            &shared.instances,
            (&self.open.graph, &self.open.blueprint),
            workflow,
            first_set,
            cut,
            &shared.compact,
        )
    }

    /// What the store and the costs of operations say beforehand.
    fn forecast(
        &self,
        shared: &Shared<'_>,
        costing: &Costing,
        look_up: impl FnOnce() -> Result<LookedUp, Error>,
    ) -> Result<Option<ForecastFacts>, Error> {
        let Some(from) = costing.in_words() else {
            return Ok(None);
        };
        let found = look_up()?;
        let weights = shared.weights(costing, &found);
        let work: u64 = weights.to_do.iter().map(|weight| weight.cost).sum();
        let chain = longest_chain(&shared.compact, &weights.to_do);
        let least = work
            .div_ceil(self.division.workers.max(1) as u64)
            .max(chain);
        Ok(Some(ForecastFacts {
            from,
            tasks: found.to_execute,
            work_seconds: work as f64 / 1e9,
            seconds: least as f64 / 1e9,
            fact: (0, 0.0, 0.0),
        }))
    }

    /// Runs a phase.
    pub(crate) fn run(
        &self,
        phase: &Phase,
        book: &mut Book,
        run: &mut Run,
    ) -> Result<EndedPhase, Error> {
        let items = self.open.items.len();
        let groups = phase.design.groups();
        let until = self.study.study.until;
        let mut prefixes = match until {
            Some(_) => headwater_sensitivity::prefixes(u32::try_from(groups).unwrap_or(u32::MAX)),
            None => vec![groups as u32],
        };
        // Where there are too few to decide anything nothing is asked.
        let fewest = phase.design.fewest_to_decide();
        prefixes.retain(|prefix| *prefix as usize >= fewest.min(groups));
        let design = Arc::new(phase.design.clone());
        let names = phase.studied.iter().map(|known| Arc::clone(&known.name));
        let confidence = phase.bootstrap.confidence;
        let live = LiveValues::new(&design, names.collect(), items, confidence);
        let study = StudySnapshot {
            phase: phase.number.0,
            phases: phase.number.1,
            method: phase.method.clone(),
            ..StudySnapshot::default()
        };
        self.ground.begin(study, live);
        let mut forecast = None;
        let mut rule = until.map(|until| StopRule {
            ci: until.ci,
            reached: None,
            held: false,
        });
        let mut rounds: Vec<EndedRound> = Vec::new();
        let mut recalled: Vec<RecalledRound> = Vec::new();
        let mut is_recalled = Vec::new();
        let mut blank = Vec::new();
        let mut values: Values = vec![Vec::new(); items];
        let mut failed = Vec::new();
        let mut place = 0;
        let varied = loop {
            let prefix = phase.design.prefix(prefixes[place] as usize);
            let varied = prefix.varied(&phase.studied);
            // What earlier rounds have evaluated is there, or failed; a round has the sets beyond.
            let first = values.first().map_or(0, Vec::len);
            let round = Stretch {
                varied: varied.from(first),
                first,
                first_set: phase.first_set + first,
                is_first: place == 0 && phase.number.0 == 1,
                is_whole: varied.sets == phase.design.sets(),
            };
            for item in &mut values {
                item.resize(varied.sets, None);
            }
            (self.ground.progress).study(|study| study.evaluations = items * varied.sets);
            let instances = self.instances(&round.varied)?;
            let key = noted::key(
                &self.loaded.workflow,
                self.open,
                &round.varied,
                round.first_set,
            );
            let known = run.keeper();
            let known = known.and_then(|keeper| self.recall(&key, &instances, &round, keeper));
            is_recalled.push(known.is_some());
            let stopped = match known {
                Some(known) => {
                    if round.is_first {
                        forecast = self.foresee_nothing(phase, &instances, &round)?;
                    }
                    self.tell_recalled(&known, &instances, book);
                    known.read_off(&mut values);
                    recalled.push(known);
                    run.is_stopping()
                }
                None => {
                    let (ended, cells, foreseen) =
                        self.run_round(phase, instances, &round, book, run)?;
                    self.read_off(&ended, &cells, phase, &mut values, &mut failed);
                    if run.remembers() {
                        self.note(&key, &ended, &cells, (first, &values), book);
                    }
                    if round.is_first {
                        forecast = foreseen;
                        blank = doubt::blank(self.open, &ended);
                    }
                    let stopped = self.ground.is_over(&ended, run);
                    rounds.push(ended);
                    stopped
                }
            };
            place += 1;
            // A prefix of which a part is missing decides nothing.
            if let Some(rule) = rule.as_mut().filter(|_| !stopped) {
                let (found, widest) =
                    at_prefix(&prefix, &values, prefix.groups(), &phase.bootstrap)
                        .map_err(no_answer)?;
                rule.reached = widest;
                rule.held = found.indices.is_enough()
                    && rule.reached.is_some_and(|reached| reached <= rule.ci);
            }
            let held = rule.is_some_and(|rule| rule.held);
            if held || stopped || place == prefixes.len() {
                break varied;
            }
        };
        if let Some(forecast) = &mut forecast {
            forecast.fact = what_ran(&rounds);
        }
        let evaluated = phase.design.prefix(prefixes[place - 1] as usize);
        let found = answer(&evaluated, &values, &phase.bootstrap).map_err(no_answer)?;
        let done = evaluated.groups();
        let shown = headwater_sensitivity::prefixes(u32::try_from(done).unwrap_or(u32::MAX));
        let convergence = match found.pooled {
            Indices::None => Vec::new(),
            _ => shown
                .into_iter()
                .filter(|groups| is_whole(&evaluated, &values, &failed, *groups as usize, phase))
                .map(|groups| {
                    at_prefix(&evaluated, &values, groups as usize, &phase.bootstrap)
                        .map(|(summary, _)| summary)
                        .map_err(no_answer)
                })
                .collect::<Result<_, _>>()?,
        };
        let summary = PhaseSummary {
            kind: match &phase.design {
                Design::Moat(_) => PhaseKind::Moat,
                Design::Vbd(_) => PhaseKind::Vbd,
                Design::Table(_) => PhaseKind::Table,
            },
            method: phase.method.clone(),
            confidence: (found.pooled != Indices::None && phase.bootstrap.resamples > 1)
                .then_some(phase.bootstrap.confidence),
            parameters: self.parameters(phase, &evaluated, &courses(&varied, &values)),
            fixed: self.fixed(phase),
            levels: match &phase.design {
                Design::Moat(_) => design::levels(&self.study.study.method),
                Design::Vbd(_) | Design::Table(_) => None,
            },
            step: design::step(&self.study.study.method),
            groups: done,
            groups_planned: groups,
            first_set: phase.first_set,
            sets: varied.sets,
            sets_planned: phase.design.sets(),
            rule,
            failed,
            pooled: found.pooled,
            each: found.each,
            convergence,
            values,
        };
        blank.extend(recalled.iter_mut().flat_map(RecalledRound::take_blank));
        Ok(EndedPhase {
            summary,
            varied,
            rounds,
            recalled,
            is_recalled,
            blank,
            forecast,
        })
    }

    /// Runs a round. Gives what came of it, its evaluations, and what could be foreseen.
    fn run_round(
        &self,
        phase: &Phase,
        instances: Instances,
        round: &Stretch,
        book: &mut Book,
        run: &mut Run,
    ) -> Result<(EndedRound, Vec<Cell>, Option<ForecastFacts>), Error> {
        let shared = Shared::new(instances, self.open);
        let costing = Costing::new(&shared.operations, &**self.ground.store)?;
        let cut = self.division.cut(&shared, &costing)?;
        let mut assembled = self.assemble(&shared, round.first_set, &cut)?;
        let is_foreseen = round.is_first && run.remembers();
        let mut forecast = match run.keeper().filter(|_| round.is_first) {
            None => None,
            Some(_) if !round.is_whole => self.foresee(phase, &costing)?,
            Some(keeper) => self.forecast(&shared, &costing, || {
                Ok(look_up(&shared, &assembled, keeper))
            })?,
        };
        let cells = self.cells(&assembled, round.first);
        if round.is_first {
            let looked_at = doubt::references(self.open, &shared.instances, &assembled);
            assembled.requested.extend(looked_at);
        }
        let names = Names::new(&self.loaded.workflow, self.open.stages(), &shared.instances);
        drop(shared);
        let ended = self.ground.run(assembled, names, &cells, run)?;
        book.round(&ended, Part::Sets);
        book.tell(self.ground.progress);
        if is_foreseen && forecast.is_none() && round.is_whole {
            forecast = ended.foreseen(&cells, self.division.workers);
        }
        Ok((ended, cells, forecast))
    }

    /// What a study will take whose first round has a part of its sets, as far as that can be told before.
    pub(crate) fn foresee(
        &self,
        phase: &Phase,
        costing: &Costing,
    ) -> Result<Option<ForecastFacts>, Error> {
        let whole = self.instances(&phase.design.varied(&phase.studied))?;
        let whole = Shared::new(whole, self.open);
        self.forecast(&whole, costing, || {
            LookedUp::new(&whole, &self.open.graph, &**self.ground.store)
        })
    }

    /// Takes in the values of a round, and the evaluations that failed.
    fn read_off(
        &self,
        ended: &EndedRound,
        cells: &[Cell],
        phase: &Phase,
        values: &mut Values,
        failed: &mut Vec<FailedEvaluation>,
    ) {
        let found = ended.values(cells);
        for (cell, found) in cells.iter().zip(found) {
            match found {
                Evaluation::Number(number) => values[cell.item][cell.set] = Some(number),
                Evaluation::Failed(why) => failed.push(FailedEvaluation {
                    set: phase.first_set + cell.set,
                    item: cell.item,
                    why,
                }),
                Evaluation::Left => {}
            }
        }
    }

    fn parameters(
        &self,
        phase: &Phase,
        evaluated: &Design,
        courses: &[Vec<CoursePoint>],
    ) -> Vec<StudyParameter> {
        let moat = match evaluated {
            Design::Moat(design) => Some(design),
            Design::Vbd(_) | Design::Table(_) => None,
        };
        let none = || vec![0; phase.studied.len()];
        let stuck = moat.map_or_else(none, MoatDesign::stuck);
        let unordered = (0..).map(|place| moat.is_some_and(|moat| moat.is_unordered(place)));
        let own = stuck.into_iter().zip(unordered);
        let parameter = |((studied, own), course): ((&StudiedParameter, (u32, bool)), &Vec<_>)| {
            let default = self.default(studied);
            StudyParameter {
                name: studied.name.to_string(),
                range: studied.values.to_string(),
                default: default.map(ToString::to_string),
                default_outside: default.is_some_and(|default| studied.values.is_outside(default)),
                values: studied.values.count().map(u64::from),
                stuck: own.0 as usize,
                unordered: own.1,
                course: course.clone(),
            }
        };
        let studied = phase.studied.iter().zip(own);
        studied.zip(courses).map(parameter).collect()
    }

    /// The default of a parameter, where it has one.
    pub(crate) fn default<'s>(&'s self, studied: &'s StudiedParameter) -> Option<&'s Scalar> {
        let declared = self.loaded.workflow.parameters.iter();
        let mut declared = declared.filter(|known| known.name == studied.name);
        let own = || declared.next().and_then(|known| known.default.as_ref());
        studied.default.as_ref().or_else(own)
    }

    /// The parameters that do not vary in a phase.
    fn fixed(&self, phase: &Phase) -> Vec<(String, FixedValue)> {
        let declared = self.loaded.workflow.parameters.iter();
        let varies = |name: &Arc<str>| phase.studied.iter().any(|known| known.name == *name);
        let value = |name: &Arc<str>| {
            let fixed = self.study.resolved.fixed.iter();
            let mut fixed = fixed.filter(|(known, _)| known == name);
            let fixed = fixed.next().map(|(_, value)| value);
            fixed.or_else(|| self.baseline.get(name))
        };
        declared
            .filter(|known| !varies(&known.name))
            .filter_map(|known| {
                let value = value(&known.name)?;
                Some((known.name.to_string(), value.into()))
            })
            .collect()
    }
}

/// How many phases a study has.
pub(crate) fn planned(study: &Study) -> usize {
    match &study.study.method {
        Method::TwoPhase { .. } => 2,
        Method::Moat(_) | Method::Vbd(_) | Method::Table(_) => 1,
    }
}

/// The first phase of a study.
pub(crate) fn first(study: &Study, design: Design) -> Phase {
    let (resamples, confidence) = match &study.study.method {
        Method::Moat(moat) | Method::TwoPhase { screen: moat, .. } => {
            (moat.bootstrap, moat.confidence)
        }
        Method::Vbd(vbd) => (vbd.bootstrap, vbd.confidence),
        Method::Table(_) => (0, 0.95),
    };
    Phase {
        design,
        studied: study.resolved.studied.clone(),
        method: words::first_in_words(&study.study.method, study.study.until.is_some()),
        bootstrap: Bootstrap {
            resamples,
            confidence,
            seed: study.study.seed,
        },
        number: (1, planned(study)),
        first_set: 0,
    }
}

/// The phase that follows one, if there is one: the parameters with the largest effects, in the order of the study.
pub(crate) fn following(
    study: &Study,
    before: &PhaseSummary,
    first_set: usize,
) -> Result<Option<Phase>, Error> {
    let Method::TwoPhase { keep, then, .. } = &study.study.method else {
        return Ok(None);
    };
    let mut kept = before.pooled.ranking();
    kept.retain(|place| before.pooled.sizes()[*place].0.is_some());
    kept.truncate(keep.value as usize);
    kept.sort_unstable();
    if kept.is_empty() {
        return Err(Error::usage(
            "the screening gives no effects, so nothing is known to keep for the second phase",
            Some("mend what failed, and give the command again".to_owned()),
        ));
    }
    let studied: Vec<StudiedParameter> = kept
        .iter()
        .map(|place| study.resolved.studied[*place].clone())
        .collect();
    let design = Design::vbd(study, &studied, then)?;
    Ok(Some(Phase {
        design,
        studied,
        method: words::vbd_in_words(then, study.study.until.is_some()),
        bootstrap: Bootstrap {
            resamples: then.bootstrap,
            confidence: then.confidence,
            seed: study.study.seed,
        },
        number: (2, 2),
        first_set,
    }))
}

//! Rounds that an earlier run has noted, and all of whose evaluations are remembered.
//!
//! Law: a round that is recalled gives what it would give if its graph were put together and nothing had to be done: the
//! same values, counts, addresses and times. Where that cannot be said for certain it is not recalled.

use std::collections::HashSet;
use std::sync::Arc;

use headwater_enact::State;
use headwater_engine::fetch::Presence;
use headwater_engine::keep::StoreKeeper;
use headwater_engine::{Error, diagram};
use headwater_execute::Ports;
use headwater_graph::{Digest, Mode, Operation, Recipe, Source, TaskId, Value};
use headwater_report::study::ForecastFacts;

use crate::answer::Values;
use crate::costs::Costing;
use crate::doubt::{asked_as, shows_nothing};
use crate::facts::Book;
use crate::instances::Instances;
use crate::names::Names;
use crate::noted::{self, FEWEST_TASKS, NotedCell, NotedRound, NotedTask};
use crate::open::MadeReference;
use crate::phase::{Phase, Stretch, Workplace};
use crate::recalled::RecalledRound;
use crate::round::{Cell, EndedRound, number};

impl Workplace<'_> {
    /// The operations of the steps of an instance.
    fn operations(&self, instances: &Instances) -> Vec<&Arc<Operation>> {
        let tasks = instances.tasks.iter();
        tasks
            .map(|task| self.open.graph.operation_at(*task))
            .collect()
    }

    /// Whether everything that has to be done is asked for as the value of an evaluation.
    fn is_all_evaluations(&self) -> bool {
        let blueprint = &self.open.blueprint;
        let mut asked = HashSet::new();
        for requested in &blueprint.requested {
            requested.source.for_each_task(&mut |task| {
                asked.insert(task);
            });
        }
        blueprint.requested.len() == self.open.items.len()
            && blueprint.wanted.iter().all(|task| asked.contains(task))
    }

    /// A round by its note, where one is found and all of its values are remembered.
    pub(crate) fn recall(
        &self,
        key: &Digest,
        instances: &Instances,
        round: &Stretch,
        keeper: &StoreKeeper,
    ) -> Option<RecalledRound> {
        // What is delivered is read from the tasks of a graph.
        if self.delivers || !self.is_all_evaluations() {
            return None;
        }
        let workflow = &self.loaded.workflow;
        let mut noted = noted::find(&**self.ground.store, &workflow.name, key)?;
        let (steps, items) = (instances.tasks.len(), self.open.items.len());
        if !noted.fits(steps, items, instances.sets.len(), self.open.made.len()) {
            return None;
        }
        let cells = noted.cells.iter().map(|cell| (cell.task, cell.port));
        let references = noted
            .references
            .iter()
            .map(|(_, task, port)| (*task, *port));
        let mut wanted: Vec<(u32, u16)> = cells.chain(references).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let by_task: Vec<&[(u32, u16)]> = wanted.chunk_by(|one, other| one.0 == other.0).collect();
        let asked = |of_task: &&[(u32, u16)]| {
            let ports = of_task.iter().map(|(_, port)| *port).collect();
            let recipe = noted.tasks[of_task[0].0 as usize].recipe;
            (recipe, Ports::These(ports))
        };
        let asked: Vec<(Recipe, Ports)> = by_task.iter().map(asked).collect();
        let fetcher = keeper.eager_fetcher();
        let mut found: Vec<Option<Value>> = Vec::with_capacity(wanted.len());
        for (of_task, presence) in by_task.iter().zip(fetcher.present(&asked, true)) {
            let Presence::Stored(record) = presence else {
                return None;
            };
            let values = of_task
                .iter()
                .map(|(_, port)| fetcher.output(&record, *port));
            found.extend(values);
        }
        let value = |task: u32, port: u16| {
            let place = wanted.binary_search(&(task, port)).ok()?;
            found[place].as_ref()
        };
        let evaluated = |cell: &NotedCell| {
            let number = number(value(cell.task, cell.port)?)?;
            number.is_finite().then_some(number)
        };
        let values = noted.cells.iter().map(evaluated).collect::<Option<_>>()?;
        let is_blank =
            |(_, task, port): &&(u32, u32, u16)| value(*task, *port).is_some_and(shows_nothing);
        let blank = noted.references.iter().filter(is_blank);
        let blank = blank.map(|(made, ..)| self.open.made[*made as usize].clone());
        let blank = blank.collect();
        let mut names = Names::new(workflow, self.open.stages(), instances);
        let places = noted.tasks.iter().map(|task| task.place).collect();
        names.at(places, std::mem::take(&mut noted.shared));
        Some(RecalledRound {
            noted,
            names,
            values,
            blank,
            first: round.first,
            first_set: round.first_set,
        })
    }

    /// Tells what a recalled round has.
    pub(crate) fn tell_recalled(
        &self,
        round: &RecalledRound,
        instances: &Instances,
        book: &mut Book,
    ) {
        for (cell, value) in round.noted.cells.iter().zip(&round.values) {
            let set = round.first + cell.set as usize;
            self.ground.value(set, cell.item as usize, *value);
        }
        book.recall(&round.noted, &round.names, &self.operations(instances));
        book.tell(self.ground.progress);
    }

    /// What was to be expected of a study whose first round has nothing to do.
    pub(crate) fn foresee_nothing(
        &self,
        phase: &Phase,
        instances: &Instances,
        round: &Stretch,
    ) -> Result<Option<ForecastFacts>, Error> {
        let costing = Costing::new(&self.operations(instances), &**self.ground.store)?;
        if !round.is_whole {
            return self.foresee(phase, &costing);
        }
        Ok(costing.in_words().map(|from| ForecastFacts {
            from,
            tasks: 0,
            work_seconds: 0.0,
            seconds: 0.0,
            fact: (0, 0.0, 0.0),
        }))
    }

    /// Notes a round that has ended, where it is large and everything in it went well.
    pub(crate) fn note(
        &self,
        key: &Digest,
        ended: &EndedRound,
        cells: &[Cell],
        (first, values): (usize, &Values),
        book: &Book,
    ) {
        let writes = self.ground.store.mode() == Mode::ReadWrite;
        if ended.asks.len() < FEWEST_TASKS || !writes || !self.is_all_evaluations() {
            return;
        }
        let is_whole = |cell: &Cell| values[cell.item][cell.set].is_some();
        if !cells.iter().all(is_whole) {
            return;
        }
        if let Some(round) = self.noted(ended, cells, first, book) {
            // What is not noted is put together again.
            let _ = noted::write(&**self.ground.store, self.ground.name, key, &round);
        }
    }

    fn noted(
        &self,
        ended: &EndedRound,
        cells: &[Cell],
        first: usize,
        book: &Book,
    ) -> Option<NotedRound> {
        let (graph, coordinator) = (ended.enactment.graph(), ended.enactment.coordinator());
        let times = book.processor_times(ended, &**self.ground.store).ok()?;
        const NOWHERE: u32 = u32::MAX;
        let mut numbers = vec![NOWHERE; graph.len()];
        let mut round = NotedRound::default();
        for task in graph.ids() {
            let signature = &graph.operation_at(task).signature;
            let is_fine = matches!(
                coordinator.state(task),
                State::Done | State::Known | State::Idle
            );
            if !signature.pure || !is_fine {
                return None;
            }
            if signature.implicit || ended.names.step(task).is_none() {
                continue;
            }
            numbers[task.index()] = round.tasks.len() as u32;
            round.tasks.push(NotedTask {
                recipe: graph.recipe(task),
                place: ended.names.place(task)?,
                asks: ended.asks[task.index()],
                cpu: times[task.index()],
            });
        }
        let made_by = |source: &Source| match source {
            Source::Product { task, port } => {
                let number = numbers[task.index()];
                (number != NOWHERE).then_some((number, *port))
            }
            _ => None,
        };
        for cell in cells {
            let (task, port) = made_by(&cell.source)?;
            round.cells.push(NotedCell {
                set: (cell.set - first) as u32,
                item: cell.item as u32,
                task,
                port,
            });
        }
        for requested in ended.enactment.requested() {
            if !requested.output.starts_with(' ') {
                continue;
            }
            let is_this = |made: &MadeReference| {
                asked_as(made) == requested.output && made.index == requested.index
            };
            let made = self.open.made.iter().position(is_this)?;
            let (task, port) = made_by(&requested.source)?;
            round.references.push((made as u32, task, port));
        }
        for (place, task) in ended.names.shared() {
            let number = numbers[task.index()];
            if number != NOWHERE {
                round.shared.push((*place, TaskId(number)));
            }
        }
        let definition = |task: TaskId| {
            let step = ended.names.step(task)?;
            Some((step.stage, &*step.task))
        };
        let part = diagram::Part {
            enactment: &ended.enactment,
            definition: &definition,
            address: &|task| ended.names.address(&ended.enactment, task),
        };
        round.census = diagram::census(&self.loaded.workflow, &part);
        Some(round)
    }
}

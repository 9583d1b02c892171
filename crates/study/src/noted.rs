//! The tasks of a round as a run has noted them, for who runs the same round again.
//!
//! Law: a note says what can be computed again from the study: which tasks its graph has, and which of them make the
//! evaluations. It is found by a digest of everything that this follows from, and is used only where it is whole. No
//! value comes from it: those are taken from the store, and where one of them is not there, the round is run.
//!
//! Putting a graph together, naming its tasks and looking all of them up is most of what a study costs that has nothing
//! to do. Small rounds are over before it matters, and are not noted.

use std::fmt::{Debug, Write as _};
use std::io;

use headwater_engine::diagram::Census;
use headwater_graph::{ContentHasher, Digest, Recipe, Store, TaskId, Workflow};

use crate::assemble::TaskPlace;
use crate::instances::Varied;
use crate::open::Open;

/// Rounds of fewer tasks are not noted.
pub(crate) const FEWEST_TASKS: usize = 10_000;

/// How many runs are looked through for a note.
const MOST_RUNS: usize = 256;

/// What a note begins with. Any change of what is noted, or of how tasks are named or put in order, needs another.
const BEGINNING: &[u8] = b"headwater round 1\n";

/// A task that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotedTask {
    pub(crate) recipe: Recipe,
    pub(crate) place: TaskPlace,
    /// How many sets and items ask for it.
    pub(crate) asks: u32,
    /// What making its product took, in nanoseconds of processor time.
    pub(crate) cpu: Option<u64>,
}

/// An evaluation: its set, its item, and the output of a task that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotedCell {
    pub(crate) set: u32,
    pub(crate) item: u32,
    /// A position among the tasks.
    pub(crate) task: u32,
    pub(crate) port: u16,
}

/// A round.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NotedRound {
    pub(crate) tasks: Vec<NotedTask>,
    pub(crate) cells: Vec<NotedCell>,
    /// References that are looked at: which one, and the output of a task that it is.
    pub(crate) references: Vec<(u32, u32, u16)>,
    /// Where tasks stand besides.
    pub(crate) shared: Vec<(TaskPlace, TaskId)>,
    pub(crate) census: Census,
}

impl NotedRound {
    /// Whether it fits a study with these numbers of steps, items, sets and references: it has each evaluation once.
    pub(crate) fn fits(&self, steps: usize, items: usize, sets: usize, references: usize) -> bool {
        let stands = |place: &TaskPlace| (place.step as usize) < steps;
        let is_cell = |cell: &NotedCell| (cell.item as usize) < items && (cell.set as usize) < sets;
        let mut seen = vec![false; items * sets];
        let is_new = |cell: &NotedCell| {
            let place = cell.item as usize * sets + cell.set as usize;
            !std::mem::replace(&mut seen[place], true)
        };
        self.tasks.iter().all(|task| stands(&task.place))
            && self.shared.iter().all(|(place, _)| stands(place))
            && self.cells.iter().all(is_cell)
            && self.cells.len() == items * sets
            && self.cells.iter().all(is_new)
            && (self.references.iter()).all(|(made, ..)| (*made as usize) < references)
    }
}

/// Digests text.
struct Text(ContentHasher);

impl std::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// What the tasks of a round follow from: the workflow over its data, and the parameter sets from `first` on.
pub(crate) fn key(workflow: &Workflow, open: &Open, varied: &Varied, first: usize) -> Digest {
    let mut text = Text(ContentHasher::new());
    text.0.update(BEGINNING);
    let stages: Vec<&str> = workflow.stages.iter().map(|stage| &*stage.name).collect();
    let parts: [&dyn Debug; 12] = [
        &env!("CARGO_PKG_VERSION"),
        &stages,
        &open.blueprint.bindings,
        &open.blueprint.stages,
        &open.blueprint.requested,
        &open.blueprint.wanted,
        &open.reference_stages,
        &open.made,
        &open.items,
        &varied.names,
        &varied.values,
        &(varied.sets, first),
    ];
    for part in parts {
        // Writing to a digest does not fail.
        let _ = writeln!(text, "{part:?}");
    }
    // These say which operations there are, of which version, and what they read.
    for task in open.graph.ids() {
        text.0.update(&open.graph.recipe(task).0);
    }
    let mut bytes = Vec::with_capacity(4 * varied.cells.len());
    for cell in &varied.cells {
        bytes.extend_from_slice(&cell.to_le_bytes());
    }
    text.0.update(&bytes);
    text.0.finish()
}

/// What the note of a round is called among those of a run.
fn name(key: &Digest) -> String {
    format!("round-{}.bin", key.short())
}

/// The note of a round, by the latest run of this workflow that has one.
pub(crate) fn find(store: &dyn Store, workflow: &str, key: &Digest) -> Option<NotedRound> {
    let runs = store.runs(MOST_RUNS).ok()?;
    let name = name(key);
    let found = runs
        .iter()
        .find(|run| run.workflow == workflow && store.has_attachment(&run.id, &name))?;
    read(&store.attachment(&found.id, &name).ok()?, key)
}

/// Notes a round.
pub(crate) fn write(
    store: &dyn Store,
    run: &str,
    key: &Digest,
    round: &NotedRound,
) -> io::Result<()> {
    store.attach(run, &name(key), &bytes(key, round)?)
}

/// No time is known.
const UNKNOWN: u64 = u64::MAX;

fn bytes(key: &Digest, round: &NotedRound) -> io::Result<Vec<u8>> {
    let census = serde_json::to_vec(&round.census)?;
    let mut out = Vec::with_capacity(52 * round.tasks.len() + 16 * round.cells.len() + 4096);
    out.extend_from_slice(BEGINNING);
    out.extend_from_slice(&key.0);
    let lengths = [
        census.len(),
        round.tasks.len(),
        round.cells.len(),
        round.references.len(),
        round.shared.len(),
    ];
    for length in lengths {
        out.extend_from_slice(&(length as u64).to_le_bytes());
    }
    out.extend_from_slice(&census);
    let number = |out: &mut Vec<u8>, number: u32| out.extend_from_slice(&number.to_le_bytes());
    for task in &round.tasks {
        out.extend_from_slice(&task.recipe.0);
        for part in [task.place.step, task.place.set, task.asks] {
            number(&mut out, part);
        }
        out.extend_from_slice(&task.cpu.unwrap_or(UNKNOWN).to_le_bytes());
    }
    for cell in &round.cells {
        for part in [cell.set, cell.item, cell.task, u32::from(cell.port)] {
            number(&mut out, part);
        }
    }
    for (reference, task, port) in &round.references {
        for part in [*reference, *task, u32::from(*port)] {
            number(&mut out, part);
        }
    }
    for (place, task) in &round.shared {
        for part in [place.step, place.set, task.0] {
            number(&mut out, part);
        }
    }
    let seal = Digest::of(&out);
    out.extend_from_slice(&seal.0);
    Ok(out)
}

/// Takes bytes off the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).ok()
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u32; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = u32::from_le_bytes(self.array()?);
        }
        Some(numbers)
    }
}

/// The round in a note; `None` where that is not whole, or of another round.
fn read(bytes: &[u8], key: &Digest) -> Option<NotedRound> {
    let (noted, seal) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    if Digest::of(noted).0 != seal {
        return None;
    }
    let mut reader = Reader(noted);
    if reader.take(BEGINNING.len())? != BEGINNING || reader.array()? != key.0 {
        return None;
    }
    let lengths = [(); 5].map(|()| reader.length());
    let [census, tasks, cells, references, shared] = lengths;
    let census = serde_json::from_slice(reader.take(census?)?).ok()?;
    let mut task = || {
        let recipe = Recipe(reader.array()?);
        let [step, set, asks] = reader.numbers()?;
        let cpu = u64::from_le_bytes(reader.array()?);
        Some(NotedTask {
            recipe,
            place: TaskPlace { step, set },
            asks,
            cpu: (cpu != UNKNOWN).then_some(cpu),
        })
    };
    let tasks: Vec<NotedTask> = (0..tasks?).map(|_| task()).collect::<Option<_>>()?;
    let is_task = |task: u32| (task as usize) < tasks.len();
    let mut cell = || {
        let [set, item, task, port] = reader.numbers()?;
        let port = u16::try_from(port).ok()?;
        is_task(task).then_some(NotedCell {
            set,
            item,
            task,
            port,
        })
    };
    let cells = (0..cells?).map(|_| cell()).collect::<Option<_>>()?;
    let mut reference = || {
        let [reference, task, port] = reader.numbers()?;
        let port = u16::try_from(port).ok()?;
        is_task(task).then_some((reference, task, port))
    };
    let references = (0..references?)
        .map(|_| reference())
        .collect::<Option<_>>()?;
    let mut stands = || {
        let [step, set, task] = reader.numbers()?;
        is_task(task).then_some((TaskPlace { step, set }, TaskId(task)))
    };
    let shared = (0..shared?).map(|_| stands()).collect::<Option<_>>()?;
    Some(NotedRound {
        tasks,
        cells,
        references,
        shared,
        census,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round() -> NotedRound {
        let task = |number: u8| NotedTask {
            recipe: Recipe([number; 32]),
            place: TaskPlace {
                step: u32::from(number),
                set: 7,
            },
            asks: 3,
            cpu: (number != 2).then_some(u64::from(number) << 40),
        };
        NotedRound {
            tasks: (0..3).map(task).collect(),
            cells: vec![NotedCell {
                set: 9,
                item: 1,
                task: 2,
                port: 4,
            }],
            references: vec![(0, 1, 2)],
            shared: vec![(TaskPlace { step: 1, set: 8 }, TaskId(1))],
            census: Census::default(),
        }
    }

    #[test]
    fn a_note_comes_back_as_it_was() {
        let key = Digest([5; 32]);
        let noted = bytes(&key, &round()).unwrap();
        assert_eq!(read(&noted, &key), Some(round()));
        assert_eq!(read(&noted, &Digest([6; 32])), None);
    }

    #[test]
    fn a_note_that_is_cut_or_changed_anywhere_is_none() {
        let key = Digest([5; 32]);
        let noted = bytes(&key, &round()).unwrap();
        for place in 0..noted.len() {
            let mut changed = noted.clone();
            changed[place] ^= 1;
            assert_eq!(read(&changed, &key), None, "byte {place}");
            assert_eq!(read(&noted[..place], &key), None, "cut at {place}");
        }
    }

    #[test]
    fn a_note_whose_numbers_lead_nowhere_is_none() {
        let key = Digest([5; 32]);
        let mut far = round();
        far.cells[0].task = 3;
        assert_eq!(read(&bytes(&key, &far).unwrap(), &key), None);
    }
}

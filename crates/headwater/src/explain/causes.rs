//! From a product back to what made it another one: root causes.
//!
//! Law: a cause is a parameter, a version or something from outside that changed, at the task where it changed; a
//! product that only differs because of others is followed, never named. A task that was found to be equal to a product
//! is followed by what it reads itself: that product may have come to be in quite another way. The work is bounded, and
//! it is said when something was left out.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use headwater_graph::{ProductRecord, Recipe, StoreError, VersionParts};

use super::Source;
use super::change::{Change, Named, differences, version_changes};

/// At most so many pairs of products are compared.
const MOST_PAIRS: usize = 50_000;
/// At most so many causes are counted for one task.
const MOST_CAUSES: usize = 200;
/// At most so many products are looked at to find what items were made from.
const MOST_ROOTS: usize = 1000;
/// At most so many addresses are named for one cause.
const MOST_TASKS: usize = 5;

/// What is remembered of a recipe.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// What it computes and from what: its own record, never that of a product that it was found to be equal to.
    pub(crate) own: Option<ProductRecord>,
    /// The product that stands for it: itself, or one that it is equal to.
    pub(crate) product: Recipe,
}

/// What is remembered, as far as it matters here.
pub(crate) trait Memory {
    /// What is remembered of recipes.
    fn records(&self, recipes: &[Recipe]) -> Result<Vec<Option<Found>>, StoreError>;
    /// What a version stands for.
    fn parts(&self, version: &str) -> Result<Option<VersionParts>, StoreError>;
    /// What something from outside was called in a run.
    fn name(&self, run: &str, identity: &str) -> Option<String>;
    /// Whether a run has read something from outside, or something else of that name, as far as is known.
    fn was_read(&self, run: &str, identity: &str, name: Option<&str>) -> bool;
    /// The address of a task in the run that is being explained.
    fn address(&self, recipe: &Recipe) -> Option<String>;
}

/// A change, and the tasks that it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The operation of these tasks.
    pub operation: Arc<str>,
    /// What changed.
    pub change: Change,
    /// Addresses of the first few tasks that it changed.
    pub tasks: Vec<String>,
    /// How many it changed, in all that was looked at.
    pub count: usize,
}

#[derive(Debug, Default)]
struct Pair {
    /// Both have the same contents: whoever reads them does not differ because of it.
    same: bool,
    own: BTreeSet<usize>,
    upstream: Vec<usize>,
    all: Option<BTreeSet<usize>>,
}

/// Finds root causes of any number of pairs, and follows what they have in common once.
pub(crate) struct Causes<'a, M: Memory> {
    memory: &'a M,
    numbers: HashMap<(Recipe, Recipe), usize>,
    pairs: Vec<Pair>,
    found: HashMap<(Arc<str>, Change), usize>,
    causes: Vec<Cause>,
    versions: HashMap<(Arc<str>, Arc<str>), Vec<Change>>,
    /// What one product stands for is followed all the same: wanted is what made recipes new, not what made contents new.
    through_equals: bool,
    /// Something was not looked at.
    pub(crate) incomplete: bool,
}

impl<'a, M: Memory> Causes<'a, M> {
    pub(crate) fn new(memory: &'a M) -> Causes<'a, M> {
        Causes {
            memory,
            numbers: HashMap::new(),
            pairs: Vec::new(),
            found: HashMap::new(),
            causes: Vec::new(),
            versions: HashMap::new(),
            through_equals: false,
            incomplete: false,
        }
    }

    /// Finds what made recipes new, also where contents stayed the same.
    pub(crate) fn through_equals(memory: &'a M) -> Causes<'a, M> {
        Causes {
            through_equals: true,
            ..Causes::new(memory)
        }
    }

    /// For each pair (before, now) the numbers of its root causes, nearest first.
    pub(crate) fn of(
        &mut self,
        wanted: &[(Recipe, Recipe)],
    ) -> Result<Vec<Vec<usize>>, StoreError> {
        let mut frontier = Vec::new();
        for pair in wanted {
            self.number(*pair, &mut frontier);
        }
        while !frontier.is_empty() {
            frontier = self.level(&frontier)?;
        }
        let numbers: Vec<Option<usize>> = wanted
            .iter()
            .map(|pair| self.numbers.get(pair).copied())
            .collect();
        let all = |number: Option<usize>| match number {
            Some(number) => self.all(number),
            None => Vec::new(),
        };
        Ok(numbers.into_iter().map(all).collect())
    }

    /// The cause of a number.
    pub(crate) fn cause(&self, number: usize) -> &Cause {
        &self.causes[number]
    }

    /// The number of a pair; a new one has to be looked at.
    fn number(
        &mut self,
        pair: (Recipe, Recipe),
        frontier: &mut Vec<(Recipe, Recipe)>,
    ) -> Option<usize> {
        if let Some(number) = self.numbers.get(&pair) {
            return Some(*number);
        }
        if self.pairs.len() >= MOST_PAIRS {
            self.incomplete = true;
            return None;
        }
        let number = self.pairs.len();
        self.numbers.insert(pair, number);
        self.pairs.push(Pair::default());
        frontier.push(pair);
        Some(number)
    }

    /// Compares the pairs of one level; gives those of the next.
    fn level(
        &mut self,
        frontier: &[(Recipe, Recipe)],
    ) -> Result<Vec<(Recipe, Recipe)>, StoreError> {
        let mut next = Vec::new();
        // In pieces, so that the records of a large level are not all there at once.
        for piece in frontier.chunks(1000) {
            let recipes: Vec<Recipe> = piece.iter().flat_map(|(old, new)| [*old, *new]).collect();
            let records = self.memory.records(&recipes)?;
            for (pair, records) in piece.iter().zip(records.chunks_exact(2)) {
                self.look_at(*pair, &records[0], &records[1], &mut next)?;
            }
        }
        Ok(next)
    }

    fn look_at(
        &mut self,
        pair: (Recipe, Recipe),
        old: &Option<Found>,
        new: &Option<Found>,
        next: &mut Vec<(Recipe, Recipe)>,
    ) -> Result<(), StoreError> {
        let Some(number) = self.numbers.get(&pair).copied() else {
            return Ok(());
        };
        if let (Some(old), Some(new)) = (old, new)
            && old.product == new.product
            && !self.through_equals
        {
            return Ok(());
        }
        let address = self.memory.address(&pair.1);
        let (old, new) = match (own(old), own(new)) {
            (Some(old), Some(new)) => (old, new),
            (old, new) => {
                let known = old.or(new);
                let operation = known.map_or("".into(), |record| Arc::clone(&record.operation));
                self.add(number, operation, Change::Unknown, address);
                return Ok(());
            }
        };
        self.pairs[number].same = have_same_contents(old, new);
        let operation = Arc::clone(&new.operation);
        if old.operation != new.operation {
            let change = Change::Operation {
                old: old.operation.to_string(),
                new: new.operation.to_string(),
            };
            self.add(number, operation, change, address);
            return Ok(());
        }
        let mut found = differences(old, new);
        for unpaired in std::mem::take(&mut found.unpaired) {
            let added = self.roots(&unpaired.came, &new.run, &old.run)?;
            let removed = self.roots(&unpaired.went, &old.run, &new.run)?;
            for change in &mut found.changes {
                if let Change::Items {
                    port,
                    added: came,
                    removed: went,
                    ..
                } = change
                    && *port == unpaired.port
                {
                    came.clone_from(&added);
                    went.clone_from(&removed);
                }
            }
        }
        let mut changes = Vec::new();
        if found.version {
            changes.extend(self.version(old, new)?);
        }
        changes.extend(found.changes.into_iter().map(|mut change| {
            if let Change::Input { old: a, new: b, .. } = &mut change {
                for (named, run) in [(a, &old.run), (b, &new.run)] {
                    if let Some(named) = named {
                        named.name = self.memory.name(run, &named.identity);
                    }
                }
            }
            change
        }));
        for change in changes {
            self.add(number, Arc::clone(&operation), change, address.clone());
        }
        for pair in found.upstream {
            if let Some(upstream) = self.number(pair, next) {
                self.pairs[number].upstream.push(upstream);
            }
        }
        Ok(())
    }

    /// The things from outside that items were made from in one run, and that another run did not read.
    fn roots(
        &self,
        (recipes, externals): &(Vec<Recipe>, Vec<String>),
        run: &str,
        other: &str,
    ) -> Result<Vec<Named>, StoreError> {
        let mut identities: BTreeSet<String> = externals.iter().cloned().collect();
        let mut seen: BTreeSet<[u8; 32]> = BTreeSet::new();
        let mut frontier = recipes.clone();
        while !frontier.is_empty() && seen.len() < MOST_ROOTS {
            frontier.retain(|recipe| seen.insert(recipe.0));
            let records = self.memory.records(&frontier)?;
            frontier.clear();
            for record in records.into_iter().flatten().filter_map(|found| found.own) {
                for (_, source) in &record.inputs {
                    Source::parse(source).for_each(&mut |source| match source {
                        Source::Product { recipe, .. } => frontier.push(*recipe),
                        Source::External(identity) => {
                            identities.insert((*identity).to_owned());
                        }
                        _ => {}
                    });
                }
            }
        }
        let named = identities.into_iter().map(|identity| Named {
            name: self.memory.name(run, &identity),
            identity,
        });
        Ok(named
            .filter(|named| {
                let name = named.name.as_deref();
                !self.memory.was_read(other, &named.identity, name)
            })
            .collect())
    }

    fn version(
        &mut self,
        old: &ProductRecord,
        new: &ProductRecord,
    ) -> Result<Vec<Change>, StoreError> {
        let key = (Arc::clone(&old.version), Arc::clone(&new.version));
        if let Some(changes) = self.versions.get(&key) {
            return Ok(changes.clone());
        }
        let before = self.memory.parts(&old.version)?;
        let now = self.memory.parts(&new.version)?;
        let changes = version_changes(
            (&old.version, before.as_deref()),
            (&new.version, now.as_deref()),
        );
        self.versions.insert(key, changes.clone());
        Ok(changes)
    }

    fn add(&mut self, pair: usize, operation: Arc<str>, change: Change, address: Option<String>) {
        let next = self.causes.len();
        let number = *self
            .found
            .entry((Arc::clone(&operation), change.clone()))
            .or_insert(next);
        if number == next {
            self.causes.push(Cause {
                operation,
                change,
                tasks: Vec::new(),
                count: 0,
            });
        }
        if !self.pairs[pair].own.insert(number) {
            return;
        }
        let cause = &mut self.causes[number];
        cause.count += 1;
        if cause.tasks.len() < MOST_TASKS {
            cause.tasks.extend(address);
        }
    }

    /// All causes of a pair, its own first, then by the order in which they were found.
    fn all(&mut self, number: usize) -> Vec<usize> {
        // Those of which everything upstream is known; the others wait below them on the stack.
        let mut stack = vec![number];
        while let Some(top) = stack.last().copied() {
            if self.pairs[top].all.is_some() {
                stack.pop();
                continue;
            }
            let pending: Vec<usize> = self.pairs[top]
                .upstream
                .iter()
                .copied()
                .filter(|upstream| self.pairs[*upstream].all.is_none())
                .collect();
            if !pending.is_empty() {
                stack.extend(pending);
                continue;
            }
            let mut all = self.pairs[top].own.clone();
            for upstream in &self.pairs[top].upstream {
                let upstream = &self.pairs[*upstream];
                if !upstream.same || self.through_equals {
                    all.extend(upstream.all.iter().flatten());
                }
            }
            if all.len() > MOST_CAUSES {
                self.incomplete = true;
                all = all.into_iter().take(MOST_CAUSES).collect();
            }
            self.pairs[top].all = Some(all);
            stack.pop();
        }
        let own = &self.pairs[number].own;
        let others = self.pairs[number].all.iter().flatten();
        let others = others.filter(|cause| !own.contains(cause));
        own.iter().chain(others).copied().collect()
    }
}

fn have_same_contents(old: &ProductRecord, new: &ProductRecord) -> bool {
    let contents = |record: &ProductRecord| -> Vec<_> {
        let outputs = record.outputs.iter();
        outputs
            .map(|(port, output)| (Arc::clone(port), output.digest))
            .collect()
    };
    !new.outputs.is_empty() && contents(old) == contents(new)
}

fn own(found: &Option<Found>) -> Option<&ProductRecord> {
    found.as_ref()?.own.as_ref()
}

#[cfg(test)]
mod tests {
    use headwater_graph::Scalar;

    use super::*;

    /// Records by number; the run `new` has tasks `task-N`.
    #[derive(Default)]
    struct Case {
        records: HashMap<Recipe, ProductRecord>,
        /// Products that stand for others.
        equal: HashMap<Recipe, Recipe>,
    }

    fn recipe(number: u8) -> Recipe {
        Recipe([number; 32])
    }

    impl Case {
        /// A product with one parameter, made from others.
        fn add(&mut self, number: u8, value: i64, from: &[u8]) -> &mut Case {
            let sources = from.iter().map(|from| format!("{}:x", recipe(*from)));
            let record = ProductRecord {
                recipe: recipe(number),
                content: None,
                operation: "op".into(),
                version: "1".into(),
                parameters: vec![("p".into(), Scalar::Int(value))],
                inputs: sources
                    .enumerate()
                    .map(|(port, source)| (port.to_string().into(), source))
                    .collect(),
                outputs: Vec::new(),
                wall: 0,
                cpu: 0,
                peak_memory: 0,
                run: "run".into(),
                time: 0,
            };
            self.records.insert(recipe(number), record);
            self
        }

        fn told(&self, old: u8, new: u8) -> Vec<String> {
            let mut causes = Causes::new(self);
            let found = causes.of(&[(recipe(old), recipe(new))]).unwrap();
            let text = |number: &usize| {
                let cause = causes.cause(*number);
                format!(
                    "{} {}: {}",
                    cause.count,
                    cause.tasks.join(" "),
                    cause.change
                )
            };
            found[0].iter().map(text).collect()
        }
    }

    impl Memory for Case {
        fn records(&self, recipes: &[Recipe]) -> Result<Vec<Option<Found>>, StoreError> {
            let found = |recipe: &Recipe| {
                Some(Found {
                    own: Some(self.records.get(recipe)?.clone()),
                    product: *self.equal.get(recipe).unwrap_or(recipe),
                })
            };
            Ok(recipes.iter().map(found).collect())
        }

        fn parts(&self, _: &str) -> Result<Option<VersionParts>, StoreError> {
            Ok(None)
        }

        fn name(&self, _: &str, _: &str) -> Option<String> {
            None
        }

        fn was_read(&self, _: &str, _: &str, _: Option<&str>) -> bool {
            false
        }

        fn address(&self, recipe: &Recipe) -> Option<String> {
            Some(format!("task-{}", recipe.0[0]))
        }
    }

    #[test]
    fn a_chain_leads_to_its_beginning() {
        let mut case = Case::default();
        case.add(1, 5, &[]).add(2, 0, &[1]).add(3, 0, &[2]);
        case.add(11, 6, &[]).add(12, 0, &[11]).add(13, 0, &[12]);
        assert_eq!(case.told(3, 13), ["1 task-11: parameter `p`: 5 -> 6"]);
        assert_eq!(case.told(3, 3), Vec::<String>::new());
    }

    #[test]
    fn a_cause_that_reaches_a_task_on_two_ways_is_named_once() {
        let mut case = Case::default();
        case.add(1, 5, &[])
            .add(2, 0, &[1])
            .add(3, 1, &[1])
            .add(4, 7, &[2, 3]);
        case.add(11, 6, &[])
            .add(12, 0, &[11])
            .add(13, 1, &[11])
            .add(14, 8, &[12, 13]);
        assert_eq!(
            case.told(4, 14),
            [
                "1 task-14: parameter `p`: 7 -> 8",
                "1 task-11: parameter `p`: 5 -> 6"
            ]
        );
    }

    #[test]
    fn equal_changes_of_many_tasks_are_one_cause() {
        let mut case = Case::default();
        for number in 1..=7 {
            case.add(number, 5, &[100 + number]);
            case.add(10 + number, 6, &[100 + number]);
        }
        case.add(50, 0, &[1, 2, 3, 4, 5, 6, 7]);
        case.add(60, 0, &[11, 12, 13, 14, 15, 16, 17]);
        assert_eq!(
            case.told(50, 60),
            ["7 task-11 task-12 task-13 task-14 task-15: parameter `p`: 5 -> 6"]
        );
    }

    #[test]
    fn a_lost_record_ends_the_way() {
        let mut case = Case::default();
        case.add(2, 0, &[1]).add(12, 0, &[11]);
        assert_eq!(
            case.told(2, 12),
            ["1 task-11: there is no record of it to compare"]
        );
    }

    #[test]
    fn an_equal_product_is_no_cause() {
        let mut case = Case::default();
        case.add(1, 5, &[]).add(2, 0, &[1]).add(12, 1, &[11]);
        case.add(11, 6, &[]).equal.insert(recipe(11), recipe(1));
        assert_eq!(case.told(2, 12), ["1 task-12: parameter `p`: 0 -> 1"]);
        // What made its recipe new is another question.
        let mut causes = Causes::through_equals(&case);
        let found = causes.of(&[(recipe(2), recipe(12))]).unwrap();
        assert_eq!(found[0].len(), 2);
    }

    #[test]
    fn a_task_that_another_product_stands_for_is_followed_by_what_it_reads_itself() {
        let mut case = Case::default();
        case.add(1, 5, &[]).add(2, 0, &[1]).add(3, 0, &[2]);
        // 22 was made otherwise; 12 gives the same.
        case.add(21, 9, &[]).add(22, 0, &[21]);
        case.add(11, 6, &[]).add(12, 0, &[11]).add(13, 0, &[12]);
        case.equal.insert(recipe(12), recipe(22));
        assert_eq!(case.told(3, 13), ["1 task-11: parameter `p`: 5 -> 6"]);
        case.records.remove(&recipe(12));
        assert_eq!(
            case.told(3, 13),
            ["1 task-12: there is no record of it to compare"],
            "where it is not known nothing is made up"
        );
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let mut case = Case::default();
        let name = |number: usize, base: u8| {
            let mut bytes = [base; 32];
            bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
            Recipe(bytes)
        };
        case.add(1, 0, &[]);
        let plain = case.records[&recipe(1)].clone();
        for base in [1u8, 2] {
            for number in 0..20_000 {
                let mut record = plain.clone();
                record.recipe = name(number, base);
                if number == 0 {
                    record.parameters[0].1 = Scalar::Int(base.into());
                } else {
                    record.inputs = vec![("in".into(), format!("{}:x", name(number - 1, base)))];
                }
                case.records.insert(record.recipe, record);
            }
        }
        let mut causes = Causes::new(&case);
        let found = causes.of(&[(name(19_999, 1), name(19_999, 2))]).unwrap();
        assert_eq!(found[0].len(), 1);
        assert_eq!(causes.cause(0).change.to_string(), "parameter `p`: 1 -> 2");
        assert!(!causes.incomplete);
    }
}

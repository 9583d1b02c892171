//! From a workflow with open parameters to the integers that merging works on, and back to tasks.
//!
//! Law: two tasks have the same words if and only if they would have the same recipe, were it not for numbers that
//! operations cut to whole ones: for what is shared the number as it was drawn counts, for recipes the number that the
//! operation gets. So a node of the compact graph stands for one task, and several nodes may stand for the same one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use headwater_enact::Blueprint;
use headwater_graph::{
    GraphError, Identity, NewTask, ParameterDeclaration, Scalar, ScalarKey, ScalarType, Source,
    TaskGraph, TaskId,
};
use headwater_merge::{Compact, Node, Occurrence, Sets, Step, Template, Word};

/// The values of the parameters that vary: a table with a row per parameter set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Varied {
    /// The parameters.
    pub(crate) names: Vec<Arc<str>>,
    /// By parameter, the values that occur.
    pub(crate) values: Vec<Vec<Scalar>>,
    /// Positions in `values`, set by set.
    pub(crate) cells: Vec<u32>,
    /// How many sets there are.
    pub(crate) sets: usize,
}

impl Varied {
    /// The sets from this one on.
    pub(crate) fn from(&self, first: usize) -> Varied {
        let mut rest = self.clone();
        rest.cells.drain(..first * rest.names.len());
        rest.sets -= first;
        rest
    }
}

/// A parameter that cannot take a value of the study.
#[derive(Debug, PartialEq)]
pub(crate) struct Unfit {
    /// The parameter of the workflow.
    pub(crate) parameter: Arc<str>,
    /// The value.
    pub(crate) value: Scalar,
    /// The operation that does not take it.
    pub(crate) operation: Arc<str>,
    /// What it takes.
    pub(crate) wanted: ScalarType,
}

/// All instances of a study, ready to be merged.
#[derive(Debug, Default)]
pub(crate) struct Instances {
    /// The steps of one instance.
    pub(crate) template: Template,
    /// The parameter sets.
    pub(crate) sets: Sets,
    /// By step, the task of the blueprint that it stands for.
    pub(crate) tasks: Vec<TaskId>,
    /// By stage of the template, the position of the stage in the workflow. Where some items need fewer tasks of a
    /// stage than others, the stage stands there once for each number of tasks.
    pub(crate) stages: Vec<usize>,
    /// By number, the scalars in words.
    scalars: Vec<Scalar>,
    /// By number, the externals in words, as positions in the blueprint's graph.
    externals: Vec<u32>,
}

/// What a source begins with, in words.
mod tag {
    pub(crate) const EXTERNAL: u32 = 0;
    pub(crate) const PRODUCT: u32 = 1;
    pub(crate) const LIST: u32 = 2;
    pub(crate) const RECORD: u32 = 3;
}

struct Writer<'a> {
    graph: &'a TaskGraph,
    blueprint: &'a Blueprint,
    varied: &'a Varied,
    /// Step by task of the blueprint.
    steps: HashMap<TaskId, u32>,
    scalars: Vec<Scalar>,
    scalar_numbers: HashMap<ScalarKey, u32>,
    externals: Vec<u32>,
    external_numbers: HashMap<&'a Identity, u32>,
    /// Columns of the sets: (parameter, type that operations take it as) → for each of its values, its number.
    columns: BTreeMap<(usize, ScalarType), (u32, Vec<u32>)>,
    /// The column of the number of the set, where something is never shared.
    own: Option<u32>,
}

impl Instances {
    /// Describes the tasks of `blueprint`, which is in `graph`, that are needed.
    pub(crate) fn new(
        graph: &TaskGraph,
        blueprint: &Blueprint,
        varied: &Varied,
    ) -> Result<Instances, Unfit> {
        let needed = needed(graph, &blueprint.wanted);
        let mut writer = Writer {
            graph,
            blueprint,
            varied,
            steps: HashMap::new(),
            scalars: Vec::new(),
            scalar_numbers: HashMap::new(),
            externals: Vec::new(),
            external_numbers: HashMap::new(),
            columns: BTreeMap::new(),
            own: None,
        };
        let mut template = Template::default();
        let mut tasks = Vec::new();
        for task in graph.ids().filter(|task| needed[task.index()]) {
            let words = writer.words(task)?;
            writer.steps.insert(task, tasks.len() as u32);
            template.steps.push(Step { words });
            tasks.push(task);
        }
        let mut kinds: Vec<(usize, usize)> = Vec::new();
        for stage in &blueprint.stages {
            let counts = |task: &&TaskId| {
                needed[task.index()] && !graph.operation_at(**task).signature.implicit
            };
            let counted = stage.tasks.iter().filter(counts);
            let steps: Vec<u32> = counted.map(|task| writer.steps[task]).collect();
            if steps.is_empty() {
                continue;
            }
            let kind = (stage.stage, steps.len());
            let known = kinds.iter().position(|known| *known == kind);
            let number = known.unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            let stage = number as u32;
            template.occurrences.push(Occurrence { stage, steps });
        }
        template.stages = kinds.len() as u32;
        let sets = writer.sets();
        Ok(Instances {
            template,
            sets,
            tasks,
            stages: kinds.into_iter().map(|(stage, _)| stage).collect(),
            scalars: writer.scalars,
            externals: writer.externals,
        })
    }

    /// The step that a task of the blueprint is, if it is needed.
    pub(crate) fn step(&self, task: TaskId) -> Option<usize> {
        self.tasks.binary_search(&task).ok()
    }

    /// The tasks that nodes stand for: a graph, and a task of it for each node of `compact`.
    pub(crate) fn tasks(
        &self,
        compact: &Compact,
        blueprint: &TaskGraph,
    ) -> Result<(TaskGraph, Vec<TaskId>), GraphError> {
        let mut adding = Adding::new(self, blueprint, TaskGraph::new());
        let mut tasks: Vec<TaskId> = Vec::with_capacity(compact.len());
        for node in compact.nodes() {
            let task = adding.add(node.step, node, &|_, node| tasks[node as usize])?;
            tasks.push(task);
        }
        Ok((adding.graph, tasks))
    }
}

/// Adds the tasks that nodes stand for to a graph.
pub(crate) struct Adding<'a> {
    instances: &'a Instances,
    blueprint: &'a TaskGraph,
    pub(crate) graph: TaskGraph,
    externals: Vec<Source>,
    /// How many were added: what tells tasks apart that are never shared.
    added: usize,
    /// Used again and again.
    parameters: Vec<Scalar>,
    inputs: Vec<(u16, Source)>,
}

impl<'a> Adding<'a> {
    /// To `graph`, which is empty.
    pub(crate) fn new(
        instances: &'a Instances,
        blueprint: &'a TaskGraph,
        mut graph: TaskGraph,
    ) -> Adding<'a> {
        let externals = instances.externals.iter();
        let externals = externals
            .map(|position| graph.external(blueprint.external_at(*position).clone()))
            .collect();
        Adding {
            instances,
            blueprint,
            graph,
            externals,
            added: 0,
            parameters: Vec::new(),
            inputs: Vec::new(),
        }
    }

    /// Adds the task of a node, as this step of an instance has it; `made` knows the task of a step and its node that it
    /// reads.
    pub(crate) fn add(
        &mut self,
        step: u32,
        node: Node<'_>,
        made: &dyn Fn(usize, u32) -> TaskId,
    ) -> Result<TaskId, GraphError> {
        let task = self.instances.tasks[step as usize];
        let operation = Arc::clone(self.blueprint.operation_at(task));
        let mut words = node.words.iter().copied().skip(1);
        self.parameters.clear();
        for declared in &operation.signature.parameters {
            let scalar = words
                .next()
                .map(|number| &self.instances.scalars[number as usize]);
            let fits =
                scalar.and_then(|scalar| scalar.coerce(declared.scalar_type, declared.truncate));
            let parameter = || GraphError::Parameter {
                operation: Arc::clone(&operation.signature.name),
                parameter: Arc::clone(&declared.name),
            };
            self.parameters.push(fits.ok_or_else(parameter)?);
        }
        let address = if operation.signature.pure {
            String::new()
        } else {
            words.next();
            words.next();
            self.added.to_string()
        };
        self.added += 1;
        self.inputs.clear();
        for (port, source) in self.blueprint.inputs(task) {
            words.next();
            let source = self.source(source, &mut words, made);
            self.inputs.push((*port, source));
        }
        let new = NewTask {
            operation: self.graph.operation(&operation),
            parameters: &self.parameters,
            inputs: &self.inputs,
            address: &address,
        };
        Ok(self.graph.add(&new)?.0)
    }

    /// A source of the form of `like`, with what the words say in it.
    fn source(
        &self,
        like: &Source,
        words: &mut impl Iterator<Item = u32>,
        made: &dyn Fn(usize, u32) -> TaskId,
    ) -> Source {
        let _tag = words.next();
        let mut next = || words.next().unwrap_or_default();
        match like {
            Source::External(_) => self.externals[next() as usize].clone(),
            Source::Product { port, task } => {
                let step = self.instances.step(*task).unwrap_or_default();
                let task = made(step, next());
                next();
                Source::Product { task, port: *port }
            }
            Source::List(sources) => {
                next();
                let sources = sources.iter().map(|like| self.source(like, words, made));
                Source::List(Arc::new(sources.collect()))
            }
            Source::Record(fields) => {
                next();
                let field = |(key, like): &(Arc<str>, Source)| {
                    words.next();
                    (Arc::clone(key), self.source(like, words, made))
                };
                Source::Record(Arc::new(fields.iter().map(field).collect()))
            }
        }
    }
}

/// For each task, whether it leads to one that is wanted.
fn needed(graph: &TaskGraph, wanted: &[TaskId]) -> Vec<bool> {
    let mut needed = vec![false; graph.len()];
    for task in wanted {
        needed[task.index()] = true;
    }
    for task in graph.ids().rev() {
        if needed[task.index()] {
            graph.for_each_input_task(task, |input| needed[input.index()] = true);
        }
    }
    needed
}

impl<'a> Writer<'a> {
    /// What identifies a task: its operation, its parameters, and, for those that are never shared, the set and the
    /// task itself; then what it reads.
    fn words(&mut self, task: TaskId) -> Result<Vec<Word>, Unfit> {
        let (graph, blueprint) = (self.graph, self.blueprint);
        let signature = &graph.operation_at(task).signature;
        let mut words = vec![Word::Fixed(graph.operation_index(task))];
        let bindings = blueprint.bindings.get(task.index());
        let given = graph.parameters(task);
        for (position, declared) in signature.parameters.iter().enumerate() {
            let bound = bindings.and_then(|bindings| {
                let bound = bindings.iter().find(|(at, _)| *at == position)?;
                self.varied.names.iter().position(|name| *name == bound.1)
            });
            words.push(match bound {
                None => Word::Fixed(self.scalar(given[position].clone())),
                Some(column) => Word::Value(self.column(column, declared, &signature.name)?),
            });
        }
        if !signature.pure {
            let next = self.columns.len() as u32;
            words.push(Word::Value(*self.own.get_or_insert(next)));
            words.push(Word::Fixed(task.0));
        }
        for (port, source) in graph.inputs(task) {
            words.push(Word::Fixed(u32::from(*port)));
            self.describe(source, &mut words);
        }
        Ok(words)
    }

    fn scalar(&mut self, scalar: Scalar) -> u32 {
        let next = self.scalars.len() as u32;
        let number = *self.scalar_numbers.entry(scalar.key()).or_insert(next);
        if number == next {
            self.scalars.push(scalar);
        }
        number
    }

    /// The column of the sets that holds a parameter as an operation takes it.
    fn column(
        &mut self,
        parameter: usize,
        declared: &ParameterDeclaration,
        operation: &Arc<str>,
    ) -> Result<u32, Unfit> {
        let varied = self.varied;
        for value in &varied.values[parameter] {
            if value
                .coerce(declared.scalar_type, declared.truncate)
                .is_none()
            {
                return Err(Unfit {
                    parameter: Arc::clone(&varied.names[parameter]),
                    value: value.clone(),
                    operation: Arc::clone(operation),
                    wanted: declared.scalar_type,
                });
            }
        }
        let key = (parameter, declared.scalar_type);
        if let Some((column, _)) = self.columns.get(&key) {
            return Ok(*column);
        }
        // What an operation would cut to a whole number counts as it was drawn.
        let values = varied.values[parameter].iter().map(|value| {
            let exactly = value.coerce(declared.scalar_type, false);
            exactly.unwrap_or_else(|| value.clone())
        });
        let numbers = values.map(|value| self.scalar(value)).collect();
        let column = self.columns.len() as u32 + u32::from(self.own.is_some());
        self.columns.insert(key, (column, numbers));
        Ok(column)
    }

    fn describe(&mut self, source: &'a Source, words: &mut Vec<Word>) {
        match source {
            Source::External(position) => {
                let identity = &self.graph.external_at(*position).identity;
                let next = self.externals.len() as u32;
                let number = *self.external_numbers.entry(identity).or_insert(next);
                if number == next {
                    self.externals.push(*position);
                }
                words.extend([Word::Fixed(tag::EXTERNAL), Word::Fixed(number)]);
            }
            Source::Product { task, port } => words.extend([
                Word::Fixed(tag::PRODUCT),
                Word::Node(self.steps[task]),
                Word::Fixed(u32::from(*port)),
            ]),
            Source::List(sources) => {
                words.extend([Word::Fixed(tag::LIST), Word::Fixed(sources.len() as u32)]);
                sources
                    .iter()
                    .for_each(|source| self.describe(source, words));
            }
            Source::Record(fields) => {
                words.extend([Word::Fixed(tag::RECORD), Word::Fixed(fields.len() as u32)]);
                for (key, source) in fields.iter() {
                    let key = self.scalar(Scalar::Text(Arc::clone(key)));
                    words.push(Word::Fixed(key));
                    self.describe(source, words);
                }
            }
        }
    }

    /// The parameter sets, in the columns that the words speak of.
    fn sets(&self) -> Sets {
        let own = self.own.is_some();
        let width = self.columns.len() + usize::from(own);
        let parameters = self.varied.names.len();
        let mut values = vec![0; width * self.varied.sets];
        for ((parameter, _), (column, numbers)) in &self.columns {
            for set in 0..self.varied.sets {
                let cell = self.varied.cells[set * parameters + parameter];
                values[set * width + *column as usize] = numbers[cell as usize];
            }
        }
        if let Some(column) = self.own {
            for set in 0..self.varied.sets {
                values[set * width + column as usize] = set as u32;
            }
        }
        Sets::new(width, self.varied.sets, values)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use headwater_enact::{Column, DataItem, DataSet, Expander};
    use headwater_graph::{Recipe, Registry, Value, Workflow};

    use super::*;

    /// Whatever identifies a task: parameters of all types, the same operation twice, crossed inputs, an optional port
    /// that is bound here and not there, lists, and what comes from nowhere but a parameter.
    const FLOW: &str = "
headwater: 1
workflow: everything
inputs: {left: text, right: text, note: {type: text, optional: true}}
parameters:
  Count: {type: int, range: [1, 3], step: 1, default: 2}
  Same: {type: int, range: [1, 3], step: 1, default: 2}
  Ratio: {type: float, range: [0, 1], default: 0.5}
  Word: {type: choice, values: [a, b], default: a}
  Flag: {type: bool, default: false}
stages:
  pairs:
    iterate: cross(left, right)
    tasks:
      - {op: join, name: one, in: {a: left, b: right}, params: {n: $Count, x: $Ratio}, out: {c: one}}
      - {op: join, name: two, in: {a: right, b: left}, params: {n: $Same, x: 0.5}, out: {c: two}}
      - {op: join, name: three, in: {a: one, b: two, extra: note}, params: {n: 2, x: $Count}, out: {c: three}}
  list:
    wait: all
    tasks:
      - {op: gather, in: {all: three}, params: {word: $Word, flag: $Flag}, out: {sum: sum}}
outputs: {sum: sum}
operations:
  join: {shell: 'cat {in.a} {in.b} > {out.c}', version: '1', inputs: {a: text, b: text, extra: {type: text, optional: true}}, params: {n: int, x: float}, outputs: {c: {type: text, path: c}}}
  gather: {shell: 'cat {in.all} > {out.sum}', version: '1', inputs: {all: list of text}, params: {word: text, flag: bool}, outputs: {sum: {type: text, path: sum}}}
";

    fn column(input: &str, source: u32, items: &[Option<&str>]) -> Column {
        let item = |text: &&str| {
            let value = Value::Text((*text).into());
            DataItem {
                identity: Identity::of(&value),
                value,
            }
        };
        Column {
            input: input.into(),
            source,
            items: items.iter().map(|text| text.as_ref().map(item)).collect(),
            single: false,
        }
    }

    fn read() -> (Arc<Workflow>, Registry, DataSet) {
        let read = headwater_flow::read_workflow(FLOW, &Registry::new());
        assert!(read.value.is_some(), "{:?}", read.diagnostics);
        let file = read.value.unwrap();
        let mut registry = Registry::new();
        for operation in file.operations {
            registry.register(None, operation).unwrap();
        }
        let data_set = DataSet {
            // The notes pair with the left items; the last has none. Two of the right items are equal.
            columns: vec![
                column("left", 0, &[Some("l0"), Some("l1"), Some("l2")]),
                column("note", 0, &[Some("n0"), Some("n0"), None]),
                column("right", 1, &[Some("r0"), Some("r0"), Some("l1")]),
            ],
            ..DataSet::default()
        };
        (Arc::new(file.workflow), registry, data_set)
    }

    /// The tasks of a study are those of the runs with its parameter sets, one by one: no more, no fewer, none taken
    /// for another.
    #[test]
    fn the_tasks_of_all_sets_are_those_of_the_runs_one_by_one() {
        let (workflow, registry, data_set) = read();
        let names: Vec<Arc<str>> = ["Count", "Same", "Ratio", "Word", "Flag"]
            .map(Arc::from)
            .into();
        let values = vec![
            (1..4).map(Scalar::Int).collect(),
            (1..4).map(Scalar::Int).collect(),
            [0.5, 2.0, 0.25].map(Scalar::Float).to_vec(),
            ["a", "b"].map(|word| Scalar::Text(word.into())).to_vec(),
            [false, true].map(Scalar::Bool).to_vec(),
        ];
        let mut sets: Vec<Vec<u32>> = Vec::new();
        for number in 0..(3 * 3 * 3 * 2 * 2) {
            let mut rest = number;
            let mut digit = |base: u32| {
                let digit = rest % base;
                rest /= base;
                digit
            };
            sets.push([3, 3, 3, 2, 2].map(&mut digit).to_vec());
        }
        let mut one_by_one: BTreeSet<Recipe> = BTreeSet::new();
        let mut wanted = Vec::new();
        for set in &sets {
            let parameters = names
                .iter()
                .zip(set.iter().zip(&values))
                .map(|(name, (cell, values))| (Arc::clone(name), values[*cell as usize].clone()))
                .collect();
            let mut expander = Expander::new(&workflow, &registry, &data_set, &parameters).unwrap();
            let mut graph = TaskGraph::new();
            let expansion = expander.advance(&mut graph).unwrap();
            one_by_one.extend(graph.ids().map(|task| graph.recipe(task)));
            wanted.push(graph.recipe(expansion.wanted[0]));
        }

        let baseline = names
            .iter()
            .zip(&values)
            .map(|(name, values)| (Arc::clone(name), values[0].clone()))
            .collect();
        let mut expander = Expander::new(&workflow, &registry, &data_set, &baseline).unwrap();
        let mut blueprint_graph = TaskGraph::unshared();
        let blueprint = expander.blueprint(&mut blueprint_graph).unwrap();
        let varied = Varied {
            names,
            values,
            cells: sets.concat(),
            sets: sets.len(),
        };
        let instances = Instances::new(&blueprint_graph, &blueprint, &varied).unwrap();
        let mut last = Vec::new();
        let sum = instances.tasks.len() - 1;
        let compact = Compact::with(&instances.template, &instances.sets, |_, nodes| {
            last.push(nodes[sum]);
        });
        let (graph, tasks) = instances.tasks(&compact, &blueprint_graph).unwrap();
        let merged: BTreeSet<Recipe> = graph.ids().map(|task| graph.recipe(task)).collect();
        assert_eq!(merged, one_by_one);
        assert_eq!(graph.len(), compact.len(), "no task is two nodes");
        let last: Vec<Recipe> = last
            .iter()
            .map(|node| graph.recipe(tasks[*node as usize]))
            .collect();
        assert_eq!(last, wanted, "each set asks for its own result");
    }

    /// A number that is not whole is another value than the whole number that an operation makes of it.
    #[test]
    fn numbers_count_as_they_were_drawn_and_run_as_operations_cut_them() {
        let (workflow, mut registry, data_set) = read();
        let varied = Varied {
            names: vec!["Count".into()],
            values: vec![[1.0, 1.25, 1.5].map(Scalar::Float).to_vec()],
            cells: vec![0, 1, 2],
            sets: 3,
        };
        let instances = |registry: &Registry| {
            let baseline = workflow
                .parameters
                .iter()
                .map(|known| (Arc::clone(&known.name), known.default.clone().unwrap()))
                .collect();
            let mut expander = Expander::new(&workflow, registry, &data_set, &baseline).unwrap();
            let mut graph = TaskGraph::unshared();
            let blueprint = expander.blueprint(&mut graph).unwrap();
            Instances::new(&graph, &blueprint, &varied).map(|instances| (instances, graph))
        };
        let unfit = instances(&registry).unwrap_err();
        assert_eq!(&*unfit.operation, "join");
        assert_eq!(unfit.value, Scalar::Float(1.25));

        let mut cutting = headwater_graph::Operation::clone(registry.operation("join").unwrap());
        cutting.signature.parameters[0].truncate = true;
        let gather = headwater_graph::Operation::clone(registry.operation("gather").unwrap());
        registry = Registry::new();
        registry.register(None, cutting).unwrap();
        registry.register(None, gather).unwrap();
        let (instances, blueprint) = instances(&registry).unwrap();
        let compact = Compact::new(&instances.template, &instances.sets);
        let (graph, tasks) = instances.tasks(&compact, &blueprint).unwrap();
        assert_eq!(tasks.len(), compact.len());
        assert!(
            graph.len() < compact.len(),
            "1.25 and 1.5 are both cut to 1"
        );
    }

    fn of_flow(text: &str, columns: Vec<Column>, varied: &Varied) -> (Instances, TaskGraph) {
        let read = headwater_flow::read_workflow(text, &Registry::new());
        assert!(read.value.is_some(), "{:?}", read.diagnostics);
        let file = read.value.unwrap();
        let mut registry = Registry::new();
        for operation in file.operations {
            registry.register(None, operation).unwrap();
        }
        let baseline = file
            .workflow
            .parameters
            .iter()
            .map(|known| (Arc::clone(&known.name), known.default.clone().unwrap()))
            .collect();
        let data_set = DataSet {
            columns,
            ..DataSet::default()
        };
        let workflow = Arc::new(file.workflow);
        let mut expander = Expander::new(&workflow, &registry, &data_set, &baseline).unwrap();
        let mut graph = TaskGraph::unshared();
        let blueprint = expander.blueprint(&mut graph).unwrap();
        let instances = Instances::new(&graph, &blueprint, varied).unwrap();
        (instances, graph)
    }

    /// A task that is not pure is never shared: not between sets, not between places of one set.
    #[test]
    fn impure_tasks_stay_apart() {
        let flow = "
headwater: 1
workflow: dice
inputs: {name: text}
parameters: {N: {type: int, range: [1, 3], step: 1, default: 2}}
stages:
  one: {tasks: [{op: roll, in: {n: name}, out: {x: a}}]}
  two: {tasks: [{op: roll, in: {n: name}, out: {x: b}}]}
outputs: {a: a, b: b}
operations:
  roll: {shell: 'cat {in.n} > {out.x}', version: '1', pure: false, inputs: {n: text}, outputs: {x: {type: text, path: x}}}
";
        let varied = Varied {
            names: vec!["N".into()],
            values: vec![(1..4).map(Scalar::Int).collect()],
            cells: vec![0, 1, 2],
            sets: 3,
        };
        let (instances, blueprint) = of_flow(flow, vec![column("name", 0, &[Some("x")])], &varied);
        let compact = Compact::new(&instances.template, &instances.sets);
        let (graph, _) = instances.tasks(&compact, &blueprint).unwrap();
        assert_eq!(
            (compact.len(), graph.len()),
            (6, 6),
            "two in each of three sets"
        );
    }

    /// Some items of a stage may need fewer of its tasks than others.
    #[test]
    fn items_that_need_fewer_tasks_are_a_kind_of_their_own() {
        let flow = "
headwater: 1
workflow: ragged
inputs: {name: text, age: {type: text, optional: true}}
parameters: {N: {type: int, range: [1, 3], step: 1, default: 2}}
stages:
  make:
    tasks:
      - {op: say, name: x, in: {a: name}, params: {n: $N}, out: {c: x}}
      - {op: say, name: y, in: {a: name}, params: {n: 7}, out: {c: y}}
  old: {tasks: [{op: pair, in: {a: y, b: age}, out: {c: z}}]}
  all: {wait: all, tasks: [{op: gather, in: {some: x, others: z}, out: {sum: sum}}]}
outputs: {sum: sum}
operations:
  say: {shell: 'cat {in.a} > {out.c}', version: '1', inputs: {a: text}, params: {n: int}, outputs: {c: {type: text, path: c}}}
  pair: {shell: 'cat {in.a} {in.b} > {out.c}', version: '1', inputs: {a: text, b: text}, outputs: {c: {type: text, path: c}}}
  gather: {shell: 'cat {in.some} {in.others} > {out.sum}', version: '1', inputs: {some: list of text, others: list of text}, outputs: {sum: {type: text, path: sum}}}
";
        let varied = Varied {
            names: vec!["N".into()],
            values: vec![(1..4).map(Scalar::Int).collect()],
            cells: vec![0, 1, 2, 0],
            sets: 4,
        };
        let columns = vec![
            column("name", 0, &[Some("a"), Some("b"), Some("c")]),
            column("age", 0, &[Some("1"), None, Some("3")]),
        ];
        let (instances, _) = of_flow(flow, columns, &varied);
        let compact = Compact::new(&instances.template, &instances.sets);
        let of_make: Vec<(usize, usize, usize)> = instances
            .stages
            .iter()
            .zip(&compact.stages)
            .filter(|(stage, _)| **stage == 0)
            .map(|(_, rows)| (rows.instances, rows.distinct.len(), rows.distinct.width()))
            .collect();
        assert_eq!(
            of_make,
            [(8, 6, 2), (4, 3, 1)],
            "of three values, in four sets"
        );
    }
}

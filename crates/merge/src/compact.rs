//! The compact graph: of tasks and stages that are equal in many instances, one.
//!
//! Law: a step of an instance is the sequence of its resolved words (operation, parameter values, what it reads), and
//! equal sequences are one node, whichever instance, stage or template step they come from. A stage instance is the
//! row of its nodes, and equal rows are one stage. A node that several others read is one node, not one per path.
//! The cost is O(steps × sets), with one look-up per step.
//!
//! The construction is that of Barreiros and Teodoro (2017), algorithm 1, except that hashing the resolved words makes
//! the search along paths, and the table of pending vertices, unnecessary.

use crate::Stages;
use crate::known::{Known, spread};
use crate::tree::NONE;

/// How many sets go through the steps side by side: their look-ups do not wait for each other.
const SIDE_BY_SIDE: usize = 256;

/// A part of what identifies a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The same in every instance: an operation, a port, a constant, a file.
    Fixed(u32),
    /// The number that the parameter set has in this column.
    Value(u32),
    /// The node of an earlier step of the same instance.
    Node(u32),
}

/// A task of the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What identifies it. The first word tells operations apart, and with it how the others are to be read.
    pub words: Vec<Word>,
}

/// A stage of the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// The position of the stage in the workflow.
    pub stage: u32,
    /// The steps that count, in the order of the chain.
    pub steps: Vec<u32>,
}

/// The steps of one instance, each after those that it reads, and the stages that they form.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// The steps.
    pub steps: Vec<Step>,
    /// The stages, with a row for each item that they work on; those of one stage have equally many steps. Steps that
    /// do not count may be part of none.
    pub occurrences: Vec<Occurrence>,
    /// How many stages the workflow has.
    pub stages: u32,
}

/// The parameter sets: a table of numbers, in which equal numbers are equal values.
#[derive(Debug, Clone, Default)]
pub struct Sets {
    width: usize,
    count: usize,
    values: Vec<u32>,
}

impl Sets {
    /// That many sets of `width` values, one after the other.
    ///
    /// # Panics
    ///
    /// If the values are not that many.
    pub fn new(width: usize, count: usize, values: Vec<u32>) -> Sets {
        assert_eq!(values.len(), width * count, "whole sets");
        Sets {
            width,
            count,
            values,
        }
    }

    /// How many sets there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The values of a set.
    pub fn set(&self, position: usize) -> &[u32] {
        &self.values[position * self.width..][..self.width]
    }
}

/// A node of the compact graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node<'a> {
    /// The step of the template that it was first made from.
    pub step: u32,
    /// Its words, resolved: for [`Word::Node`] the number of a node, which is smaller than its own.
    pub words: &'a [u32],
}

/// The stages of one kind.
#[derive(Debug, Clone, Default)]
pub struct StageRows {
    /// How many instances there are.
    pub instances: usize,
    /// Those that differ, as rows of nodes, in order of appearance. All are of one length; empty where no step of the
    /// stage counts.
    pub distinct: Stages,
}

/// What all instances consist of.
#[derive(Debug, Clone, Default)]
pub struct Compact {
    /// (step of the template, beginning of its words).
    nodes: Vec<(u32, u32)>,
    words: Vec<u32>,
    /// By step of the template, which of its words are nodes.
    reads: Vec<Vec<u32>>,
    /// By stage of the workflow.
    pub stages: Vec<StageRows>,
}

impl Compact {
    /// Makes the compact graph of all sets.
    ///
    /// # Panics
    ///
    /// If a step reads a later one, if occurrences of one stage have unequal numbers of steps (such ones are stages of
    /// their own), or if there are more than 2³² words.
    pub fn new(template: &Template, sets: &Sets) -> Compact {
        Compact::with(template, sets, |_, _| {})
    }

    /// The same, and calls `visit` with each set and the nodes of its steps.
    ///
    /// # Panics
    ///
    /// As [`Compact::new`].
    pub fn with(template: &Template, sets: &Sets, mut visit: impl FnMut(usize, &[u32])) -> Compact {
        let mut making = Making::new(template);
        let varies = varying(template);
        let mut constant = vec![0; template.steps.len()];
        let (changing, fixed): (Vec<usize>, Vec<usize>) =
            (0..template.steps.len()).partition(|step| varies[*step]);
        for step in fixed {
            constant[step] = making.node(step, &[], &constant);
        }
        let mut block = vec![constant; SIDE_BY_SIDE.min(sets.len())];
        for begin in (0..sets.len()).step_by(SIDE_BY_SIDE) {
            let sides = || begin..sets.len().min(begin + SIDE_BY_SIDE);
            for step in &changing {
                for (set, nodes) in sides().zip(&mut block) {
                    nodes[*step] = making.node(*step, sets.set(set), nodes);
                }
            }
            for (set, nodes) in sides().zip(&block) {
                for occurrence in &template.occurrences {
                    making.stage(occurrence, nodes);
                }
                visit(set, nodes);
            }
        }
        making.finish(sets.len())
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node.
    pub fn node(&self, node: u32) -> Node<'_> {
        let (step, begin) = self.nodes[node as usize];
        let end = self.nodes.get(node as usize + 1).map(|(_, begin)| *begin);
        let end = end.map_or(self.words.len(), |end| end as usize);
        Node {
            step,
            words: &self.words[begin as usize..end],
        }
    }

    /// The nodes that a node reads; one that it reads twice comes twice.
    pub fn reads(&self, node: u32) -> impl Iterator<Item = u32> {
        let Node { step, words } = self.node(node);
        let places = self.reads[step as usize].iter();
        places.map(move |place| words[*place as usize])
    }

    /// All nodes, each after those that it reads.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node<'_>> {
        (0..self.nodes.len() as u32).map(|node| self.node(node))
    }
}

/// For each step, whether it differs from set to set.
fn varying(template: &Template) -> Vec<bool> {
    let mut varies: Vec<bool> = Vec::with_capacity(template.steps.len());
    for step in &template.steps {
        let any = step.words.iter().any(|word| match word {
            Word::Fixed(_) => false,
            Word::Value(_) => true,
            Word::Node(step) => varies[*step as usize],
        });
        varies.push(any);
    }
    varies
}

struct Making<'a> {
    template: &'a Template,
    compact: Compact,
    /// By node: the first that was made of those whose latest read node it is. Most nodes are read by one, so that the
    /// table has few.
    first_reader: Vec<u32>,
    /// The other nodes.
    by_words: Known,
    /// By stage: its distinct rows.
    rows: Vec<Rows>,
    key: Vec<u32>,
}

#[derive(Default, Clone)]
struct Rows {
    width: usize,
    cells: Vec<u32>,
    /// By node: the first row that ends with it. Most nodes end one row, so that the table has few.
    by_last: Vec<u32>,
    /// The other rows.
    by_row: Known,
    occurrences: usize,
}

impl Rows {
    fn insert(&mut self, row: &[u32]) {
        let (width, cells) = (self.width, &self.cells);
        let same = |known: u32| &cells[known as usize * width..][..width] == row;
        let new = (cells.len() / width) as u32;
        let last = row[width - 1] as usize;
        if self.by_last.len() <= last {
            self.by_last.resize(last + 1, NONE);
        }
        let first = &mut self.by_last[last];
        let number = match *first {
            NONE => {
                *first = new;
                new
            }
            first if same(first) => first,
            _ => self.by_row.number(spread(row), same, new),
        };
        if number == new {
            self.cells.extend_from_slice(row);
        }
    }
}

impl<'a> Making<'a> {
    fn new(template: &'a Template) -> Making<'a> {
        let mut rows = vec![Rows::default(); template.stages as usize];
        for occurrence in &template.occurrences {
            let stage = &mut rows[occurrence.stage as usize];
            let width = occurrence.steps.len();
            assert!(
                stage.occurrences == 0 || stage.width == width,
                "occurrences of stage {} have {} and {width} steps: a stage has equally many in each",
                occurrence.stage,
                stage.width,
            );
            stage.width = width;
            stage.occurrences += 1;
        }
        Making {
            template,
            compact: Compact::default(),
            first_reader: Vec::new(),
            by_words: Known::default(),
            rows,
            key: Vec::new(),
        }
    }

    /// The node of a step, given the values of the set and the nodes of the steps before it.
    fn node(&mut self, step: usize, set: &[u32], nodes: &[u32]) -> u32 {
        let resolve = |word: &Word| match word {
            Word::Fixed(number) => *number,
            Word::Value(column) => set[*column as usize],
            Word::Node(earlier) => {
                assert!((*earlier as usize) < step, "a step reads an earlier one");
                nodes[*earlier as usize]
            }
        };
        self.key.clear();
        let words = self.template.steps[step].words.iter();
        self.key.extend(words.clone().map(resolve));
        // The latest node that it reads. Equal words are read alike, so that it is the same for equal steps.
        let read = words.filter_map(|word| match word {
            Word::Node(earlier) => Some(nodes[*earlier as usize]),
            Word::Fixed(_) | Word::Value(_) => None,
        });
        let (key, compact) = (&self.key, &mut self.compact);
        let same = |known: u32| compact.node(known).words == key;
        let new = compact.nodes.len() as u32;
        let first = read
            .max()
            .map(|latest| &mut self.first_reader[latest as usize]);
        let node = match first {
            // Nothing has read it: this is new, and the table need not know.
            Some(first) if *first == NONE => {
                *first = new;
                new
            }
            Some(first) if same(*first) => *first,
            _ => self.by_words.number(spread(key), same, new),
        };
        if node == new {
            self.first_reader.push(NONE);
            let begin = u32::try_from(compact.words.len()).expect("fewer than 2³² words");
            compact.nodes.push((step as u32, begin));
            compact.words.extend_from_slice(key);
        }
        node
    }

    fn stage(&mut self, occurrence: &Occurrence, nodes: &[u32]) {
        self.key.clear();
        let steps = occurrence.steps.iter();
        self.key.extend(steps.map(|step| nodes[*step as usize]));
        if !self.key.is_empty() {
            self.rows[occurrence.stage as usize].insert(&self.key);
        }
    }

    fn finish(self, sets: usize) -> Compact {
        let mut compact = self.compact;
        let is_node = |(_, word): &(u32, &Word)| matches!(word, Word::Node(_));
        let reads = |step: &Step| {
            let words = (0..).zip(&step.words).filter(is_node);
            words.map(|(place, _)| place).collect()
        };
        compact.reads = self.template.steps.iter().map(reads).collect();
        let stage = |rows: Rows| StageRows {
            instances: rows.occurrences * sets,
            distinct: match rows.width {
                0 => Stages::default(),
                width => Stages::new(width, rows.cells),
            },
        };
        compact.stages = self.rows.into_iter().map(stage).collect();
        compact
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(words: &[Word]) -> Step {
        Step {
            words: words.to_vec(),
        }
    }

    /// Figure 6 of the paper: A → B, A → C, {B, C} → D. The second set shares A and B with the first, the third A,
    /// B and C.
    #[test]
    fn three_sets_of_figure_6_are_seven_stages() {
        use Word::{Fixed, Node, Value};
        let template = Template {
            steps: vec![
                step(&[Fixed(0), Value(0)]),
                step(&[Fixed(1), Value(1), Node(0)]),
                step(&[Fixed(2), Value(2), Node(0)]),
                step(&[Fixed(3), Value(3), Node(1), Node(2)]),
            ],
            occurrences: (0..4)
                .map(|stage| Occurrence {
                    stage,
                    steps: vec![stage],
                })
                .collect(),
            stages: 4,
        };
        let sets = Sets::new(4, 3, vec![1, 3, 5, 7, 1, 3, 6, 7, 1, 3, 6, 8]);
        let compact = Compact::new(&template, &sets);
        let instances: usize = compact.stages.iter().map(|stage| stage.instances).sum();
        let distinct: usize = compact
            .stages
            .iter()
            .map(|stage| stage.distinct.len())
            .sum();
        assert_eq!((instances, distinct), (12, 7));
        assert_eq!(compact.len(), 7);
        // The D of the second set reads the B that it shares and its own C.
        let second_d = compact.stages[3].distinct.row(1)[0];
        assert_eq!(
            compact.node(second_d).words[2],
            compact.stages[1].distinct.row(0)[0]
        );
    }

    /// Two steps that no set changes, and stages that consist of some of them.
    fn of_constants(occurrences: &[(u32, &[u32])]) -> Compact {
        let occurrence = |(stage, steps): &(u32, &[u32])| Occurrence {
            stage: *stage,
            steps: steps.to_vec(),
        };
        let template = Template {
            steps: vec![step(&[Word::Fixed(0)]), step(&[Word::Fixed(1)])],
            occurrences: occurrences.iter().map(occurrence).collect(),
            stages: 2,
        };
        Compact::new(&template, &Sets::new(0, 3, Vec::new()))
    }

    #[test]
    fn items_of_a_stage_are_rows_of_it() {
        let compact = of_constants(&[(0, &[0]), (0, &[1]), (0, &[0]), (1, &[]), (1, &[])]);
        let counts = compact.stages.iter();
        let counts = counts.map(|stage| (stage.instances, stage.distinct.len()));
        assert_eq!(counts.collect::<Vec<_>>(), [(9, 2), (6, 0)]);
    }

    #[test]
    #[should_panic(expected = "occurrences of stage 1 have 1 and 2 steps")]
    fn items_of_a_stage_have_equally_many_steps() {
        of_constants(&[(0, &[0, 1]), (1, &[0]), (1, &[0, 1])]);
    }

    #[test]
    #[should_panic(expected = "occurrences of stage 0 have 0 and 1 steps")]
    fn an_item_without_steps_is_no_item_of_a_stage_with_some() {
        of_constants(&[(0, &[]), (0, &[1])]);
    }

    #[test]
    fn what_no_parameter_reaches_is_there_once() {
        use Word::{Fixed, Node, Value};
        let template = Template {
            steps: vec![
                step(&[Fixed(9), Fixed(1)]),
                step(&[Fixed(5), Fixed(4), Node(0)]),
                step(&[Fixed(5), Value(0), Node(0)]),
            ],
            occurrences: vec![Occurrence {
                stage: 0,
                steps: vec![2],
            }],
            stages: 1,
        };
        let compact = Compact::new(&template, &Sets::new(1, 3, vec![3, 4, 3]));
        // The value 4 makes the third step equal to the second, which has it as a constant.
        assert_eq!(compact.len(), 3);
        assert_eq!(compact.stages[0].instances, 3);
        assert_eq!(compact.stages[0].distinct.len(), 2);
    }
}

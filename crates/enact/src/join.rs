//! Combining items as they arrive, in any order.
//!
//! Law: the rows that come out depend on which items went in, never on the order in which they did. An
//! item's place is known from its index path. Each row comes out exactly once, as soon as its parts are
//! there; the work is linear in the number of rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::Index;

use crate::shape::{Map, Plan, ShapeError};

/// A combination: its path, and for each unit the number of the item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) path: Index,
    /// (unit, item), sorted by unit.
    pub(crate) items: Vec<(usize, u32)>,
}

impl Row {
    fn with(&self, other: &Row, path: Index) -> Row {
        let mut items = [self.items.as_slice(), other.items.as_slice()].concat();
        items.sort_unstable();
        Row { path, items }
    }
}

/// For each column, the group of each position.
pub(crate) type GroupTables = Vec<Vec<u32>>;

#[derive(Debug)]
pub(crate) enum Join {
    Unit(usize),
    Cross {
        parts: Vec<Join>,
        rows: Vec<Vec<Row>>,
    },
    Dot {
        parts: Vec<Join>,
        counts: Vec<usize>,
        /// Rows whose partners have not all come.
        pending: BTreeMap<Index, Vec<Option<Row>>>,
    },
    Attach {
        base: Box<Join>,
        other: Box<Join>,
        maps: Vec<Map>,
        base_count: usize,
        others: BTreeMap<Index, Row>,
        waiting: BTreeMap<Index, Vec<Row>>,
    },
}

impl Join {
    pub(crate) fn new(plan: &Plan) -> Join {
        match plan {
            Plan::Unit(unit) => Join::Unit(*unit),
            Plan::Cross(parts) => Join::Cross {
                rows: vec![Vec::new(); parts.len()],
                parts: parts.iter().map(Join::new).collect(),
            },
            Plan::Dot(parts) => Join::Dot {
                counts: vec![0; parts.len()],
                parts: parts.iter().map(Join::new).collect(),
                pending: BTreeMap::new(),
            },
            Plan::Attach { base, other, maps } => Join::Attach {
                base: Box::new(Join::new(base)),
                other: Box::new(Join::new(other)),
                maps: maps.clone(),
                base_count: 0,
                others: BTreeMap::new(),
                waiting: BTreeMap::new(),
            },
        }
    }

    /// How many rows there can be at most, when each unit has so many items.
    pub(crate) fn most(&self, items: &dyn Fn(usize) -> u64) -> u64 {
        let parts =
            |parts: &[Join]| -> Vec<u64> { parts.iter().map(|part| part.most(items)).collect() };
        match self {
            Join::Unit(unit) => items(*unit),
            Join::Cross { parts: all, .. } => parts(all).into_iter().fold(1, u64::saturating_mul),
            Join::Dot { parts: all, .. } => parts(all).into_iter().min().unwrap_or(0),
            Join::Attach { base, .. } => base.most(items),
        }
    }

    /// An item of `unit` arrives; the rows that it completes are appended to `out`.
    pub(crate) fn arrive(
        &mut self,
        unit: usize,
        path: &Index,
        item: u32,
        groups: &GroupTables,
        out: &mut Vec<Row>,
    ) {
        match self {
            Join::Unit(own) => {
                if *own == unit {
                    out.push(Row {
                        path: path.clone(),
                        items: vec![(unit, item)],
                    });
                }
            }
            Join::Cross { parts, rows } => {
                for place in 0..parts.len() {
                    let mut new = Vec::new();
                    parts[place].arrive(unit, path, item, groups, &mut new);
                    for row in &new {
                        cross(rows, place, row, out);
                    }
                    rows[place].append(&mut new);
                }
            }
            Join::Dot {
                parts,
                counts,
                pending,
            } => {
                let width = parts.len();
                for place in 0..width {
                    let mut new = Vec::new();
                    parts[place].arrive(unit, path, item, groups, &mut new);
                    counts[place] += new.len();
                    for row in new {
                        let partners = pending
                            .entry(row.path.clone())
                            .or_insert_with(|| vec![None; width]);
                        let key = row.path.clone();
                        partners[place] = Some(row);
                        if partners.iter().all(Option::is_some) {
                            let partners = pending.remove(&key).unwrap_or_default();
                            let mut items: Vec<_> = partners
                                .into_iter()
                                .flatten()
                                .flat_map(|row| row.items)
                                .collect();
                            items.sort_unstable();
                            out.push(Row { path: key, items });
                        }
                    }
                }
            }
            Join::Attach {
                base,
                other,
                maps,
                base_count,
                others,
                waiting,
            } => {
                let mut new = Vec::new();
                base.arrive(unit, path, item, groups, &mut new);
                *base_count += new.len();
                for row in new {
                    let key = follow(maps, &row.path, groups);
                    match others.get(&key) {
                        Some(partner) => out.push(row.with(partner, row.path.clone())),
                        None => waiting.entry(key).or_default().push(row),
                    }
                }
                let mut new = Vec::new();
                other.arrive(unit, path, item, groups, &mut new);
                for partner in new {
                    for row in waiting.remove(&partner.path).unwrap_or_default() {
                        out.push(row.with(&partner, row.path.clone()));
                    }
                    others.insert(partner.path.clone(), partner);
                }
            }
        }
    }

    /// Everything has arrived: were all partners found?
    pub(crate) fn check(
        &self,
        stage: &Arc<str>,
        name: &dyn Fn(usize) -> Arc<str>,
    ) -> Result<(), ShapeError> {
        match self {
            Join::Unit(_) => Ok(()),
            Join::Cross { parts, .. } => parts.iter().try_for_each(|part| part.check(stage, name)),
            Join::Dot {
                parts,
                counts,
                pending,
            } => {
                parts.iter().try_for_each(|part| part.check(stage, name))?;
                let Some((path, partners)) = pending.first_key_value() else {
                    return Ok(());
                };
                let there = partners.iter().position(Option::is_some).unwrap_or(0);
                let missing = partners.iter().position(Option::is_none).unwrap_or(0);
                let (left, right) = (there.min(missing), there.max(missing));
                Err(ShapeError::Unequal {
                    stage: Arc::clone(stage),
                    left: parts[left].describe(name),
                    left_count: counts[left],
                    right: parts[right].describe(name),
                    right_count: counts[right],
                    unmatched: path.clone(),
                    unmatched_side: parts[there].describe(name),
                })
            }
            Join::Attach {
                base,
                other,
                base_count,
                others,
                waiting,
                ..
            } => {
                base.check(stage, name)?;
                other.check(stage, name)?;
                let Some(row) = waiting
                    .values()
                    .flatten()
                    .min_by(|a, b| a.path.cmp(&b.path))
                else {
                    return Ok(());
                };
                Err(ShapeError::Unequal {
                    stage: Arc::clone(stage),
                    left: base.describe(name),
                    left_count: *base_count,
                    right: other.describe(name),
                    right_count: others.len(),
                    unmatched: row.path.clone(),
                    unmatched_side: base.describe(name),
                })
            }
        }
    }

    fn describe(&self, name: &dyn Fn(usize) -> Arc<str>) -> String {
        let list = |parts: &[Join]| {
            parts
                .iter()
                .map(|part| part.describe(name))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match self {
            Join::Unit(unit) => name(*unit).to_string(),
            Join::Cross { parts, .. } => format!("cross({})", list(parts)),
            Join::Dot { parts, .. } => format!("dot({})", list(parts)),
            Join::Attach { base, .. } => base.describe(name),
        }
    }
}

/// The path that follows from `path` by `maps`.
pub(crate) fn follow(maps: &[Map], path: &Index, groups: &GroupTables) -> Index {
    let position = |map: &Map| match map {
        Map::Same(place) => path.0[*place],
        Map::Group { place, column } => groups[*column as usize][path.0[*place] as usize],
        Map::First => 0,
    };
    Index(maps.iter().map(position).collect())
}

/// All combinations of `row`, which stands at `place`, with what the other parts have so far.
fn cross(rows: &[Vec<Row>], place: usize, row: &Row, out: &mut Vec<Row>) {
    if rows
        .iter()
        .enumerate()
        .any(|(other, known)| other != place && known.is_empty())
    {
        return;
    }
    let mut partial: Vec<Row> = vec![Row {
        path: Index::root(),
        items: Vec::new(),
    }];
    for (other, known) in rows.iter().enumerate() {
        let choices = if other == place {
            std::slice::from_ref(row)
        } else {
            known.as_slice()
        };
        partial = partial
            .iter()
            .flat_map(|left| {
                choices
                    .iter()
                    .map(|right| left.with(right, left.path.join(&right.path.0)))
            })
            .collect();
    }
    out.append(&mut partial);
}

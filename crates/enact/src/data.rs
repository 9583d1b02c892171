//! The data set of a run: the items of each workflow input.
//!
//! Law: the place of an item is its position in its source. Columns of one table share a source, so their
//! items pair; separate lists are separate sources; a single value is there once and has no position.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{Identity, Index, Source, Type, Value};

use crate::shape::Shape;

/// One item from outside.
#[derive(Debug, Clone)]
pub struct DataItem {
    /// What it is.
    pub identity: Identity,
    /// How to get at it.
    pub value: Value,
}

/// The items of one workflow input.
#[derive(Debug, Clone)]
pub struct Column {
    /// The input.
    pub input: Arc<str>,
    /// Columns of one table have the same number.
    pub source: u32,
    /// The items; `None` where an optional one is absent.
    pub items: Vec<Option<DataItem>>,
    /// There is one item, and it was not given as a list: it has the empty path.
    pub single: bool,
}

impl Column {
    /// For each position, the number of its group: equal items form a group, and groups are numbered by
    /// their first item.
    pub(crate) fn groups(&self) -> Vec<u32> {
        let mut numbers: BTreeMap<Option<&Identity>, u32> = BTreeMap::new();
        self.items
            .iter()
            .map(|item| {
                let next = numbers.len() as u32;
                *numbers
                    .entry(item.as_ref().map(|item| &item.identity))
                    .or_insert(next)
            })
            .collect()
    }
}

/// A column of a table that no input of the workflow goes by: it names the rows, and what is made from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// What it is called.
    pub name: Arc<str>,
    /// The table.
    pub source: u32,
    /// By row; null where there is none.
    pub values: Vec<Value>,
}

/// The items of a workflow input that tasks of the same graph make: an output of another instance of the workflow,
/// from [`Expander::products`](crate::Expander::products). They pair with the items that they descend from.
#[derive(Debug, Clone)]
pub struct ProductColumn {
    pub(crate) input: Arc<str>,
    pub(crate) product_type: Type,
    pub(crate) shape: Shape,
    /// `None` where an optional one is absent.
    pub(crate) items: Vec<(Index, Option<Source>)>,
}

/// The items of all inputs.
#[derive(Debug, Clone, Default)]
pub struct DataSet {
    /// By input; an optional input may have none.
    pub columns: Vec<Column>,
    /// Inputs that are made rather than given.
    pub products: Vec<ProductColumn>,
    /// What only names rows.
    pub labels: Vec<Label>,
}

impl DataSet {
    /// The column of an input.
    pub fn column(&self, input: &str) -> Option<&Column> {
        self.columns.iter().find(|column| *column.input == *input)
    }

    /// The products that are bound to an input.
    pub(crate) fn product(&self, input: &str) -> Option<&ProductColumn> {
        self.products.iter().find(|column| *column.input == *input)
    }
}

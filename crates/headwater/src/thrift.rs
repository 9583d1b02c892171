//! Which bytes are worth their place on disk.
//!
//! Law: what was asked for by name is kept. Of other outputs the bytes may be left out, never the record:
//! what is needed again is made again.

use headwater_execute::Made;
use headwater_graph::{Port, ProductRecord};
use headwater_remember::PendingObject;

/// Decides what is kept.
#[derive(Debug, Default)]
pub(crate) struct Thrift {}

impl Thrift {
    pub(crate) fn new() -> Thrift {
        Thrift::default()
    }

    /// Takes out the objects that are not to be kept; each comes with the position of its output. Tells
    /// whether all are.
    pub(crate) fn choose(
        &mut self,
        _record: &ProductRecord,
        ports: &[Port],
        made: &Made,
        objects: &mut Vec<(usize, PendingObject)>,
    ) -> Result<bool, String> {
        let before = objects.len();
        objects.retain(|(position, _)| {
            made.wanted.has(*position) || ports[*position].keep != Some(false)
        });
        Ok(objects.len() == before)
    }

    /// Writes down what was learned.
    pub(crate) fn close(self) {}
}

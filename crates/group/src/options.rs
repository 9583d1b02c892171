//! How the store of a group is used.

use std::time::Duration;

/// How a group's store is used.
#[derive(Debug, Clone)]
pub struct Options {
    /// The database.
    pub url: String,
    /// Where this machine finds the objects, if not where the database says.
    pub objects: Option<String>,
    /// Whose products are reused; `None` is everybody's.
    pub trust: Option<Vec<String>>,
    /// Whether what is made is given to the group at once. Then questions of people are about the group.
    pub publish: bool,
    /// How long to wait for a group that cannot be reached: at the beginning, at the end of a run, and when too much
    /// waits for it.
    pub wait: Duration,
    /// The bytes of products that may wait for a group that cannot be reached.
    pub spool: u64,
    /// Collection leaves what was made in this time.
    pub recent: Duration,
}

impl Options {
    /// The usual ones for a database.
    pub fn new(url: &str) -> Options {
        Options {
            url: url.to_owned(),
            objects: None,
            trust: None,
            publish: true,
            wait: Duration::from_secs(30),
            spool: 16 << 30,
            recent: Duration::from_secs(24 * 60 * 60),
        }
    }
}

//! How a sequence runs.
//!
//! Law: none of it changes what calls compute.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use headwater_derive::Mode;
use headwater_engine::{Error, StorePlace, open_store};
use headwater_execute::Stop;

use headwater_execute::{Executor, Threads};
use headwater_graph::Store;

/// Where products are remembered.
pub(crate) enum KeptIn {
    Nothing,
    Place(StorePlace),
    Open(Arc<dyn Store>),
}

impl KeptIn {
    pub(crate) fn remembers(&self) -> bool {
        !matches!(self, KeptIn::Nothing)
    }

    /// The store, opened if it is not yet; `None` where nothing is remembered.
    pub(crate) fn open(&self, current: &Path) -> Result<Option<Arc<dyn Store>>, Error> {
        match self {
            KeptIn::Nothing => Ok(None),
            KeptIn::Place(place) => open_store(place, current).map(Some),
            KeptIn::Open(store) => Ok(Some(Arc::clone(store))),
        }
    }
}

/// What a sequence is begun with.
///
/// ```
/// use headwater::sequence::{Mode, Sequence, SequenceOptions, Threads};
///
/// let options = SequenceOptions::new(Mode::Optimistic)
///     .forgetting()
///     .on(Threads::new(2))
///     .called("example");
/// let report = Sequence::with(options).end()?;
/// assert_eq!(report.calls.len(), 0);
/// # Ok::<(), headwater::sequence::SequenceError>(())
/// ```
#[must_use = "it is for `Sequence::with`"]
pub struct SequenceOptions {
    pub(crate) mode: Mode,
    pub(crate) store: KeptIn,
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) memory: Option<u64>,
    pub(crate) stop: Stop,
    pub(crate) name: Option<String>,
    pub(crate) retries: u32,
}

impl SequenceOptions {
    /// A thread for each core, and the store that commands would use here: `HEADWATER_STORE`, or the nearest
    /// `.headwater`.
    pub fn new(mode: Mode) -> SequenceOptions {
        let url = std::env::var("HEADWATER_STORE").ok();
        SequenceOptions {
            mode,
            store: KeptIn::Place(StorePlace {
                url: url.filter(|url| !url.is_empty()),
                read_only: false,
                ..StorePlace::default()
            }),
            executor: Box::new(Threads::all()),
            memory: None,
            stop: Stop::default(),
            name: None,
            retries: 0,
        }
    }

    /// Products are remembered there.
    pub fn store(mut self, place: StorePlace) -> SequenceOptions {
        self.store = KeptIn::Place(place);
        self
    }

    /// Products are remembered in this store, which is open.
    pub fn kept_in(mut self, store: Arc<dyn Store>) -> SequenceOptions {
        self.store = KeptIn::Open(store);
        self
    }

    /// Nothing is remembered, and nothing is looked up.
    pub fn forgetting(mut self) -> SequenceOptions {
        self.store = KeptIn::Nothing;
        self
    }

    /// Tasks run there.
    pub fn on(mut self, executor: impl Into<Box<dyn Executor>>) -> SequenceOptions {
        self.executor = executor.into();
        self
    }

    /// Tasks and their products take at most so many bytes of memory.
    pub fn memory(mut self, bytes: u64) -> SequenceOptions {
        self.memory = Some(bytes);
        self
    }

    /// Whoever has this can stop the sequence.
    pub fn stop(mut self, stop: Stop) -> SequenceOptions {
        self.stop = stop;
        self
    }

    /// What the sequence is called in lists of runs; by default, as the program.
    pub fn called(mut self, name: &str) -> SequenceOptions {
        self.name = Some(name.to_owned());
        self
    }

    /// How often a call that fails is tried again, unless its operation says otherwise.
    pub fn retries(mut self, retries: u32) -> SequenceOptions {
        self.retries = retries;
        self
    }
}

impl fmt::Debug for SequenceOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequenceOptions")
            .field("mode", &self.mode)
            .field("cores", &self.executor.cores())
            .field("memory", &self.memory)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

//! How a sequence runs.
//!
//! Law: none of it changes what calls compute.

use std::fmt;

use headwater_derive::Mode;
use headwater_engine::StorePlace;
use headwater_execute::Stop;

use headwater_execute::{Executor, Threads};

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
    pub(crate) store: Option<StorePlace>,
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
            store: Some(StorePlace {
                url: url.filter(|url| !url.is_empty()),
                read_only: false,
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
        self.store = Some(place);
        self
    }

    /// Nothing is remembered, and nothing is looked up.
    pub fn forgetting(mut self) -> SequenceOptions {
        self.store = None;
        self
    }

    /// Tasks run there.
    pub fn on(mut self, executor: impl Executor + 'static) -> SequenceOptions {
        self.executor = Box::new(executor);
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
            .field("store", &self.store)
            .field("cores", &self.executor.cores())
            .field("memory", &self.memory)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

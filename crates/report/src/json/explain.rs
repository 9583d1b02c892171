//! Why tasks ran, and how runs differ: `headwater explain`, `headwater runs diff`.
//!
//! Law: `why` is one word, and the word says which fields stand beside it.

use serde::Serialize;

/// How a product came to be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MadeJson {
    /// Its recipe, in hexadecimal digits.
    pub recipe: String,
    /// The run that made it.
    pub run: String,
    /// The task of that run, where that is known.
    pub task: Option<String>,
    /// When, in seconds since 1970.
    pub time: i64,
    /// How long it took.
    pub seconds: f64,
    /// The role of the database that gave it to the group; only where the group has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub giver: Option<String>,
}

/// Something from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedJson {
    /// `file:digest`, `directory:digest`, `value:digest` or `name:text`.
    pub identity: String,
    /// What it was called, where that was noted: a path, or the value itself.
    pub name: Option<String>,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CauseJson {
    /// In one word: `parameter`, `version`, `input`, `items`, `order`, `link`, `operation` or `unknown`.
    pub kind: &'static str,
    /// Which parameter, part of a version, or port; null where there is none.
    pub name: Option<String>,
    /// What it was; null where it was not there.
    pub old: Option<SideJson>,
    /// What it is; null where it is not there.
    pub new: Option<SideJson>,
    /// The operation of the tasks that it changed.
    pub operation: String,
    /// The addresses of tasks.
    pub tasks: Vec<String>,
    /// How many there are.
    pub count: usize,
    /// What changed, in words.
    pub text: String,
    /// The lines of a text that changed, as `diff` shows them.
    pub lines: Vec<String>,
}

/// One side of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SideJson {
    /// A value, a part of a version, a link or the name of an operation.
    Text(String),
    /// How many items a list has.
    Items(usize),
    /// Something from outside.
    Named(NamedJson),
}

/// A product that does not fit what it was made from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StaleJson {
    /// The task whose product it is.
    pub task: String,
    /// Its recipe, in hexadecimal digits.
    pub recipe: String,
    /// The first few tasks that made again what it reads.
    pub inputs: Vec<StaleInputJson>,
}

/// A task that made something again, and differently.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StaleInputJson {
    /// Its address.
    pub task: String,
    /// How it was made.
    pub made: MadeJson,
}

/// A task of a run, and why it stands as it stands: `headwater explain`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplanationJson {
    /// The run.
    pub run: String,
    /// The address of the task.
    pub task: String,
    /// Another address of it, by which it was asked for.
    pub other_address: Option<String>,
    /// What became of it.
    pub state: String,
    /// Its recipe, in hexadecimal digits.
    pub recipe: String,
    /// Its operation, where a record tells.
    pub operation: Option<String>,
    /// How long it took.
    pub seconds: f64,
    /// Products that do not fit what they were made from, of the task or upstream.
    pub stale: Vec<StaleJson>,
    /// Why, in one word.
    pub why: &'static str,
    /// What belongs to it.
    #[serde(flatten)]
    pub more: WhyJson,
}

/// A reason within another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BecauseJson {
    /// What belongs to it.
    #[serde(flatten)]
    pub more: WhyJson,
    /// Why, in one word.
    pub why: &'static str,
}

/// What belongs to a reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum WhyJson {
    /// `changed`: it ran, and is not what was remembered.
    Changed {
        /// The remembered product that it was compared with.
        compared: MadeJson,
        /// Whether an earlier run has something at this address.
        same_address: bool,
        /// The latest of these runs.
        since: Option<String>,
        /// What it reads that the run before did not read at all.
        never_read: Vec<NamedJson>,
        /// What changed, the task's own changes first.
        causes: Vec<CauseJson>,
        /// Whether some causes may be missing.
        incomplete: bool,
    },
    /// `at-once`: another run made the same at the same time.
    AtOnce {
        /// That product.
        made: MadeJson,
    },
    /// `reused`: it was remembered.
    Reused {
        /// The product.
        made: MadeJson,
        /// The processor time that it took.
        saved_seconds: f64,
    },
    /// `cut-off`: it was new, but all that it reads has contents that were seen before.
    CutOff {
        /// The product of an equal task, which was taken.
        made: MadeJson,
        /// The processor time that it took.
        saved_seconds: f64,
        /// What made it new.
        causes: Vec<CauseJson>,
        /// Whether some causes may be missing.
        incomplete: bool,
    },
    /// `restored`: its bytes were needed and not there.
    Restored {
        /// Why they were not there, in one word.
        lost: Option<&'static str>,
        /// How it was made before.
        made: Option<MadeJson>,
        /// Why it ran in the first place.
        because: Option<Box<BecauseJson>>,
    },
    /// `failed`.
    Failed {
        /// Why it ran.
        because: Option<Box<BecauseJson>>,
        /// What was said about it.
        description: Option<String>,
        /// Where to look.
        look: Vec<String>,
    },
    /// `blocked`: something that it needs failed.
    Blocked {
        /// The task that failed.
        blocked_by: Option<String>,
        /// What was said about that.
        description: Option<String>,
        /// Where to look.
        look: Vec<String>,
    },
    /// `first`, `impure`, `not-needed`, `no-record`: the word says all.
    Nothing {},
}

/// How two runs differ: `headwater runs diff`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunDifferenceJson {
    /// The two runs.
    pub runs: [String; 2],
    /// Their workflows.
    pub workflows: [String; 2],
    /// Addresses that only the first has.
    pub only_first: Vec<String>,
    /// Addresses that only the second has.
    pub only_second: Vec<String>,
    /// How many tasks are the same.
    pub same: usize,
    /// Tasks that are new, but whose products were found to be equal.
    pub equal: Vec<String>,
    /// How many tasks are different.
    pub different: usize,
    /// The different ones by what changed.
    pub causes: Vec<CauseGroupJson>,
    /// Different tasks without a cause that is known.
    pub unexplained: Vec<String>,
    /// Products of the second that do not fit what they were made from.
    pub stale: Vec<StaleJson>,
    /// Whether some causes may be missing.
    pub incomplete: bool,
}

/// Tasks that differ for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CauseGroupJson {
    /// The reason; `tasks` and `count` are all tasks that differ for it.
    #[serde(flatten)]
    pub cause: CauseJson,
    /// The first few tasks where it changed something.
    pub changed_at: Vec<String>,
    /// How many these are.
    pub changed_count: usize,
}

//! The segmentation of cell nuclei: seven tasks, each a plain function, and the parameters they take.
//!
//! ```text
//! split ─┬─ red, green, blue ─> t1 red blood cells ────────────────┐
//!        └─ red ─> t2 background ─> t3 threshold ─> t4 area filter ─> t5 candidates ─> t6 separation ─> t7 final filter
//! ```
//!
//! Law: the tasks compute what the reference implementation computes, bit for bit; `docs/nuclei.md` tells what that
//! is. A tile that stops early has an empty mask and a [`Status`] that says why: that is a result and no error.
//!
//! `parameters` has the fifteen parameters, `tasks` the tasks, `separate` the sixth one, `statuses` the
//! tiles of a slide by their status.

mod parameters;
mod separate;
mod statuses;
mod tasks;

pub(crate) use parameters::byte;
pub use parameters::{ParameterError, Parameters};
pub use separate::{large_objects, markers, separate};
pub use statuses::StatusCounts;
pub use tasks::{
    Background, Difference, RedBloodCells, candidates, filter_candidates, final_filter,
    reconstruct_background, red_blood_cells, split, threshold,
};

use crate::{Colour, Plane, View};

/// How a tile came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Status {
    /// To the end.
    #[default]
    Done,
    /// It is background (at least 99% of its pixels).
    Background,
    /// It is likely to be background (at least 90%).
    LikelyBackground,
    /// No candidate is left.
    Nothing,
}

impl Status {
    /// All of them, in the order of their codes.
    pub const ALL: [Status; 4] = [
        Status::Done,
        Status::Background,
        Status::LikelyBackground,
        Status::Nothing,
    ];

    /// The number that stands for it in data.
    pub fn code(self) -> i64 {
        match self {
            Status::Done => 0,
            Status::Background => 1,
            Status::LikelyBackground => 2,
            Status::Nothing => 3,
        }
    }

    /// The status of a number.
    pub fn from_code(code: i64) -> Option<Status> {
        let mut all = Status::ALL.into_iter();
        all.find(|status| status.code() == code)
    }

    /// What it means, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Status::Done => "done",
            Status::Background => "background",
            Status::LikelyBackground => "likely background",
            Status::Nothing => "no candidates left",
        }
    }

    /// This one, or the other if this one is [`Status::Done`].
    #[must_use]
    pub fn or(self, other: Status) -> Status {
        match self {
            Status::Done => other,
            stopped => stopped,
        }
    }
}

/// A task of the segmentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the functions of these names say what they are"
)]
pub enum Task {
    Split,
    RedBloodCells,
    ReconstructBackground,
    Threshold,
    FilterCandidates,
    Candidates,
    Separate,
    FinalFilter,
}

impl Task {
    /// All of them, in the order in which [`segment`] goes through them.
    pub const ALL: [Task; 8] = [
        Task::Split,
        Task::RedBloodCells,
        Task::ReconstructBackground,
        Task::Threshold,
        Task::FilterCandidates,
        Task::Candidates,
        Task::Separate,
        Task::FinalFilter,
    ];

    /// The name of its operation.
    pub fn name(self) -> &'static str {
        match self {
            Task::Split => "split",
            Task::RedBloodCells => "red-blood-cells",
            Task::ReconstructBackground => "reconstruct-background",
            Task::Threshold => "threshold",
            Task::FilterCandidates => "filter-candidates",
            Task::Candidates => "candidates",
            Task::Separate => "separate",
            Task::FinalFilter => "final-filter",
        }
    }
}

/// What a segmentation gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segmentation {
    /// 255 in nuclei, 0 elsewhere.
    pub mask: Plane<u8>,
    /// How it came out.
    pub status: Status,
    /// How many nuclei there are.
    pub nuclei: u64,
    /// How many pixels they have.
    pub foreground: u64,
}

/// All tasks, one after another. `began` hears of each before it starts.
pub fn segment(
    image: View<'_, Colour>,
    parameters: &Parameters,
    mut began: impl FnMut(Task),
) -> Segmentation {
    let stopped = |status| Segmentation {
        mask: Plane::filled(image.width(), image.height(), 0),
        status,
        nuclei: 0,
        foreground: 0,
    };
    began(Task::Split);
    let [red, green, blue] = split(image);
    began(Task::RedBloodCells);
    let cells = red_blood_cells(red.view(), green.view(), blue.view(), parameters);
    drop((green, blue));
    if cells.status != Status::Done {
        return stopped(cells.status);
    }
    began(Task::ReconstructBackground);
    let background = reconstruct_background(red.view(), parameters.recon_conn);
    drop(red);
    began(Task::Threshold);
    let difference = threshold(
        background.inverted.view(),
        background.reconstructed.view(),
        parameters.g1,
        parameters.fill_holes_conn,
    );
    drop(background);
    began(Task::FilterCandidates);
    let sizes = (parameters.min_size, parameters.max_size);
    let (seeds, status) = filter_candidates(&difference.mask, sizes);
    if status != Status::Done {
        return stopped(status);
    }
    began(Task::Candidates);
    let found = candidates(
        difference.difference.view(),
        &seeds,
        &cells.mask,
        parameters.g2,
    );
    drop((difference, seeds, cells));
    began(Task::Separate);
    let separated = separate(
        image,
        &found,
        parameters.min_size_pl,
        parameters.watershed_conn,
    );
    drop(found);
    began(Task::FinalFilter);
    let sizes = (parameters.min_size_seg, parameters.max_size_seg);
    let (mask, status, nuclei) = final_filter(&separated, sizes, parameters.fill_holes_conn);
    Segmentation {
        mask: mask.to_mask(),
        status,
        nuclei,
        foreground: mask.count(),
    }
}

//! How tasks are kept from changing what they are given.
//!
//! Law: of the ways that the machine knows the safest is taken that costs little: a copy of its own for what is small,
//! blocks that are shared until somebody writes to them, a read-only mount that the program alone sees, a copy of
//! what is larger. Where none can be had the file is given by a link and compared afterwards. The choice is no part
//! of any result: a program finds the same bytes under the same names.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::proof::Shelter;

/// The variable that limits the choice.
const VARIABLE: &str = "HEADWATER_PROTECT";
/// What it may say.
const WORDS: [(&str, Wish); 3] = [
    ("mount", Wish::Mount),
    ("copy", Wish::Copy),
    ("check", Wish::Check),
];
/// In bytes: copying a file of this size costs about as much as a namespace of mounts does.
const SMALL: u64 = 1 << 20;
/// At most this many bytes are copied for a task; the rest is mounted.
const ALL_SMALL: u64 = 16 << 20;
/// Where there are no namespaces, a copy up to this size costs less than tasks that read it take.
const LARGE: u64 = 32 << 20;
const ALL_LARGE: u64 = 128 << 20;
/// What making any file costs, in bytes of copying.
const FILE: u64 = 16 << 10;

/// A namespace was refused in this process; it would be again.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// What the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Best,
    Mount,
    Copy,
    Check,
}

/// Which ways may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Protection(Wish);

impl Protection {
    /// As the environment says; the best there is for a word that means nothing, see [`check_protection`].
    pub(crate) fn from_environment() -> Protection {
        let word = std::env::var_os(VARIABLE).unwrap_or_default();
        let meant = WORDS.iter().find(|(known, _)| word == *known);
        Protection(meant.map_or(Wish::Best, |(_, wish)| *wish))
    }

    /// How far tasks are kept from writing to what the engine itself reads.
    pub(crate) fn shelter(self) -> Shelter {
        if self.allowance().mounts {
            Shelter::Sheltered
        } else {
            Shelter::Open
        }
    }

    /// What a task may be given in which way.
    pub(crate) fn allowance(self) -> Allowance {
        let (each, left, mounts) = match self.0 {
            Wish::Check => (0, 0, false),
            Wish::Copy => (LARGE, ALL_LARGE, false),
            _ if REFUSED.load(Ordering::Relaxed) => (LARGE, ALL_LARGE, false),
            Wish::Mount => (0, 0, true),
            Wish::Best => (SMALL, ALL_SMALL, true),
        };
        Allowance {
            each,
            left,
            shares: matches!(self.0, Wish::Best | Wish::Copy),
            mounts,
        }
    }

    /// No namespace could be had; if that is because it may not be, nobody asks again.
    pub(crate) fn namespace_refused(refusal: &std::io::Error) {
        let passing = [libc::EAGAIN, libc::ENOMEM, libc::ENOSPC, libc::ENFILE];
        let passes = refusal
            .raw_os_error()
            .is_some_and(|number| passing.contains(&number));
        if !passes {
            REFUSED.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether the environment says how tasks are kept from changing what they are given in a word that means something;
/// else what is wrong, and what to do. To be asked before anything runs.
pub fn check_protection() -> Result<(), (String, String)> {
    let word = std::env::var_os(VARIABLE).unwrap_or_default();
    if word.is_empty() || WORDS.iter().any(|(known, _)| word == *known) {
        return Ok(());
    }
    let words: Vec<String> = WORDS.iter().map(|(word, _)| format!("`{word}`")).collect();
    Err((
        format!("`{VARIABLE}` is `{}`, which means nothing", word.display()),
        format!("it may be {}; or leave it out", words.join(", ")),
    ))
}

/// What is left of the ways for one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowance {
    each: u64,
    left: u64,
    /// Whether blocks may be shared.
    pub(crate) shares: bool,
    /// Whether there may be mounts.
    pub(crate) mounts: bool,
}

impl Allowance {
    /// The ways of a task whose namespace was refused.
    pub(crate) fn without_mounts(self) -> Allowance {
        Allowance {
            each: LARGE,
            left: ALL_LARGE,
            shares: true,
            mounts: false,
        }
    }

    /// Whether a file of this size is copied; if so, that counts.
    pub(crate) fn copies(&mut self, size: u64) -> bool {
        let cost = size.saturating_add(FILE);
        let may = size <= self.each && cost <= self.left;
        if may {
            self.left -= cost;
        }
        may
    }

    /// Whether a copy is better than a link that is looked at, whatever it costs.
    pub(crate) fn copies_rather(&self) -> bool {
        !self.mounts && self.each > 0
    }

    /// Whether these files are all copied; if so, that counts.
    pub(crate) fn copies_all(&mut self, sizes: impl Iterator<Item = u64>) -> bool {
        let before = *self;
        let mut sizes = sizes;
        let all = sizes.all(|size| self.copies(size));
        if !all {
            *self = before;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_is_bounded_by_size_and_number() {
        let best = Protection(Wish::Best).allowance();
        let mut allowance = best;
        assert!(!allowance.copies(SMALL + 1) && allowance == best);
        assert!(allowance.copies(SMALL) && allowance.left < best.left);
        let many = (0..).take_while(|_| allowance.copies(1)).count();
        assert!((100..=1024).contains(&many), "{many}");
        let mut allowance = best;
        assert!(!allowance.copies_all([1, SMALL + 1].into_iter()) && allowance == best);
        assert!(allowance.copies_all([1, 1].into_iter()) && allowance.left < best.left);
    }

    #[test]
    fn a_check_copies_nothing_and_mounts_nothing() {
        let mut check = Protection(Wish::Check).allowance();
        assert!(!check.copies(0) && !check.shares && !check.mounts);
    }
}

//! What anybody could have put where it is found.
//!
//! Law: a file or folder of another user who is not root, in a folder that everybody may write to, counts only if it was
//! named.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether a store or settings may have been planted: what a store remembers is taken for results, and run if it is a
/// program.
pub(crate) fn is_strange(store: &Path) -> bool {
    let owner = |path: &Path| path.metadata().map(|found| (found.uid(), found.mode()));
    let me = owner(Path::new("/proc/self"));
    let (Ok((me, _)), Ok((owned_by, _)), Some(Ok((_, mode)))) =
        (me, owner(store), store.parent().map(owner))
    else {
        return false;
    };
    could_be_planted(me, owned_by, mode)
}

/// By the user who asks, the owner of a store, and the mode of the folder that it lies in.
fn could_be_planted(me: u32, owner: u32, mode: u32) -> bool {
    owner != me && owner != 0 && mode & 0o002 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_owns_it_and_who_may_write_beside_it_decide() {
        let (me, root, other) = (1000, 0, 1001);
        for (owner, mode, planted) in [
            (me, 0o1777, false),
            (root, 0o1777, false),
            (other, 0o1777, true),
            (other, 0o777, true),
            (other, 0o2775, false),
            (other, 0o755, false),
        ] {
            assert_eq!(
                could_be_planted(me, owner, mode),
                planted,
                "{owner} {mode:o}"
            );
        }
    }
}

//! Where the store is.
//!
//! Law: `--store` wins over `HEADWATER_STORE`, which wins over the nearest `.headwater` in the current
//! folder or its parents; where there is none, it is made in the current folder. One that anybody could have put
//! there is used only if it was named. `memory:` names a store in memory.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_graph::{Mode, Store};

use crate::{Error, temporary};

/// Which store to use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorePlace {
    /// What `--store` or `HEADWATER_STORE` says.
    pub url: Option<String>,
    /// Write nothing to it.
    pub read_only: bool,
}

/// The URL of a store in memory, which goes with the process.
const MEMORY: &str = "memory:";

impl StorePlace {
    /// Whether there is a store at this place.
    pub fn has_store(&self, current: &Path) -> Result<bool, Error> {
        Ok(!self.is_in_memory() && headwater_remember::is_store(&self.folder(current)?))
    }

    /// Whether it is a store in memory.
    fn is_in_memory(&self) -> bool {
        self.url.as_deref() == Some(MEMORY)
    }

    /// Its folder; of a store in memory one for the files that programs need.
    pub fn folder(&self, current: &Path) -> Result<PathBuf, Error> {
        if self.is_in_memory() {
            return Ok(temporary::fresh());
        }
        let Some(url) = &self.url else {
            let near = current
                .ancestors()
                .map(|folder| folder.join(".headwater"))
                .find(|path| path.is_dir());
            if let Some(path) = &near
                && is_strange(path)
            {
                return Err(Error::usage(
                    format!(
                        "the store `{}` belongs to another user and lies in a folder that everybody may write to",
                        path.display()
                    ),
                    Some("name a store with `--store`: this one if you mean it, else one of your own".to_owned()),
                ));
            }
            return Ok(near.unwrap_or_else(|| current.join(".headwater")));
        };
        match url.split_once("://") {
            None => Ok(current.join(url)),
            Some(("file", path)) => Ok(current.join(path)),
            Some((scheme, _)) => Err(Error::usage(
                format!("stores of kind `{scheme}` are not known"),
                Some(
                    "give a folder, or `memory:` for a store that goes with the process".to_owned(),
                ),
            )),
        }
    }
}

/// Whether a store may have been planted: what it remembers is taken for results, and run if it is a program.
fn is_strange(store: &Path) -> bool {
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

/// Opens the store that `place` means.
///
/// ```
/// use headwater::StorePlace;
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let place = StorePlace { url: Some("kept".to_owned()), read_only: false };
/// let store = headwater::open_store(&place, folder)?;
/// assert_eq!(store.place(), folder.join("kept"));
/// assert!(store.runs(10)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_store(place: &StorePlace, current: &Path) -> Result<Arc<dyn Store>, Error> {
    let mode = if place.read_only {
        Mode::ReadOnly
    } else {
        Mode::ReadWrite
    };
    let folder = place.folder(current)?;
    if place.is_in_memory() {
        return Ok(headwater_remember::in_memory(&folder));
    }
    if folder.exists() && !folder.is_dir() {
        return Err(Error::usage(
            format!("the store `{}` is a file", folder.display()),
            Some("a store is a folder; name one, or a place where one can be made".to_owned()),
        ));
    }
    if mode == Mode::ReadWrite
        && !headwater_remember::is_store(&folder)
        && let Some(other) = foreign(&folder)
    {
        return Err(Error::usage(
            format!(
                "the folder `{}` is no store and holds other files, such as `{other}`",
                folder.display()
            ),
            Some("name an empty folder, or one that can be made".to_owned()),
        ));
    }
    Ok(headwater_remember::open(&folder, mode)?)
}

/// A name in a folder that no store gives; a store that was just begun has some of its own already.
fn foreign(folder: &Path) -> Option<String> {
    let own = |name: &str| {
        let names = [
            ".gitignore",
            "damaged",
            "leases",
            "lock",
            "runs",
            "staging",
            "work",
        ];
        names.contains(&name) || name.starts_with("records.") || name.starts_with("objects")
    };
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.find(|name| !own(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_of_somebody_else_where_everybody_may_write_is_not_found_but_named() {
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
        // Whoever runs the tests owns what they make.
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join(".headwater");
        std::fs::create_dir(&store).expect("a folder");
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).expect("a mode");
        assert!(!is_strange(&store));
        let place = StorePlace::default();
        assert_eq!(place.folder(folder.path()).expect("a store"), store);
    }
}

//! Where the store is.
//!
//! Law: `--store` wins over `HEADWATER_STORE`, which wins over the nearest `.headwater` in the current
//! folder or its parents; where there is none, it is made in the current folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_remember::{Mode, Store};

use crate::Error;

/// Which store to use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorePlace {
    /// What `--store` or `HEADWATER_STORE` says.
    pub url: Option<String>,
    /// Write nothing to it.
    pub read_only: bool,
}

impl StorePlace {
    /// Its folder.
    pub fn folder(&self, current: &Path) -> Result<PathBuf, Error> {
        let Some(url) = &self.url else {
            let near = current
                .ancestors()
                .map(|folder| folder.join(".headwater"))
                .find(|path| path.is_dir());
            return Ok(near.unwrap_or_else(|| current.join(".headwater")));
        };
        match url.split_once("://") {
            None => Ok(current.join(url)),
            Some(("file", path)) => Ok(current.join(path)),
            Some((scheme, _)) => Err(Error::usage(
                format!("stores of kind `{scheme}` are not known"),
                Some("give a folder".to_owned()),
            )),
        }
    }
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
/// assert_eq!(store.root(), folder.join("kept"));
/// assert!(store.runs(10)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_store(place: &StorePlace, current: &Path) -> Result<Arc<Store>, Error> {
    let mode = if place.read_only {
        Mode::ReadOnly
    } else {
        Mode::ReadWrite
    };
    let folder = place.folder(current)?;
    if folder.exists() && !folder.is_dir() {
        return Err(Error::usage(
            format!("the store `{}` is a file", folder.display()),
            Some("a store is a folder; name one, or a place where one can be made".to_owned()),
        ));
    }
    if mode == Mode::ReadWrite
        && !Store::exists(&folder)
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
    Ok(Arc::new(Store::open(&folder, mode)?))
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

//! Where the store is.
//!
//! Law: `--store` wins over `HEADWATER_STORE`, which wins over a settings file, which wins over the nearest `.headwater` in
//! the current folder or its parents; where there is none, it is made in the current folder. One that anybody could have
//! put there is used only if it was named. `memory:` names a store in memory. A database is the store of a group, behind
//! one's own: then the folder is that of one's own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use headwater_flow::StoreSettings;
use headwater_graph::{Mode, Store};

use crate::strange::is_strange;
use crate::{Error, settings, temporary};

/// Which store to use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorePlace {
    /// What `--store` or `HEADWATER_STORE` says.
    pub url: Option<String>,
    /// Write nothing to it.
    pub read_only: bool,
    /// Whose products of a group are reused, if not those that the settings name.
    pub trust: Option<Vec<String>>,
    /// How long to wait for a group that cannot be reached, if not as long as the settings say.
    pub wait: Option<Duration>,
    /// Whether collection takes away also what was given to a group in the last 24 hours.
    pub also_recent: bool,
}

/// The URL of a store in memory, which goes with the process.
const MEMORY: &str = "memory:";

/// A store that was chosen.
#[derive(Debug)]
struct Chosen {
    /// The folder of one's own; of a store in memory one for the files that programs need.
    folder: PathBuf,
    in_memory: bool,
    /// The URL of the store of a group behind it.
    group: Option<String>,
    settings: StoreSettings,
}

impl StorePlace {
    /// The store with this URL, or the usual one.
    pub fn at(url: Option<&str>) -> StorePlace {
        StorePlace {
            url: url.map(str::to_owned),
            ..StorePlace::default()
        }
    }

    /// Whether there is a store at this place.
    pub fn has_store(&self, current: &Path) -> Result<bool, Error> {
        let chosen = self.choose(current)?;
        let is_there = || headwater_remember::is_store(&chosen.folder);
        Ok(!chosen.in_memory && (chosen.group.is_some() || is_there()))
    }

    /// Its folder; of a store in memory one for the files that programs need, of the store of a group that of one's own.
    pub fn folder(&self, current: &Path) -> Result<PathBuf, Error> {
        Ok(self.choose(current)?.folder)
    }

    /// The settings file that counts, where there is one.
    pub fn settings_file(&self, current: &Path) -> Result<Option<PathBuf>, Error> {
        let is_said = self.url.as_deref().is_some_and(|url| !is_group(url));
        if is_said {
            return Ok(None);
        }
        Ok(settings::near(current)?.map(|(file, _)| file))
    }

    fn choose(&self, current: &Path) -> Result<Chosen, Error> {
        let own = |folder| Chosen {
            folder,
            in_memory: false,
            group: None,
            settings: StoreSettings::default(),
        };
        let named = match &self.url {
            Some(url) if url == MEMORY => {
                return Ok(Chosen {
                    in_memory: true,
                    ..own(temporary::fresh())
                });
            }
            Some(url) if is_group(url) => Some(url.clone()),
            Some(url) => return Ok(own(current.join(folder_of(url)?))),
            None => None,
        };
        let (file, said) = settings::near(current)?.unzip();
        let said = said.unwrap_or_default();
        let beside = file.as_deref().and_then(Path::parent).unwrap_or(current);
        let folder = match &said.own {
            Some(own) => beside.join(folder_of(own)?),
            None => nearest(current)?,
        };
        let group = named.or_else(|| said.group.as_deref().map(str::to_owned));
        if let Some(url) = group.as_ref().filter(|url| !is_group(url)) {
            return Err(unknown(
                url.split_once("://").map_or(&**url, |(scheme, _)| scheme),
            ));
        }
        Ok(Chosen {
            folder,
            in_memory: false,
            group,
            settings: said,
        })
    }
}

/// Whether a URL names a database.
fn is_group(url: &str) -> bool {
    url.starts_with("postgresql://") || url.starts_with("postgres://")
}

/// The folder that a URL names.
fn folder_of(url: &str) -> Result<&str, Error> {
    match url.split_once("://") {
        None => Ok(url),
        Some(("file", path)) => Ok(path),
        Some((scheme, _)) => Err(unknown(scheme)),
    }
}

fn unknown(scheme: &str) -> Error {
    Error::usage(
        format!("stores of kind `{scheme}` are not known"),
        Some(
            "give a folder, postgresql://USER@HOST/DATABASE for the store of a group, or `memory:` for a store that \
             goes with the process"
                .to_owned(),
        ),
    )
}

/// The nearest store of a folder, or where one is made.
fn nearest(current: &Path) -> Result<PathBuf, Error> {
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
            Some(
                "name a store with `--store`: this one if you mean it, else one of your own"
                    .to_owned(),
            ),
        ));
    }
    Ok(near.unwrap_or_else(|| current.join(".headwater")))
}

/// Opens the store that `place` means.
///
/// ```
/// use headwater::StorePlace;
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let place = StorePlace::at(Some("kept"));
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
    let chosen = place.choose(current)?;
    let folder = &chosen.folder;
    if chosen.in_memory {
        return Ok(headwater_remember::in_memory(folder));
    }
    if folder.exists() && !folder.is_dir() {
        return Err(Error::usage(
            format!("the store `{}` is a file", folder.display()),
            Some("a store is a folder; name one, or a place where one can be made".to_owned()),
        ));
    }
    if mode == Mode::ReadWrite
        && !headwater_remember::is_store(folder)
        && let Some(other) = foreign(folder)
    {
        return Err(Error::usage(
            format!(
                "the folder `{}` is no store and holds other files, such as `{other}`",
                folder.display()
            ),
            Some("name an empty folder, or one that can be made".to_owned()),
        ));
    }
    let own = headwater_remember::open(folder, mode)?;
    match &chosen.group {
        Some(url) => open_group(own, url, &chosen.settings, place),
        None => Ok(own),
    }
}

/// Opens the store of a group behind one's own.
#[cfg(feature = "group")]
fn open_group(
    own: Arc<dyn Store>,
    url: &str,
    said: &StoreSettings,
    place: &StorePlace,
) -> Result<Arc<dyn Store>, Error> {
    let usual = headwater_group::Options::new(url);
    let trust = said
        .trust
        .as_ref()
        .map(|roles| roles.iter().map(ToString::to_string).collect());
    let options = headwater_group::Options {
        objects: said.objects.as_deref().map(str::to_owned),
        trust: place.trust.clone().or(trust),
        publish: said.publish.unwrap_or(usual.publish),
        wait: place.wait.or(said.wait).unwrap_or(usual.wait),
        spool: said.spool.unwrap_or(usual.spool),
        recent: if place.also_recent {
            Duration::ZERO
        } else {
            usual.recent
        },
        ..usual
    };
    headwater_group::open(own, &options).map_err(Error::from)
}

/// What a program says that has no stores of groups.
#[cfg(not(feature = "group"))]
fn open_group(
    _own: Arc<dyn Store>,
    url: &str,
    _said: &StoreSettings,
    _place: &StorePlace,
) -> Result<Arc<dyn Store>, Error> {
    Err(Error::usage(
        format!("this program was built without stores of groups, such as `{url}`"),
        Some("build it with the cargo feature `group`".to_owned()),
    ))
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
            "spool",
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

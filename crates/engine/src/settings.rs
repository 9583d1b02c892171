//! Settings files: which one counts.
//!
//! Law: the nearest `headwater.yaml` in the current folder or its parents counts, else the one in the folder for settings
//! of the user (`$XDG_CONFIG_HOME/headwater`, or `~/.config/headwater`). A workflow or a study of that name is passed
//! over. One that anybody could have put there is refused: it says where results are taken from.

use std::path::{Path, PathBuf};

use headwater_flow::StoreSettings;
use headwater_graph::Diagnostic;

use crate::Error;
use crate::given::read_text;
use crate::strange::is_strange;

/// What settings files are called.
const NAME: &str = "headwater.yaml";

/// The settings that count in a folder, and the file that they are in.
pub(crate) fn near(current: &Path) -> Result<Option<(PathBuf, StoreSettings)>, Error> {
    let beside = current.ancestors().map(|folder| folder.join(NAME));
    for path in beside.chain(of_user()) {
        if !path.is_file() {
            continue;
        }
        let text = read_text(&path)?;
        if !headwater_flow::is_settings(&text) {
            continue;
        }
        if is_strange(&path) {
            return Err(Error::usage(
                format!(
                    "the settings `{}` belong to another user and lie in a folder that everybody may write to",
                    path.display()
                ),
                Some("work in another folder, or name a store with `--store`".to_owned()),
            ));
        }
        let read = headwater_flow::read_settings(&text);
        return match read.value {
            Some(file) if !read.diagnostics.iter().any(Diagnostic::is_error) => {
                Ok(Some((path, file.store)))
            }
            _ => Err(Error::File {
                file: path,
                text,
                diagnostics: read.diagnostics,
            }),
        };
    }
    Ok(None)
}

/// The settings of the user.
fn of_user() -> Option<PathBuf> {
    let folder = |name: &str| {
        let folder = PathBuf::from(std::env::var_os(name)?);
        folder.is_absolute().then_some(folder)
    };
    let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(config.join("headwater").join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_settings_count_and_workflows_are_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).expect("folders");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("a file");
        };
        write("headwater.yaml", "headwater: 1\nstore: {own: far}\n");
        write(
            "a/b/headwater.yaml",
            "headwater: 1\nworkflow: w\nstages: {}\n",
        );
        let found = near(&inner).expect("no mistake").expect("settings");
        assert_eq!(found.0, folder.path().join("headwater.yaml"));
        assert_eq!(found.1.own.as_deref(), Some("far"));
        write("a/headwater.yaml", "headwater: 1\nstore: {won: near}\n");
        assert!(matches!(near(&inner), Err(Error::File { .. })));
    }
}

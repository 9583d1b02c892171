//! Patterns of file names: `*`, `?`, `[…]` and `**`.
//!
//! Law: what is found comes in the order of its bytes, each once. `**` is any number of folders, none of them a link;
//! at the end it is everything below. A name that begins with a dot is found only by a part that does. A name that is
//! not UTF-8 and would be found is an error: it cannot be written down, and leaving it out would go unnoticed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// A pattern that cannot be used, or a folder that cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// It is no pattern.
    #[error("{0}")]
    Syntax(#[from] glob::PatternError),
    /// It finds a file that cannot be named.
    #[error("it finds `{}`, whose name is not UTF-8; rename it", path.display())]
    Name {
        /// Which.
        path: PathBuf,
    },
    /// A folder could not be listed.
    #[error("cannot list `{}`: {source}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

enum Part {
    Plain(PathBuf),
    Any(glob::Pattern, bool),
    Folders,
}

/// Whether a text is a pattern and not just a name.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The files and folders that match a pattern, which is relative to `folder` unless it is absolute.
pub fn files_matching(folder: &Path, pattern: &str) -> Result<Vec<PathBuf>, PatternError> {
    let mut parts = Vec::new();
    for component in Path::new(pattern).components() {
        let text = component.as_os_str().to_string_lossy();
        let is_name = matches!(component, Component::Normal(_));
        parts.push(match &*text {
            "**" => Part::Folders,
            text if is_name && is_pattern(text) => {
                Part::Any(glob::Pattern::new(text)?, text.starts_with('.'))
            }
            _ => Part::Plain(component.as_os_str().into()),
        });
    }
    if matches!(parts.last(), Some(Part::Folders)) {
        parts.push(Part::Any(glob::Pattern::new("*")?, false));
    }
    let mut found = BTreeSet::new();
    walk(folder, &parts, &mut found)?;
    let mut found: Vec<PathBuf> = found.into_iter().collect();
    found.sort_by(|a, b| bytes(a).cmp(bytes(b)));
    Ok(found)
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

fn walk(at: &Path, parts: &[Part], found: &mut BTreeSet<PathBuf>) -> Result<(), PatternError> {
    let Some((part, rest)) = parts.split_first() else {
        if at.to_str().is_none() {
            return Err(PatternError::Name { path: at.into() });
        }
        found.insert(at.to_owned());
        return Ok(());
    };
    match part {
        Part::Plain(name) => {
            let next = at.join(name);
            if next.exists() {
                walk(&next, rest, found)?;
            }
        }
        Part::Any(pattern, hidden) => {
            for name in names(at)? {
                let text = name.to_string_lossy();
                if text.starts_with('.') == *hidden && pattern.matches(&text) {
                    let next = at.join(&name);
                    if rest.is_empty() || next.is_dir() {
                        walk(&next, rest, found)?;
                    }
                }
            }
        }
        Part::Folders => {
            walk(at, rest, found)?;
            for name in names(at)? {
                let next = at.join(&name);
                let is_folder = fs::symlink_metadata(&next).is_ok_and(|found| found.is_dir());
                if is_folder && !name.to_string_lossy().starts_with('.') {
                    walk(&next, parts, found)?;
                }
            }
        }
    }
    Ok(())
}

/// The names in a folder; none where there is no folder.
fn names(folder: &Path) -> Result<Vec<OsString>, PatternError> {
    let wrong = |source| PatternError::Folder {
        path: folder.to_owned(),
        source,
    };
    let listed = match fs::read_dir(folder) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        listed => listed.map_err(wrong)?,
    };
    let mut names = Vec::new();
    for entry in listed {
        names.push(entry.map_err(wrong)?.file_name());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn found(folder: &Path, pattern: &str) -> Vec<String> {
        let found = files_matching(folder, pattern).unwrap();
        let name = |path: &PathBuf| path.strip_prefix(folder).unwrap().display().to_string();
        found.iter().map(name).collect()
    }

    #[test]
    fn patterns_find_what_they_say() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in [
            "a/x.png",
            "a/b/y.png",
            "a/b/.z.png",
            "a/.git/w.png",
            "[1]/v.png",
            "x.txt",
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        // It is in nobody's way as long as no pattern finds it.
        fs::write(root.join(OsStr::from_bytes(b"a/b/\xff.dat")), "").unwrap();
        std::os::unix::fs::symlink(root, root.join("a/loop")).unwrap();
        for (pattern, expected) in [
            ("a/*.png", &["a/x.png"][..]),
            ("**/*.png", &["[1]/v.png", "a/b/y.png", "a/x.png"]),
            ("a/**/*.png", &["a/b/y.png", "a/x.png"]),
            ("a/*", &["a/b", "a/loop", "a/x.png"]),
            ("a/b/.*", &["a/b/.z.png"]),
            ("a/*/y.png", &["a/b/y.png"]),
            ("[[]1]/*", &["[1]/v.png"]),
            ("x.tx?", &["x.txt"]),
            ("./a/../x.[st]xt", &["a/../x.txt"]),
            ("absent/*", &[]),
            ("x.txt/*", &[]),
        ] {
            assert_eq!(found(root, pattern), expected, "{pattern}");
        }
        let error = files_matching(root, "a/**").unwrap_err().to_string();
        assert!(error.contains("whose name is not UTF-8"), "{error}");
        fs::remove_file(root.join(OsStr::from_bytes(b"a/b/\xff.dat"))).unwrap();
        assert_eq!(
            found(root, "a/**"),
            ["a/b", "a/b/y.png", "a/loop", "a/x.png"]
        );
        let whole = format!("{}/x.*", glob::Pattern::escape(&root.to_string_lossy()));
        assert_eq!(found(root, &whole), ["x.txt"]);
    }

    #[test]
    fn what_is_no_pattern_is_an_error() {
        assert!(files_matching(Path::new("/"), "a[").is_err());
        assert!(files_matching(Path::new("/"), "***").is_err());
    }
}

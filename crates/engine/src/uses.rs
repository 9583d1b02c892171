//! The files beside a workflow that its programs need.
//!
//! Law: what `uses` stands for is looked up in one place, for checking and for running alike. What editors and
//! interpreters leave behind is no part of a program, unless it is named outright.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use headwater_flow::OperationPlaces;
use headwater_graph::{
    Collect, CommandTemplate, Diagnostic, Invocation, Kind, Operation, Part, Severity, Span, Text,
};

use crate::Error;

/// Folders of what comes with a machine; nobody means to change what lies there.
const SYSTEM: [&str; 12] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/nix", "/snap", "/dev", "/proc",
    "/sys",
];

/// What the `uses` of an operation stand for.
#[derive(Debug, Default)]
pub struct Used {
    /// Path below the folder of the workflow file, and where it is; sorted.
    pub files: BTreeMap<String, PathBuf>,
    /// Patterns that stand for nothing.
    pub nothing: Vec<Arc<str>>,
}

/// Looks up what the patterns of an operation stand for below `folder`.
pub fn used(template: &CommandTemplate, folder: &Path) -> Result<Used, Error> {
    used_by(&template.uses, folder)
}

fn used_by(patterns: &[Arc<str>], folder: &Path) -> Result<Used, Error> {
    let mut used = Used::default();
    for pattern in patterns {
        let mut any = false;
        let plain = folder.join(&**pattern);
        for path in crate::data::expand(folder, pattern)? {
            any = true;
            let below = path.strip_prefix(folder).unwrap_or(&path);
            if path != plain && below.components().any(is_left_behind) {
                continue;
            }
            // `scripts/**` means everything below, whatever the pattern library calls a match.
            for file in files_below(&path, &mut Vec::new())? {
                let name = file.strip_prefix(folder).unwrap_or(&file);
                let Some(name) = name.to_str() else {
                    return Err(Error::usage(
                        format!("the name of `{}` is not UTF-8", file.display()),
                        Some("rename it, or leave it out of `uses`".to_owned()),
                    ));
                };
                used.files.insert(name.to_owned(), file);
            }
        }
        if !any {
            used.nothing.push(Arc::clone(pattern));
        }
    }
    Ok(used)
}

/// What an interpreter, an editor or a file manager leaves beside a script.
fn is_left_behind(part: Component<'_>) -> bool {
    let Component::Normal(name) = part else {
        return false;
    };
    let name = name.to_string_lossy();
    let folder_or_file = [
        "__pycache__",
        ".ipynb_checkpoints",
        ".DS_Store",
        ".git",
        ".headwater",
    ];
    folder_or_file.contains(&&*name)
        || [".pyc", ".pyo", "~"].iter().any(|end| name.ends_with(end))
        || (name.starts_with('.') && [".swp", ".swo"].iter().any(|end| name.ends_with(end)))
        || (name.starts_with('#') && name.ends_with('#'))
        || name.starts_with(".#")
}

/// The files below a folder, links followed. `within` has the folders on the way there, by device and inode.
fn files_below(path: &Path, within: &mut Vec<(u64, u64)>) -> Result<Vec<PathBuf>, Error> {
    let found = match fs::metadata(path) {
        Ok(found) if found.is_dir() => found,
        _ => return Ok(vec![path.to_owned()]),
    };
    let identity = (found.dev(), found.ino());
    if within.contains(&identity) {
        return Err(Error::usage(
            format!("`{}` leads back to a folder that it is in", path.display()),
            Some("remove the link, or name the files one by one in `uses`".to_owned()),
        ));
    }
    within.push(identity);
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(|source| Error::io("cannot read", path, source))? {
        let entry = entry.map_err(|source| Error::io("cannot read", path, source))?;
        if !is_left_behind(Component::Normal(&entry.file_name())) {
            files.extend(files_below(&entry.path(), within)?);
        }
    }
    within.pop();
    Ok(files)
}

/// That a pattern stands for nothing: what is wrong, and what may have been meant.
pub fn no_such_file(operation: &str, pattern: &str, folder: &Path) -> (String, String) {
    let message = format!("operation `{operation}` uses `{pattern}`, but there is no such file");
    let hint = near(pattern, folder).map_or_else(
        || format!("patterns are relative to `{}`", folder.display()),
        |near| format!("did you mean `{near}`?"),
    );
    (message, hint)
}

/// A file that is called nearly so, in the same folder.
fn near(pattern: &str, folder: &Path) -> Option<String> {
    let wanted = Path::new(pattern);
    let name = wanted.file_name()?.to_str()?;
    let entries = fs::read_dir(folder.join(wanted.parent()?)).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let distance = |other: &String| strsim::damerau_levenshtein(other, name);
    let near = names.map(|other| (distance(&other), other)).min()?;
    let found = wanted.with_file_name(near.1);
    (near.0 <= 3 && near.0 * 2 < name.chars().count()).then(|| found.to_string_lossy().into_owned())
}

/// Everything that is to say about the files beside a workflow that its operations name.
pub fn look(operations: &[Operation], file: &Path, places: &OperationPlaces) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let Ok(file) = std::path::absolute(file) else {
        return found;
    };
    let folder = file.parent().unwrap_or(Path::new("/"));
    for operation in operations {
        let Kind::Command(template) = &operation.kind else {
            continue;
        };
        let name = &operation.signature.name;
        let place = |word: &str| {
            let at = |word: &str| places.get(&(Arc::clone(name), Arc::from(word))).copied();
            at(word).or_else(|| at(""))
        };
        match used(template, folder) {
            Err(error) => found.push(said(Severity::Error, place(""), error.to_string(), None)),
            Ok(used) => {
                for pattern in &used.nothing {
                    let (message, hint) = no_such_file(name, pattern, folder);
                    found.push(said(Severity::Error, place(pattern), message, Some(hint)));
                }
                let own = own_names(template);
                for word in words(template) {
                    found.extend(judge(name, &word, template, folder, &used, &own, &place));
                }
            }
        }
    }
    found
}

fn said(
    severity: Severity,
    span: Option<Span>,
    message: String,
    hint: Option<String>,
) -> Diagnostic {
    Diagnostic {
        severity,
        span,
        message,
        hint,
    }
}

/// What there is to say about a word of a command that names a file.
fn judge(
    operation: &str,
    word: &str,
    template: &CommandTemplate,
    folder: &Path,
    used: &Used,
    own: &BTreeSet<String>,
    place: &dyn Fn(&str) -> Option<Span>,
) -> Option<Diagnostic> {
    let path = Path::new(word);
    if path.is_absolute() {
        let noticed = template.version.is_some() || SYSTEM.iter().any(|top| path.starts_with(top));
        if noticed || !path.is_file() || is_binary(path) {
            return None;
        }
        let message = format!(
            "operation `{operation}` names `{word}` by its whole path: a change of that file is not noticed"
        );
        let hint = match path.strip_prefix(folder) {
            Ok(below) => {
                let below = below.display();
                format!("write `{below}`, and add `uses: [{below}]` to the operation")
            }
            Err(_) => "copy it beside this file and name it in `uses`, give it as an input, or give the operation a \
                       `version:`"
                .to_owned(),
        };
        return Some(said(Severity::Note, place(word), message, Some(hint)));
    }
    let below = word.strip_prefix("./").unwrap_or(word);
    let plain = Path::new(below)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let top = below.split('/').next().unwrap_or_default();
    if !plain
        || used.files.contains_key(below)
        || own.contains(below)
        || own.contains(top)
        || !folder.join(below).is_file()
    {
        return None;
    }
    let message = format!(
        "operation `{operation}` names `{word}`, which lies beside this file; its tasks run in folders of their own \
         and do not see it"
    );
    let hint = format!("add `uses: [{below}]` to the operation");
    Some(said(Severity::Warning, place(word), message, Some(hint)))
}

/// A program in machine code.
fn is_binary(path: &Path) -> bool {
    let mut head = [0; 4];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *b"\x7fELF"
}

/// What lies in the folder of a task by itself: its inputs, and what it makes.
fn own_names(template: &CommandTemplate) -> BTreeSet<String> {
    let mut own = BTreeSet::new();
    for (port, input) in &template.inputs {
        own.insert(port.to_string());
        if let Some(extension) = &input.extension {
            own.insert(format!("{port}.{extension}"));
        }
    }
    let paths = template
        .outputs
        .values()
        .filter_map(|output| match &output.collect {
            Collect::Path(path) => Some(path),
            Collect::Glob(_) => None,
        });
    let streams = [&template.stdout, &template.stderr].into_iter().flatten();
    own.extend(paths.chain(streams).filter_map(literal));
    own
}

/// A text without placeholders.
fn literal(text: &Text) -> Option<String> {
    let parts = text.0.iter().map(|part| match part {
        Part::Literal(literal) => Some(&**literal),
        Part::Placeholder(_) => None,
    });
    parts.collect()
}

/// The words of a command that look like names of files, each once.
fn words(template: &CommandTemplate) -> BTreeSet<String> {
    let mut all = Vec::new();
    match &template.invocation {
        Invocation::Arguments(arguments) => {
            for argument in arguments.iter().filter_map(literal) {
                let value = argument.split_once('=').map(|(_, value)| value.to_owned());
                all.extend(value);
                all.push(argument);
            }
        }
        Invocation::Shell(script) => {
            // What touches a placeholder is no name by itself.
            let parts = script.0.iter().map(|part| match part {
                Part::Literal(literal) => &**literal,
                Part::Placeholder(_) => "\0",
            });
            let script: String = parts.collect();
            let ends =
                |letter: char| letter.is_whitespace() || "'\"`;|&()<>${}=\\,".contains(letter);
            all.extend(script.split(ends).map(ToOwned::to_owned));
        }
    }
    let is_name = |word: &String| {
        let shaped = word.contains(['/', '.']) && !word.starts_with('-');
        shaped && !word.contains('\0') && word.len() < 1000
    };
    all.into_iter().filter(is_name).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_that_lead_round_in_circles_are_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let below = || files_below(folder.path(), &mut Vec::new());
        // Twice the same beside each other is no circle.
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("other"), "").unwrap();
        for name in ["one", "two"] {
            symlink(elsewhere.path(), folder.path().join(name)).unwrap();
        }
        assert_eq!(below().unwrap().len(), 3);
        symlink(".", folder.path().join("a")).unwrap();
        symlink(".", folder.path().join("b")).unwrap();
        let message = below().unwrap_err().to_string();
        assert!(message.contains("leads back to a folder"), "{message}");
    }

    #[test]
    fn names_that_are_no_text_are_told() {
        let folder = tempfile::tempdir().unwrap();
        for name in [b"a\xff", b"a\xfe"] {
            fs::write(folder.path().join(OsStr::from_bytes(name)), "").unwrap();
        }
        let used = used_by(&["*".into()], folder.path());
        let message = used.unwrap_err().to_string();
        assert!(message.contains("is not UTF-8"), "{message}");
    }
}

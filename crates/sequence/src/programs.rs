//! The operations of a file, for calls of a sequence.
//!
//! Law: an operation has its version when it is handed out, as in a workflow. The files that programs use are copied
//! when they are read, and calls work with the copies, which are what was digested.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_engine::load::Versioned;
use headwater_engine::temporary::Temporary;
use headwater_engine::{Error, load};
use headwater_graph::{Diagnostic, Kind, Operation, Registry, Store};

/// Programs as operations, from a file. It holds copies of the files that they use: keep it until the sequences that
/// call them have ended.
#[derive(Debug)]
pub struct Programs {
    operations: BTreeMap<Arc<str>, Arc<Operation>>,
    file: PathBuf,
    diagnostics: Vec<Diagnostic>,
    _copies: Option<Temporary>,
}

/// Reads the operations of a file: one with `headwater: 1` and `operations:` alone, or a workflow file. `store` learns
/// what the versions of the programs stand for, so that `headwater explain` can tell what has changed; without one
/// everything works but that.
///
/// ```
/// # fn main() -> Result<(), headwater::Error> {
/// # let folder = std::env::temp_dir().join(format!("headwater-programs-example-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).expect("a folder");
/// # let file = folder.join("texts.yaml");
/// # std::fs::write(&file, "
/// headwater: 1
/// operations:
///   sort:
///     command: [sort, -o, '{out.sorted}', '{in.text}']
///     inputs: {text: file}
///     outputs: {sorted: file}
/// # ").expect("a file");
/// let programs = headwater::sequence::programs(&file, None)?;
/// let sort = programs.operation("sort")?;
/// assert_eq!(&*sort.signature.name, "sort");
/// let error = programs.operation("srot").expect_err("there is none of this name");
/// assert_eq!(error.hint().as_deref(), Some("did you mean `sort`?"));
/// # std::fs::remove_dir_all(&folder).expect("the folder goes");
/// # Ok(())
/// # }
/// ```
pub fn programs(path: &Path, store: Option<&dyn Store>) -> Result<Programs, Error> {
    let text = headwater_engine::given::read_text(path)?;
    let read = headwater_flow::read_programs(&text, &Registry::new());
    let Some(operations) = read.value else {
        return Err(Error::File {
            file: path.to_owned(),
            text,
            diagnostics: read.diagnostics,
        });
    };
    let uses_files = |operation: &Operation| match &operation.kind {
        Kind::Command(template) => !template.uses.is_empty(),
        Kind::Native(_) => false,
    };
    let any_uses_files = operations.iter().any(uses_files);
    let copies = any_uses_files.then(own_folder).transpose()?;
    let folder = copies.as_ref().map(|folder| &*folder.0);
    let Versioned {
        operations,
        copies: wanted,
        versions,
    } = load::with_versions(operations, path, store, folder)?;
    wanted.iter().try_for_each(|copy| copy.make(store))?;
    if let Some(store) = store {
        // For explanations only, which can do without.
        let _ = store.note_versions(&versions);
    }
    let named = |operation: Operation| (Arc::clone(&operation.signature.name), Arc::new(operation));
    Ok(Programs {
        operations: operations.into_iter().map(named).collect(),
        file: path.to_owned(),
        diagnostics: read.diagnostics,
        _copies: copies,
    })
}

impl Programs {
    /// The operation of a name.
    pub fn operation(&self, name: &str) -> Result<Arc<Operation>, Error> {
        if let Some(operation) = self.operations.get(name) {
            return Ok(Arc::clone(operation));
        }
        let all = || {
            let names: Vec<String> = self.names().map(|name| format!("`{name}`")).collect();
            (!names.is_empty()).then(|| format!("there are {}", names.join(", ")))
        };
        Err(Error::usage(
            format!(
                "there is no operation `{name}` in `{}`",
                self.file.display()
            ),
            headwater_flow::suggestion(name, self.names()).or_else(all),
        ))
    }

    /// The names of all operations, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.operations.keys().map(|name| &**name)
    }

    /// Warnings and notes about the file.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

/// A new folder among the temporary files, for this user alone.
fn own_folder() -> Result<Temporary, Error> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let place = std::env::temp_dir();
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = place.join(format!("headwater-programs-{}-{number}", process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(Temporary(folder)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io("cannot make folder", folder, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn version(programs: &Programs, name: &str) -> Arc<str> {
        let operation = programs.operation(name).expect("it is there");
        Arc::clone(&operation.signature.version)
    }

    fn used(programs: &Programs, name: &str) -> Vec<PathBuf> {
        let operation = programs.operation(name).expect("it is there");
        let Kind::Command(template) = &operation.kind else {
            panic!("programs are commands");
        };
        let files = template.used_files.iter();
        files.map(|file| file.path.to_path_buf()).collect()
    }

    #[test]
    fn programs_work_with_copies_of_what_they_use() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("programs.yaml");
        let text = "headwater: 1\noperations:\n  a:\n    command: [sh, a.sh]\n    uses: [a.sh]\n    outputs: {o: file}\n  \
                    b: {command: [touch, o], outputs: {o: file}}\n";
        fs::write(&file, text).expect("written");
        let script = folder.path().join("a.sh");
        fs::write(&script, "echo 1\n").expect("written");
        let before = programs(&file, None).expect("a file of operations");
        assert_eq!(before.names().collect::<Vec<_>>(), ["a", "b"]);
        fs::write(&script, "echo 2\n").expect("written");
        let after = programs(&file, None).expect("a file of operations");
        assert_ne!(version(&before, "a"), version(&after, "a"));
        assert_eq!(version(&before, "b"), version(&after, "b"));
        let copies = used(&before, "a");
        let read: Vec<String> = copies.iter().flat_map(fs::read_to_string).collect();
        assert_eq!(read, ["echo 1\n"], "what was digested");
        drop(before);
        assert!(copies.iter().all(|copy| !copy.exists()));
        assert!(used(&after, "a").iter().all(|copy| copy.exists()));

        // A store digests as we do here, and learns what the versions are made of.
        let store = headwater_remember::open(
            &folder.path().join("store"),
            headwater_graph::Mode::ReadWrite,
        )
        .expect("a store");
        let stored = programs(&file, Some(&*store)).expect("a file of operations");
        assert_eq!(version(&stored, "a"), version(&after, "a"));
        let parts = store.version_parts(&version(&stored, "a"));
        assert!(parts.expect("a store").is_some());
    }

    #[test]
    fn mistakes_have_their_places_and_names_their_suggestions() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("programs.yaml");
        let read = |text: &str| {
            fs::write(&file, text).expect("written");
            programs(&file, None)
        };
        let error =
            read("headwater: 1\noperations:\n  a:\n    comand: [x]\n").expect_err("a mistake");
        let Error::File { diagnostics, .. } = error else {
            panic!("{error}");
        };
        let lines = diagnostics
            .iter()
            .filter_map(|found| found.span.map(|span| span.line));
        assert!(lines.clone().count() > 0 && lines.clone().all(|line| line >= 3));

        let error = read("headwater: 1\nstages:\n  - 1\n").expect_err("a workflow with mistakes");
        assert!(matches!(error, Error::File { .. }), "{error}");
        let error = read("").expect_err("nothing");
        assert!(matches!(error, Error::File { .. }), "{error}");

        let names: Vec<String> = (0..9)
            .map(|number| format!("  {number}x: {{command: [a], outputs: {{o: file}}}}\n"))
            .collect();
        let text = format!("headwater: 1\noperations:\n{}", names.concat());
        let programs = read(&text).expect("nine operations");
        let hint = |name: &str| programs.operation(name).expect_err("none").hint();
        assert_eq!(hint("1-x").as_deref(), Some("did you mean `1x`?"));
        let all = "there are `0x`, `1x`, `2x`, `3x`, `4x`, `5x`, `6x`, `7x`, `8x`";
        assert_eq!(hint("elephant").as_deref(), Some(all));
    }

    #[test]
    fn a_workflow_file_gives_its_operations() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("words.yaml");
        let text = "headwater: 1\nworkflow: words\ninputs: {text: file}\nstages:\n  count:\n    - {op: count, in: \
                    {text: text}, out: {lines: lines}}\noperations:\n  count:\n    shell: wc -l < {in.text} > \
                    {out.lines}\n    inputs: {text: file}\n    outputs: {lines: int}\n";
        fs::write(&file, text).expect("written");
        let programs = programs(&file, None).expect("a workflow file");
        assert!(programs.operation("count").is_ok());
    }
}

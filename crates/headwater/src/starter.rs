//! Files to start from, written where the user wants them.
//!
//! Law: nothing that is there is overwritten, and nothing is written unless all of it can be. A file that is there and
//! says the same is left as it is, so that the same command may be given again.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use headwater_engine::Error;
use headwater_engine::given::read_text;
use headwater_flow::{
    Dependency, StarterError, StarterFile, starter_name, starter_study, starter_workflow,
};
use headwater_graph::Registry;

fn wrong(error: StarterError) -> Error {
    Error::usage(error.to_string(), Some(error.hint()))
}

/// Writes a workflow that runs as it is, and its data, into a folder, which is made where there is none. What was
/// written: the workflow, its data file, and the files that this names.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let files = headwater::files::new_workflow("words", folder)?;
/// assert_eq!(files[0], folder.join("words.yaml"));
/// let checked = headwater::Site::new(folder).check(&files[0])?;
/// assert!(checked.summary.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn new_workflow(name: &str, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    write(folder, &starter_workflow(name).map_err(wrong)?)
}

/// Writes a study that runs as it is, and the small workflow that it studies. What was written: the study, and its
/// workflow.
pub fn new_study(name: &str, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    write(folder, &starter_study(name).map_err(wrong)?)
}

/// Writes a study of a workflow that is there, with its inputs, its parameters and one of its outputs. What the study
/// needs and nobody but its user knows is left open: [`Site::check`](crate::Site::check) lists it.
pub fn new_study_of(
    workflow: &Path,
    name: Option<&str>,
    folder: &Path,
    libraries: &Registry,
) -> Result<Vec<PathBuf>, Error> {
    let text = read_text(workflow)?;
    if headwater_flow::is_study(&text) {
        return Err(Error::usage(
            format!("`{}` is a study file already", workflow.display()),
            Some("give the workflow file that its `workflow:` names".to_owned()),
        ));
    }
    let read = headwater_flow::read_workflow(&text, libraries);
    let Some(file) = read.value else {
        return Err(Error::File {
            file: workflow.to_owned(),
            text,
            diagnostics: read.diagnostics,
        });
    };
    let name = match name {
        Some(name) => starter_name(name).map_err(wrong)?.to_owned(),
        None => format!("{}-study", file.workflow.name),
    };
    let path = relative(workflow, folder)?;
    let Some(path) = path.to_str() else {
        return Err(Error::usage(
            format!("the path `{}` is not UTF-8", path.display()),
            Some("a study file has to name it; give the file another name".to_owned()),
        ));
    };
    let text = headwater_flow::study_of(&name, path, &file, libraries).map_err(wrong)?;
    let path = format!("{name}.yaml");
    write(folder, &[StarterFile { path, text }])
}

/// A library of operations that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOperations {
    /// The folder of the library.
    pub folder: PathBuf,
    /// What is in it, its Cargo.toml first.
    pub files: Vec<PathBuf>,
    /// The files with the operations, each of which is to be written.
    pub operations: Vec<PathBuf>,
}

/// Writes the skeleton of a Rust library with the operations that a stage descriptor names, into a folder, or one that
/// is called like the library where none is given. The library compiles; its operations fail until they are written.
/// `headwater` is a folder with the source of Headwater to build it with, else it asks for this version.
pub fn new_operations(
    descriptor: &Path,
    folder: Option<&Path>,
    headwater: Option<&Path>,
) -> Result<NewOperations, Error> {
    let text = read_text(descriptor)?;
    // Without any library, so that every operation of the descriptor is to be written.
    let read = headwater_flow::read_descriptor(&text, &Registry::new());
    let Some(file) = read.value else {
        return Err(Error::File {
            file: descriptor.to_owned(),
            text,
            diagnostics: read.diagnostics,
        });
    };
    let dependency = match headwater {
        None => Dependency::Version(env!("CARGO_PKG_VERSION").to_owned()),
        Some(path) => Dependency::Path(source_of(path)?),
    };
    let (package, files) = headwater_flow::library_of(&text, &file, &dependency);
    let folder = folder.map_or_else(|| PathBuf::from(package), Path::to_path_buf);
    let written = write(&folder, &files)?;
    let shared = ["lib.rs", "main.rs", "ports.rs"];
    let operations = files
        .iter()
        .filter_map(|file| file.path.strip_prefix("src/"))
        .filter(|name| !shared.contains(name))
        .map(|name| folder.join("src").join(name));
    Ok(NewOperations {
        operations: operations.collect(),
        files: written,
        folder,
    })
}

/// The folder of the crate `headwater`, given that or the folder of the whole project.
fn source_of(path: &Path) -> Result<String, Error> {
    let is_crate = |folder: &Path| {
        fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| {
            text.lines()
                .any(|line| line.trim() == "name = \"headwater\"")
        })
    };
    let places = [path.join("crates/headwater"), path.to_owned()];
    let found = places.iter().find(|folder| is_crate(folder));
    let found = found.and_then(|folder| fs::canonicalize(folder).ok());
    let found = found.and_then(|folder| folder.to_str().map(str::to_owned));
    found.ok_or_else(|| {
        Error::usage(
            format!("`{}` has no source of Headwater", path.display()),
            Some("give the folder that the project was cloned into".to_owned()),
        )
    })
}

/// Writes files into a folder.
fn write(folder: &Path, files: &[StarterFile]) -> Result<Vec<PathBuf>, Error> {
    if folder.exists() && !folder.is_dir() {
        return Err(Error::usage(
            format!("`{}` is a file, and a folder is needed", folder.display()),
            Some("name a folder with -o".to_owned()),
        ));
    }
    let mut missing = Vec::new();
    for file in files {
        let path = folder.join(&file.path);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => missing.push((path, file)),
            // What is there already need not be written again.
            Ok(found) if found.is_file() && same(&path, file) => {}
            Ok(_) => return Err(taken(&path)),
            Err(source) => return Err(Error::io("cannot look at", path, source)),
        }
    }
    for (path, file) in missing {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .map_err(|source| Error::io("cannot make folder", parent, source))?;
        }
        // Whatever came to be there since the look is not overwritten either.
        let mut open = File::create_new(&path).map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => taken(&path),
            _ => Error::io("cannot write", &path, source),
        })?;
        if let Err(source) = open.write_all(file.text.as_bytes()) {
            let _ = fs::remove_file(&path);
            return Err(Error::io("cannot write", path, source));
        }
    }
    Ok(files.iter().map(|file| folder.join(&file.path)).collect())
}

fn same(path: &Path, file: &StarterFile) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes == file.text.as_bytes())
}

fn taken(path: &Path) -> Error {
    Error::usage(
        format!("`{}` already exists and has other contents", path.display()),
        Some("give another name, or name another folder with -o".to_owned()),
    )
}

/// The path of a file as one goes there from a folder, which need not be there yet.
fn relative(file: &Path, folder: &Path) -> Result<PathBuf, Error> {
    let unfound = |path: &Path, source| Error::io("cannot find", path, source);
    let file = fs::canonicalize(file).map_err(|source| unfound(file, source))?;
    let folder = std::path::absolute(Path::new(".").join(folder))
        .map_err(|source| unfound(folder, source))?;
    // What is there may be reached by links, above which `..` leads elsewhere.
    let there = folder.ancestors().find(|above| above.exists());
    let there = there.unwrap_or(Path::new("/"));
    let rest = folder.strip_prefix(there).unwrap_or(Path::new(""));
    let from = fs::canonicalize(there)
        .map_err(|source| unfound(there, source))?
        .join(rest);
    if from.components().any(|part| part == Component::ParentDir) {
        return Ok(file);
    }
    let shared = file
        .components()
        .zip(from.components())
        .take_while(|(one, other)| one == other)
        .count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    Ok(up.chain(file.components().skip(shared)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> StarterFile {
        StarterFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn what_is_there_is_not_overwritten_and_nothing_is_half_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("b"), "mine").expect("a file");
        let files = [file("a", "1"), file("sub/c", "3"), file("b", "2")];
        let error = write(folder.path(), &files).expect_err("refused");
        assert!(error.to_string().contains("already exists"), "{error}");
        assert!(error.hint().is_some());
        assert!(!path("a").exists() && !path("sub").exists());
        assert_eq!(fs::read_to_string(path("b")).expect("a file"), "mine");

        fs::write(path("b"), "2").expect("a file");
        for _ in 0..2 {
            let written = write(folder.path(), &files).expect("written");
            assert_eq!(written, [path("a"), path("sub/c"), path("b")]);
        }
        assert_eq!(fs::read_to_string(path("sub/c")).expect("a file"), "3");
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("elsewhere");
        std::os::unix::fs::symlink(&target, folder.path().join("a")).expect("a link");
        write(folder.path(), &[file("a", "1")]).expect_err("refused");
        assert!(!target.exists());
    }

    #[test]
    fn paths_between_folders() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a path");
        fs::create_dir_all(root.join("flows/deep")).expect("folders");
        fs::create_dir_all(root.join("studies")).expect("folders");
        fs::write(root.join("flows/flow.yaml"), "").expect("a file");
        std::os::unix::fs::symlink(root.join("flows/deep"), root.join("link")).expect("a link");
        for (from, expected) in [
            ("flows", "flow.yaml"),
            (".", "flows/flow.yaml"),
            ("studies", "../flows/flow.yaml"),
            ("studies/new/one", "../../../flows/flow.yaml"),
            ("link", "../flow.yaml"),
            ("link/new", "../../flow.yaml"),
        ] {
            let found = relative(&root.join("flows/flow.yaml"), &root.join(from)).expect("a path");
            assert_eq!(found, Path::new(expected), "from {from}");
        }
    }
}

//! The workspace as plain data: its text files and its packages.
//!
//! Law: this is the only file of `tidy` that touches the disk or starts a program. The checkers take a
//! [`Workspace`], which a test writes down in a few lines.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::failure::Failure;
use crate::process;

/// Folders that never belong to the sources, for trees without version control.
const NOT_SOURCES: [&str; 4] = [".git", "target", ".headwater", "outputs"];

/// The files and packages that the checkers look at.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// All text files that are or would be tracked, sorted by path.
    pub(crate) files: Vec<SourceFile>,
    /// The paths of files that are no text: pictures and the like.
    pub(crate) pictures: Vec<String>,
    /// The packages under `crates/`.
    pub(crate) packages: Vec<Package>,
    /// The crates of others that are built in or needed to build and test.
    pub(crate) others: Vec<Other>,
}

/// A crate of somebody else.
#[derive(Debug)]
pub(crate) struct Other {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Where it stands in `Cargo.lock`.
    pub(crate) line: usize,
    /// The terms that it is under.
    pub(crate) licence: Option<String>,
    /// Whether it brings a program that runs when it is built.
    pub(crate) has_build_script: bool,
    /// Whether it comes from the registry, not from a folder or a repository.
    pub(crate) is_from_registry: bool,
}

/// A text file.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// All of it.
    pub(crate) text: String,
}

/// A package of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    /// The name of its folder under `crates/`.
    pub(crate) folder: String,
    /// The packages of the workspace that it asks for.
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency on another package of the workspace.
#[derive(Debug)]
pub(crate) struct Dependency {
    /// The folder of the other package.
    pub(crate) folder: String,
    /// The name of the other package, as the manifest writes it.
    pub(crate) package: String,
    /// Whether only tests and benches use it.
    pub(crate) is_dev: bool,
}

impl Workspace {
    /// Reads the workspace at the root.
    pub(crate) fn read(root: &Path) -> Result<Workspace, Failure> {
        let mut paths = match tracked(root) {
            Some(paths) => paths,
            None => walk(root)?,
        };
        paths.sort();
        paths.dedup();
        let (mut files, mut pictures) = (Vec::new(), Vec::new());
        for path in paths {
            let full = root.join(&path);
            // A tracked file may be deleted in the working tree, and a link may lead anywhere.
            if !fs::symlink_metadata(&full).is_ok_and(|data| data.is_file()) {
                continue;
            }
            let bytes = fs::read(&full).map_err(|source| Failure::Read { path: full, source })?;
            // What is not UTF-8 is a picture or the like, and no rule is about those.
            match String::from_utf8(bytes) {
                Ok(text) => files.push(SourceFile { path, text }),
                Err(_) => pictures.push(path),
            }
        }
        let lock = files.iter().find(|file| file.path == "Cargo.lock");
        let lock = lock.map_or("", |file| file.text.as_str());
        // What other systems need is not on this machine, and not in what is built here.
        let linux = format!(
            "--filter-platform {}-unknown-linux-gnu",
            std::env::consts::ARCH
        );
        let others = others(&metadata(root, &linux)?, lock)?;
        Ok(Workspace {
            packages: packages(&metadata(root, "--no-deps")?)?,
            files,
            pictures,
            others,
        })
    }

    /// The file at this path.
    pub(crate) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether there is a file at this path, or a folder with files in it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let texts = self.files.iter().map(|file| file.path.as_str());
        let mut all = texts.chain(self.pictures.iter().map(String::as_str));
        all.any(|file| {
            file.strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || path.is_empty())
        })
    }

    /// All Rust files.
    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }
}

impl SourceFile {
    /// The crate folder and the rest of the path, for files under `crates/`.
    pub(crate) fn in_crate(&self) -> Option<(&str, &str)> {
        self.path.strip_prefix("crates/")?.split_once('/')
    }
}

/// The files that version control tracks or would track; none where it is not in use.
fn tracked(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let names = String::from_utf8(output.stdout).ok()?;
    Some(
        names
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

/// All files below the root except in folders that never belong to the sources.
fn walk(root: &Path) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let unreadable = |source| Failure::Read {
            path: folder.clone(),
            source,
        };
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                let name = entry.file_name();
                if !NOT_SOURCES.iter().any(|other| name == *other) {
                    folders.push(path);
                }
            } else if let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) {
                found.push(name.to_owned());
            }
        }
    }
    Ok(found)
}

/// What `cargo metadata` prints.
fn metadata(root: &Path, more: &str) -> Result<Value, Failure> {
    let shown = &format!("cargo metadata --format-version 1 {more}");
    let output = Command::new(process::cargo())
        .args(shown.split(' ').skip(1))
        .current_dir(root)
        .output()
        .map_err(|source| Failure::Start {
            command: shown.to_owned(),
            source,
        })?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        return Err(Failure::Step {
            command: shown.to_owned(),
            code: output.status.code(),
            hint: "mend the manifest that cargo names above",
        });
    }
    serde_json::from_slice(&output.stdout).map_err(|_| missing("JSON document"))
}

/// The packages under `crates/` in the metadata.
fn packages(metadata: &Value) -> Result<Vec<Package>, Failure> {
    let root = text(metadata, "workspace_root")?;
    let crates = Path::new(root).join("crates");
    let folder_of = |path: &str| -> Option<String> {
        let inside = Path::new(path).strip_prefix(&crates).ok()?;
        Some(inside.iter().next()?.to_str()?.to_owned())
    };
    let mut packages = Vec::new();
    for package in list(metadata, "packages")? {
        let Some(folder) = folder_of(text(package, "manifest_path")?) else {
            continue;
        };
        let mut dependencies = Vec::new();
        for dependency in list(package, "dependencies")? {
            // Only dependencies by path have the field.
            let Some(folder) = dependency["path"].as_str().and_then(folder_of) else {
                continue;
            };
            dependencies.push(Dependency {
                folder,
                package: text(dependency, "name")?.to_owned(),
                is_dev: dependency["kind"] == "dev",
            });
        }
        packages.push(Package {
            folder,
            dependencies,
        });
    }
    packages.sort_by(|left, right| left.folder.cmp(&right.folder));
    Ok(packages)
}

/// The crates of others in the metadata.
fn others(metadata: &Value, lock: &str) -> Result<Vec<Other>, Failure> {
    let mut others = Vec::new();
    let ours = list(metadata, "workspace_members")?;
    for package in list(metadata, "packages")? {
        if ours.contains(&package["id"]) {
            continue;
        }
        let (name, version) = (text(package, "name")?, text(package, "version")?);
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        let is_script = |target: &Value| target["kind"][0] == "custom-build";
        others.push(Other {
            name: name.to_owned(),
            version: version.to_owned(),
            line: lock
                .find(&entry)
                .map_or(1, |at| lock[..at].matches('\n').count() + 1),
            licence: package["license"].as_str().map(str::to_owned),
            has_build_script: list(package, "targets")?.iter().any(is_script),
            is_from_registry: package["source"]
                .as_str()
                .is_some_and(|source| source.starts_with("registry+")),
        });
    }
    Ok(others)
}

/// A text field of the metadata.
fn text<'a>(value: &'a Value, field: &str) -> Result<&'a str, Failure> {
    value[field].as_str().ok_or_else(|| missing(field))
}

/// A list field of the metadata.
fn list<'a>(value: &'a Value, field: &str) -> Result<&'a Vec<Value>, Failure> {
    value[field].as_array().ok_or_else(|| missing(field))
}

/// The failure for a field that is not there.
fn missing(field: &str) -> Failure {
    Failure::Metadata {
        missing: field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{others, packages};

    #[test]
    fn packages_are_known_by_their_folder() {
        let metadata = json!({
            "workspace_root": "/r",
            "packages": [{
                "manifest_path": "/r/crates/flow/Cargo.toml",
                "dependencies": [
                    {"name": "headwater-graph", "kind": null, "path": "/r/crates/graph"},
                    {"name": "headwater-enact", "kind": "dev", "path": "/r/crates/enact"},
                    {"name": "csv", "kind": null},
                ],
            }],
        });
        let found = packages(&metadata).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].folder, "flow");
        let edges: Vec<(&str, bool)> = found[0]
            .dependencies
            .iter()
            .map(|dependency| (dependency.folder.as_str(), dependency.is_dev))
            .collect();
        assert_eq!(edges, [("graph", false), ("enact", true)]);
    }

    #[test]
    fn crates_of_others_are_all_that_are_not_ours() {
        let metadata = json!({
            "workspace_members": ["ours"],
            "packages": [
                {"id": "ours", "name": "flow", "version": "0.1.0"},
                {
                    "id": "a", "name": "a", "version": "1.0.0", "license": "MIT",
                    "source": "registry+somewhere",
                    "targets": [{"kind": ["lib"]}, {"kind": ["custom-build"]}],
                },
                {"id": "b", "name": "b", "version": "2.0.0", "license": null, "source": null, "targets": []},
            ],
        });
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n";
        let found = others(&metadata, lock).unwrap();
        let names: Vec<(&str, usize)> = found.iter().map(|it| (&*it.name, it.line)).collect();
        assert_eq!(names, [("a", 4), ("b", 1)]);
        assert!(found[0].has_build_script && found[0].is_from_registry);
        assert!(!found[1].has_build_script && !found[1].is_from_registry);
        assert_eq!(found[0].licence.as_deref(), Some("MIT"));
    }

    #[test]
    fn a_missing_field_is_named() {
        let failure = packages(&json!({"workspace_root": "/r"})).unwrap_err();
        assert_eq!(failure.to_string(), "`cargo metadata` gave no packages");
    }
}

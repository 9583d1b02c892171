//! Directories: their value depends on what is in them and on nothing else.

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::common::Case;
use headwater_graph::{Digest, Handle, manifest_digest};

fn make(folder: &Path, names: &[&str]) {
    for name in names {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
}

#[test]
fn files_are_sorted_bytewise_by_their_whole_path() {
    let case = Case::new();
    let folder = case.folder.path().join("folder");
    make(&folder, &["b", "a/z", "a-b", "a/b/c", "a.b", "Z", "é"]);
    fs::create_dir(folder.join("empty")).unwrap();
    fs::set_permissions(folder.join("b"), Permissions::from_mode(0o755)).unwrap();
    let (value, _) = case.store.digest_directory(&folder).unwrap();
    let paths: Vec<&str> = value.entries.iter().map(|entry| &*entry.path).collect();
    assert_eq!(paths, ["Z", "a-b", "a.b", "a/b/c", "a/z", "b", "é"]);
    assert_eq!(value.path.as_deref(), Some(&*folder));
    for entry in value.entries.iter() {
        assert_eq!(entry.file.digest, Digest::of(entry.path.as_bytes()));
        assert_eq!(entry.file.size, entry.path.len() as u64);
        assert_eq!(entry.executable, &*entry.path == "b");
        assert!(
            matches!(&entry.file.handle, Handle::Path(path) if **path == folder.join(&*entry.path))
        );
    }
}

#[test]
fn links_inside_count_as_what_they_lead_to() {
    let case = Case::new();
    let (plain, linked) = (
        case.folder.path().join("plain"),
        case.folder.path().join("linked"),
    );
    make(&plain, &["a/b"]);
    fs::create_dir(plain.join("c")).unwrap();
    fs::copy(plain.join("a/b"), plain.join("c/b")).unwrap();
    fs::copy(plain.join("a/b"), plain.join("d")).unwrap();
    make(&linked, &["a/b"]);
    symlink("a", linked.join("c")).unwrap();
    symlink("a/b", linked.join("d")).unwrap();
    let digest = |folder: &Path| manifest_digest(&case.store.digest_directory(folder).unwrap().0);
    assert_eq!(digest(&plain), digest(&linked));
    fs::write(linked.join("a/b"), "else").unwrap();
    assert_ne!(digest(&plain), digest(&linked));
}

#[test]
fn what_depends_on_something_outside_is_refused() {
    type Make = fn(&Path);
    let cases: [(&str, Make, &str); 6] = [
        (
            "out",
            |path| symlink("../outside", path).unwrap(),
            "leads out of the directory",
        ),
        (
            "nowhere",
            |path| symlink("absent", path).unwrap(),
            "cannot follow",
        ),
        (
            "itself",
            |path| symlink("itself", path).unwrap(),
            "cannot follow",
        ),
        (
            "circle",
            |path| symlink(".", path).unwrap(),
            "it is a link to a folder that contains it",
        ),
        (
            "socket",
            |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
            "neither a file nor a folder",
        ),
        (
            "odd",
            |path| {
                fs::write(
                    path.with_file_name(std::ffi::OsStr::from_bytes(b"\xFF")),
                    "",
                )
                .unwrap();
            },
            "UTF-8",
        ),
    ];
    for (name, make_it, expected) in cases {
        let case = Case::new();
        make(case.folder.path(), &["outside", "folder/file"]);
        make_it(&case.folder.path().join("folder").join(name));
        let message = case
            .store
            .digest_directory(&case.folder.path().join("folder"))
            .unwrap_err()
            .to_string();
        assert!(message.contains(expected), "{name}: {message}");
    }
}

#[test]
fn an_absent_directory_is_named() {
    let case = Case::new();
    let message = case
        .store
        .digest_directory(&case.folder.path().join("absent"))
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with("cannot find `") && message.contains("absent"),
        "{message}"
    );
}

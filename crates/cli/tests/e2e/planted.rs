//! A store that came from somebody else, or was damaged: nothing outside of its folder is touched, and nobody hangs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::{Place, contents};

/// Two tasks whose product is a file, and a run of them.
fn made() -> Place {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: two
inputs: {item: int}
stages:
  first:
    tasks: [{op: write, in: {item: item}, out: {made: made}}]
  second:
    tasks: [{op: again, in: {from: made}, out: {made: copied}}]
outputs: {made: made, copied: copied}
operations:
  write:
    shell: echo number {in.item} > {out.made}
    inputs: {item: int}
    outputs: {made: {type: file, path: made.txt, keep: true}}
  again:
    shell: cat {in.from} {in.from} > {out.made}
    inputs: {from: file}
    outputs: {made: {type: file, path: made.txt, keep: true}}
"#,
    );
    place.write("data.yaml", "inputs: {item: [1, 2]}\n");
    place.run(&["--inputs", "data.yaml"], 0).counts(4, 4, 0, 0);
    place
}

/// The objects of a store.
fn objects(place: &Place) -> Vec<PathBuf> {
    let objects = place.path(".headwater/objects");
    let found = contents(&objects).into_keys();
    let mut found: Vec<PathBuf> = found.map(|name| objects.join(name)).collect();
    found.sort();
    assert_eq!(found.len(), 4);
    found
}

fn pipe(path: &Path) {
    assert!(
        Command::new("mkfifo")
            .arg(path)
            .status()
            .expect("mkfifo")
            .success()
    );
}

#[test]
fn a_pipe_or_a_link_in_the_place_of_an_object_is_made_again() {
    for kind in ["pipe", "link"] {
        let place = made();
        let precious = place.write("elsewhere/precious", "precious\n");
        let objects = objects(&place);
        for object in &objects {
            fs::remove_file(object).expect("an object");
            match kind {
                "pipe" => pipe(object),
                _ => symlink(&precious, object).expect("a link"),
            }
        }
        place.headwater(&["products", "ls"]).ended(0);
        place
            .headwater(&["products", "verify", "--read-only"])
            .ended(1);
        let report = place.run(&["--inputs", "data.yaml"], 0);
        assert_eq!(report.texts("made"), ["number 1\n", "number 2\n"], "{kind}");
        let twice = ["number 1\nnumber 1\n", "number 2\nnumber 2\n"];
        assert_eq!(report.texts("copied"), twice, "{kind}");
        for object in &objects {
            let found = fs::symlink_metadata(object).expect("an object");
            assert!(found.is_file(), "{kind}: it was made again");
        }
        place.headwater(&["products", "verify"]).ended(0);
        place.run(&["--inputs", "data.yaml"], 0).counts(4, 0, 4, 0);
        place.headwater(&["products", "gc", "--max", "0"]).ended(0);
        assert_eq!(place.read("elsewhere/precious"), "precious\n");
    }
}

#[test]
fn verify_sets_a_pipe_aside() {
    let place = made();
    let object = &objects(&place)[0];
    fs::remove_file(object).expect("an object");
    pipe(object);
    place.headwater(&["products", "verify"]).ended(1);
    assert!(fs::symlink_metadata(object).is_err());
    place.headwater(&["products", "verify"]).ended(0);
}

#[test]
fn a_link_below_the_parts_of_a_store_is_refused_and_told() {
    let place = made();
    let first = objects(&place)[0].parent().expect("a folder").to_owned();
    let shared = first
        .strip_prefix(place.path(".headwater"))
        .expect("below")
        .to_owned();
    for part in [
        Path::new("objects/damaged"),
        &shared,
        Path::new("leases/00"),
    ] {
        let place = made();
        let outside = place.path("elsewhere");
        place.write("elsewhere/file", "precious\n");
        let objects = objects(&place);
        for object in &objects {
            // Files that are called as objects are.
            let name = object.file_name().expect("a name").to_str().expect("UTF-8");
            place.write(&format!("elsewhere/{name}"), "precious\n");
        }
        let link = place.path(".headwater").join(part);
        let _ = fs::remove_file(&link).or_else(|_| fs::remove_dir_all(&link));
        let target = if part.starts_with("leases") {
            outside.join("file")
        } else {
            outside.clone()
        };
        symlink(&target, &link).expect("a link");
        let before = contents(&outside);
        let part = part.to_str().expect("UTF-8");
        for command in [
            &["run", "flow.yaml", "--inputs", "data.yaml"][..],
            &["products", "gc", "--max", "0"],
            &["products", "verify"],
            &["products", "ls"],
            &["runs", "ls"],
        ] {
            place.headwater(command).ended(2).says(&[
                part,
                "is neither a file nor a folder of the store's own",
                "help:",
            ]);
            assert_eq!(contents(&outside), before, "{part} {command:?}");
        }
    }
}

#[test]
fn pipes_and_links_among_what_runs_have_left_hold_nobody_up() {
    let place = made();
    let secret = place.write("elsewhere/secret", "{\"seconds\": 1e9, \"tasks\": []}");
    let runs = place.path(".headwater/runs");
    let run = fs::read_dir(&runs)
        .expect("runs")
        .next()
        .expect("a run")
        .expect("an entry");
    let id = run.file_name().into_string().expect("UTF-8");
    let files: Vec<PathBuf> = contents(&run.path()).into_keys().collect();
    assert!(!files.is_empty());
    for kind in ["pipe", "link"] {
        for name in &files {
            let path = run.path().join(name);
            let _ = fs::remove_file(&path);
            match kind {
                "pipe" => pipe(&path),
                _ => symlink(&secret, &path).expect("a link"),
            }
        }
        place.headwater(&["runs", "show", &id]).ended(0);
        place.headwater(&["runs", "show", &id, "--json"]).ended(0);
        place
            .headwater(&["explain", &id, "first.write[0]"])
            .ended(0);
        let ran = place.headwater(&["dag", &id]);
        assert_ne!(ran.code, Some(0), "{kind}: {}", ran.stdout);
        let ran = place.headwater(&["runs", "report", &id]);
        assert_ne!(ran.code, Some(0), "{kind}: {}", ran.stdout);
        // Another run goes its own way.
        place.run(&["--inputs", "data.yaml"], 0).counts(4, 0, 4, 0);
    }
    assert!(secret.exists());
}

/// The journal of a store that somebody copied by hard links is the other store's, too.
#[test]
fn a_journal_with_another_name_is_not_written_to() {
    let place = made();
    let journal = place.path(".headwater/records.journal");
    let outside = place.path("backup.journal");
    fs::hard_link(&journal, &outside).expect("a link");
    let before = fs::read(&outside).expect("a file");
    place.write("data.yaml", "inputs: {item: [1, 2, 3]}\n");
    place.run(&["--inputs", "data.yaml"], 0).counts(6, 2, 4, 0);
    assert_eq!(fs::read(&outside).expect("a file"), before);
    let now = fs::read(&journal).expect("a file");
    assert!(now.len() > before.len() && now.starts_with(&before));
    place.headwater(&["products", "verify"]).ended(0);
}

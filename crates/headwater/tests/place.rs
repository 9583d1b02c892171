//! A store that is only read is not made: looking leaves no trace.

use std::path::Path;
use std::sync::Arc;

use headwater::graph::Recipe;
use headwater::{StorePlace, open_store};

/// All names under a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Asks what a plan asks.
fn look(place: &StorePlace, current: &Path) {
    let store = open_store(place, current).unwrap();
    let operation: (Arc<str>, Arc<str>) = ("a/b".into(), "1".into());
    assert_eq!(store.known(&[Recipe([7; 32])]).unwrap(), [None]);
    assert_eq!(store.fetch(&[Recipe([7; 32])]).unwrap(), [None]);
    assert_eq!(store.equal(&[Recipe([7; 32])]).unwrap(), [None]);
    assert_eq!(store.costs(&[operation]).unwrap(), [None]);
    assert!(
        store.register(&[]).is_err(),
        "a store that is only read took records"
    );
}

#[test]
fn reading_makes_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let current = folder.path();
    let place = |url: Option<&str>| StorePlace {
        url: url.map(str::to_owned),
        read_only: true,
        ..StorePlace::default()
    };
    look(&place(None), current);
    look(&place(Some("absent")), current);
    look(&place(Some("absent/too")), current);
    assert_eq!(names(current), Vec::<String>::new());
    std::fs::create_dir(current.join("empty")).unwrap();
    look(&place(Some("empty")), current);
    assert_eq!(names(current), ["empty"]);
    assert_eq!(names(&current.join("empty")), Vec::<String>::new());
}

//! The examples do what their first lines say, and are remembered.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::{Place, Report, copy_folder, delivered, read};

pub(crate) fn example(name: &str) -> (Place, PathBuf) {
    let place = Place::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name);
    let to = place.path(name);
    copy_folder(&from, &to);
    (place, to)
}

/// A first run after a dry run, a second run, a run of a copy elsewhere: `tasks`, then nothing, then nothing.
pub(crate) fn runs_once(name: &str, flow: &str, tasks: usize) -> (Place, Report) {
    let (place, folder) = example(name);
    let flow = format!("{name}/{flow}");
    let inputs = format!("{name}/inputs.yaml");
    let arguments = ["run", &flow, "--inputs", &inputs, "--json"];
    let plan = |execute: usize| {
        let mut dry = arguments.to_vec();
        dry.push("--dry-run");
        let plan = place.headwater(&dry).ended(0).report();
        assert_eq!(plan.number("tasks"), tasks);
        assert_eq!(plan.number("to_execute"), execute);
    };
    plan(tasks);
    assert!(
        !place.path(".headwater").exists(),
        "a dry run writes nothing"
    );
    assert!(!place.path("outputs").exists(), "a dry run writes nothing");
    let first = place.headwater(&arguments).ended(0).report();
    let first = first.counts(tasks, tasks, 0, 0);
    plan(0);
    let second = place.headwater(&arguments).ended(0).report();
    let second = second.counts(tasks, 0, tasks, 0);
    assert_eq!(delivered(&first.folder()), delivered(&second.folder()));

    let elsewhere = Place::new();
    copy_folder(&folder, &elsewhere.path(name));
    let store = place.path(".headwater");
    let mut others = arguments.to_vec();
    others.extend(["--store", store.to_str().expect("UTF-8")]);
    let third = elsewhere.headwater(&others).ended(0).report();
    let third = third.counts(tasks, 0, tasks, 0);
    assert_eq!(delivered(&first.folder()), delivered(&third.folder()));
    (place, first)
}

/// The words of a text with at least four letters, and how often each occurs.
fn counted(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in text
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| word.len() >= 4)
    {
        *counts.entry(word.to_ascii_lowercase()).or_insert(0) += 1;
    }
    counts
}

/// A table of `COUNT WORD` lines; the most frequent come first, equals by name.
fn table(path: &Path) -> BTreeMap<String, usize> {
    let text = read(path);
    let rows = text.lines().map(|line| {
        let (count, word) = line.trim().split_once(' ').expect("a count and a word");
        (
            std::cmp::Reverse(count.parse::<usize>().expect("a count")),
            word.to_owned(),
        )
    });
    let rows: Vec<_> = rows.collect();
    assert!(rows.is_sorted(), "{}: {rows:?}", path.display());
    rows.into_iter()
        .map(|(count, word)| (word, count.0))
        .collect()
}

#[test]
fn words_counts_what_is_there() {
    let (place, report) = runs_once("words", "words.yaml", 18);
    let mut texts: Vec<PathBuf> = fs::read_dir(place.path("words/texts"))
        .expect("the texts")
        .map(|entry| entry.expect("a text").path())
        .collect();
    texts.sort();
    assert_eq!(texts.len(), 4);
    let expected: Vec<BTreeMap<String, usize>> =
        texts.iter().map(|path| counted(&read(path))).collect();

    let found: Vec<_> = report
        .files("counts")
        .values()
        .map(|path| table(path))
        .collect();
    assert_eq!(found, expected);

    let mut all = BTreeMap::new();
    for (word, count) in expected.iter().flatten() {
        *all.entry(word.clone()).or_insert(0) += count;
    }
    assert_eq!(table(&report.files("summary")[""]), all);

    let common: BTreeSet<&String> = all
        .keys()
        .filter(|word| expected.iter().all(|counts| counts.contains_key(*word)))
        .collect();
    let found = read(&report.files("common")[""]);
    assert_eq!(
        found.lines().collect::<Vec<_>>(),
        common.iter().map(|word| word.as_str()).collect::<Vec<_>>()
    );
    assert!(!common.is_empty(), "the example should show something");
    assert_eq!(report.values("shared")[""], common.len());
}

/// The width and height in the header of a PNG file.
fn size(path: &Path) -> (u32, u32) {
    let bytes = fs::read(path).expect("a picture");
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "{}", path.display());
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    (number(16), number(20))
}

#[test]
fn contact_sheet_shows_every_picture_with_every_effect() {
    let tool = |name: &str| {
        Command::new(name)
            .arg("-version")
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let installed = tool("magick") || (tool("convert") && tool("montage"));
    if !installed {
        println!("skipped: ImageMagick is not installed");
        return;
    }
    let (_place, report) = runs_once("contact-sheet", "sheet.yaml", 16);
    let changed = report.files("changed");
    let indices: Vec<String> = (0..12).map(|n| format!("{}-{}", n / 4, n % 4)).collect();
    assert_eq!(changed.keys().cloned().collect::<Vec<_>>(), indices);
    for path in changed.values() {
        assert_eq!(size(path).0, 128, "{}", path.display());
    }
    let distinct: BTreeSet<Vec<u8>> = changed
        .values()
        .map(|path| fs::read(path).expect("a picture"))
        .collect();
    assert_eq!(distinct.len(), 12, "each effect changes each picture");
    let (width, height) = size(&report.files("sheet")[""]);
    assert!(
        width > 3 * 128 && height > 2 * 64,
        "twelve pictures fit on {width}×{height}"
    );
}

//! A program stays a program, and data with the same bytes stays data, whatever was made before, in which
//! order, and whatever the store did with the bytes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::place::{Place, Report, contents};

fn mode(path: &Path) -> u32 {
    let found = fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    found.permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

/// The objects of the store.
fn objects(place: &Place) -> Vec<PathBuf> {
    let folder = place.path(".headwater/objects");
    let names = contents(&folder).into_keys();
    names.map(|name| folder.join(name)).collect()
}

#[track_caller]
fn check_read_only(place: &Place) {
    let objects = objects(place);
    assert!(!objects.is_empty());
    for object in objects {
        assert_eq!(mode(&object) & 0o222, 0, "{}", object.display());
    }
}

/// `make` gives the same bytes with the mode it is told, as a file, in a directory and in a list; `look`
/// tells what it sees, and runs what is a program.
const FLOW: &str = r#"
headwater: 1
workflow: modes
inputs: {mode: text}
parameters: {word: {type: text, default: one}}
stages:
  make:
    tasks: [{op: make, in: {mode: mode}, out: {file: file, folder: folder, items: items}}]
  look:
    tasks: [{op: look, in: {file: file, folder: folder, items: items}, params: {word: $word}, out: {seen: seen}}]
outputs: {seen: seen, file: file, folder: folder, items: items}
operations:
  make:
    shell: |
      printf '#!/bin/sh\necho ran $1\n' > {out.file}
      mkdir {out.folder} items
      cp {out.file} {out.folder}/same
      cp {out.file} {out.folder}/other
      cp {out.file} items/a
      cp {out.file} items/b
      chmod {in.mode} {out.file} {out.folder}/same items/a
      chmod 755 items/b
    inputs: {mode: text}
    outputs:
      file: {type: file, path: file}
      folder: {type: directory, path: folder}
      items: {type: file, glob: "items/*"}
  look:
    shell: |
      stat -L -c %a {in.file} {in.folder}/same {in.folder}/other {in.items} | tr '\n' ' ' > {out.seen}
      if test -x {in.file}; then ./{in.file} {param.word} >> {out.seen}; else echo data {param.word} >> {out.seen}; fi
    inputs: {file: file, folder: directory, items: list of file}
    params: {word: text}
    outputs: {seen: {type: file, path: seen.txt}}
"#;

fn place(modes: &str) -> Place {
    let place = Place::with_flow(FLOW);
    place.write("data.yaml", &format!("inputs: {{mode: {modes}}}\n"));
    place
}

fn run(place: &Place, word: &str) -> Report {
    let word = format!("word={word}");
    place.run(&["--inputs", "data.yaml", "-j", "1", "--set", &word], 0)
}

fn program(word: &str) -> String {
    format!("555 555 444 555 555 ran {word}\n")
}

fn data(word: &str) -> String {
    format!("444 444 444 444 555 data {word}\n")
}

/// The modes of what was delivered, by path.
fn delivered(report: &Report) -> BTreeMap<String, u32> {
    let folder = report.folder();
    let names = contents(&folder).into_keys();
    let told = |name: PathBuf| (name.display().to_string(), mode(&folder.join(&name)));
    let all: BTreeMap<String, u32> = names.map(told).collect();
    let ours = |name: &String| {
        ["file", "folder", "items"]
            .iter()
            .any(|at| name.starts_with(at))
    };
    all.into_iter().filter(|(name, _)| ours(name)).collect()
}

#[track_caller]
fn check_delivered(report: &Report, expected: &[(&str, u32)]) {
    let expected = expected
        .iter()
        .map(|(name, mode)| ((*name).to_owned(), *mode));
    assert_eq!(delivered(report), expected.collect());
}

#[test]
fn a_program_that_was_made_earlier_still_runs() {
    let place = place("'755'");
    let first = run(&place, "one").counts(2, 2, 0, 0);
    assert_eq!(first.texts("seen"), [program("one")]);
    let second = run(&place, "two").counts(2, 1, 1, 0);
    assert_eq!(second.texts("seen"), [program("two")]);
    check_read_only(&place);
}

#[test]
fn a_program_and_data_with_its_bytes_are_two_things_in_one_run() {
    for (modes, first_is_program) in [("['755', '644']", true), ("['644', '755']", false)] {
        let place = place(modes);
        let expected = |word: &str| {
            let mut both = [data(word), program(word)];
            if first_is_program {
                both.reverse();
            }
            both
        };
        let first = run(&place, "one").counts(4, 4, 0, 0);
        assert_eq!(first.texts("seen"), expected("one"));
        // Now all of them come from the store, where equal bytes lie once.
        let second = run(&place, "two").counts(4, 2, 2, 0);
        assert_eq!(second.texts("seen"), expected("two"));
        check_read_only(&place);
    }
}

#[test]
fn a_program_and_data_with_its_bytes_are_two_things_in_later_runs() {
    for modes in [["755", "644"], ["644", "755"]] {
        let place = place("x");
        for word in ["one", "two"] {
            for mode in modes {
                place.write("data.yaml", &format!("inputs: {{mode: '{mode}'}}\n"));
                let report = run(&place, word);
                let expected = if mode == "755" {
                    program(word)
                } else {
                    data(word)
                };
                assert_eq!(
                    report.texts("seen"),
                    [expected],
                    "{mode} of {modes:?}, {word}"
                );
            }
        }
        check_read_only(&place);
    }
}

/// Programs get odd modes from odd masks; what counts is whether the owner may run it.
#[test]
fn only_the_bit_counts() {
    let place = place("['700', '655', '744', '711']");
    let seen = run(&place, "one").texts("seen");
    assert_eq!(
        seen,
        [program("one"), data("one"), program("one"), program("one")]
    );
}

/// Whatever somebody does to the mode of an object: the product is what it was.
#[test]
fn the_mode_of_an_object_does_not_count() {
    let place = place("['755', '644']");
    run(&place, "one");
    for (number, changed) in [0o444, 0o555, 0o544, 0o445].into_iter().enumerate() {
        for object in objects(&place) {
            set_mode(&object, changed);
        }
        let word = number.to_string();
        let report = run(&place, &word).counts(4, 2, 2, 0);
        assert_eq!(
            report.texts("seen"),
            [program(&word), data(&word)],
            "objects of mode {changed:o}"
        );
        check_delivered(
            &report,
            &[
                ("file/0", 0o755),
                ("file/1", 0o644),
                ("folder/0/other", 0o644),
                ("folder/0/same", 0o755),
                ("folder/1/other", 0o644),
                ("folder/1/same", 0o644),
                ("items/0/0", 0o755),
                ("items/0/1", 0o755),
                ("items/1/0", 0o644),
                ("items/1/1", 0o755),
            ],
        );
    }
}

#[test]
fn outputs_are_delivered_with_their_modes() {
    for (told, expected) in [("755", 0o755), ("644", 0o644)] {
        let place = place(&format!("'{told}'"));
        // Made, and brought back.
        for _ in 0..2 {
            let report = run(&place, "one");
            check_delivered(
                &report,
                &[
                    ("file", expected),
                    ("folder/other", 0o644),
                    ("folder/same", expected),
                    ("items/0", expected),
                    ("items/1", 0o755),
                ],
            );
        }
    }
}

/// `make` reads a file that says the mode; a remark in it changes nothing.
fn told_by_a_file() -> Place {
    let flow = FLOW
        .replace("inputs: {mode: text}", "inputs: {mode: file}")
        .replace("chmod {in.mode}", "chmod $(grep -v '#' {in.mode})");
    let place = Place::with_flow(&flow);
    place.write("data.yaml", "inputs: {mode: mode.txt}\n");
    place
}

#[test]
fn a_change_of_nothing_but_the_mode_goes_downstream() {
    let place = told_by_a_file();
    place.write("mode.txt", "644\n");
    assert_eq!(
        run(&place, "one").counts(2, 2, 0, 0).texts("seen"),
        [data("one")]
    );
    place.write("mode.txt", "# no change\n644\n");
    let same = run(&place, "one");
    assert_eq!((same.number("executed"), same.number("cut_off")), (1, 1));
    place.write("mode.txt", "755\n");
    let changed = run(&place, "one").counts(2, 2, 0, 0);
    assert_eq!(changed.number("cut_off"), 0);
    assert_eq!(changed.texts("seen"), [program("one")]);
    place.write("mode.txt", "# a program\n755\n");
    let same = run(&place, "one");
    assert_eq!((same.number("executed"), same.number("cut_off")), (1, 1));
    assert_eq!(same.texts("seen"), [program("one")]);
}

/// The same for each kind of output alone, so that none of them hides another.
#[test]
fn files_directories_and_lists_all_see_it() {
    for (kind, one) in [
        ("file", "{out.file}"),
        ("directory", "{out.folder}/same"),
        ("list", "items/a"),
    ] {
        let place = told_by_a_file();
        let flow = place.read("flow.yaml").replace(
            "{out.file} {out.folder}/same items/a\n",
            &format!("{one}\n"),
        );
        place.write("flow.yaml", &flow);
        place.write("mode.txt", "644\n");
        run(&place, "one");
        place.write("mode.txt", "755\n");
        let changed = run(&place, "one").counts(2, 2, 0, 0);
        assert_eq!(changed.number("cut_off"), 0, "{kind}");
    }
}

/// What an operation made that is not pure is known by what it is: its mode included. Only the file differs,
/// so that the directory and the list do not tell.
#[test]
fn what_reads_an_impure_output_sees_its_mode() {
    let flow = FLOW
        .replace(
            "  make:\n    shell: |",
            "  make:\n    pure: false\n    shell: |",
        )
        .replace(
            "chmod {in.mode} {out.file} {out.folder}/same items/a",
            "chmod $(cat \"$TMPDIR/mode\") {out.file}",
        );
    let place = Place::with_flow(&flow);
    place.write("data.yaml", "inputs: {mode: x}\n");
    let make = |mode: &str, executed, reused| {
        fs::write(place.side().join("mode"), mode).expect("a file");
        let report = run(&place, "one").counts(2, executed, reused, 0);
        report.texts("seen").concat()
    };
    let (data, program) = (
        "444 444 444 444 555 data one\n",
        "555 444 444 444 555 ran one\n",
    );
    assert_eq!(make("644", 2, 0), data);
    assert_eq!(make("755", 2, 0), program);
    assert_eq!(make("644", 1, 1), data);
    assert_eq!(make("755", 1, 1), program);
}

/// The user's file is the user's: it is linked with the mode it has, which does not count.
#[test]
fn the_mode_of_a_file_from_outside_is_the_users() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: outside
inputs: {tool: file, all: list of file}
parameters: {word: {type: text, default: one}}
stages:
  use:
    tasks: [{op: use, in: {tool: tool, all: all}, params: {word: $word}, out: {said: said}}]
outputs: {said: said, tool: tool}
operations:
  use:
    shell: |
      ./{in.tool} {param.word} > {out.said}
      for each in {in.all}; do ./$each {param.word} >> {out.said}; done
      stat -L -c %a {in.tool} {in.all} > "$TMPDIR/modes"
    inputs: {tool: file, all: list of file}
    params: {word: text}
    outputs: {said: {type: file, path: said.txt}}
"#,
    );
    let tool = place.write("tool.sh", "#!/bin/sh\necho tool $1\n");
    place.write("data.yaml", "inputs: {tool: tool.sh, all: [[tool.sh]]}\n");
    for (mode, word) in [(0o755, "one"), (0o555, "two"), (0o700, "three")] {
        set_mode(&tool, mode);
        let report = run(&place, word).counts(1, 1, 0, 0);
        assert_eq!(
            report.texts("said"),
            [format!("tool {word}\ntool {word}\n")]
        );
        assert_eq!(
            place.told("modes"),
            [format!("{mode:o}"), format!("{mode:o}")]
        );
        assert_eq!(self::mode(&report.files("tool")[""]), 0o644);
        assert_eq!(self::mode(&tool), mode);
    }
    set_mode(&tool, 0o644);
    run(&place, "three").counts(1, 0, 1, 0);
}

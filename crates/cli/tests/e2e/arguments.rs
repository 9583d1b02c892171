//! What a program is given: every value as it is, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::place::{Place, Ran};

/// Values that a careless engine would break.
const NASTY: [&str; 18] = [
    "plain",
    "two words",
    "  blanks around  ",
    "it's",
    "\"quoted\"",
    "line\nbreak",
    "trailing newline\n",
    "tab\there",
    "-rf",
    "--help",
    "$(touch hacked)",
    "`touch hacked`; touch hacked & > hacked",
    "* ? [a-z] ~",
    "back\\slash \\n",
    "{in.value} {param.x} {{}}",
    "naïve – 水源 🌊",
    "",
    "%s $HOME ${PATH} !! #",
];

/// Prints each argument, followed by a zero byte.
const SHOW: &str = "for argument in \"$@\"; do printf '%s\\0' \"$argument\"; done\n";

const FLOW: &str = r#"
headwater: 1
workflow: arguments
inputs: {value: text}
stages:
  given:
    tasks: [{op: given, in: {value: value}, out: {shown: given}}]
  quoted:
    tasks: [{op: quoted, in: {value: value}, out: {shown: quoted}}]
  piped:
    tasks: [{op: piped, in: {value: value}, out: {shown: piped}}]
outputs: {given: given, quoted: quoted, piped: piped}
operations:
  given:
    command: [sh, show.sh, "{in.value}", "--x={in.value}", "a{in.value}b{in.value}", end]
    inputs: {value: text}
    stdout: shown
    outputs: {shown: {type: file, path: shown}}
    uses: [show.sh]
  quoted:
    shell: sh show.sh {in.value} --x={in.value} a{in.value}b{in.value} end > {out.shown}
    inputs: {value: text}
    outputs: {shown: {type: file, path: shown}}
    uses: [show.sh]
  piped:
    shell: cat > {out.shown}; printf '\0%s\0' "$VALUE" >> {out.shown}
    inputs: {value: text}
    stdin: "<{in.value}>"
    env: {VALUE: "[{in.value}]"}
    outputs: {shown: {type: file, path: shown}}
"#;

/// What `show.sh` has printed.
fn arguments(text: &str) -> Vec<&str> {
    text.strip_suffix('\0')
        .expect("a zero byte at the end")
        .split('\0')
        .collect()
}

#[test]
fn every_value_reaches_the_program_unchanged() {
    let place = Place::with_flow(FLOW);
    place.write("show.sh", SHOW);
    place.write(
        "data.json",
        &json!({"inputs": {"value": NASTY}}).to_string(),
    );
    let report = place
        .run(&["--inputs", "data.json"], 0)
        .counts(54, 54, 0, 0);
    for stage in ["given", "quoted"] {
        for (index, path) in report.files(stage) {
            let value = NASTY[index.parse::<usize>().expect("an index")];
            let wanted = [
                value.to_owned(),
                format!("--x={value}"),
                format!("a{value}b{value}"),
                "end".to_owned(),
            ];
            assert_eq!(
                arguments(&crate::place::read(&path)),
                wanted,
                "{stage} {value:?}"
            );
        }
    }
    for (index, path) in report.files("piped") {
        let value = NASTY[index.parse::<usize>().expect("an index")];
        let wanted = [format!("<{value}>"), format!("[{value}]")];
        assert_eq!(arguments(&crate::place::read(&path)), wanted, "{value:?}");
    }
    assert!(!place.path("hacked").exists());
    assert!(
        report
            .files("given")
            .values()
            .all(|path| !path.with_file_name("hacked").exists())
    );

    // A text given as a parameter is no different, and what was saved of the data gives the same again.
    let saved = report.folder().join("inputs.yaml");
    place
        .run(&["--inputs", saved.to_str().expect("UTF-8")], 0)
        .counts(54, 0, 54, 0);
}

#[test]
fn a_parameter_reaches_the_program_unchanged() {
    let flow = FLOW
        .replace(
            "inputs: {value: text}\nstages:",
            "parameters: {value: text}\nstages:",
        )
        .replace("    inputs: {value: text}\n", "    params: {value: text}\n")
        .replace("in: {value: value}", "params: {value: $value}")
        .replace("{in.value}", "{param.value}");
    let place = Place::with_flow(&flow);
    place.write("show.sh", SHOW);
    for value in NASTY {
        let report = place.run(&["--set", &format!("value={value}")], 0);
        let wanted = [
            value.to_owned(),
            format!("--x={value}"),
            format!("a{value}b{value}"),
            "end".to_owned(),
        ];
        assert_eq!(arguments(&report.texts("given")[0]), wanted);
        assert_eq!(arguments(&report.texts("quoted")[0]), wanted);
        assert_eq!(
            arguments(&report.texts("piped")[0])[1],
            format!("[{value}]")
        );
    }
}

const LISTS: &str = r#"
headwater: 1
workflow: lists
inputs: {words: list of text, files: list of file, absent: {type: text, optional: true}}
stages:
  show:
    tasks: [{op: show, in: {words: words, files: files, absent: absent}, out: {shown: shown, listed: listed}}]
  none:
    tasks: [{op: count, in: {files: files}, out: {lines: lines}}]
outputs: {shown: shown, listed: listed, lines: lines}
operations:
  show:
    command: [sh, show.sh, "{in.words}", "{in.files}", "{in.absent}", "x{in.absent}"]
    inputs: {words: list of text, files: {type: list of file, extension: txt}, absent: {type: text, optional: true}}
    env: {LIST: "{in.files.listfile}"}
    stdout: shown
    outputs: {shown: {type: file, path: shown}, listed: {type: file, path: files.list}}
    uses: [show.sh]
  count:
    shell: while read -r name; do test -f "$name" && echo "$name"; done < {in.files.listfile} | wc -l > {out.lines}
    inputs: {files: list of file}
    outputs: {lines: {type: int, path: lines}}
"#;

#[test]
fn a_list_becomes_several_arguments_or_a_file_of_names() {
    let place = Place::with_flow(LISTS);
    place.write("show.sh", SHOW);
    for name in ["b file.txt", "a.txt", "c.md"] {
        place.write(name, name);
    }
    let data = json!({"inputs": {"words": ["one word", "", "-2"], "files": ["b file.txt", "a.txt", "c.md"]}});
    place.write("data.json", &data.to_string());
    let report = place.run(&["--inputs", "data.json"], 0);
    let shown = report.texts("shown");
    let wanted = [
        "one word",
        "",
        "-2",
        "files/0.txt",
        "files/1.txt",
        "files/2.txt",
        "x",
    ];
    assert_eq!(
        arguments(&shown[0]),
        wanted,
        "an absent optional input alone gives no argument"
    );
    assert_eq!(
        report.texts("listed"),
        ["files/0.txt\nfiles/1.txt\nfiles/2.txt\n"]
    );
    assert_eq!(report.values("lines")[""], 3);

    place.write(
        "data.json",
        &json!({"inputs": {"words": [], "files": []}}).to_string(),
    );
    let report = place.run(&["--inputs", "data.json"], 0);
    assert_eq!(arguments(&report.texts("shown")[0]), ["x"]);
    assert_eq!(report.texts("listed"), [""]);
    assert_eq!(report.values("lines")[""], 0);
}

const STREAMS: &str = r#"
headwater: 1
workflow: streams
inputs: {file: file}
parameters: {greeting: {type: text, default: hello}}
stages:
  file:
    tasks: [{op: upper, in: {file: file}, out: {text: upper}}]
  streams:
    tasks: [{op: streams, params: {greeting: $greeting}, out: {out: out, err: err, seen: seen, threads: threads}}]
outputs: {upper: upper, out: out, err: err, seen: seen, threads: threads}
operations:
  upper:
    command: [tr, a-z, A-Z]
    inputs: {file: file}
    stdin: "{in.file}"
    stdout: sub/upper.txt
    outputs: {text: {type: file, path: sub/upper.txt}}
  streams:
    shell: |
      cat
      echo to stderr >&2
      echo "$GREETING, ${SECRET-nothing inherited}, ${HOME:+home}" > {out.seen}
      echo {threads} > {out.threads}
    params: {greeting: text}
    stdin: "first\n{param.greeting}"
    stdout: "{out.out}"
    stderr: "{out.err}"
    env: {GREETING: "{param.greeting}!"}
    resources: {cores: 2}
    outputs:
      out: {type: file, path: out.txt}
      err: {type: file, path: err.txt}
      seen: {type: text, path: seen}
      threads: {type: int, path: threads}
"#;

#[test]
fn streams_environment_and_threads() {
    let place = Place::with_flow(STREAMS);
    place.write("a.txt", "water\n");
    place.write("data.yaml", "inputs: {file: a.txt}\n");
    let run = |greeting: &str, secret: &str| {
        let set = format!("greeting={greeting}");
        let arguments = [
            "run",
            "flow.yaml",
            "--inputs",
            "data.yaml",
            "--json",
            "-j",
            "2",
            "--set",
            &set,
        ];
        let output = place
            .command(&arguments)
            .env("SECRET", secret)
            .output()
            .expect("it starts");
        Ran::from(output).ended(0).report()
    };
    let report = run("hi", "one").counts(2, 2, 0, 0);
    assert_eq!(report.texts("upper"), ["WATER\n"]);
    assert_eq!(report.texts("out"), ["first\nhi"]);
    assert_eq!(report.texts("err"), ["to stderr\n"]);
    assert_eq!(report.values("seen")[""], "hi!, nothing inherited, home");
    assert_eq!(report.values("threads")[""], 2);
    run("hi", "two").counts(2, 0, 2, 0);
    run("ho", "two").counts(2, 1, 1, 0);
}

/// `keep` stands for `keep_name: true` or nothing.
fn names(keep: &str) -> String {
    format!(
        r#"
headwater: 1
workflow: names
inputs: {{file: file}}
stages:
  each:
    tasks: [{{op: name, in: {{file: file}}, out: {{name: name}}}}]
  all:
    wait: all
    tasks: [{{op: names, in: {{files: file}}, out: {{names: names}}}}]
outputs: {{name: name, names: names}}
operations:
  name:
    shell: test -f {{in.file}} && echo {{in.file}} > {{out.name}}
    inputs: {{file: {{type: file, extension: dat{keep}}}}}
    outputs: {{name: {{type: text, path: name}}}}
  names:
    shell: cat {{in.files}} > /dev/null && echo {{in.files}} > {{out.names}}
    inputs: {{files: {{type: list of file, extension: dat{keep}}}}}
    outputs: {{names: {{type: text, path: names}}}}
"#
    )
}

#[test]
fn the_name_of_a_file_does_not_matter() {
    let place = Place::with_flow(&names(""));
    place.write("in/a b.txt", "same\n");
    place.write("in/c.txt", "other\n");
    place.write("data.yaml", "inputs: {file: in/*}\n");
    let report = place.run(&["--inputs", "data.yaml"], 0).counts(3, 3, 0, 0);
    let wanted = BTreeMap::from(["0", "1"].map(|index| (index.to_owned(), json!("file.dat"))));
    assert_eq!(report.values("name"), wanted);
    assert_eq!(report.values("names")[""], "files/0.dat files/1.dat");
    fs::rename(place.path("in/a b.txt"), place.path("in/b.png")).expect("a new name");
    place.run(&["--inputs", "data.yaml"], 0).counts(3, 0, 3, 0);
}

#[test]
fn a_kept_name_reaches_the_program_and_the_recipe() {
    let place = Place::with_flow(&names(", keep_name: true"));
    place.write("in/a b.txt", "same\n");
    place.write("in/c.txt", "other\n");
    place.write("data.yaml", "inputs: {file: in/*}\n");
    let report = place.run(&["--inputs", "data.yaml"], 0).counts(3, 3, 0, 0);
    let wanted = BTreeMap::from([
        ("0".to_owned(), json!("file/a b.txt")),
        ("1".to_owned(), json!("file/c.txt")),
    ]);
    assert_eq!(report.values("name"), wanted);
    assert_eq!(report.values("names")[""], "files/0/a b.txt files/1/c.txt");
    place.run(&["--inputs", "data.yaml"], 0).counts(3, 0, 3, 0);
    fs::rename(place.path("in/a b.txt"), place.path("in/b.png")).expect("a new name");
    let report = place.run(&["--inputs", "data.yaml"], 0).counts(3, 2, 1, 0);
    assert_eq!(report.values("name")["0"], "file/b.png");
    // The same name elsewhere is the same file.
    fs::create_dir(place.path("moved")).expect("a folder");
    fs::rename(place.path("in/b.png"), place.path("moved/b.png")).expect("a new place");
    place.write("data.yaml", "inputs: {file: [moved/b.png, in/c.txt]}\n");
    place.run(&["--inputs", "data.yaml"], 0).counts(3, 0, 3, 0);
}

#[test]
fn inputs_cannot_be_written_to_by_mistake() {
    let place = Place::with_flow(
        "headwater: 1\nworkflow: writer\ninputs: {file: file}\nstages:\n  one:\n    tasks:\n      \
         - {op: sort, in: {file: file}, out: {file: sorted}}\n      - {op: copy, in: {file: sorted}, out: {file: copied}}\n\
         outputs: {sorted: sorted, copied: copied}\noperations:\n  sort:\n    command: [sort, \"{in.file}\", -o, \"{out.file}\"]\n    \
         inputs: {file: file}\n    outputs: {file: {type: file, path: sorted}}\n  copy:\n    command: [cp, \"{in.file}\", \"{out.file}\"]\n    \
         inputs: {file: file}\n    outputs: {file: {type: file, path: copied}}\n",
    );
    place.write("a.txt", "b\na\n");
    place.write("data.yaml", "inputs: {file: a.txt}\n");
    let report = place.run(&["--inputs", "data.yaml"], 0).counts(2, 2, 0, 0);
    assert_eq!(place.read("a.txt"), "b\na\n");
    // Outputs are the user's own copies: writable, and writing to them does not reach the store.
    let sorted = &report.files("sorted")[""];
    assert_eq!(
        fs::metadata(sorted)
            .expect("an output")
            .permissions()
            .mode()
            & 0o200,
        0o200
    );
    fs::write(sorted, "changed").expect("an output can be written to");
    let again = place.run(&["--inputs", "data.yaml"], 0).counts(2, 0, 2, 0);
    assert_eq!(again.texts("sorted"), ["a\nb\n"]);
    assert_eq!(again.texts("copied"), ["a\nb\n"]);
}

/// Files may have any name, and so may folders of results.
#[test]
fn arguments_may_be_any_bytes() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::with_flow(
        "
headwater: 1
workflow: one
stages:
  only:
    tasks: [{op: make, out: {o: o}}]
outputs: {o: o}
operations:
  make:
    shell: echo 1 > {out.o}
    outputs: {o: {type: file, path: o}}
",
    );
    let strange = |text: &[u8]| std::ffi::OsStr::from_bytes(text).to_owned();
    let mut command = place.command(&["run", "flow.yaml", "-o"]);
    let ran = command
        .arg(strange(b"out\xff"))
        .output()
        .expect("it starts");
    Ran::from(ran).ended(0);
    for verb in [&["run"][..], &["study", "run"]] {
        let mut command = place.command(verb);
        let ran = command
            .arg(strange(b"none\xff.yaml"))
            .output()
            .expect("it starts");
        Ran::from(ran).ended(2);
    }
}

//! What files, values and stores of others cannot do: reach a file outside, become a command or a second argument,
//! act on the terminal, hang the run, or eat the memory of the machine.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use crate::place::{Place, Report, read};

/// One stage with one operation, whose fields are given; its input is the file `mine.txt`.
fn one_operation(fields: &str) -> Place {
    let place = Place::with_flow(&format!(
        "headwater: 1\nworkflow: one\ninputs: {{mine: file}}\nstages:\n  only:\n    tasks: [{{op: work, in: {{mine: \
         mine}}, out: {{made: made}}}}]\noutputs: {{made: made}}\noperations:\n  work:\n{fields}"
    ));
    place.write("mine.txt", "mine\n");
    place.write("data.yaml", "inputs: {mine: mine.txt}\n");
    place
}

/// What the only task failed with; the user's file is as it was.
#[track_caller]
fn failure_of(place: &Place) -> String {
    let report = place.run(&["--inputs", "data.yaml"], 1);
    assert_eq!(place.read("mine.txt"), "mine\n", "the user's file");
    message(&report)
}

#[track_caller]
fn message(report: &Report) -> String {
    let failures = report.failures();
    let failure = failures.values().next().expect("a failure");
    failure["message"].as_str().expect("a message").to_owned()
}

/// A script that leaves something at `made`, which is wanted as a folder.
#[track_caller]
fn folder_of(script: &str) -> (Place, String) {
    let place = one_operation(&format!(
        "    shell: \"{script}\"\n    inputs: {{mine: file}}\n    outputs: {{made: {{type: directory, path: made}}}}\n"
    ));
    place.write("secret", "secret\n");
    let message = failure_of(&place);
    (place, message)
}

#[test]
fn a_link_to_a_folder_gives_no_more_than_the_folder_would() {
    for (script, expected) in [
        (
            "mkdir sub; ln -s /etc/passwd sub/a; ln -s sub made",
            "`a`, which is a link",
        ),
        // Two of these would be followed 2^40 times.
        (
            "mkdir sub; ln -s . sub/a; ln -s . sub/b; ln -s sub made",
            "which is a link",
        ),
        (
            "mkdir sub; mkfifo sub/p; ln -s sub made",
            "`p`, which is neither a file nor a folder",
        ),
        (
            "mkdir made; ln -s /etc/passwd made/a",
            "`a`, which is a link",
        ),
        (
            "mkdir -p made/sub; mkfifo made/sub/p",
            "`sub/p`, which is neither a file nor a folder",
        ),
        ("ln -s /etc made", "leads out of the work folder"),
        ("ln -s made made", "cannot follow"),
        ("echo > made", "is not a folder"),
    ] {
        let (_, message) = folder_of(script);
        assert!(message.contains(expected), "{script}: {message}");
    }
}

/// A list file, standard input and standard output are files that Headwater makes in the folder of the task, where
/// inputs and scripts are links.
#[test]
fn nothing_that_is_made_for_a_program_goes_through_a_link_to_a_file() {
    let outputs = "    outputs: {made: {type: file, path: other.txt}}\n";
    let echo =
        "    command: [echo, \"{in.mine}\"]\n    inputs: {mine: {type: file, extension: txt}}\n";
    for name in ["mine.txt", "./mine.txt", ".//mine.txt"] {
        let place = one_operation(&format!(
            "{echo}    stdout: \"{{param.to}}\"\n    params: {{to: {{type: text, default: {name}}}}}\n{outputs}"
        ));
        assert!(
            failure_of(&place).contains("would overwrite the input"),
            "{name}"
        );
        let place = one_operation(&format!(
            "    shell: echo new > {{out.made}}\n    inputs: {{mine: {{type: file, extension: txt}}}}\n    params: {{to: {{type: text, default: {name}}}}}\n    outputs: {{made: {{type: file, path: \"{{param.to}}\"}}}}\n"
        ));
        assert!(
            failure_of(&place).contains("would overwrite the input"),
            "{name}"
        );
    }
    let uses = "    uses: [tool.sh]\n    params: {to: {type: text, default: tool.sh}}\n";
    let place = one_operation(&format!(
        "{echo}{uses}    stdout: \"{{param.to}}\"\n{outputs}"
    ));
    place.write("tool.sh", "tool\n");
    assert!(failure_of(&place).contains("would overwrite `tool.sh`, which the operation uses"));
    let place = one_operation(&format!(
        "{echo}{uses}    outputs: {{made: {{type: file, path: \"./{{param.to}}\"}}}}\n"
    ));
    place.write("tool.sh", "tool\n");
    assert!(failure_of(&place).contains("would overwrite `./tool.sh`, which the operation uses"));
    assert_eq!(place.read("tool.sh"), "tool\n");
    let place = one_operation(&format!(
        "    command: [cat]\n    inputs: {{mine: file}}\n    stdin: text\n    uses: [.stdin]\n{outputs}"
    ));
    place.write(".stdin", "mine too\n");
    assert!(failure_of(&place).contains("is called `.stdin`"));
    assert_eq!(place.read(".stdin"), "mine too\n");
}

#[test]
fn a_list_file_does_not_go_over_an_input_of_its_name() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: lists
inputs: {several: list of file, one: file}
stages:
  only: [{op: work, in: {x: several, x.list: one}, out: {made: made}}]
operations:
  work:
    shell: cat {in.x.listfile} {in.x.list} > {out.made}
    inputs: {x: list of file, x.list: file}
    outputs: {made: {type: file, path: made.txt}}
"#,
    );
    place.write("mine.txt", "mine\n");
    place.write(
        "data.yaml",
        "inputs: {several: [[mine.txt]], one: mine.txt}\n",
    );
    assert!(failure_of(&place).contains("is called `x.list`"));
}

/// The folder of a failed task may hold anything where the program's words are looked for.
#[test]
fn what_a_failing_program_puts_in_the_place_of_its_words_is_not_read_or_written_through() {
    let place = one_operation(
        "    shell: rm -f said; mkfifo said; ln -s \"$TMPDIR/target\" .again.sh; exit 3\n    inputs: {mine: file}\n    \
         stderr: said\n    outputs: {made: {type: file, path: made.txt}}\n",
    );
    fs::write(place.side().join("target"), "target\n").expect("a file");
    assert_eq!(failure_of(&place), "ended with exit code 3");
    assert_eq!(place.told("target"), ["target"]);
}

/// Values that mean something to shells, to templates, to options and to terminals.
const VALUES: [&str; 12] = [
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    "\"; touch pwned; \"",
    "a\nb",
    "{in.mine} {param.value} {{threads}}",
    "-rf",
    "--help",
    "*",
    "\\n\\",
    "\u{1b}[2J\u{7}",
    "=cmd|' /C calc'!A0",
];

#[test]
fn a_value_is_one_argument_to_programs_and_shells_and_when_a_task_is_run_again() {
    let place = one_operation(
        r#"    shell: |
      printf '%s' {param.value} > said
      printf '%s' "$VALUE" > variable
      cat > input
      test -e "$TMPDIR/luck"
      cat said variable input > {out.made}
    inputs: {mine: file}
    params: {value: text}
    env: {VALUE: "{param.value}"}
    stdin: "{param.value}"
    outputs: {made: {type: text, path: made.txt}}
"#,
    );
    let flow = place.read("flow.yaml").replace(
        "in: {mine: mine}",
        "in: {mine: mine}, params: {value: $value}",
    );
    let flow = flow.replace("stages:\n", "parameters: {value: text}\nstages:\n");
    place.write("flow.yaml", &flow);
    for value in VALUES {
        let set = format!("value={value}");
        let report = place.run(&["--inputs", "data.yaml", "--set", &set], 1);
        let failures = report.failures();
        let failure = failures.values().next().expect("a failure");
        let folder = failure["folder"].as_str().expect("a folder");
        let folder = Path::new(folder);
        for name in ["said", "variable", "input"] {
            assert_eq!(read(&folder.join(name)), value, "{name}");
            fs::remove_file(folder.join(name)).expect("removed");
        }
        fs::write(place.side().join("luck"), "").expect("luck");
        let again = Command::new("sh").arg(folder.join(".again.sh")).output();
        let again = again.expect("sh can be started");
        assert!(again.status.success(), "{value:?}: {again:?}");
        assert_eq!(read(&folder.join("made.txt")), value.repeat(3));
        assert!(!folder.join("pwned").exists() && !place.path("pwned").exists());
        fs::remove_file(place.side().join("luck")).expect("removed");
    }
}

/// What a value, a name or a program says does not act on the terminal.
#[test]
fn terminals_are_shown_escapes_and_not_given_them() {
    let place = one_operation(
        "    shell: printf '\\033[2Jsaid\\007' >&2; exit 1\n    inputs: {mine: {type: file, keep_name: true}}\n    \
         params: {value: {type: text, default: \"\\e]0;owned\\a\"}}\n    env: {VALUE: \"{param.value}\"}\n    outputs: \
         {made: {type: file, path: \"made\\e[31m.txt\"}}\n",
    );
    let name = "mine\u{1b}[2J.txt";
    place.write(name, "mine\n");
    place.write("data.csv", &format!("mine\n\"{name}\"\n"));
    let quiet = |arguments: &[&str]| {
        let ran = place.headwater(arguments);
        for (stream, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
            assert!(
                !text.contains(['\u{1b}', '\u{7}']),
                "{arguments:?}, {stream}: {text:?}"
            );
        }
        ran
    };
    quiet(&["check", "flow.yaml"]);
    quiet(&["run", "flow.yaml", "--inputs", "data.csv"]).ended(1);
    quiet(&["runs", "show", "last"]);
    quiet(&["explain", "last", "only.work[0]"]);
    quiet(&["explain", "last", "\u{1b}[2J"]);
    quiet(&["runs", "show", "\u{1b}[2J"]);
    quiet(&["run", "\u{1b}[2J.yaml"]).ended(2);
    quiet(&["run", "flow.yaml", "--inputs", "\u{1b}[2J.csv"]).ended(2);
    quiet(&[
        "run",
        "flow.yaml",
        "--inputs",
        "data.csv",
        "--set",
        "\u{1b}=1",
    ])
    .ended(2);
    quiet(&[
        "run",
        "flow.yaml",
        "--inputs",
        "data.csv",
        "--store",
        "mine\u{1b}[2J.txt",
    ])
    .ended(2);
    quiet(&["dag", "flow.yaml"]);
    place.write(
        "bad.yaml",
        "headwater: 1\nworkflow: \"\u{1b}[2J\"\nx\u{7}: 1\n",
    );
    quiet(&["check", "bad.yaml"]).ended(2);
}

/// Runs are rows of a table: what is no name of one is found nowhere.
#[test]
fn the_name_of_a_run_is_no_path() {
    let place = one_operation(
        "    shell: cp {in.mine} {out.made}\n    inputs: {mine: file}\n    outputs: {made: {type: file, path: made.txt}}\n",
    );
    place.run(&["--inputs", "data.yaml"], 0);
    for name in ["../../x", "/etc/passwd", "%", "_", "' OR 1=1 --"] {
        place.headwater(&["runs", "show", name]).ended(2);
        place.headwater(&["explain", "last", name]).ended(2);
    }
}

/// Names that file systems allow and others choke on.
#[test]
fn files_of_any_name_are_read_and_given() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: names
inputs: {text: file}
stages:
  only: [{op: show, in: {text: text}, out: {made: made, all: all}}]
operations:
  show:
    shell: |
      cat {in.text} > {out.made}
      mkdir all; echo 1 > 'all/a\b'; echo 2 > all/-rf; echo 3 > "all/$(printf 'n\nl')"
    inputs: {text: {type: file, keep_name: true}}
    outputs: {made: {type: file, path: made.txt}, all: {type: directory, path: all}}
"#,
    );
    let names = [
        "-rf",
        "a\nb",
        "it's",
        "$(touch pwned)",
        "a\\b",
        "é",
        "{in.text}",
        "a;b",
    ];
    let mut rows = String::from("text\n");
    for name in names {
        place.write(&format!("files/{name}"), &format!("{name}\n"));
        rows.push_str(&format!("\"files/{name}\"\n"));
    }
    place.write("data.csv", &rows);
    let report = place.run(&["--inputs", "data.csv"], 0);
    let expected: Vec<String> = names.iter().map(|name| format!("{name}\n")).collect();
    assert_eq!(report.texts("made"), expected);
    assert!(!place.path("pwned").exists());
    for all in report.files("all").values() {
        for (name, text) in [("a\\b", "1\n"), ("-rf", "2\n"), ("n\nl", "3\n")] {
            assert_eq!(read(&all.join(name)), text);
        }
    }
    place.run(&["--inputs", "data.csv"], 0).counts(8, 0, 8, 0);

    // A name that cannot be written down is said, not passed over.
    let strange = place
        .path("files")
        .join(std::ffi::OsStr::from_bytes(b"\xff"));
    fs::write(strange, "").expect("a file");
    place.write("data.yaml", "inputs: {text: files/*}\n");
    let arguments = ["run", "flow.yaml", "--inputs", "data.yaml"];
    place.headwater(&arguments).ended(2).says(&["not UTF-8"]);
}

/// What would have to be endless, deep or huge is refused in a moment.
#[test]
fn files_that_would_eat_the_machine_are_refused() {
    let place = one_operation(
        "    shell: cp {in.mine} {out.made}\n    inputs: {mine: file}\n    outputs: {made: {type: file, path: made.txt}}\n",
    );
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..20 {
        let before = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    let mappings = "{a: ".repeat(100_000) + &"}".repeat(100_000);
    for text in [
        &bomb,
        &format!("inputs: {{mine: {deep}}}\n"),
        &format!("inputs: {mappings}\n"),
        &deep,
    ] {
        place.write("data.yaml", text);
        place.write("other.yaml", text);
        for arguments in [
            &["run", "flow.yaml", "--inputs", "data.yaml"][..],
            &["check", "other.yaml"],
            &["study", "plan", "other.yaml"],
        ] {
            let ran = place.headwater(arguments).ended(2);
            assert!(
                ran.stderr.len() < 20_000,
                "{} bytes of talk",
                ran.stderr.len()
            );
        }
    }
}

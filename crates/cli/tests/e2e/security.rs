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
    assert!(failure_of(&place).contains("writes a file `.stdin` for the program"));
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
    assert!(failure_of(&place).contains("writes a file `x.list` for the program"));
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

/// A workflow that reads a file, and what belongs to it.
fn reader() -> Place {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: reader
inputs: {mine: file}
parameters: {p: {type: float, range: [0.0, 1.0], default: 0.5}}
stages:
  only:
    tasks: [{op: size, in: {mine: mine}, params: {p: $p}, out: {y: y}}]
outputs: {y: y}
operations:
  size:
    shell: echo {param.p} > {out.y}
    inputs: {mine: file}
    params: {p: float}
    outputs: {y: {type: float, path: y}}
"#,
    );
    place.write("mine.txt", "mine\n");
    place.write("data.yaml", "inputs: {mine: mine.txt}\n");
    place
}

/// As much memory as it may have, so that a test that fails does not take that of the machine.
fn within(place: &Place, arguments: &[&str]) -> crate::place::Ran {
    let command = place.command(arguments);
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .collect();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -v 4000000; exec \"$@\"", "sh"])
        .args(words);
    shell
        .current_dir(place.root())
        .stdin(std::process::Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    crate::place::Ran::from(shell.output().expect("it can be started"))
}

#[test]
fn a_file_without_an_end_is_refused_with_the_limit() {
    let place = reader();
    let study = "headwater: 1\nstudy: s\nworkflow: flow.yaml\ninputs: {mine: mine.txt}\nparameters: {p: }\nobjective: y\n";
    let large = fs::File::create(place.path("large.parquet")).expect("a file");
    large.set_len(1 << 40).expect("a file with nothing in it");
    place.write(
        "large.yaml",
        &format!("{study}method: {{table: large.parquet}}\n"),
    );
    std::os::unix::fs::symlink("/dev/zero", place.path("endless.csv")).expect("a link");
    for command in [
        &["run", "flow.yaml", "--inputs", "/dev/zero"][..],
        &["run", "flow.yaml", "--inputs", "endless.csv"],
        &["run", "/dev/zero"],
        &["check", "/dev/zero"],
        &["check", "large.parquet"],
        &["dag", "/dev/zero"],
        &["study", "plan", "/dev/zero"],
        &["study", "plan", "large.yaml"],
    ] {
        within(&place, command)
            .ended(2)
            .says(&["has more than 256 MiB, the most that a file of this kind may have"]);
    }
    // What a shell writes on the fly is a file like others.
    through_pipes(
        &place,
        &[("data.yaml", "pipe")],
        "run flow.yaml --inputs pipe -o out",
    );
}

/// Runs a command well that reads these files through these pipes.
fn through_pipes(place: &Place, pipes: &[(&str, &str)], command: &str) {
    let program = env!("CARGO_BIN_EXE_headwater");
    let feed = pipes
        .iter()
        .map(|(file, pipe)| format!("mkfifo {pipe}; cat {file} > {pipe} & "))
        .collect::<String>();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{feed}'{program}' {command}")])
        .current_dir(place.root())
        .env("TMPDIR", place.side());
    crate::place::Ran::from(shell.output().expect("a shell")).ended(0);
}

/// A pipe can be read once, and what it gave is needed more than once.
#[test]
fn a_study_reads_its_table_and_its_data_from_pipes() {
    let place = reader();
    place.write("sets.csv", "p\n0.25\n0.5\n");
    let study = "headwater: 1\nstudy: s\nworkflow: flow.yaml\ndata: data\nobjective: y\nmethod: {table: sets}\n";
    place.write("study.yaml", study);
    through_pipes(
        &place,
        &[("data.yaml", "data"), ("sets.csv", "sets")],
        "study run study.yaml -o out",
    );
    assert!(place.read("out/samples.csv").contains("0.25"));
}

#[test]
fn a_pipe_that_nobody_writes_to_is_refused() {
    let place = reader();
    let mkfifo = Command::new("mkfifo").arg(place.path("pipe")).status();
    assert!(mkfifo.expect("mkfifo").success());
    let study = "headwater: 1\nstudy: s\nworkflow: flow.yaml\nparameters: {p: }\nobjective: y\nmethod: {moat: {trajectories: 4}}\n";
    place.write("data.study.yaml", &format!("{study}data: pipe\n"));
    place.write(
        "flow.study.yaml",
        &study
            .replace("flow.yaml", "pipe")
            .replace("parameters", "inputs: {mine: mine.txt}\nparameters"),
    );
    let commands = [
        &["check", "pipe"][..],
        &["run", "flow.yaml", "--inputs", "pipe"],
        &["study", "plan", "pipe"],
        &["study", "plan", "data.study.yaml"],
        &["check", "flow.study.yaml"],
    ];
    // Each of them has patience; they may have it at once.
    let started: Vec<_> = commands
        .iter()
        .map(|command| place.start(command))
        .collect();
    for child in started {
        let output = child.wait_with_output().expect("it can be waited for");
        let refused = crate::place::Ran::from(output).ended(2);
        refused.says(&["pipe` is a pipe that nobody writes to"]);
    }
}

#[test]
fn data_that_are_no_files_are_refused_where_they_stand() {
    let place = reader();
    let mkfifo = Command::new("mkfifo").arg(place.path("pipe")).status();
    assert!(mkfifo.expect("mkfifo").success());
    for identity in ["content", "name"] {
        let flow = place.read("flow.yaml").replace(
            "inputs: {mine: file}\nparameters",
            &format!("inputs: {{mine: {{type: file, identity: {identity}}}}}\nparameters"),
        );
        place.write("other.yaml", &flow);
        for path in ["/dev/zero", "pipe", "/dev/null"] {
            place.write("odd.yaml", &format!("inputs: {{mine: {path}}}\n"));
            place.write("odd.csv", &format!("mine\n{path}\n"));
            for (data, line) in [("odd.yaml", "odd.yaml:1:"), ("odd.csv", "odd.csv:2:")] {
                within(&place, &["run", "other.yaml", "--inputs", data])
                    .ended(2)
                    .says(&["this is not a regular file", line]);
            }
        }
    }
    for path in ["/dev/zero", "pipe"] {
        within(&place, &["imaging", "segment", path, "-o", "mask.png"])
            .ended(2)
            .says(&["is not a regular file"]);
    }
}

#[test]
fn a_design_that_no_memory_holds_is_refused_with_the_limit() {
    let place = reader();
    let study = "headwater: 1\nstudy: s\nworkflow: flow.yaml\ninputs: {mine: mine.txt}\nparameters: {p: }\nobjective: y\n";
    for method in [
        "moat: {trajectories: 134217728}",
        "moat: {trajectories: 134217727, design: radial}",
        "moat: {trajectories: 4294967295, design: spread}",
        "moat: {trajectories: 2097153, levels: 1000000}",
        "vbd: {samples: 89478485}",
        "vbd: {samples: 67108864, second-order: true, sampler: halton}",
        "vbd: {samples: 4294967295, sampler: sobol}",
        "two-phase: {screen: {moat: {trajectories: 134217728}}, keep: 1, then: {vbd: {samples: 8}}}",
        "two-phase: {screen: {moat: {trajectories: 4}}, keep: 1, then: {vbd: {samples: 89478485}}}",
    ] {
        place.write("study.yaml", &format!("{study}method: {{{method}}}\n"));
        for command in [
            ["study", "plan", "study.yaml"],
            ["study", "run", "study.yaml"],
        ] {
            within(&place, &command).ended(2).says(&[
                "a design has at most 4194304 sets and 67108864 values",
                "study.yaml:7:",
            ]);
        }
    }
    place.write(
        "study.yaml",
        &format!("{study}method: {{moat: {{trajectories: 4}}}}\n"),
    );
    within(
        &place,
        &[
            "study",
            "plan",
            "study.yaml",
            "--set",
            "method.moat.trajectories=134217728",
        ],
    )
    .ended(2)
    .says(&["a design has at most 4194304 sets", "--set:1:26"]);
}

/// What a program mounts in its folder and forgets there is not removed with the folder.
#[test]
fn what_a_program_has_mounted_stays() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: mounts
inputs: {folder: text}
stages:
  mount:
    tasks: [{op: mount, in: {folder: folder}, out: {file: file}}]
outputs: {file: file}
operations:
  mount:
    shell: mkdir -p deep/er && mount --bind {in.folder} deep/er && echo done > {out.file}
    inputs: {folder: text}
    outputs: {file: {type: file, path: made}}
"#,
    );
    let kept = place.write("somebody/file", "a file of somebody");
    let folder = place.path("somebody");
    let tried = Command::new("mount")
        .args(["--bind"])
        .args([&folder, &folder])
        .output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        eprintln!("skipped: nothing can be mounted here");
        return;
    }
    let unmount = |path: &Path| {
        let _ = Command::new("umount").arg("-l").arg(path).output();
    };
    unmount(&folder);
    place.write("data.yaml", &format!("inputs: {{folder: {folder:?}}}\n"));
    place.run(&["--inputs", "data.yaml"], 0).counts(1, 1, 0, 0);
    // Once more, so that what earlier runs have left is tidied up.
    place.write(
        "data.yaml",
        &format!("inputs: {{folder: {folder:?}}}\nparameters: {{}}\n"),
    );
    place.run(&["--inputs", "data.yaml"], 0);
    // Below an output folder it fails the task, and nothing of it is touched.
    let below = place
        .read("flow.yaml")
        .replace("{type: file, path: made}", "{type: directory, path: deep}")
        .replace("> {out.file}", "> deep/x");
    place.write("below.yaml", &below);
    let ran = place.headwater(&[
        "run",
        "below.yaml",
        "--inputs",
        "data.yaml",
        "--disk",
        "1MB",
    ]);
    ran.ended(1)
        .says(&["something is mounted in the output folder"]);
    place.run(&["--inputs", "data.yaml"], 0);
    let is_kept = kept.is_file();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    for line in mounts.lines().filter(|line| line.contains("deep/er")) {
        let path = line
            .split(' ')
            .nth(4)
            .unwrap_or_default()
            .replace("\\040", " ");
        unmount(Path::new(&path));
    }
    assert!(is_kept, "the file of somebody is gone");
}

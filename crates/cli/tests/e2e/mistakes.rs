//! Mistakes of people are told with their place, all at once, and never end in a panic.

use std::fs;

use crate::place::Place;

/// Seven mistakes of seven kinds.
const MISTAKES: &str = r#"headwater: 1
workflow: mistakes
inputs:
  text: fil
parameters:
  size: {type: int, default: many}
stages:
  first:
    tasks:
      - {op: cont, in: {text: text}, out: {number: number}}
  second:
    wait: al
    tasks:
      - {op: sum, in: {numbers: numbr}, params: {by: $sise}, out: {total: total}}
outputs: {total: total}
operations:
  count:
    command: [wc, -l, "{in.txt}"]
    inputs: {text: file}
    stdout: number
    outputs: {number: {type: int, path: number}}
  sum:
    command: [cat, "{in.numbers.listfile}"]
    inputs: {numbers: list of int}
    params: {by: int}
    stdout: total
    outputs: {total: {type: int, path: total}}
"#;

#[test]
fn all_mistakes_of_a_file_are_told_at_once() {
    let place = Place::with_flow(MISTAKES);
    let told = [
        ("4:9", "there is no type `fil`", "did you mean `file`?"),
        ("6:30", "its default `many` is a text", ""),
        (
            "10:14",
            "there is no operation `cont`",
            "did you mean `count`?",
        ),
        ("12:11", "expected `all`, found `al`", "did you mean `all`?"),
        (
            "14:33",
            "nothing makes data called `numbr`",
            "did you mean `number`?",
        ),
        (
            "14:54",
            "there is no workflow parameter `sise`",
            "did you mean `size`?",
        ),
        (
            "18:24",
            "this operation has no input `txt`",
            "did you mean `{in.text}`?",
        ),
    ];
    for command in [
        &["run", "flow.yaml"][..],
        &["run", "flow.yaml", "--dry-run"],
        &["check", "flow.yaml"],
    ] {
        let ran = place
            .headwater(command)
            .ended(2)
            .says(&["7 mistakes in flow.yaml"]);
        for (at, message, hint) in told {
            let at = format!("flow.yaml:{at}\n");
            let block = ran.stderr.split("\n\n").find(|block| block.contains(&at));
            let block = block.unwrap_or_else(|| panic!("no `{at}` in\n{}", ran.stderr));
            assert!(
                block.contains(message) && block.contains(hint),
                "`{block}` should say `{message}` and `{hint}`"
            );
        }
        // The offending line is shown, with a mark below.
        ran.says(&["4 |   text: fil\n  |         ^^^\n"]);
    }
    assert!(!place.path(".headwater").exists(), "nothing was written");
}

#[test]
fn check_is_for_machines_too() {
    let place = Place::with_flow(MISTAKES);
    let report = place
        .headwater(&["check", "flow.yaml", "--json"])
        .ended(2)
        .report();
    assert_eq!(report.number("errors"), 7);
    let first = &report.0["diagnostics"][0];
    assert_eq!((&first["line"], &first["column"]), (&4.into(), &9.into()));
    place.write("flow.yaml", GOOD);
    let ran = place.headwater(&["check", "flow.yaml"]).ended(0);
    assert_eq!(
        ran.stdout,
        "flow.yaml: workflow `good`: 2 inputs, 2 parameters, 1 stage, 1 task\n"
    );
}

const GOOD: &str = r#"
headwater: 1
workflow: good
inputs: {text: file, number: int}
parameters:
  size: {type: int, range: [1, 9], default: 3}
  mode: {type: choice, values: [fast, exact], default: fast}
stages:
  first:
    tasks:
      - {op: show, in: {text: text, number: number}, params: {size: $size, mode: $mode}, out: {shown: shown}}
outputs: {shown: shown}
operations:
  show:
    command: [echo, "{in.number}", "{param.size}", "{param.mode}"]
    inputs: {text: file, number: int}
    params: {size: int, mode: text}
    stdout: shown
    outputs: {shown: {type: text, path: shown}}
"#;

fn good() -> Place {
    let place = Place::with_flow(GOOD);
    place.write("a.txt", "some text\n");
    place.write("data.yaml", "inputs: {text: a.txt, number: 1}\n");
    place
}

#[test]
fn mistakes_in_data_files_have_their_place() {
    let place = good();
    let cases: [(&str, &str, &[&str]); 11] = [
        (
            "d.yaml",
            "inputs:\n  text: missing.txt\n  number: 1\n",
            &["d.yaml:2:9", "missing.txt`: there is no such file"],
        ),
        (
            "d.yaml",
            "inputs: {text: a.txt, number: 1, numbr: 2}\n",
            &["d.yaml:1:34", "no input `numbr`", "`number`?"],
        ),
        (
            "d.yaml",
            "inputs:\n  number: many\n  text: a.txt\n",
            &["d.yaml:2:11", "expected int, found `many`"],
        ),
        (
            "d.yaml",
            "inputs: {text: '*.png', number: 1}\n",
            &["d.yaml:1:16", "no file matches `*.png`"],
        ),
        (
            "d.yaml",
            "inputs: {text: ., number: 1}\n",
            &["d.yaml:1:16", "a folder, not a file"],
        ),
        (
            "d.yaml",
            "inputs: {text: a.txt, number: 1}\nparameters: {sise: 3}\n",
            &["d.yaml:2:", "`sise`", "`size`?"],
        ),
        (
            "d.yaml",
            "inputs: {text: a.txt, number: [1\n",
            &["d.yaml:1:", "never closed"],
        ),
        (
            "d.yaml",
            "inputs: {text: a.txt}\n",
            &["input `number` is not given"],
        ),
        (
            "d.csv",
            "text,number\na.txt,1\nb.txt,2\n",
            &["d.csv:3:1", "b.txt`: there is no such file"],
        ),
        (
            "d.csv",
            "text,number\na.txt,1\na.txt,two\n",
            &["d.csv:3:7", "expected int, found `two`"],
        ),
        (
            "d.csv",
            "text,number\na.txt,1\na.txt,\n",
            &["d.csv:", "`number` is required"],
        ),
    ];
    for (name, text, told) in cases {
        place.write(name, text);
        place
            .headwater(&["run", "flow.yaml", "--inputs", name])
            .ended(2)
            .says(told);
    }
    assert!(!place.path("outputs").exists(), "nothing was run");
}

#[test]
fn several_mistakes_in_data_are_told_at_once() {
    let place = good();
    place.write("d.csv", "text,number,colour\nb.txt,1,red\na.txt,two,blue\n");
    place
        .headwater(&["run", "flow.yaml", "--inputs", "d.csv"])
        .ended(2)
        .says(&[
            "column `colour` is no input of the workflow",
            "d.csv:2:1",
            "d.csv:3:7",
            "2 mistakes in d.csv",
        ]);
}

#[test]
fn wrong_use_is_told_with_a_way_out() {
    let place = good();
    place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml"])
        .ended(0);
    place.write("bytes.yaml", "");
    fs::write(place.path("bytes.yaml"), [0xff, 0xfe, 0x00]).expect("a file");
    let run =
        |more: &[&'static str]| [&["run", "flow.yaml", "--inputs", "data.yaml"], more].concat();
    let cases: [(Vec<&str>, &[&str]); 21] = [
        (
            run(&["--set", "sise=2"]),
            &["--set sise=2", "no workflow parameter `sise`", "`size`?"],
        ),
        (run(&["--set", "size"]), &["NAME=VALUE"]),
        (
            run(&["--set", "size=many"]),
            &["`size` is an int, and `many` is not"],
        ),
        (
            run(&["--set", "mode=slow"]),
            &["`slow` is not among the values", "`fast` and `exact`"],
        ),
        (
            run(&["--memory", "2bananas"]),
            &["--memory", "`bananas` is not a unit", "GiB"],
        ),
        (run(&["--memory", "lots"]), &["--memory"]),
        (run(&["-j", "0"]), &["0 is not in 1..=4096"]),
        (run(&["--resource", "gpu"]), &["--resource", "NAME=N"]),
        (run(&["--no-such-flag"]), &["--no-such-flag"]),
        (run(&["--store", "a.txt"]), &["a.txt` is a file", "help:"]),
        (
            run(&["--store", "ftp://somewhere"]),
            &["stores of kind `ftp` are not known"],
        ),
        (
            vec!["run", "missing.yaml"],
            &["there is no file `missing.yaml`"],
        ),
        (vec!["run", "."], &["`.` is a folder, not a file"]),
        (vec!["run", "bytes.yaml"], &["bytes.yaml", "UTF-8"]),
        (
            vec!["run", "flow.yaml", "--inputs", "missing.yaml"],
            &["there is no file `missing.yaml`"],
        ),
        (
            vec!["run", "flow.yaml", "--inputs", "."],
            &["`.` is a folder, not a file"],
        ),
        (
            vec!["run", "flow.yaml", "--inputs", "bytes.yaml"],
            &["bytes.yaml", "UTF-8"],
        ),
        (
            vec!["check", "missing.yaml"],
            &["there is no file `missing.yaml`"],
        ),
        (
            vec!["runs", "show", "1999"],
            &["there is no run `1999`", "`headwater runs ls` lists them"],
        ),
        (vec!["schema", "poem"], &["poem", "workflow"]),
        (vec![], &["Usage"]),
    ];
    for (arguments, told) in cases {
        let ran = place.headwater(&arguments);
        assert_eq!(ran.stdout, "", "{arguments:?}");
        ran.ended(2).says(told);
    }
}

#[test]
fn what_the_machine_lacks_is_told_before_anything_runs() {
    let place = good();
    let flow = GOOD.replace(
        "    stdout: shown\n",
        "    stdout: shown\n    resources: {cores: 3, memory: 1GiB, gpu: 2}\n",
    );
    place.write("flow.yaml", &flow);
    let run = |more: &[&'static str]| {
        place.headwater(&[&["run", "flow.yaml", "--inputs", "data.yaml"], more].concat())
    };
    run(&["-j", "2"])
        .ended(2)
        .says(&["operation `show` asks for 3 of `cores`"]);
    run(&["-j", "3"])
        .ended(2)
        .says(&["operation `show` asks for 2 of `gpu`"]);
    run(&["-j", "3", "--resource", "gpu=2", "--memory", "1MiB"])
        .ended(2)
        .says(&["operation `show`", "memory"]);
    assert!(!place.path("outputs").exists(), "nothing was run");
    run(&["-j", "3", "--resource", "gpu=2"]).ended(0);
}

#[test]
fn a_word_for_protection_that_means_nothing_is_refused() {
    let place = good();
    place.write(
        "study.yaml",
        "headwater: 1\nstudy: s\nworkflow: flow.yaml\n",
    );
    let ran = |word: &str, arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("HEADWATER_PROTECT", word);
        crate::place::Ran::from(command.output().expect("headwater can be started"))
    };
    let run = ["run", "flow.yaml", "--inputs", "data.yaml"];
    for arguments in [&run[..], &["study", "run", "study.yaml"]] {
        let refused = ran("mounts", arguments).ended(2);
        refused.says(&[
            "`HEADWATER_PROTECT` is `mounts`",
            "`mount`, `copy`, `check`",
        ]);
    }
    assert!(!place.path(".headwater").exists(), "nothing was run");
    for word in ["", "mount", "copy", "check"] {
        ran(word, &run).ended(0);
    }
}

#[test]
fn an_output_folder_with_something_in_it_is_left_alone() {
    let place = good();
    place.write("mine/letter.txt", "dear reader");
    let run = |folder: &str| {
        place.headwater(&["run", "flow.yaml", "--inputs", "data.yaml", "-o", folder])
    };
    run("mine").ended(2).says(&["mine` is not empty", "-o"]);
    assert_eq!(place.read("mine/letter.txt"), "dear reader");
    assert_eq!(
        fs::read_dir(place.path("mine")).expect("a folder").count(),
        1
    );
    fs::create_dir(place.path("empty")).expect("a folder");
    run("empty").ended(0);
    assert!(place.path("empty/outputs.csv").is_file());
    assert!(
        !place.path("outputs").exists(),
        "-o replaces the usual place"
    );
    run("empty").ended(2).says(&["is not empty"]);
}

#[test]
fn runs_without_a_store_are_told_plainly() {
    let place = good();
    place
        .headwater(&["runs", "ls"])
        .ended(0)
        .says(&["no runs yet"]);
    place
        .headwater(&["runs", "show"])
        .ended(2)
        .says(&["there is no run"]);
    assert!(!place.path(".headwater").exists(), "looking makes nothing");
}

#[test]
fn lists_that_do_not_pair_are_told_with_both_counts() {
    let place = Place::with_flow(
        "headwater: 1\nworkflow: pairs\ninputs: {a: int, b: int}\nstages:\n  pair:\n    iterate: dot(a, b)\n    \
         tasks: [{op: pair, in: {a: a, b: b}, out: {both: both}}]\noutputs: {both: both}\noperations:\n  pair:\n    \
         command: [echo, \"{in.a}\", \"{in.b}\"]\n    inputs: {a: int, b: int}\n    stdout: both\n    \
         outputs: {both: {type: text, path: both}}\n",
    );
    place.write("data.yaml", "inputs: {a: [1, 2, 3], b: [4, 5]}\n");
    for more in [&[][..], &["--dry-run"]] {
        let arguments = [&["run", "flow.yaml", "--inputs", "data.yaml"], more].concat();
        let ran = place.headwater(&arguments).ended(2);
        ran.says(&["flow.yaml:6:", "`a`", "3", "`b`", "2"]);
    }
    place.write("data.yaml", "rows: [{a: 1, b: 4}, {a: 2, b: 5}]\n");
    let report = place.run(&["--inputs", "data.yaml"], 0);
    assert_eq!(report.values("both")["1"], "2 5");
}

/// A folder of the user is not filled with the files of a store by mistake.
#[test]
fn a_folder_with_other_files_is_no_store() {
    let place = Place::with_flow(
        "headwater: 1\nworkflow: w\nstages: {s: [{op: o, out: {x: x}}]}\n\
         operations: {o: {shell: 'echo a > {out.x}', outputs: {x: file}}}\n",
    );
    place.write("data/a.txt", "mine");
    place
        .headwater(&["run", "flow.yaml", "--store", "data"])
        .ended(2)
        .says(&["is no store and holds other files, such as `a.txt`"]);
    assert_eq!(
        fs::read_dir(place.path("data")).expect("a folder").count(),
        1
    );
    fs::create_dir(place.path("empty")).expect("a folder");
    for _ in 0..2 {
        place
            .headwater(&["run", "flow.yaml", "--store", "empty"])
            .ended(0);
    }
}

/// Terminals, the log of the kernel: nobody waits for them to say something.
#[test]
fn what_has_nothing_to_be_read_is_refused_and_not_waited_for() {
    let place = Place::with_flow(
        "headwater: 1\nworkflow: one\ninputs: {f: file}\nstages:\n  only:\n    tasks: [{op: copy, in: {f: f}, out: {g: g}}]\n\
         outputs: {g: g}\noperations:\n  copy: {shell: 'cat {in.f} > {out.g}', inputs: {f: file}, outputs: {g: {type: file, path: g}}}\n",
    );
    for silent in ["/dev/ptmx", "/proc/kmsg"] {
        if fs::File::open(silent).is_err() {
            eprintln!("skipped: `{silent}` cannot be opened here");
            continue;
        }
        place.headwater(&["check", silent]).ended(2);
        let data = ["run", "flow.yaml", "--inputs", silent];
        place.headwater(&data).ended(2);
        place.write("data.yaml", &format!("inputs: {{f: {silent}}}\n"));
        let given = place.headwater(&["run", "flow.yaml", "--inputs", "data.yaml"]);
        assert_ne!(given.code, Some(0), "{}", given.stderr);
    }
}

//! Why a task ran, what it reused, how two runs differ, and what is remembered: as people read it.
//!
//! What is another one each time (names of runs, digests, dates, durations) is masked, so that a text is held word by
//! word.

use std::fs;

use crate::place::{Place, Ran, Report, contents};
use serde_json::Value;

/// A place whose runs have numbers.
struct Story {
    place: Place,
    runs: Vec<String>,
}

impl Story {
    fn new(flow: &str) -> Story {
        let place = Place::with_flow(flow);
        place.write("data.yaml", "inputs: {item: [1, 2, 3], note: note.txt}\n");
        place.write("note.txt", "one\n");
        place.write("scripts/add.sh", "echo $(( $1 + $2 )) > $3\n");
        Story {
            place,
            runs: Vec::new(),
        }
    }

    /// Runs the workflow; the run gets the next number.
    fn run(&mut self, arguments: &[&str], code: i32) -> Report {
        let inputs = ["--inputs", "data.yaml"];
        let report = self.place.run(&[&inputs, arguments].concat(), code);
        self.runs.push(text(&report.0["run"]).to_owned());
        report
    }

    fn ask(&self, arguments: &[&str], code: i32) -> Ran {
        self.place.headwater(arguments).ended(code)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.ask(&[arguments, &["--json"]].concat(), 0).report().0
    }

    /// What a command says on stdout, masked.
    fn told(&self, arguments: &[&str]) -> String {
        self.masked(&self.ask(arguments, 0).stdout)
    }

    fn explain(&self, task: &str) -> String {
        self.told(&["explain", "last", task])
    }

    fn masked(&self, text: &str) -> String {
        let root = self.place.root().display().to_string();
        let mut text = text.replace(&root, "PLACE");
        for (number, run) in self.runs.iter().enumerate() {
            text = text.replace(run, &format!("RUN-{}", number + 1));
        }
        let masked = mask_words(&text);
        masked
            .lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

#[track_caller]
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// Digests, dates and durations are not the same twice.
fn mask_words(text: &str) -> String {
    let is_hex = |word: &str| {
        let length = word.len() == 12 || word.len() == 64;
        length && word.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let mut out = String::new();
    let mut word = String::new();
    for sign in text.chars().chain(['\0']) {
        if sign.is_ascii_alphanumeric() {
            word.push(sign);
            continue;
        }
        out.push_str(if is_hex(&word) { "#" } else { &word });
        word.clear();
        if sign != '\0' {
            out.push(sign);
        }
    }
    mask_times(&mask_dates(&out))
}

fn mask_dates(text: &str) -> String {
    let length = "2026-11-16 08:30:00".len();
    let mut parts: Vec<String> = text.split(" UTC").map(str::to_owned).collect();
    let last = parts.len() - 1;
    for part in &mut parts[..last] {
        part.truncate(part.len() - length);
        part.push_str("DATE");
    }
    parts.concat()
}

/// `12 ms` and `3.4 s` become `TIME`, `3.7 MiB of` becomes `MEMORY of`.
fn mask_times(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let number = words[at].trim_start_matches('(');
        let is_number =
            !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
        let unit = words.get(at + 1).filter(|_| is_number);
        let (mask, end) = match unit.map(|unit| {
            let end = unit.find(|c: char| !c.is_ascii_alphabetic());
            unit.split_at(end.unwrap_or(unit.len()))
        }) {
            Some(("ms" | "s", rest)) => ("TIME", Some(rest)),
            Some(("KiB" | "MiB" | "GiB", rest)) if words.get(at + 2) == Some(&"of") => {
                ("MEMORY", Some(rest))
            }
            _ => ("", None),
        };
        match end {
            Some(rest) => {
                let open = &words[at][..words[at].len() - number.len()];
                out.push(format!("{open}{mask}{rest}"));
                at += 2;
            }
            None => {
                out.push(words[at].to_owned());
                at += 1;
            }
        }
    }
    out.join(" ")
}

/// Each item is multiplied, raised by a script, and all are added up.
const CHAIN: &str = r#"
headwater: 1
workflow: chain
inputs: {item: int, note: file}
parameters: {factor: {type: int, default: 3}, add: {type: int, default: 1}}
stages:
  times:
    tasks: [{op: multiply, in: {value: item}, params: {by: $factor}, out: {value: more}}]
  raise:
    tasks: [{op: add, in: {value: more, note: note}, params: {by: $add}, out: {value: raised}}]
  total:
    wait: all
    tasks: [{op: sum, in: {values: raised}, out: {sum: total}}]
outputs: {raised: raised, total: total}
operations:
  multiply:
    shell: |
      set -e
      echo $(( {in.value} * {param.by} )) > {out.value}
    inputs: {value: int}
    params: {by: int}
    outputs: {value: {type: int, path: value}}
  add:
    command: [sh, scripts/add.sh, "{in.value}", "{param.by}", "{out.value}"]
    uses: [scripts/add.sh]
    inputs: {value: int, note: file}
    params: {by: int}
    outputs: {value: {type: int, path: value}}
  sum:
    command: [awk, '{{ s += $0 }} END {{ print s }}', "{in.values.listfile}"]
    inputs: {values: list of int}
    stdout: sum
    outputs: {sum: {type: int, path: sum}}
"#;

#[test]
fn the_first_run_of_an_operation() {
    let mut story = Story::new(CHAIN);
    story.run(&[], 0);
    insta::assert_snapshot!(story.explain("raise.add[0]"), @"
    task       raise.add[0]
    run        RUN-1
    operation  add
    recipe     #
    state      executed, took TIME

    It ran because nothing of operation `add` was remembered before this run.
    ");
}

#[test]
fn a_changed_parameter_here_and_upstream() {
    let mut story = Story::new(CHAIN);
    story.run(&[], 0);
    story.run(&["--set", "factor=4", "--set", "add=2"], 0);
    insta::assert_snapshot!(story.explain("times.multiply[0]"), @"
    task       times.multiply[0]
    run        RUN-2
    operation  multiply
    recipe     #
    state      executed, took TIME

    It ran because something that it depends on changed since product #, made by run RUN-1 on DATE, in TIME.
    What differs:
      parameter `by`: 3 -> 4
    ");
    insta::assert_snapshot!(story.explain("raise.add[0]"), @"
    task       raise.add[0]
    run        RUN-2
    operation  add
    recipe     #
    state      executed, took TIME

    It ran because something that it depends on changed since product #, made by run RUN-1 on DATE, in TIME.
    What differs:
      parameter `by`: 1 -> 2
      upstream, in `times.multiply[0]`: parameter `by`: 3 -> 4
    ");
    insta::assert_snapshot!(story.explain("total.sum"), @"
    task       total.sum
    run        RUN-2
    operation  sum
    recipe     #
    state      executed, took TIME

    It ran because something that it depends on changed since product #, made by run RUN-1 on DATE, in TIME.
    What differs:
      upstream, in `raise.add[0]` and 2 more: parameter `by`: 1 -> 2
      upstream, in `times.multiply[0]` and 2 more: parameter `by`: 3 -> 4
    ");
    let object = story.json(&["explain", "last", "raise.add[0]"]);
    assert_eq!(object["why"], "changed");
    assert_eq!(object["same_address"], true);
    assert_eq!(object["compared"]["run"], story.runs[0].as_str());
    let causes = object["causes"].as_array().expect("a list");
    let plain: Vec<[&Value; 5]> = causes
        .iter()
        .map(|cause| ["kind", "name", "old", "new", "operation"].map(|key| &cause[key]))
        .collect();
    let expected = [
        ["parameter", "by", "1", "2", "add"].map(Value::from),
        ["parameter", "by", "3", "4", "multiply"].map(Value::from),
    ];
    assert_eq!(plain, expected.each_ref().map(|cause| cause.each_ref()));
    assert_eq!(causes[1]["tasks"][0], "times.multiply[0]");
}

#[test]
fn a_changed_program() {
    let mut story = Story::new(CHAIN);
    story.run(&[], 0);
    let edited = CHAIN
        .replace("set -e\n", "set -eu\n      true\n")
        .replace("s += $0", "s += $1");
    story.place.write("flow.yaml", &edited);
    story
        .place
        .write("scripts/add.sh", "echo $(( $2 + $1 + 1 )) > $3\n");
    story.run(&[], 0);
    insta::assert_snapshot!(story.explain("times.multiply[1]"), @"
    task       times.multiply[1]
    run        RUN-2
    operation  multiply
    recipe     #
    state      executed, took TIME

    It ran because something that it depends on changed since product #, made by run RUN-1 on DATE, in TIME.
    What differs:
      its command changed
        - set -e
        + set -eu
        + true
    ");
    insta::assert_snapshot!(story.explain("raise.add[1]"), @"
    task       raise.add[1]
    run        RUN-2
    operation  add
    recipe     #
    state      executed, took TIME

    It ran because something that it depends on changed since product #, made by run RUN-1 on DATE, in TIME.
    What differs:
      the file `scripts/add.sh` changed (# -> #)
    ");
    insta::assert_snapshot!(story.explain("total.sum"), @"
    task       total.sum
    run        RUN-2
    operation  sum
    recipe     #
    state      executed, took TIME

    It ran because something that it depends on changed since product #, made by run RUN-1 on DATE, in TIME.
    What differs:
      its command changed
        - {{ s += $0 }} END {{ print s }}
        + {{ s += $1 }} END {{ print s }}
      upstream, in `raise.add[0]` and 2 more: the file `scripts/add.sh` changed (# -> #)
    ");
}

#[test]
fn a_changed_file_and_a_new_item() {
    let mut story = Story::new(CHAIN);
    story.run(&[], 0);
    story.place.write("note.txt", "two\n");
    story.place.write(
        "data.yaml",
        "inputs: {item: [1, 2, 3, 9], note: note.txt}\n",
    );
    story.run(&[], 0);
    insta::assert_snapshot!(story.explain("raise.add[2]"), @"
    task       raise.add[2]
    run        RUN-2
    operation  add
    recipe     #
    state      executed, took TIME

    It ran because something that it depends on changed since product #, made by run RUN-1 on DATE, in TIME.
    What differs:
      input `note`: the file `note.txt` changed (# -> #)
    ");
    insta::assert_snapshot!(story.explain("total.sum"), @"
    task       total.sum
    run        RUN-2
    operation  sum
    recipe     #
    state      executed, took TIME

    It ran because something that it depends on changed since product #, made by run RUN-1 on DATE, in TIME.
    What differs:
      input `values`: 3 items -> 4 items; added: 9
    ");
}

#[test]
fn a_new_item_is_compared_with_the_nearest() {
    let mut story = Story::new(CHAIN);
    let items = |items: &str| format!("inputs: {{item: {items}, note: note.txt}}\n");
    story.place.write("data.yaml", &items("[3]"));
    story.run(&[], 0);
    story.run(&["--set", "factor=5"], 0);
    story.place.write("data.yaml", &items("[3, 7, 3, 9]"));
    story.run(&[], 0);
    insta::assert_snapshot!(story.explain("times.multiply[3]"), @"
    task       times.multiply[3]
    run        RUN-3
    operation  multiply
    recipe     #
    state      executed, took TIME

    It ran because it is new: it reads 9, which was not read before. Nearest is product #, made by run RUN-1 as `times.multiply[0]` on DATE, in TIME.
    What differs:
      input `value`: 3 -> 9
    ");
    // Equal items are one task, which goes by the first address.
    let shared = story.explain("times.multiply[2]");
    assert!(
        shared.starts_with("task       times.multiply[0], the same as `times.multiply[2]`\n"),
        "{shared}"
    );
    // Less will do where it says enough, and so will an output.
    for text in ["times[3]", "raised[3]", "outputs/last/outputs.csv"] {
        let found = story.place.headwater(&["explain", "last", text, "--json"]);
        match text {
            "times[3]" => assert_eq!(found.ended(0).report().0["task"], "times.multiply[3]"),
            "raised[3]" => assert_eq!(found.ended(0).report().0["task"], "raise.add[3]"),
            _ => drop(found.ended(2)),
        }
    }
    let shown = story.json(&["products", "show", "total"]);
    assert_eq!(shown["operation"], "sum");
}

#[test]
fn items_that_move_are_what_they_were() {
    let mut story = Story::new(CHAIN);
    let items = |items: &str| format!("inputs: {{item: {items}, note: note.txt}}\n");
    story.place.write("data.yaml", &items("[3, 7, 9]"));
    story.run(&[], 0);
    story.place.write("data.yaml", &items("[9, 3, 7]"));
    story.run(&[], 0);
    let shown = story.explain("total.sum");
    assert!(
        shown.ends_with("What differs:\n  input `values`: the order of its 3 items changed"),
        "{shown}"
    );
    // One item less, and all of the run at once.
    story.place.write("data.yaml", &items("[9, 7]"));
    story.run(&[], 0);
    let shown = story.told(&["explain"]);
    assert!(
        shown.contains("input `values`: 3 items -> 2 items; removed: 3"),
        "{shown}"
    );
    let same = story.told(&["runs", "diff", "last~1", "last"]);
    assert_eq!(shown, same);
    assert_eq!(shown, story.told(&["runs", "diff"]));
    let first = story.ask(&["runs", "diff", "last~2"], 2);
    assert!(
        first.stderr.contains("is the first of workflow `chain`"),
        "{}",
        first.stderr
    );
}

#[test]
fn a_reused_product_names_who_made_it() {
    let mut story = Story::new(CHAIN);
    story.run(&[], 0);
    story.run(&["--set", "add=5"], 0);
    insta::assert_snapshot!(story.explain("times.multiply[0]"), @"
    task       times.multiply[0]
    run        RUN-2
    operation  multiply
    recipe     #
    state      reused

    It was remembered: product #, made by run RUN-1 on DATE, in TIME.
    That saved TIME of processor time.
    ");
    let object = story.json(&["explain", "last", "times.multiply[0]"]);
    assert_eq!(object["why"], "reused");
    assert_eq!(object["made"]["run"], story.runs[0].as_str());
    // A program waits more than it computes: what is saved is processor time, not what the clock showed.
    let (took, saved) = (&object["made"]["seconds"], &object["saved_seconds"]);
    assert!(saved.as_f64() > Some(0.0) && saved != took, "{object}");
    // The first item is the second one now: the same product, at another address.
    story
        .place
        .write("data.yaml", "inputs: {item: [2, 1], note: note.txt}\n");
    story.run(&[], 0);
    insta::assert_snapshot!(story.explain("times.multiply[0]"), @"
    task       times.multiply[0]
    run        RUN-3
    operation  multiply
    recipe     #
    state      reused

    It was remembered: product #, made by run RUN-1 as `times.multiply[1]` on DATE, in TIME.
    That saved TIME of processor time.
    ");
}

/// Halves are often equal.
const HALVES: &str = r#"
headwater: 1
workflow: halves
inputs: {item: int, note: file}
parameters: {by: {type: int, default: 4}}
stages:
  divide:
    tasks: [{op: divide, in: {value: item}, params: {by: $by}, out: {value: part}}]
  use:
    tasks: [{op: use, in: {value: part}, out: {value: used}}]
outputs: {used: used}
operations:
  divide:
    shell: echo $(( {in.value} / {param.by} )) > {out.value}
    inputs: {value: int}
    params: {by: int}
    outputs: {value: {type: int, path: value}}
  use:
    shell: echo {in.value} > {out.value}
    inputs: {value: int}
    outputs: {value: {type: int, path: value}}
"#;

#[test]
fn a_change_upstream_that_changes_no_content_is_cut_off() {
    let mut story = Story::new(HALVES);
    story
        .place
        .write("data.yaml", "inputs: {item: [1, 2, 10], note: note.txt}\n");
    story.run(&["-j", "1"], 0);
    insta::assert_snapshot!(story.explain("use.use[1]"), @"
    task       use.use[1]
    run        RUN-1
    operation  use
    recipe     #
    state      cut-off

    It was new, but everything that it reads has the same contents as for `use.use[0]` of this run.
    So the equal product # was taken, made by run RUN-1 as `use.use[0]` on DATE, in TIME.
    That saved TIME of processor time.
    ");
    story.run(&["-j", "1", "--set", "by=5"], 0);
    insta::assert_snapshot!(story.explain("use.use[0]"), @"
    task       use.use[0]
    run        RUN-2
    operation  use
    recipe     #
    state      cut-off

    It was new because of:
      upstream, in `divide.divide[0]`: parameter `by`: 4 -> 5
    But everything that it reads has contents that were seen before.
    So the equal product # was taken, made by run RUN-1 on DATE, in TIME.
    That saved TIME of processor time.
    ");
    let object = story.json(&["explain", "last", "use.use[0]"]);
    assert_eq!(object["why"], "cut-off");
    assert_ne!(object["recipe"], object["made"]["recipe"]);
    let recipe = text(&object["recipe"]);
    let shown = story.json(&["products", "show", &recipe[..12]]);
    assert_eq!(
        [&shown["recipe"], &shown["equal_to"]],
        [&object["recipe"], &object["made"]["recipe"]]
    );
    insta::assert_snapshot!(story.told(&["runs", "diff", &story.runs[0], "last"]), @"
    first   RUN-1
    second  RUN-2

           0  the same
           3  new, with the contents of before
           3  different

    What changed, and how many tasks differ because of it:
           3  parameter `by`: 4 -> 5, in `divide.divide[0]` and 2 more
    ");
}

#[test]
fn a_task_that_is_new_twice_over_counts_once() {
    let mut story = Story::new(CHAIN);
    story.run(&[], 0);
    story.run(&["--set", "add=2"], 0);
    // Another script, the same results: what reads them is cut off.
    let edited = CHAIN.replace("set -e\n", "set -eu\n");
    story.place.write("flow.yaml", &edited);
    story.run(&["--set", "add=2"], 0);
    insta::assert_snapshot!(story.explain("total.sum"), @"
    task       total.sum
    run        RUN-3
    operation  sum
    recipe     #
    state      cut-off

    It was new because of:
      upstream, in `times.multiply[0]` and 2 more: its command changed
        - set -e
        + set -eu
    But everything that it reads has contents that were seen before.
    So the equal product # was taken, made by run RUN-2 on DATE, in TIME.
    That saved TIME of processor time.
    ");
    insta::assert_snapshot!(story.told(&["runs", "diff", &story.runs[0], "last"]), @"
    first   RUN-1
    second  RUN-3

           0  the same
           7  different

    What changed, and how many tasks differ because of it:
           4  parameter `by`: 1 -> 2, in `raise.add[0]` and 2 more
           3  its command changed, in `times.multiply[0]` and 2 more
                - set -e
                + set -eu
    ");
}

/// The second item fails; `roll` is not pure.
const TROUBLE: &str = r#"
headwater: 1
workflow: trouble
inputs: {item: int, note: file}
stages:
  check:
    tasks: [{op: check, in: {value: item}, out: {value: checked}}]
  use:
    tasks: [{op: use, in: {value: checked}, out: {value: used}}]
  roll:
    tasks: [{op: roll, out: {number: number}}]
outputs: {used: used, number: number}
operations:
  check:
    shell: test {in.value} != 2 || (echo two is wrong >&2; exit 3); echo {in.value} > {out.value}
    inputs: {value: int}
    outputs: {value: {type: int, path: value}}
  use:
    shell: echo {in.value} > {out.value}
    inputs: {value: int}
    outputs: {value: {type: int, path: value}}
  roll:
    shell: echo 6 > {out.number}
    pure: false
    outputs: {number: {type: file, path: number.txt}}
"#;

#[test]
fn what_failed_what_could_not_run_and_what_always_runs() {
    let mut story = Story::new(TROUBLE);
    story.run(&["-j", "1"], 1);
    let shown = story.explain("check.check[1]");
    // The number of the task's folder is the engine's business.
    let shown = shown.replace(|c: char| c.is_ascii_digit(), "N");
    insta::assert_snapshot!(shown, @"
    task       check.check[N]
    run        RUN-N
    operation  check
    recipe     #
    state      failed, took TIME

    It ran because nothing of operation `check` was remembered before this run.
    It failed.

    task `check.check[N]`: ended with exit code N
      from:    item=N
      command: /bin/sh -e -c 'test N != N || (echo two is wrong >&N; exit N); echo N > value'
      it said:
        two is wrong
      folder:  PLACE/.headwater/work/RUN-N/N
      again:   sh 'PLACE/.headwater/work/RUN-N/N/.again.sh'
      N task could not run because of it

    Look into:
      outputs/RUN-N/failures.txt
      .headwater/work/RUN-N
    ");
    let blocked = story.explain("use.use[1]");
    let blocked: Vec<&str> = blocked.lines().take(7).collect();
    insta::assert_snapshot!(blocked.join("\n"), @"
    task       use.use[1]
    run        RUN-1
    recipe     #
    state      blocked

    It could not run: `check.check[1]`, which it needs, failed.
    ");
    insta::assert_snapshot!(story.explain("roll.roll"), @"
    task       roll.roll
    run        RUN-1
    operation  roll
    recipe     #
    state      executed, took TIME

    It ran because operation `roll` says `pure: false`: it always runs.
    What reads its outputs knows them by their contents, and runs again only if those change.
    ");
    let object = story.json(&["explain", "last", "use.use[1]"]);
    assert_eq!(object["why"], "blocked");
    assert_eq!(object["blocked_by"], "check.check[1]");
    assert!(text(&object["description"]).contains("two is wrong"));
    assert!(text(&object["look"][0]).ends_with("failures.txt"));
}

/// A list whose length is not known before it was made.
const WORDS: &str = r#"
headwater: 1
workflow: words
inputs: {note: file}
parameters: {mark: {type: text, default: a}}
stages:
  split:
    tasks: [{op: split, in: {note: note}, params: {mark: $mark}, out: {words: words}}]
  use:
    tasks: [{op: use, in: {word: words}, out: {text: text}}]
outputs: {text: text}
operations:
  split:
    shell: for n in 1 2; do echo {param.mark} $n > word-$n; done
    inputs: {note: file}
    params: {mark: text}
    outputs: {words: {type: file, glob: "word-*"}}
  use:
    shell: cat {in.word} > {out.text}
    inputs: {word: file}
    outputs: {text: {type: file, path: text}}
"#;

#[test]
fn an_item_of_a_list_leads_to_the_task_that_made_the_list() {
    let mut story = Story::new(WORDS);
    story.place.write("data.yaml", "inputs: {note: note.txt}\n");
    story.run(&[], 0);
    story.run(&["--set", "mark=b"], 0);
    insta::assert_snapshot!(story.explain("use.use[1]"), @"
    task       use.use[1]
    run        RUN-2
    operation  use
    recipe     #
    state      executed, took TIME

    It ran because something that it depends on changed since product #, made by run RUN-1 on DATE, in TIME.
    What differs:
      upstream, in `split.split`: parameter `mark`: a -> b
    ");
}

#[test]
fn bytes_that_were_gone_and_needed() {
    let mut story = Story::new(WORDS);
    story.place.write("data.yaml", "inputs: {note: note.txt}\n");
    story.run(&[], 0);
    fs::remove_dir_all(story.place.path(".headwater/objects")).expect("objects");
    let flow = WORDS.replace("cat {in.word}", "cat -n {in.word}");
    story.place.write("flow.yaml", &flow);
    story.run(&[], 0);
    insta::assert_snapshot!(story.explain("split.split"), @"
    task       split.split
    run        RUN-2
    operation  split
    recipe     #
    state      restored, took TIME

    It was remembered, made by run RUN-1 on DATE, in TIME.
    But its bytes were not here (never kept, or thrown away since), and they were needed: it ran again.
    ");
}

#[test]
fn wrong_names_get_suggestions() {
    let mut story = Story::new(CHAIN);
    story
        .ask(&["explain", "last", "x"], 2)
        .says(&["there is no run `last`"]);
    story.run(&[], 0);
    story.ask(&["explain", "last", "raise.ad[0]"], 2).says(&[
        "has no task `raise.ad[0]`",
        "did you mean",
        "`raise.add[0]`",
    ]);
    story
        .ask(&["explain", "last", "raise.add"], 2)
        .says(&["`raise.add[0]`, `raise.add[1]`, `raise.add[2]`"]);
    story
        .ask(&["runs", "diff", "last", "1999"], 2)
        .says(&["there is no run `1999`", "headwater runs ls"]);
    story
        .ask(&["products", "show", "zzz"], 2)
        .says(&["there is no product `zzz`", "headwater products ls"]);
    // The beginning of a recipe is as good as an address.
    let object = story.json(&["explain", &story.runs[0], "raise.add[0]"]);
    let recipe = text(&object["recipe"]);
    assert_eq!(story.json(&["explain", "last", &recipe[..20]]), object);
}

#[test]
fn two_runs_side_by_side() {
    let mut story = Story::new(CHAIN);
    story.run(&[], 0);
    story.run(&["--set", "add=2"], 0);
    insta::assert_snapshot!(story.told(&["runs", "diff", &story.runs[0], "last"]), @"
    first   RUN-1
    second  RUN-2

           3  the same
           4  different

    What changed, and how many tasks differ because of it:
           4  parameter `by`: 1 -> 2, in `raise.add[0]` and 2 more
    ");
    story
        .place
        .write("data.yaml", "inputs: {item: [1, 7], note: note.txt}\n");
    story.run(&["--set", "add=2"], 0);
    insta::assert_snapshot!(story.told(&["runs", "diff", &story.runs[1], &story.runs[2]]), @"
    first   RUN-2
    second  RUN-3

           2  the same
           3  different
           2  only in the first

    What changed, and how many tasks differ because of it:
           3  input `value`: 2 -> 7, in `times.multiply[1]`
           1  input `values`: 3 items -> 2 items; removed: 3, in `total.sum`

    Only in the first:
      times.multiply[2]
      raise.add[2]
    ");
    insta::assert_snapshot!(story.told(&["runs", "diff", &story.runs[1], &story.runs[1]]), @"
    first   RUN-2
    second  RUN-2

           7  the same
    ");
    let object = story.json(&["runs", "diff", &story.runs[0], &story.runs[1]]);
    assert_eq!([&object["same"], &object["different"]], [3, 4]);
    assert_eq!(object["causes"].as_array().map(Vec::len), Some(1));
    let cause = &object["causes"][0];
    assert_eq!(cause["text"], "parameter `by`: 1 -> 2");
    assert_eq!(cause["count"], 4);
    assert_eq!(
        cause["tasks"],
        Value::from(vec![
            "raise.add[0]",
            "raise.add[1]",
            "raise.add[2]",
            "total.sum"
        ])
    );
}

#[test]
fn products_are_listed_and_shown() {
    let mut story = Story::new(CHAIN);
    assert_eq!(story.ask(&["products", "ls"], 0).stdout, "");
    assert!(
        !story.place.path(".headwater").exists(),
        "looking makes no store"
    );
    story.run(&["-j", "1"], 0);
    story.run(&["-j", "1", "--set", "add=2"], 0);
    let listed = story.told(&["products", "ls", "--operation", "sum"]);
    // How wide the columns are depends on how long things took.
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let listed: Vec<String> = listed.lines().map(words).collect();
    assert_eq!(
        listed,
        [
            "recipe operation parameters size took bytes run",
            "# sum 9 B TIME here RUN-2",
            "# sum 9 B TIME here RUN-1",
        ]
    );
    let list = |arguments: &[&str]| {
        let object = story.json(&[&["products", "ls"], arguments].concat());
        let products = object["products"].as_array().expect("a list").clone();
        let names = products
            .iter()
            .map(|product| text(&product["operation"]).to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    assert_eq!(list(&["--run", "last"]), ["add", "add", "add", "sum"]);
    assert_eq!(
        list(&["--run", &story.runs[0], "--operation", "multiply"]).len(),
        3
    );
    assert_eq!(list(&["-n", "5"]).len(), 5);
    assert_eq!(list(&["--operation", "none"]).len(), 0);
    let object = story.json(&["explain", "last", "raise.add[1]"]);
    let shown = story.told(&["products", "show", &text(&object["recipe"])[..10]]);
    insta::assert_snapshot!(shown, @"
    recipe     #
    operation  add
    made       by run RUN-2, as `raise.add[1]`
    when       DATE
    took       TIME (TIME of processor time, at most MEMORY of memory)
    parameters by = 2
    version    command: sh
                 scripts/add.sh
                 {in.value}
                 {param.by}
                 {out.value}
               uses scripts/add.sh: #
               input note: file
               input value: int
               output value: int, path value

    input note
      `note.txt` (#)

    input value
      output `value` of product # (multiply)

    output value, int, 9 B, here
      value   8
      digest  #
    ");
    let object = story.json(&["explain", "last", "total.sum"]);
    let shown = story.json(&["products", "show", text(&object["recipe"])]);
    assert_eq!(shown["made"]["task"], "total.sum");
    assert_eq!(shown["inputs"][0]["count"], 3);
    assert_eq!(shown["inputs"][0]["sources"][2]["operation"], "add");
    assert_eq!(shown["outputs"][0]["value"], 24);
    assert_eq!(shown["held"], "here");
}

#[test]
fn damaged_bytes_are_found_and_set_aside_and_bytes_can_be_thrown_away() {
    let mut story = Story::new(WORDS);
    story.place.write("data.yaml", "inputs: {note: note.txt}\n");
    story.run(&[], 0);
    let objects = story.place.path(".headwater/objects");
    let files: Vec<_> = contents(&objects).into_keys().collect();
    assert_eq!(files.len(), 2, "two words, which two tasks have in common");
    story.ask(&["products", "verify"], 0);
    let path = objects.join(&files[0]);
    fs::remove_file(&path).expect("an object");
    fs::write(&path, "b 1\n").expect("another one");
    let object = story.ask(&["products", "verify", "--json"], 1).report().0;
    let digest = files[0].to_string_lossy().replace('/', "");
    assert_eq!(object["damaged"], Value::from(vec![digest.as_str()]));
    assert_eq!(
        [&object["objects"], &object["sound"]],
        [&Value::from(2), &Value::from(false)]
    );
    assert!(
        objects.join("damaged").join(&digest).exists(),
        "it was set aside"
    );
    story.run(&[], 0).counts(3, 2, 1, 0);
    story.ask(&["products", "verify"], 0);
    // Everything may go, and nothing has to be made again as long as nothing needs it.
    let dry = story.ask(&["products", "gc", "--max", "0", "--dry-run"], 0);
    assert_eq!(
        dry.stdout,
        "2 objects (8 B) would go, 0 B stay; records stay\n"
    );
    assert!(objects.join(&files[1]).exists());
    let gone = story.ask(&["products", "gc", "--max", "0"], 0);
    assert_eq!(
        gone.stdout,
        "2 objects (8 B) are gone, 0 B stay; records stay\n"
    );
    assert!(!objects.join(&files[1]).exists());
    let list = story.json(&["products", "ls"]);
    let products = list["products"].as_array().expect("a list");
    assert_eq!(products.len(), 3, "records stay");
    assert!(products.iter().all(|product| product["held"] == "gone"));
    story.ask(&["products", "verify"], 0);
    story.ask(&["products", "gc"], 2).says(&["--max"]);
}

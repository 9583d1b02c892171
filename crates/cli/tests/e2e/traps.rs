//! Ways in which a value or a file reaches a program past its arguments: each counts, and each makes new exactly
//! what it should.

use std::fs;

use crate::place::{Place, Report};

/// Runs `flow.yaml` on `data.yaml`; exactly these tasks run, and the output `text` is this.
#[track_caller]
fn runs(place: &Place, arguments: &[&str], executed: &[&str], text: &str) -> Report {
    let all = [&["--inputs", "data.yaml"], arguments].concat();
    let report = place.run(&all, 0);
    assert_eq!(report.ran(), executed, "{arguments:?}");
    assert_eq!(report.number("executed"), executed.len());
    assert_eq!(report.texts("text"), [text], "{arguments:?}");
    report
}

fn place(flow: &str) -> Place {
    let place = Place::with_flow(flow);
    place.write("data.yaml", "inputs: {word: word.txt}\n");
    place.write("word.txt", "word\n");
    place
}

/// `write` makes a file from the parameter, `use` reads it, `apart` has nothing to do with it.
const GENERATED: &str = r#"
headwater: 1
workflow: generated
inputs: {word: file}
parameters: {level: {type: int, default: 1}}
stages:
  write:
    - {op: write, params: {level: $level}, out: {config: config}}
  use:
    - {op: use, in: {config: config, word: plain}, out: {text: text}}
  apart:
    - {op: apart, in: {word: word}, out: {word: plain}}
outputs: [text]
operations:
  write:
    shell: echo level={param.level} > {out.config}
    params: {level: int}
    outputs: {config: {path: settings.sh, keep: true}}
  use:
    shell: . ./{in.config}; echo "$level $(cat {in.word})" > {out.text}
    inputs: {config: file, word: file}
    outputs: {text: {path: made}}
  apart:
    shell: tr a-z A-Z < {in.word} > {out.word}
    inputs: {word: file}
    outputs: {word: {path: made, keep: true}}
"#;

#[test]
fn a_parameter_that_arrives_by_a_generated_file() {
    let place = place(GENERATED);
    let all = ["apart.apart", "use.use", "write.write"];
    runs(&place, &[], &all, "1 WORD\n");
    let some = ["use.use", "write.write"];
    runs(&place, &["--set", "level=2"], &some, "2 WORD\n");
    runs(&place, &["--set", "level=1"], &[], "1 WORD\n");
    runs(&place, &["--set", "level=2"], &[], "2 WORD\n");
}

/// `use` gets the parameter as HOW says, and there is a task before it and one after it.
fn passed(how: &str) -> Place {
    place(
        &r#"
headwater: 1
workflow: passed
inputs: {word: file}
parameters: {level: {type: int, default: 1}}
stages:
  before:
    - {op: copy, in: {word: word}, out: {word: copied}}
  use:
    - {op: use, in: {word: copied}, params: {level: $level}, out: {word: used}}
  after:
    - {op: copy, in: {word: used}, out: {word: text}}
outputs: [text]
operations:
  copy:
    command: [cp, "{in.word}", "{out.word}"]
    inputs: {word: file}
    outputs: {word: {path: made, keep: true}}
  use:
HOW
    params: {level: int}
    inputs: {word: file}
    outputs: {word: {path: made, keep: true}}
"#
        .replace("HOW", how),
    )
}

/// The parameter and the constant, by one way or another.
fn both_count(how: &str) {
    let place = passed(&how.replace("CONSTANT", "one"));
    let all = ["after.copy", "before.copy", "use.use"];
    let some = ["after.copy", "use.use"];
    runs(&place, &[], &all, "1 one word\n");
    runs(&place, &["--set", "level=2"], &some, "2 one word\n");
    let flow = place.read("flow.yaml").replace("one", "two");
    place.write("flow.yaml", &flow);
    runs(&place, &[], &some, "1 two word\n");
    runs(&place, &["--set", "level=2"], &some, "2 two word\n");
    place.write("flow.yaml", &flow.replace("two", "one"));
    runs(&place, &["--set", "level=2"], &[], "2 one word\n");
}

#[test]
fn a_parameter_that_arrives_by_the_environment() {
    both_count(
        "    shell: echo \"$LEVEL $WORD $(cat {in.word})\" > {out.word}\n    \
         env: {LEVEL: \"{param.level}\", WORD: CONSTANT}",
    );
}

#[test]
fn a_parameter_that_arrives_on_standard_input() {
    both_count(
        "    shell: echo \"$(cat) $(cat {in.word})\" > {out.word}\n    \
         stdin: \"{param.level} CONSTANT\"",
    );
}

/// A script that reads a second one, which reads a file of constants.
#[test]
fn helper_scripts_and_the_constants_they_source() {
    let place = passed(
        "    command: [sh, tool/main.sh, \"{in.word}\", \"{param.level}\"]\n    \
         stdout: \"{out.word}\"\n    uses: [tool/**]",
    );
    place.write("tool/main.sh", ". tool/helper.sh\nsay \"$1\" \"$2\"\n");
    let helper = ". tool/lib/constants.sh\nsay() { echo \"$2 $WORD $(cat \"$1\")\"; }\n";
    place.write("tool/helper.sh", helper);
    place.write("tool/lib/constants.sh", "WORD=one\n");
    let all = ["after.copy", "before.copy", "use.use"];
    let some = ["after.copy", "use.use"];
    runs(&place, &[], &all, "1 one word\n");
    runs(&place, &[], &[], "1 one word\n");
    place.write("tool/lib/constants.sh", "WORD=two\n");
    runs(&place, &[], &some, "1 two word\n");
    place.write("tool/helper.sh", &helper.replace("$2 $WORD", "$WORD $2"));
    runs(&place, &[], &some, "two 1 word\n");
    // A file that the pattern finds from now on may be one that the script reads.
    place.write("tool/lib/more.sh", "");
    let report = place.run(&["--inputs", "data.yaml"], 0);
    assert!(report.tasks("executed").contains(&"use.use".to_owned()));
    assert_eq!(report.texts("text"), ["two 1 word\n"]);
    fs::remove_file(place.path("tool/lib/more.sh")).expect("removed");
    runs(&place, &[], &[], "two 1 word\n");
    place.write("tool/helper.sh", helper);
    place.write("tool/lib/constants.sh", "WORD=one\n");
    runs(&place, &[], &[], "1 one word\n");
}

const SWAPPED: &str = r#"
headwater: 1
workflow: swapped
inputs: {word: file}
stages:
  split:
    - {op: split, in: {word: word}, out: {head: head, tail: tail}}
  join:
    - {op: join, in: {one: head, two: tail}, out: {text: text}}
outputs: [text]
operations:
  split:
    shell: cut -c1-2 {in.word} > {out.head}; cut -c3- {in.word} > {out.tail}
    inputs: {word: file}
    outputs: {head: {path: made-1, keep: true}, tail: {path: made-2, keep: true}}
  join:
    shell: echo "$(cat {in.one})-$(cat {in.two})" > {out.text}
    inputs: {one: file, two: file}
    outputs: {text: {path: made}}
"#;

#[test]
fn two_outputs_of_one_task_that_change_places() {
    let place = place(SWAPPED);
    runs(&place, &[], &["join.join", "split.split"], "wo-rd\n");
    place.write(
        "flow.yaml",
        &SWAPPED.replace("{one: head, two: tail}", "{one: tail, two: head}"),
    );
    runs(&place, &[], &["join.join"], "rd-wo\n");
    // The names of data say nothing; who makes them does.
    let renamed = SWAPPED
        .replace("{head: head, tail: tail}", "{head: tail, tail: head}")
        .replace("{one: head, two: tail}", "{one: tail, two: head}");
    place.write("flow.yaml", &renamed);
    runs(&place, &[], &[], "wo-rd\n");
    // The same the other way round: the task that splits writes each to the other port.
    place.write(
        "flow.yaml",
        &SWAPPED.replace(
            "shell: cut -c1-2 {in.word} > {out.head}; cut -c3- {in.word} > {out.tail}",
            "shell: cut -c1-2 {in.word} > {out.tail}; cut -c3- {in.word} > {out.head}",
        ),
    );
    let report = place.run(&["--inputs", "data.yaml"], 0);
    assert_eq!(report.texts("text"), ["rd-wo\n"]);
    assert!(report.tasks("executed").contains(&"split.split".to_owned()));
}

/// Squares of a hundred numbers, of which two fail while `$TMPDIR/bad` is there.
const TOLERANT: &str = r#"
headwater: 1
workflow: tolerant
inputs: {item: int}
stages:
  square:
    - {op: square, in: {item: item}, out: {square: square}}
  total:
    wait: all
    tolerate: 2
    tasks: [{op: total, in: {squares: square}, out: {total: total}}]
  after:
    - {op: half, in: {total: total}, out: {half: half}}
outputs: [total, half]
operations:
  square:
    shell: |
      case {in.item} in 7|42) test ! -e "$TMPDIR/bad";; esac || exit 3
      echo $(( {in.item} * {in.item} )) > {out.square}
    inputs: {item: int}
    outputs: {square: {type: int, path: square}}
  total:
    command: [awk, '{{ s += $0; n += 1 }} END {{ print s * 1000 + n }}', "{in.squares.listfile}"]
    inputs: {squares: list of int}
    stdout: total
    outputs: {total: {type: int, path: total}}
  half:
    shell: echo $(( {in.total} / 2 )) > {out.half}
    inputs: {total: int}
    outputs: {half: {type: int, path: half}}
"#;

#[test]
fn a_tolerated_98_of_100_is_not_a_hit_for_all_100() {
    let place = Place::with_flow(TOLERANT);
    let items: Vec<String> = (1..=100).map(|item| item.to_string()).collect();
    let data = format!("inputs: {{item: [{}]}}\n", items.join(", "));
    place.write("data.yaml", &data);
    let bad = place.side().join("bad");
    fs::write(&bad, "").expect("a file");
    let squares: u64 = (1..=100u64).map(|item| item * item).sum();
    let without = squares - 7 * 7 - 42 * 42;
    let check = |report: &Report, sum: u64, count: u64| {
        let total = sum * 1000 + count;
        assert_eq!(report.values("total")[""], total);
        assert_eq!(report.values("half")[""], total / 2);
    };
    let run = |code: i32| place.run(&["--inputs", "data.yaml"], code);
    let first = run(1).counts(102, 100, 0, 2);
    check(&first, without, 98);
    fs::remove_file(&bad).expect("removed");
    let second = run(0).counts(102, 4, 98, 0);
    check(&second, squares, 100);
    let expected = [
        "after.half",
        "square.square[41]",
        "square.square[6]",
        "total.total",
    ];
    assert_eq!(second.tasks("executed"), expected);
    let third = run(0).counts(102, 0, 102, 0);
    check(&third, squares, 100);
}

/// `look` is not pure; `shout`, `count` and `all` come after it, one after the other.
const IMPURE: &str = r#"
headwater: 1
workflow: impure
inputs: {item: int}
stages:
  look:
    - {op: look, in: {item: item}, out: {seen: seen}}
  shout:
    - {op: shout, in: {seen: seen}, out: {loud: loud}}
  all:
    wait: all
    tasks: [{op: all, in: {loud: loud}, out: {text: text}}]
outputs: [text]
operations:
  look:
    shell: cat "$TMPDIR"/world-{in.item} > {out.seen}
    pure: false
    inputs: {item: int}
    outputs: {seen: {path: seen}}
  shout:
    shell: tr a-z A-Z < {in.seen} > {out.loud}
    inputs: {seen: file}
    outputs: {loud: {path: loud, keep: true}}
  all:
    shell: cat {in.loud} > {out.text}
    inputs: {loud: list of file}
    outputs: {text: {path: text}}
"#;

#[test]
fn descendants_of_an_impure_task_are_reused_while_it_says_the_same() {
    let place = Place::with_flow(IMPURE);
    place.write("data.yaml", "inputs: {item: [1, 2]}\n");
    let world = |item: usize, text: &str| {
        fs::write(place.side().join(format!("world-{item}")), text).expect("a file");
    };
    let looks = ["look.look[0]", "look.look[1]"];
    world(1, "rain\n");
    world(2, "snow\n");
    let all = [
        "all.all",
        looks[0],
        looks[1],
        "shout.shout[0]",
        "shout.shout[1]",
    ];
    runs(&place, &[], &all, "RAIN\nSNOW\n");
    runs(&place, &[], &looks, "RAIN\nSNOW\n");
    world(2, "hail\n");
    let some = ["all.all", looks[0], looks[1], "shout.shout[1]"];
    runs(&place, &[], &some, "RAIN\nHAIL\n");
    world(2, "snow\n");
    runs(&place, &[], &looks, "RAIN\nSNOW\n");
}

/// `runs_once` in `examples` knows them all.
#[test]
fn every_example_is_run_twice() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let tests = [include_str!("examples.rs"), include_str!("nuclei.rs")].concat();
    let mut examples = 0;
    for entry in fs::read_dir(folder).expect("the examples") {
        let entry = entry.expect("an entry");
        if entry.path().is_dir() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(
                tests.contains(&format!("runs_once(\"{name}\"")),
                "no test runs the example `{name}` twice"
            );
            examples += 1;
        }
    }
    assert!(examples >= 2);
}

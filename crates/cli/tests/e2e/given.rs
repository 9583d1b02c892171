//! What a task is given cannot be used to change it: not the products of others, not the files of the user, not the
//! files that operations use, whoever runs the task and whatever way of protection there is. Where nothing keeps a task
//! from writing, what it wrote is found, nothing that was made from it is remembered, and it is made again.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::place::{Place, Ran, Report, contents, read};

/// The ways of protection, as the variable names them; the first is the usual one.
const WAYS: [&str; 4] = ["", "mount", "copy", "check"];
/// More than what is copied because it is small.
const LARGE: usize = 3 << 20;

/// Who runs a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    /// Who runs the tests.
    Own,
    /// Somebody without any rights.
    Nobody,
    /// Root without the right to mount, as in many containers.
    Confined,
}

const NOBODY: u32 = 65534;

impl User {
    /// What starts a program as this user.
    fn prefix(self) -> &'static [&'static str] {
        match self {
            User::Own => &[],
            User::Nobody => &[
                "setpriv",
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
            ],
            User::Confined => &[
                "setpriv",
                "--bounding-set=-sys_admin",
                "--inh-caps=-sys_admin",
            ],
        }
    }

    /// Whether the program can be started as this user here.
    fn is_here(self) -> bool {
        let probe = tempfile::tempdir().expect("a folder");
        let is_root = fs::metadata(probe.path()).expect("it is there").uid() == 0;
        let version = || {
            let mut command = self.as_user(&Command::new(env!("CARGO_BIN_EXE_headwater")));
            command.arg("--version").stdout(Stdio::null());
            ends_well(command)
        };
        let is_here = self == User::Own || (is_root && version());
        if !is_here {
            eprintln!(
                "skipped for {self:?}: not run by root, no `setpriv`, or a program out of reach"
            );
        }
        is_here
    }

    /// The same command of this user.
    fn as_user(self, command: &Command) -> Command {
        let [first, rest @ ..] = self.prefix() else {
            panic!("the own user needs nothing");
        };
        let mut other = Command::new(first);
        other
            .args(rest)
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => other.env(name, value),
                None => other.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            other.current_dir(folder);
        }
        other
    }
}

/// Those who can run the tests here.
fn users() -> Vec<User> {
    let all = [User::Own, User::Nobody];
    all.into_iter().filter(|user| user.is_here()).collect()
}

fn ends_well(mut command: Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

/// Hands everything below a folder to a user.
fn hand_over(path: &Path) {
    lchown(path, Some(NOBODY), Some(NOBODY)).expect("it can be handed over");
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).expect("a folder") {
            hand_over(&entry.expect("an entry").path());
        }
    }
}

/// Runs `flow.yaml` in this way.
fn run(place: &Place, user: User, way: &str, arguments: &[&str]) -> (Option<i32>, Report) {
    let mut all = vec!["run", "flow.yaml", "--json", "-j", "4"];
    all.extend(arguments);
    let mut command = place.command(&all);
    if !way.is_empty() {
        command.env("HEADWATER_PROTECT", way);
    }
    if user == User::Nobody {
        place.side();
        hand_over(place.root());
    }
    if user != User::Own {
        command = user.as_user(&command);
    }
    let ran = Ran::from(command.output().expect("headwater can be started"));
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    let report = ran.report();
    (ran.code, report)
}

#[track_caller]
fn is_sound(place: &Place) {
    place.headwater(&["products", "verify"]).ended(0);
}

/// A product, a task that writes to it and, after that, one that reads it.
fn poison(kind: &str, name: &str, size: usize, write: &str) -> Place {
    Place::with_flow(&format!(
        r#"
headwater: 1
workflow: poison
stages:
  first:
    tasks: [{{op: make, out: {{made: product}}}}]
  second:
    tasks:
      - {{op: bad, in: {{from: product}}, out: {{made: bad}}}}
      - {{op: wait, out: {{made: opened}}}}
      - {{op: good, in: {{from: product, opened: opened}}, out: {{made: good}}}}
outputs: {{bad: bad, good: good}}
operations:
  make:
    shell: |
      mkdir -p "$(dirname {{out.made}}{name})"
      head -c {size} /dev/zero | tr '\0' 'a' > {{out.made}}{name}
    outputs: {{made: {{type: {kind}, path: made}}}}
  bad:
    shell: |
      given={{in.from}}{name}
      real=$(realpath "$given")
      touch -r "$real" "$TMPDIR/time"
      if ! test -e "$TMPDIR/written"; then
        {write}
      fi
      touch "$TMPDIR/written"
      echo bad > {{out.made}}
    inputs: {{from: {kind}}}
    outputs: {{made: {{type: file, path: made.txt}}}}
  wait:
    shell: |
      while ! test -e "$TMPDIR/written"; do sleep 0.01; done
      echo open > {{out.made}}
    outputs: {{made: {{type: file, path: made.txt}}}}
  good:
    shell: |
      tr -d '\n' < {{in.from}}{name} | tr -s a > {{out.made}}
      find -L {{in.from}} -type f -size +0 | wc -l >> {{out.made}}
    inputs: {{from: {kind}, opened: file}}
    outputs: {{made: {{type: file, path: made.txt}}}}
"#
    ))
}

/// What a task can do to a file that it reads.
const WRITES: [(&str, &str); 3] = [
    (
        "same size, time set back",
        r#"set +e; for f in "$given" "$real"; do printf b | dd of="$f" bs=1 conv=notrunc; touch -r "$TMPDIR/time" "$f"; done 2> /dev/null"#,
    ),
    (
        "another mode first",
        r#"set +e; for f in "$given" "$real"; do chmod 666 "$f"; printf b | dd of="$f" bs=1 conv=notrunc; touch -r "$TMPDIR/time" "$f"; done 2> /dev/null"#,
    ),
    (
        "append",
        r#"set +e; for f in "$given" "$real"; do chmod u+w "$f"; (printf b >> "$f"); done 2> /dev/null"#,
    ),
];

fn check_poison(user: User, ways: &[&str]) {
    let mut turn = 0;
    for (kind, name) in [("file", ""), ("directory", "/sub/x")] {
        for size in [9, LARGE] {
            for way in ways {
                // Each way meets each write.
                turn += 1;
                check_write(user, kind, name, size, way, WRITES[turn % WRITES.len()]);
            }
        }
    }
}

fn check_write(
    user: User,
    kind: &str,
    name: &str,
    size: usize,
    way: &str,
    (what, write): (&str, &str),
) {
    let case = format!("{user:?}, {kind} of {size} bytes, `{way}`, {what}");
    let place = poison(kind, name, size, write);
    let (code, report) = run(&place, user, way, &[]);
    assert_eq!(report.texts("good"), ["a1\n"], "{case}");
    is_sound(&place);
    let is_open = way == "check" && (user != User::Nobody || what != WRITES[0].0);
    if !is_open {
        assert_eq!(code, Some(0), "{case}");
        return;
    }
    assert_eq!(code, Some(1), "{case}");
    let said = "`from` changed while the task ran: it was written to, by this task or another; inputs are only there \
                to be read";
    assert_eq!(report.message("second.bad"), said, "{case}");
    // What was not remembered is made now, from what is right.
    let (code, report) = run(&place, user, way, &[]);
    assert_eq!(code, Some(0), "{case}");
    assert_eq!(report.texts("good"), ["a1\n"], "{case}");
    let good = report
        .trace()
        .into_iter()
        .find(|row| row["task"].starts_with("second.good"));
    assert_eq!(good.expect("a row")["state"], "reused", "{case}");
}

/// What a task does to a file and undoes, if it does, and what another one finds out about it meanwhile.
struct Change {
    change: &'static str,
    undo: &'static str,
    look: &'static str,
}

const CHANGES: [Change; 2] = [
    Change {
        change: r#"printf b | dd of="$real" bs=1 conv=notrunc"#,
        undo: r#"printf a | dd of="$real" bs=1 conv=notrunc"#,
        look: "head -c 1 {in.from}",
    },
    Change {
        change: r#"chmod 777 "$real""#,
        undo: "true",
        look: r#"printf "$(test -x {in.from} && echo b || echo a)""#,
    },
];

/// A task that writes other bytes to a file, and the right ones when somebody has read it; and the one that reads it,
/// which ends after that. `{file}` is the product that both are given, or a file of the user that the first is not.
fn change_and_undo(reads: &str, path: &str, size: usize, what: &Change) -> Place {
    let Change { change, undo, look } = what;
    Place::with_flow(&format!(
        r#"
headwater: 1
workflow: restore
inputs: {{item: file}}
stages:
  first:
    tasks: [{{op: make, out: {{made: product}}}}]
  second:
    tasks:
      - {{op: bad, in: {{from: product}}, out: {{made: bad}}}}
      - {{op: good, in: {{from: {reads}}}, out: {{made: good}}}}
outputs: {{bad: bad, good: good}}
operations:
  make:
    shell: "head -c {size} /dev/zero | tr '\\0' 'a' > {{out.made}}"
    outputs: {{made: {{type: file, path: made}}}}
  bad:
    shell: |
      real=$(realpath {path})
      if test -w "$real" && ! test -e "$TMPDIR/calm"; then
        while ! test -e "$TMPDIR/begun"; do sleep 0.01; done
        {change}
        touch "$TMPDIR/written"
        while ! test -e "$TMPDIR/read"; do sleep 0.01; done
        {undo}
      fi
      touch "$TMPDIR/written" "$TMPDIR/right"
      echo {{in.from}} > {{out.made}}
    inputs: {{from: file}}
    outputs: {{made: {{type: file, path: made.txt}}}}
  good:
    shell: |
      touch "$TMPDIR/begun"
      while ! test -e "$TMPDIR/written"; do sleep 0.01; done
      {look} > {{out.made}}
      touch "$TMPDIR/read"
      while ! test -e "$TMPDIR/right"; do sleep 0.01; done
    inputs: {{from: file}}
    outputs: {{made: {{type: file, path: made.txt}}}}
"#
    ))
}

/// A file that is right again when a task ends was not right while it read.
#[test]
fn what_was_read_between_a_change_and_its_undoing_is_not_remembered() {
    for (number, what) in CHANGES.iter().enumerate() {
        for (reads, path) in [("product", "{in.from}"), ("item", "\"$TMPDIR/../raw\"")] {
            for (size, way) in [9, LARGE]
                .iter()
                .flat_map(|size| WAYS.map(|way| (*size, way)))
            {
                let case = format!("{number}: {reads} of {size} bytes, `{way}`");
                let place = change_and_undo(reads, path, size, what);
                place.write("raw", &"a".repeat(size));
                place.write("data.yaml", "inputs: {item: raw}\n");
                let given = ["--inputs", "data.yaml"];
                let (_, first) = run(&place, User::Own, way, &given);
                fs::write(place.side().join("calm"), "").expect("a file");
                if reads == "item" {
                    let mode = fs::Permissions::from_mode(0o644);
                    fs::set_permissions(place.path("raw"), mode).expect("a mode");
                }
                let (code, second) = run(&place, User::Own, way, &given);
                assert_eq!(code, Some(0), "{case}");
                assert_eq!(second.texts("good"), ["a"], "{case}");
                let failed = first.failures();
                assert!(
                    way != "check" || failed.contains_key("second.good"),
                    "{case}"
                );
                is_sound(&place);
            }
        }
    }
}

/// Whoever takes the right to read a product away does not take the product away.
#[test]
fn a_product_that_nobody_may_read_any_more_is_made_again() {
    let flow = |script: &str| {
        format!(
            r#"
headwater: 1
workflow: shut
stages:
  first:
    tasks: [{{op: make, out: {{made: product}}}}]
  second:
    tasks: [{{op: use, in: {{from: product}}, out: {{made: used}}}}]
outputs: {{product: product, used: used}}
operations:
  make:
    shell: "echo product > {{out.made}}"
    outputs: {{made: {{type: file, path: made}}}}
  use:
    shell: |
      cat {{in.from}} > {{out.made}}
      {script}
    inputs: {{from: file}}
    outputs: {{made: {{type: file, path: made.txt}}}}
"#
        )
    };
    for user in users() {
        let place = Place::with_flow(&flow("chmod 000 \"$(realpath {in.from})\""));
        for _ in 0..2 {
            run(&place, user, "check", &[]);
        }
        place.write("flow.yaml", &flow("echo harmless"));
        let (code, report) = run(&place, user, "", &[]);
        assert_eq!(code, Some(0), "{user:?}");
        assert_eq!(report.texts("used"), ["product\n"], "{user:?}");
        assert_eq!(report.texts("product"), ["product\n"], "{user:?}");
    }
}

/// The program may have failed for what changed under it, so that is said too.
#[test]
fn a_program_that_fails_is_reported_with_what_changed_under_it() {
    let write = format!("{}; touch \"$TMPDIR/written\"; exit 3", WRITES[2].1);
    let place = poison("file", "", 9, &write);
    let (code, report) = run(&place, User::Own, "check", &[]);
    assert_eq!(code, Some(1));
    let said = report.message("second.bad");
    let begins = "ended with exit code 3; and `from` changed while the task ran:";
    assert!(said.starts_with(begins), "{said}");
}

/// Also before it is in the store: it is made again, and nobody waits for it.
#[test]
fn a_product_that_a_task_takes_away_is_made_again() {
    for instead in ["true", "mkfifo \"$real\"", "mkdir \"$real\""] {
        let place = poison("file", "", 9, &format!("rm -f \"$real\"; {instead}"));
        let (_, report) = run(&place, User::Own, "check", &[]);
        assert_eq!(report.texts("good"), ["a1\n"], "{instead}");
        is_sound(&place);
        let (code, report) = run(&place, User::Own, "check", &[]);
        assert_eq!(
            (code, report.texts("good")),
            (Some(0), vec!["a1\n".to_owned()]),
            "{instead}"
        );
    }
}

#[test]
fn a_task_that_writes_to_a_product_reaches_nobody_else() {
    check_poison(User::Own, &WAYS[..3]);
}

#[test]
fn nor_does_a_task_of_a_user_without_rights() {
    if User::Nobody.is_here() {
        check_poison(User::Nobody, &WAYS[..3]);
    }
}

#[test]
fn where_nothing_keeps_tasks_from_writing_what_was_written_to_is_made_again() {
    for user in users() {
        check_poison(user, &WAYS[3..]);
    }
}

#[test]
fn where_there_are_no_namespaces_larger_files_are_copied() {
    if User::Confined.is_here() {
        for way in ["", "mount"] {
            for (kind, name) in [("file", ""), ("directory", "/sub/x")] {
                check_write(User::Confined, kind, name, LARGE, way, WRITES[1]);
            }
        }
    }
}

/// One task that does this with the user's file or folder, which it finds at `{in.item}`.
fn one_task(kind: &str, script: &[&str], stdin: &str) -> Place {
    let place = Place::with_flow(&format!(
        r#"
headwater: 1
workflow: one
inputs: {{item: {kind}}}
stages:
  only:
    tasks: [{{op: append, in: {{item: item}}, out: {{made: made}}}}]
outputs: {{made: made}}
operations:
  append:
    shell: |
      {}
    stdin: "{stdin}"
    inputs: {{item: {kind}}}
    outputs: {{made: {{type: file, path: made.txt}}}}
"#,
        script.join("\n      ")
    ));
    place.write("data.yaml", "inputs: {item: raw}\n");
    place
}

/// One task that writes to the user's file in every way it knows, and goes on.
fn spoiling(kind: &str, name: &str) -> Place {
    let at = format!("{{in.item}}{name}");
    let script = [
        "set +e",
        &format!("(echo x >> {at}) 2> /dev/null"),
        &format!("(echo x >> \"$(realpath {at})\") 2> /dev/null"),
        "(echo x >> /dev/stdin) 2> /dev/null",
        &format!("head -c 1 {at} > {{out.made}}"),
    ];
    one_task(kind, &script, if kind == "file" { "{in.item}" } else { "" })
}

#[test]
fn a_task_that_writes_to_a_file_of_the_user_leaves_it_as_it_was() {
    for user in users() {
        for (kind, name) in [("file", ""), ("directory", "/sub/x")] {
            for size in [9, LARGE] {
                for way in WAYS {
                    let case = format!("{user:?}, {kind} of {size} bytes, `{way}`");
                    let place = spoiling(kind, name);
                    let raw = place.write(&format!("raw{name}"), &"a".repeat(size));
                    fs::set_permissions(&raw, fs::Permissions::from_mode(0o644)).expect("a mode");
                    let (code, report) = run(&place, user, way, &["--inputs", "data.yaml"]);
                    if way == "check" && kind == "file" {
                        let said = report.message("only.append");
                        assert!(said.ends_with("inputs are only there to be read"), "{said}");
                        continue;
                    }
                    assert_eq!(code, Some(0), "{case}");
                    assert_eq!(report.texts("made"), ["a"], "{case}");
                    assert_eq!(read(&raw), "a".repeat(size), "{case}");
                    let (_, report) = run(&place, user, way, &["--inputs", "data.yaml"]);
                    report.counts(1, 0, 1, 0);
                }
            }
        }
    }
}

/// The script has no namespace, and is what people are told to run after such a failure.
#[test]
fn nor_does_the_script_that_runs_a_task_again_change_it() {
    for (name, at) in [("", "{in.item}"), ("/sub/x", "{in.item}/sub/x")] {
        let kind = if name.is_empty() { "file" } else { "directory" };
        let script = [
            &*format!("echo x >> {at}"),
            &format!("wc -c < {at} > {{out.made}}"),
            "exit 3",
        ];
        let place = one_task(kind, &script, "");
        let raw = place.write(&format!("raw{name}"), &"a".repeat(LARGE));
        let report = place.run(&["--inputs", "data.yaml"], 1);
        let failures = report.failures();
        let folder = failures.values().next().map(|failure| &failure["folder"]);
        let folder = Path::new(folder.and_then(Value::as_str).expect("a folder"));
        for _ in 0..2 {
            let again = Command::new("sh").arg(folder.join(".again.sh")).output();
            let again = again.expect("sh can be started");
            assert_eq!(again.status.code(), Some(3), "{again:?}");
            assert_eq!(read(&raw), "a".repeat(LARGE));
        }
        let made: usize = read(&folder.join("made.txt"))
            .trim()
            .parse()
            .expect("a size");
        assert!(made > LARGE, "its own copy is written to");
    }
}

/// What an earlier task made of the modes of files is not what later ones see.
#[test]
fn a_task_that_makes_files_programs_makes_them_so_for_nobody_else() {
    for size in [9, LARGE] {
        for way in WAYS {
            let case = format!("{size} bytes, `{way}`");
            let place = Place::with_flow(
                r#"
headwater: 1
workflow: modes
inputs: {number: int, raw: file, folder: directory}
stages:
  only:
    tasks: [{op: look, in: {number: number, raw: raw, folder: folder}, out: {made: made}}]
outputs: {made: made}
operations:
  look:
    shell: |
      for f in tool {in.raw} {in.folder}/x; do
        if test {in.number} -eq 0 && ! test -e "$TMPDIR/calm"; then
          chmod 755 "$(realpath $f)" || true
        elif test -x $f; then
          printf program
        else
          printf data
        fi
      done > {out.made}
    uses: [tool]
    resources: {cores: 4}
    inputs: {number: int, raw: file, folder: directory}
    outputs: {made: {type: file, path: made}}
"#,
            );
            let files = ["tool", "raw", "folder/x"];
            let plain = || {
                for name in files {
                    let mode = fs::Permissions::from_mode(0o644);
                    fs::set_permissions(place.path(name), mode).expect("a mode");
                }
            };
            for name in files {
                place.write(name, &"a".repeat(size));
            }
            plain();
            let data = "inputs: {number: [0, 1, 2], raw: raw, folder: folder}\n";
            place.write("data.yaml", data);
            let given = ["--inputs", "data.yaml"];
            let (_, first) = run(&place, User::Own, way, &given);
            let made = first.texts("made");
            assert!(
                made.iter().all(|text| !text.contains("program")),
                "{case}: {made:?}"
            );
            plain();
            fs::write(place.side().join("calm"), "").expect("a file");
            let (code, second) = run(&place, User::Own, way, &given);
            assert_eq!(code, Some(0), "{case}");
            assert_eq!(second.texts("made")[1..], ["datadatadata"; 2], "{case}");
        }
    }
}

/// The script of a failed task has files of its own, also of products that were on their way to the store.
#[test]
fn nor_does_the_script_change_a_product() {
    for way in WAYS {
        for (kind, name) in [("file", ""), ("directory", "/sub/x")] {
            let write =
                "true; chmod -R u+w .; echo x >> \"$given\"; touch \"$TMPDIR/written\"; exit 3";
            let guarded = format!(
                "test -e \"$TMPDIR/again\" || {{ touch \"$TMPDIR/written\"; exit 3; }}; {write}"
            );
            let place = poison(kind, name, LARGE, &guarded);
            let (_, report) = run(&place, User::Own, way, &[]);
            let failures = report.failures();
            let folder = failures["second.bad"]["folder"].as_str().expect("a folder");
            fs::write(place.side().join("again"), "").expect("a file");
            for _ in 0..2 {
                fs::remove_file(place.side().join("written")).expect("it was written");
                let script = Path::new(folder).join(".again.sh");
                let again = Command::new("sh").arg(script).output();
                assert_eq!(
                    again.expect("sh can be started").status.code(),
                    Some(3),
                    "{way}, {kind}"
                );
            }
            is_sound(&place);
        }
    }
}

#[test]
fn a_task_that_writes_to_a_file_that_its_operation_uses_reaches_no_other_task() {
    for user in users() {
        for size in [9, LARGE] {
            for way in WAYS {
                let case = format!("{user:?}, {size} bytes, `{way}`");
                let place = Place::with_flow(
                    r#"
headwater: 1
workflow: state
inputs: {item: int}
stages:
  only:
    tasks: [{op: count, in: {item: item}, out: {made: made}}]
outputs: {made: made}
operations:
  count:
    shell: |
      : {in.item}
      given=$(realpath lib/state)
      set +e
      for f in lib/state "$given"; do chmod u+w "$f"; (echo x >> "$f"); done 2> /dev/null
      grep -c -v x lib/state > {out.made}
    uses: [lib]
    inputs: {item: int}
    outputs: {made: {type: file, path: made.txt}}
"#,
                );
                place.write("data.yaml", "inputs: {item: [1, 2, 3, 4]}\n");
                let state = format!("{}\n", "a".repeat(size));
                place.write("lib/state", &state);
                let (code, report) = run(&place, user, way, &["--inputs", "data.yaml"]);
                assert_eq!(place.read("lib/state"), state, "{case}");
                if way == "check" {
                    assert_eq!(code, Some(1), "{case}");
                    let said = report.message("only.count");
                    let ends = [
                        "`lib/state`, which the operation uses, changed while the task ran: it was written to, by \
                         this task or another; inputs are only there to be read",
                        "`lib/state`, which the operation uses, changed since the run began",
                    ];
                    assert!(ends.contains(&&*said), "{case}: {said}");
                    continue;
                }
                assert_eq!(code, Some(0), "{case}");
                assert_eq!(report.texts("made"), ["1\n"; 4], "{case}");
            }
        }
    }
}

/// A process that a task has left behind goes on with the file that was its output.
#[test]
fn what_a_task_leaves_running_does_not_change_what_it_made() {
    for size in [9, LARGE] {
        let place = Place::with_flow(&format!(
            r#"
headwater: 1
workflow: late
stages:
  first:
    tasks: [{{op: make, out: {{made: product}}}}]
  second:
    tasks: [{{op: read, in: {{from: product}}, out: {{made: made}}}}]
outputs: {{made: made, product: product}}
operations:
  make:
    shell: |
      head -c {size} /dev/zero | tr '\0' 'a' > {{out.made}}
      setsid sh -c 'while ! test -e "$TMPDIR/go"; do sleep 0.01; done; printf b; echo late > "$TMPDIR/late"' \
        1<> {{out.made}} < /dev/null 2> /dev/null &
    outputs: {{made: {{type: file, path: made}}}}
  read:
    shell: |
      touch "$TMPDIR/go"
      for i in $(seq 100); do test -e "$TMPDIR/late" || sleep 0.01; done
      tr -s a < {{in.from}} > {{out.made}}
    inputs: {{from: file}}
    outputs: {{made: {{type: file, path: made.txt}}}}
"#
        ));
        let (code, report) = run(&place, User::Own, "", &[]);
        assert_eq!(code, Some(0));
        assert_eq!(report.texts("made"), ["a"]);
        assert_eq!(report.texts("product"), ["a".repeat(size)]);
        is_sound(&place);
        let report = run(&place, User::Own, "", &[]).1.counts(2, 0, 2, 0);
        assert_eq!(report.texts("product"), ["a".repeat(size)]);
    }
}

#[test]
fn whether_a_used_file_may_be_executed_belongs_to_the_version() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: modes
stages:
  only:
    tasks: [{op: look, out: {made: made}}, {op: other, out: {made: same}}]
outputs: {made: made, same: same}
operations:
  look:
    shell: if test -x tool.sh; then echo program; else echo data; fi > {out.made}
    uses: [tool.sh]
    outputs: {made: {type: file, path: made.txt}}
  other:
    shell: cat tool.txt > {out.made}
    uses: [tool.txt]
    outputs: {made: {type: file, path: made.txt}}
"#,
    );
    let tool = place.write("tool.sh", "#!/bin/sh\n");
    place.write("tool.txt", "text\n");
    let mode = |mode| fs::set_permissions(&tool, fs::Permissions::from_mode(mode));
    for (bits, text, executed) in [
        (0o644, "data\n", 2),
        (0o755, "program\n", 1),
        (0o644, "data\n", 0),
        // Who may execute it is not a question of contents.
        (0o700, "program\n", 0),
    ] {
        mode(bits).expect("a mode");
        let report = place.run(&[], 0).counts(2, executed, 2 - executed, 0);
        assert_eq!(report.texts("made"), [text]);
    }
}

#[test]
fn what_python_writes_beside_its_scripts_stays_with_the_task() {
    if !ends_well({
        let mut python = Command::new("python3");
        python.arg("--version").stdout(Stdio::null());
        python
    }) {
        eprintln!("skipped: there is no `python3`");
        return;
    }
    for way in WAYS {
        let place = Place::with_flow(
            r#"
headwater: 1
workflow: python
inputs: {item: int}
stages:
  only:
    tasks: [{op: greet, in: {item: item}, out: {made: made}}]
outputs: {made: made}
operations:
  greet:
    shell: |
      python3 scripts/main.py {in.item} > {out.made}
      ls -d scripts/__pycache__ >> "$TMPDIR/caches" 2> /dev/null || true
    uses: [scripts]
    inputs: {item: int}
    outputs: {made: {type: file, path: made.txt}}
"#,
        );
        place.write("data.yaml", "inputs: {item: [1, 2, 3]}\n");
        place.write(
            "scripts/main.py",
            "import sys\nimport helper\nhelper.greet(sys.argv[1])\n",
        );
        place.write(
            "scripts/helper.py",
            "def greet(who):\n    print('hello', who)\n",
        );
        let before = contents(&place.path("scripts"));
        let (code, report) = run(&place, User::Own, way, &["--inputs", "data.yaml"]);
        assert_eq!(code, Some(0), "`{way}`");
        let texts = report.texts("made");
        assert_eq!(texts, ["hello 1\n", "hello 2\n", "hello 3\n"], "`{way}`");
        assert_eq!(contents(&place.path("scripts")), before);
        if way.is_empty() {
            assert_eq!(place.told("caches").len(), 3, "each task has its own");
        }
    }
}

/// Inside its namespace a program finds what it would find anywhere, and what it gives back is what it was given.
#[test]
fn inputs_that_are_given_back_are_what_was_given() {
    for way in WAYS {
        for size in [9, LARGE] {
            let place = Place::with_flow(&format!(
                r#"
headwater: 1
workflow: back
inputs: {{mine: file}}
stages:
  first:
    tasks: [{{op: make, out: {{made: product, one: one}}}}]
  second:
    tasks:
      - op: back
        in: {{from: product, one: one, mine: mine}}
        out: {{linked: linked, moved: moved, copied: copied, single: single, own: own}}
outputs: {{linked: linked, moved: moved, copied: copied, single: single, own: own}}
operations:
  make:
    shell: |
      mkdir -p {{out.made}}/sub
      head -c {size} /dev/zero | tr '\0' 'a' > {{out.made}}/sub/x
      head -c {size} /dev/zero | tr '\0' 'b' > {{out.one}}
    outputs: {{made: {{type: directory, path: made}}, one: {{type: file, path: one}}}}
  back:
    shell: |
      set -e
      test "$(find {{in.from}} -type f | wc -l)" = 1
      test "$(stat -L -c %s {{in.from}}/sub/x {{in.one}} | sort -u)" = {size}
      test "$(stat -L -c %a {{in.from}}/sub/x {{in.one}} | sort -u)" = 444
      ln -s {{in.from}}/sub/x {{out.linked}}
      cp -r {{in.from}} {{out.copied}}
      ln -s "$(realpath {{in.one}})" {{out.single}}
      ln -s {{in.mine}} {{out.own}}
      mv {{in.from}} {{out.moved}}
    inputs: {{from: directory, one: file, mine: file}}
    outputs:
      linked: {{type: file, path: linked}}
      moved: {{type: directory, path: moved}}
      copied: {{type: directory, path: copied}}
      single: {{type: file, path: single}}
      own: {{type: file, path: own}}
"#
            ));
            place.write("mine.txt", &"m".repeat(size));
            place.write("data.yaml", "inputs: {mine: mine.txt}\n");
            // A link into a folder that was moved leads nowhere, whatever the way.
            let flow = place.read("flow.yaml");
            let without = |name: &str| {
                let lines = flow.lines();
                let other = |line: &&str| !line.contains(&format!("{{out.{name}}}"));
                lines.filter(other).collect::<Vec<_>>().join("\n") + "\n"
            };
            for (left_out, flow) in [("moved", without("moved")), ("linked", without("linked"))] {
                let optional = |line: &str| {
                    if line.starts_with(&format!("      {left_out}: ")) {
                        line.replace("}", ", optional: true}")
                    } else {
                        line.to_owned()
                    }
                };
                let flow: Vec<String> = flow.lines().map(optional).collect();
                place.write("flow.yaml", &(flow.join("\n") + "\n"));
                let case = format!("`{way}`, {size} bytes, without {left_out}");
                let (code, report) = run(&place, User::Own, way, &["--inputs", "data.yaml"]);
                assert_eq!(code, Some(0), "{case}: {}", report.0);
                let (a, b, m) = ("a".repeat(size), "b".repeat(size), "m".repeat(size));
                assert_eq!(report.texts("single"), [b], "{case}");
                assert_eq!(report.texts("own"), [m], "{case}");
                let copied = &report.files("copied")[""];
                assert_eq!(read(&copied.join("sub/x")), a, "{case}");
                match left_out {
                    "moved" => assert_eq!(report.texts("linked"), [a], "{case}"),
                    _ => {
                        let moved = &report.files("moved")[""];
                        assert_eq!(read(&moved.join("sub/x")), a, "{case}");
                    }
                }
            }
        }
    }
}

/// Somebody renames the folder of a file while a task reads it, puts another one in its place, and undoes that: what
/// the task reads is the file that it was given. Where files are only looked at afterwards this cannot be seen
/// (`docs/programs.md`).
#[test]
fn a_task_reads_the_file_that_it_was_given_whatever_gets_its_name() {
    let swap = [
        r#"cd "$TMPDIR/..""#,
        "mv raw kept",
        "mkdir raw",
        "head -c 3145728 /dev/zero | tr '\\0' b > raw/x",
        "cd - > /dev/null",
        "head -c 1 {in.item}NAME > {out.made}",
        r#"cd "$TMPDIR/..""#,
        "rm -r raw",
        "mv kept raw",
    ];
    for user in users() {
        for way in ["", "mount", "copy"] {
            for (kind, name, data) in [("file", "", "raw/x"), ("directory", "/x", "raw")] {
                let case = format!("{user:?}, {kind}, `{way}`");
                let script = swap.map(|line| line.replace("NAME", name));
                let script: Vec<&str> = script.iter().map(String::as_str).collect();
                let place = one_task(kind, &script, "");
                place.write("data.yaml", &format!("inputs: {{item: {data}}}\n"));
                place.write("raw/x", &"a".repeat(LARGE));
                let (code, report) = run(&place, user, way, &["--inputs", "data.yaml"]);
                assert_eq!(code, Some(0), "{case}: {:?}", report.failures());
                assert_eq!(report.texts("made"), ["a"], "{case}");
            }
        }
    }
}

/// What is in the place of the folder of a task is not taken for its folder: a file of the user there stays.
#[test]
fn nothing_is_taken_from_what_a_task_puts_in_the_place_of_its_folder() {
    for (ends, replaced) in [
        ("exit 0", "made.txt"),
        ("exit 3", ".stderr"),
        ("exit 3", ".again.sh"),
    ] {
        let script = [
            "here=$PWD",
            r#"mv "$here" "$here.moved""#,
            r#"ln -s "$(realpath "$TMPDIR/../precious")" "$here""#,
            "echo said >&2",
            ends,
        ];
        let place = one_task("file", &script, "");
        place.write("raw", "a");
        let precious = place.write(&format!("precious/{replaced}"), "the user's own");
        let (code, report) = run(&place, User::Own, "", &["--inputs", "data.yaml"]);
        assert_eq!(code, Some(1), "{replaced}");
        let said = report.message("only.append");
        assert!(said.contains("in the place of the folder"), "{said}");
        assert_eq!(read(&precious), "the user's own", "{replaced}");
        assert_eq!(contents(&place.path("precious")).len(), 1, "{replaced}");
    }
}

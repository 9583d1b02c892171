//! A limit on disk holds, and is never a reason to fail for what may go: what a killed run has left, intermediates,
//! logs, and pictures for a report.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Child;

use headwater::StorePlace;

use crate::place::{Place, read};

/// The limit of most tests here.
const LIMIT: u64 = 1_000_000;

/// Two intermediates of 400 kB, one made from the other, and an output of 300 kB. All three fit into no limit of a
/// megabyte. A program that finds a file with its name waits beside it to be killed.
const FLOW: &str = r#"
headwater: 1
workflow: disk
parameters: {times: {type: int, range: [1, 4], step: 1, default: 1}}
stages:
  first:
    tasks: [{op: first, out: {file: one}}]
  second:
    tasks: [{op: second, in: {file: one}, out: {file: two}}]
  third:
    tasks: [{op: third, in: {file: two}, out: {file: three}}]
  count:
    tasks: [{op: count, in: {file: three}, params: {times: $times}, out: {number: number}}]
outputs: {file: three, number: number}
operations:
  first:
    shell: |
      head -c 400000 /dev/zero | tr '\0' a > {out.file}
    outputs: {file: {type: file, path: made, keep: true}}
  second:
    shell: |
      while [ -e "$TMPDIR/second" ]; do touch "$TMPDIR/waits"; sleep 0.01; done
      tr a b < {in.file} > {out.file}
    inputs: {file: file}
    outputs: {file: {type: file, path: made, keep: true}}
  third:
    shell: |
      while [ -e "$TMPDIR/third" ]; do touch "$TMPDIR/waits"; sleep 0.01; done
      head -c 300000 {in.file} | tr b c > {out.file}
    inputs: {file: file}
    outputs: {file: {type: file, path: made}}
  count:
    shell: echo $(( $(wc -c < {in.file}) * {param.times} )) > {out.number}
    inputs: {file: file}
    params: {times: int}
    outputs: {number: {type: int, path: number}}
"#;

const STUDY: &str = "
headwater: 1
study: disk
workflow: flow.yaml
objective: number
method: {moat: {trajectories: 2, levels: 4}}
";

/// The bytes of the plain files below a folder.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let bytes = |entry: fs::DirEntry| {
        if entry.file_type().expect("a kind").is_dir() {
            bytes_below(&entry.path())
        } else {
            entry.metadata().expect("a file").len()
        }
    };
    entries.map(|entry| bytes(entry.expect("an entry"))).sum()
}

fn object_bytes(place: &Place) -> u64 {
    bytes_below(&place.path(".headwater/objects"))
}

/// The bytes of the logs of all runs.
fn log_bytes(place: &Place) -> u64 {
    let Ok(runs) = fs::read_dir(place.path(".headwater/runs")) else {
        return 0;
    };
    let logs = |run: fs::DirEntry| bytes_below(&run.path().join("logs"));
    runs.map(|run| logs(run.expect("a folder"))).sum()
}

/// The bytes of the objects that have a record.
fn listed_bytes(place: &Place) -> u64 {
    let url = place.path(".headwater").to_str().map(str::to_owned);
    let read_only = true;
    let store = headwater::open_store(
        &StorePlace {
            url,
            read_only,
            ..StorePlace::default()
        },
        place.root(),
    );
    store.map_or(0, |store| store.object_bytes().unwrap_or(0))
}

/// Starts a command, and kills it while this program waits and so many bytes have a record.
fn kill_at(place: &Place, command: &[&str], program: &str, kept: u64) {
    let (waits, stop) = (place.side().join("waits"), place.side().join(program));
    let _ = fs::remove_file(&waits);
    fs::write(&stop, "").expect("a file");
    let mut child = place.start(command);
    while !waits.exists() || listed_bytes(place) < kept {
        let ended = child.try_wait().expect("it can be waited for");
        assert!(ended.is_none(), "it ended before it was killed");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
    fs::remove_file(&stop).expect("it was there");
}

/// What a run was killed over is no reason for the next one to fail, wherever that was and however often.
#[test]
fn a_killed_run_goes_on_within_its_limit() {
    let limit = LIMIT.to_string();
    let run = ["run", "flow.yaml", "--disk", &limit];
    let study = [
        "study",
        "run",
        "study.yaml",
        "--deliver",
        "file",
        "--disk",
        &limit,
    ];
    for command in [&run[..], &study[..]] {
        for kills in [&["second"][..], &["third"], &["second", "third", "third"]] {
            let place = Place::with_flow(FLOW);
            place.write("study.yaml", STUDY);
            for program in kills {
                kill_at(&place, command, program, 400_000);
            }
            place.headwater(command).ended(0);
            assert!(object_bytes(&place) <= LIMIT, "{command:?}, {kills:?}");
            // The output is there, and whole.
            let delivered = bytes_below(&place.last().join("file"));
            let delivered = delivered.max(bytes_below(&place.last()));
            assert!(delivered >= 300_000, "{command:?}, {kills:?}");
            let again = place.headwater(command).ended(0);
            assert!(!again.stderr.contains("does not fit"), "{}", again.stderr);
        }
    }
}

/// A run that has nothing to do keeps to its limit as well; what it uses stays, and that is told.
#[test]
fn a_run_that_reuses_everything_keeps_to_its_limit() {
    let run = ["run", "flow.yaml", "--disk"];
    let study = ["study", "run", "study.yaml", "--deliver", "file", "--disk"];
    for command in [&run[..], &study] {
        let place = Place::with_flow(FLOW);
        place.write("study.yaml", STUDY);
        place.headwater(&[command, &["100MB"]].concat()).ended(0);
        assert!(object_bytes(&place) > LIMIT, "{command:?}");
        let again = place.headwater(&[command, &[&LIMIT.to_string()]].concat());
        let again = again.ended(0);
        assert!(object_bytes(&place) <= LIMIT, "{command:?}");
        assert!(!again.stderr.contains("--disk"), "{}", again.stderr);
        let again = place.headwater(&[command, &["200000"]].concat()).ended(0);
        again.says(&["more than the 200000 that --disk allows"]);
        assert!(object_bytes(&place) >= 300_000, "{command:?}");
        // It is there, and whole.
        assert!(bytes_below(&place.last()) >= 300_000, "{command:?}");
    }
}

/// Files that have the name of an object and no record are what a process left that was killed while it placed them.
#[test]
fn objects_that_no_record_names_make_room() {
    let place = Place::with_flow(FLOW);
    let folder = place.path(".headwater/objects/ab");
    fs::create_dir_all(&folder).expect("a folder");
    let orphan = folder.join("c".repeat(62));
    fs::write(&orphan, vec![0; 600_000]).expect("a file");
    place.run(&["--disk", &LIMIT.to_string()], 0);
    assert!(!orphan.exists());
    assert!(object_bytes(&place) <= LIMIT);
}

/// Outputs come before intermediates: those that are in the way are made again when they are needed.
#[test]
fn an_output_pushes_out_what_the_run_has_made_on_its_way() {
    let place = Place::with_flow(FLOW);
    // The first intermediate and the output do not fit together.
    place.run(&["--disk", "600000"], 0);
    assert!(object_bytes(&place) <= 600_000);
    let ran = place.headwater(&["run", "flow.yaml", "--disk", "299999"]);
    // What is kept already is not made again, so that nothing has to fit.
    ran.ended(0);
    let place = Place::with_flow(FLOW);
    let ran = place.headwater(&["run", "flow.yaml", "--disk", "299999"]);
    ran.ended(1)
        .says(&["an output of 300000 bytes does not fit"]);
}

/// An intermediate and an output of 700 kB for each letter; with a file of its name beside it, the program that makes
/// the last output waits.
pub(crate) const LETTERS: &str = r#"
headwater: 1
workflow: letters
inputs: {letter: text}
stages:
  make:
    tasks: [{op: make, in: {letter: letter}, out: {file: made}}]
  last:
    tasks: [{op: last, in: {letter: letter, file: made}, out: {text: text}}]
outputs: {file: made, text: text}
operations:
  make:
    shell: |
      head -c 700000 /dev/zero | tr '\0' {in.letter} > {out.file}
    inputs: {letter: text}
    outputs: {file: {type: file, path: made}}
  last:
    shell: |
      while [ -e "$TMPDIR/stop-"{in.letter} ]; do sleep 0.01; done
      wc -c < {in.file} > {out.text}
    inputs: {letter: text, file: file}
    outputs: {text: {type: text, path: text}}
"#;

/// Whether that number of bytes has a record and, if that is asked, a run waits for room.
fn is_so(place: &Place, bytes: u64, waits: bool) -> bool {
    let url = place.path(".headwater").to_str().map(str::to_owned);
    let read_only = true;
    let store = headwater::open_store(
        &StorePlace {
            url,
            read_only,
            ..StorePlace::default()
        },
        place.root(),
    );
    store.is_ok_and(|store| {
        let others = store.neighbours("").unwrap_or_default();
        let is_waiting = others.iter().any(|other| other.waits);
        store.object_bytes().unwrap_or(0) >= bytes && (is_waiting || !waits)
    })
}

/// The run of this letter, within the limit.
fn run_of(letter: &str) -> Vec<String> {
    let words = format!("run flow.yaml --inputs {letter}.yaml -o out-{letter} --disk {LIMIT}");
    words.split(' ').map(str::to_owned).collect()
}

/// A run of `a` that holds its room until the file of the last part is removed, and one of `b` that waits for it.
fn one_holds_and_one_waits() -> (Place, [Child; 2], std::path::PathBuf) {
    let place = Place::with_flow(LETTERS);
    place.write("a.yaml", "inputs: {letter: a}\n");
    place.write("b.yaml", "inputs: {letter: b}\n");
    let stop = place.side().join("stop-a");
    fs::write(&stop, "").expect("a file");
    let until = |child: &mut Child, waits: bool| {
        while !is_so(&place, 700_000, waits) {
            assert!(child.try_wait().expect("it is there").is_none(), "it waits");
            assert!(object_bytes(&place) <= LIMIT);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    let mut first = place.start(&run_of("a"));
    until(&mut first, false);
    let mut second = place.start(&run_of("b"));
    until(&mut second, true);
    (place, [first, second], stop)
}

/// What another run holds is no reason to fail: the second waits until it has gone, says so, and goes on.
#[test]
fn a_run_waits_for_the_room_that_another_one_holds() {
    let (place, [mut first, mut second], stop) = one_holds_and_one_waits();
    fs::remove_file(&stop).expect("it was there");
    for (child, letter) in [(&mut first, "a"), (&mut second, "b")] {
        assert!(child.wait().expect("it ends").success(), "{letter}");
        assert!(bytes_below(&place.path(&format!("out-{letter}"))) >= 700_000);
    }
    assert!(object_bytes(&place) + log_bytes(&place) <= LIMIT);
}

/// Two outputs with the same bytes are one object, and take the room of one.
#[test]
fn equal_outputs_count_once() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: equal
inputs: {item: int}
stages:
  make:
    tasks: [{op: make, in: {item: item}, out: {file: file}}]
outputs: {file: file}
operations:
  make:
    shell: |
      : {in.item}
      head -c 600000 /dev/zero > {out.file}
    inputs: {item: int}
    outputs: {file: {type: file, path: made}}
"#,
    );
    place.write("data.yaml", "inputs: {item: [1, 2, 3]}\n");
    let limit = LIMIT.to_string();
    let report = place.run(&["--inputs", "data.yaml", "--disk", &limit], 0);
    assert_eq!(report.files("file").len(), 3);
    assert_eq!(object_bytes(&place), 600_000);
}

/// The answer is there, whether or not it can be illustrated.
#[test]
fn examples_that_do_not_fit_are_told_and_nothing_fails() {
    let place = crate::study_run::small_nuclei();
    let arguments = ["study", "run", "nuclei/study.yaml", "-o", "results"];
    // A mask of the tile has 9 kB.
    let ran = place.headwater(&[&arguments[..], &["--disk", "5000"]].concat());
    let ran = ran.ended(0).says(&["there are no examples", "--disk"]);
    assert!(!ran.stderr.contains("error"), "{}", ran.stderr);
    assert!(object_bytes(&place) <= 5000);
    assert!(place.path("results/results.json").is_file());
    let report = place.read("results/report.html");
    assert!(
        report.contains("there are no examples"),
        "the report says so"
    );
    let shown = place
        .headwater(&["runs", "show", "--json"])
        .ended(0)
        .report();
    assert_eq!(shown.0["status"], "done");
}

/// A program that says much, one that says it where the workflow wants it, and one that says it and fails.
const LOUD: &str = r#"
headwater: 1
workflow: loud
inputs: {item: int}
stages:
  say:
    tasks: [{op: OPERATION, in: {item: item}, out: {file: file}}]
outputs: {file: file}
operations:
  loud:
    shell: |
      echo first word; head -c BYTES /dev/zero | tr '\0' o; echo; echo last word
      (echo first warning; head -c BYTES /dev/zero | tr '\0' e; echo; echo last warning) >&2
      echo {in.item} > {out.file}
    inputs: {item: int}
    outputs: {file: {type: file, path: made}}
  product:
    shell: |
      : {in.item}
      head -c BYTES /dev/zero | tr '\0' o
    stdout: said
    inputs: {item: int}
    outputs: {file: {type: file, path: said}}
  failing:
    shell: |
      (echo first warning {in.item}; head -c BYTES /dev/zero | tr '\0' e; echo; echo last warning) >&2
      exit 3
    inputs: {item: int}
    outputs: {file: {type: file, path: made}}
"#;

fn loud(operation: &str, bytes: u64, items: &str) -> Place {
    let flow = LOUD.replace("OPERATION", operation);
    let place = Place::with_flow(&flow.replace("BYTES", &bytes.to_string()));
    place.write("data.yaml", &format!("inputs: {{item: [{items}]}}\n"));
    place
}

/// The logs of the latest run.
fn logs(place: &Place) -> Vec<std::path::PathBuf> {
    let shown = place
        .headwater(&["runs", "show", "--json"])
        .ended(0)
        .report();
    let folder = shown.0["files"]["logs"].as_str().map(str::to_owned);
    let Some(folder) = folder else {
        return Vec::new();
    };
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    paths
}

#[test]
fn of_what_a_program_says_the_beginning_and_the_end_are_kept() {
    let bytes = 5 << 20;
    let place = loud("loud", bytes, "1");
    place.run(&["--inputs", "data.yaml"], 0);
    let found = logs(&place);
    assert_eq!(found.len(), 2, "{found:?}");
    for (path, word) in found.iter().zip(["warning", "word"]) {
        let text = read(path);
        let most = 2 << 20;
        assert!(
            text.len() > most && text.len() < most + 100,
            "{}",
            text.len()
        );
        assert!(text.starts_with(&format!("first {word}\n")));
        assert!(text.ends_with(&format!("\nlast {word}\n")));
        let said = bytes as usize + format!("first {word}\n\nlast {word}\n").len();
        let line = format!("\n[{} bytes left out]\n", said - most);
        assert!(text.contains(&line), "{line}");
    }
    // What is declared as an output is a product, and whole.
    let place = loud("product", bytes, "1");
    let report = place.run(&["--inputs", "data.yaml"], 0);
    let product = fs::metadata(&report.files("file")["0"]).expect("a file");
    assert_eq!(product.len(), bytes);
    assert!(logs(&place).is_empty());
}

#[test]
fn a_failure_tells_the_end_of_what_was_said_however_much_that_was() {
    let place = loud("failing", 5 << 20, "1");
    let report = place.run(&["--inputs", "data.yaml"], 1);
    let failure = &report.failures()["say.failing[0]"];
    let told = failure["stderr"].as_str().expect("a text");
    assert!(told.ends_with("last warning\n"), "{told}");
    let folder = failure["folder"].as_str().expect("a folder");
    let said = fs::metadata(Path::new(folder).join(".stderr")).expect("a file");
    assert!(said.len() < (2 << 20) + 100);
    assert!(Path::new(folder).join(".stdout").is_file());
}

/// Logs count for the limit, and go before anything fails.
#[test]
fn logs_make_room() {
    let items: Vec<String> = (0..8).map(|item| item.to_string()).collect();
    let place = loud("loud", 100_000, &items.join(", "));
    let limit = LIMIT.to_string();
    let arguments = ["--inputs", "data.yaml", "--disk", &limit];
    // They say 1.6 MB.
    place.run(&arguments, 0).counts(8, 8, 0, 0);
    assert!(object_bytes(&place) + log_bytes(&place) <= LIMIT);
    assert!(log_bytes(&place) > 0, "what fits is kept");
    // Those of a run that has ended make room for an output.
    let other = LOUD.replace("OPERATION", "product");
    place.write("other.yaml", &other.replace("BYTES", "950000"));
    place.write("one.yaml", "inputs: {item: 1}\n");
    place
        .headwater(&[
            "run",
            "other.yaml",
            "--inputs",
            "one.yaml",
            "--disk",
            &limit,
        ])
        .ended(0);
    assert!(object_bytes(&place) >= 950_000);
    assert!(object_bytes(&place) + log_bytes(&place) <= LIMIT);
}

#[test]
fn logs_are_collected() {
    let place = loud("loud", 100_000, "1, 2");
    place.run(&["--inputs", "data.yaml"], 0);
    let before = log_bytes(&place);
    assert!(before > 400_000);
    let gc = ["products", "gc", "--max", "100000", "--json"];
    let plan = place.headwater(&[&gc[..], &["--dry-run"]].concat());
    let plan = plan.ended(0).report();
    assert_eq!(log_bytes(&place), before);
    let done = place.headwater(&gc).ended(0).report();
    assert_eq!(done.number("log_bytes"), plan.number("log_bytes"));
    assert_eq!(done.number("left_bytes"), plan.number("left_bytes"));
    assert_eq!(done.number("log_bytes") as u64, before);
    assert_eq!(log_bytes(&place), 0);
    // Objects of a few bytes were not in the way.
    assert_eq!(done.number("objects"), 0);
    let place = loud("loud", 100_000, "1");
    place.run(&["--inputs", "data.yaml"], 0);
    let ran = place.headwater(&["products", "gc", "--max", "0"]).ended(0);
    assert!(ran.stdout.contains("of logs are gone"), "{}", ran.stdout);
    assert_eq!(object_bytes(&place) + log_bytes(&place), 0);
}

/// What a program says must not act on the terminal on which somebody reads our files.
#[test]
fn files_for_people_have_no_control_characters() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: noise
inputs: {name: text}
stages:
  fail:
    tasks: [{op: fail, in: {name: name}, out: {file: file}}]
  pass:
    tasks: [{op: pass, in: {name: name}, out: {text: text}}]
outputs: {file: file, text: text}
operations:
  fail:
    shell: |
      : {in.name}
      printf '\033[2J\033]0;owned\007 gone\r\n' >&2
      printf 'exe\342\200\256txt.\342\201\246\342\200\217\330\234 said\n' >&2
      exit 1
    inputs: {name: text}
    outputs: {file: {type: file, path: made}}
  pass:
    shell: |
      printf '%s\033[31m' {in.name} > {out.text}
    inputs: {name: text}
    outputs: {text: {type: text, path: text}}
"#,
    );
    place.write(
        "data.yaml",
        "inputs: {name: [\"a\\e[1mb\", \"turned\\u202eround\", plain]}\n",
    );
    let ran = place.headwater(&["run", "flow.yaml", "--inputs", "data.yaml"]);
    let ran = ran.ended(1);
    let turns = |sign: char| matches!(sign, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let acts = |sign: char| (sign.is_control() && !matches!(sign, '\n' | '\t')) || turns(sign);
    assert!(!ran.stderr.contains(acts), "{:?}", ran.stderr);
    assert!(!ran.stdout.contains(acts), "{:?}", ran.stdout);
    let folder = place.last();
    for name in ["failures.txt", "trace.tsv", "inputs.yaml", "report.html"] {
        let text = read(&folder.join(name));
        assert!(!text.contains(acts), "{name}: {text:?}");
    }
    // A table of values has the values as they are.
    let table = read(&folder.join("outputs.csv"));
    assert!(table.contains("plain\u{1b}[31m"), "{table:?}");
    assert!(table.contains("turned\u{202e}round"), "{table:?}");
    let failures = read(&folder.join("failures.txt"));
    assert!(
        failures.contains("\\u{1b}[2J\\u{1b}]0;owned\\u{7} gone"),
        "{failures}"
    );
    // The log has the bytes as they were.
    let line = failures.lines().find(|line| line.contains("folder:"));
    let kept = line
        .and_then(|line| line.split_once(':'))
        .expect("a folder");
    let said = fs::read(Path::new(kept.1.trim()).join(".stderr")).expect("a log");
    assert!(
        said.starts_with(b"\x1b[2J\x1b]0;owned\x07 gone\r\n"),
        "{said:?}"
    );
}

/// Files that are delivered belong to the user: they have the modes of any new file, and can be changed without harm.
#[test]
fn delivered_files_honour_the_umask() {
    let place = Place::with_flow(
        r#"
headwater: 1
workflow: modes
stages:
  make:
    tasks: [{op: make, out: {plain: plain, program: program, folder: folder}}]
outputs: {plain: plain, program: program, folder: folder}
operations:
  make:
    shell: |
      echo plain > {out.plain}
      echo program > {out.program}
      chmod 700 {out.program}
      mkdir -p {out.folder}/below
      cp {out.plain} {out.folder}/below/plain
      cp {out.program} {out.folder}/program
    outputs:
      plain: {type: file, path: plain}
      program: {type: file, path: program}
      folder: {type: directory, path: folder}
"#,
    );
    for (umask, plain, program) in [
        ("077", 0o600, 0o700),
        ("027", 0o640, 0o750),
        ("002", 0o664, 0o775),
    ] {
        let folder = format!("umask-{umask}");
        let command = place.command(&["run", "flow.yaml", "-o", &folder]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("umask {umask}; exec \"$@\""), "sh"]);
        shell.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let ended = shell.current_dir(place.root()).status().expect("it runs");
        assert!(ended.success());
        let mode = |name: &str| {
            let found = fs::metadata(place.path(&folder).join(name)).expect(name);
            found.permissions().mode() & 0o777
        };
        for name in [
            "plain",
            "folder/below/plain",
            "outputs.csv",
            "report.html",
            "trace.tsv",
        ] {
            assert_eq!(mode(name), plain, "{umask}: {name}");
        }
        for name in ["program", "folder/program", "folder", "folder/below", ""] {
            assert_eq!(mode(name), program, "{umask}: {name}");
        }
        // It is a file of its own.
        let delivered = place.path(&folder).join("plain");
        assert_eq!(fs::metadata(&delivered).expect("a file").nlink(), 1);
        fs::write(&delivered, "mine").expect("it can be written to");
    }
    place.headwater(&["products", "verify"]).ended(0);
}

/// Who is stopped while it waits is stopped: it says so, and the same command goes on in the same folder.
#[test]
fn a_run_that_is_stopped_while_it_waits_for_room_can_be_given_again() {
    let (place, [mut first, second], stop) = one_holds_and_one_waits();
    crate::interrupt::signal(&second, libc::SIGINT);
    let ran = crate::place::Ran::from(second.wait_with_output().expect("it ends"));
    let ran = ran.ended(1);
    let said = "stopped before it was done";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    // Each task is counted once, here and there.
    let shown = place.headwater(&["runs", "show", "last"]).ended(0).stdout;
    let left = |text: &str| text.contains("not reached");
    assert_eq!(left(&shown), left(&ran.stdout), "{shown}{}", ran.stdout);
    fs::remove_file(&stop).expect("it was there");
    assert!(first.wait().expect("it ends").success());
    place.headwater(&run_of("b")).ended(0);
    assert!(bytes_below(&place.path("out-b")) >= 700_000);
}

/// Objects that a study has only used on its way do not stay: at its end the store keeps to the limit.
#[test]
fn what_a_study_found_and_used_goes_at_its_end() {
    let place = Place::with_flow(
        "
headwater: 1
workflow: steps
parameters:
  p: {type: int, default: 1, range: [1, 20], step: 1}
  q: {type: int, default: 1, range: [1, 2], step: 1}
stages:
  large:
    tasks: [{op: large, params: {p: $p}, out: {file: file}}]
  small:
    tasks: [{op: small, in: {file: file}, params: {q: $q}, out: {y: y}}]
outputs: {y: y}
operations:
  large:
    shell: head -c 200000 /dev/zero | tr '\\0' a > {out.file}; echo {param.p} >> {out.file}
    params: {p: int}
    outputs: {file: {type: file, path: file, keep: true}}
  small:
    shell: echo $(tail -n 1 {in.file})$(wc -l < {in.file}) | tr -d a > {out.y}; true {param.q}
    inputs: {file: file}
    params: {q: int}
    outputs: {y: {type: float, path: y}}
",
    );
    let table = |q: u32| {
        let rows: String = (1..=20).map(|p| format!("{p},{q}\n")).collect();
        place.write("sets.csv", &format!("p,q\n{rows}"));
    };
    place.write(
        "study.yaml",
        "headwater: 1\nstudy: s\nworkflow: flow.yaml\nobjective: y\nmethod: {table: sets.csv}\n",
    );
    table(1);
    place.headwater(&["study", "run", "study.yaml"]).ended(0);
    assert!(object_bytes(&place) > 3_000_000);
    table(2);
    let limit = LIMIT.to_string();
    let ran = place.headwater(&["study", "run", "study.yaml", "--disk", &limit]);
    let ran = ran.ended(0);
    assert!(ran.stdout.contains("20 executed"), "{}", ran.stdout);
    assert!(object_bytes(&place) + log_bytes(&place) <= LIMIT);
}

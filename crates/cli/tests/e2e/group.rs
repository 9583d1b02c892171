//! A store for a group, by the command: what one has made, others reuse; who may do what; and what happens when the
//! server is away. With a real PostgreSQL; without one these tests skip and say so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::{Place, Ran, Report};

#[path = "../../../group/tests/store/server.rs"]
pub(crate) mod server;

/// Two tasks for each file; each of them says that it ran.
const FLOW: &str = r#"
headwater: 1
workflow: shout
inputs: {file: file}
parameters: {more: {type: text, default: "!"}}
stages:
  shout:
    tasks:
      - {op: large, in: {file: file}, out: {file: large}}
      - {op: more, in: {file: large}, params: {more: $more}, out: {file: shouted}}
outputs: {shouted: shouted}
operations:
  large:
    shell: tr a-z A-Z < {in.file} > {out.file}; head -c 40000 /dev/zero >> {out.file}
    inputs: {file: file}
    outputs: {file: {type: file, path: large}}
  more:
    shell: (head -n 1 {in.file}; echo {param.more}) > {out.file}
    inputs: {file: file}
    params: {more: text}
    outputs: {file: {type: file, path: more}}
"#;

/// A folder with the workflow and its data, and no store.
fn place() -> Place {
    let place = Place::with_flow(FLOW);
    for number in 0..4 {
        place.write(&format!("in/{number}.txt"), &format!("word {number}\n"));
    }
    place.write("data.yaml", "inputs: {file: in/*.txt}\n");
    place
}

/// A command in a place, with the settings of the place alone.
fn headwater(place: &Place, arguments: &[&str]) -> Ran {
    let mut command = place.command(arguments);
    command
        .env_remove("HEADWATER_STORE")
        .env("HOME", place.path("home"))
        .env("XDG_CONFIG_HOME", place.path("home"));
    Ran::from(command.output().expect("headwater can be started"))
}

fn run(place: &Place, url: &str, more: &[&str]) -> Ran {
    let usual = [
        "run",
        "flow.yaml",
        "--inputs",
        "data.yaml",
        "--json",
        "--store",
        url,
    ];
    headwater(place, &[&usual[..], more].concat())
}

fn counted(ran: Ran, executed: usize, reused: usize) -> Report {
    ran.ended(0).report().counts(8, executed, reused, 0)
}

#[test]
fn what_one_has_made_others_reuse() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let (ann, bob, rea) = (place(), place(), place());
    let first = counted(run(&ann, &database.url("ann"), &[]), 8, 0);
    let second = counted(run(&bob, &database.url("bob"), &[]), 0, 8);
    assert_eq!(first.texts("shouted"), second.texts("shouted"));
    // The last step changed: what it reads is brought.
    counted(run(&bob, &database.url("bob"), &["--set", "more=?"]), 4, 4);
    // Who may only look reuses everything, and gives nothing.
    counted(run(&rea, &database.url("rea"), &["--set", "more=?"]), 0, 8);
    let told = run(&rea, &database.url("rea"), &["--set", "more=.."]);
    let report = counted(told, 4, 4);
    let notes = report.0["notes"].to_string();
    assert!(notes.contains("may not write"), "{notes}");
    counted(run(&ann, &database.url("ann"), &["--set", "more=.."]), 4, 4);
    // Whose products are not trusted are made again.
    let eve = place();
    counted(run(&eve, &database.url("olga"), &["--trust", "bob"]), 8, 0);
    // What was made, and by whom, can be looked at from anywhere.
    let listed = headwater(
        &place(),
        &["products", "ls", "--json", "--store", &database.url("rea")],
    );
    let listed = listed.ended(0).report();
    assert_eq!(listed.number("count"), 8 + 4 + 4);
    assert!(!listed.0.to_string().contains("gone"), "{}", listed.0);
}

#[test]
fn who_has_given_a_product_is_shown() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let (ann, bob) = (place(), place());
    counted(run(&ann, &database.url("ann"), &[]), 8, 0);
    counted(run(&bob, &database.url("bob"), &[]), 0, 8);
    let url = database.url("bob");
    let asked = |arguments: &[&str]| {
        let arguments = [arguments, &["--store", &url]].concat();
        headwater(&bob, &arguments).ended(0)
    };
    let shown = asked(&["products", "show", "shout.more[0]"]).stdout;
    let line = "given      to the group by the role ann\n";
    assert!(shown.contains(line), "{shown}");
    let shown = asked(&["products", "show", "shout.more[0]", "--json"]).report();
    assert_eq!(shown.0["made"]["giver"], "ann");
    let explained = asked(&["explain", "last", "shout.more[0]"]).stdout;
    assert!(explained.contains(" of ann on "), "{explained}");
    // What only one's own store has was given by nobody.
    let alone = place();
    counted(run(&alone, ".headwater", &[]), 8, 0);
    let shown = headwater(&alone, &["products", "show", "shout.more[0]", "--json"]);
    assert_eq!(shown.ended(0).report().0["made"].get("giver"), None);
}

#[test]
fn who_may_not_is_refused_with_a_way_out() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let place = place();
    run(&place, &database.url("eve"), &[])
        .ended(2)
        .says(&["the store of the group refuses", "headwater_reader"]);
    let url = database.url("ann").replace("ann@", "ann:secret@");
    let ran = run(&place, &url, &[]).ended(2);
    assert!(!format!("{ran:?}").contains("secret"), "{ran:?}");
    assert!(ran.stderr.contains(".pgpass"), "{}", ran.stderr);
    let other = database.url("olga").replace(&database.name, "postgres");
    run(&place, &other, &[])
        .ended(2)
        .says(&["is not a store of Headwater", "headwater store init"]);
    let gc = ["products", "gc", "--max", "0", "--store"];
    headwater(&place, &[&gc[..], &[&database.url("ann")]].concat())
        .ended(2)
        .says(&["only the owner"]);
    // Nobody listens there.
    let ran = run(
        &place,
        "postgresql://ann@127.0.0.1:1/lab",
        &["--wait-for-store", "0s"],
    );
    ran.ended(1)
        .says(&["cannot be reached", "--wait-for-store"]);
}

#[test]
fn settings_name_the_store() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let (ann, bob) = (place(), place());
    let settings = |role: &str, more: &str| {
        format!(
            "headwater: 1\nstore: {{group: \"{}\"{more}}}\n",
            database.url(role)
        )
    };
    let go = ["run", "flow.yaml", "--inputs", "data.yaml", "--json"];
    ann.write(
        "headwater.yaml",
        &settings("ann", ", publish: asked, own: mine"),
    );
    headwater(&ann, &["check", "headwater.yaml"]).ended(0);
    counted(headwater(&ann, &go), 8, 0);
    assert!(ann.path("mine/records.sqlite").is_file());
    // Nothing was given yet; the settings of the user count where there are none beside the files.
    bob.write("home/headwater/headwater.yaml", &settings("bob", ""));
    let plan = headwater(&bob, &[&go[..], &["--dry-run"]].concat()).ended(0);
    assert_eq!(plan.report().number("to_execute"), 8);
    let pushed = headwater(&ann, &["products", "push", "--run", "last", "--json"]);
    let pushed = pushed.ended(0).report();
    assert_eq!(
        (pushed.number("products"), pushed.number("left_out")),
        (8, 0)
    );
    counted(headwater(&bob, &go), 0, 8);
    let again = headwater(&ann, &["products", "push", "--json"])
        .ended(0)
        .report();
    assert_eq!((again.number("products"), again.number("present")), (0, 8));
    let shown = headwater(&ann, &["store", "show", "--json"])
        .ended(0)
        .report();
    assert_eq!(shown.0["group"]["role"], "ann");
    assert_eq!(shown.0["group"]["publishes"], false);
    assert_eq!(shown.0["group"]["may_write"], true);
    // A mistake is shown where it is.
    ann.write("headwater.yaml", "headwater: 1\nstore: {gruop: x}\n");
    headwater(&ann, &go)
        .ended(2)
        .says(&["did you mean `group`?", "headwater.yaml:2"]);
}

#[test]
fn a_run_goes_on_without_the_server_and_gives_later() {
    let Some(server) = server::Server::start() else {
        return;
    };
    let database = server.database();
    let (ann, bob) = (place(), place());
    // The first task waits until the server is away.
    let waiting = FLOW.replace(
        "tr a-z",
        r#"touch "$TMPDIR/begun"; until [ -e "$TMPDIR/away" ]; do sleep 0.05; done; tr a-z"#,
    );
    ann.write("flow.yaml", &waiting);
    let url = database.url("ann");
    let go = [
        "run",
        "flow.yaml",
        "--inputs",
        "data.yaml",
        "--json",
        "--store",
        &url,
    ];
    let mut command = ann.command(&[&go[..], &["--wait-for-store", "0s"]].concat());
    command.env_remove("HEADWATER_STORE");
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("headwater can be started");
    let begun = (0..6000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        ann.side().join("begun").exists()
    });
    assert!(begun, "no task has begun");
    server.kill();
    fs::write(ann.side().join("away"), "").expect("a file");
    let report = counted(Ran::from(child.wait_with_output().expect("it ends")), 8, 0);
    let notes = report.0["notes"].to_string();
    assert!(
        notes.contains("until the store of the group can be reached"),
        "{notes}"
    );
    server.begin();
    // The next command gives what waits.
    headwater(&ann, &["store", "show", "--store", &url]).ended(0);
    counted(headwater(&ann, &go), 0, 8);
    bob.write("flow.yaml", &waiting);
    counted(run(&bob, &database.url("bob"), &[]), 0, 8);
}

/// All files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let kind = entry.file_type().expect("a kind");
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files
}

/// A password is in no file, no row, no argument, and not in the environment of programs.
#[test]
fn a_password_is_nowhere() {
    const SECRET: &str = "tell-it-to-nobody";
    let rules = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    let server = server::Server::start_with(|data| {
        let file = data.join("pg_hba.conf");
        fs::write(file, rules).expect("a file");
        Vec::new()
    });
    let Some(server) = server else { return };
    let database = server.database();
    let mut client = server
        .client("postgres", &database.name)
        .expect("a connection");
    client
        .batch_execute(&format!("ALTER ROLE ann PASSWORD '{SECRET}'"))
        .expect("a password");
    let ann = place();
    // Each program writes down what it can see of those that run.
    let nosy = FLOW.replace(
        "tr a-z",
        r#"env >> "$TMPDIR/seen"; cat /proc/[0-9]*/cmdline >> "$TMPDIR/seen" 2>&1 || true; tr a-z"#,
    );
    ann.write("flow.yaml", &nosy);
    let url = database.url("ann");
    let go = |password: Option<&str>| {
        let mut command = ann.command(&[
            "run",
            "flow.yaml",
            "--inputs",
            "data.yaml",
            "--store",
            &url,
            "--json",
            "--wait-for-store",
            "0s",
        ]);
        command
            .env_remove("HEADWATER_STORE")
            .env("HOME", ann.path("home"))
            .env("PGPASSFILE", ann.path("none"));
        if let Some(password) = password {
            command.env("PGPASSWORD", password);
        }
        Ran::from(command.output().expect("headwater can be started"))
    };
    let refused = go(None).ended(2);
    assert!(refused.stderr.contains("password"), "{}", refused.stderr);
    let refused = go(Some("another one")).ended(2);
    assert!(
        !refused.stderr.contains("another one"),
        "{}",
        refused.stderr
    );
    let ran = go(Some(SECRET)).ended(0);
    assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET));
    assert!(ann.side().join("seen").is_file(), "no program has looked");
    for file in files_below(ann.root()) {
        let bytes = fs::read(&file).unwrap_or_default();
        let found = bytes
            .windows(SECRET.len())
            .any(|some| some == SECRET.as_bytes());
        assert!(!found, "the password is in {}", file.display());
    }
    let tables = "products aliases objects sessions leases versions about".split(' ');
    for table in tables {
        let question = format!(
            "SELECT count(*) FROM headwater.{table} AS row WHERE row::text LIKE '%{SECRET}%'"
        );
        let found: i64 = client.query_one(&question, &[]).expect("an answer").get(0);
        assert_eq!(found, 0, "the password is in the table {table}");
    }
}

/// Another account of the machine reuses what this one has made.
#[test]
fn another_account_reuses_it_too() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let (ann, bob) = (place(), place());
    counted(run(&ann, &database.url("ann"), &[]), 8, 0);
    let program = bob.path("headwater");
    fs::copy(env!("CARGO_BIN_EXE_headwater"), &program).expect("a copy");
    for (path, mode) in [
        (bob.root().to_path_buf(), 0o777),
        (program.clone(), 0o755),
        (bob.side(), 0o777),
    ] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(path, mode).expect("a mode");
    }
    let go = |more: &[&str]| {
        let output = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(&program)
            .args(["run", "flow.yaml", "--inputs", "data.yaml", "--json"])
            .args(["--store", &database.url("bob")])
            .args(more)
            .current_dir(bob.root())
            .env("TMPDIR", bob.side())
            .env("HOME", bob.path("home"))
            .output();
        output.map(Ran::from)
    };
    match go(&[]) {
        Ok(ran) if !ran.stderr.contains("setpriv:") => counted(ran, 0, 8),
        _ => {
            eprintln!("skipped: rights cannot be given up here (setpriv)");
            return;
        }
    };
    // It also gives: folders that somebody else has made are for all.
    let given = counted(go(&["--set", "more=?"]).expect("it starts"), 4, 4);
    assert_eq!(given.0["notes"].to_string(), "[]");
    counted(run(&ann, &database.url("ann"), &["--set", "more=?"]), 0, 8);
}

#[test]
fn a_store_is_made_once_and_its_script_can_be_read() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let place = place();
    let url = database.url("postgres");
    let again = headwater(&place, &["store", "init", &url]).ended(0);
    assert!(again.stdout.contains("there already"), "{}", again.stdout);
    let script = headwater(
        &place,
        &["store", "init", &url, "--objects", "/it's", "--print"],
    );
    let script = script.ended(0).stdout;
    assert!(script.contains("CREATE TABLE headwater.products") && script.contains("'/it''s'"));
    assert_eq!(
        script.trim_end(),
        headwater_group::script("/it's").trim_end()
    );
    headwater(
        &place,
        &["store", "init", &url, "--objects", "relative/folder"],
    )
    .ended(2);
    headwater(&place, &["store", "init", &url, "--objects", "/not/there"]).ended(1);
}

#[test]
fn a_study_of_another_user_runs_nothing() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let study = |url: &str| {
        let place = Place::new();
        headwater(&place, &["new", "study", "rain"]).ended(0);
        let file = fs::read_dir(place.root())
            .expect("the folder")
            .flatten()
            .map(|entry| entry.path())
            .find(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("\nstudy:")))
            .expect("a study");
        let file = file.display().to_string();
        headwater(&place, &["study", "run", &file, "--json", "--store", url])
            .ended(0)
            .report()
    };
    let first = study(&database.url("ann"));
    let second = study(&database.url("bob"));
    assert!(
        first.0["counts"]["executed"]
            .as_u64()
            .is_some_and(|executed| executed > 0),
        "{}",
        first.0
    );
    assert_eq!(second.0["counts"]["executed"], 0, "{}", second.0);
}

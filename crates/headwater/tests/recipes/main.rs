//! What changes a recipe, and what does not, from the files of a user on: plans are made, nothing runs.
//!
//! Law: how files are written, where they lie, what they are called and what a task may occupy leaves every recipe as
//! it is. What a program does and what it reads changes exactly the recipes downstream of it.

mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use headwater::graph::Recipe;
use headwater::{Destination, Limits, RunRequest, Site, StorePlace};
use proptest::prelude::*;

use written::{Node, Pen, map, text, texts};

/// What counts.
#[derive(Debug, Clone)]
struct Meaning {
    scale: i64,
    last: i64,
    flag: &'static str,
    environment: &'static str,
    stdin: &'static str,
    template: &'static str,
    script: &'static str,
    constants: &'static str,
    version: &'static str,
    extension: &'static str,
    first: &'static str,
    second: &'static str,
    single: &'static str,
}

const BASE: Meaning = Meaning {
    scale: 3,
    last: 1,
    flag: "--fast",
    environment: "on",
    stdin: "a b\n  c: {{d}}\n",
    template: "wc -l < {in.text} > {out.lines}",
    script: "cat \"$@\"\n",
    constants: "LIMIT=3\n",
    version: "1.0",
    extension: "txt",
    first: "one\n",
    second: "two\n",
    single: "three\n",
};

/// What does not count.
#[derive(Debug, Clone)]
struct Circumstances {
    style: u64,
    cores: Option<usize>,
    memory: Option<u64>,
    retries: u32,
    /// Cores, memory, seconds and retries of each operation, where the bit is set.
    limits: u8,
    keep: Option<bool>,
    /// Below the temporary folder.
    folder: String,
    current: String,
    store: String,
    outputs: Option<String>,
    names: [String; 3],
}

fn plainly() -> Circumstances {
    Circumstances {
        style: 0,
        cores: None,
        memory: None,
        retries: 0,
        limits: 0,
        keep: None,
        folder: "flow".to_owned(),
        current: "here".to_owned(),
        store: "store".to_owned(),
        outputs: None,
        names: ["a.txt", "b.txt", "c.txt"].map(str::to_owned),
    }
}

impl Circumstances {
    /// An operation with what it occupies, how long it may take and where its bytes go.
    fn operation<const N: usize>(&self, fields: [(&str, Node); N]) -> Node {
        let Node::Map(mut fields) = map(fields) else {
            return map([]);
        };
        let mut put = |bit: u8, name: &str, node: Node| {
            if self.limits & bit != 0 {
                fields.push((name.to_owned(), node));
            }
        };
        let resources = [("cores", Node::Number(2)), ("memory", text("1GiB"))];
        put(1, "resources", map(resources));
        put(2, "timeout", text("10m"));
        put(4, "retries", Node::Number(2));
        Node::Map(fields)
    }

    fn output(&self, kind: &str, path: &str) -> Node {
        let Node::Map(mut fields) = map([("type", text(kind)), ("path", text(path))]) else {
            return map([]);
        };
        if let Some(keep) = self.keep {
            let word = if keep { "true" } else { "false" };
            fields.push(("keep".to_owned(), Node::Word(word)));
        }
        Node::Map(fields)
    }
}

/// The workflow: `prepare` feeds `join` and `count`, `other` feeds `join`, and `total` reads what all `join` made.
fn workflow(meaning: &Meaning, how: &Circumstances) -> Node {
    let task = |op: &str, inputs: Node, parameters: Node, outputs: Node| {
        map([
            ("op", text(op)),
            ("in", inputs),
            ("params", parameters),
            ("out", outputs),
        ])
    };
    let stage = |task: Node| map([("tasks", Node::List(vec![task]))]);
    let file = |extension: &str| map([("type", text("file")), ("extension", text(extension))]);
    let prepare = how.operation([
        (
            "command",
            texts([
                "tool",
                meaning.flag,
                "--scale={param.scale}",
                "{in.text}",
                "{out.text}",
            ]),
        ),
        ("inputs", map([("text", file(meaning.extension))])),
        ("params", map([("scale", text("int"))])),
        ("outputs", map([("text", how.output("file", "made"))])),
    ]);
    let other = how.operation([
        ("command", texts(["tool", "{in.text}"])),
        ("inputs", map([("text", text("file"))])),
        ("env", map([("MODE", text(meaning.environment))])),
        ("stdin", text(meaning.stdin)),
        ("stdout", text("{out.text}")),
        ("outputs", map([("text", how.output("file", "made"))])),
    ]);
    let join = how.operation([
        (
            "command",
            texts(["sh", "join.sh", "{in.left}", "{in.right}"]),
        ),
        (
            "inputs",
            map([("left", text("file")), ("right", text("file"))]),
        ),
        ("stdout", text("{out.text}")),
        ("outputs", map([("text", how.output("file", "made"))])),
        ("uses", texts(["join.sh", "lib/*.sh"])),
    ]);
    let count = how.operation([
        ("shell", text(meaning.template)),
        ("inputs", map([("text", text("file"))])),
        ("outputs", map([("lines", how.output("int", "lines"))])),
    ]);
    let total = how.operation([
        (
            "command",
            texts(["tool", "--last={param.last}", "{in.all.listfile}"]),
        ),
        ("version", text(meaning.version)),
        ("inputs", map([("all", text("list of file"))])),
        ("params", map([("last", text("int"))])),
        ("stdout", text("{out.text}")),
        ("outputs", map([("text", how.output("file", "made"))])),
    ]);
    let made = |name: &str| map([("text", text(name))]);
    let nothing = || map([]);
    let mut total_stage = stage(task(
        "total",
        map([("all", text("joined"))]),
        map([("last", text("$last"))]),
        made("all"),
    ));
    if let Node::Map(fields) = &mut total_stage {
        fields.push(("wait".to_owned(), text("all")));
    }
    let number = |value: i64| map([("type", text("int")), ("default", Node::Number(value))]);
    map([
        ("headwater", Node::Number(1)),
        ("workflow", text("everything")),
        (
            "inputs",
            map([("several", text("file")), ("single", text("file"))]),
        ),
        (
            "parameters",
            map([("scale", number(7)), ("last", number(meaning.last))]),
        ),
        (
            "stages",
            map([
                (
                    "prepare",
                    stage(task(
                        "prepare",
                        made("several"),
                        map([("scale", text("$scale"))]),
                        made("prepared"),
                    )),
                ),
                (
                    "other",
                    stage(task("other", made("single"), nothing(), made("othered"))),
                ),
                (
                    "join",
                    stage(task(
                        "join",
                        map([("left", text("prepared")), ("right", text("othered"))]),
                        nothing(),
                        made("joined"),
                    )),
                ),
                (
                    "count",
                    stage(task(
                        "count",
                        made("prepared"),
                        nothing(),
                        map([("lines", text("counted"))]),
                    )),
                ),
                ("total", total_stage),
            ]),
        ),
        ("outputs", texts(["all", "counted"])),
        (
            "operations",
            map([
                ("prepare", prepare),
                ("other", other),
                ("join", join),
                ("count", count),
                ("total", total),
            ]),
        ),
    ])
}

/// Writes everything and plans it: the recipe of each task.
fn recipes(meaning: &Meaning, how: &Circumstances) -> BTreeMap<String, Recipe> {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join(&how.folder);
    let current = home.path().join(&how.current);
    for folder in [&folder.join("lib"), &folder.join("data"), &current] {
        fs::create_dir_all(folder).expect("a folder");
    }
    let mut pen = match how.style {
        0 => Pen::plain(),
        seed => Pen::with(seed),
    };
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let [first, second, single] = how.names.each_ref().map(|name| format!("data/{name}"));
    let data = map([
        (
            "inputs",
            map([
                ("several", Node::List(vec![text(&first), text(&second)])),
                ("single", text(&single)),
            ]),
        ),
        ("parameters", map([("scale", Node::Number(meaning.scale))])),
    ]);
    let flow = pen.file(&workflow(meaning, how));
    let inputs = pen.file(&data);
    write("join.sh", meaning.script);
    write("lib/constants.sh", meaning.constants);
    write(&first, meaning.first);
    write(&second, meaning.second);
    write(&single, meaning.single);
    let request = RunRequest {
        flow: write("flow.yaml", &flow).into(),
        inputs: Some(write("data.yaml", &inputs).into()),
        outputs: how.outputs.as_ref().map_or(Destination::Outputs, |name| {
            Destination::Folder(home.path().join(name))
        }),
        ..RunRequest::default()
    };
    let limits = Limits {
        cores: how.cores,
        memory: how.memory,
        retries: how.retries,
        ..Limits::default()
    };
    let site = stored(&current, &home.path().join(&how.store)).with_limits(limits);
    let plan =
        plan(&request, &site).unwrap_or_else(|error| panic!("{error}\n{flow}\n----\n{inputs}"));
    assert_eq!(plan.len(), 8, "{plan:?}");
    plan
}

/// In this folder, with the store at that place.
fn stored(current: &Path, store: &Path) -> Site {
    Site::new(current).with_store(StorePlace {
        url: store.to_str().map(str::to_owned),
        read_only: false,
        ..StorePlace::default()
    })
}

fn plan(request: &RunRequest, site: &Site) -> Result<BTreeMap<String, Recipe>, String> {
    let plan = site
        .dry_run(request)
        .map_err(|error| format!("{error:?}"))?;
    Ok(plan.to_run.into_iter().collect())
}

/// A change that counts, and the tasks that it makes new.
type Change = (&'static str, fn(&mut Meaning), &'static [&'static str]);

const ALL_OF_PREPARE: &[&str] = &[
    "prepare.prepare[0]",
    "prepare.prepare[1]",
    "join.join[0]",
    "join.join[1]",
    "count.count[0]",
    "count.count[1]",
    "total.total",
];
const ALL_OF_OTHER: &[&str] = &["other.other", "join.join[0]", "join.join[1]", "total.total"];
const ALL_OF_JOIN: &[&str] = &["join.join[0]", "join.join[1]", "total.total"];

const CHANGES: [Change; 13] = [
    ("a parameter", |m| m.scale = 4, ALL_OF_PREPARE),
    ("the last parameter", |m| m.last = 2, &["total.total"]),
    ("an argument", |m| m.flag = "--slow", ALL_OF_PREPARE),
    (
        "how an input is called",
        |m| m.extension = "dat",
        ALL_OF_PREPARE,
    ),
    (
        "a constant in the environment",
        |m| m.environment = "off",
        ALL_OF_OTHER,
    ),
    (
        "a blank on standard input",
        |m| m.stdin = "a b\n c: {{d}}\n",
        ALL_OF_OTHER,
    ),
    (
        "a blank in a template",
        |m| m.template = "wc  -l < {in.text} > {out.lines}",
        &["count.count[0]", "count.count[1]"],
    ),
    ("a script", |m| m.script = "cat  \"$@\"\n", ALL_OF_JOIN),
    (
        "a constant in a file that the script reads",
        |m| m.constants = "LIMIT=4\n",
        ALL_OF_JOIN,
    ),
    (
        "the version of a tool",
        |m| m.version = "1.00",
        &["total.total"],
    ),
    (
        "the contents of one item",
        |m| m.first = "One\n",
        &[
            "prepare.prepare[0]",
            "join.join[0]",
            "count.count[0]",
            "total.total",
        ],
    ),
    (
        "the contents of the other item",
        |m| m.second = "Two\n",
        &[
            "prepare.prepare[1]",
            "join.join[1]",
            "count.count[1]",
            "total.total",
        ],
    ),
    (
        "the contents of a single file",
        |m| m.single = "Three\n",
        ALL_OF_OTHER,
    ),
];

fn changed(
    before: &BTreeMap<String, Recipe>,
    after: &BTreeMap<String, Recipe>,
) -> BTreeSet<String> {
    let known: BTreeSet<&Recipe> = before.values().collect();
    assert!(before.keys().eq(after.keys()));
    after
        .iter()
        .filter(|(address, recipe)| {
            let same = before.get(*address) == Some(recipe);
            assert!(same || !known.contains(recipe), "{address}");
            !same
        })
        .map(|(address, _)| address.clone())
        .collect()
}

#[test]
fn invariant_2_each_change_makes_new_what_is_downstream_and_nothing_else() {
    let before = recipes(&BASE, &plainly());
    for (what, change, expected) in CHANGES {
        let mut meaning = BASE;
        change(&mut meaning);
        let expected: BTreeSet<String> = expected.iter().map(|name| (*name).to_owned()).collect();
        let after = recipes(&meaning, &plainly());
        assert_eq!(changed(&before, &after), expected, "{what}");
    }
}

fn names() -> impl Strategy<Value = [String; 3]> {
    let name = "[a-z]{1,6}( [a-z]{1,3})?(\\.[a-z]{1,3})?";
    proptest::collection::btree_set(name, 3)
        .prop_shuffle_names()
        .prop_map(|names| names.try_into().expect("three names"))
}

/// Any order of the names.
trait ShuffleNames: Strategy<Value = BTreeSet<String>> + Sized {
    fn prop_shuffle_names(self) -> impl Strategy<Value = Vec<String>> {
        self.prop_map(|names| names.into_iter().collect::<Vec<String>>())
            .prop_shuffle()
    }
}

impl<S: Strategy<Value = BTreeSet<String>>> ShuffleNames for S {}

fn circumstances() -> impl Strategy<Value = Circumstances> {
    let machine = (
        // As many as the operations may ask for.
        (2usize..64).prop_map(Some),
        proptest::option::of(1u64 << 31..1 << 40),
        0u32..4,
        0u8..8,
        any::<Option<bool>>(),
    );
    let word = || "[a-z]{1,4}( [a-z]{1,4})?";
    let places = (
        word(),
        word(),
        word(),
        proptest::option::of(word()),
        names(),
    );
    (1u64.., machine, places).prop_map(|(style, machine, places)| {
        let (cores, memory, retries, limits, keep) = machine;
        let (folder, current, store, outputs, names) = places;
        Circumstances {
            style,
            cores,
            memory,
            retries,
            limits,
            keep,
            folder: format!("f {folder}"),
            current: format!("c {current}"),
            store: format!("s {store}"),
            outputs: outputs.map(|name| format!("o {name}")),
            names,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Blanks, comments, the order of fields, the style of collections and quotes; cores, memory, time-outs and
    /// retries; folders, the store, where outputs go, and what files are called.
    #[test]
    fn invariant_2_how_it_is_written_and_where_it_lies_does_not_count(how in circumstances()) {
        let before = recipes(&BASE, &plainly());
        prop_assert_eq!(recipes(&BASE, &how), before);
    }

    /// Several changes make new what is downstream of any of them, however the files are written.
    #[test]
    fn invariant_2_changes_add_up(
        how in circumstances(),
        chosen in proptest::sample::subsequence((0..CHANGES.len()).collect::<Vec<_>>(), 1..4),
    ) {
        let before = recipes(&BASE, &plainly());
        let mut meaning = BASE;
        let mut expected = BTreeSet::new();
        for place in chosen {
            let (_, change, downstream) = CHANGES[place];
            change(&mut meaning);
            expected.extend(downstream.iter().map(|name| (*name).to_owned()));
        }
        prop_assert_eq!(changed(&before, &recipes(&meaning, &how)), expected);
    }
}

/// The names of files count where an operation says `keep_name`, and only there.
#[test]
fn invariant_2_names_of_files_count_where_the_operation_says_so() {
    let recipe = |flow_says: &str, name: &str| {
        let home = tempfile::tempdir().expect("a temporary folder");
        let flow = format!(
            "headwater: 1\nworkflow: w\ninputs: {{text: file}}\nstages:\n  s:\n    \
             - {{op: o, in: {{text: text}}, out: {{out: out}}}}\noperations:\n  o:\n    \
             command: [tool, '{{in.text}}', '{{out.out}}']\n    \
             inputs: {{text: {{type: file{flow_says}}}}}\n    outputs: {{out: file}}\n"
        );
        let path = |name: &str| home.path().join(name);
        fs::write(path("flow.yaml"), flow).expect("a file");
        fs::write(path("data.yaml"), format!("inputs: {{text: {name}}}\n")).expect("a file");
        fs::write(path(name), "same").expect("a file");
        let request = RunRequest {
            flow: path("flow.yaml").into(),
            inputs: Some(path("data.yaml").into()),
            ..RunRequest::default()
        };
        plan(&request, &stored(home.path(), &path("store"))).expect("it can be planned")
    };
    assert_eq!(recipe("", "a.txt"), recipe("", "b.txt"));
    let keep = ", keep_name: true";
    assert_ne!(recipe(keep, "a.txt"), recipe(keep, "b.txt"));
    assert_eq!(recipe(keep, "a.txt"), recipe(keep, "a.txt"));
    assert_ne!(recipe("", "a.txt"), recipe(keep, "a.txt"));
}

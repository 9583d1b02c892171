//! `docs/json.md` is what `--json` prints.
//!
//! Law: over real commands, every field that is printed stands in the table of its command, with its type; and every
//! field that stands there is printed at least once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::place::{Place, Ran, read};

/// A row of a table.
#[derive(Debug)]
struct Row {
    path: String,
    kind: String,
    /// What is in it stands elsewhere.
    elsewhere: bool,
}

/// The tables by heading, in the order of the page.
fn documented() -> Vec<(String, Vec<Row>)> {
    let text = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md"));
    let mut sections: Vec<(String, Vec<Row>)> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            sections.push((heading.to_owned(), Vec::new()));
        }
        let cells: Vec<&str> = line.split(" | ").collect();
        if let [field, kind, meaning] = cells[..]
            && let Some(path) = field
                .strip_prefix("| `")
                .and_then(|path| path.strip_suffix('`'))
        {
            let (_, rows) = sections.last_mut().expect("a heading");
            rows.push(Row {
                path: path.to_owned(),
                kind: kind.to_owned(),
                elsewhere: meaning.contains("with the fields of"),
            });
        }
    }
    sections
}

/// The fields of a value with their types: names, then `[]` for a list.
fn fields(value: &Value, path: &[String], out: &mut BTreeSet<(Vec<String>, &'static str)>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "flag",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    if path.last().is_some_and(|last| !last.ends_with("[]")) {
        out.insert((path.to_vec(), kind));
    }
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                fields(value, &[path, std::slice::from_ref(name)].concat(), out);
            }
        }
        Value::Array(items) => {
            let mut inside = path.to_vec();
            if let Some(last) = inside.last_mut() {
                last.push_str("[]");
            }
            items.iter().for_each(|item| fields(item, &inside, out));
        }
        _ => {}
    }
}

/// Whether a field is the one of a row, or, with `above`, in it.
fn is_of(row: &Row, field: &[String], above: bool) -> bool {
    let parts: Vec<&str> = row.path.split('.').collect();
    let same = |(part, name): (&&str, &String)| {
        let (free, list) = (part.trim_end_matches("[]") == "*", part.ends_with("[]"));
        *part == name || (free && list == name.ends_with("[]"))
    };
    if above {
        let inside = field.len() > parts.len() && row.elsewhere;
        let mut plain: Vec<String> = field.iter().take(parts.len()).cloned().collect();
        if let Some(last) = plain.last_mut() {
            *last = last.trim_end_matches("[]").to_owned();
        }
        return inside && parts.iter().zip(&plain).all(same);
    }
    parts.len() == field.len() && parts.iter().zip(field).all(same)
}

/// What was printed, by heading.
#[derive(Default)]
struct Printed(BTreeMap<String, BTreeSet<(Vec<String>, &'static str)>>);

impl Printed {
    fn add(&mut self, heading: &str, ran: &Ran) -> Value {
        assert_eq!(ran.stdout.lines().count(), 1, "one line: {}", ran.stdout);
        let object = ran.report().0;
        fields(&object, &[], self.0.entry(heading.to_owned()).or_default());
        object
    }

    /// Runs a command that ends with this exit code.
    #[track_caller]
    fn run(&mut self, place: &Place, code: i32, command: &str) -> Value {
        let words: Vec<&str> = command.split(' ').chain(["--json"]).collect();
        let ran = place.headwater(&words).ended(code);
        // The heading is the beginning of the command.
        let names = documented().into_iter().map(|(heading, _)| heading);
        let named = |heading: &String| {
            let words = heading.split(' ').skip(1);
            heading.starts_with("headwater ")
                && words
                    .clone()
                    .all(|word| command.split(' ').any(|own| own == word))
                && words.clone().next() == command.split(' ').next()
        };
        let heading = names.filter(named).max_by_key(String::len);
        self.add(&heading.expect("a heading"), &ran)
    }

    #[track_caller]
    fn error(&mut self, place: &Place, code: i32, command: &[&str]) {
        let words = [command, &["--json"]].concat();
        let ran = place.headwater(&words).ended(code);
        self.add("Errors", &ran);
    }
}

/// Fields that no command here prints, and why.
const RARE: [(&str, &str); 6] = [
    // Of tasks that run again because bytes are gone.
    ("headwater explain", "lost"),
    // Of sequences of calls, which are made by programs.
    ("headwater dag", "nodes[].words"),
    // Records of a kind that is read and no longer written.
    ("headwater products show", "inputs[].sources[].text"),
    // Of stores of groups: `group::who_has_given_a_product_is_shown` has them.
    ("headwater explain", "compared.giver"),
    ("headwater explain", "made.giver"),
    ("headwater products show", "made.giver"),
];

const FLOW: &str = r#"
headwater: 1
workflow: halves
inputs: {n: int, extra: {type: file, optional: true}}
parameters:
  add: {type: int, default: 1}
  bad: {type: int, range: [10, 20], default: 0}
stages:
  first: [{op: half, in: {n: n}, params: {add: $add, bad: $bad}, out: {t: t}}]
  second: [{op: copy, in: {t: t}, out: {u: u, size: size}}]
  all:
    wait: all
    tasks: [{op: join, in: {u: u}, out: {all: all}}]
  last:
    after: [all]
    tasks: [{op: copy, in: {t: extra}, out: {u: copied, size: length}}]
outputs: {u: u, size: size, all: all, copied: copied}
operations:
  half:
    shell: "test {in.n} -ne {param.bad} && echo $(( ({in.n} + {param.add}) / 2 )) > {out.t}"
    inputs: {n: int}
    params: {add: int, bad: int}
    outputs: {t: file}
  copy:
    shell: "cat {in.t} > {out.u}; wc -c < {in.t} > {out.size}"
    inputs: {t: file}
    outputs: {u: file, size: int}
  join:
    shell: "cat {in.u} > {out.all}"
    inputs: {u: list of file}
    outputs: {all: file}
"#;

fn workflows(printed: &mut Printed) {
    let place = Place::with_flow(FLOW);
    place.write("data.yaml", "inputs: {n: [1, 3], extra: flow.yaml}\n");
    place.write("other.yaml", "inputs: {n: [1, 4]}\n");
    place.write("wrong.yaml", "headwater: 1\nworkflow: w\nstagse: {}\n");
    let run = "run flow.yaml --inputs data.yaml";
    printed.run(&place, 0, &format!("{run} --dry-run"));
    let first = printed.run(&place, 0, run);
    printed.run(&place, 0, &format!("{run} --set add=2"));
    let failed = printed.run(&place, 1, &format!("{run} --set bad=3"));
    printed.run(&place, 0, "run flow.yaml --inputs other.yaml");
    let name = |run: &Value| run["run"].as_str().expect("a run").to_owned();
    printed.run(&place, 0, "check flow.yaml");
    printed.run(&place, 2, "check wrong.yaml");
    printed.run(&place, 0, "dag flow.yaml");
    printed.run(&place, 0, "dag last --grouped");
    printed.run(&place, 0, "runs ls -n 9");
    printed.run(&place, 0, "runs show");
    printed.run(&place, 0, &format!("runs show {}", name(&failed)));
    printed.run(&place, 0, "runs report");
    printed.run(&place, 0, &format!("runs diff {} last", name(&first)));
    for (run, task) in [
        ("last", "first.half[0]"),
        ("last", "first.half[1]"),
        ("last", "second.copy[1]"),
        (&name(&failed), "first.half[1]"),
        (&name(&failed), "second.copy[1]"),
    ] {
        printed.run(&place, 0, &format!("explain {run} {task}"));
    }
    let products = printed.run(&place, 0, "products ls -n 99");
    for product in products["products"].as_array().expect("a list") {
        let recipe = product["recipe"].as_str().expect("a recipe");
        printed.run(&place, 0, &format!("products show {recipe}"));
    }
    printed.run(&place, 0, "products verify");
    printed.run(&place, 0, "products gc --max 1GiB --dry-run");
    printed.error(&place, 2, &["run", "nothing.yaml"]);
    printed.error(&place, 2, &["run", "wrong.yaml"]);
    printed.error(&place, 2, &["runs", "show", "nothing"]);
    printed.error(&place, 2, &["run", "flow.yaml", "--set", "nothing=1"]);
}

const STUDIED: &str = r#"
headwater: 1
workflow: line
inputs: {item: int}
parameters:
  a: {type: int, range: [0, 19], step: 1, default: 3}
  b: {type: int, range: [0, 19], step: 1, default: 4}
  c: {type: int, range: [0, 19], step: 1, default: 30}
stages:
  first:
    - {op: tens, in: {item: item}, params: {a: $a}, out: {y: tens}}
    - {op: more, in: {y: tens}, params: {b: $b}, out: {z: more}}
  last: [{op: sum, in: {more: more}, params: {c: $c}, out: {y: sum}}]
outputs: {y: sum}
operations:
  tens:
    {shell: "echo $((10 * {param.a} + {in.item})) > {out.y}", inputs: {item: int}, params: {a: int}, outputs: {y: int}}
  more:
    shell: "test {param.b} -lt 16 && echo $(( {in.y} + {param.b} )) > {out.z}"
    inputs: {y: int}
    params: {b: int}
    outputs: {z: int}
  sum:
    {shell: "echo $(( {in.more} + {param.c} )) > {out.y}", inputs: {more: int}, params: {c: int}, outputs: {y: int}}
"#;

fn studies(printed: &mut Printed) {
    let place = Place::with_flow(STUDIED);
    let study = |name: &str, items: &str, method: &str| {
        let text = format!(
            "headwater: 1\nstudy: {name}\nworkflow: flow.yaml\ninputs: {{item: {items}}}\nparameters: [a, b]\nobjective: y\n{method}\n"
        );
        place.write(&format!("{name}.yaml"), &text);
    };
    study("moat", "[100, 7]", "method: {moat: {trajectories: 6}}");
    study(
        "two",
        "100",
        "method: {two-phase: {screen: {moat: {trajectories: 2}}, keep: 1, then: {vbd: {samples: 8}}}}",
    );
    study(
        "pairs",
        "100",
        "method: {vbd: {samples: 16, second-order: true}}\nuntil: {ci: 0.5}",
    );
    place.write("sets.csv", "a,b\n1,2\n");
    study("table", "100", "method: {table: sets.csv}");
    printed.run(&place, 0, "study plan moat.yaml");
    printed.run(&place, 1, "study run moat.yaml");
    printed.run(&place, 0, "tune moat.yaml");
    let failing = place
        .read("moat.yaml")
        .replace("[a, b]", "{b: {value: 17}}");
    place.write("failing.yaml", &failing);
    printed.run(&place, 1, "tune failing.yaml");
    printed.run(&place, 0, "study plan two.yaml --compare -o samples");
    for name in ["failing", "two", "pairs", "table"] {
        let words = ["study", "run", &format!("{name}.yaml"), "--json"];
        let ran = place.headwater(&words);
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
        printed.add("headwater study run", &ran);
    }
    printed.run(&place, 0, "study report table.yaml");
    let listed = printed.run(&place, 0, "runs ls");
    assert_eq!(listed["runs"][0]["study"], "table");
    let shown = printed.run(&place, 0, "runs show");
    assert_eq!(shown["study"], "table");
    printed.run(&place, 0, "dag moat.yaml");
    printed.run(&place, 0, "dag last");
    printed.run(&place, 0, "check moat.yaml");
    place.write("flow.yaml", "headwater: 1\nworkflow: w\nstagse: {}\n");
    printed.run(&place, 2, "check moat.yaml");
}

fn images(printed: &mut Printed) {
    let place = Place::new();
    printed.run(
        &place,
        0,
        "imaging synth -o a.png --mask m.png --labels l.png --size 128x128",
    );
    printed.run(&place, 0, "imaging synth -o b.png --size 64x64");
    printed.run(
        &place,
        0,
        "imaging segment a.png -o s.png --overlay o.png --reference m.png --tile 64",
    );
    printed.run(&place, 0, "new workflow");
    printed.run(&place, 0, "completions bash");
    printed.run(&place, 0, "man run");
    printed.run(&place, 0, "man -o pages");
}

/// What is printed of the store of a group; `false` where there is no server for one.
fn groups(printed: &mut Printed) -> bool {
    let Some(server) = crate::group::server::shared() else {
        return false;
    };
    let database = server.database();
    let place = Place::with_flow(FLOW);
    place.write("data.yaml", "inputs: {n: [1, 3]}\n");
    place.write(
        "headwater.yaml",
        "headwater: 1\nstore: {trust: [ann], publish: asked}\n",
    );
    let url = database.url("ann");
    place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml", "--store", &url])
        .ended(0);
    printed.run(&place, 0, &format!("products push --store {url}"));
    printed.run(&place, 0, &format!("store show --store {url}"));
    true
}

#[test]
fn every_field_that_is_printed_is_documented_and_the_other_way_round() {
    let mut printed = Printed::default();
    let of_groups = ["headwater products push", "headwater store show"];
    let has_groups = groups(&mut printed);
    workflows(&mut printed);
    studies(&mut printed);
    images(&mut printed);
    let mut wrong = Vec::new();
    for (heading, rows) in documented() {
        if !has_groups && of_groups.contains(&&*heading) {
            continue;
        }
        let found = printed.0.remove(&heading).unwrap_or_default();
        for (field, kind) in &found {
            let path = field.join(".");
            if rows.iter().any(|row| is_of(row, field, true)) {
                continue;
            }
            // A row that names the field goes before one that has a star in its place.
            let exact = rows.iter().find(|row| row.path == path);
            match exact.or_else(|| rows.iter().find(|row| is_of(row, field, false))) {
                None => wrong.push(format!("{heading}: `{path}` ({kind}) is not documented")),
                Some(row)
                    if row.kind == "any" || row.kind.split(" or ").any(|one| one == *kind) => {}
                Some(row) => wrong.push(format!(
                    "{heading}: `{path}` is {kind} and documented as {}",
                    row.kind
                )),
            }
        }
        for row in rows {
            let seen = found.iter().any(|(field, _)| is_of(&row, field, false));
            if !seen && !RARE.contains(&(&*heading, &*row.path)) {
                wrong.push(format!("{heading}: `{}` is never printed", row.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let rest: Vec<&String> = printed.0.keys().collect();
    assert!(rest.is_empty(), "no table for {rest:?}");
}

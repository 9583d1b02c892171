//! The report that every run writes, and what users wrote in it.

use std::fs;

use crate::place::{Place, read};

#[expect(dead_code, reason = "attributes are looked at where pages are made")]
#[path = "../../../report/tests/support/markup.rs"]
mod markup;

const FLOW: &str = r#"
headwater: 1
workflow: pages
inputs: {file: file, word: text}
parameters: {mark: {type: text, default: plain}}
stages:
  look:
    iterate: cross(file, word)
    tasks: [{op: look, in: {file: file, word: word}, params: {mark: $mark}, out: {text: text, first: first}}]
  size:
    iterate: text
    tasks: [{op: size, in: {text: text}, out: {size: size}}]
outputs: {text: text, size: size, first: first}
operations:
  look:
    shell: |
      if grep -q bad {in.file}; then echo '<script>alert(3)</script>' {in.word} >&2; exit 3; fi
      cat {in.file} > {out.text}; echo {in.word} {param.mark} >> {out.text}; printf '%s' {in.word} > {out.first}
    inputs: {file: file, word: text}
    params: {mark: text}
    outputs: {text: {type: file, path: "text.txt"}, first: {type: text, path: first}}
  size:
    shell: wc -c < {in.text} > {out.size}
    inputs: {text: file}
    outputs: {size: {type: int, path: size}}
"#;

fn pages() -> Place {
    let place = Place::with_flow(FLOW);
    place.write("in/<script>alert(1)<.txt", "good");
    place.write(
        "data.yaml",
        "inputs: {file: in/*.txt, word: [one, '<script>alert(2)</script>']}\n",
    );
    place
}

/// The page, once it is known to be well-formed and without scripts.
fn checked(place: &Place, page: &str) -> String {
    let page = place.read(page);
    let elements = markup::check(&page).expect("well-formed");
    assert!(elements.iter().all(|element| element.name != "script"));
    assert!(!page.contains("<script"));
    page
}

#[test]
fn every_run_writes_a_report_and_says_where() {
    let place = pages();
    let ran = place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml", "-o", "out"])
        .ended(0);
    assert_eq!(ran.stdout.lines().last(), Some("report: out/report.html"));
    let page = checked(&place, "out/report.html");
    assert!(page.contains("All 4 tasks are done, in "));
    // A name of a file, a value of the data and an output.
    assert!(page.contains("in/&lt;script&gt;alert(1)&lt;.txt"));
    assert!(page.contains("<code>&lt;script&gt;alert(2)&lt;/script&gt;</code>"));
    assert!(page.contains("<a href=\"text/0-0.txt\">text/0-0.txt</a>"));
    assert!(page.contains("<td>the workflow</td>"));
    assert!(page.contains("<title>look.look[0-0]: "));
    let again = place.run(&["--inputs", "data.yaml", "--set", "mark=plain"], 0);
    let path = again.0["report"].as_str().expect("a path");
    assert_eq!(
        path,
        again.folder().join("report.html").to_str().expect("a path")
    );
    let page = checked(&place, "outputs/last/report.html");
    assert!(page.contains("Nothing had to run: all 4 tasks were done in earlier runs."));
    assert!(page.contains("<td>--set</td>"));
    assert!(page.contains("of processor time saved: 4 tasks not run again"));
    let before = fs::read_dir(place.path("outputs"))
        .expect("a folder")
        .count();
    place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml", "--dry-run"])
        .ended(0);
    assert_eq!(
        fs::read_dir(place.path("outputs"))
            .expect("a folder")
            .count(),
        before
    );
}

#[test]
fn the_report_of_a_failed_run_has_what_the_tasks_said() {
    let place = pages();
    place.write("in/bad.txt", "bad");
    let report = place.run(&["--inputs", "data.yaml", "--retries", "1"], 1);
    let page = checked(&place, "outputs/last/report.html");
    assert!(page.contains(
        "2 of 8 tasks failed, and 2 that need what they would have made could not run. 4 are done, in "
    ));
    assert_eq!(page.matches("<article class=\"failure\">").count(), 2);
    assert!(page.contains("<p class=\"message\">ended with exit code 3</p>"));
    assert!(page.contains("<pre>&lt;script&gt;alert(3)&lt;/script&gt; one</pre>"));
    assert!(page.contains("<dt>Tried</dt><dd>2 times</dd>"));
    let folder = report.failures()["look.look[1-0]"]["folder"].clone();
    let folder = folder.as_str().expect("a folder");
    assert!(page.contains(&format!("{folder}/.again.sh")));
    // Two tasks, each tried twice, and the four that ended well.
    assert!(page.contains("8 executions, "));
    assert!(page.contains(", not ended well</title>"));
}

#[test]
fn an_output_called_report_keeps_its_file() {
    let flow = FLOW
        .replace(
            "outputs: {text: text, size: size, first: first}",
            "outputs: {report: text}",
        )
        .replace("text.txt", "text.html");
    let place = Place::with_flow(&flow);
    place.write("in/a.txt", "good");
    place.write("data.yaml", "inputs: {file: in/a.txt, word: one}\n");
    let report = place.run(&["--inputs", "data.yaml"], 0);
    assert_eq!(
        read(&report.folder().join("report/report.html")),
        "goodone plain\n"
    );
    checked(&place, "outputs/last/report.html");
}

#[test]
fn the_report_of_a_run_can_be_made_again() {
    let place = pages();
    place
        .headwater(&["run", "flow.yaml", "--inputs", "data.yaml", "-o", "out"])
        .ended(0);
    let first = place.read("out/report.html");
    fs::remove_file(place.path("out/report.html")).expect("it was there");
    let said = place.headwater(&["runs", "report"]).ended(0).stdout;
    assert!(said.ends_with(": out/report.html\n"), "{said}");
    assert_eq!(place.read("out/report.html"), first);
    place
        .headwater(&["runs", "report", "last", "-o", "pages/one.html"])
        .ended(0);
    let other = checked(&place, "pages/one.html");
    assert!(other.contains("<a href=\"../out/text/0-0.txt\">text/0-0.txt</a>"));
    // What is no report is not overwritten.
    place
        .headwater(&["runs", "report", "-o", "flow.yaml"])
        .ended(2)
        .says(&["already exists and is not a report"]);
    assert_eq!(place.read("flow.yaml"), FLOW);
}

#[test]
fn a_report_that_cannot_be_written_is_a_note() {
    // A task that does what it should not: it writes where the outputs go.
    let flow = "
headwater: 1
workflow: folder
parameters: {place: {type: text, default: none}}
stages: {make: {tasks: [{op: make, params: {place: $place}, out: {made: made}}]}}
operations:
  make:
    shell: mkdir -p {param.place}/report.html/a; touch {out.made}
    params: {place: text}
    outputs: {made: {type: file, path: made.txt}}
";
    let place = Place::with_flow(flow);
    let setting = format!("place={}", place.path("out").display());
    let report = place.run(&["-o", "out", "--set", &setting], 0);
    assert!(report.0["report"].is_null());
    let notes = report.0["notes"].to_string();
    assert!(notes.contains("there is no report: "), "{notes}");
    assert!(place.path("out/report.html/a").exists());
    assert!(place.path("out/made.txt").exists());
}

//! From the top of a page to its end.
//!
//! Law: every block is looked at, also after one that went wrong, and each thing that is not as the page says is a
//! finding with its line.

use std::fmt;
use std::fs;
use std::ops::Range;

use super::compare;
use super::page::{self, Kind};
use super::shell::Shell;

/// Something that is not as the page says.
pub(super) struct Finding {
    /// The line, from 1.
    line: usize,
    what: String,
    /// The lines to be replaced, from 0, and by what.
    instead: Option<(Range<usize>, Vec<String>)>,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.line, self.what)
    }
}

/// What is not as the page says; whether its YAML is read by another test.
pub(super) fn walk(text: &str, elsewhere: bool) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let blocks = match page::blocks(&lines, elsewhere) {
        Ok(blocks) => blocks,
        Err((line, what)) => return vec![finding(line, what)],
    };
    if blocks.iter().all(|block| block.kind == Kind::Shown) {
        return Vec::new();
    }
    let shell = Shell::new(text.contains("examples/"));
    let mut findings = Vec::new();
    for block in blocks {
        let inside = &lines[block.lines.clone()];
        let first = block.lines.start;
        match block.kind {
            Kind::Shown => {}
            Kind::File { name, right } => {
                let path = shell.current().join(&name);
                fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                fs::write(&path, whole(inside)).expect("a file");
                let read = ["headwater:", "inputs:", "rows:"];
                let begins = |line: &&str| read.iter().any(|word| line.starts_with(word));
                if name.ends_with(".yaml") && inside.iter().any(begins) {
                    findings.extend(checked(&shell, &name, right, first));
                }
            }
            Kind::Part(name) => {
                let file = fs::read_to_string(shell.current().join(&name)).unwrap_or_default();
                let there = |line: &str| file.lines().any(|one| one.trim() == line.trim());
                for (at, line) in inside.iter().enumerate() {
                    if !there(line) {
                        let what = format!("`{name}` does not have the line `{}`", line.trim());
                        findings.push(finding(first + at, what));
                    }
                }
            }
            Kind::Checked => {
                let name = "checked-by-the-test.yaml";
                fs::write(shell.current().join(name), whole(inside)).expect("a file");
                findings.extend(checked(&shell, name, true, first));
            }
            Kind::Operations => {
                let name = "checked-by-the-test.yaml";
                let text = format!(
                    "headwater: 1\nworkflow: page\nstages: {{}}\n{}",
                    whole(inside)
                );
                fs::write(shell.current().join(name), text).expect("a file");
                findings.extend(checked(&shell, name, true, first));
            }
            Kind::Script => {
                let (code, printed) = shell.run(&format!("set -e\n{}", whole(inside)));
                if code != Some(0) {
                    let what = format!("the script ended with {code:?}:\n{}", printed.join("\n"));
                    findings.push(finding(first, what));
                }
            }
            Kind::Session { exits } => {
                findings.extend(session(&shell, inside, first, exits));
            }
        }
    }
    findings
}

/// The page with what was printed in place of what is shown.
pub(super) fn updated(text: &str, findings: &[Finding]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for finding in findings.iter().rev() {
        if let Some((old, new)) = &finding.instead {
            lines.splice(old.clone(), new.iter().cloned());
        }
    }
    lines.join("\n") + "\n"
}

fn finding(line: usize, what: String) -> Finding {
    Finding {
        line: line + 1,
        what,
        instead: None,
    }
}

fn whole(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What `headwater check` finds in a file.
fn checked(shell: &Shell, name: &str, right: bool, line: usize) -> Option<Finding> {
    let (code, printed) = shell.run(&format!("headwater check '{name}'"));
    let wanted = if right { 0 } else { 2 };
    (code != Some(wanted)).then(|| {
        let what = format!(
            "`headwater check` ended with {code:?}:\n{}",
            printed.join("\n")
        );
        finding(line, what)
    })
}

/// Runs the commands of a session and compares what they print.
fn session(shell: &Shell, lines: &[&str], first: usize, exits: Option<i32>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut failed = false;
    let mut at = 0;
    while at < lines.len() {
        let Some(start) = lines[at].strip_prefix("$ ") else {
            findings.push(finding(first + at, "this is no command".to_owned()));
            break;
        };
        let begins = at;
        let mut command = start.to_owned();
        while command.ends_with('\\') && at + 1 < lines.len() {
            at += 1;
            command = format!("{command}\n{}", lines[at]);
        }
        at += 1;
        let end = lines[at..].iter().position(|line| line.starts_with("$ "));
        let end = end.map_or(lines.len(), |length| at + length);
        let blanks = |lines: &[&str]| {
            lines
                .iter()
                .rev()
                .take_while(|line| line.is_empty())
                .count()
        };
        let shown = &lines[at..end - blanks(&lines[at..end])];
        let (code, mut printed) = shell.run(&command);
        printed.retain(|line| !compare::is_progress(line));
        while printed.last().is_some_and(|line| line.trim().is_empty()) {
            printed.pop();
        }
        failed |= code.is_some() && code == exits;
        if code != Some(0) && code != exits {
            let what = format!("`{command}` ended with {code:?}:\n{}", printed.join("\n"));
            findings.push(finding(first + begins, what));
        } else if !compare::same(shown, &printed) {
            let what = format!("`{command}` printed:\n{}", printed.join("\n"));
            findings.push(Finding {
                instead: Some((first + at..first + at + shown.len(), printed)),
                ..finding(first + begins, what)
            });
        }
        at = end;
    }
    if exits.is_some() && !failed {
        findings.push(finding(
            first,
            "no command ended with that exit code".to_owned(),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{updated, walk};

    const PAGE: &str = "\
# A page

```yaml file=greet.yaml
headwater: 1
workflow: greet
stages:
  greet:
    - {op: greet, out: {text: greeting}}
operations:
  greet: {command: [echo, hello], stdout: \"{out.text}\", outputs: {text: text}}
```

```yaml part=greet.yaml
    - {op: greet, out: {text: greeting}}
```

```sh
mkdir below
cd below
export NAME=there
```

```console exits=1
$ headwater run ../greet.yaml
new store: ~/work/below/.headwater
run 20261115-221433-2fab: 1 task, 1 executed, 0 reused, 42 ms
  greeting = \"hello\"
report: …

$ test -d ../below && echo \"$NAME\" \\
  again
there again
$ false
```
";

    /// What walking the page finds once this was replaced by that.
    fn found(old: &str, new: &str) -> Vec<String> {
        assert!(PAGE.contains(old), "{old}");
        let page = PAGE.replacen(old, new, 1);
        walk(&page, false).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_page_that_says_what_happens_has_no_findings() {
        assert_eq!(found("A page", "A page"), Vec::<String>::new());
    }

    #[test]
    fn a_page_that_says_something_else_has_some() {
        for (old, new, wanted) in [
            ("1 executed", "2 executed", "printed:\nnew store: "),
            ("there again", "here again", "printed:\nthere again"),
            ("$ false", "$ true", "no command ended with that exit code"),
            ("$ false", "$ exit 3", "ended with Some(3)"),
            (
                "export NAME",
                "false; export NAME",
                "the script ended with Some(1)",
            ),
            (
                "mkdir below",
                "mkdir below/other",
                "the script ended with Some(1)",
            ),
            (
                "op: greet, out",
                "op: great, out",
                "`headwater check` ended with Some(2)",
            ),
            (
                "```yaml part=greet.yaml\n",
                "```yaml part=greet.yaml\nwait: all\n",
                "does not have the line `wait: all`",
            ),
            (
                "```console exits=1\n",
                "```console exits=1\nhello\n",
                "this is no command",
            ),
        ] {
            let findings = found(old, new);
            assert!(
                findings.iter().any(|finding| finding.contains(wanted)),
                "{old} -> {new}: {findings:#?}"
            );
        }
    }

    #[test]
    fn an_updated_page_has_no_findings() {
        let page = PAGE
            .replace("there again", "here\nand there")
            .replace("hello\"\n", "\n");
        let findings = walk(&page, false);
        assert_eq!(findings.len(), 2);
        let new = updated(&page, &findings);
        assert_eq!(walk(&new, false).len(), 0, "{new}");
    }
}

//! A page as blocks.
//!
//! Law: a block that is neither run nor written nor checked says so itself, with a reason, or is in a language that
//! nobody runs. A mark that is not known is a mistake, since it would leave a block untested in silence.

use std::ops::Range;

/// A fenced block.
#[derive(Debug, PartialEq)]
pub(super) struct Block {
    /// What is to be done with it.
    pub(super) kind: Kind,
    /// The lines between the fences, counted from 0.
    pub(super) lines: Range<usize>,
}

/// What is to be done with a block.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    /// It is a file of this name; whether it is right.
    File { name: String, right: bool },
    /// All its lines stand in this file.
    Part(String),
    /// A workflow or a study, to be checked.
    Checked,
    /// Operations of a workflow, to be checked.
    Operations,
    /// A script.
    Script,
    /// Commands, with what they print; the exit code besides 0.
    Session { exits: Option<i32> },
    /// Something to read.
    Shown,
}

/// The blocks of a page, or what is wrong with their marks, by line; whether its files are read by another test.
pub(super) fn blocks(lines: &[&str], elsewhere: bool) -> Result<Vec<Block>, (usize, String)> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some((fence, info)) = opening(lines[at]) else {
            at += 1;
            continue;
        };
        let first = at + 1;
        let length = lines[first..].iter().position(|line| line.trim() == fence);
        let Some(length) = length else {
            return Err((at, "the block has no end".to_owned()));
        };
        let inside = first..first + length;
        let kind = kind(info, &lines[inside.clone()], elsewhere).map_err(|what| (at, what))?;
        blocks.push(Block {
            kind,
            lines: inside.clone(),
        });
        at = inside.end + 1;
    }
    Ok(blocks)
}

/// The fence and what follows it, where a block begins.
fn opening(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let length = line.bytes().take_while(|byte| *byte == b'`').count();
    (length >= 3).then(|| line.split_at(length))
}

fn kind(info: &str, text: &[&str], elsewhere: bool) -> Result<Kind, String> {
    let (marks, reason) = match info.split_once(" not run:") {
        Some((marks, reason)) => (marks, Some(reason.trim())),
        None => (info, None),
    };
    let mut words = marks.split_whitespace();
    let language = words.next().unwrap_or_default();
    let (mut file, mut part, mut exits, mut right) = (None, None, None, true);
    for word in words {
        match word.split_once('=') {
            Some(("file", name)) => file = Some(inside(name)?),
            Some(("part", name)) => part = Some(inside(name)?),
            Some(("exits", code)) => {
                let code = code.parse();
                exits = Some(code.map_err(|_| format!("`{word}` is no exit code"))?);
            }
            None if word == "wrong" => right = false,
            _ => return Err(format!("the mark `{word}` is not known")),
        }
    }
    if reason == Some("") {
        return Err("`not run:` wants a reason".to_owned());
    }
    if reason.is_some() {
        return Ok(Kind::Shown);
    }
    let begins = |word: &str| text.iter().any(|line| line.starts_with(word));
    Ok(match (file, part, language) {
        (Some(name), None, _) => Kind::File { name, right },
        (None, Some(name), _) => Kind::Part(name),
        (Some(_), Some(_), _) => return Err("`file` and `part` exclude each other".to_owned()),
        (None, None, "sh") => Kind::Script,
        (None, None, "console") => Kind::Session { exits },
        (None, None, "yaml") if elsewhere => Kind::Shown,
        (None, None, "yaml") if begins("headwater:") => Kind::Checked,
        (None, None, "yaml") if begins("operations:") => Kind::Operations,
        (None, None, "yaml") => {
            return Err(
                "say what this is: `file=NAME`, `part=NAME` or `not run: REASON`".to_owned(),
            );
        }
        _ if begins("$ ") => return Err("a session is a block `console`".to_owned()),
        _ => Kind::Shown,
    })
}

/// A name of a file below the folder of the page.
fn inside(name: &str) -> Result<String, String> {
    let good =
        !name.is_empty() && !name.starts_with('/') && !name.split('/').any(|part| part == "..");
    good.then(|| name.to_owned())
        .ok_or_else(|| format!("`{name}` is not below the folder of the page"))
}

#[cfg(test)]
mod tests {
    use super::{Block, Kind, blocks};

    fn page(text: &str) -> Result<Vec<Block>, (usize, String)> {
        blocks(&text.lines().collect::<Vec<_>>(), false)
    }

    #[test]
    fn a_block_is_what_its_mark_says() {
        let session = |exits| Kind::Session { exits };
        let file = |right| Kind::File {
            name: "a.yaml".to_owned(),
            right,
        };
        for (block, kind) in [
            ("```yaml file=a.yaml\nheadwater: 1\n```", file(true)),
            ("```yaml file=a.yaml wrong\nheadwater: 1\n```", file(false)),
            (
                "```yaml part=a.yaml\nwait: all\n```",
                Kind::Part("a.yaml".to_owned()),
            ),
            ("```yaml\n# one\nheadwater: 1\n```", Kind::Checked),
            ("```yaml\noperations: {}\n```", Kind::Operations),
            ("```sh\nls\n```", Kind::Script),
            ("```sh not run: it takes long\nls\n```", Kind::Shown),
            ("```console\n$ ls\n```", session(None)),
            ("```console exits=1\n$ ls\n```", session(Some(1))),
            ("````text\n```\n````", Kind::Shown),
            ("```rust,no_run\nfn main() {}\n```", Kind::Shown),
        ] {
            let found = page(block).expect(block);
            assert_eq!(found.len(), 1, "{block}");
            assert_eq!(found[0].kind, kind, "{block}");
        }
    }

    #[test]
    fn what_nobody_would_test_is_refused() {
        for (block, what) in [
            (
                "```text\n$ headwater runs ls\n```",
                "a session is a block `console`",
            ),
            ("```sh not run:\nls\n```", "wants a reason"),
            ("```sh quiet\nls\n```", "`quiet` is not known"),
            ("```console exits=no\n```", "`exits=no` is no exit code"),
            ("```yaml\nwait: all\n```", "say what this is"),
            ("```yaml file=../a.yaml\n```", "not below the folder"),
            ("```\n$ ls\n```", "a session is a block `console`"),
            ("```sh\nls\n", "has no end"),
        ] {
            let (line, said) = page(block).expect_err(block);
            assert_eq!(line, 0, "{block}");
            assert!(said.contains(what), "{block}: {said}");
        }
    }
}

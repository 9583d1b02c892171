//! Links of documents lead somewhere.
//!
//! Law: a relative link in a Markdown file names a file or folder of the tree, and what follows a `#` is a heading of
//! that page. Pages of the guide link only to what is in the guide, since a book that is built from `docs` has nothing
//! else; and every page under `docs` stands in its table of contents.

use super::Problem;
use crate::workspace::{SourceFile, Workspace};

/// The folder of the guide.
const GUIDE: &str = "docs/";

/// Its table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The links that lead nowhere, and pages that no table of contents has.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let pages = workspace.files.iter().filter(|file| is_page(&file.path));
    let mut problems: Vec<Problem> = pages.flat_map(|page| check_page(workspace, page)).collect();
    problems.extend(not_listed(workspace));
    problems
}

fn is_page(path: &str) -> bool {
    path.ends_with(".md")
}

fn check_page(workspace: &Workspace, page: &SourceFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (line, target) in links(&page.text) {
        let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let mut wrong = |what: String, fix: &str| {
            problems.push(Problem::new(&page.path, line, what, fix));
        };
        let Some(path) = resolve(&page.path, path) else {
            wrong(
                format!("the link `{target}` leads out of the tree"),
                "name a file of the tree",
            );
            continue;
        };
        if !workspace.has(&path) {
            wrong(
                format!("the link `{target}` leads nowhere"),
                "name a file or folder that is there, relative to this page",
            );
        } else if page.path.starts_with(GUIDE) && !path.starts_with(GUIDE) {
            wrong(
                format!("the link `{target}` leads out of the guide"),
                "write the name of the file as code; the book has no such page",
            );
        } else if !anchor.is_empty() {
            let there = workspace.file(&path).is_some_and(|other| {
                headings(&other.text)
                    .iter()
                    .any(|heading| heading == anchor)
            });
            if !there {
                wrong(
                    format!("`{path}` has no heading `#{anchor}`"),
                    "a heading is named in small letters, with dashes for blanks and without other signs",
                );
            }
        }
    }
    problems
}

/// The pages of the guide that its table of contents leaves out.
fn not_listed(workspace: &Workspace) -> Vec<Problem> {
    let Some(summary) = workspace.file(SUMMARY) else {
        return Vec::new();
    };
    let listed: Vec<String> = links(&summary.text)
        .into_iter()
        .filter_map(|(_, target)| resolve(SUMMARY, &target))
        .collect();
    let pages = workspace
        .files
        .iter()
        .filter(|file| file.path.starts_with(GUIDE) && is_page(&file.path) && file.path != SUMMARY);
    pages
        .filter(|page| !listed.contains(&page.path))
        .map(|page| {
            let what = format!("the page is not in `{SUMMARY}`");
            Problem::new(&page.path, 1, what, "add a line for it there")
        })
        .collect()
}

/// The relative links of a page with their lines, those in blocks and in code left out.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, text) in prose(text) {
        let mut rest = without_code(text);
        while let Some((_, after)) = rest.split_once("](") {
            let target = after.split([')', ' ']).next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push((line, target.to_owned()));
            }
            rest = after.to_owned();
        }
    }
    found
}

/// The lines outside of fenced blocks, counted from 1.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
        match fence {
            Some(open) if trimmed == open => fence = None,
            Some(_) => {}
            None if ticks >= 3 => fence = Some(&trimmed[..ticks]),
            None => lines.push((index + 1, line)),
        }
    }
    lines
}

/// A line without what stands between backticks; the text of a link may well be code.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        let closed = at + 1 < parts.len();
        if at % 2 == 0 || !closed {
            out.push_str(part);
        }
    }
    out
}

/// What a link in a page names, relative to the root; none if that is above it.
fn resolve(page: &str, link: &str) -> Option<String> {
    if link.is_empty() {
        return Some(page.to_owned());
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The names of the headings of a page; a second heading of the same text is numbered.
fn headings(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, line) in prose(text) {
        let level = line.len() - line.trim_start_matches('#').len();
        if level == 0 || !line[level..].starts_with(' ') {
            continue;
        }
        let name = slug(line[level..].trim());
        let before = names.iter().filter(|other| **other == name).count();
        names.push(match before {
            0 => name,
            count => format!("{name}-{count}"),
        });
    }
    names
}

/// How a heading is called in an address.
fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase();
    kept.chars()
        .filter_map(|sign| match sign {
            ' ' => Some('-'),
            sign if sign.is_alphanumeric() || sign == '-' || sign == '_' => Some(sign),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;

    #[test]
    fn a_link_leads_to_a_file_a_folder_or_a_heading() {
        let page = "# Title\n\n[a](b.md) [b](docs) [c](docs/page.md#what-it-says) [d](#title)\n\
                    [e](https://example.org/x.md#y) ![f](docs/picture.png) `[g](none.md)`\n\
                    ```text\n[h](none.md)\n```\n[`i`](b.md)\n";
        let mut tree = example::files(&[
            ("README.md", page),
            ("b.md", ""),
            ("docs/page.md", "## What it says\n"),
        ]);
        tree.pictures.push("docs/picture.png".to_owned());
        expect(&check(&tree), &[]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let page =
            "[a](none.md)\n\n[b](b.md#none) [c](../up.md)\n![d](docs/none.png)\n[`e`](none)\n";
        let tree = example::files(&[("README.md", page), ("b.md", "# Some\n")]);
        expect(
            &check(&tree),
            &[
                "README.md:1: the link `none.md` leads nowhere",
                "README.md:3: `b.md` has no heading `#none`",
                "README.md:3: the link `../up.md` leads out of the tree",
                "README.md:4: the link `docs/none.png` leads nowhere",
                "README.md:5: the link `none` leads nowhere",
            ],
        );
    }

    #[test]
    fn equal_headings_are_numbered_and_signs_left_out() {
        let other = "# `trace.tsv`\n## Twice\n## Twice\n## Why did this run?\n";
        let page = "[a](o.md#tracetsv) [b](o.md#twice) [c](o.md#twice-1) [d](o.md#why-did-this-run)\n\
                    [e](o.md#twice-2)\n";
        let tree = example::files(&[("p.md", page), ("o.md", other)]);
        expect(&check(&tree), &["p.md:2: `o.md` has no heading `#twice-2`"]);
    }

    #[test]
    fn the_guide_is_whole() {
        let tree = example::files(&[
            ("docs/SUMMARY.md", "[One](one.md)\n"),
            ("docs/adr/0001-a.md", ""),
            ("docs/one.md", "[out](../README.md)\n"),
            ("docs/two.md", ""),
            ("README.md", "[in](docs/one.md)\n"),
        ]);
        expect(
            &check(&tree),
            &[
                "docs/one.md:1: the link `../README.md` leads out of the guide",
                "docs/adr/0001-a.md:1: the page is not in `docs/SUMMARY.md`",
                "docs/two.md:1: the page is not in `docs/SUMMARY.md`",
            ],
        );
    }
}

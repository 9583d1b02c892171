//! `cargo xtask figures`: the tables of the documents, from the figures of one run of all benchmarks.
//!
//! Law: no figure is typed. `docs/figures.json` is what `cargo xtask bench all --json` printed; README.md, docs/figures.md
//! and docs/peers.md have parts between marks that are a pure function of it, which `tidy` compares.
//! `read.rs` takes the document apart, `show.rs` makes tables of it, and this file knows where they belong.

mod read;
mod show;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

pub(crate) use read::Figures;

use crate::failure::Failure;
use crate::process;

/// The figures that the documents show.
pub(crate) const SOURCE: &str = "docs/figures.json";

/// What stands before and behind the part of a document that is made.
const BEGIN: &str = "<!-- figures: from here on made by `cargo xtask figures` -->";
const END: &str = "<!-- figures: up to here -->";

/// A document, and what makes its part.
type Part = (&'static str, fn(&Figures) -> String);

/// All of them.
const PARTS: [Part; 3] = [
    ("README.md", Figures::readme),
    ("docs/figures.md", Figures::page),
    ("docs/peers.md", Figures::peers),
];

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::usage(format!(
            "`figures` takes no arguments, not `{argument}`"
        )));
    }
    let root = process::root();
    let figures = parse(&text(&root.join(SOURCE))?)?;
    for (document, _) in PARTS {
        let path = root.join(document);
        let old = text(&path)?;
        let new = renewed(document, &old, &figures)?;
        if new != old {
            fs::write(&path, new).map_err(|source| Failure::Write { path, source })?;
            eprintln!("figures: wrote {document}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The documents that have figures.
pub(crate) fn documents() -> impl Iterator<Item = &'static str> {
    PARTS.into_iter().map(|(document, _)| document)
}

/// Reads the source of all figures.
pub(crate) fn parse(text: &str) -> Result<Figures, Failure> {
    let document: Value = serde_json::from_str(text).map_err(|error| Failure::Figures {
        what: format!("`{SOURCE}` cannot be read: {error}"),
    })?;
    Figures::read(&document)
}

/// A document with its part made anew.
pub(crate) fn renewed(document: &str, old: &str, figures: &Figures) -> Result<String, Failure> {
    let (_, make) = PARTS
        .into_iter()
        .find(|(name, _)| *name == document)
        .ok_or_else(|| Failure::Figures {
            what: format!("`{document}` has no figures"),
        })?;
    let missing = |mark: &str| Failure::Figures {
        what: format!("`{document}` has no line `{mark}`"),
    };
    let (before, rest) = old.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    let part = make(figures);
    Ok(format!(
        "{before}{BEGIN}\n\n{}\n\n{END}{after}",
        part.trim()
    ))
}

fn text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|source| Failure::Read {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::{parse, renewed};

    #[test]
    fn a_part_is_made_anew_and_the_rest_stays() {
        let figures = parse(
            r#"{"headwater": "0.1.0", "date": "2026-01-02", "machine": "2 cores", "benches": []}"#,
        )
        .unwrap();
        let mark = |text: &str| {
            format!(
                "before\n<!-- figures: from here on made by `cargo xtask figures` -->{text}<!-- figures: up to here -->\nafter\n"
            )
        };
        let new = renewed("docs/figures.md", &mark("\nstale\n"), &figures).unwrap();
        assert!(new.starts_with("before\n<!-- figures"), "{new}");
        assert!(new.ends_with("up to here -->\nafter\n"), "{new}");
        assert!(!new.contains("stale"), "{new}");
        let again = renewed("docs/figures.md", &new, &figures).unwrap();
        assert_eq!(again, new, "making it anew twice changes nothing");
        let failure = renewed("docs/figures.md", "no mark", &figures).unwrap_err();
        assert!(failure.to_string().contains("has no line"), "{failure}");
    }
}

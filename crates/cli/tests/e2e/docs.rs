//! `docs/commands.md` is what `--help` says.
//!
//! After a change of the command line, `UPDATE_DOCS=1 cargo test -p headwater-cli docs` writes it anew.

use std::fmt::Write;
use std::path::Path;

use crate::place::{Place, read};

/// The help of a command and of all below it, as sections.
fn sections(place: &Place, command: &[&str], out: &mut String) {
    let help = place
        .headwater(&[command, &["--help"]].concat())
        .ended(0)
        .stdout;
    let title = [&["headwater"], command].concat().join(" ");
    let level = "#".repeat(command.len() + 2);
    let text: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(
        out,
        "\n{level} {title}\n\n```text\n{}\n```\n",
        text.join("\n").trim_end()
    );
    for name in subcommands(&help) {
        sections(place, &[command, &[name]].concat(), out);
    }
}

/// The names in the list of commands.
fn subcommands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

#[test]
fn commands_md_is_up_to_date() {
    let place = Place::new();
    let mut text = String::from(
        "# Commands\n\nWhat `headwater COMMAND --help` says, for all commands. This page is generated; the test \
         `commands_md_is_up_to_date`\nof `crates/cli` compares it and, with `UPDATE_DOCS=1` in its environment, writes it.\n",
    );
    sections(&place, &[], &mut text);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).expect("docs/commands.md can be written");
    }
    let message = "docs/commands.md is not what --help says; run the test with UPDATE_DOCS=1";
    assert_eq!(read(&path), text, "{message}");
}

#[test]
fn every_command_and_flag_explains_itself() {
    let place = Place::new();
    let mut text = String::new();
    sections(&place, &[], &mut text);
    for wanted in [
        "## headwater",
        "### headwater run",
        "### headwater check",
        "#### headwater runs ls",
        "#### headwater runs show",
        "#### headwater runs diff",
        "### headwater explain",
        "#### headwater products ls",
        "#### headwater products show",
        "#### headwater products verify",
        "#### headwater products gc",
        "#### headwater imaging segment",
        "#### headwater imaging synth",
    ] {
        assert!(text.contains(&format!("\n{wanted}\n")), "{wanted}");
    }
    let lines: Vec<&str> = text.lines().collect();
    // `- name: …` is a possible value, not a flag.
    let is_flag = |line: &str| line.starts_with('-') && !line.starts_with("- ");
    let flags = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| is_flag(line.trim_start()));
    let mut count = 0;
    for (number, line) in flags {
        count += 1;
        // The explanation follows on the same line, after a gap, or on the next one, further in.
        let here = line
            .trim_start()
            .split("  ")
            .skip(1)
            .any(|text| !text.trim().is_empty());
        let indent = |line: &str| line.len() - line.trim_start().len();
        let below = lines
            .get(number + 1)
            .is_some_and(|next| !next.trim().is_empty() && indent(next) > indent(line) + 2);
        assert!(here || below, "`{line}` is not explained");
    }
    assert!(count > 20, "{count} flags were found");
}

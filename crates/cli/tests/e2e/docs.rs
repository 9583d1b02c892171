//! `docs/commands.md` is what `--help` says, as the program prints it.
//!
//! That no command is left out, and that each section is that of its command, is tested where the definition of the
//! command line is at hand: `src/command_cases.rs`.
//!
//! After a change of the command line, `UPDATE_DOCS=1 cargo test -p headwater-cli docs` writes it anew.

use std::fmt::Write;
use std::fs;
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
    let asked = [&["help"], command].concat();
    let same = place.headwater(&asked).ended(0).stdout;
    assert_eq!(same, help, "`headwater {}`", asked.join(" "));
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
        fs::write(&path, &text).expect("docs/commands.md can be written");
    }
    let message = "docs/commands.md is not what --help says; run the test with UPDATE_DOCS=1";
    assert_eq!(read(&path), text, "{message}");
}

#[test]
fn a_command_that_needs_another_word_shows_help() {
    let place = Place::new();
    for (arguments, usage) in [
        (&[][..], "Usage: headwater [OPTIONS] <COMMAND>"),
        (&["study"], "Usage: headwater study [OPTIONS] <COMMAND>"),
    ] {
        let ran = place.headwater::<&str>(arguments).ended(2);
        ran.says(&[usage, "Commands:", "Examples:"]);
    }
}

#[test]
fn scripts_and_pages_come_from_the_command() {
    let place = Place::new();
    for (shell, wanted) in [
        ("bash", "complete -F _headwater"),
        ("zsh", "#compdef headwater\n"),
        ("fish", "complete -c headwater"),
    ] {
        let script = place.headwater(&["completions", shell]).ended(0).stdout;
        assert!(script.contains(wanted), "{shell}");
        let told = place.headwater(&["completions", shell, "--json"]);
        let same = told.ended(0).report().0["script"]
            .as_str()
            .map(str::trim_end)
            .map(str::to_owned);
        assert_eq!(same.as_deref(), Some(script.trim_end()));
    }
    place
        .headwater(&["completions", "tcsh"])
        .ended(2)
        .says(&["invalid value 'tcsh'", "bash, zsh, fish"]);
    let page = place.headwater(&["man", "study", "run"]).ended(0).stdout;
    assert!(
        page.contains(".TH \"HEADWATER\\-STUDY\\-RUN\" 1 "),
        "{page}"
    );
    let told = place.headwater(&["man", "study", "run", "--json"]);
    assert_eq!(told.ended(0).report().0["page"], page);
    let told = place
        .headwater(&["man", "-o", "pages/man1"])
        .ended(0)
        .stdout;
    let pages: Vec<_> = fs::read_dir(place.path("pages/man1"))
        .expect("a folder")
        .collect();
    assert_eq!(told, format!("{} pages in pages/man1\n", pages.len()));
    assert_eq!(place.read("pages/man1/headwater-study-run.1"), page);
    place.headwater(&["man", "walk"]).ended(2).says(&[
        "`headwater` has no command `walk`",
        "its commands are `run`",
    ]);
    // A folder stands where a page would.
    fs::create_dir_all(place.path("taken/headwater-run.1/x")).expect("a folder");
    place
        .headwater(&["man", "-o", "taken"])
        .ended(1)
        .says(&["cannot write `taken/headwater-run.1`"]);
    let hidden = fs::read_dir(place.path("taken")).expect("a folder");
    let names = hidden.map(|entry| entry.expect("an entry").file_name());
    assert_eq!(
        names
            .filter(|name| name.to_string_lossy().starts_with('.'))
            .count(),
        0,
        "nothing half written is left"
    );
}

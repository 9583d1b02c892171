//! `headwater man`: manual pages.
//!
//! Law: a page is a function of the command line's definition alone. Only files that have the name of a page are
//! written, and they appear when they are whole.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::roff::{Roff, roman};

use headwater::Error;

use crate::arguments::shells::Man;
use crate::arguments::{Arguments, Common};
use crate::show;

/// Prints a page, or writes all.
pub(crate) fn man(options: &Man, common: &Common) -> Result<ExitCode, Error> {
    let root = tree();
    let Some(folder) = &options.output else {
        let command = find(&root, &options.command)?;
        let page = page(command);
        if common.json {
            show::line(&serde_json::json!({ "page": page }).to_string());
        } else {
            show::line(page.trim_end());
        }
        return Ok(ExitCode::SUCCESS);
    };
    fs::create_dir_all(folder).map_err(|source| unwritable(folder, source))?;
    let mut files = Vec::new();
    write(&root, folder, &mut files)?;
    if common.json {
        let pages: Vec<String> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        show::line(&serde_json::json!({ "pages": pages }).to_string());
    } else {
        show::line(&format!(
            "{} in {}",
            show::count(files.len(), "page"),
            show::path(folder)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// All commands, each with the flags of every command.
fn tree() -> Command {
    let mut root = titled(Arguments::command().disable_help_subcommand(true));
    root.build();
    root
}

/// A command and all below it, with what pages call the commands below.
fn titled(command: Command) -> Command {
    command
        .subcommand_help_heading("COMMANDS")
        .subcommand_value_name("command")
        .mut_subcommands(titled)
}

/// The commands right below a command.
fn below(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
}

/// The command that these words name.
fn find<'a>(root: &'a Command, words: &[String]) -> Result<&'a Command, Error> {
    let mut command = root;
    for word in words {
        let found = below(command).find(|below| below.get_name() == word);
        command = found.ok_or_else(|| {
            let name = command.get_bin_name().unwrap_or("headwater");
            let names: Vec<String> = below(command)
                .map(|below| format!("`{}`", below.get_name()))
                .collect();
            Error::Use {
                message: format!("`{name}` has no command `{word}`"),
                hint: Some(if names.is_empty() {
                    format!(
                        "`headwater man {}` prints its page",
                        words_of(command).join(" ")
                    )
                } else {
                    format!("its commands are {}", names.join(", "))
                }),
            }
        })?;
    }
    Ok(command)
}

/// The words that name a command, without `headwater`.
fn words_of(command: &Command) -> Vec<&str> {
    let name = command.get_bin_name().unwrap_or_default();
    name.split(' ').skip(1).collect()
}

/// Writes the pages of a command and of all below it.
fn write(command: &Command, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let name = clap_mangen::Man::new(command.clone()).get_filename();
    let path = folder.join(&name);
    let hidden = folder.join(format!(".{name}.{}", std::process::id()));
    let written = fs::write(&hidden, page(command)).and_then(|()| fs::rename(&hidden, &path));
    written.map_err(|source| {
        let _ = fs::remove_file(&hidden);
        unwritable(&path, source)
    })?;
    files.push(path);
    below(command).try_for_each(|below| write(below, folder, files))
}

fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::Io {
        what: "cannot write",
        path: path.to_owned(),
        source,
    }
}

/// The page of a command, as roff.
fn page(command: &Command) -> String {
    let mut out = Vec::new();
    render(command, &mut out).expect("a vector takes every byte");
    let text = String::from_utf8_lossy(&out);
    let name = words_of(command)
        .into_iter()
        .fold("HEADWATER".to_owned(), |name, word| {
            format!("{name}\\-{}", word.to_uppercase())
        });
    // Every section begins with it; once is enough. The empty date is written here because `Man` leaves it out, and
    // takes what follows for the date.
    let title = format!(
        ".TH \"{name}\" 1 \"\" \"headwater {}\" \"Headwater Manual\"\n",
        env!("CARGO_PKG_VERSION")
    );
    // Before the values of a flag an empty line is meant, in two ways at once.
    let text = text
        .replace(APOSTROPHE, "")
        .replace(".br\n\n.br\n", ".sp\n");
    format!("{APOSTROPHE}{title}{AS_TYPED}{text}")
}

/// Words are not broken and blanks not widened: what is to be typed stays as it is.
const AS_TYPED: &str = ".nh\n.ad l\n";

/// What roff has to know to print an apostrophe that can be copied into a shell.
const APOSTROPHE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

fn render(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    let man = clap_mangen::Man::new(command.clone().override_usage(usage));
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if below(command).next().is_some() {
        man.render_subcommands_section(out)?;
    }
    if let Some(text) = command.get_after_help() {
        out.write_all(as_written(&text.to_string()).as_bytes())?;
    }
    let words = words_of(command);
    if let Some((_, above)) = words.split_last() {
        let name = [&["headwater"], above].concat().join("-");
        let mut roff = Roff::default();
        roff.control("SH", ["SEE ALSO"]);
        roff.text([roman(format!("{name}(1)"))]);
        roff.to_writer(out)?;
    }
    Ok(())
}

/// Text that stands below the options, with its lines as they are.
fn as_written(text: &str) -> String {
    let mut roff = Roff::default();
    let mut section = |title: &str, lines: &[&str]| {
        roff.control("SH", [title]);
        roff.control("nf", []);
        for line in lines {
            roff.text([roman(*line)]);
        }
        roff.control("fi", []);
    };
    let mut lines: Vec<&str> = text.lines().collect();
    let codes: Vec<&str> = lines
        .extract_if(.., |line| line.starts_with("Exit codes: "))
        .collect();
    match lines.split_first() {
        Some((&("Example:" | "Examples:"), lines)) => section("EXAMPLES", lines),
        Some(_) => section("NOTES", &lines),
        None => {}
    }
    if !codes.is_empty() {
        section("EXIT STATUS", &codes);
    }
    roff.to_roff()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::{Command as Program, Stdio};

    use super::*;
    use crate::command_cases::{every_command, words};

    /// Gives a text to a program; what it wrote to stdout and stderr. None if there is no such program.
    fn filtered(program: &str, arguments: &[&str], text: &str) -> Option<(String, String)> {
        let mut command = Program::new(program);
        command.args(arguments).stdin(Stdio::piped());
        let Ok(mut child) = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
        else {
            eprintln!("skipped: `{program}` is not installed");
            return None;
        };
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("it reads all");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Some((text(output.stdout), text(output.stderr)))
    }

    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("headwater-run.1"), "old").expect("a file");
        fs::write(folder.path().join("notes.1"), "mine").expect("a file");
        let mut files = Vec::new();
        write(&tree(), folder.path(), &mut files).expect("pages");
        let entries = fs::read_dir(folder.path()).expect("a folder");
        let found: BTreeSet<String> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        let mut expected: BTreeSet<String> = every_command()
            .iter()
            .map(|command| format!("{}.1", words(command).join("-")))
            .collect();
        assert_eq!(files.len(), expected.len());
        expected.insert("notes.1".to_owned());
        assert_eq!(found, expected);
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a file");
        assert_eq!(read("notes.1"), "mine");
        assert!(
            read("headwater-run.1").starts_with(".ie"),
            "it was replaced"
        );
        assert!(read("headwater-study-run.1").contains(".TH \"HEADWATER\\-STUDY\\-RUN\" 1 "));
    }

    #[test]
    fn a_page_says_what_help_says() {
        let root = tree();
        for command in every_command() {
            let words = words(&command);
            let name = words.join(" ");
            let command = find(&root, &words[1..]).expect("a command");
            // Hyphens are written so that they stay hyphens.
            let text = page(command)
                .replace("\\-", "-")
                .replace("\\*(Aq", "'")
                .replace("\\\\", "\\");
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let help = arg.get_long_help().or(arg.get_help());
                let help = help.map(ToString::to_string).unwrap_or_default();
                assert!(
                    text.contains(&help),
                    "{name}: `{help}` is missing in\n{text}"
                );
                let flag = arg
                    .get_long()
                    .map(|long| format!("--{long}"))
                    .unwrap_or_default();
                assert!(text.contains(&flag), "{name}: {flag} is missing");
            }
            let usage = command.clone().render_usage().to_string();
            let arguments = usage.split_once(&name).map_or("", |(_, rest)| rest);
            assert!(text.contains(arguments), "{name}: `{arguments}` is missing");
            for below in below(command) {
                let below = format!("{}-{}(1)", words.join("-"), below.get_name());
                assert!(text.contains(&below), "{name}: {below} is missing");
            }
            let after = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            for line in after.lines().filter(|line| !line.starts_with("Example")) {
                assert!(
                    text.contains(line),
                    "{name}: `{line}` is missing in\n{text}"
                );
            }
            assert!(
                !text.contains("headwater-help") && !text.contains("spawner"),
                "{name}"
            );
        }
    }

    #[test]
    fn groff_and_mandoc_have_nothing_to_say() {
        let root = tree();
        for command in every_command() {
            let words = words(&command);
            let command = find(&root, &words[1..]).expect("a command");
            let (name, text) = (words.join(" "), page(command));
            if let Some((_, talk)) = filtered("groff", &["-man", "-ww", "-z", "-K", "utf8"], &text)
            {
                assert_eq!(talk, "", "groff on the page of {name}");
            }
            if let Some((found, _)) = filtered("mandoc", &["-T", "lint", "-W", "warning"], &text) {
                // There is no date: a page is that of a version, which its foot names.
                let real = found.lines().filter(|line| !line.contains("missing date"));
                assert_eq!(
                    real.collect::<Vec<_>>(),
                    Vec::<&str>::new(),
                    "mandoc on the page of {name}"
                );
            }
        }
    }

    #[test]
    fn examples_keep_their_lines() {
        let Some((shown, _)) = filtered(
            "groff",
            &["-man", "-T", "utf8", "-P-c", "-rLL=100n", "-K", "utf8"],
            &page(find(&tree(), &["explain".to_owned()]).expect("a command")),
        ) else {
            return;
        };
        // Bold and underlined letters are struck twice.
        let mut plain = String::new();
        for letter in shown.chars() {
            match letter {
                '\u{8}' => drop(plain.pop()),
                letter => plain.push(letter),
            }
        }
        let wanted =
            "  headwater explain last 'raise.add[0]'   a task of the latest run, by its address\n";
        assert!(plain.contains(wanted), "{plain}");
    }

    #[test]
    fn a_command_that_is_not_there_names_those_that_are() {
        let refused = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            find(&tree(), &words).map_or_else(
                |error| format!("{error}; {}", error.hint().unwrap_or_default()),
                |command| command.get_name().to_owned(),
            )
        };
        assert_eq!(refused(&["study", "run"]), "run");
        assert_eq!(refused(&[]), "headwater");
        assert_eq!(
            refused(&["study", "walk"]),
            "`headwater study` has no command `walk`; its commands are `plan`, `run`, `report`"
        );
        assert_eq!(
            refused(&["study", "run", "x"]),
            "`headwater study run` has no command `x`; `headwater man study run` prints its page"
        );
        assert!(
            refused(&["help"])
                .starts_with("`headwater` has no command `help`; its commands are `run`")
        );
    }
}

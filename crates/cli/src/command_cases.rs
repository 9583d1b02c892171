//! Every command, from the one definition of the command line, and what is said of it in help and in the documents.
//!
//! Law: the commands come from the definition, never from a list made by hand: a command that is new is tested here, and
//! fails where it has no help, no example, no section in `docs/commands.md` or no snapshot of its `-h`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};

use crate::arguments::Arguments;

/// How wide help is in documents and snapshots.
const WIDTH: usize = 100;

/// All commands that users see, `headwater` itself first, each before those below it.
pub(crate) fn every_command() -> Vec<Command> {
    fn collect(command: &Command, out: &mut Vec<Command>) {
        if command.is_hide_set() || command.get_name() == "help" {
            return;
        }
        out.push(command.clone());
        for below in command.get_subcommands() {
            collect(below, out);
        }
    }
    let mut root = Arguments::command().term_width(WIDTH);
    root.build();
    let mut out = Vec::new();
    collect(&root, &mut out);
    out
}

/// The words that a command is called by: `headwater`, `study`, `run`.
pub(crate) fn words(command: &Command) -> Vec<String> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    name.split(' ').map(str::to_owned).collect()
}

/// What a command says when asked for help.
fn help_of(command: &Command, flag: &str) -> String {
    let mut asked = words(command);
    asked.push(flag.to_owned());
    let root = Arguments::command().term_width(WIDTH);
    let answer = root.try_get_matches_from(asked).expect_err("help");
    assert_eq!(answer.kind(), ErrorKind::DisplayHelp);
    trimmed(&answer.to_string())
}

/// Text without blanks at the ends of its lines.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}

/// The folder of the project.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_tree_is_walked_to_its_leaves() {
    let names: Vec<String> = every_command()
        .iter()
        .map(|command| words(command).join(" "))
        .collect();
    for name in [
        "headwater",
        "headwater run",
        "headwater study run",
        "headwater products gc",
    ] {
        assert!(names.iter().any(|found| found == name), "{names:?}");
    }
}

#[test]
fn commands_md_has_what_help_says_of_every_command() {
    let text = read(&project().join("docs/commands.md"));
    let hint = "run `UPDATE_DOCS=1 cargo test -p headwater-cli --test e2e docs::`";
    let mut sections = Vec::new();
    for section in text.split("\n```\n") {
        let Some((heading, help)) = section.split_once("\n\n```text\n") else {
            continue;
        };
        let heading = heading.lines().last().unwrap_or_default();
        let level = heading.chars().take_while(|letter| *letter == '#').count();
        sections.push((
            level,
            heading.trim_start_matches(['#', ' ']).to_owned(),
            help,
        ));
    }
    let titles: Vec<&str> = sections.iter().map(|(_, title, _)| &**title).collect();
    let commands = every_command();
    let names: Vec<String> = commands
        .iter()
        .map(|command| words(command).join(" "))
        .collect();
    assert_eq!(
        titles, names,
        "the sections of docs/commands.md are not the commands; {hint}"
    );
    for (command, (level, title, help)) in commands.into_iter().zip(&sections) {
        assert_eq!(*level, words(&command).len() + 1, "the level of `{title}`");
        let said = help_of(&command, "--help");
        let differs = help
            .lines()
            .zip(said.lines())
            .find(|(written, said)| written != said);
        assert!(
            *help == said,
            "docs/commands.md is not what `{title} --help` says: {differs:?}; {hint}"
        );
    }
}

/// What `-h` says; `--help` is in `docs/commands.md`, which is compared above. `INSTA_UPDATE=always` writes these.
#[test]
fn the_short_help_of_every_command_is_as_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/snapshots/short-help");
    let mut expected = BTreeSet::new();
    for command in every_command() {
        let name = words(&command).join("-");
        let help = help_of(&command, "-h");
        insta::with_settings!({
            snapshot_path => "snapshots/short-help",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(name.clone(), help);
        });
        expected.insert(format!("{name}.snap"));
    }
    let entries = fs::read_dir(&folder).expect("the folder of snapshots");
    let found: BTreeSet<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(
        found, expected,
        "remove the snapshots of commands that are gone"
    );
}

#[test]
fn every_command_and_argument_explains_itself() {
    for command in every_command() {
        let name = words(&command).join(" ");
        let about = command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(!about.is_empty(), "`{name}` says nothing of itself");
        assert!(
            !about.ends_with('.'),
            "`{name}`: a summary has no full stop"
        );
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(
                !help.is_empty(),
                "`{name}` does not explain {}",
                arg.get_id()
            );
        }
    }
}

#[test]
fn every_command_has_examples_that_work_and_do_not_wrap() {
    for command in every_command() {
        let name = words(&command).join(" ");
        let after = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(after.contains("Example"), "`{name} --help` has no example");
        let mut own = 0;
        for line in after.lines() {
            assert!(
                line.chars().count() <= WIDTH,
                "`{name} --help` would wrap: {line}"
            );
            let Some(example) = commands_in_line(line.trim_start()).into_iter().next() else {
                continue;
            };
            if let Some(error) = refused(&example, true) {
                panic!("an example of `{name}` is wrong: {line}\n{error}");
            }
            own += usize::from(example.starts_with(&words(&command)));
        }
        assert!(own > 0, "no example of `{name} --help` is of that command");
    }
}

#[test]
fn the_documents_name_only_commands_and_flags_that_exist() {
    let mut flags = BTreeSet::new();
    for command in every_command() {
        flags.extend(
            command
                .get_arguments()
                .filter_map(|arg| arg.get_long().map(str::to_owned)),
        );
    }
    let mut checked = 0;
    let mut wrong = Vec::new();
    for path in documents() {
        let name = path
            .strip_prefix(project())
            .unwrap_or(&path)
            .display()
            .to_string();
        for mention in mentions(&read(&path)) {
            let found = match &mention.what {
                What::Flag(flag) if !flags.contains(flag) => {
                    Some(format!("no command has the flag --{flag}"))
                }
                What::Flag(_) => None,
                What::Command { words, whole } => refused(words, *whole),
            };
            checked += 1;
            let line = mention.line;
            wrong.extend(found.map(|found| format!("{name}:{line}: {found}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        checked > 100,
        "only {checked} commands and flags were found"
    );
}

/// The pages for people who use Headwater.
fn documents() -> Vec<PathBuf> {
    let inside = |folder: PathBuf| {
        let entries =
            fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect::<Vec<_>>()
    };
    let mut pages = inside(project().join("docs"));
    pages.extend(
        inside(project().join("examples"))
            .iter()
            .map(|folder| folder.join("README.md")),
    );
    pages.push(project().join("README.md"));
    pages.retain(|path| {
        path.extension().is_some_and(|extension| extension == "md") && path.is_file()
    });
    pages.sort();
    pages
}

/// A command or a flag in a document.
#[derive(Debug, PartialEq)]
struct Mention {
    line: usize,
    what: What,
}

#[derive(Debug, PartialEq)]
enum What {
    /// The words of a command; whether it is meant to be given as it stands.
    Command { words: Vec<String>, whole: bool },
    /// A flag that stands alone, without its dashes.
    Flag(String),
}

/// The commands in the fenced blocks of a document, and the commands and flags in its text.
fn mentions(markdown: &str) -> Vec<Mention> {
    let mut out = Vec::new();
    let mut fenced = false;
    // Of a session, what is printed is no command.
    let mut session = false;
    let mut begun = String::new();
    for (number, line) in markdown.lines().enumerate() {
        let mut add = |what| {
            out.push(Mention {
                line: number + 1,
                what,
            });
        };
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            session = fenced && line.contains("console");
        } else if fenced {
            let text = line.trim_start();
            if session && begun.is_empty() && !text.starts_with("$ ") {
                continue;
            }
            begun += text.strip_prefix("$ ").unwrap_or(text);
            if begun.ends_with('\\') {
                begun.pop();
                continue;
            }
            for words in commands_in_line(&begun) {
                add(What::Command { words, whole: true });
            }
            begun.clear();
        } else {
            for span in line.split('`').skip(1).step_by(2) {
                if let Some(flag) = span.strip_prefix("--") {
                    let end =
                        flag.find(|letter: char| !letter.is_ascii_lowercase() && letter != '-');
                    add(What::Flag(flag[..end.unwrap_or(flag.len())].to_owned()));
                }
                for words in commands_in_line(span) {
                    add(What::Command {
                        words,
                        whole: false,
                    });
                }
            }
        }
    }
    out
}

/// The calls of headwater in a line of shell, or in a line of help with an explanation after some blanks.
fn commands_in_line(line: &str) -> Vec<Vec<String>> {
    let calls = shell_words(line).into_iter();
    calls
        .filter(|words| words.len() > 1 && words[0] == "headwater")
        .collect()
}

/// The words of the commands of a line, as a shell sees them, up to a comment or to a gap of two blanks.
fn shell_words(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut quote = None;
    let mut letters = line.chars().peekable();
    let mut blanks = 0;
    while let Some(letter) = letters.next() {
        blanks = if letter == ' ' { blanks + 1 } else { 0 };
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), letter) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, ' ') if blanks == 2 => break,
            (None, ' ') => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (None, '|' | '&' | ';' | '>' | '<' | '(' | ')') => {
                // `2>` names a stream.
                let streams = |word: &String| letter == '>' && word == "2";
                words.extend(word.take().filter(|word| !streams(word)));
                // What is written to or read from is no argument: it begins a command that is not headwater.
                commands.push(std::mem::take(&mut words));
            }
            (None, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    commands.push(words);
    commands
}

/// Not a command: the bytes that recipes begin with.
const RECIPE: [&str; 2] = ["headwater", "recipe"];

/// Why the command line refuses these words. In running text a command may be named without its arguments, and what is
/// in capitals stands for something.
fn refused(words: &[String], whole: bool) -> Option<String> {
    let stands_for = |word: &str| word.chars().all(|letter| letter.is_ascii_uppercase());
    if words == RECIPE
        || words
            .get(1)
            .is_some_and(|word| stands_for(word) || word.starts_with('…'))
    {
        return None;
    }
    let error = Arguments::command().try_get_matches_from(words).err()?;
    let fine = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => !whole,
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
            !whole && words.iter().skip(2).any(|word| stands_for(word))
        }
        _ => false,
    };
    (!fine).then(|| format!("`{}`: {}", words.join(" "), trimmed(&error.to_string())))
}

#[test]
fn commands_are_found_in_documents() {
    let text = "Say `headwater run` or `headwater run FLOW --memory SIZE`, with `--dry-run` or `ls --all`.\n\
                ```sh\n$ headwater run 'a b.yaml' --set x='1 2' # why\nls; headwater check a.yaml && echo\n\
                $ headwater run a.yaml \\\n    --json | head > out\n```\n\
                ```console\n$ headwater --version\nheadwater 0.1.0\n```\n";
    let command = |line, words: &[&str], whole| Mention {
        line,
        what: What::Command {
            words: words.iter().map(ToString::to_string).collect(),
            whole,
        },
    };
    let expected = [
        command(1, &["headwater", "run"], false),
        command(1, &["headwater", "run", "FLOW", "--memory", "SIZE"], false),
        Mention {
            line: 1,
            what: What::Flag("dry-run".to_owned()),
        },
        command(3, &["headwater", "run", "a b.yaml", "--set", "x=1 2"], true),
        command(4, &["headwater", "check", "a.yaml"], true),
        command(6, &["headwater", "run", "a.yaml", "--json"], true),
        command(9, &["headwater", "--version"], true),
    ];
    assert_eq!(mentions(text), expected);
}

#[test]
fn wrong_commands_are_refused() {
    let refused = |text: &str, whole| {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        refused(&words, whole).is_some()
    };
    for (text, in_block, in_text) in [
        ("headwater run a.yaml", false, false),
        ("headwater run", true, false),
        ("headwater study", true, false),
        ("headwater run FLOW --memory SIZE", true, false),
        ("headwater run a.yaml --memory much", true, true),
        ("headwater walk", true, true),
        ("headwater study walk", true, true),
        ("headwater run --fast", true, true),
        ("headwater run a.yaml b.yaml", true, true),
        ("headwater study run a.yaml --reuse all", true, true),
        ("headwater COMMAND --help", false, false),
        ("headwater run --help", false, false),
    ] {
        assert_eq!(
            (refused(text, true), refused(text, false)),
            (in_block, in_text),
            "{text}"
        );
    }
}

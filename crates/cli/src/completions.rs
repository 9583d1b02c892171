//! `headwater completions`: what shells need to know to complete a command line.
//!
//! Law: the script is a function of the command line's definition alone. Where a file is wanted, files are offered, and
//! where a folder is wanted, folders; a flag that wants neither gets no file names.

use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::aot;

use headwater::Error;

use crate::arguments::shells::{Completions, Shell};
use crate::arguments::{Arguments, Common};
use crate::show;

/// Prints the script.
pub(crate) fn completions(options: &Completions, common: &Common) -> Result<ExitCode, Error> {
    let script = script(options.shell);
    if common.json {
        show::line(&serde_json::json!({ "script": script }).to_string());
    } else {
        show::line(script.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// The script for a shell.
fn script(shell: Shell) -> String {
    let shell = match shell {
        Shell::Bash => aot::Shell::Bash,
        Shell::Zsh => aot::Shell::Zsh,
        Shell::Fish => aot::Shell::Fish,
    };
    let mut command = hinted(Arguments::command());
    let mut out = Vec::new();
    aot::generate(shell, &mut command, "headwater", &mut out);
    let script = String::from_utf8_lossy(&out).into_owned();
    if shell != aot::Shell::Bash {
        return script;
    }
    command.build();
    let ours = script.replace("complete -F _headwater ", "complete -F _headwater_words ");
    format!("{}\n{ours}", bash_words(&command))
}

/// For bash: flags are offered where one is begun and nowhere else. So files come where a file is wanted, as bash does
/// if nothing is offered, and after `man` the names of commands.
fn bash_words(command: &Command) -> String {
    let (mut known, mut files, mut man) = (Vec::new(), Vec::new(), String::new());
    walk(command, "", &mut |path, command| {
        let takes_files = |arg: &Arg| {
            let hint = arg.get_value_hint();
            matches!(
                hint,
                ValueHint::FilePath | ValueHint::DirPath | ValueHint::AnyPath
            )
        };
        if !path.is_empty() {
            known.push(format!("'{path}'|' man{path}'"));
        }
        if command.get_positionals().any(takes_files) {
            files.push(format!("'{path}'"));
        }
        let below: Vec<&str> = visible(command).map(Command::get_name).collect();
        if !below.is_empty() {
            man += &format!("        ' man{path}') names='{}' ;;\n", below.join(" "));
        }
    });
    format!(
        r#"_headwater_words() {{
    _headwater "$@"
    [[ $2 == -* ]] && return
    local word path='' names='' flags='' kept=()
    for word in "${{COMPREPLY[@]}}"; do
        if [[ $word == -* ]]; then flags=yes; else kept+=("$word"); fi
    done
    COMPREPLY=("${{kept[@]}}")
    [[ ${{#kept[@]}} -gt 0 ]] && return
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$path $word" in
            {}) path+=" $word" ;;
        esac
    done
    case "$path" in
{man}    esac
    if [[ -n $names && $3 != -* ]]; then
        COMPREPLY=( $(compgen -W "$names" -- "$2") )
    fi
    case "$path" in
        {}) ;;
        *) [[ -z $flags || ${{BASH_VERSINFO[0]}} -lt 4 ]] || compopt +o default +o bashdefault ;;
    esac
}}
"#,
        known.join("|"),
        files.join("|"),
    )
}

/// The commands below a command that are shown.
fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

/// Calls for a command and all below it, with the words that lead there, each behind a blank.
fn walk(command: &Command, path: &str, see: &mut impl FnMut(&str, &Command)) {
    see(path, command);
    for below in visible(command) {
        walk(below, &format!("{path} {}", below.get_name()), see);
    }
}

/// The command and all below it, with hints what their arguments are.
fn hinted(command: Command) -> Command {
    command.mut_args(hint).mut_subcommands(hinted)
}

/// An argument with a hint what it is: a folder, a file, or nothing that a shell could know.
fn hint(arg: Arg) -> Arg {
    if !arg.get_action().takes_values() || !arg.get_possible_values().is_empty() {
        return arg;
    }
    let is_folder = arg
        .get_value_names()
        .is_some_and(|names| names.iter().any(|name| *name == "DIR"));
    // What is read into a path has this hint unless it was given another.
    let is_path = arg.get_value_hint() == ValueHint::AnyPath;
    let hint = match (is_folder || arg.get_id() == "store", is_path) {
        (true, _) => ValueHint::DirPath,
        (false, true) => ValueHint::FilePath,
        (false, false) => ValueHint::Other,
    };
    arg.value_hint(hint)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;
    use std::process::{Command as Program, Stdio};

    use super::*;
    use crate::command_cases::{every_command, words};

    /// Runs a shell on a program in a folder with the script, two files and a folder; what it printed. None if there
    /// is no such shell.
    fn shell(shell: Shell, arguments: &[&str], program: &str) -> Option<String> {
        let name = format!("{shell:?}").to_lowercase();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("a file");
        };
        write("script", &script(shell));
        write("program", program);
        write("flow file.yaml", "");
        write("flow.yaml", "");
        fs::create_dir(folder.path().join("flows")).expect("a folder");
        let ran = Program::new(&name)
            .args(arguments)
            .arg("program")
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env("TERM", "dumb")
            .stdin(Stdio::null())
            .output();
        let Ok(output) = ran else {
            eprintln!("skipped: `{name}` is not installed");
            return None;
        };
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {stderr}");
        assert_eq!(stderr, "", "{name} complains");
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What is to be offered after each command: the commands below it, and its flags.
    fn expected(command: &Command) -> (BTreeSet<String>, BTreeSet<String>) {
        let below = command
            .get_subcommands()
            .filter(|below| !below.is_hide_set());
        let flags = command.get_arguments().filter(|arg| !arg.is_hide_set());
        (
            below.map(|below| below.get_name().to_owned()).collect(),
            flags
                .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
                .collect(),
        )
    }

    fn offered(line: &str) -> BTreeSet<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn bash_offers_what_there_is() {
        let mut program = String::from(
            "source ./script\n\
             compopt() { how+=\" [$*]\"; }\n\
             offer() {\n\
               how=; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=()\n\
               _headwater_words headwater \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"\n\
               echo \"${COMPREPLY[*]}$how\"\n\
             }\n",
        );
        let commands = every_command();
        for command in &commands {
            let words = words(command).join(" ");
            program += &format!("offer {words} ''\noffer {words} --\n");
        }
        program += "offer headwater st\noffer headwater study run x --reuse ''\noffer headwater run flow.y\n\
                    offer headwater run x --output f\noffer headwater run x --set f\n\
                    offer headwater --json run ''\noffer headwater study run x ''\n\
                    offer headwater runs show ''\noffer headwater completions ''\n\
                    offer headwater man stu\noffer headwater man study re\noffer headwater man study run ''\n\
                    complete -p headwater\n";
        let Some(out) = shell(Shell::Bash, &["--norc", "--noprofile"], &program) else {
            panic!("bash is needed for the tests");
        };
        let mut lines = out.lines();
        let mut next = || offered(lines.next().unwrap_or_default());
        for command in &commands {
            let (below, flags) = expected(command);
            let (all, dashed) = (next(), next());
            let name = words(command).join(" ");
            assert!(all.is_superset(&below), "{name}: {all:?}");
            assert!(
                !all.iter().any(|word| word.starts_with("--")),
                "{name}: flags come where one is begun, not among {all:?}"
            );
            assert!(dashed.is_superset(&flags), "{name}: {dashed:?}");
            assert!(
                dashed.iter().all(|word| word.starts_with("--")),
                "{name}: {dashed:?}"
            );
        }
        assert_eq!(next(), offered("store study"));
        assert_eq!(next(), offered("content graph chain stage none"));
        assert_eq!(next(), offered(""), "left to bash, which offers files");
        assert_eq!(next(), offered("[-o plusdirs]"), "bash adds folders");
        assert_eq!(next(), offered("f [-o nospace]"), "no file is wanted");
        assert_eq!(next(), offered(""), "left to bash, which offers files");
        assert_eq!(next(), offered(""), "left to bash, which offers files");
        let nothing = offered("[+o default +o bashdefault]");
        assert_eq!(next(), nothing, "a run is wanted, not a file");
        assert_eq!(next(), offered("bash fish zsh"));
        assert_eq!(next(), offered("study"));
        assert_eq!(next(), offered("report"));
        assert_eq!(next(), nothing, "no file is wanted");
        assert!(
            out.ends_with("headwater\n")
                && out.contains("-F _headwater_words")
                && out.contains("-o default "),
            "{out}"
        );
    }

    #[test]
    fn fish_offers_what_there_is() {
        let mut program = String::from("source ./script\n");
        let commands = every_command();
        for command in &commands {
            let words = words(command).join(" ");
            for start in ["", "--"] {
                program += &format!(
                    "echo (complete -C '{words} {start}' | string replace -r '\\t.*' '')\n"
                );
            }
        }
        for line in [
            "st",
            "study run x --reuse ",
            "run flow.y",
            "run x -o f",
            "run x --set f",
        ] {
            program +=
                &format!("echo (complete -C 'headwater {line}' | string replace -r '\\t.*' '')\n");
        }
        let Some(out) = shell(Shell::Fish, &["--no-config"], &program) else {
            return;
        };
        let mut lines = out.lines();
        let mut next = || offered(lines.next().unwrap_or_default());
        for command in &commands {
            let (below, flags) = expected(command);
            let (all, dashed) = (next(), next());
            let name = words(command).join(" ");
            assert!(all.is_superset(&below), "{name}: {all:?}");
            assert!(dashed.is_superset(&flags), "{name}: {dashed:?}");
        }
        assert_eq!(next(), offered("store study"));
        assert_eq!(next(), offered("content graph chain stage none"));
        assert_eq!(next(), offered("flow.yaml"));
        assert_eq!(next(), offered("flows/"));
        assert_eq!(next(), offered(""));
    }

    /// zsh completes only at a terminal: one zsh drives another, types a line and a tab, and asks for the line.
    #[test]
    fn zsh_completes_at_a_terminal() {
        const CASES: [(&str, &str); 6] = [
            ("headwater stu", "headwater study"),
            ("headwater study rep", "headwater study report"),
            ("headwater run --no-pi", "headwater run --no-pipelining"),
            (
                "headwater study run x --reuse cont",
                "headwater study run x --reuse content",
            ),
            ("headwater check flow.y", "headwater check flow.yaml"),
            ("headwater run x -o fl", "headwater run x -o flows/"),
        ];
        let mut program = String::from(
            "zmodload zsh/zpty || exit 1\n\
             zpty inner zsh -f -i\n\
             zpty -w inner 'PS1= RPS1=; setopt no_prompt_cr; autoload -U compinit; compinit -u -D; source ./script'\n\
             zpty -w inner 'tell() { print -r -- \"<<\"\"<$BUFFER>\"\">>\"; BUFFER=; }; zle -N tell; bindkey \"^X\" tell; print rea''dy'\n\
             zpty -r inner seen '*ready*'\n",
        );
        for (typed, _) in CASES {
            program += &format!(
                "zpty -w -n inner $'{typed}\\t\\x18'\nzpty -r inner seen '*>>>*'\nprint -r -- \"${{seen##*<<<}}\"\n"
            );
        }
        program += "zpty -d inner\n";
        let Some(out) = shell(Shell::Zsh, &["-f"], &program) else {
            return;
        };
        let told: Vec<&str> = out.split(">>>").map(str::trim).collect();
        for (number, (typed, line)) in CASES.iter().enumerate() {
            assert_eq!(told.get(number), Some(line), "after `{typed}` in {out:?}");
        }
    }

    #[test]
    fn files_are_offered_where_they_are_wanted() {
        let mut command = hinted(Arguments::command());
        command.build();
        let hint_of = |path: &[&str], name: &str| {
            let found = path.iter().fold(&command, |command, name| {
                command.find_subcommand(name).expect("a command")
            });
            let mut all = found.get_arguments();
            all.find(|arg| arg.get_id() == name)
                .map(Arg::get_value_hint)
        };
        assert_eq!(hint_of(&["run"], "flow"), Some(ValueHint::FilePath));
        assert_eq!(hint_of(&["run"], "output"), Some(ValueHint::DirPath));
        assert_eq!(hint_of(&["run"], "store"), Some(ValueHint::DirPath));
        assert_eq!(hint_of(&["run"], "set"), Some(ValueHint::Other));
        assert_eq!(
            hint_of(&["study", "report"], "output"),
            Some(ValueHint::FilePath)
        );
    }

    #[test]
    fn the_scripts_name_this_program_and_nothing_hidden() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = script(shell);
            assert!(text.contains("headwater"), "{shell:?}");
            assert!(!text.contains("headwater-spawner"), "{shell:?}");
            assert!(!text.contains(&*Path::new(env!("CARGO_MANIFEST_DIR")).to_string_lossy()));
        }
    }
}

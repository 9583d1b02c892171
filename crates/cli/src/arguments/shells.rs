//! The arguments of `headwater completions` and `headwater man`.
//!
//! Law: what a flag means is said here, once, as help.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Print a script that lets a shell complete commands, flags and file names
///
/// Put the script where the shell looks for such scripts, and open a new shell. After an update of Headwater do it
/// again: the script has the commands of the version that printed it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bash, with the package bash-completion:
    mkdir -p ~/.local/share/bash-completion/completions
    headwater completions bash > ~/.local/share/bash-completion/completions/headwater
  zsh, with `fpath+=~/.zfunc` before `autoload -U compinit; compinit` in ~/.zshrc:
    mkdir -p ~/.zfunc
    headwater completions zsh > ~/.zfunc/_headwater
  fish:
    mkdir -p ~/.config/fish/completions
    headwater completions fish > ~/.config/fish/completions/headwater.fish
  bash, in the shell that is open, and no longer:
    source <(headwater completions bash)")]
pub(crate) struct Completions {
    /// For which shell
    pub(crate) shell: Shell,
}

/// A shell that has a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// GNU bash, version 4 or later
    Bash,
    /// The Z shell
    Zsh,
    /// The friendly interactive shell
    Fish,
}

/// Print the manual page of a command, or write the pages of all commands
///
/// A page says what `--help` of the command says. With -o, the pages of all commands are written as files of the names
/// headwater.1, headwater-run.1, headwater-study-run.1 and so on; files of these names are replaced, and no other file
/// is touched.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  headwater man run | man -l -                read the page of `headwater run`
  headwater man study run > study-run.1       the page of a command below another
  headwater man -o ~/.local/share/man/man1    all pages; see `manpath` for where man looks")]
pub(crate) struct Man {
    /// The command, such as `run` or `study run` [default: headwater itself]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands there; the folder is made where there is none
    #[arg(short, long = "output", value_name = "DIR", conflicts_with = "command")]
    pub(crate) output: Option<PathBuf>,
}

//! Files to start from, as text: a workflow and a study that run as they are, a study of a workflow that is there, and
//! a Rust library with the operations of a stage descriptor.
//!
//! Law: what is made here is read without a mistake and without a warning, but for what only its user can know: that is
//! left open, each at its place, so that the reader asks for it. Nothing is opened and nothing is written.

mod library;
mod study;

use headwater_graph::{Fault, ScalarType, Type};

use crate::name::NameRule;
use crate::scalar::write_text;

pub use library::{Dependency, library_of};
pub use study::study_of;

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StarterFile {
    /// Where, below the folder that all of them go to: names with `/` between them, and never `..`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// Why there is nothing to start from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StarterError {
    /// A name that no file can have.
    #[error("{message}")]
    Name {
        /// What is wrong with it.
        message: String,
        /// What names are like.
        hint: String,
    },
    /// A study without anything to vary.
    #[error("the workflow `{workflow}` has no parameters, so a study has nothing to vary")]
    NoParameters {
        /// The name of the workflow.
        workflow: String,
    },
    /// A study without anything to look at.
    #[error(
        "no output of the workflow `{workflow}` is a number, so a study has nothing to look at"
    )]
    NoNumber {
        /// The name of the workflow.
        workflow: String,
        /// Data that is a number, and no output.
        hidden: Vec<String>,
        /// Whether a program leaves a file or a text that may hold a number.
        by_program: bool,
    },
}

impl StarterError {
    /// Whose fault it is: the user's.
    pub fn fault(&self) -> Fault {
        Fault::User
    }

    /// What would help.
    pub fn hint(&self) -> String {
        match self {
            StarterError::Name { hint, .. } => hint.clone(),
            StarterError::NoParameters { .. } => {
                "declare one in the workflow, `parameters: {NAME: {type: float, range: [0, 1], default: 0.5}}`, and use it in a task as `$NAME`"
                    .to_owned()
            }
            StarterError::NoNumber {
                hidden, by_program, ..
            } => match hidden.as_slice() {
                [] if *by_program => {
                    "if a program leaves a number, declare that output of it with `type: float`; else add a task that makes a number of what is there"
                        .to_owned()
                }
                [] => "add a task to the workflow that makes a number of what is there, and name that number under `outputs`"
                    .to_owned(),
                some => {
                    let names: Vec<String> = some.iter().map(|name| format!("`{name}`")).collect();
                    format!(
                        "add one of the numbers that it makes on the way to its `outputs`: {}",
                        names.join(", ")
                    )
                }
            },
        }
    }
}

/// The name that files are called by: as it is given, without the ending of a file.
pub fn starter_name(given: &str) -> Result<&str, StarterError> {
    let endings = [".yaml", ".yml", ".json"];
    let name = endings
        .iter()
        .find_map(|ending| given.strip_suffix(ending))
        .unwrap_or(given);
    if name.contains('/') {
        return Err(StarterError::Name {
            message: format!("`{given}` is a path, and a name is wanted"),
            hint: "say with -o which folder the files go to".to_owned(),
        });
    }
    match NameRule::Common.mistake(name) {
        None => Ok(name),
        Some((message, hint)) => Err(StarterError::Name { message, hint }),
    }
}

/// A workflow that runs with nothing but a shell and coreutils, and its data. The first file is the workflow, the
/// second the data file.
pub fn starter_workflow(name: &str) -> Result<Vec<StarterFile>, StarterError> {
    let name = starter_name(name)?;
    let text = |file: &str, text: &str| StarterFile {
        path: format!("{name}-texts/{file}"),
        text: text.to_owned(),
    };
    Ok(vec![
        template(name, "", include_str!("starter/workflow.yaml")),
        template(name, "-data", include_str!("starter/data.yaml")),
        text("brook.txt", include_str!("starter/brook.txt")),
        text("river.txt", include_str!("starter/river.txt")),
        text("sea.txt", include_str!("starter/sea.txt")),
    ])
}

/// A study that runs in seconds with nothing but a shell and awk, and the workflow that it studies. The first file is
/// the study.
pub fn starter_study(name: &str) -> Result<Vec<StarterFile>, StarterError> {
    let name = starter_name(name)?;
    Ok(vec![
        template(name, "", include_str!("starter/study.yaml")),
        template(
            name,
            "-workflow",
            include_str!("starter/study-workflow.yaml"),
        ),
    ])
}

/// A file with the names that it needs put in.
fn template(name: &str, ending: &str, text: &str) -> StarterFile {
    let text = text
        .replace("@QUOTED@", &quoted(&format!("{name}{ending}")))
        .replace(
            "@QUOTED-WORKFLOW@",
            &quoted(&format!("{name}-workflow.yaml")),
        )
        .replace("@NAME@", name);
    StarterFile {
        path: format!("{name}{ending}.yaml"),
        text,
    }
}

/// A text as YAML has it.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    write_text(text, &mut out);
    out
}

/// Whether values of a type are numbers, or may be.
fn is_number(found: &Type) -> bool {
    *found == Type::Any || found.scalar().is_some_and(|one| one != ScalarType::Text)
}

/// Lines of which each has a comment, one below the other.
fn commented(lines: &[(String, String)]) -> String {
    let longest = lines.iter().map(|(line, _)| line.chars().count()).max();
    let mut out = String::new();
    for (line, comment) in lines {
        let gap = longest.unwrap_or(0) - line.chars().count();
        out += &format!("  {line}{} # {comment}\n", " ".repeat(gap));
    }
    out
}

//! The `headwater` command: an edge. It reads arguments, calls the facade and shows what it says.
//!
//! Law: stdout is for results, stderr for talk; exit codes are 0 (done), 1 (work failed), 2 (wrong use).

mod arguments;
mod check;
#[cfg(test)]
mod command_cases;
mod completions;
mod dag;
mod events;
mod explain;
mod figures;
mod imaging;
mod man;
mod metrics;
mod new;
mod products;
mod progress;
mod run;
mod runs;
mod show;
mod signals;
mod store;
mod study;
mod watching;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use arguments::{Arguments, Command, SchemaKind};

fn main() -> ExitCode {
    let mut libraries = headwater::graph::Registry::new();
    headwater_imaging::register(&mut libraries).expect("the names of one library are unique");
    // First of all, while this process is still small: it may be the helper that starts programs, or a node. The helper is this
    // program itself, so that nothing can be wrong with it.
    let host = headwater::Host {
        libraries: libraries.clone(),
        helper: None,
    };
    let _ = headwater::init_with(host);
    signals::explain_missing_pages();
    let arguments = parse();
    let result = match &arguments.command {
        Command::Run(options) => run::run(options, &arguments.common, &libraries),
        Command::Check { file } => check::check(file, &arguments.common, &libraries),
        Command::Schema { kind } => {
            let schema = match kind {
                SchemaKind::Workflow => headwater::files::workflow_schema(),
                SchemaKind::Data => headwater::files::data_schema(),
                SchemaKind::Study => headwater::files::study_schema(),
                SchemaKind::Operations => headwater::files::operations_schema(),
                SchemaKind::Descriptor => headwater::files::descriptor_schema(),
                SchemaKind::Settings => headwater::files::settings_schema(),
            };
            show::line(&serde_json::to_string_pretty(&schema).unwrap_or_default());
            Ok(ExitCode::SUCCESS)
        }
        Command::New { command } => new::new(command, &arguments.common, &libraries),
        Command::Dag(options) => dag::dag(options, &arguments.common, &libraries),
        Command::Runs { command } => runs::runs(command, &arguments.common),
        Command::Explain { run, task } => explain::explain(run, task.as_deref(), &arguments.common),
        Command::Study { command } => study::study(command, &arguments.common, &libraries),
        Command::Tune(options) => study::tune(options, &arguments.common, &libraries),
        Command::Imaging { command } => imaging::imaging(command, &arguments.common),
        Command::Completions(options) => completions::completions(options, &arguments.common),
        Command::Man(options) => man::man(options, &arguments.common),
        Command::Products { command } => products::products(command, &arguments.common),
        Command::Store { command } => store::store(command, &arguments.common),
    };
    let code = result.unwrap_or_else(|error| show::error(&error, arguments.common.json));
    match show::settled(0) {
        0 => code,
        _ if code == ExitCode::SUCCESS => ExitCode::FAILURE,
        _ => code,
    }
}

/// What was asked for; ends the process if that is help, or nothing that there is.
fn parse() -> Arguments {
    Arguments::try_parse().unwrap_or_else(|error| {
        // Where a word is missing, help is shown; clap does so only if no flag has a value, also from the environment.
        if error.kind() == ErrorKind::MissingSubcommand
            && let Some(ContextValue::String(command)) = error.get(ContextKind::InvalidSubcommand)
            && let Err(help) =
                Arguments::command().try_get_matches_from(command.split(' ').chain(["-h"]))
        {
            let help = help.render();
            let text = if show::colours() {
                help.ansi().to_string()
            } else {
                help.to_string()
            };
            show::talk(text.trim_end());
            std::process::exit(2);
        }
        if !error.use_stderr() {
            show::written(error.print());
            std::process::exit(show::settled(0).into());
        }
        error.exit()
    })
}

//! `headwater explain` and `headwater runs diff`: reasons as text, or as one JSON object.

use std::process::ExitCode;

use headwater::explain::{Cause, Lost, Made, Named, Stale, Why};
use headwater::{Error, Explanation, RunDifference, StorePlace};

use crate::arguments::Common;
use crate::{run, show};

/// So many addresses are listed; all of them are in the JSON object.
const LISTED: usize = 10;

pub(crate) fn explain(run: &str, task: Option<&str>, common: &Common) -> Result<ExitCode, Error> {
    let place = StorePlace {
        read_only: true,
        ..run::place(common)
    };
    let store = headwater::open_store(&place, &run::current_folder()?)?;
    show::damage(&*store);
    let Some(task) = task else {
        let before = format!("{run}~1");
        difference(&headwater::diff_runs(&*store, &before, run)?, common.json);
        return Ok(ExitCode::SUCCESS);
    };
    let explanation = headwater::explain(&*store, run, task)?;
    if common.json {
        show::object(&explanation.json());
    } else {
        as_text(&explanation)
            .iter()
            .for_each(|line| show::prose(line));
    }
    Ok(ExitCode::SUCCESS)
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn took(nanoseconds: u64) -> String {
    show::duration(seconds(nanoseconds))
}

/// What to know of products that do not fit what they were made from.
fn stale_lines(found: &[Stale]) -> Vec<String> {
    let told = |stale: &Stale| {
        let inputs: Vec<String> = (stale.inputs.iter())
            .map(|(task, made)| {
                format!(
                    "`{task}`, which run {} made again with different contents",
                    made.run
                )
            })
            .collect();
        let inputs = match inputs.as_slice() {
            [] => "its inputs, which were made again with different contents".to_owned(),
            some => some.join(" and "),
        };
        format!(
            "  `{}` was made from an earlier version of {inputs}",
            stale.task
        )
    };
    let mut lines: Vec<String> = found.iter().take(LISTED).map(told).collect();
    if found.len() > LISTED {
        let more = found.len() - LISTED;
        lines.push(format!("  … and {more} more; --json lists them"));
    }
    lines.push(
        "An operation that cannot give the same twice says `pure: false`, or `keep: true` for that output."
            .to_owned(),
    );
    lines
}

/// `by run R of ANN as `T` on DATE, in 1.2 s`; `of ANN` only for what a group has.
fn by_whom(made: &Made, address: &str) -> String {
    let task = match &made.task {
        Some(task) if task != address => format!(" as `{task}`"),
        _ => String::new(),
    };
    let giver = match &made.giver {
        Some(giver) => format!(" of {giver}"),
        None => String::new(),
    };
    format!(
        "by run {}{giver}{task} on {}, in {}",
        made.run,
        headwater::text::date(made.time),
        took(made.wall)
    )
}

/// A cause, and the lines that changed below it.
fn cause_lines(cause: &Cause, address: &str) -> Vec<String> {
    let others = |count: usize| match count {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let mut lines = vec![match cause.tasks.first() {
        Some(_) if cause.tasks.iter().any(|task| task == address) => {
            let also = match cause.count {
                0 | 1 => String::new(),
                count => format!(" (also of {} upstream)", show::count(count - 1, "task")),
            };
            format!("  {}{also}", cause.change)
        }
        Some(first) => format!(
            "  upstream, in `{first}`{}: {}",
            others(cause.count - 1),
            cause.change
        ),
        None => format!(
            "  upstream, in {} of operation `{}`: {}",
            show::count(cause.count, "task"),
            cause.operation,
            cause.change
        ),
    }];
    lines.extend(
        cause
            .change
            .lines()
            .iter()
            .map(|line| format!("    {line}")),
    );
    lines
}

fn cause_list(causes: &[Cause], incomplete: bool, address: &str) -> Vec<String> {
    let mut lines: Vec<String> = causes
        .iter()
        .take(LISTED)
        .flat_map(|cause| cause_lines(cause, address))
        .collect();
    if causes.len() > LISTED || incomplete {
        let more = causes.len().saturating_sub(LISTED);
        lines.push(match more {
            0 => "  … and perhaps more that was not looked at".to_owned(),
            more => format!("  … and {more} more; --json lists them"),
        });
    }
    lines
}

fn failure(lines: &mut Vec<String>, description: &Option<String>, look: &[std::path::PathBuf]) {
    if let Some(description) = description {
        lines.push(String::new());
        lines.extend(description.lines().map(str::to_owned));
    }
    if !look.is_empty() {
        lines.push(String::new());
        lines.push("Look into:".to_owned());
        lines.extend(look.iter().map(|path| format!("  {}", show::path(path))));
    }
}

fn as_text(explanation: &Explanation) -> Vec<String> {
    let task = &explanation.task;
    let address = task.address.as_str();
    let mut lines = vec![
        match &explanation.other_address {
            Some(other) => format!("task       {address}, the same as `{other}`"),
            None => format!("task       {address}"),
        },
        format!("run        {}", explanation.run),
    ];
    if let Some(operation) = &explanation.operation {
        lines.push(format!("operation  {operation}"));
    }
    lines.push(format!("recipe     {}", task.recipe.short()));
    lines.push(match task.wall {
        0 => format!("state      {}", task.state),
        wall => format!("state      {}, took {}", task.state, took(wall)),
    });
    lines.push(String::new());
    told(&mut lines, explanation, &explanation.why);
    if !explanation.stale.is_empty() {
        lines.push(String::new());
        lines.push("But it does not fit what it was made from:".to_owned());
        lines.extend(stale_lines(&explanation.stale));
    }
    lines
}

/// The sentences of a reason.
fn told(lines: &mut Vec<String>, explanation: &Explanation, why: &Why) {
    let address = explanation.task.address.as_str();
    match why {
        Why::Changed {
            compared,
            since,
            never_read,
            causes,
            incomplete,
        } => {
            let product = format!(
                "product {}, made {}",
                compared.recipe.short(),
                by_whom(compared, address)
            );
            lines.push(match since {
                Some(since) if *since == compared.run => {
                    format!("It ran because something that it depends on changed since {product}.")
                }
                Some(since) => {
                    format!("It ran because something that it depends on changed since run {since} ({product}).")
                }
                None if !never_read.is_empty() && never_read.len() == causes.len() => {
                    let names: Vec<String> = never_read.iter().map(Named::to_string).collect();
                    format!(
                        "It ran because it is new: it reads {}, which was not read before. Nearest is {product}.",
                        names.join(" and ")
                    )
                }
                None => format!("It ran because nothing equal was remembered. Nearest is {product}."),
            });
            lines.push(match causes.as_slice() {
                [] => "What differs is not known.".to_owned(),
                _ => "What differs:".to_owned(),
            });
            lines.extend(cause_list(causes, *incomplete, address));
        }
        Why::First => {
            let operation = explanation.operation.as_deref().unwrap_or("?");
            lines.push(format!(
                "It ran because nothing of operation `{operation}` was remembered before this run."
            ));
        }
        Why::Impure => {
            let operation = explanation.operation.as_deref().unwrap_or("?");
            lines.push(format!(
                "It ran because operation `{operation}` says `pure: false`: it always runs."
            ));
            lines.push(
                "What reads its outputs knows them by their contents, and runs again only if those change."
                    .to_owned(),
            );
        }
        Why::AtOnce { made } => {
            lines.push("It ran because it was not remembered when it began.".to_owned());
            lines.push(format!(
                "Another run made the same product at the same time: {}.",
                by_whom(made, address)
            ));
        }
        Why::Reused { made } => {
            lines.push(format!(
                "It was remembered: product {}, made {}.",
                made.recipe.short(),
                by_whom(made, address)
            ));
            lines.push(format!("That saved {} of processor time.", took(made.cpu)));
        }
        Why::NotNeeded => lines.push(
            "It did not run because no task needed its result: the results that depend on it were reused."
                .to_owned(),
        ),
        Why::CutOff {
            made,
            causes,
            incomplete,
        } => {
            lines.extend(cut_off(explanation, made, causes, *incomplete));
            lines.push(format!(
                "So the equal product {} was taken, made {}.",
                made.recipe.short(),
                by_whom(made, address)
            ));
            lines.push(format!("That saved {} of processor time.", took(made.cpu)));
        }
        Why::Restored {
            lost,
            made,
            because,
        } => restored(lines, explanation, *lost, made.as_ref(), because.as_deref()),
        Why::Failed {
            because,
            description,
            look,
        } => {
            if let Some(because) = because {
                told(lines, explanation, because);
            }
            lines.push(match because {
                Some(_) => "It failed.".to_owned(),
                None => "It ran and failed.".to_owned(),
            });
            failure(lines, description, look);
        }
        Why::Blocked {
            by,
            description,
            look,
        } => {
            lines.push(match by {
                Some(by) => format!("It could not run: `{by}`, which it needs, failed."),
                None => "It could not run: something that it needs failed.".to_owned(),
            });
            failure(lines, description, look);
        }
        Why::NoRecord => lines.push(
            "There is no record of its product any more, so that nothing can be compared.".to_owned(),
        ),
    }
}

/// Why something that had been made was made again.
fn restored(
    lines: &mut Vec<String>,
    explanation: &Explanation,
    lost: Option<Lost>,
    made: Option<&Made>,
    because: Option<&Why>,
) {
    let address = explanation.task.address.as_str();
    if let (Some(Lost::NotKept), because) = (lost, because) {
        if let Some(because) = because {
            told(lines, explanation, because);
        }
        lines.push(
            "Later in this run its bytes were needed once more, and it ran again: intermediates are kept only where that \
             pays. That is usual; `keep: true` on an output of a program keeps it."
                .to_owned(),
        );
        return;
    }
    lines.push(match made {
        Some(made) => format!("It was remembered, made {}.", by_whom(made, address)),
        None => "It was remembered.".to_owned(),
    });
    lines.push(
        match lost {
            Some(Lost::Damaged) => {
                "But its bytes were damaged in the store and set aside, and they were needed: it ran again."
            }
            _ => {
                "But its bytes were not here (never kept, or thrown away since), and they were needed: it ran again."
            }
        }
        .to_owned(),
    );
}

/// Why the task was new, and why that does not matter.
fn cut_off(
    explanation: &Explanation,
    made: &Made,
    causes: &[Cause],
    incomplete: bool,
) -> Vec<String> {
    if made.run == explanation.run {
        let other = made.task.as_deref().unwrap_or("another task");
        return vec![format!(
            "It was new, but everything that it reads has the same contents as for `{other}` of this run."
        )];
    }
    if causes.is_empty() {
        return vec![
            "It was new, but everything that it reads has contents that were seen before."
                .to_owned(),
        ];
    }
    let mut lines = vec!["It was new because of:".to_owned()];
    lines.extend(cause_list(causes, incomplete, &explanation.task.address));
    lines.push("But everything that it reads has contents that were seen before.".to_owned());
    lines
}

/// Shows how two runs differ.
pub(crate) fn difference(difference: &RunDifference, as_json: bool) {
    if as_json {
        show::object(&difference.json());
        return;
    }
    let (first, second) = &difference.runs;
    let workflow = |name: &str, other: &str| {
        if name == other {
            String::new()
        } else {
            format!(" (workflow {name})")
        }
    };
    let (a, b) = &difference.workflows;
    show::line(&format!("first   {first}{}", workflow(a, b)));
    show::line(&format!("second  {second}{}", workflow(b, a)));
    show::line("");
    let equal = difference.equal.len();
    for (number, what) in [
        (difference.same, "the same"),
        (equal, "new, with the contents of before"),
        (difference.different, "different"),
        (difference.only_first.len(), "only in the first"),
        (difference.only_second.len(), "only in the second"),
    ] {
        if number > 0 || what == "the same" {
            show::line(&format!("{:>8}  {what}", show::grouped(number)));
        }
    }
    if !difference.groups.is_empty() {
        show::line("");
        show::line("What changed, and how many tasks differ because of it:");
    }
    for group in difference.groups.iter().take(50) {
        let at = match (group.cause.tasks.as_slice(), group.cause.count) {
            ([], _) => format!("operation `{}`", group.cause.operation),
            ([only], 1) => format!("`{only}`"),
            ([first, ..], count) => format!("`{first}` and {} more", count - 1),
        };
        show::line(&format!(
            "{:>8}  {}, in {at}",
            show::grouped(group.tasks.len()),
            group.cause.change
        ));
        for line in group.cause.change.lines() {
            show::line(&format!("            {line}"));
        }
    }
    if difference.groups.len() > 50 {
        let more = difference.groups.len() - 50;
        show::line(&format!(
            "          … and {more} more changes; --json lists them"
        ));
    }
    if difference.incomplete {
        show::line("          … and perhaps more that was not looked at");
    }
    for (what, addresses) in [
        ("Only in the first:", &difference.only_first),
        ("Only in the second:", &difference.only_second),
        (
            "Different, and it is not known why:",
            &difference.unexplained,
        ),
    ] {
        if addresses.is_empty() {
            continue;
        }
        show::line("");
        show::line(what);
        for address in addresses.iter().take(LISTED) {
            show::line(&format!("  {address}"));
        }
        if addresses.len() > LISTED {
            let more = addresses.len() - LISTED;
            show::line(&format!("  … and {more} more; --json lists them"));
        }
    }
    if !difference.stale.is_empty() {
        show::line("");
        show::line("In the second, these do not fit what they were made from:");
        stale_lines(&difference.stale)
            .iter()
            .for_each(|line| show::line(line));
    }
}

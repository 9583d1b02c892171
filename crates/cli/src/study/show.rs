//! What a study came to, as people read it at the end of a run: a table for each phase, what failed, what ended it,
//! what sharing saved, and where the files are.
//!
//! Law: the lines are a function of the summary, the files that are there, and the width of the terminal. Nothing is
//! claimed that the intervals do not carry: where they overlap, a parameter has several places and not one.

use std::path::Path;

use headwater::study::{
    EffectStep, Extreme, Extremes, FixedValue, Indices, MoatRow, PhaseKind, PhaseSummary, StopRule,
    StudyFacts, StudyItem, StudySummary, TaskFacts, UNORDERED_EFFECT, VbdRow, VbdRows, study_files,
};

use crate::figures::{self, UNKNOWN};
use crate::show;

/// Significant digits in tables.
const DIGITS: usize = 3;
/// How wide the bars of a table are at least and at most; where there is no room for the least there are none.
const BAR: (usize, usize) = (6, 24);
/// How many pairs of parameters are shown.
const PAIRS: usize = 5;

/// Tells what a study came to: results on stdout, notes on stderr.
pub(crate) fn show_summary(summary: &StudySummary, folder: &Path) {
    for note in summary.doubts.iter().chain(&summary.facts.notes) {
        show::note(note);
    }
    let size = terminal_size::terminal_size_of(std::io::stdout());
    let width = size.map(|(width, _)| usize::from(width.0));
    for line in lines(summary, folder, width.filter(|width| *width > 0)) {
        show::prose(&line);
    }
}

/// Everything that is said on stdout.
fn lines(summary: &StudySummary, folder: &Path, width: Option<usize>) -> Vec<String> {
    let mut lines = vec![headline(summary)];
    for (position, phase) in summary.phases.iter().enumerate() {
        lines.push(String::new());
        let which = match summary.phases.len() {
            0 | 1 => String::new(),
            count => format!("phase {} of {count}: ", position + 1),
        };
        lines.push(format!("{which}{}", phase.method));
        let told = phase_lines(summary, phase, folder, width);
        lines.extend(told.into_iter().map(|line| format!("  {line}")));
    }
    let extremes = extremes(summary);
    if !extremes.is_empty() {
        lines.push(String::new());
        lines.extend(extremes);
    }
    lines.push(String::new());
    lines.extend(work(&summary.facts, summary.phases_planned));
    let all = summary.evaluations();
    if summary.facts.stopped {
        lines.push("stopped before it was done: the same command continues it".to_owned());
    } else if all.made() < all.wanted {
        let left = show::count(all.wanted - all.made(), "evaluation");
        lines.push(format!(
            "{left} not made: the same command continues with them"
        ));
    }
    let there = study_files(folder);
    for (what, path) in [
        ("report", there.report),
        ("results", there.results),
        ("samples", there.samples),
        ("screen", there.screen),
    ] {
        lines.extend(path.map(|path| format!("{what:<7}  {}", show::path(Path::new(&path)))));
    }
    lines
}

/// The parameter sets where the objective is highest and lowest; nothing where it is the same everywhere.
fn extremes(summary: &StudySummary) -> Vec<String> {
    let Some(Extremes { best, worst }) = &summary.extremes else {
        return Vec::new();
    };
    if best.value == worst.value {
        return Vec::new();
    }
    let line = |called: &str, found: &Extreme| {
        let mean = match found.items {
            1 if summary.items.len() <= 1 => String::new(),
            items => format!(", the mean over {}", show::count(items, "item")),
        };
        let parameters = found.parameters.iter();
        let parameters: Vec<String> = parameters
            .map(|(name, value)| format!("{name} = {}", in_short(value)))
            .collect();
        format!(
            "{called:<5}  {} {}{mean}, set {}: {}",
            summary.objective,
            figures::significant(found.value, DIGITS),
            found.set,
            parameters.join(", ")
        )
    };
    vec![line("best", best), line("worst", worst)]
}

/// A value without the digits that a drawn number has; `results.json` has them all.
fn in_short(value: &FixedValue) -> String {
    match value {
        FixedValue::Float(number) => {
            let short = figures::significant(*number, 6);
            if short.contains('.') && !short.contains('e') {
                short.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                short
            }
        }
        other => other.to_string(),
    }
}

fn headline(summary: &StudySummary) -> String {
    let all = summary.evaluations();
    let made = if all.made() < all.wanted {
        format!("{} of ", show::grouped(all.made()))
    } else {
        String::new()
    };
    let items = match summary.items.len() {
        0 | 1 => String::new(),
        items => format!(" over {items} items"),
    };
    let counts: Vec<usize> = summary
        .phases
        .iter()
        .map(|phase| phase.parameters.len())
        .collect();
    let parameters = match counts.split_first() {
        Some((first, later)) => {
            let later = later.iter().map(|count| format!(", then of {count}"));
            format!(
                " of {}{}",
                show::count(*first, "parameter"),
                later.collect::<String>()
            )
        }
        None => String::new(),
    };
    format!(
        "study {}: {made}{}{parameters}{items}, {} failed, {}",
        summary.study,
        show::count(all.wanted, "evaluation"),
        show::grouped(all.failed),
        show::duration(summary.facts.seconds),
    )
}

fn phase_lines(
    summary: &StudySummary,
    phase: &PhaseSummary,
    folder: &Path,
    width: Option<usize>,
) -> Vec<String> {
    let mut lines = Vec::new();
    if !phase.fixed.is_empty() {
        let fixed = phase.fixed.iter();
        let fixed: Vec<String> = fixed
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        lines.push(format!("fixed: {}", fixed.join(", ")));
    }
    if let Some((least, mean, most)) = phase.range() {
        let number = |value| figures::significant(value, DIGITS);
        lines.push(format!(
            "{}: from {} to {}, {} on average",
            summary.objective,
            number(least),
            number(most),
            number(mean)
        ));
    }
    let count = phase.evaluations(summary.items.len());
    if count.made() < count.wanted {
        lines.push(format!(
            "not all: {} of {}",
            show::grouped(count.made()),
            show::count(count.wanted, "evaluation")
        ));
    }
    let width = width.map(|width| width.saturating_sub(2));
    match &phase.pooled {
        Indices::None => {
            lines.push(
                "the parameter sets come from your own list, not from a design: there are no sensitivity indices"
                    .to_owned(),
            );
        }
        Indices::Moat(rows) => moat(phase, rows, width, &mut lines),
        Indices::Vbd(found) => vbd(phase, found, width, &mut lines),
    }
    if !phase.each.is_empty() {
        let about = match phase.confidence {
            Some(_) => "; ± does not say how much other items would change them",
            None => "",
        };
        match phase.answered_items() {
            (0, all) => lines.push(format!("none of {all} items has an index")),
            (answered, all) => {
                let of = if answered == all {
                    format!("all {all} items")
                } else {
                    format!("{answered} of {all} items")
                };
                lines.push(format!("these are the indices of {of} together{about}"));
            }
        }
        let first = phase.first_by_item_in_words();
        let first = first.map_or_else(String::new, |words| format!("{words}; "));
        lines.push(format!("by item: {first}all are in results.json"));
    }
    lines.extend(phase.left_out_in_words(&summary.items));
    let remarks = phase.remarks();
    lines.extend(remarks.iter().map(|remark| format!("remark: {remark}")));
    lines.extend(failures(summary, phase, folder, width));
    lines.extend(phase.rule.as_ref().map(|rule| stop_rule(phase, rule)));
    lines
}

fn place_text(place: Option<(usize, usize)>) -> String {
    match place {
        None => UNKNOWN.to_owned(),
        Some((best, worst)) if best == worst => best.to_string(),
        Some((best, worst)) => format!("{best}-{worst}"),
    }
}

/// A column of a table.
struct Column {
    header: String,
    /// In the order of the rows of the table.
    cells: Vec<String>,
    right: bool,
    /// Where there is no room the column with the highest number goes first; 0 stays.
    goes: u8,
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| show::width(cell.trim_end()));
        cells.max().unwrap_or(0).max(show::width(&self.header))
    }
}

/// Between columns.
const GAP: usize = 2;

/// The rows of a table in so many columns of text. The last column is bars, which get the room that is left.
fn table(mut columns: Vec<Column>, shares: &[f64], width: Option<usize>) -> Vec<String> {
    let needs = |columns: &[Column]| {
        let cells: usize = columns.iter().map(Column::width).sum();
        cells + GAP * columns.len().saturating_sub(1)
    };
    let width = width.unwrap_or(usize::MAX);
    while needs(&columns) > width {
        let last = columns.iter().map(|column| column.goes).max().unwrap_or(0);
        if last == 0 {
            break;
        }
        columns.retain(|column| column.goes != last);
    }
    let over = needs(&columns).saturating_sub(width);
    if over > 0
        && let Some(names) = columns.get_mut(1)
    {
        let most = names.width().saturating_sub(over).max(4);
        let cells = names.cells.iter();
        names.cells = cells.map(|cell| show::shortened(cell, most)).collect();
        names.header = show::shortened(&names.header, most);
    }
    let room = width.saturating_sub(needs(&columns) + GAP).min(BAR.1);
    if room >= BAR.0 {
        columns.push(Column {
            header: String::new(),
            cells: shares
                .iter()
                .map(|share| figures::bar(*share, room))
                .collect(),
            right: false,
            goes: 0,
        });
    }
    let header = columns.iter().map(|column| column.header.clone());
    let mut rows = vec![header.collect::<Vec<_>>()];
    for row in 0..shares.len() {
        rows.push(
            columns
                .iter()
                .map(|column| column.cells[row].clone())
                .collect(),
        );
    }
    let right: Vec<usize> = (0..columns.len())
        .filter(|column| columns[*column].right)
        .collect();
    let lines = show::columns(&rows, &right).into_iter();
    lines.map(|line| show::shortened(&line, width)).collect()
}

/// The columns that both kinds of table begin with: place, name and range.
fn leading(phase: &PhaseSummary, ranking: &[usize]) -> Vec<Column> {
    let places = phase.pooled.places();
    let of = |text: &dyn Fn(usize) -> String| ranking.iter().map(|row| text(*row)).collect();
    let column = |header: &str, cells, right, goes| Column {
        header: header.to_owned(),
        cells,
        right,
        goes,
    };
    let name = |row: usize| phase.parameters[row].name.clone();
    let range = |row: usize| show::shortened(&phase.parameters[row].range, 28);
    vec![
        column("rank", of(&|row| place_text(places[row])), true, 0),
        column("parameter", of(&name), false, 0),
        column("range", of(&range), false, 3),
    ]
}

fn moat(phase: &PhaseSummary, rows: &[MoatRow], width: Option<usize>, lines: &mut Vec<String>) {
    let ranking = ranking(phase, rows.len());
    let numbers = |of: fn(&MoatRow) -> Option<f64>| {
        let cells = ranking
            .iter()
            .map(|row| figures::perhaps(of(&rows[*row]), DIGITS));
        figures::aligned(&cells.collect::<Vec<_>>())
    };
    let sizes: Vec<_> = ranking
        .iter()
        .map(|row| (rows[*row].mu_star, rows[*row].mu_star_conf))
        .collect();
    let mut columns = leading(phase, &ranking);
    for (header, cells, goes) in [
        ("mu*", figures::with_intervals(&sizes), 0),
        ("sigma", numbers(|row| row.sigma), 1),
        ("mu", numbers(|row| row.mu), 2),
    ] {
        columns.push(Column {
            header: header.to_owned(),
            cells,
            right: false,
            goes,
        });
    }
    let largest = sizes.iter().filter_map(|size| size.0).fold(0.0, f64::max);
    let share = |size: &(Option<f64>, Option<f64>)| size.0.map_or(0.0, |size| size / largest);
    let shares: Vec<f64> = sizes.iter().map(share).collect();
    lines.extend(table(columns, &shares, width));
    lines.push(
        "mu*: the mean size of a parameter's effects; sigma: how much they vary from place to place"
            .to_owned(),
    );
    lines.extend(phase.effect_in_words().map(str::to_owned));
    if !phase.unordered().is_empty() {
        lines.push(UNORDERED_EFFECT.to_owned());
    }
    lines.extend(about_intervals(phase, &sizes));
    if largest == 0.0 && sizes.iter().any(|size| size.0.is_some()) {
        lines.push("no parameter has an effect".to_owned());
    }
    steps(phase, lines);
}

/// Steps that landed on the value that they began at.
fn steps(phase: &PhaseSummary, lines: &mut Vec<String>) {
    let told = |counts: Vec<(&str, usize)>| {
        let counts = counts.into_iter();
        let counts = counts.map(|(name, count)| format!("{name} {}", show::grouped(count)));
        counts.collect::<Vec<String>>().join(", ")
    };
    let without = phase.steps_of_no_length();
    if !without.is_empty() {
        lines.push(format!(
            "steps of no length, which have no effect: {}",
            told(without)
        ));
    }
    for name in phase.without_steps() {
        lines.push(format!("{name} has no effects: no step has a length"));
    }
    let stuck = phase.parameters.iter();
    let stuck = stuck.filter(|found| found.stuck > 0 && phase.step == EffectStep::Nominal);
    let stuck: Vec<_> = stuck.map(|found| (&*found.name, found.stuck)).collect();
    if !stuck.is_empty() {
        lines.push(format!(
            "steps that landed on the value they began at, and count as effects of 0: {}",
            told(stuck)
        ));
    }
}

fn vbd(phase: &PhaseSummary, found: &VbdRows, width: Option<usize>, lines: &mut Vec<String>) {
    if found.constant {
        lines.push(
            "the objective has the same value in all evaluations: there is no variance to divide among the parameters"
                .to_owned(),
        );
        return;
    }
    let rows = &found.rows;
    let ranking = ranking(phase, rows.len());
    let sizes = |of: fn(&VbdRow) -> (Option<f64>, Option<f64>)| {
        let sizes = ranking.iter().map(|row| of(&rows[*row]));
        sizes.collect::<Vec<_>>()
    };
    let first = sizes(|row| (row.s1, row.s1_conf));
    let total = sizes(|row| (row.st, row.st_conf));
    let mut columns = leading(phase, &ranking);
    for (header, cells, goes) in [
        ("S1", figures::with_intervals(&first), 1),
        ("ST", figures::with_intervals(&total), 0),
    ] {
        columns.push(Column {
            header: header.to_owned(),
            cells,
            right: false,
            goes,
        });
    }
    let shares: Vec<f64> = total.iter().map(|size| size.0.unwrap_or(0.0)).collect();
    lines.extend(table(columns, &shares, width));
    lines.push(
        "S1: the share of the variance that is a parameter's own; ST: together with others; rank is by ST"
            .to_owned(),
    );
    lines.extend(about_intervals(phase, &total));
    lines.extend(pairs(phase, found));
}

/// The parameters by falling size, those that have rows.
fn ranking(phase: &PhaseSummary, rows: usize) -> Vec<usize> {
    let known = rows.min(phase.parameters.len());
    let ranking = phase.pooled.ranking().into_iter();
    ranking.filter(|row| *row < known).collect()
}

/// What the intervals are, and what they leave open.
fn about_intervals(phase: &PhaseSummary, sizes: &[(Option<f64>, Option<f64>)]) -> Option<String> {
    let confidence = phase.confidence?;
    let percent = figures::significant(confidence * 100.0, DIGITS);
    let percent = if percent.contains('.') {
        percent.trim_end_matches('0').trim_end_matches('.')
    } else {
        &percent
    };
    if sizes.iter().all(|size| size.1.is_none()) {
        return Some("no interval is known: the order is open".to_owned());
    }
    if !phase.pooled.has_ranks() {
        return Some(format!(
            "±: intervals of {percent} %; the order is that of the sizes"
        ));
    }
    let open = |place: &Option<(usize, usize)>| place.is_none_or(|(best, worst)| best < worst);
    let overlap = match (phase.pooled.places().iter().any(open), phase.kind) {
        (true, PhaseKind::Vbd) => {
            "; where those of ST overlap the order is open, and rank says which places are possible"
        }
        (true, _) => {
            "; where they overlap the order is open, and rank says which places are possible"
        }
        (false, PhaseKind::Vbd) => "; those of ST do not overlap",
        (false, _) => "; none overlap",
    };
    Some(format!("±: intervals of {percent} %{overlap}"))
}

/// The pairs that clearly do something together.
fn pairs(phase: &PhaseSummary, found: &VbdRows) -> Option<String> {
    if found.pairs.is_empty() {
        return None;
    }
    let mut clear: Vec<(f64, f64, (usize, usize))> = found
        .pairs
        .iter()
        .filter(|pair| pair.is_clear())
        .filter_map(|pair| Some((pair.s2?, pair.s2_conf?, pair.parameters)))
        .collect();
    clear.sort_by(|one, other| other.0.total_cmp(&one.0));
    let name = |position: usize| {
        phase
            .parameters
            .get(position)
            .map_or("", |found| &found.name)
    };
    let shown: Vec<String> = clear
        .iter()
        .take(PAIRS)
        .map(|(share, half, (one, other))| {
            format!(
                "{} x {} {} ± {}",
                name(*one),
                name(*other),
                figures::significant(*share, DIGITS),
                figures::significant(*half, 2)
            )
        })
        .collect();
    let text = if shown.is_empty() {
        "of none is the interval clear of 0".to_owned()
    } else {
        shown.join(", ")
    };
    let all = show::count(found.pairs.len(), "pair");
    Some(format!(
        "S2, what two do together beyond their own: {text} ({all} in results.json)"
    ))
}

/// What failed, by which rule it is left out, the first of it, and where all of it is told.
fn failures(
    summary: &StudySummary,
    phase: &PhaseSummary,
    folder: &Path,
    width: Option<usize>,
) -> Vec<String> {
    let Some(first) = phase.failed.first() else {
        return Vec::new();
    };
    let left_out = |lost: usize, used: usize, noun: &str| {
        format!(
            ": {} of {} left out",
            show::grouped(lost),
            show::count(lost + used, noun)
        )
    };
    let rule = match &phase.pooled {
        Indices::None => String::new(),
        Indices::Moat(rows) => {
            let lost = rows.iter().map(|row| row.lost).sum();
            let used = rows.iter().map(|row| row.used).sum();
            let count = left_out(lost, used, "effect");
            format!("; an effect counts if both its ends have a value{count}")
        }
        Indices::Vbd(found) => {
            let count = left_out(found.lost, found.used, "base point");
            format!("; a base point counts if all its rows have a value{count}")
        }
    };
    let count = phase.evaluations(summary.items.len());
    let mut lines = vec![format!(
        "failed: {} of {}{rule}",
        show::grouped(count.failed),
        show::count(count.wanted, "evaluation")
    )];
    let item = match summary.items.get(first.item) {
        Some(item) if summary.items.len() > 1 => format!(", {}", StudyItem::called(item)),
        _ => String::new(),
    };
    let why = first.why.lines().next().unwrap_or_default();
    let text = format!("  first: set {}{item}: {why}", first.set);
    lines.push(show::shortened(&text, width.unwrap_or(240).max(40)));
    let causes = summary.facts.causes.len();
    if causes > 0 && causes < phase.failed.len() && summary.phases.len() == 1 {
        lines.push(format!(
            "  all for {}",
            match causes {
                1 => "the same reason".to_owned(),
                many => format!("one of {many} reasons"),
            }
        ));
    }
    let told = ["failures.txt", "report.html", "results.json"].map(|name| folder.join(name));
    let told = match told.iter().find(|path| path.is_file()) {
        Some(path) => show::path(path),
        None => format!("`headwater runs show {}`", summary.facts.run),
    };
    lines.push(format!(
        "  all: {told}; when their cause is gone, the same command runs them again"
    ));
    lines
}

/// What was asked for, and what was reached.
fn stop_rule(phase: &PhaseSummary, rule: &StopRule) -> String {
    let (noun, unit) = match phase.kind {
        PhaseKind::Moat => ("trajectories", " of the largest mu*"),
        PhaseKind::Vbd => ("base points", ""),
        PhaseKind::Table => ("sets", ""),
    };
    let widest = match rule.reached {
        Some(width) => format!(
            "the widest interval is ± {}{unit}",
            figures::significant(width, DIGITS)
        ),
        None => "how wide the widest interval is cannot be said".to_owned(),
    };
    let groups = show::grouped(phase.groups);
    let planned = show::grouped(phase.groups_planned);
    let reached = rule.reached.is_some_and(|width| width <= rule.ci);
    let outcome = match (rule.held, reached) {
        (false, _) if !phase.pooled.is_enough() => {
            format!("not asked with as few as {groups} of {planned} {noun}")
        }
        (true, _) => format!("ended by it after {groups} of {planned} {noun}"),
        (false, true) if phase.groups >= phase.groups_planned => {
            format!("reached with all {planned} {noun}")
        }
        (false, true) => format!("reached with {groups} of {planned} {noun}"),
        (false, false) if phase.groups >= phase.groups_planned => {
            format!("not reached with all {planned} {noun}")
        }
        (false, false) => format!("not reached with {groups} of {planned} {noun}"),
    };
    format!("until ci {}: {outcome}; {widest}", rule.ci)
}

/// What was to be done, what was done, and what was foreseen.
fn work(facts: &StudyFacts, phases: usize) -> Vec<String> {
    let tally = facts.tally();
    let mut parts = vec![
        format!("{} asked for", show::grouped(facts.asked())),
        format!("{} differ", show::grouped(tally.tasks)),
        format!("{} executed", show::grouped(tally.executed)),
        format!("{} cut off by content", show::grouped(tally.cut_off)),
        format!("{} remembered", show::grouped(tally.reused)),
    ];
    let others = [
        (tally.failed, "failed"),
        (tally.blocked, "not run because of that"),
        (tally.left(), "not reached"),
    ];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(others.map(|(count, what)| format!("{} {what}", show::grouped(count))));
    let mut lines = vec![format!("tasks: {}{}", parts.join(", "), saving(facts))];
    lines.push(format!(
        "on {}; {}",
        show::count(facts.cores, "core"),
        facts.sharing
    ));
    if facts.recomputed > 0 {
        lines.push(format!(
            "{} run again, because what they had made was not kept",
            show::count(facts.recomputed, "task")
        ));
    }
    // That nothing had to run is told already.
    let forecast = facts.forecast.as_ref();
    if let Some(forecast) = forecast.filter(|forecast| forecast.tasks > 0) {
        let (executed, spent, took) = forecast.fact;
        // What the second phase varies is known only when the first is done.
        let first = if phases > 1 { " of the screening" } else { "" };
        lines.push(format!(
            "forecast{first} from {}: {} for {} of the sets, {} of work; in fact: {} for {} of them, {} of work",
            forecast.from,
            show::duration(forecast.seconds),
            show::count(forecast.tasks, "task"),
            show::duration(forecast.work_seconds),
            show::duration(took),
            show::grouped(executed),
            show::duration(spent),
        ));
    }
    lines
}

/// What part of the work need not be done.
fn saving(facts: &StudyFacts) -> String {
    let spared: usize = facts.tasks.iter().map(TaskFacts::spared).sum();
    let tally = facts.tally();
    // Before all of it was come to, what would have been shared is no saving yet.
    if spared == 0 || tally.left() > 0 {
        return String::new();
    }
    let by = match tally.reused {
        0 => "sharing",
        _ => "sharing and remembering",
    };
    match facts.processor_seconds() {
        (spent, Some(saved)) if saved > 0.0 => format!(
            "; {by} saved {} of the processor time (about {})",
            percent(saved, saved + spent),
            show::duration(saved)
        ),
        _ => format!(
            "; {by} saved {} of the tasks",
            percent(spared as f64, facts.asked() as f64)
        ),
    }
}

/// A part in whole percent; what is not all is not rounded up to it.
fn percent(part: f64, whole: f64) -> String {
    match 100.0 * part / whole {
        percent if percent > 99.0 && part < whole => "over 99 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests;

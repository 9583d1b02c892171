//! What a phase found: tables, charts, and what was left out of them.
//!
//! Law: this part of the page is a function of the phases, the items and the examples; nothing in it depends on how the
//! run went.

use super::raw::{escape, heads, number_cell, wide_table};
use std::fmt::Write;

use super::super::summary::{
    Indices, MoatRow, PhaseKind, PhaseSummary, StudyItem, StudyParameter, StudySummary, VbdRows,
};
use super::charts;
use super::convergence;
use super::say::{answer, group_names, ranking, size_name};
use super::scatter;
use crate::page::text::{ABSENT, Column, count, counted, listed, short};

/// How many failed evaluations are listed.
const FAILED: usize = 20;

/// How many items have a row.
const ITEMS: usize = 200;

/// The sections of all phases.
pub(super) fn sections(summary: &StudySummary) -> String {
    let mut page = String::new();
    for (position, phase) in summary.phases.iter().enumerate() {
        page += &section(summary, position, phase);
    }
    page
}

/// What a phase is called.
pub(super) fn title(summary: &StudySummary, position: usize) -> String {
    let what = match summary.phases[position].kind {
        PhaseKind::Moat if summary.phases.len() > 1 => "Screening: effects one at a time",
        PhaseKind::Moat => "Effects one at a time (MOAT)",
        PhaseKind::Vbd => "Shares of the variance (VBD)",
        PhaseKind::Table => "Your own parameter sets",
    };
    if summary.phases.len() > 1 {
        format!("Phase {}. {what}", position + 1)
    } else {
        what.to_owned()
    }
}

fn section(summary: &StudySummary, position: usize, phase: &PhaseSummary) -> String {
    let number = position + 1;
    let mut page = format!(
        "<section class=\"indices\" id=\"phase-{number}\" aria-labelledby=\"phase-{number}-title\">\n\
         <h2 id=\"phase-{number}-title\">{}</h2>\n<p class=\"quiet\">{}. {}</p>\n",
        escape(&title(summary, position)),
        escape(&phase.method),
        evaluated(summary, phase)
    );
    // The answer of the last phase stands at the head of the page.
    if number < summary.phases.len() {
        let _ = writeln!(
            page,
            "<p>{}</p>",
            escape(&answer(phase, &summary.objective))
        );
    }
    page += &stop_rule(phase);
    page += &ranked(phase);
    page += &charts::bars(phase);
    page += &scatter::effects(phase);
    if let Indices::Vbd(found) = &phase.pooled {
        page += &pairs(phase, found);
    }
    page += &convergence::convergence(phase);
    page += &charts::distribution(phase, &summary.objective, &summary.examples);
    page += &each(summary, phase);
    page += &failed(summary, phase);
    page += &stuck(phase);
    page += &fixed(phase);
    page += "</section>\n";
    page
}

/// How much of the design was evaluated.
fn evaluated(summary: &StudySummary, phase: &PhaseSummary) -> String {
    let items = summary.items.len().max(1);
    let (one, many) = group_names(phase.kind);
    let of = |done: usize, planned: usize, one: &str, many: &str| {
        if done < planned {
            format!("{} of {}", count(done), counted(planned, one, many))
        } else {
            counted(done, one, many)
        }
    };
    let mut said = of(
        phase.sets,
        phase.sets_planned,
        "parameter set",
        "parameter sets",
    );
    if phase.kind != PhaseKind::Table {
        let groups = of(phase.groups, phase.groups_planned, one, many);
        let _ = write!(said, " ({groups})");
    }
    if items > 1 {
        let _ = write!(
            said,
            " on {} items: {} evaluations",
            count(items),
            count(phase.sets * items)
        );
    }
    said.push('.');
    said
}

fn stop_rule(phase: &PhaseSummary) -> String {
    let Some(rule) = phase.rule else {
        return String::new();
    };
    let (_, many) = group_names(phase.kind);
    let (unit, asked) = match phase.kind {
        PhaseKind::Moat => (" of the largest μ*", "the widest interval of μ*"),
        _ => ("", "the widest interval of S1 and ST"),
    };
    let shown = |width: f64| match phase.kind {
        PhaseKind::Moat => format!("±\u{a0}{}\u{a0}%{unit}", short(width * 100.0)),
        _ => format!("±\u{a0}{}", short(width)),
    };
    let reached = rule.reached.map_or_else(
        || "it is not known how wide it is".to_owned(),
        |width| format!("it is {}", shown(width)),
    );
    let ended = if rule.held {
        format!(
            "That ended the phase after {} of {} {many}.",
            count(phase.groups),
            count(phase.groups_planned)
        )
    } else if rule.reached.is_some_and(|width| width <= rule.ci) {
        "That was reached at the end of the design.".to_owned()
    } else {
        "That was not reached: more samples would narrow the intervals.".to_owned()
    };
    format!(
        "<p class=\"rule\"><strong>Stop rule.</strong> Asked for: {asked} at most {}; {reached}. {ended}</p>\n",
        shown(rule.ci)
    )
}

/// The ranked table.
fn ranked(phase: &PhaseSummary) -> String {
    let interval = phase.confidence.map_or_else(String::new, |share| {
        format!(
            " ± is half the width of the {} % interval.",
            short(share * 100.0)
        )
    });
    let (rows, caption) = match &phase.pooled {
        Indices::None => return parameters(phase),
        Indices::Moat(rows) => (
            ranked_effects(phase, rows),
            format!("Parameters by the mean size of their effects (μ*).{interval}"),
        ),
        Indices::Vbd(found) => (
            ranked_shares(phase, found),
            format!("Parameters by their total share of the variance (ST).{interval}"),
        ),
    };
    wide_table("Ranked table", &caption, &rows)
}

/// Where there is nothing to rank by: what varied.
fn parameters(phase: &PhaseSummary) -> String {
    let mut rows =
        heads([("parameter", false), ("values", false), ("default", true)]) + "<tbody>\n";
    for parameter in &phase.parameters {
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{}</th>{}",
            escape(&parameter.name),
            ending(parameter).trim_end()
        );
    }
    rows += "</tbody>\n";
    wide_table("Parameters", "The parameters that vary.", &rows)
}

/// The beginning of a row of a ranked table.
fn leading(rank: usize, parameter: &StudyParameter) -> String {
    format!(
        "<tr><td class=\"n rank\">{rank}</td><th scope=\"row\">{}</th>",
        escape(&parameter.name)
    )
}

/// The end of a row of a ranked table.
fn ending(parameter: &StudyParameter) -> String {
    format!(
        "<td class=\"values\">{}</td>{}</tr>\n",
        escape(&parameter.range),
        number_cell(parameter.default.as_deref().unwrap_or(ABSENT))
    )
}

const LEADING: [(&str, bool); 2] = [("", true), ("parameter", false)];
const ENDING: [(&str, bool); 2] = [("values", false), ("default", true)];

fn ranked_effects(phase: &PhaseSummary, rows: &[MoatRow]) -> String {
    let lost = rows.iter().any(|row| row.lost > 0);
    let mut columns = LEADING.to_vec();
    columns.extend([("μ*", true), ("±", true), ("σ", true), ("μ", true)]);
    if lost {
        columns.extend([("effects", true), ("lost", true)]);
    }
    columns.extend(ENDING);
    let (sizes, sigmas, means) = (
        Column::of(rows.iter().flat_map(|row| [row.mu_star, row.mu_star_conf])),
        Column::of(rows.iter().map(|row| row.sigma)),
        Column::of(rows.iter().map(|row| row.mu)),
    );
    let mut table = heads(columns) + "<tbody>\n";
    for (rank, position) in ranking(phase).into_iter().enumerate() {
        let row = &rows[position];
        table += &leading(rank + 1, &phase.parameters[position]);
        table += &format!(
            "<td class=\"n size\">{}</td>",
            escape(&sizes.show(row.mu_star))
        );
        for (column, value) in [
            (sizes, row.mu_star_conf),
            (sigmas, row.sigma),
            (means, row.mu),
        ] {
            table += &number_cell(&column.show(value));
        }
        if lost {
            table += &number_cell(&count(row.used));
            table += &number_cell(&count(row.lost));
        }
        table += &ending(&phase.parameters[position]);
    }
    table + "</tbody>\n"
}

fn ranked_shares(phase: &PhaseSummary, found: &VbdRows) -> String {
    let mut columns = LEADING.to_vec();
    columns.extend([("S1", true), ("±", true), ("ST", true), ("±", true)]);
    columns.extend(ENDING);
    let shares = Column::of(
        found
            .rows
            .iter()
            .flat_map(|row| [row.s1, row.st, row.s1_conf, row.st_conf]),
    );
    let mut table = heads(columns) + "<tbody>\n";
    for (rank, position) in ranking(phase).into_iter().enumerate() {
        let row = &found.rows[position];
        table += &leading(rank + 1, &phase.parameters[position]);
        table += &number_cell(&shares.show(row.s1));
        table += &number_cell(&shares.show(row.s1_conf));
        table += &format!("<td class=\"n size\">{}</td>", escape(&shares.show(row.st)));
        table += &number_cell(&shares.show(row.st_conf));
        table += &ending(&phase.parameters[position]);
    }
    table += "</tbody>\n";
    let sum = |share: &dyn Fn(usize) -> Option<f64>| {
        let all: Option<Vec<f64>> = (0..found.rows.len()).map(share).collect();
        all.map(|all| all.into_iter().sum::<f64>())
    };
    let (alone, total) = (
        sum(&|row| found.rows[row].s1),
        sum(&|row| found.rows[row].st),
    );
    let _ = writeln!(
        table,
        "<tfoot><tr><td class=\"n\"></td><th scope=\"row\">sum</th>{}<td></td>{}<td colspan=\"3\"></td></tr></tfoot>",
        number_cell(&shares.show(alone)),
        number_cell(&shares.show(total))
    );
    table
}

/// A cell whose shade shows how large its number is, from 0 to 1.
fn shaded(text: &str, part: f64) -> String {
    let part = if part.is_finite() {
        part.clamp(0.0, 1.0)
    } else {
        0.0
    };
    format!(
        "<td class=\"n heat\" style=\"--heat:{:.2}\">{text}</td>",
        part * 0.6
    )
}

/// What pairs do together.
fn pairs(phase: &PhaseSummary, found: &VbdRows) -> String {
    if found.pairs.is_empty() {
        return String::new();
    }
    let ranked = ranking(phase);
    let largest = found
        .pairs
        .iter()
        .filter_map(|pair| pair.s2)
        .fold(0.0, f64::max);
    let column = Column::of(found.pairs.iter().map(|pair| pair.s2));
    let pair = |one: usize, other: usize| {
        let wanted = (one.min(other), one.max(other));
        found.pairs.iter().find(|pair| pair.parameters == wanted)
    };
    let mut rows = String::from("<thead><tr><td></td>");
    for position in ranked.iter().skip(1) {
        let _ = write!(
            rows,
            "<th scope=\"col\" class=\"n\">{}</th>",
            escape(&phase.parameters[*position].name)
        );
    }
    rows += "</tr></thead>\n<tbody>\n";
    for (rank, one) in ranked
        .iter()
        .enumerate()
        .take(ranked.len().saturating_sub(1))
    {
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{}</th>",
            escape(&phase.parameters[*one].name)
        );
        for (other_rank, other) in ranked.iter().enumerate().skip(1) {
            let found = if other_rank > rank {
                pair(*one, *other)
            } else {
                None
            };
            let Some(found) = found else {
                rows += "<td></td>";
                continue;
            };
            let sure = matches!((found.s2, found.s2_conf), (Some(share), Some(half)) if share - half > 0.0);
            let text = escape(&column.show(found.s2));
            let text = if sure {
                format!("<strong>{text}</strong>")
            } else {
                text
            };
            let half = found.s2_conf.map_or_else(String::new, |half| {
                format!(
                    "<br/><small>±\u{a0}{}</small>",
                    escape(&column.show(Some(half)))
                )
            });
            let part = found
                .s2
                .map_or(0.0, |share| share / largest.max(f64::MIN_POSITIVE));
            rows += &shaded(&format!("{text}{half}"), part);
        }
        rows += "</tr>\n";
    }
    rows += "</tbody>\n";
    wide_table(
        "Pairs of parameters",
        "What two parameters do together, beyond what each does by itself (S2): shares of the variance. Bold where the \
         interval lies above zero.",
        &rows,
    )
}

/// What an item is called: its index, and its inputs; one input alone needs no name.
pub(super) fn item_name(item: &StudyItem) -> String {
    let inputs: Vec<String> = match item.inputs.as_slice() {
        [(_, called)] => vec![called.clone()],
        several => several
            .iter()
            .map(|(name, called)| format!("{name} {called}"))
            .collect(),
    };
    match (item.index.as_str(), inputs.is_empty()) {
        ("", true) => "the only item".to_owned(),
        (index, true) => index.to_owned(),
        ("", false) => inputs.join(", "),
        (index, false) => format!("{index}: {}", inputs.join(", ")),
    }
}

/// What each item says.
fn each(summary: &StudySummary, phase: &PhaseSummary) -> String {
    if phase.each.is_empty() {
        return String::new();
    }
    let ranked = ranking(phase);
    let all: Vec<Vec<Option<f64>>> = phase
        .each
        .iter()
        .chain([&phase.pooled])
        .map(|indices| indices.sizes().into_iter().map(|(size, _)| size).collect())
        .collect();
    let column = Column::of(all.iter().flatten().copied());
    let largest = all.iter().flatten().flatten().copied().fold(0.0, f64::max);
    let row = |name: &str, sizes: &[Option<f64>]| {
        let mut row = format!("<tr><th scope=\"row\">{}</th>", escape(name));
        for position in &ranked {
            let size = sizes.get(*position).copied().flatten();
            let part = size.map_or(0.0, |size| size / largest.max(f64::MIN_POSITIVE));
            row += &shaded(&escape(&column.show(size)), part);
        }
        row + "</tr>\n"
    };
    let mut rows = String::from("<thead><tr><th scope=\"col\">item</th>");
    for position in &ranked {
        let _ = write!(
            rows,
            "<th scope=\"col\" class=\"n\">{}</th>",
            escape(&phase.parameters[*position].name)
        );
    }
    rows += "</tr></thead>\n<tbody>\n";
    for (position, sizes) in all.iter().take(phase.each.len()).enumerate().take(ITEMS) {
        let name = summary
            .items
            .get(position)
            .map_or_else(|| format!("item {position}"), item_name);
        rows += &row(&name, sizes);
    }
    rows += "</tbody>\n<tfoot>\n";
    rows += &row("all together", &all[phase.each.len()]);
    rows += "</tfoot>\n";
    let more = if phase.each.len() > ITEMS {
        format!(
            " The first {ITEMS} of {}; results.json has all.",
            count(phase.each.len())
        )
    } else {
        String::new()
    };
    let caption = format!(
        "{} by item: whether the same parameters matter everywhere. The darker, the larger.{more}",
        size_name(phase.kind)
    );
    wide_table("Indices by item", &caption, &rows)
}

/// What has no value, and what that costs.
fn failed(summary: &StudySummary, phase: &PhaseSummary) -> String {
    if phase.failed.is_empty() {
        return String::new();
    }
    let items = summary.items.len().max(1);
    let rule = match &phase.pooled {
        Indices::Moat(rows) => {
            let (used, lost) = rows.iter().fold((0, 0), |(used, lost), row| {
                (used + row.used, lost + row.lost)
            });
            format!(
                " An effect counts if both of its ends have a value: {} of {} do not.",
                count(lost),
                counted(used + lost, "effect", "effects")
            )
        }
        Indices::Vbd(found) => format!(
            " A base point counts if all of its rows have a value: {} of {} do not.",
            count(found.lost),
            counted(found.used + found.lost, "base point", "base points")
        ),
        Indices::None => String::new(),
    };
    let left_out = if phase.failed.len() == 1 {
        "has no value and is left out."
    } else {
        "have no value and are left out."
    };
    let mut page = format!(
        "<h3>Evaluations without a value</h3>\n<p>{} of {} {left_out}{rule}</p>\n",
        count(phase.failed.len()),
        counted(phase.sets * items, "evaluation", "evaluations"),
    );
    let several = items > 1;
    let mut rows = heads(
        [("set", true)]
            .into_iter()
            .chain(several.then_some(("item", false)))
            .chain([("why", false)]),
    );
    rows += "<tbody>\n";
    let listed = &phase.failed[..phase.failed.len().min(FAILED)];
    // What several in a row have in common is said once.
    for alike in listed.chunk_by(|one, other| one.why == other.why) {
        for (position, failed) in alike.iter().enumerate() {
            rows += "<tr>";
            rows += &number_cell(&count(failed.set));
            if several {
                let name = summary
                    .items
                    .get(failed.item)
                    .map_or_else(|| failed.item.to_string(), item_name);
                let _ = write!(rows, "<td class=\"values\">{}</td>", escape(&name));
            }
            if position == 0 {
                let _ = write!(
                    rows,
                    "<td class=\"why\" rowspan=\"{}\">{}</td>",
                    alike.len(),
                    escape(&failed.why)
                );
            }
            rows += "</tr>\n";
        }
    }
    rows += "</tbody>\n";
    let caption = if phase.failed.len() > FAILED {
        format!(
            "The first {FAILED} of {}; results.json has all. Sets are numbered from 0.",
            count(phase.failed.len())
        )
    } else {
        "Which, and why. Sets are numbered from 0.".to_owned()
    };
    page += &wide_table("Evaluations without a value", &caption, &rows);
    page
}

/// Steps that landed on the value that they started from.
fn stuck(phase: &PhaseSummary) -> String {
    let stuck: Vec<String> = phase
        .parameters
        .iter()
        .filter(|parameter| parameter.stuck > 0)
        .map(|parameter| format!("{} ({})", parameter.name, count(parameter.stuck)))
        .collect();
    if stuck.is_empty() {
        return String::new();
    }
    format!(
        "<p class=\"quiet\">Steps that landed on the value that they started from, because the levels of the design are \
         finer than the parameter’s own, and count as effects of zero: {}.</p>\n",
        escape(&listed(&stuck))
    )
}

/// What did not vary.
fn fixed(phase: &PhaseSummary) -> String {
    if phase.fixed.is_empty() {
        return String::new();
    }
    let fixed: Vec<String> = phase
        .fixed
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    format!(
        "<p class=\"quiet\">Held fixed: {}.</p>\n",
        escape(&fixed.join(", "))
    )
}

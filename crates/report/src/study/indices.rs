//! What a phase found: tables, charts, and what was left out of them.
//!
//! Law: this part of the page is a function of the phases, the items, the examples and the extremes; nothing in it depends
//! on how the run went.

use std::collections::BTreeMap;
use std::fmt::Write;

use maud::{Markup, Render, html};

use super::charts;
use super::convergence;
use super::course;
use super::effect::UNORDERED_EFFECT;
use super::say::{Size, answer, group_names, nominal, nominal_part, ranking, sentence, size_name};
use super::scatter;
use super::summary::{
    EffectStep, Indices, MoatRow, PhaseKind, PhaseSummary, StudyItem, StudyParameter, StudySummary,
    VbdPair, VbdRow, VbdRows,
};
use crate::page;
use crate::page::table::{heads, number_cell, wide_table};
use crate::page::text::{ABSENT, Column, count, counted, listed, short};

/// How many failed evaluations are listed.
const FAILED: usize = 20;

/// How many items have a row.
const ITEMS: usize = 200;

/// The sections of all phases.
pub(super) fn sections(summary: &StudySummary) -> Markup {
    html! {
        @for (position, phase) in summary.phases.iter().enumerate() { (section(summary, position, phase)) }
    }
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

fn section(summary: &StudySummary, position: usize, phase: &PhaseSummary) -> Markup {
    let number = position + 1;
    let body = html! {
        p.quiet { (phase.method) ". " (evaluated(summary, phase)) } "\n"
        // The answer of the last phase stands at the head of the page.
        @if number < summary.phases.len() { p { (answer(phase, &summary.objective)) } "\n" }
        @for remark in phase.remarks() {
            p.warning { strong { "Remark." } " " (page::prose(&sentence(&remark))) } "\n"
        }
        (stop_rule(phase))
        (ranked(phase))
        (charts::bars(phase))
        (scatter::effects(phase))
        @if let Indices::Vbd(found) = &phase.pooled { (pairs(phase, found)) }
        (course::courses(phase, &summary.objective))
        (convergence::convergence(phase))
        (charts::distribution(summary, phase))
        (each(summary, phase))
        (failed(summary, phase))
        (coarse(phase))
        (stuck(phase))
        (fixed(phase))
    };
    let place = format!("phase-{number}");
    page::section_of(Some("indices"), &place, &title(summary, position), &body)
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

fn stop_rule(phase: &PhaseSummary) -> Markup {
    let Some(rule) = phase.rule else {
        return html! {};
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
    } else if !phase.pooled.is_enough() {
        "With so few it is not asked.".to_owned()
    } else if rule.reached.is_some_and(|width| width <= rule.ci) {
        "That was reached at the end of the design.".to_owned()
    } else {
        "That was not reached: more samples would narrow the intervals.".to_owned()
    };
    html! {
        p.rule {
            strong { "Stop rule." } " Asked for: " (asked) " at most " (shown(rule.ci)) "; " (reached) ". " (ended)
        } "\n"
    }
}

/// The ranked table.
fn ranked(phase: &PhaseSummary) -> Markup {
    let interval = phase.confidence.map_or_else(String::new, |share| {
        format!(
            " ± is half the width of the {} % interval.",
            short(share * 100.0)
        )
    });
    let open = |place: &Option<(usize, usize)>| place.is_none_or(|(best, worst)| best < worst);
    let open = match phase.confidence {
        _ if !phase.pooled.has_ranks() => {
            " They are sorted by size; there are too few for ranks.".to_owned()
        }
        Some(_) if phase.pooled.places().iter().any(open) => format!(
            " Where the intervals of {} overlap, the order is open: the rank says which places are possible.",
            size_name(phase.kind)
        ),
        _ => String::new(),
    };
    let outside = if phase.parameters.iter().any(|known| known.default_outside) {
        " *: the default lies outside the values that were studied."
    } else {
        ""
    };
    let effect = phase.effect_in_words().map_or_else(String::new, |words| {
        let unordered = if phase.unordered().is_empty() {
            String::new()
        } else {
            format!(" {}", sentence(UNORDERED_EFFECT))
        };
        format!(" {}{unordered}", sentence(words))
    });
    let (rows, caption) = match &phase.pooled {
        Indices::None => return parameters(phase),
        Indices::Moat(rows) => (
            ranked_effects(phase, rows),
            format!(
                "Parameters by the mean size of their effects (μ*).{effect}{interval}{open}{outside}"
            ),
        ),
        Indices::Vbd(found) => (
            ranked_shares(phase, found),
            format!(
                "Parameters by their total share of the variance (ST).{interval}{open}{outside}"
            ),
        ),
    };
    wide_table("Ranked table", caption, &rows)
}

/// Where there is nothing to rank by: what varied.
fn parameters(phase: &PhaseSummary) -> Markup {
    let rows = html! {
        (heads([("parameter", false)].into_iter().chain(ENDING)))
        tbody { "\n"
            @for parameter in &phase.parameters {
                tr { th scope="row" { (parameter.name) } (ending(parameter)) } "\n"
            }
        } "\n"
    };
    wide_table("Parameters", "The parameters that vary.", &rows)
}

/// The first columns of a ranked table.
const LEADING: [(&str, bool); 2] = [("rank", true), ("parameter", false)];

/// Its last columns.
const ENDING: [(&str, bool); 2] = [("values", false), ("default", true)];

/// The last cells of a row.
fn ending(parameter: &StudyParameter) -> Markup {
    let default = parameter.default.as_deref().unwrap_or(ABSENT);
    let mark = if parameter.default_outside { "*" } else { "" };
    html! {
        td.values { (parameter.range) }
        (number_cell(format!("{default}{mark}")))
    }
}

/// The rows of a ranked table: `columns` between the first and the last, and `cells` below them by parameter.
fn ranked_rows(phase: &PhaseSummary, columns: &[&str], cells: impl Fn(usize) -> Markup) -> Markup {
    let columns = columns.iter().map(|name| (*name, true));
    let places = phase.pooled.places();
    let place = |rank: usize, position: usize| match places.get(position).copied().flatten() {
        Some((best, worst)) if best < worst => format!("{best}–{worst}"),
        Some((only, _)) => only.to_string(),
        // Without intervals there is but the order of the sizes.
        None if phase.confidence.is_none() && phase.pooled.has_ranks() => (rank + 1).to_string(),
        None => ABSENT.to_owned(),
    };
    html! {
        (heads(LEADING.into_iter().chain(columns).chain(ENDING)))
        tbody { "\n"
            @for (rank, position) in ranking(phase).into_iter().enumerate() {
                @let parameter = &phase.parameters[position];
                tr {
                    td.n.rank { (place(rank, position)) }
                    th scope="row" { (parameter.name) }
                    (cells(position))
                    (ending(parameter))
                } "\n"
            }
        } "\n"
    }
}

/// The cell that a table is ranked by.
fn size_cell(text: String) -> Markup {
    html! { td.n.size { (text) } }
}

fn ranked_effects(phase: &PhaseSummary, rows: &[MoatRow]) -> Markup {
    let lost = rows.iter().any(|row| row.lost > 0);
    let no_step = rows.iter().any(|row| row.no_step > 0);
    let mut columns = vec!["μ*", "±", "σ", "μ"];
    columns.extend((lost || no_step).then_some("effects"));
    columns.extend(lost.then_some("lost"));
    columns.extend(no_step.then_some("no step"));
    let (sizes, sigmas, means) = (
        Column::of(rows.iter().flat_map(|row| [row.mu_star, row.mu_star_conf])),
        Column::of(rows.iter().map(|row| row.sigma)),
        Column::of(rows.iter().map(|row| row.mu)),
    );
    ranked_rows(phase, &columns, |position| {
        let row = &rows[position];
        html! {
            (size_cell(sizes.show(row.mu_star)))
            (number_cell(sizes.show(row.mu_star_conf)))
            (number_cell(sigmas.show(row.sigma)))
            (number_cell(means.show(row.mu)))
            @if lost || no_step { (number_cell(count(row.used))) }
            @if lost { (number_cell(count(row.lost))) }
            @if no_step { (number_cell(count(row.no_step))) }
        }
    })
}

fn ranked_shares(phase: &PhaseSummary, found: &VbdRows) -> Markup {
    let shares = Column::of(
        found
            .rows
            .iter()
            .flat_map(|row| [row.s1, row.st, row.s1_conf, row.st_conf]),
    );
    let rows = ranked_rows(phase, &["S1", "±", "ST", "±"], |position| {
        let row = &found.rows[position];
        html! {
            (number_cell(shares.show(row.s1)))
            (number_cell(shares.show(row.s1_conf)))
            (size_cell(shares.show(row.st)))
            (number_cell(shares.show(row.st_conf)))
        }
    });
    let sum = |share: fn(&VbdRow) -> Option<f64>| found.rows.iter().map(share).sum();
    html! {
        (rows)
        tfoot { tr {
            td.n {}
            th scope="row" { "sum" }
            (number_cell(shares.show(sum(|row| row.s1))))
            td {}
            (number_cell(shares.show(sum(|row| row.st))))
            td colspan="3" {}
        } } "\n"
    }
}

/// A cell whose shade shows how large its number is beside the largest.
fn shaded(content: impl Render, size: Option<f64>, largest: f64) -> Markup {
    let part = size.map_or(0.0, |size| size / largest.max(f64::MIN_POSITIVE));
    let part = if part.is_finite() { part } else { 0.0 };
    let heat = format!("--heat:{:.2}", part.clamp(0.0, 1.0) * 0.6);
    html! { td.n.heat style=(heat) { (content) } }
}

/// What pairs do together.
fn pairs(phase: &PhaseSummary, found: &VbdRows) -> Markup {
    if found.pairs.is_empty() {
        return html! {};
    }
    let ranked = ranking(phase);
    let clear = found.pairs.iter().filter(|pair| pair.is_clear());
    let largest = clear.filter_map(|pair| pair.s2).fold(0.0, f64::max);
    let column = Column::of(found.pairs.iter().map(|pair| pair.s2));
    let by_parameters: BTreeMap<_, _> = found
        .pairs
        .iter()
        .map(|pair| (pair.parameters, pair))
        .collect();
    let name = |position: usize| phase.parameters[position].name.as_str();
    let cell = |one: usize, other: usize| {
        let pair = by_parameters.get(&(one.min(other), one.max(other)))?;
        let share = column.show(pair.s2);
        let content = html! {
            @if pair.is_clear() { strong { (share) } } @else { (share) }
            @if let Some(half) = pair.s2_conf {
                (page::LINE_BREAK) small { "±\u{a0}" (column.show(Some(half))) }
            }
        };
        Some(if pair.is_clear() {
            shaded(content, pair.s2, largest)
        } else {
            number_cell(content)
        })
    };
    let rows = html! {
        thead { tr {
            td {}
            @for other in ranked.iter().skip(1) { th scope="col" class="n" { (name(*other)) } }
        } } "\n"
        tbody { "\n"
            @for (rank, one) in ranked.iter().enumerate().take(ranked.len().saturating_sub(1)) {
                tr {
                    th scope="row" { (name(*one)) }
                    @for (other_rank, other) in ranked.iter().enumerate().skip(1) {
                        @let cell = (other_rank > rank).then(|| cell(*one, *other)).flatten();
                        @if let Some(cell) = cell { (cell) } @else { td {} }
                    }
                } "\n"
            }
        } "\n"
    };
    let marked = if found.pairs.iter().any(VbdPair::is_clear) {
        "Bold and shaded where the interval lies above zero, the darker the larger; the others cannot be distinguished from zero."
    } else {
        "No interval lies above zero: none can be distinguished from zero."
    };
    let caption = format!(
        "What two parameters do together, beyond what each does by itself (S2): shares of the variance. {marked}"
    );
    wide_table("Pairs of parameters", caption, &rows)
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
fn each(summary: &StudySummary, phase: &PhaseSummary) -> Markup {
    if phase.each.is_empty() {
        return html! {};
    }
    let ranked = ranking(phase);
    let all: Vec<Vec<Size>> = phase
        .each
        .iter()
        .chain([&phase.pooled])
        .map(Indices::sizes)
        .collect();
    let column = Column::of(all.iter().flatten().map(|(size, _)| *size));
    let largest = all.iter().flatten().filter_map(|(size, _)| *size);
    let largest = largest.fold(0.0, f64::max);
    let cell = |(size, half): Size| {
        let content = html! {
            (column.show(size))
            @if half.is_some() { (page::LINE_BREAK) small { "±\u{a0}" (column.show(half)) } }
        };
        shaded(content, size, largest)
    };
    let row = |name: &str, sizes: &[Size]| {
        let sizes = ranked
            .iter()
            .map(|position| sizes.get(*position).copied().unwrap_or((None, None)));
        html! {
            tr {
                th.item scope="row" { (name) }
                @for size in sizes { (cell(size)) }
            } "\n"
        }
    };
    let called = |position: usize| {
        let item = summary.items.get(position);
        item.map_or_else(|| format!("item {position}"), item_name)
    };
    let names = ranked
        .iter()
        .map(|position| (phase.parameters[*position].name.as_str(), true));
    let (items, together) = all.split_at(phase.each.len());
    let rows = html! {
        (heads([("item", false)].into_iter().chain(names)))
        tbody { "\n"
            @for (position, sizes) in items.iter().enumerate().take(ITEMS) { (row(&called(position), sizes)) }
        } "\n"
        tfoot { "\n" @for sizes in together { (row("all together", sizes)) } } "\n"
    };
    let more = if phase.each.len() > ITEMS {
        format!(
            " The first {ITEMS} of {}; results.json has all.",
            count(phase.each.len())
        )
    } else {
        String::new()
    };
    let whole = match phase.confidence {
        Some(_) => {
            " The intervals for all items together show how much the index could change with other samples of the \
             parameters. They do not show how much it could change with other items."
        }
        None => "",
    };
    let caption = format!(
        "{} by item: whether the same parameters matter everywhere. The darker, the larger.{whole}{more}",
        size_name(phase.kind)
    );
    wide_table("Indices by item", caption, &rows)
}

/// What has no value, and what that costs.
fn failed(summary: &StudySummary, phase: &PhaseSummary) -> Markup {
    if phase.failed.is_empty() {
        return html! {};
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
    let several = items > 1;
    let called = |position: usize| {
        let item = summary.items.get(position);
        item.map_or_else(|| position.to_string(), item_name)
    };
    let columns = [("set", true)]
        .into_iter()
        .chain(several.then_some(("item", false)))
        .chain([("why", false)]);
    let listed = &phase.failed[..phase.failed.len().min(FAILED)];
    let rows = html! {
        (heads(columns))
        tbody { "\n"
            // What several in a row have in common is said once.
            @for alike in listed.chunk_by(|one, other| one.why == other.why) {
                @for (position, failed) in alike.iter().enumerate() {
                    tr {
                        (number_cell(count(failed.set)))
                        @if several { td.item { (called(failed.item)) } }
                        @if position == 0 { td.why rowspan=(alike.len()) { (page::prose(&failed.why)) } }
                    } "\n"
                }
            }
        } "\n"
    };
    let caption = if phase.failed.len() > FAILED {
        format!(
            "The first {FAILED} of {}; results.json has all. Sets are numbered from 0.",
            count(phase.failed.len())
        )
    } else {
        "Which, and why. Sets are numbered from 0.".to_owned()
    };
    let without = phase.left_out_in_words(&summary.items);
    html! {
        h3 { "Evaluations without a value" } "\n"
        @for words in &without { p.warning { (page::prose(&sentence(words))) } "\n" }
        p {
            (count(phase.failed.len())) " of " (counted(phase.sets * items, "evaluation", "evaluations")) " "
            (left_out) (rule)
        } "\n"
        (wide_table("Evaluations without a value", caption, &rows))
    }
}

/// Steps that landed on the value that they started from.
fn stuck(phase: &PhaseSummary) -> Markup {
    let said = |counts: Vec<(&str, usize)>| {
        let counts = counts.into_iter();
        let counts = counts.map(|(name, many)| format!("{name} ({})", count(many)));
        counts.collect::<Vec<String>>()
    };
    let without = said(phase.steps_of_no_length());
    let stuck = phase.parameters.iter();
    let stuck = stuck.filter(|parameter| parameter.stuck > 0 && phase.step == EffectStep::Nominal);
    let stuck = stuck.map(|parameter| (parameter.name.as_str(), parameter.stuck));
    let stuck = said(stuck.collect());
    html! {
        @if !stuck.is_empty() {
            p.quiet {
                "Steps that ended at the value where they started; they count as effects of zero: "
                (listed(&stuck)) "."
            } "\n"
        }
        @if !without.is_empty() {
            p.quiet {
                "Steps that ended at the value where they started; they are left out, because no effect \
                 can be computed: "
                (listed(&without)) "."
            } "\n"
        }
    }
}

/// Parameters with fewer values than the design has levels: their steps are not the nominal one.
fn coarse(phase: &PhaseSummary) -> Markup {
    let Some(levels) = phase.levels.filter(|_| phase.step == EffectStep::Nominal) else {
        return html! {};
    };
    let fewer = |parameter: &&StudyParameter| {
        let values = parameter.values.filter(|values| *values > 1);
        values.is_some_and(|values| values < u64::from(levels))
    };
    let names: Vec<&str> = phase
        .parameters
        .iter()
        .filter(fewer)
        .map(|parameter| parameter.name.as_str())
        .collect();
    let two = phase.parameters.iter().any(|found| found.values == Some(2));
    html! {
        @if !names.is_empty() {
            p.quiet {
                "Fewer values than the " (levels) " levels of the design: " (listed(&names)) ". Their steps are longer or \
                 shorter than the nominal one that effects are divided by: " (nominal(levels)) " of the range."
                @if two {
                    " One with two values always goes all the way, so its effects are "
                    (short(1.0 / nominal_part(levels))) " times the change that it makes."
                }
                " With " code { "step: actual" } " effects are divided by the length of the step."
            } "\n"
        }
    }
}

/// What did not vary.
fn fixed(phase: &PhaseSummary) -> Markup {
    let fixed: Vec<String> = phase
        .fixed
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    html! {
        @if !fixed.is_empty() { p.quiet { "Held fixed: " (fixed.join(", ")) "." } "\n" }
    }
}

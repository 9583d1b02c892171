//! Parts of pages as plain strings, for the sections that put their markup together themselves.
//!
//! Law: what comes in as a name or as words is escaped here or by `page`; what comes in as marks or rows is markup.

use maud::{PreEscaped, Render};

use crate::page::{self, svg, table};
pub(super) use svg::{Room, Scale};

pub(super) fn escape(text: &str) -> String {
    page::clean(text.render())
}

pub(super) fn cut(text: &str, most: usize) -> String {
    escape(&page::text::cut(text, most))
}

pub(super) fn chart(title: &str, height: usize, room: Room, marks: &str) -> String {
    svg::chart(title, height, room, &PreEscaped(marks.to_owned())).into_string()
}

pub(super) fn axis_below(scale: Scale, ticks: &[f64], height: usize, name: &str) -> String {
    svg::axis_below(scale, ticks, height, name).into_string()
}

pub(super) fn axis_left(
    scale: Scale,
    ticks: &[f64],
    height: usize,
    name: &str,
    above: usize,
) -> String {
    svg::axis_left(scale, ticks, height, name, above).into_string()
}

pub(super) fn legend<'w>(entries: impl IntoIterator<Item = (&'w str, &'w str)>) -> String {
    svg::legend(entries).into_string()
}

pub(super) fn wide_table(name: &str, caption: &str, rows: &str) -> String {
    table::wide_table(name, PreEscaped(caption), &PreEscaped(rows.to_owned())).into_string()
}

pub(super) fn heads<'h>(names: impl IntoIterator<Item = (&'h str, bool)>) -> String {
    table::heads(names).into_string()
}

pub(super) fn number_cell(text: &str) -> String {
    table::number_cell(text).into_string()
}

pub(super) fn figure(drawn: &str, caption: &str) -> String {
    page::figure(&PreEscaped(drawn.to_owned()), PreEscaped(caption)).into_string()
}

//! Tables.
//!
//! Law: a table is as wide as its content needs and scrolls in its own box, so that the page never does. A shade at an edge says that it
//! goes on there.

use maud::{Markup, Render, html};

/// A table that scrolls in its own box where the page is narrow; `name` is read out.
pub(crate) fn wide_table(name: &str, caption: impl Render, rows: &Markup) -> Markup {
    html! {
        div.wide role="region" tabindex="0" aria-label=(name) {
            table { "\n"
                caption { span { (caption) } } "\n"
                (rows)
            }
        } "\n"
    }
}

/// Heads of columns: name, and whether numbers stand below.
pub(crate) fn heads<'h>(names: impl IntoIterator<Item = (&'h str, bool)>) -> Markup {
    html! {
        thead { tr {
            @for (name, is_number) in names { th scope="col" class=[is_number.then_some("n")] { (name) } }
        } } "\n"
    }
}

/// A cell with a number.
pub(crate) fn number_cell(text: impl Render) -> Markup {
    html! { td.n { (text) } }
}

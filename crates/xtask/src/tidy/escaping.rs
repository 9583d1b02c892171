//! What goes into pages and pictures unescaped.
//!
//! Law: markup is made by `maud`, which escapes every text; the ways around it are named only where pages and pictures
//! keep what is the same in all of them, such as style sheets. Nothing that a user wrote comes by there.

use super::Problem;
use crate::code::tokens;
use crate::workspace::Workspace;

/// The ways around escaping: a text that claims to be markup, and a type that writes itself.
const REFUSED: [&str; 2] = ["PreEscaped", "render_to"];

/// The files and folders that may name them.
const FREE: [&str; 3] = [
    "crates/report/src/page.rs",
    "crates/report/src/page/",
    "crates/draw/src/svg.rs",
];

/// The places elsewhere that name one of them.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    let files = workspace.rust_files();
    for file in files.filter(|file| !FREE.iter().any(|free| file.path.starts_with(free))) {
        for token in tokens(&file.text) {
            if REFUSED.contains(&token.text) {
                problems.push(Problem::new(
                    &file.path,
                    token.line,
                    format!("`{}` outside of `page`", token.text),
                    "write the markup in `html!`, or add a function that makes it to `crates/report/src/page`",
                ));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;

    #[track_caller]
    fn source(path: &str, text: &str, expected: &[&str]) {
        expect(&check(&example::files(&[(path, text)])), expected);
    }

    #[test]
    fn ways_around_escaping_are_found() {
        source(
            "crates/report/src/study.rs",
            "use maud::{Markup, PreEscaped};\nfn f(x: &str) -> Markup { maud::PreEscaped(x.to_owned()) }",
            &[
                "crates/report/src/study.rs:1: `PreEscaped` outside of `page`; write the markup in `html!`",
                "crates/report/src/study.rs:2: `PreEscaped` outside of `page`",
            ],
        );
        source(
            "crates/report/src/pages.rs",
            "impl Render for A {\n    fn render_to(&self, page: &mut String) {}\n}",
            &["crates/report/src/pages.rs:2: `render_to` outside of `page`"],
        );
    }

    #[test]
    fn pages_and_pictures_keep_their_own() {
        for path in [
            "crates/report/src/page.rs",
            "crates/report/src/page/svg.rs",
            "crates/draw/src/svg.rs",
        ] {
            source(path, "style { (PreEscaped(STYLE)) }", &[]);
        }
    }

    #[test]
    fn comments_texts_and_markup_are_free() {
        source(
            "crates/report/src/study.rs",
            "// PreEscaped\nfn f() -> Markup { html! { p { \"PreEscaped\" (self.render()) } } }",
            &[],
        );
    }
}

//! What all pages have in common: frame, style, tables, charts, and how numbers are written.
//!
//! | file | what |
//! | --- | --- |
//! | `table` | tables that scroll in their own box |
//! | `svg` | axes, scales and marks |
//! | `labels` | labels that do not cover each other |
//! | `text` | words and numbers |
//! | `style` | the style sheet |
//!
//! Law: a page needs nothing but itself. It is well-formed as XML too, runs no script and asks no network for anything.
//! Whatever a user wrote stands in it as text: `maud` escapes what is not [`Markup`], and `clean` takes out the
//! characters that no page may hold.

pub(crate) mod labels;
mod style;
pub(crate) mod svg;
pub(crate) mod table;
pub mod text;

use headwater_graph::text::acts;
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

/// What every page of ours has in it.
const MARK: &str = "<meta name=\"generator\" content=\"Headwater\"";

/// The name of a report.
pub const REPORT: &str = "report.html";

/// Whether the beginning of a file is that of a page of ours.
pub fn is_page(beginning: &[u8]) -> bool {
    String::from_utf8_lossy(beginning).contains(MARK)
}

/// A whole page: `title` for the window, and what stands in the body.
pub(crate) fn document(title: &str, body: &Markup) -> String {
    // Even a page that is served asks for nothing: neither its policy nor its empty icon lets it.
    let policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
    let page = html! {
        (DOCTYPE) "\n"
        html lang="en" {
            head {
                (void("meta", &[("charset", "utf-8")])) "\n"
                (void("meta", &[("http-equiv", "Content-Security-Policy"), ("content", policy)])) "\n"
                (void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")])) "\n"
                (void("meta", &[("name", "generator"), ("content", "Headwater")])) "\n"
                (void("link", &[("rel", "icon"), ("href", "data:,")])) "\n"
                title { (title) } "\n"
                style { (PreEscaped(style::STYLE)) }
            }
            body { "\n" (body) }
        }
        "\n"
    };
    clean(page)
}

/// An element that has no content in HTML: closed, which `maud` does not do, so that the page can be read as XML.
fn void(name: &'static str, attributes: &[(&'static str, &str)]) -> Markup {
    html! {
        (PreEscaped("<")) (name)
        @for (key, value) in attributes { " " (key) (PreEscaped("=\"")) (value) (PreEscaped("\"")) }
        (PreEscaped("/>"))
    }
}

/// The end of a line within a text.
pub(crate) const LINE_BREAK: PreEscaped<&str> = PreEscaped("<br/>");

/// An image that stands in the page itself: a PNG in base 64, its width and height, and the words that are read out.
pub(crate) fn image(png: &str, (width, height): (usize, usize), words: &str) -> Markup {
    let attributes = [
        ("src", &*format!("data:image/png;base64,{png}")),
        ("width", &width.to_string()),
        ("height", &height.to_string()),
        ("alt", words),
    ];
    void("img", &attributes)
}

/// A finished page or picture without the characters that XML does not allow, and without those that would turn what
/// follows them round: each shows as the replacement character.
pub(crate) fn clean(page: Markup) -> String {
    let forbidden = |sign: char| acts(sign) || matches!(sign, '\u{fffe}' | '\u{ffff}');
    let page = page.into_string();
    if page.contains(forbidden) {
        page.replace(forbidden, "\u{fffd}")
    } else {
        page
    }
}

/// A text that is written for the terminal too: a name in backquotes is code. A name begins where a word may begin and ends
/// where one may end; any other backquote is a sign like others.
pub(crate) fn prose(text: &str) -> Markup {
    let is_apart = |sign: Option<char>| !sign.is_some_and(char::is_alphanumeric);
    let opens = |before: &str, after: &str| {
        is_apart(before.chars().next_back()) && !before.ends_with('`') && !after.starts_with('`')
    };
    // Where the first name begins and ends.
    let first = |rest: &str| -> Option<(usize, usize)> {
        let quotes = || rest.match_indices('`').map(|(place, _)| place);
        let open = quotes().find(|open| opens(&rest[..*open], &rest[open + 1..]))?;
        let mut later = quotes().filter(|close| *close > open);
        let close = later.find(|close| is_apart(rest[close + 1..].chars().next()))?;
        Some((open, close))
    };
    let mut parts: Vec<(&str, &str)> = Vec::new();
    let mut rest = text;
    while let Some((open, close)) = first(rest) {
        parts.push((&rest[..open], &rest[open + 1..close]));
        rest = &rest[close + 1..];
    }
    html! { @for (before, name) in parts { (before) code { (name) } } (rest) }
}

/// A section with its title; the place of a link.
pub(crate) fn section(place: &str, title: &str, body: &Markup) -> Markup {
    section_of(None, place, title, body)
}

/// A section that may have a class.
pub(crate) fn section_of(class: Option<&str>, place: &str, title: &str, body: &Markup) -> Markup {
    let named = format!("{place}-title");
    html! {
        section class=[class] id=(place) aria-labelledby=(named) { "\n"
            h2 id=(named) { (title) } "\n"
            (body)
        } "\n"
    }
}

/// A figure: a chart and what it shows.
pub(crate) fn figure(drawn: &Markup, caption: impl Render) -> Markup {
    html! { figure { "\n" (drawn) figcaption { (caption) } "\n" } "\n" }
}

/// Terms and what they are.
pub(crate) fn terms<'t>(entries: impl IntoIterator<Item = (&'t str, String)>) -> Markup {
    terms_like(None, entries)
}

/// Words and what they mean, one below the other.
pub(crate) fn meanings<'t>(entries: impl IntoIterator<Item = (&'t str, String)>) -> Markup {
    terms_like(Some("words"), entries)
}

fn terms_like<'t>(
    class: Option<&str>,
    entries: impl IntoIterator<Item = (&'t str, String)>,
) -> Markup {
    html! {
        dl class=[class] { "\n"
            @for (term, text) in entries { div { dt { (term) } dd { (text) } } "\n" }
        } "\n"
    }
}

/// A few large figures, each with the words below it.
pub(crate) fn figures(entries: impl IntoIterator<Item = (String, String)>) -> Markup {
    html! {
        ul.figures {
            @for (figure, words) in entries { li { strong { (figure) } " " (words) } }
        } "\n"
    }
}

/// Links to the sections of the page: place and words of each.
pub(crate) fn contents(links: impl IntoIterator<Item = (String, String)>) -> Markup {
    html! {
        nav aria-label="Contents" {
            ul {
                @for (place, words) in links { li { a href={ "#" (place) } { (words) } } }
            }
        } "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_backquotes_are_code() {
        let check = |text: &str, expected: &str| {
            assert_eq!(prose(text).into_string(), expected, "{text}");
        };
        check("no names", "no names");
        check("`a`", "<code>a</code>");
        check(
            "`a.b[0]` (`c` is `d e`): no",
            "<code>a.b[0]</code> (<code>c</code> is <code>d e</code>): no",
        );
        check("`<b>` & <i>", "<code>&lt;b&gt;</code> &amp; &lt;i&gt;");
        // Names may hold one, and what was cut off may have lost one.
        check("file `a`b` is gone", "file <code>a`b</code> is gone");
        check("the `a` of `b…", "the <code>a</code> of `b…");
        check("don`t, it`s", "don`t, it`s");
        check("``, `", "``, `");
        check("`é`: ü", "<code>é</code>: ü");
        check("", "");
    }

    #[test]
    fn what_users_write_cannot_leave_its_place() {
        let hostile = "<script>\"'&\u{0}\u{202e}</script>";
        let page = document(
            hostile,
            &figure(&terms([("name", hostile.to_owned())]), hostile),
        );
        let shown = "&lt;script&gt;&quot;'&amp;\u{fffd}\u{fffd}&lt;/script&gt;";
        assert_eq!(page.matches(shown).count(), 3);
        assert!(!page.contains("<script"));
        let shown = image("QQ==", (2, 3), hostile).into_string();
        let start = "<img src=\"data:image/png;base64,QQ==\" width=\"2\" height=\"3\" alt=\"&lt;script&gt;&quot;'&amp;";
        assert!(shown.starts_with(start) && shown.ends_with("&lt;/script&gt;\"/>"));
        let place = section("a\"b", hostile, &html! {}).into_string();
        assert!(place.starts_with("<section id=\"a&quot;b\" aria-labelledby=\"a&quot;b-title\">"));
    }
}

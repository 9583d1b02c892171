//! Diagnostics as text: tabs, wide characters, long lines, ends of files, colours.

use headwater_flow::{DataFormat, read_data, render};
use headwater_graph::{Diagnostic, Severity, Span};

fn at(text: &str, start: usize, end: usize) -> Diagnostic {
    let line = text[..start].matches('\n').count() + 1;
    let column = text[..start]
        .rsplit('\n')
        .next()
        .unwrap_or("")
        .chars()
        .count()
        + 1;
    let span = Span {
        start,
        end,
        line,
        column,
    };
    Diagnostic::error(span, "wrong")
}

/// Marks `part` of `text` and returns the line and the carets.
#[track_caller]
fn check(text: &str, part: &str, expected: [&str; 2]) {
    let start = text.find(part).expect("the part is in the text");
    let shown = render(&[at(text, start, start + part.len())], "f", text, false);
    let lines: Vec<&str> = shown.lines().skip(3).collect();
    assert_eq!(lines, expected);
}

#[test]
fn carets_stand_under_what_they_mean() {
    check("a: b", "b", ["1 | a: b", "  |    ^"]);
    check("a:\tb", "b", ["1 | a:    b", "  |       ^"]);
    check("ä: 漢字 x", "字", ["1 | ä: 漢字 x", "  |      ^^"]);
    check("ä: 漢字 x", "x", ["1 | ä: 漢字 x", "  |         ^"]);
    check(
        "e\u{301}e\u{301} x",
        "x",
        ["1 | e\u{301}e\u{301} x", "  |    ^"],
    );
    check("a\r\nbc\r\n", "bc", ["2 | bc", "  | ^^"]);
    check(
        "one\ntwo three\nfour",
        "three\nfour",
        ["2 | two three", "  |     ^^^^^"],
    );
    check("a\u{1b}[31mb", "b", ["1 | a\u{fffd}[31mb", "  |       ^"]);
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let text = format!("{}x{}", "a".repeat(5000), "b".repeat(5000));
    let (before, after) = ("a".repeat(30), "b".repeat(69));
    check(
        &text,
        "x",
        [
            &format!("1 | …{before}x{after}…"),
            &format!("  | {}^", " ".repeat(31)),
        ],
    );
    let text = format!("key: {}", "v".repeat(300));
    check(
        &text,
        &"v".repeat(300),
        [
            &format!("1 | key: {}…", "v".repeat(95)),
            &format!("  |      {}", "^".repeat(95)),
        ],
    );
}

#[test]
fn ends_of_files_and_lines() {
    let check = |text: &str, start: usize, expected: &str| {
        let shown = render(&[at(text, start, start)], "f", text, false);
        assert_eq!(shown, expected);
    };
    check("", 0, "error: wrong\n --> f:1:1\n  |\n1 | \n  | ^\n");
    check("ab", 2, "error: wrong\n --> f:1:3\n  |\n1 | ab\n  |   ^\n");
    check("ab\n", 3, "error: wrong\n --> f:2:1\n  |\n2 | \n  | ^\n");
    check(
        "ab\ncd",
        2,
        "error: wrong\n --> f:1:3\n  |\n1 | ab\n  |   ^\n",
    );
}

#[test]
fn spans_that_do_not_fit_the_text_do_no_harm() {
    let span = Span {
        start: 50,
        end: 90,
        line: 7,
        column: 3,
    };
    let shown = render(&[Diagnostic::error(span, "wrong")], "f", "é", false);
    assert_eq!(shown, "error: wrong\n --> f:7:3\n  |\n7 | é\n  |  ^\n");
    let span = Span { start: 1, ..span };
    render(&[Diagnostic::error(span, "wrong")], "f", "é", true);
}

#[test]
fn without_a_place_only_the_file_is_named() {
    let diagnostic = Diagnostic {
        severity: Severity::Warning,
        span: None,
        message: "odd\nfile".to_owned(),
        hint: Some("look again".to_owned()),
    };
    let shown = render(&[diagnostic], "f\u{7}", "", false);
    assert_eq!(
        shown,
        "warning: odd file\n --> f\u{fffd}\n  = help: look again\n"
    );
}

#[test]
fn colours_change_nothing_but_colours() {
    let text = "inputs: {a: 0x1f}\nrows: []\n";
    let read = read_data(text, DataFormat::Yaml);
    let plain = render(&read.diagnostics, "f", text, false);
    let mut coloured = render(&read.diagnostics, "f", text, true);
    assert!(coloured.contains("\x1b[1;31merror\x1b[0m"));
    while let Some(start) = coloured.find('\x1b') {
        let end = start + coloured[start..].find('m').expect("a colour ends");
        coloured.replace_range(start..=end, "");
    }
    assert_eq!(coloured, plain);
}

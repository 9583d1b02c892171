//! Large files take time in proportion to their size.

use std::fmt::Write;
use std::time::{Duration, Instant};

use headwater_flow::{mutate, read_workflow, render};

/// A chain of stages, each after the one before.
fn chain(stages: usize) -> String {
    let mut text = String::from(
        "headwater: 1\nworkflow: big\ninputs: {d0: file}\nparameters: {B: int}\noperations:\n  copy:\n    command: [cp, '{in.a}', '{out.b}']\n    params: {n: int}\n    inputs: {a: file}\n    outputs: {b: file}\nstages:\n",
    );
    for stage in 0..stages {
        let (before, next) = (stage.saturating_sub(1), stage + 1);
        let after = if stage == 0 {
            String::new()
        } else {
            format!("    after: [s{before}]\n")
        };
        let _ = writeln!(
            text,
            "  s{stage}:\n{after}    tasks:\n      - {{op: copy, in: {{a: d{stage}}}, params: {{n: $B}}, out: {{b: d{next}}}}}"
        );
    }
    text
}

/// One stage whose tasks stand in the wrong order.
fn tasks(tasks: usize) -> String {
    let mut text = chain(0);
    text.push_str("  s:\n");
    for task in (0..tasks).rev() {
        let next = task + 1;
        let _ = writeln!(
            text,
            "    - {{op: copy, name: t{task}, in: {{a: d{task}}}, params: {{n: $B}}, out: {{b: d{next}}}}}"
        );
    }
    text
}

/// Every stage has a mistake.
fn mistakes(stages: usize) -> String {
    chain(stages)
        .replace("in: {a: d", "in: {a: x")
        .replace("after: [s", "after: [t")
}

fn fastest(text: &str) -> Duration {
    let registry = mutate::registry();
    let once = || {
        let start = Instant::now();
        let read = read_workflow(text, &registry);
        let shown = render(&read.diagnostics, "big.yaml", text, false);
        assert_eq!(shown.is_empty(), read.diagnostics.is_empty());
        start.elapsed()
    };
    (0..2).map(|_| once()).min().unwrap_or_default()
}

#[test]
fn ten_times_the_stages_take_about_ten_times_as_long() {
    let check = |name: &str, text: fn(usize) -> String| {
        let (small, large) = (fastest(&text(1_000)), fastest(&text(10_000)));
        // Quadratic work would make it a hundred times.
        let ratio = large.as_secs_f64() / small.as_secs_f64();
        assert!(
            ratio < 40.0,
            "{name}: {small:?} for 1,000, {large:?} for 10,000"
        );
    };
    check("chain", chain);
    check("tasks", tasks);
    check("mistakes", mistakes);
}

#[test]
fn large_files_are_read_whole() {
    let read = read_workflow(&chain(20_000), &mutate::registry());
    assert_eq!(read.diagnostics, []);
    assert_eq!(
        read.value
            .expect("there are no mistakes")
            .workflow
            .stages
            .len(),
        20_000
    );
    let read = read_workflow(&mistakes(1_000), &mutate::registry());
    assert_eq!(read.diagnostics.len(), 1_999);
}

#[test]
fn hostile_files_cost_little() {
    let bomb: String = (1..40).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
        let below = level - 1;
        format!("{text}a{level}: &a{level} [*a{below}, *a{below}]\n")
    });
    let texts = [
        bomb,
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        format!("{{{}", "/* , ".repeat(50_000)),
        "a: b: c\n".repeat(50_000),
        "- *x\n".repeat(50_000),
        format!("{{{}}}", "a: f(, b, ".repeat(2_000)),
        format!("inputs: {{a: {}file}}", "list of ".repeat(100_000)),
        format!("headwater: {}", "é".repeat(300_000)),
        "\"".repeat(100_001),
        "\t\n".repeat(100_000),
    ];
    let registry = mutate::registry();
    for text in texts {
        let start = Instant::now();
        mutate::exercise(&text, &registry);
        let short: String = text.chars().take(20).collect();
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{short}… took {:?}",
            start.elapsed()
        );
    }
}

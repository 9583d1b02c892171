//! What is said of indices that nobody should rely on.
//!
//! Law: the same words stand in the results and in the report.

use headwater_report::study::{
    Indices, MoatRow, PhaseSummary, StudySummary, VbdRow, study_report_html, study_results_json,
};
use serde_json::Value;

use crate::made_up;

fn with_rows(change: impl Fn(usize, &mut VbdRow)) -> StudySummary {
    let mut summary = made_up::vbd();
    if let Indices::Vbd(found) = &mut summary.phases[0].pooled {
        for (place, row) in found.rows.iter_mut().enumerate() {
            // Nothing that needs a remark.
            let known = (Some(0.1), Some(0.02));
            ((row.s1, row.s1_conf), (row.st, row.st_conf)) = (known, known);
            change(place, row);
        }
    }
    summary
}

fn remarks(change: impl Fn(usize, &mut VbdRow)) -> Vec<String> {
    with_rows(change).phases[0].remarks()
}

fn with_steps(change: impl Fn(usize, &mut MoatRow)) -> StudySummary {
    let mut summary = made_up::moat();
    if let Indices::Moat(rows) = &mut summary.phases[0].pooled {
        for (place, row) in rows.iter_mut().enumerate() {
            row.steps = Some(40);
            change(place, row);
        }
    }
    summary
}

/// A screening of four trajectories.
fn few() -> StudySummary {
    let mut summary = with_steps(|_, row| row.steps = Some(4));
    summary.phases[0].groups = 4;
    summary
}

#[test]
fn indices_that_can_be_relied_on_have_no_remark() {
    assert!(remarks(|_, _| ()).is_empty());
    assert!(with_steps(|_, _| ()).phases[0].remarks().is_empty());
    assert!(made_up::table().phases[0].remarks().is_empty());
    assert!(made_up::constant().phases[0].remarks().is_empty());
}

#[test]
fn shares_that_cannot_be_have_one() {
    let only = |s1: (f64, f64), st: (f64, f64)| {
        let found = remarks(|place, row| {
            if place == 1 {
                (row.s1, row.s1_conf) = (Some(s1.0), Some(s1.1));
                (row.st, row.st_conf) = (Some(st.0), Some(st.1));
            }
        });
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    };
    let name = &made_up::vbd().phases[0].parameters[1].name;
    assert_eq!(
        only((0.5, 0.4), (2.35, 2.6)),
        format!(
            "ST of {name} is 2.350 ± 2.600: no share of the variance is above 1; more samples are needed"
        )
    );
    assert_eq!(
        only((-0.01, 0.02), (0.1, 0.1)),
        format!("S1 of {name} is below 0, as estimates of small shares may be: read as 0")
    );
    assert!(only((-0.5, 0.1), (0.1, 0.1)).starts_with(&format!(
        "S1 of {name} is -0.500 ± 0.100: no share is below 0, and"
    )));
    assert_eq!(
        only((0.4, 0.1), (0.35, 0.1)),
        format!(
            "S1 of {name} is 0.400 ± 0.100, its ST 0.350 ± 0.100: S1 is never above ST; the difference lies within the \
             intervals"
        )
    );
    let beyond = only((0.6, 0.1), (0.2, 0.1));
    assert!(beyond.contains("the intervals do not allow it"), "{beyond}");
    // Without intervals nothing is known of chance.
    let bare = remarks(|place, row| {
        (row.s1_conf, row.st_conf) = (None, None);
        row.st = Some(if place == 0 { 1.5 } else { 0.1 });
    });
    assert_eq!(bare.len(), 1, "{bare:?}");
    assert!(bare[0].contains(" is 1.500: "), "{bare:?}");
}

#[test]
fn of_many_the_first_few_are_named() {
    let found = remarks(|_, row| row.s1 = Some(-0.001));
    assert!(found[0].contains(" and 4 more are below 0"), "{found:?}");
}

#[test]
fn items_are_counted() {
    let mut summary = with_rows(|_, _| ());
    let phase = &mut summary.phases[0];
    let mut other = phase.pooled.clone();
    if let Indices::Vbd(found) = &mut other {
        found.rows[2].st = Some(1.2);
    }
    phase.each = vec![phase.pooled.clone(), other];
    assert_eq!(
        phase.remarks(),
        [
            "on 1 of 2 items there are shares above 1, or S1 above ST by more than their intervals allow"
        ]
    );
}

#[test]
fn few_have_no_ranks() {
    let phase = |summary: &StudySummary| summary.phases[0].clone();
    assert_eq!(
        phase(&few()).remarks(),
        ["too few for ranks: 4 trajectories, and 8 are needed"]
    );
    // Where effects were lost it is these that are too few.
    let lost = with_steps(|place, row| row.steps = Some(place % 8));
    assert_eq!(
        phase(&lost).remarks(),
        ["too few for ranks: at most 7 effects of a parameter, and 8 are needed"]
    );
    let some = with_steps(|place, row| row.steps = Some(if place == 2 { 5 } else { 8 }));
    let name = &some.phases[0].parameters[2].name;
    assert_eq!(
        phase(&some).remarks(),
        [format!(
            "too few effects for a rank, of which 8 are needed: {name} (5)"
        )]
    );
    let mut shares = with_rows(|_, _| ());
    if let Indices::Vbd(found) = &mut shares.phases[0].pooled {
        found.drawn = Some(63);
    }
    assert_eq!(
        phase(&shares).remarks(),
        ["too few for ranks: 63 base points, and 64 are needed"]
    );
}

#[test]
fn where_there_are_too_few_for_ranks_none_is_claimed() {
    let summary = few();
    let results: Value = serde_json::from_str(&study_results_json(&summary)).expect("JSON");
    assert_eq!(results["ranking"], serde_json::json!([]));
    assert_eq!(results["ranks"], serde_json::json!(vec![Value::Null; 15]));
    assert_eq!(
        results["remarks"][0],
        "too few for ranks: 4 trajectories, and 8 are needed"
    );
    let page = study_report_html(&summary);
    for words in [
        "is not said: there are too few for ranks. The largest μ*",
        "<strong>Remark.</strong> Too few for ranks: 4 trajectories, and 8 are needed.",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("matters most to"), "no claim in the head");
    assert!(
        page.contains("<td class=\"n rank\">–</td>") || !page.contains("<td class=\"n rank\">1")
    );
}

#[test]
fn ranks_are_places_by_parameter() {
    let results = |phase: &PhaseSummary| -> Value {
        let mut summary = made_up::moat();
        summary.phases = vec![phase.clone()];
        serde_json::from_str(&study_results_json(&summary)).expect("JSON")
    };
    let phase = &made_up::moat().phases[0];
    let found = results(phase);
    let ranks: Vec<Option<(usize, usize)>> =
        serde_json::from_value(found["ranks"].clone()).expect("ranks");
    assert_eq!(ranks, phase.pooled.places());
    assert!(
        found["ranking"]
            .as_array()
            .is_some_and(|names| names.len() == 15)
    );
}

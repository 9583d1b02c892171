//! Summaries as they are read.

use std::fs;

use headwater::runs::{Outcome, Tally};
use headwater::study::NOMINAL_EFFECT;
use insta::assert_snapshot;

use super::*;
use crate::study::cases::{self as cases, effects};

/// What is said where no file is, in a terminal of this width.
fn said(summary: &StudySummary, width: Option<usize>) -> String {
    lines(summary, Path::new("nowhere"), width).join("\n")
}

/// What is said of the only phase.
fn said_of(change: impl FnOnce(&mut PhaseSummary), summary: &StudySummary) -> String {
    let mut summary = summary.clone();
    change(&mut summary.phases[0]);
    let phase = &summary.phases[0];
    phase_lines(&summary, phase, Path::new("nowhere"), Some(100)).join("\n")
}

#[test]
fn a_screening() {
    assert_snapshot!(said(&cases::moat(), Some(100)), @"
    study nuclei-moat: 200 evaluations of 4 parameters, 0 failed, 14.2 s

    MOAT, 40 random trajectories, 20 levels
      dice: from 0.500 to 0.750, 0.625 on average
      rank  parameter  range              mu*             sigma   mu
       1-2  G2         2 to 40 by 2       0.412  ± 0.050  0.510    0.0200   ████████████████████████
       1-2  G1         5 to 80 by 5       0.310  ± 0.060  0.250   -0.300    ██████████████████
         3  T2         2.5 to 7.5 by 0.5  0.0231 ± 0.012  0.0310   0.00120  █▍
         4  ReconConn  4, 8               0      ± 0      0        0
      mu*: the mean size of a parameter's effects; sigma: how much they vary from place to place
      an effect is the change of the objective divided by the length of the step; the whole range of a parameter has length 1
      ±: intervals of 95 %; where they overlap the order is open, and rank says which places are possible

    tasks: 5,120 asked for, 2,857 differ, 1,904 executed, 953 cut off by content, 0 remembered; sharing saved 65 % of the processor time (about 48.7 s)
    on 2 cores; equal tasks are shared, also those that turn out to be equal
    ");
}

#[test]
fn a_decomposition() {
    assert_snapshot!(said(&cases::vbd(), Some(100)), @"
    study nuclei-vbd: 320 evaluations of 3 parameters, 0 failed, 14.2 s

    VBD, 64 base points (Sobol')
      fixed: ReconConn = 8
      dice: from 0 to 1.00, 0.500 on average
      rank  parameter  range              S1                ST
         1  G2         2 to 40 by 2        0.550   ± 0.10   0.680  ± 0.11    ████████████████▍
         2  G1         5 to 80 by 5        0.210   ± 0.080  0.340  ± 0.090   ████████▏
         3  T2         2.5 to 7.5 by 0.5  -0.00200 ± 0.010  0.0110 ± 0.0060  ▎
      S1: the share of the variance that is a parameter's own; ST: together with others; rank is by ST
      ±: intervals of 95 %; those of ST do not overlap
      remark: S1 of T2 is below 0, as estimates of small shares may be: read as 0

    tasks: 5,120 asked for, 2,857 differ, 1,904 executed, 953 cut off by content, 0 remembered; sharing saved 65 % of the processor time (about 48.7 s)
    on 2 cores; equal tasks are shared, also those that turn out to be equal
    ");
}

#[test]
fn two_phases_and_a_forecast() {
    assert_snapshot!(said(&cases::two_phases(), Some(90)), @"
    study nuclei: 520 evaluations of 4 parameters, then of 3, 0 failed, 14.2 s

    phase 1 of 2: MOAT, 40 random trajectories, 20 levels
      dice: from 0.500 to 0.750, 0.625 on average
      rank  parameter  range              mu*             sigma   mu
       1-2  G2         2 to 40 by 2       0.412  ± 0.050  0.510    0.0200   ██████████████████
       1-2  G1         5 to 80 by 5       0.310  ± 0.060  0.250   -0.300    █████████████▌
         3  T2         2.5 to 7.5 by 0.5  0.0231 ± 0.012  0.0310   0.00120  █
         4  ReconConn  4, 8               0      ± 0      0        0
      mu*: the mean size of a parameter's effects; sigma: how much they vary from place to place
      an effect is the change of the objective divided by the length of the step; the whole range of a parameter has length 1
      ±: intervals of 95 %; where they overlap the order is open, and rank says which places are possible

    phase 2 of 2: VBD, 64 base points (Sobol')
      fixed: ReconConn = 8
      dice: from 0 to 1.00, 0.500 on average
      rank  parameter  range              S1                ST
         1  G2         2 to 40 by 2        0.550   ± 0.10   0.680  ± 0.11    ███████████▌
         2  G1         5 to 80 by 5        0.210   ± 0.080  0.340  ± 0.090   █████▊
         3  T2         2.5 to 7.5 by 0.5  -0.00200 ± 0.010  0.0110 ± 0.0060  ▏
      S1: the share of the variance that is a parameter's own; ST: together with others; rank is by ST
      ±: intervals of 95 %; those of ST do not overlap
      remark: S1 of T2 is below 0, as estimates of small shares may be: read as 0

    tasks: 5,120 asked for, 2,857 differ, 1,904 executed, 953 cut off by content, 0 remembered; sharing saved 65 % of the processor time (about 48.7 s)
    on 2 cores; equal tasks are shared, also those that turn out to be equal
    forecast of the screening from the tuning run 20261116-0829-77aa: 20.5 s for 2,857 tasks of the sets, 41.0 s of work; in fact: 13.8 s for 1,904 of them, 26.0 s of work
    ");
}

#[test]
fn several_items_are_shown_together() {
    assert_snapshot!(said(&cases::two_items(), Some(80)), @"
    study nuclei-moat: 400 evaluations of 4 parameters over 2 items, 0 failed, 14.2 s

    MOAT, 40 random trajectories, 20 levels
      dice: from 0.500 to 0.750, 0.625 on average
      rank  parameter  range              mu*             sigma   mu
       1-2  G2         2 to 40 by 2       0.412  ± 0.050  0.510    0.0200   ████████
       1-2  G1         5 to 80 by 5       0.310  ± 0.060  0.250   -0.300    ██████
         3  T2         2.5 to 7.5 by 0.5  0.0231 ± 0.012  0.0310   0.00120  ▌
         4  ReconConn  4, 8               0      ± 0      0        0
      mu*: the mean size of a parameter's effects; sigma: how much they vary from place to place
      an effect is the change of the objective divided by the length of the step; the whole range of a parameter has length 1
      ±: intervals of 95 %; where they overlap the order is open, and rank says which places are possible
      these are the indices of all 2 items together; ± does not say how much other items would change them
      by item: G2 comes first on 1 of 2 items, G1 on 1; all are in results.json

    tasks: 5,120 asked for, 2,857 differ, 1,904 executed, 953 cut off by content, 0 remembered; sharing saved 65 % of the processor time (about 48.7 s)
    on 2 cores; equal tasks are shared, also those that turn out to be equal
    ");
}

#[test]
fn what_failed_and_what_that_costs() {
    assert_snapshot!(said(&cases::with_failures(), Some(100)), @"
    study nuclei-moat: 200 evaluations of 4 parameters, 3 failed, 14.2 s

    MOAT, 40 random trajectories, 20 levels
      dice: from 0.500 to 0.750, 0.624 on average
      rank  parameter  range              mu*            sigma  mu
       1-3  G2         2 to 40 by 2       0.412 ± 0.050  0.510   0.0200  ████████████████████████
       1-3  G1         5 to 80 by 5       0.310 ± 0.060  0.250  -0.300   ██████████████████
       3-4  ReconConn  4, 8               0     ± 0      0       0
         -  T2         2.5 to 7.5 by 0.5  -              -       -
      mu*: the mean size of a parameter's effects; sigma: how much they vary from place to place
      an effect is the change of the objective divided by the length of the step; the whole range of a parameter has length 1
      ±: intervals of 95 %; where they overlap the order is open, and rank says which places are possible
      remark: too few effects for a rank, of which 8 are needed: T2 (0)
      failed: 3 of 200 evaluations; an effect counts if both its ends have a value: 45 of 160 effects left out
        first: set 12: segment.find[12]: the program exited with code 3
        all: `headwater runs show 20261116-0830-1b25`; when their cause is gone, the same command runs them again

    tasks: 5,120 asked for, 2,857 differ, 1,898 executed, 953 cut off by content, 0 remembered, 3 failed, 3 not run because of that; sharing saved 65 % of the processor time (about 48.7 s)
    on 2 cores; equal tasks are shared, also those that turn out to be equal
    ");
}

#[test]
fn a_stopped_study_says_how_far_it_came_and_claims_no_saving() {
    assert_snapshot!(said(&cases::stopped(), Some(80)), @"
    study nuclei-moat: 80 of 200 evaluations of 4 parameters, 0 failed, 14.2 s

    MOAT, 40 random trajectories, 20 levels
      dice: from 0.500 to 0.750, 0.625 on average
      not all: 80 of 200 evaluations
      rank  parameter  range              mu*             sigma   mu
       1-2  G2         2 to 40 by 2       0.412  ± 0.050  0.510    0.0200   ████████
       1-2  G1         5 to 80 by 5       0.310  ± 0.060  0.250   -0.300    ██████
         3  T2         2.5 to 7.5 by 0.5  0.0231 ± 0.012  0.0310   0.00120  ▌
         4  ReconConn  4, 8               0      ± 0      0        0
      mu*: the mean size of a parameter's effects; sigma: how much they vary from place to place
      an effect is the change of the objective divided by the length of the step; the whole range of a parameter has length 1
      ±: intervals of 95 %; where they overlap the order is open, and rank says which places are possible

    tasks: 5,120 asked for, 2,857 differ, 1,300 executed, 357 cut off by content, 0 remembered, 1,200 not reached
    on 2 cores; equal tasks are shared, also those that turn out to be equal
    stopped before it was done: the same command continues it
    ");
}

#[test]
fn a_narrow_terminal_has_a_narrow_table() {
    assert_snapshot!(said(&cases::moat(), Some(40)), @"
    study nuclei-moat: 200 evaluations of 4 parameters, 0 failed, 14.2 s

    MOAT, 40 random trajectories, 20 levels
      dice: from 0.500 to 0.750, 0.625 on average
      rank  parameter  mu*
       1-2  G2         0.412  ± 0.050
       1-2  G1         0.310  ± 0.060
         3  T2         0.0231 ± 0.012
         4  ReconConn  0      ± 0
      mu*: the mean size of a parameter's effects; sigma: how much they vary from place to place
      an effect is the change of the objective divided by the length of the step; the whole range of a parameter has length 1
      ±: intervals of 95 %; where they overlap the order is open, and rank says which places are possible

    tasks: 5,120 asked for, 2,857 differ, 1,904 executed, 953 cut off by content, 0 remembered; sharing saved 65 % of the processor time (about 48.7 s)
    on 2 cores; equal tasks are shared, also those that turn out to be equal
    ");
}

#[test]
fn no_row_of_a_table_is_wider_than_the_terminal() {
    for summary in [cases::moat(), cases::vbd(), cases::with_failures()] {
        for width in 1..120 {
            let lines = lines(&summary, Path::new("nowhere"), Some(width));
            let first = lines.iter().position(|line| line.starts_with("  rank"));
            let first = first.unwrap_or_else(|| {
                let cut = |line: &String| line.starts_with("  ") && line.ends_with('…');
                lines.iter().position(cut).expect("a table")
            });
            for row in &lines[first..first + summary.phases[0].parameters.len() + 1] {
                assert!(row.chars().count() <= width.max(3), "{width}: {row}");
            }
        }
    }
}

#[test]
fn without_a_terminal_there_is_room_for_everything() {
    let mut summary = cases::moat();
    summary.phases[0].parameters[2].range = "one, two, three, four, five, six, seven".to_owned();
    let text = said(&summary, None);
    assert!(text.contains("one, two, three, four, five…"), "{text}");
    assert!(text.contains(&"█".repeat(BAR.1)), "{text}");
}

#[test]
fn several_places_are_a_range() {
    assert_eq!(place_text(Some((2, 2))), "2");
    assert_eq!(place_text(Some((2, 4))), "2-4");
    assert_eq!(place_text(None), "-");
}

#[test]
fn what_is_in_doubt_is_in_the_notes_of_the_json() {
    let mut summary = cases::moat();
    summary.doubts = vec!["input `reference` is blank".to_owned()];
    summary.facts.notes = vec!["another".to_owned()];
    let object = crate::study::json::object(&summary);
    let expected = serde_json::json!(["input `reference` is blank", "another"]);
    assert_eq!(object["notes"], expected);
}

#[test]
fn without_intervals_no_order_is_claimed() {
    let bare = said_of(
        |phase| {
            let row = |mu_star| MoatRow {
                mu_star_conf: None,
                ..effects(0.1, mu_star, 0.0, 0.1)
            };
            phase.pooled = Indices::Moat([0.1, 0.2, 0.3, 0.4].map(row).to_vec());
        },
        &cases::moat(),
    );
    assert!(bare.contains("   -  T2"), "{bare}");
    assert!(
        bare.contains("no interval is known: the order is open"),
        "{bare}"
    );
    assert!(!bare.contains('±'), "{bare}");
}

#[test]
fn nothing_has_an_effect() {
    let flat = said_of(
        |phase| phase.pooled = Indices::Moat(vec![effects(0.0, 0.0, 0.0, 0.0); 4]),
        &cases::moat(),
    );
    assert!(flat.contains("\nno parameter has an effect"), "{flat}");
    assert!(flat.contains(" 1-4  G1"), "{flat}");
    let constant = said_of(
        |phase| {
            if let Indices::Vbd(found) = &mut phase.pooled {
                found.constant = true;
            }
        },
        &cases::vbd(),
    );
    assert!(
        constant.contains("the objective has the same value in all evaluations"),
        "{constant}"
    );
    assert!(!constant.contains("rank"), "{constant}");
}

#[test]
fn own_sets_have_no_indices() {
    let own = said_of(
        |phase| (phase.kind, phase.pooled) = (PhaseKind::Table, Indices::None),
        &cases::moat(),
    );
    assert_snapshot!(own, @"
    dice: from 0.500 to 0.750, 0.625 on average
    the parameter sets come from your own list, not from a design: there are no sensitivity indices
    ");
}

#[test]
fn steps_that_went_nowhere_are_told() {
    let stuck = said_of(
        |phase| {
            phase.parameters[2].stuck = 17;
            phase.step = EffectStep::Nominal;
        },
        &cases::moat(),
    );
    let line =
        "steps that landed on the value they began at, and count as effects of 0: ReconConn 17";
    assert!(stuck.contains(line), "{stuck}");
    assert!(stuck.contains(NOMINAL_EFFECT), "{stuck}");
    let change = |phase: &mut PhaseSummary, place: usize, used: usize| {
        if let Indices::Moat(rows) = &mut phase.pooled {
            rows[place].no_step = 40 - used;
            rows[place].used = used;
            if used == 0 {
                rows[place].mu_star = None;
                rows[place].mu_star_conf = None;
            }
        }
    };
    let stuck = said_of(
        |phase| {
            change(phase, 2, 0);
            change(phase, 3, 23);
        },
        &cases::moat(),
    );
    for line in [
        "\nsteps of no length, which have no effect: ReconConn 40, T2 17",
        "\nReconConn has no effects: no step has a length",
    ] {
        assert!(stuck.contains(line), "{stuck}");
    }
}

#[test]
fn words_have_no_sign() {
    let words = said_of(
        |phase| {
            phase.parameters[2].unordered = true;
            if let Indices::Moat(rows) = &mut phase.pooled {
                rows[2].mu = None;
            }
        },
        &cases::moat(),
    );
    assert!(words.contains(UNORDERED_EFFECT), "{words}");
    let row = words.lines().find(|line| line.contains("ReconConn"));
    assert!(
        row.is_some_and(|row| row.trim_end().ends_with('-')),
        "{words}"
    );
}

/// The second of three tiles failed altogether, of the third so much that nothing is left.
#[test]
fn items_without_an_answer_are_named_and_left_out() {
    let summary = cases::failed_items();
    let text = said(&summary, None);
    for line in [
        "these are the indices of 1 of 3 items together; ± does not say how much other items would change them",
        "by item: G2 comes first on the only item that has indices; all are in results.json",
        "item 1 (tile tile1.png) failed: none of its 200 evaluations has a value; it is left out",
        "item 2 (tile tile2.png) failed: 199 of its 200 evaluations have no value, and no index is left; it is left out",
    ] {
        assert!(text.contains(&format!("\n  {line}\n")), "{line}\n{text}");
    }
    assert!(!text.contains("no parameter has an effect"), "{text}");
}

#[test]
fn pairs_that_clearly_do_something_together() {
    let text = said(&cases::vbd_with_pairs(), None);
    let line = "S2, what two do together beyond their own: G1 x G2 0.120 ± 0.031 (3 pairs in results.json)";
    assert!(text.contains(line), "{text}");
    let unclear = said_of(
        |phase| {
            if let Indices::Vbd(found) = &mut phase.pooled {
                found.pairs.remove(0);
            }
        },
        &cases::vbd_with_pairs(),
    );
    assert!(
        unclear.contains("of none is the interval clear of 0 (2 pairs"),
        "{unclear}"
    );
}

#[test]
fn base_points_are_left_out_by_their_own_rule() {
    let text = said_of(
        |phase| {
            phase.values[0][7] = None;
            phase.failed.push(headwater::study::FailedEvaluation {
                set: 7,
                item: 0,
                why: "the value is not a number".to_owned(),
            });
            if let Indices::Vbd(found) = &mut phase.pooled {
                (found.used, found.lost) = (63, 1);
            }
        },
        &cases::vbd(),
    );
    let line = "failed: 1 of 320 evaluations; a base point counts if all its rows have a value: \
                1 of 64 base points left out\n  first: set 7: the value is not a number\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_failure_of_one_of_several_items_names_it() {
    let text = said_of(
        |phase| {
            phase.values[1][3] = None;
            phase.failed.push(headwater::study::FailedEvaluation {
                set: 3,
                item: 1,
                why: format!("segment.find[3-1]: {}", "long ".repeat(50)),
            });
        },
        &cases::two_items(),
    );
    let line = text.lines().find(|line| line.contains("first:"));
    let line = line.expect("the first failure");
    assert!(
        line.starts_with("  first: set 3, item 1 (tile tile1.png): segment.find[3-1]: long"),
        "{line}"
    );
    assert_eq!(
        line.chars().count(),
        98,
        "as wide as the terminal, less the margin"
    );
}

#[test]
fn stop_rules() {
    let rule = |ci, reached, held| StopRule { ci, reached, held };
    let text = |phase: PhaseSummary, groups, rule: StopRule| {
        let phase = PhaseSummary { groups, ..phase };
        stop_rule(&phase, &rule)
    };
    let moat = cases::moat_phase;
    let vbd = cases::vbd_phase;
    let told = [
        text(moat(), 20, rule(0.05, Some(0.0432), true)),
        text(moat(), 40, rule(0.05, Some(0.081), false)),
        text(vbd(), 64, rule(0.1, Some(0.09), false)),
        text(vbd(), 32, rule(0.1, Some(0.2), false)),
        text(vbd(), 64, rule(0.1, None, false)),
    ];
    assert_snapshot!(told.join("\n"), @"
    until ci 0.05: ended by it after 20 of 40 trajectories; the widest interval is ± 0.0432 of the largest mu*
    until ci 0.05: not reached with all 40 trajectories; the widest interval is ± 0.0810 of the largest mu*
    until ci 0.1: reached with all 64 base points; the widest interval is ± 0.0900
    until ci 0.1: not reached with 32 of 64 base points; the widest interval is ± 0.200
    until ci 0.1: not reached with all 64 base points; how wide the widest interval is cannot be said
    ");
}

#[test]
fn few_trajectories_have_no_ranks_and_end_nothing() {
    let few = said_of(
        |phase| {
            if let Indices::Moat(rows) = &mut phase.pooled {
                rows.iter_mut().for_each(|row| row.steps = Some(4));
            }
            phase.groups = 4;
            phase.rule = Some(StopRule {
                ci: 0.5,
                reached: Some(0.15),
                held: false,
            });
        },
        &cases::moat(),
    );
    assert_snapshot!(few, @"
    dice: from 0.500 to 0.750, 0.625 on average
    rank  parameter  range              mu*             sigma   mu
       -  G2         2 to 40 by 2       0.412  ± 0.050  0.510    0.0200   ████████████████████████
       -  G1         5 to 80 by 5       0.310  ± 0.060  0.250   -0.300    ██████████████████
       -  T2         2.5 to 7.5 by 0.5  0.0231 ± 0.012  0.0310   0.00120  █▍
       -  ReconConn  4, 8               0      ± 0      0        0
    mu*: the mean size of a parameter's effects; sigma: how much they vary from place to place
    an effect is the change of the objective divided by the length of the step; the whole range of a parameter has length 1
    ±: intervals of 95 %; the order is that of the sizes
    remark: too few for ranks: 4 trajectories, and 8 are needed
    until ci 0.5: not asked with as few as 4 of 40 trajectories; the widest interval is ± 0.150 of the largest mu*
    ");
}

#[test]
fn the_best_and_the_worst_set_are_told() {
    let mut summary = cases::moat();
    let extreme = |set, value, items| Extreme {
        set,
        value,
        items,
        parameters: vec![
            ("G1".to_owned(), FixedValue::Int(40)),
            ("T1".to_owned(), FixedValue::Float(4.353_114_122_248)),
            ("mode".to_owned(), FixedValue::Text("fast".to_owned())),
        ],
    };
    summary.extremes = Some(Extremes {
        best: extreme(12, 0.75, 1),
        worst: extreme(7, 0.5, 1),
    });
    assert_eq!(
        extremes(&summary),
        [
            "best   dice 0.750, set 12: G1 = 40, T1 = 4.35311, mode = fast",
            "worst  dice 0.500, set 7: G1 = 40, T1 = 4.35311, mode = fast",
        ]
    );
    let object = crate::study::json::object(&summary);
    assert_eq!(
        object["best"],
        serde_json::json!({
            "set": 12, "value": 0.75, "items": 1,
            "parameters": {"G1": 40, "T1": 4.353_114_122_248, "mode": "fast"},
        })
    );
    assert_eq!(object["worst"]["set"], 7);
    // Over several items it is a mean.
    let mut several = cases::two_items();
    several.extremes = Some(Extremes {
        best: extreme(12, 0.75, 2),
        worst: extreme(7, 0.5, 1),
    });
    let told = extremes(&several);
    assert!(told[0].starts_with("best   dice 0.750, the mean over 2 items, set 12: "));
    assert!(told[1].starts_with("worst  dice 0.500, the mean over 1 item, set 7: "));
    // Where all are the same none is the best.
    several.extremes = Some(Extremes {
        best: extreme(0, 0.5, 2),
        worst: extreme(0, 0.5, 2),
    });
    assert!(extremes(&several).is_empty());
}

#[test]
fn a_rule_that_ended_a_phase_makes_it_whole() {
    let mut summary = cases::stopped();
    summary.facts.stopped = false;
    let left = said(&summary, None);
    assert!(
        left.contains("\n120 evaluations not made: the same"),
        "{left}"
    );
    summary.phases[0].rule = Some(StopRule {
        ci: 0.05,
        reached: Some(0.04),
        held: true,
    });
    let text = said(&summary, None);
    assert!(
        text.starts_with("study nuclei-moat: 80 evaluations of 4"),
        "{text}"
    );
    assert!(
        !text.contains("not made") && !text.contains("not all"),
        "{text}"
    );
}

#[test]
fn what_is_saved_is_told_as_far_as_it_is_known() {
    let saved = |change: fn(&mut StudyFacts)| {
        let mut facts = cases::moat().facts;
        change(&mut facts);
        saving(&facts)
    };
    assert_eq!(
        saved(|_| ()),
        "; sharing saved 65 % of the processor time (about 48.7 s)"
    );
    assert_eq!(
        saved(|facts| facts.tasks[0].saved_seconds = None),
        "; sharing saved 63 % of the tasks"
    );
    assert_eq!(
        saved(|facts| {
            for task in &mut facts.tasks {
                task.saved_seconds = task.saved_seconds.map(|saved| saved + task.cpu_seconds);
                (task.tally.executed, task.cpu_seconds) = (0, 0.0);
                (task.tally.cut_off, task.tally.reused) = (0, task.tally.tasks);
            }
        }),
        "; sharing and remembering saved 100 % of the processor time (about 1 min 14 s)"
    );
    assert_eq!(
        saved(|facts| {
            facts.tasks.truncate(1);
            facts.tasks[0].tally = Tally::default();
            facts.tasks[0].tally.count(Outcome::Executed);
            facts.tasks[0].cpu_seconds = 0.01;
            facts.tasks[0].saved_seconds = Some(25.59);
        }),
        "; sharing saved over 99 % of the processor time (about 25.6 s)"
    );
    assert_eq!(
        saved(|facts| facts
            .tasks
            .iter_mut()
            .for_each(|task| task.tally.executed = task.planned)),
        ""
    );
}

#[test]
fn work_that_was_done_twice_is_told() {
    let mut facts = cases::moat().facts;
    facts.recomputed = 12;
    let text = work(&facts, 1).join("\n");
    assert!(text.contains("\n12 tasks run again, because"), "{text}");
}

#[test]
fn files_are_named_that_are_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("results.json"), "{}").expect("a file");
    fs::write(path("report.html"), "").expect("a file");
    let text = lines(&cases::with_failures(), folder.path(), None).join("\n");
    let there = format!(
        "\nreport   {}\nresults  {}",
        path("report.html").display(),
        path("results.json").display()
    );
    assert!(text.ends_with(&there), "{text}");
    let all = |text: &str| {
        text.lines()
            .find(|line| line.contains(" all: "))
            .map(str::to_owned)
    };
    let told = all(&text).expect("where failures are listed");
    assert!(told.contains("report.html; when"), "{told}");
    fs::write(path("failures.txt"), "").expect("a file");
    let text = lines(&cases::with_failures(), folder.path(), None).join("\n");
    let told = all(&text).expect("where failures are listed");
    assert!(told.contains("failures.txt; when"), "{told}");
}

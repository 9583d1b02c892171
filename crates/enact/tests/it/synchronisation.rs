//! Synchronised stages: all, named stages, groups, and how many may fail.

use headwater_enact::Options;
use headwater_graph::{Tolerance, Wait};

use crate::support::{Flow, Play, address, cores, index};

fn failing(names: &'static [&'static str]) -> Play {
    Play::default().fails(move |address, _| names.contains(&address))
}

#[test]
fn wait_all_gets_flat_lists_in_index_order() {
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 2)
        .stage("P(a, b) -> c")
        .iterate("cross(a, b)")
        .stage("M(c*, a*) -> m")
        .wait(Wait::All);
    // The later ones end first: the order is that of the index, not of arrival.
    let mut play = Play::default().seconds(|address, _| match address {
        "P[0-0]" => 9,
        "P[0-1]" => 7,
        _ => 1,
    });
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(
        ran.reads("M"),
        ["M <- a-all: ('a0' 'a1'); c-all: (P[0-0] P[0-1] P[1-0] P[1-1])"]
    );
    assert_eq!(ran.start("M"), 9);
    assert_eq!(ran.requested(), ["m[] = M"]);
}

#[test]
fn a_single_item_goes_to_a_plain_port() {
    let flow = Flow::new()
        .items("a", 2)
        .one("k")
        .stage("M(a*, k) -> m")
        .wait(Wait::All);
    assert_eq!(
        flow.run_plainly().reads("M"),
        ["M <- a-all: ('a0' 'a1'); k: 'k'"]
    );
    let flow = Flow::new().items("a", 2).stage("M(a) -> m").wait(Wait::All);
    let (message, hint) = flow.refusal();
    assert_eq!(
        message,
        "stage `M`: port `a` of task `M` takes one item, but `a` has 2"
    );
    assert_eq!(
        hint,
        "declare the port as a list to receive all items of `a`"
    );
}

/// The same data at a list port and at a plain port of one stage.
#[test]
fn one_item_as_a_list_and_as_itself() {
    let flow = Flow::new()
        .items("a", 1)
        .stage("M(a*, a) -> m")
        .wait(Wait::All);
    assert_eq!(
        flow.run_plainly().reads("M"),
        ["M <- a: 'a0'; a-all: ('a0')"]
    );
}

#[test]
fn waiting_for_nothing_gets_empty_lists() {
    let flow = Flow::new()
        .items("a", 0)
        .stage("P(a) -> b")
        .stage("M(b*) -> m")
        .wait(Wait::All);
    assert_eq!(flow.run_plainly().reads("M"), ["M <- b-all: ()"]);
}

/// `wait: [stages]` also waits for stages that give no data, with their ancestors.
#[test]
fn wait_for_named_stages_and_their_ancestors() {
    let flow = Flow::new()
        .items("a", 2)
        .stage("P(a) -> b")
        .stage("Q(a) -> c")
        .stage("R(c) -> d")
        .stage("M(b*) -> m")
        .wait(Wait::Stages(vec!["P".into(), "R".into()]))
        .output("m");
    let mut play =
        Play::default().seconds(|address, _| if address.starts_with('Q') { 5 } else { 1 });
    let ran = flow.run(&Options::default(), &mut play);
    // R feeds no output, but somebody waits for it, so it runs.
    assert_eq!(ran.start("M"), 6);
    assert_eq!(
        ran.ran(),
        ["M", "P[0]", "P[1]", "Q[0]", "Q[1]", "R[0]", "R[1]"]
    );
}

fn patients() -> Flow {
    Flow::new()
        .table(
            &["patient", "scan"],
            &[
                &["ann", "s0"],
                &["bob", "s1"],
                &["ann", "s2"],
                &["cid", "s3"],
                &["bob", "s4"],
            ],
        )
        .stage("P(scan) -> clean")
}

#[test]
fn wait_per_gives_one_call_per_group() {
    let flow = patients()
        .stage("M(clean*) -> mean")
        .wait(Wait::Per("patient".into()));
    let ran = flow.run_plainly();
    assert_eq!(
        ran.reads("M"),
        [
            "M[0] <- clean-all: (P[0] P[2])",
            "M[1] <- clean-all: (P[1] P[4])",
            "M[2] <- clean-all: (P[3])"
        ]
    );
}

/// A list that never came fails the group that it belongs to, and no other.
#[test]
fn a_failed_list_fails_its_own_group_only() {
    let flow = patients()
        .stage("S(clean) -> list*")
        .stage("Q(list) -> part")
        .stage("M(part*) -> mean")
        .wait(Wait::Per("patient".into()));
    let mut play = Play::default().fails(|address, _| address == "S[1]");
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(
        ran.reads("M"),
        [
            "M[0] <- part-all: (Q[0-0] Q[0-1] Q[2-0] Q[2-1])",
            "M[2] <- part-all: (Q[3-0] Q[3-1])"
        ]
    );
    assert_eq!(
        ran.enactment.errors()[0].to_string(),
        "task `M.M[1]`: 1 of 3 items of `part` failed, and 0 may; missing are 1 that were never made"
    );
}

/// A group does not wait for the others.
#[test]
fn a_group_fires_when_it_is_complete() {
    let flow = patients()
        .stage("M(clean*) -> mean")
        .wait(Wait::Per("patient".into()));
    let mut play = Play::default().seconds(|address, _| if address == "P[4]" { 9 } else { 1 });
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(
        (ran.start("M[0]"), ran.start("M[1]"), ran.start("M[2]")),
        (1, 9, 1)
    );
}

#[test]
fn group_results_join_back_to_the_items() {
    let flow = patients()
        .stage("M(clean*) -> mean")
        .wait(Wait::Per("patient".into()))
        .stage("Q(clean, mean) -> difference");
    let ran = flow.run_plainly();
    assert_eq!(
        ran.reads("Q"),
        [
            "Q[0] <- clean: P[0]; mean: M[0]",
            "Q[1] <- clean: P[1]; mean: M[1]",
            "Q[2] <- clean: P[2]; mean: M[0]",
            "Q[3] <- clean: P[3]; mean: M[2]",
            "Q[4] <- clean: P[4]; mean: M[1]"
        ]
    );
}

#[test]
fn groups_of_groups_keep_their_number() {
    let flow = patients()
        .stage("M(clean*) -> mean")
        .wait(Wait::Per("patient".into()))
        .stage("N(mean*, clean*) -> report")
        .wait(Wait::Per("patient".into()));
    let reads = flow.run_plainly().reads("N");
    assert_eq!(reads[1], "N[1] <- clean-all: (P[1] P[4]); mean-all: (M[1])");
}

fn cohorts(last: &'static str) -> Flow {
    Flow::new()
        .table(
            &["cohort", "patient", "scan"],
            &[
                &["x", "ann", "s0"],
                &["x", "ann", "s1"],
                &["y", "bob", "s2"],
                &["x", "cid", "s3"],
                &[last, "bob", "s4"],
            ],
        )
        .stage("P(scan) -> clean")
        .stage("M(clean*) -> mean")
        .wait(Wait::Per("patient".into()))
        .stage("N(mean*) -> total")
        .wait(Wait::Per("cohort".into()))
}

/// Lanes, then samples, then cohorts: each group once, however many rows it has.
#[test]
fn groups_are_grouped_where_each_lies_in_one() {
    assert_eq!(
        cohorts("y").run_plainly().reads("N"),
        ["N[0] <- mean-all: (M[0] M[2])", "N[1] <- mean-all: (M[1])"]
    );
}

#[test]
fn a_group_in_several_groups_is_an_error_that_names_two_rows() {
    let (message, hint) = cohorts("x").refusal();
    assert_eq!(
        message,
        "stage `N` waits per `cohort`, but `mean` was made per `patient`, and one group of `patient` lies in \
         several of `cohort`: `patient[2]` and `patient[4]` are equal, `cohort[2]` and `cohort[4]` are not"
    );
    assert!(hint.contains("all rows of one `patient`"), "{hint}");
}

/// A group that failed is missing from the group that it lies in, and from no other.
#[test]
fn a_failed_group_is_missing_from_its_own_group_only() {
    let flow = cohorts("y").with(|stage| stage.tolerate = Some(Tolerance::Count(1)));
    let mut play = Play::default().fails(|address, _| address == "M[2]");
    let ran = flow.run(&Options::default(), &mut play);
    assert_eq!(
        ran.reads("N"),
        ["N[0] <- mean-all: (M[0])", "N[1] <- mean-all: (M[1])"]
    );
}

/// What was lost is told with the group that lost it, and whatever is made from the rest knows how much is missing.
#[test]
fn what_a_tolerant_stage_goes_on_without_is_told_and_counted() {
    let flow = patients()
        .stage("M(clean*) -> mean")
        .wait(Wait::Per("patient".into()))
        .with(|stage| stage.tolerate = Some(Tolerance::Count(2)))
        .stage("Q(mean) -> rounded")
        .stage("T(rounded*) -> total")
        .wait(Wait::All);
    let mut ran = flow.run(&Options::default(), &mut failing(&["P[2]", "P[3]"]));
    assert_eq!(
        ran.enactment.take_notes(),
        [
            "`M[0]` (`patient` is `ann`) goes on, but 1 of 2 items of `clean` failed and are left out: `clean[2]`",
            "`M[2]` (`patient` is `cid`) goes on with an empty list of `clean`: 1 of 1 failed"
        ]
    );
    let expander = ran.enactment.expander().unwrap();
    let missing = |data: &str, at: &[u32]| expander.origin(data, &index(at)).missing;
    assert_eq!(missing("clean", &[0]), 0);
    assert_eq!(missing("mean", &[0]), 1);
    assert_eq!(missing("mean", &[1]), 0);
    assert_eq!(missing("rounded", &[2]), 1);
    assert_eq!(missing("total", &[]), 2);
}

/// A row of a table gives its values to whatever comes from it; where several rows differ, they have none.
#[test]
fn the_values_behind_something_are_those_of_its_row() {
    let flow = patients()
        .one("k")
        .stage("M(clean*, k) -> mean")
        .wait(Wait::Per("patient".into()));
    let ran = flow.run_plainly();
    let expander = ran.enactment.expander().unwrap();
    let values = |data: &str, at: &[u32]| {
        let inputs = expander.ancestry(data, &index(at));
        let values = expander.values(ran.enactment.graph(), &inputs);
        values
            .into_iter()
            .map(|(input, value)| format!("{input}={}", value.as_scalar().unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(values("clean", &[4]), ["patient=bob", "scan=s4"]);
    assert_eq!(values("mean", &[0]), ["patient=ann", "k=k"]);
    assert_eq!(values("mean", &[2]), ["patient=cid", "scan=s3", "k=k"]);
    let enactment = &ran.enactment;
    let mut tasks = enactment.graph().ids();
    let task = tasks
        .find(|task| address(enactment, *task) == "P[3]")
        .unwrap();
    let inputs = ran.enactment.origin(task).unwrap().inputs;
    assert_eq!(inputs, [("scan".into(), index(&[3]))]);
}

/// All items of a group have the same value of what the stage waits per: a port for one item gets that.
#[test]
fn what_a_stage_waits_per_is_one_item_of_each_group() {
    let flow = patients()
        .stage("M(clean*, patient) -> mean")
        .wait(Wait::Per("patient".into()));
    assert_eq!(
        flow.run_plainly().reads("M"),
        [
            "M[0] <- clean-all: (P[0] P[2]); patient: 'ann'",
            "M[1] <- clean-all: (P[1] P[4]); patient: 'bob'",
            "M[2] <- clean-all: (P[3]); patient: 'cid'"
        ]
    );
}

#[test]
fn per_something_that_the_data_does_not_come_from_is_an_error() {
    let flow = patients()
        .items("other", 2)
        .stage("O(other) -> o")
        .stage("M(o*) -> mean")
        .wait(Wait::Per("patient".into()));
    let (message, hint) = flow.refusal();
    assert_eq!(
        message,
        "stage `M` waits per `patient`, but `o` does not come from it"
    );
    assert_eq!(hint, "name an input that all data of the stage comes from");
}

#[test]
fn per_an_input_that_is_there_once_everything_is_in_one_group() {
    let flow = Flow::new()
        .one("slide")
        .stage("C(slide) -> parts*")
        .stage("P(parts) -> b")
        .stage("M(b*) -> m")
        .wait(Wait::Per("slide".into()));
    assert_eq!(
        flow.run_plainly().reads("M"),
        ["M[0] <- b-all: (P[0] P[1])"]
    );
}

#[test]
fn per_gives_every_group_what_is_there_once() {
    let flow = patients()
        .one("k")
        .stage("M(clean*, k) -> mean")
        .wait(Wait::Per("patient".into()));
    assert_eq!(
        flow.run_plainly().reads("M")[2],
        "M[2] <- clean-all: (P[3]); k: 'k'"
    );
}

fn tolerant(count: usize, tolerance: Option<Tolerance>) -> Flow {
    Flow::new()
        .items("a", count)
        .stage("P(a) -> b")
        .stage("M(b*) -> m")
        .wait(Wait::All)
        .with(|stage| stage.tolerate = tolerance)
}

#[test]
fn without_tolerance_one_failure_blocks_the_synchronisation() {
    let ran = tolerant(3, None).run(&Options::default(), &mut failing(&["P[1]"]));
    let counts = ran.enactment.counts();
    assert_eq!((counts.executed, counts.failed, counts.blocked), (2, 1, 1));
    // It could not tell the failed items apart if it had to say so itself: ask for its failed inputs.
    let graph = ran.enactment.graph();
    let sync = graph.ids().last().unwrap();
    let failed = ran.enactment.failed_inputs(sync);
    assert_eq!(failed.len(), 1);
    assert_eq!(ran.enactment.coordinator().cause(sync), Some(failed[0]));
}

#[test]
fn tolerate_a_number() {
    let flow = tolerant(4, Some(Tolerance::Count(1)));
    let ran = flow.run(&Options::default(), &mut failing(&["P[1]"]));
    assert_eq!(ran.reads("M"), ["M <- b-all: (P[0] P[2] P[3])"]);
    assert!(ran.enactment.errors().is_empty());
    assert_eq!(ran.start("M"), 1);
    let ran = flow.run(&Options::default(), &mut failing(&["P[1]", "P[3]"]));
    assert_eq!(ran.reads("M").len(), 0);
    let error = &ran.enactment.errors()[0];
    assert_eq!(
        error.to_string(),
        "task `M.M`: 2 of 4 items of `b` failed, and 1 may; missing are `b[1]`, `b[3]`"
    );
    assert_eq!(&**error.stage().unwrap(), "M");
    assert!(error.hint().unwrap().contains("`tolerate`"));
}

#[test]
fn tolerate_a_percentage_98_of_100() {
    let play = |bad: u32| {
        Play::default()
            .fails(move |address, _| (0..bad).any(|item| address == format!("P[{}]", item * 7)))
    };
    let flow = tolerant(100, Some(Tolerance::Percent(2.0)));
    let ran = flow.run(&Options::default(), &mut play(2));
    assert_eq!(ran.enactment.counts().executed, 99);
    let reads = ran.reads("M");
    assert_eq!(reads[0].matches("P[").count(), 98);
    let ran = flow.run(&Options::default(), &mut play(7));
    let error = ran.enactment.errors()[0].to_string();
    assert_eq!(
        error,
        "task `M.M`: 7 of 100 items of `b` failed, and 2% may; missing are `b[0]`, `b[7]`, `b[14]`, `b[21]`, `b[28]`, 2 more"
    );
}

/// Without a store the items must not be computed again when the stage fires.
#[test]
fn a_tolerant_stage_keeps_what_it_will_read() {
    let flow = tolerant(6, Some(Tolerance::Count(1)));
    let mut play = Play::default()
        .fails(|address, _| address == "P[5]")
        .memory(|_, _| 10)
        .seconds(|address, _| address.len() as u64);
    let ran = flow.run(&cores(2), &mut play);
    let counts = ran.enactment.counts();
    assert_eq!(
        (
            counts.planned,
            counts.executed,
            counts.failed,
            counts.recomputed
        ),
        (7, 6, 1, 0)
    );
    assert_eq!(ran.enactment.coordinator().memory_held(), 0);
}

#[test]
fn what_an_intolerant_error_leaves_behind_goes_on() {
    let flow = tolerant(2, Some(Tolerance::Count(0)))
        .stage("Q(m) -> q")
        .stage("R(b) -> r");
    let ran = flow.run(&Options::default(), &mut failing(&["P[0]"]));
    assert_eq!(ran.ran(), ["P[0]", "P[1]", "R[1]"]);
    assert_eq!(ran.enactment.errors().len(), 1);
    assert!(ran.enactment.expander().unwrap().is_complete());
}

#[test]
fn tolerance_per_group() {
    let flow = patients()
        .stage("M(clean*) -> mean")
        .wait(Wait::Per("patient".into()))
        .with(|stage| stage.tolerate = Some(Tolerance::Count(1)))
        .stage("Q(mean) -> q");
    let ran = flow.run(&Options::default(), &mut failing(&["P[1]"]));
    assert_eq!(ran.reads("M")[1], "M[1] <- clean-all: (P[4])");
    let ran = flow.run(&Options::default(), &mut failing(&["P[1]", "P[4]"]));
    assert_eq!(
        ran.reads("M"),
        [
            "M[0] <- clean-all: (P[0] P[2])",
            "M[2] <- clean-all: (P[3])"
        ]
    );
    assert_eq!(ran.reads("Q").len(), 2);
}

#[test]
fn ancestry_of_a_synchronisation_is_what_arrived() {
    let flow = tolerant(3, Some(Tolerance::Count(1)));
    let ran = flow.run(&Options::default(), &mut failing(&["P[1]"]));
    let found = ran.enactment.expander().unwrap().ancestry("m", &index(&[]));
    let found: Vec<String> = found
        .iter()
        .map(|(name, path)| format!("{name}[{path}]"))
        .collect();
    assert_eq!(found, ["a[0]", "a[2]"]);
}

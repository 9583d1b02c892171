//! Iteration: cross, dot, pairing by ancestry, broadcast, absent items, and where things come from.

use headwater_enact::Options;
use headwater_graph::{Scalar, ScalarType};
use proptest::prelude::*;

use crate::support::{Flow, Play, cores, index};

fn check_reads(flow: &Flow, stage: &str, expected: &[&str]) {
    assert_eq!(flow.run_plainly().reads(stage), expected);
}

fn check_refusal(flow: &Flow, message: &str, hint: &str) {
    let (found, found_hint) = flow.refusal();
    assert_eq!((found.as_str(), found_hint.as_str()), (message, hint));
}

#[test]
fn dot_pairs_equal_indices() {
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 2)
        .stage("P(a, b) -> c")
        .iterate("dot(a, b)");
    check_reads(
        &flow,
        "P",
        &["P[0] <- a: 'a0'; b: 'b0'", "P[1] <- a: 'a1'; b: 'b1'"],
    );
}

#[test]
fn cross_makes_all_combinations_and_concatenates_paths() {
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 3)
        .stage("P(a, b) -> c")
        .iterate("cross(b, a)");
    check_reads(
        &flow,
        "P",
        &[
            "P[0-0] <- a: 'a0'; b: 'b0'",
            "P[0-1] <- a: 'a1'; b: 'b0'",
            "P[1-0] <- a: 'a0'; b: 'b1'",
            "P[1-1] <- a: 'a1'; b: 'b1'",
            "P[2-0] <- a: 'a0'; b: 'b2'",
            "P[2-1] <- a: 'a1'; b: 'b2'",
        ],
    );
}

#[test]
fn cross_and_dot_nest() {
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 2)
        .items("c", 2)
        .stage("P(a, b, c) -> d")
        .iterate("cross(a, dot(b, c))");
    check_reads(
        &flow,
        "P",
        &[
            "P[0-0] <- a: 'a0'; b: 'b0'; c: 'c0'",
            "P[0-1] <- a: 'a0'; b: 'b1'; c: 'c1'",
            "P[1-0] <- a: 'a1'; b: 'b0'; c: 'c0'",
            "P[1-1] <- a: 'a1'; b: 'b1'; c: 'c1'",
        ],
    );
    let flow = Flow::new()
        .items("a", 1)
        .items("b", 2)
        .items("c", 2)
        .stage("P(a, b) -> ab")
        .iterate("cross(a, b)")
        .stage("Q(a, c) -> ac")
        .iterate("cross(a, c)")
        .stage("R(ab, ac) -> d")
        .iterate("dot(ab, ac)");
    let reads = flow.run_plainly().reads("R");
    assert_eq!(
        reads,
        [
            "R[0-0] <- ab: P[0-0]; ac: Q[0-0]",
            "R[0-1] <- ab: P[0-1]; ac: Q[0-1]"
        ]
    );
}

/// Three short lists, and more combinations than memory has room for; none of them is made.
#[test]
fn more_combinations_than_there_is_room_for_are_refused() {
    let flow = |iterate: &str| {
        Flow::new()
            .items("a", 1000)
            .items("b", 1000)
            .items("c", 1000)
            .stage("P(a, b, c) -> d")
            .iterate(iterate)
    };
    let hint = "`cross` makes all combinations of its parts; `dot` pairs them by position; or divide the data between \
                several runs, which share what is in the store";
    check_refusal(
        &flow("cross(a, b, c)"),
        "stage `P` would run 1000000000 times; at most 4194304 are possible",
        hint,
    );
    // The least that is too much: about 3 GB and no more would do.
    let least = Flow::new()
        .items("a", 5)
        .items("b", 838_861)
        .stage("P(a, b) -> d")
        .iterate("cross(a, b)");
    check_refusal(
        &least,
        "stage `P` would run 4194305 times; at most 4194304 are possible",
        hint,
    );
    let reads = flow("dot(a, b, c)").run_plainly().reads("P").len();
    assert_eq!(reads, 1000);
}

#[test]
fn a_cross_with_nothing_makes_nothing() {
    let flow = Flow::new()
        .items("a", 3)
        .items("b", 0)
        .stage("P(a, b) -> c")
        .iterate("cross(a, b)");
    let ran = flow.run_plainly();
    assert_eq!(
        (ran.enactment.counts().tasks, ran.requested().len()),
        (0, 0)
    );
}

#[test]
fn names_left_out_pair_by_common_ancestry() {
    let flow = Flow::new()
        .items("a", 2)
        .stage("P(a) -> b")
        .stage("Q(a) -> c")
        .stage("R(a, b, c) -> d");
    check_reads(
        &flow,
        "R",
        &[
            "R[0] <- a: 'a0'; b: P[0]; c: Q[0]",
            "R[1] <- a: 'a1'; b: P[1]; c: Q[1]",
        ],
    );
}

/// What is left out attaches to what `iterate` makes, also where it counts only one of the sources.
#[test]
fn names_left_out_attach_to_a_cross() {
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 2)
        .stage("P(b) -> c")
        .stage("Q(a, b, c) -> d")
        .iterate("cross(a, b)");
    check_reads(
        &flow,
        "Q",
        &[
            "Q[0-0] <- a: 'a0'; b: 'b0'; c: P[0]",
            "Q[0-1] <- a: 'a0'; b: 'b1'; c: P[1]",
            "Q[1-0] <- a: 'a1'; b: 'b0'; c: P[0]",
            "Q[1-1] <- a: 'a1'; b: 'b1'; c: P[1]",
        ],
    );
}

#[test]
fn a_single_item_is_broadcast() {
    let flow = Flow::new().items("a", 2).one("b").stage("P(a, b) -> c");
    check_reads(
        &flow,
        "P",
        &["P[0] <- a: 'a0'; b: 'b'", "P[1] <- a: 'a1'; b: 'b'"],
    );
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 1)
        .stage("P(a, b) -> c");
    check_reads(
        &flow,
        "P",
        &["P[0] <- a: 'a0'; b: 'b0'", "P[1] <- a: 'a1'; b: 'b0'"],
    );
    let flow = Flow::new().one("a").one("b").stage("P(a, b) -> c");
    check_reads(&flow, "P", &["P <- a: 'a'; b: 'b'"]);
}

#[test]
fn a_stage_without_inputs_runs_once() {
    let flow = Flow::new().stage("P() -> c").stage("Q(c) -> d");
    assert_eq!(flow.run_plainly().story(), ["P 0-1", "Q 1-2"]);
}

#[test]
fn columns_of_one_table_pair() {
    let flow = Flow::new()
        .table(&["a", "b"], &[&["x", "1"], &["y", "2"]])
        .stage("P(a, b) -> c");
    check_reads(
        &flow,
        "P",
        &["P[0] <- a: 'x'; b: '1'", "P[1] <- a: 'y'; b: '2'"],
    );
}

#[test]
fn absent_cells_leave_out_what_needs_them() {
    let flow = Flow::new()
        .table(&["a", "b"], &[&["x", "1"], &["y", ""], &["z", "3"]])
        .stage("P(a, b) -> c")
        .stage("Q(a, b?) -> d")
        .stage("R(c, d) -> e");
    let ran = flow.run_plainly();
    assert_eq!(
        ran.reads("P"),
        ["P[0] <- a: 'x'; b: '1'", "P[2] <- a: 'z'; b: '3'"]
    );
    assert_eq!(
        ran.reads("Q"),
        [
            "Q[0] <- a: 'x'; b: '1'",
            "Q[1] <- a: 'y'",
            "Q[2] <- a: 'z'; b: '3'"
        ]
    );
    assert_eq!(
        ran.reads("R"),
        ["R[0] <- c: P[0]; d: Q[0]", "R[2] <- c: P[2]; d: Q[2]"]
    );
}

#[test]
fn an_absent_optional_input_leaves_out_what_needs_it() {
    let flow = Flow::new()
        .items("a", 1)
        .absent("b")
        .stage("P(a, b) -> c")
        .stage("Q(a, b?) -> d")
        .stage("R(c) -> e")
        .output("d")
        .output("e");
    let ran = flow.run_plainly();
    assert_eq!(ran.story(), ["Q[0] 0-1"]);
    assert_eq!(ran.requested(), ["d[0] = Q[0]"]);
    assert!(ran.enactment.expander().unwrap().is_complete());
}

/// The strategy speaks of an input that is not there: the rest of it counts.
#[test]
fn an_absent_input_drops_out_of_the_strategy() {
    let flow = Flow::new()
        .items("a", 2)
        .absent("b")
        .items("c", 2)
        .stage("P(a, b?, c) -> d")
        .iterate("cross(a, dot(b, c))");
    assert_eq!(flow.run_plainly().reads("P").len(), 4);
}

#[test]
fn unrelated_inputs_are_an_error_that_shows_the_two_lines() {
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 3)
        .stage("P(a, b) -> c");
    check_refusal(
        &flow,
        "stage `P` reads `a` and `b`, which have no common ancestor: it is not clear how their items pair",
        "write items that belong together in one row of the data file, under `rows:`; for all other items say how they are combined: `iterate: \"dot(a, b)\"` pairs them by position, `iterate: \"cross(a, b)\"` makes all combinations",
    );
}

#[test]
fn pairing_in_two_ways_is_an_error() {
    let flow = Flow::new()
        .items("a", 2)
        .stage("O(a) -> b")
        .stage("P(a, b) -> c")
        .iterate("cross(a, b)")
        .stage("Q(a, c) -> d");
    check_refusal(
        &flow,
        "stage `Q` reads `c` and `a`, which share an ancestor in more than one way",
        "say how: `iterate: \"dot(c, a)\"` pairs them by position, `iterate: \"cross(c, a)\"` makes all combinations",
    );
}

#[test]
fn unequal_index_sets_name_both_counts_and_the_first_unmatched() {
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 4)
        .stage("P(a, b) -> c")
        .iterate("dot(a, b)");
    check_refusal(
        &flow,
        "stage `P`: `a` has 2 items and `b` has 4; the first without a partner is [2] of `b`",
        "`dot` pairs by position and needs the same items on both sides; write items that belong together in one row of the data file, under `rows:`",
    );
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 2)
        .items("c", 2)
        .items("d", 3)
        .stage("P(a, b) -> x")
        .iterate("cross(a, b)")
        .stage("Q(c, d) -> y")
        .iterate("cross(c, d)")
        .stage("R(x, y) -> z")
        .iterate("dot(x, y)");
    check_refusal(
        &flow,
        "stage `R`: `x` has 4 items and `y` has 6; the first without a partner is [0-2] of `y`",
        "`dot` pairs by position and needs the same items on both sides; write items that belong together in one row of the data file, under `rows:`",
    );
}

#[test]
fn dot_over_different_depths_is_an_error() {
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 2)
        .items("c", 2)
        .stage("P(a, b, c) -> d")
        .iterate("dot(a, cross(b, c))");
    check_refusal(
        &flow,
        "stage `P`: `a` has index paths of 1 positions and `cross(b, c)` of 2; `dot` needs the same",
        "pair data of equal depth, or use `cross`",
    );
}

#[test]
fn a_missing_input_and_a_missing_parameter_say_how_to_give_them() {
    let mut flow = Flow::new().items("a", 1).stage("P(a) -> b");
    flow.data.columns.clear();
    check_refusal(
        &flow,
        "input `a` is not given",
        "give it in the file named by --inputs, under `inputs: {a: …}`",
    );
    let mut flow = Flow::new()
        .items("a", 1)
        .stage("P(a) -> b")
        .parameter("size", Scalar::Int(1));
    flow.parameters.clear();
    check_refusal(
        &flow,
        "parameter `size` has no default and no value was given",
        "give it with --set size=VALUE",
    );
}

#[test]
fn too_many_stages_are_a_clean_error() {
    let mut flow = Flow::new().items("a", 1).stage("P(a) -> b");
    flow.workflow.stages = vec![flow.workflow.stages[0].clone(); 65_535];
    let found = headwater_enact::Expander::new(
        &std::sync::Arc::new(flow.workflow.clone()),
        &flow.registry(),
        &flow.data,
        &flow.parameters,
    );
    assert_eq!(
        found.unwrap_err()[0].to_string(),
        "the workflow has 65535 stages; at most 65,534 are possible"
    );
}

#[test]
fn an_unchecked_cycle_is_a_clean_error() {
    let mut flow = Flow::new()
        .items("a", 1)
        .stage("P(a) -> b")
        .stage("Q(b) -> c");
    flow.workflow.stages[0].after = vec!["Q".into()];
    let workflow = std::sync::Arc::new(flow.workflow.clone());
    let found =
        headwater_enact::Expander::new(&workflow, &flow.registry(), &flow.data, &flow.parameters);
    assert_eq!(
        found.unwrap_err()[0].to_string(),
        "stage `P` waits for itself, by way of others"
    );
}

/// Equal computations are one task, whichever stage they stand in; it has the address of the first.
#[test]
fn equal_recipes_run_once() {
    let mut flow = Flow::new()
        .table(&["a", "b"], &[&["x", "1"], &["x", "2"]])
        .stage("P(a) -> c")
        .stage("Q(c, b) -> d");
    let ran = flow.run_plainly();
    assert_eq!(
        ran.reads("Q"),
        [
            "Q[0] <- c: P[0]; b: '1'".replace("c: P[0]; b: '1'", "b: '1'; c: P[0]"),
            "Q[1] <- b: '2'; c: P[0]".to_owned()
        ]
    );
    assert_eq!(ran.enactment.counts().executed, 3);
    // Both instances are there all the same.
    flow = flow.output("c").output("d");
    assert_eq!(
        flow.run_plainly().requested(),
        ["c[0] = P[0]", "c[1] = P[0]", "d[0] = Q[0]", "d[1] = Q[1]"]
    );
}

/// A default is hashed like a given value, an absent optional port is left out.
#[test]
fn defaults_and_absent_ports_follow_the_recipe_rules() {
    let recipe = |flow: &Flow| {
        let ran = flow.run_plainly();
        ran.enactment.graph().recipe(headwater_graph::TaskId(0))
    };
    let base = || Flow::new().items("a", 1).stage("P(a) -> b");
    let with_default = base().declare_parameter("size", ScalarType::Float, Some(Scalar::Int(3)));
    let given = base().parameter("size", Scalar::Float(3.0));
    assert_eq!(recipe(&with_default), recipe(&given));
    assert_ne!(recipe(&base()), recipe(&given));
    let optional = Flow::new().items("a", 1).absent("z").stage("P(a, z?) -> b");
    assert_eq!(recipe(&base()), recipe(&optional));
    let negative_zero = base().parameter("size", Scalar::Float(-0.0));
    assert_eq!(
        recipe(&negative_zero),
        recipe(&base().parameter("size", Scalar::Float(0.0)))
    );
}

#[test]
fn a_real_for_an_int_is_refused_unless_it_is_truncated() {
    let flow = |truncate: bool| {
        let flow = Flow::new()
            .items("a", 1)
            .stage("P(a) -> b")
            .parameter("size", Scalar::Float(2.7));
        flow.operation(|signature| {
            signature.parameters[0].scalar_type = ScalarType::Int;
            signature.parameters[0].truncate = truncate;
        })
    };
    let truncated = flow(true).run_plainly();
    assert_eq!(
        truncated
            .enactment
            .graph()
            .parameters(headwater_graph::TaskId(0)),
        [Scalar::Int(2)]
    );
    let mut refused = flow(false);
    // `check` would have said so; the expander does not rely on it.
    refused.workflow.parameters[0].scalar_type = ScalarType::Int;
    check_refusal(&refused, "task `P.P`: parameter `size` is not int", "");
}

#[test]
fn ancestry_goes_back_through_crosses_and_chains() {
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 2)
        .one("k")
        .stage("O(b) -> bb")
        .stage("P(a, bb, k) -> c")
        .iterate("cross(a, bb)")
        .stage("Q(c) -> d");
    let ran = flow.run_plainly();
    let ancestry = |data: &str, at: &[u32]| {
        let found = ran.enactment.expander().unwrap().ancestry(data, &index(at));
        found
            .iter()
            .map(|(name, path)| format!("{name}[{path}]"))
            .collect::<Vec<_>>()
    };
    assert_eq!(ancestry("d", &[1, 0]), ["a[1]", "b[0]", "k[]"]);
    assert_eq!(ancestry("bb", &[1]), ["b[1]"]);
    assert_eq!(ancestry("a", &[1]), ["a[1]"]);
    assert_eq!(ancestry("d", &[9, 9]), Vec::<String>::new());
    assert_eq!(ancestry("nothing", &[]), Vec::<String>::new());
}

#[test]
fn ancestry_goes_back_through_lists() {
    let flow = Flow::new()
        .items("a", 2)
        .items("b", 1)
        .stage("P(a) -> list*")
        .stage("Q(list) -> c")
        .stage("R(c, b) -> d")
        .iterate("cross(c, b)");
    let ran = flow.run_plainly();
    let found = ran
        .enactment
        .expander()
        .unwrap()
        .ancestry("d", &index(&[1, 0, 0]));
    let found: Vec<String> = found
        .iter()
        .map(|(name, path)| format!("{name}[{path}]"))
        .collect();
    assert_eq!(found, ["a[1]", "b[0]"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The paper's figure 12: a dot product of two cross products pairs the right items, however long
    /// everything takes and in whatever order it ends.
    #[test]
    fn dot_over_two_crosses_always_pairs_the_right_items(
        n in 1usize..5,
        m in 1usize..5,
        delays in proptest::collection::vec(0u64..20, 64),
        workers in 1u64..5,
    ) {
        let flow = Flow::new()
            .items("a", n)
            .items("b", m)
            .stage("A(a) -> x")
            .stage("B(b) -> y")
            .stage("P(x, y) -> p")
            .iterate("cross(x, y)")
            .stage("Q(x, y) -> q")
            .iterate("cross(x, y)")
            .stage("R(p, q) -> r")
            .iterate("dot(p, q)");
        let mut turn = 0;
        let mut play = Play::default().seconds(move |_, _| {
            turn += 1;
            delays[turn % delays.len()]
        });
        let ran = flow.run(&cores(workers), &mut play);
        let mut expected: Vec<String> = (0..n)
            .flat_map(|i| (0..m).map(move |j| format!("R[{i}-{j}] <- p: P[{i}-{j}]; q: Q[{i}-{j}]")))
            .collect();
        expected.sort();
        prop_assert_eq!(ran.reads("R"), expected);
        prop_assert_eq!(ran.enactment.counts().executed, n + m + 3 * n * m);
    }

    /// The same when the items come out of lists of unknown length, so that they really arrive late.
    #[test]
    fn dot_over_two_crosses_of_late_items(
        n in 0usize..4,
        m in 0usize..4,
        delays in proptest::collection::vec(0u64..20, 64),
    ) {
        let flow = Flow::new()
            .one("s")
            .one("t")
            .stage("A(s) -> a*")
            .stage("B(t) -> b*")
            .stage("P(a, b) -> p")
            .iterate("cross(a, b)")
            .stage("Q(a, b) -> q")
            .iterate("cross(a, b)")
            .stage("R(p, q) -> r")
            .iterate("dot(p, q)");
        let mut turn = 0;
        let mut play = Play::default()
            .length(move |address, _| if address == "A" { n } else { m })
            .seconds(move |_, _| {
                turn += 1;
                delays[turn % delays.len()]
            });
        let ran = flow.run(&Options::default(), &mut play);
        let mut expected: Vec<String> = (0..n)
            .flat_map(|i| (0..m).map(move |j| format!("R[{i}-{j}] <- p: P[{i}-{j}]; q: Q[{i}-{j}]")))
            .collect();
        expected.sort();
        prop_assert_eq!(ran.reads("R"), expected);
        prop_assert!(ran.enactment.expander().unwrap().is_complete());
        prop_assert_eq!(ran.enactment.counts().recomputed, 0);
    }
}

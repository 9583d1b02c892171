//! The report of a study and its results, from summaries that no run made.
//!
//! Law: whatever a summary holds, the page is well-formed, asks for nothing, and shows each number once it is known.

mod made_up;
#[path = "../support/markup.rs"]
mod markup;
mod remarks;
mod results;
#[path = "../support/scrolling.rs"]
mod scrolling;

use headwater_report::study::{
    EFFECT, EffectStep, FailedEvaluation, Indices, NOMINAL_EFFECT, StudySummary, UNORDERED_EFFECT,
    study_report_html, study_results_json,
};
use made_up::{HOSTILE, all};

/// What a page says of indices.
fn index_sections(page: &str) -> &str {
    let from = page.find("<section class=\"indices\"").expect("a phase");
    let rest = &page[from..];
    let ends = [
        "<section id=\"examples\"",
        "<section id=\"sharing\"",
        "<section id=\"run\"",
    ];
    let to = ends.iter().filter_map(|end| rest.find(end)).min();
    &rest[..to.expect("the run comes after the phases")]
}

/// A text as a page holds it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\u{1}', "\u{fffd}")
}

#[test]
fn every_page_is_well_formed() {
    for (name, summary) in all() {
        let page = study_report_html(&summary);
        if let Err(problem) = markup::check(&page) {
            panic!("{name}: {problem}");
        }
    }
}

#[test]
fn no_page_asks_for_anything() {
    for (name, summary) in all() {
        let page = study_report_html(&summary);
        let elements = markup::check(&page).expect("well-formed");
        for element in &elements {
            assert!(
                !["script", "iframe", "object", "embed", "base", "form"]
                    .contains(&element.name.as_str()),
                "{name}: {}",
                element.name
            );
            for (key, value) in &element.attributes {
                let fetches = [
                    "src",
                    "href",
                    "srcset",
                    "xlink:href",
                    "data",
                    "poster",
                    "action",
                ]
                .contains(&key.as_str());
                let within = value.starts_with("data:") || value.starts_with('#');
                assert!(!fetches || within, "{name}: {key}={value}");
                assert!(!key.starts_with("on"), "{name}: {key}");
                assert!(!value.contains("url("), "{name}: {value}");
            }
        }
        let style = page
            .split("<style>")
            .nth(1)
            .and_then(|rest| rest.split("</style>").next());
        let style = style.expect("a style sheet");
        assert!(
            !style.contains("url(") && !style.contains("@import") && !style.contains("http"),
            "{name}"
        );
        if name != "hostile" {
            assert!(
                !page.contains("http:") && !page.contains("https:"),
                "{name}"
            );
        }
    }
}

#[test]
fn what_is_not_known_is_a_dash() {
    for (name, summary) in all() {
        let page = study_report_html(&summary);
        for wrong in ["NaN", "inf", "None", "Some("] {
            // Pictures are in base 64, where anything may stand.
            let found = page.split("base64,").enumerate().any(|(position, part)| {
                let text = if position == 0 {
                    part
                } else {
                    part.split_once('"').map_or("", |(_, text)| text)
                };
                text.split(|letter: char| !letter.is_alphanumeric() && letter != '(')
                    .any(|word| word.starts_with(wrong))
            });
            assert!(!found, "{name}: {wrong}");
        }
    }
    assert!(
        index_sections(&study_report_html(&made_up::constant()))
            .contains("<td class=\"n size\">—</td>")
    );
}

#[test]
fn every_parameter_stands_in_the_tables_of_its_phase() {
    for (name, summary) in all() {
        let page = study_report_html(&summary);
        for parameter in summary.phases.iter().flat_map(|phase| &phase.parameters) {
            let cell = format!("<th scope=\"row\">{}</th>", escaped(&parameter.name));
            assert!(page.contains(&cell), "{name}: {cell}");
        }
        for word in [
            &summary.study,
            &summary.workflow,
            &summary.objective,
            &summary.method,
        ] {
            assert!(page.contains(&escaped(word)), "{name}: {word}");
        }
    }
    assert!(!study_report_html(&made_up::hostile()).contains(HOSTILE));
}

#[test]
fn what_is_said_of_indices_does_not_depend_on_the_run() {
    let mut facts = made_up::table().facts;
    facts.run = "another".to_owned();
    for (name, summary) in all() {
        let again = StudySummary {
            facts: facts.clone(),
            ..summary.clone()
        };
        let (one, other) = (study_report_html(&summary), study_report_html(&again));
        assert!(one != other, "{name}");
        assert!(index_sections(&one) == index_sections(&other), "{name}");
        assert!(one == study_report_html(&summary), "{name}");
    }
}

fn answer(summary: &StudySummary) -> String {
    let page = study_report_html(summary);
    let rest = page
        .split("<p class=\"answer\">")
        .nth(1)
        .expect("an answer");
    rest.split("</p>").next().expect("its end").to_owned()
}

#[test]
fn the_answer_comes_first_and_claims_no_more_than_the_intervals() {
    let mut summary = made_up::moat();
    insta::assert_snapshot!(answer(&summary), @"G2 and G1 matter most to dice: μ* is 0.518 ± 0.072 and 0.367 ± 0.070, next is MinSizePl with 0.0767 ± 0.0164. The 95 % intervals of G2 and G1 overlap neither each other nor those of the rest. FillHolesConn had no effect in any of its steps.");
    let Indices::Moat(rows) = &mut summary.phases[0].pooled else {
        panic!("MOAT")
    };
    rows[5].mu_star_conf = Some(0.12);
    insta::assert_snapshot!(answer(&summary), @"G2 and G1 matter most to dice: μ* is 0.518 ± 0.072 and 0.367 ± 0.120, next is MinSizePl with 0.0767 ± 0.0164. The 95 % intervals of G2 and G1 overlap: which of the two is larger is not known. FillHolesConn had no effect in any of its steps.");
    let Indices::Moat(rows) = &mut summary.phases[0].pooled else {
        panic!("MOAT")
    };
    rows.iter_mut().for_each(|row| row.mu_star_conf = None);
    insta::assert_snapshot!(answer(&summary), @"G2 and G1 matter most to dice: μ* is 0.518 and 0.367, next is MinSizePl with 0.0767. How sure that order is cannot be said: not all of them have intervals. FillHolesConn had no effect in any of its steps.");
    insta::assert_snapshot!(answer(&made_up::many()), @"No parameter stands out: μ* falls evenly from 4.00 × 10⁶ ± 0.40 × 10⁶ for parameter_0 to 880000 ± 88000 for parameter_39.");
    insta::assert_snapshot!(answer(&made_up::failing()), @"G2 and G1 matter most to dice: μ* is 0.518 ± 0.072 and 0.367 ± 0.070, next is MinSizePl with 0.0767 ± 0.0164. The 95 % intervals of G2 and G1 overlap neither each other nor those of the rest. By item: G2 comes first on all 5 items. The intervals are for these items; they do not say how much other items would change the answer. T1 has no index, because values are missing. FillHolesConn had no effect in any of its steps.");
    insta::assert_snapshot!(answer(&made_up::vbd()), @"G2 and G1 matter most to dice: ST is 0.655 ± 0.057 and 0.361 ± 0.039, next is MinSizePl with 0.0440 ± 0.0188. The 95 % intervals of G2 and G1 overlap neither each other nor those of the rest. WatershedConn cannot be distinguished from having no effect. The S1 add up to 0.796 ± 0.126: about 20 % of the variance comes from parameters acting together.");
    insta::assert_snapshot!(answer(&made_up::constant()), @"dice is 0.500 in all 3600 evaluations that gave a value: nothing that was varied matters to it there.");
    insta::assert_snapshot!(answer(&made_up::table()), @"Over 50 parameter sets of your own, dice goes from 0.161 to 0.939, with a mean of 0.653. Sets of your own have no indices: those need a design.");
    insta::assert_snapshot!(answer(&made_up::single()), @"There is no answer: no evaluation gave a value of dice.");
}

#[test]
fn what_was_left_out_is_said() {
    let page = study_report_html(&made_up::failing());
    let said = "30 of 1920 evaluations have no value and are left out. An effect counts if both of its ends have a value: 218 of 1800 effects do not.";
    assert!(page.contains(said));
    assert_eq!(page.matches("<td class=\"why\" rowspan=\"20\">").count(), 1);
    assert!(page.contains("The first 20 of 30; results.json has all."));
    assert!(page.contains("±\u{a0}20\u{a0}% of the largest μ*; it is ±\u{a0}17.4\u{a0}% of the largest μ*. That ended the phase after 24 of 40 trajectories."));
    assert!(page.contains("The run was stopped before it was done."));
    assert!(page.contains(
        "No forecast: nothing of it had been measured before, or nothing was looked up."
    ));
    assert!(!study_report_html(&made_up::moat()).contains("no value"));
}

#[test]
fn sharing_is_counted_once_for_each_task() {
    let page = study_report_html(&made_up::moat());
    assert!(page.contains("The study asks for 6400 tasks; 2760 were executed. What ran took 97.9 s of processor time; all of them, one by one, would have taken 5 min 13 s: 3.19 times as much."));
    let nothing = study_report_html(&made_up::table());
    assert!(nothing.contains(
        "Nothing had to be computed; all of them, one by one, would have taken 5 min 13 s of processor time."
    ));
    assert!(nothing.contains("There is no timeline: no task ran."));
    let partly = study_report_html(&made_up::failing());
    assert!(partly.contains("as far as costs are known, "));
}

#[test]
fn every_chart_can_be_read_out() {
    for (name, summary) in all() {
        let page = study_report_html(&summary);
        let elements = markup::check(&page).expect("well-formed");
        // Charts in charts are parts of what they stand in.
        let charts = elements.iter().filter(|element| {
            element.name == "svg" && !element.within.iter().any(|outer| outer == "svg")
        });
        for chart in charts {
            assert_eq!(chart.attribute("role"), Some("img"), "{name}");
            assert!(
                chart
                    .attribute("aria-label")
                    .is_some_and(|label| !label.is_empty()),
                "{name}"
            );
        }
        for table in elements.iter().filter(|element| element.name == "table") {
            assert!(table.within.iter().any(|outer| outer == "div"), "{name}");
        }
        let count = |wanted: &str| {
            elements
                .iter()
                .filter(|element| element.name == wanted)
                .count()
        };
        assert_eq!(count("table"), count("caption"), "{name}");
        assert_eq!(count("h1"), 1, "{name}");
        for image in elements.iter().filter(|element| element.name == "img") {
            assert!(
                image
                    .attribute("alt")
                    .is_some_and(|words| !words.is_empty()),
                "{name}"
            );
        }
        let mut places: Vec<&str> = elements
            .iter()
            .filter_map(|element| element.attribute("id"))
            .collect();
        let many = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), many, "{name}: an id stands twice");
    }
}

#[test]
fn a_phase_has_the_tables_and_charts_of_its_kind() {
    let figures = |summary: &StudySummary| {
        index_sections(&study_report_html(summary))
            .matches("<figure>")
            .count()
    };
    // Bars, μ* against σ, courses, convergence, distribution.
    assert_eq!(figures(&made_up::moat()), 5);
    assert_eq!(figures(&made_up::vbd()), 4);
    assert_eq!(figures(&made_up::two_phase()), 9);
    assert_eq!(figures(&made_up::table()), 2);
    assert_eq!(figures(&made_up::single()), 1);
    let several = study_report_html(&made_up::several());
    assert!(several.contains("<th class=\"item\" scope=\"row\">3: tile-3.png</th>"));
    assert!(several.contains("<th class=\"item\" scope=\"row\">all together</th>"));
    let pairs = study_report_html(&made_up::vbd());
    assert!(pairs.contains("<strong>0.0810</strong><br/><small>±\u{a0}0.0200</small>"));
}

#[test]
fn a_summary_whose_parts_do_not_fit_is_shown_as_far_as_they_do() {
    let mut summary = made_up::two_phase();
    for phase in &mut summary.phases {
        phase.parameters.truncate(3);
        phase.each = vec![Indices::None; 2];
        phase.values = vec![vec![Some(f64::MAX), Some(f64::MIN), Some(1.0)]];
    }
    summary.items.clear();
    summary.facts.tasks.truncate(2);
    summary.facts.cores = 0;
    let page = study_report_html(&summary);
    if let Err(problem) = markup::check(&page) {
        panic!("{problem}");
    }
    let nothing = StudySummary {
        phases: Vec::new(),
        examples: Vec::new(),
        ..summary
    };
    assert_eq!(answer(&nothing), "Nothing was evaluated.");
}

#[test]
fn the_axis_of_effects_begins_at_zero() {
    let mut summary = made_up::moat();
    let Indices::Moat(rows) = &mut summary.phases[0].pooled else {
        panic!("MOAT")
    };
    rows[0].mu_star_conf = rows[0].mu_star.map(|size| 2.0 * size);
    let page = study_report_html(&summary);
    let bars = page.split("aria-label=\"Bar chart").nth(1).expect("bars");
    let bars = bars.split("</svg>").next().expect("their end");
    assert!(bars.contains("x=\"0%\"") && !bars.contains("−"));
}

/// What is said of interplay is what the intervals carry.
#[test]
fn interplay_is_claimed_only_where_it_can_be_told() {
    let with = |s1: [f64; 2], st: [f64; 2], half: f64| {
        let mut summary = made_up::vbd();
        let phase = &mut summary.phases[0];
        phase.parameters.truncate(2);
        let Indices::Vbd(found) = &mut phase.pooled else {
            panic!("VBD")
        };
        found.rows.truncate(2);
        found.pairs.clear();
        for (row, (s1, st)) in found.rows.iter_mut().zip(s1.into_iter().zip(st)) {
            (row.s1, row.st) = (Some(s1), Some(st));
            (row.s1_conf, row.st_conf) = (Some(half), Some(half));
        }
        answer(&summary)
    };
    assert!(with([0.4, 0.3], [0.6, 0.5], 0.05).contains("about 30 % of the variance"));
    assert!(with([0.6, 0.4], [0.6, 0.4], 0.03).contains("one by one"));
    // Shares of more than everything come from too few samples, and say nothing of interplay.
    assert!(with([0.9, 0.6], [0.9, 0.6], 0.1).contains("too few samples"));
    // Wide intervals carry neither claim.
    assert!(!with([0.6, 0.4], [0.8, 0.5], 0.3).contains("S1"));
}

/// The text of a page without its marks.
fn text(page: &str) -> String {
    let body = page.split("</style>").nth(1).expect("a body");
    let parts = body.split('<').map(|part| match part.split_once('>') {
        Some((_, text)) => text,
        None => part,
    });
    parts.collect()
}

#[test]
fn ranks_are_open_where_intervals_overlap() {
    let summary = made_up::moat();
    let page = study_report_html(&summary);
    assert!(page.contains("<td class=\"n rank\">1</td><th scope=\"row\">G2</th>"));
    let phase = &summary.phases[0];
    let places = phase.pooled.places();
    let mut open = 0;
    for (parameter, place) in phase.parameters.iter().zip(places) {
        let (best, worst) = place.expect("an interval");
        if best < worst {
            let cells = format!(
                "<td class=\"n rank\">{best}–{worst}</td><th scope=\"row\">{}</th>",
                parameter.name
            );
            assert!(page.contains(&cells), "{cells}");
            open += 1;
        }
    }
    assert!(open >= 2, "some overlap");
    assert!(text(&page).contains("Where the intervals of μ* overlap, the order is open"));
    // Without intervals there is but the order of the sizes.
    let mut bare = made_up::moat();
    bare.phases[0].confidence = None;
    let Indices::Moat(rows) = &mut bare.phases[0].pooled else {
        panic!("MOAT")
    };
    rows.iter_mut().for_each(|row| row.mu_star_conf = None);
    let page = study_report_html(&bare);
    assert!(page.contains("<td class=\"n rank\">3</td>") && !page.contains("the order is open"));
}

#[test]
fn the_head_says_what_the_objective_is_compared_with_and_what_is_in_doubt() {
    let mut summary = made_up::moat();
    let sure = text(&study_report_html(&summary));
    assert!(sure.contains("tile: tissue.png; reference: output mask at the default parameters"));
    assert!(!sure.contains("In doubt."));
    summary.doubts = vec!["input `reference` is blank".to_owned()];
    let doubtful = text(&study_report_html(&summary));
    assert!(doubtful.contains("In doubt. Input reference is blank."));
}

#[test]
fn a_default_outside_its_range_is_marked() {
    let page = study_report_html(&made_up::moat());
    assert!(page.contains("<td class=\"n\">45*</td>"));
    assert!(page.contains("*: the default lies outside the values that were studied."));
    let mut within = made_up::moat();
    let parameters = &mut within.phases[0].parameters;
    parameters
        .iter_mut()
        .for_each(|one| one.default_outside = false);
    assert!(!study_report_html(&within).contains("45*"));
}

#[test]
fn effects_are_divided_by_what_the_page_says() {
    let mut nominal = made_up::moat();
    nominal.phases[0].step = EffectStep::Nominal;
    let page = text(&study_report_html(&nominal));
    assert!(page.contains(&format!("A{}.", &NOMINAL_EFFECT[1..])));
    assert!(page.contains("It is 10/19 for all, half of the 20 levels"));
    assert!(page.contains(
        "Fewer values than the 20 levels of the design: FillHolesConn, ReconConn and WatershedConn."
    ));
    assert!(page.contains("its effects are 1.9 times the change that it makes"));
    let page = text(&study_report_html(&made_up::moat()));
    assert!(page.contains(&format!("A{}.", &EFFECT[1..])));
    assert!(!page.contains("nominal") && !page.contains("Fewer values"));
    assert!(!page.contains(&UNORDERED_EFFECT[1..]));
    assert!(!page.contains("no step"));
    // Words, and steps of no length.
    let mut words = made_up::moat();
    let phase = &mut words.phases[0];
    phase.parameters[12].unordered = true;
    let Indices::Moat(rows) = &mut phase.pooled else {
        panic!("MOAT")
    };
    rows[12].mu = None;
    (rows[0].used, rows[0].no_step) = (31, 9);
    (rows[1].used, rows[1].no_step) = (0, 40);
    (
        rows[1].mu,
        rows[1].mu_star,
        rows[1].mu_star_conf,
        rows[1].sigma,
    ) = (None, None, None, None);
    let page = text(&study_report_html(&words));
    assert!(page.contains(&UNORDERED_EFFECT[1..]));
    assert!(
        page.contains("no effect can be computed: B (9) and G (40)."),
        "{page}"
    );
    assert!(page.contains("G has no effects: no step has a length."));
    assert!(!page.contains("NaN"));
}

/// Without a value an item is not one on which nothing has an effect.
#[test]
fn items_without_an_answer_are_named_and_left_out() {
    let mut summary = made_up::several();
    let phase = &mut summary.phases[0];
    for set in 0..phase.sets {
        phase.values[1][set] = None;
        phase.failed.push(FailedEvaluation {
            set,
            item: 1,
            why: "no such tile".to_owned(),
        });
    }
    let Indices::Moat(rows) = &mut phase.each[1] else {
        panic!("MOAT")
    };
    for row in rows {
        (row.mu, row.mu_star, row.mu_star_conf, row.sigma) = (None, None, None, None);
        (row.used, row.lost) = (0, 40);
    }
    let said = answer(&summary);
    assert!(
        said.contains("By item: G2 comes first on all 4 items."),
        "{said}"
    );
    assert!(
        said.contains(
            "All of this is said of 4 of 5 items: 1 has no answer, because values are missing."
        ),
        "{said}"
    );
    let called = summary.items[1].called();
    let page = text(&study_report_html(&summary));
    let named = format!(
        "{} failed: none of its 640 evaluations has a value; it is left out.",
        &called[1..]
    );
    assert!(page.contains(&named), "{named}");
    let results: serde_json::Value =
        serde_json::from_str(&study_results_json(&summary)).expect("JSON");
    let left_out = results["left_out"].as_array().expect("a list");
    assert_eq!(left_out.len(), 1);
    assert_eq!(left_out[0]["item"], 1);
    assert_eq!(left_out[0]["index"], results["items"][1]["index"]);
    assert_eq!(left_out[0]["failed"], 640);
    assert_eq!(results["effect"], EFFECT);
    // An item that was not come to has not failed.
    summary.phases[0].failed.clear();
    let words = summary.phases[0].left_out_in_words(&summary.items);
    assert_eq!(
        words,
        [format!(
            "{called}: none of its 640 evaluations was made; it is left out"
        )]
    );
}

#[test]
fn several_items_are_not_more_than_these_items() {
    let mut summary = made_up::several();
    let phase = &mut summary.phases[0];
    // On the second item G1 comes first, on the third nothing has an effect.
    let Indices::Moat(rows) = &mut phase.each[1] else {
        panic!("MOAT")
    };
    rows[5].mu_star = Some(2.0);
    let Indices::Moat(rows) = &mut phase.each[2] else {
        panic!("MOAT")
    };
    rows.iter_mut().for_each(|row| row.mu_star = Some(0.0));
    let said = answer(&summary);
    let expected = "By item: G2 comes first on 3 of 5 items, G1 on 1, no parameter has an effect on 1. The intervals are for \
                    these items; they do not say how much other items would change the answer.";
    assert!(said.contains(expected), "{said}");
    let page = study_report_html(&summary);
    assert!(page.contains("<br/><small>±\u{a0}"));
    assert!(text(&page).contains("They do not show how much it could change with other items."));
    assert!(!answer(&made_up::moat()).contains("By item"));
}

#[test]
fn the_objective_is_drawn_along_the_parameters_that_matter_most() {
    let page = study_report_html(&made_up::moat());
    assert_eq!(page.matches("aria-label=\"dice along ").count(), 6);
    assert!(page.contains("aria-label=\"dice along G2: from 0.900 at 5 to 0.435 at 50\""));
    let point = "G2 5: 0.900 on average, half of them from 0.800 to 0.950, 64 evaluations";
    assert!(page.contains(point));
    assert!(!page.contains("aria-label=\"dice along B:"));
}

#[test]
fn one_cause_is_told_once() {
    let mut summary = made_up::failing();
    summary.facts.failures = vec!["task `a[0]`: no".to_owned(), "task `a[1]`: no".to_owned()];
    summary.facts.causes = vec!["task `a[0]`: no\n1 more task failed".to_owned()];
    let page = study_report_html(&summary);
    assert!(page.contains("1 more task failed") && !page.contains("task `a[1]`"));
}

#[test]
fn names_in_backquotes_are_code() {
    let mut summary = made_up::failing();
    summary.doubts = vec!["`a<b` is blank".to_owned()];
    summary.facts.notes = vec!["input `tile` has 5 items".to_owned()];
    summary.phases[0].failed[0].why = "task `segment.separate[0]`: no".to_owned();
    let page = study_report_html(&summary);
    assert!(page.contains("<strong>In doubt.</strong> <code>a&lt;b</code> is blank.</p>"));
    assert!(page.contains("<li>input <code>tile</code> has 5 items</li>"));
    assert!(page.contains(">task <code>segment.separate[0]</code>: no</td>"));
}

#[test]
fn a_table_shows_that_it_scrolls_and_a_keyboard_can_do_it() {
    for (name, summary) in all() {
        scrolling::check_scrolling(name, &study_report_html(&summary));
    }
}

/// The names and values of the marks of each histogram.
fn marks(page: &str) -> Vec<Vec<&str>> {
    let charts = page.split("aria-label=\"Histogram").skip(1);
    let charts = charts.map(|rest| rest.split("</figure>").next().expect("an end"));
    let named = charts.map(|chart| {
        let names = chart.split("<text class=\"name\"").skip(1);
        let names = names.filter_map(|rest| rest.split_once('>')?.1.split_once('<'));
        names.map(|(name, _)| name).collect()
    });
    named.collect()
}

#[test]
fn the_histogram_marks_the_best_and_the_worst_of_the_evaluations_that_it_shows() {
    // Of several items an example is the set that is worst on average, on one of the items.
    let mut summary = made_up::several();
    summary.phases[0].values[3][500] = Some(0.011);
    summary.phases[0].values[1][77] = Some(0.987);
    // The set of the worst value has none on another item, so that it is no example.
    summary.phases[0].values[2][500] = None;
    let page = study_report_html(&summary);
    assert_eq!(
        marks(&page),
        [["best 0.987", "worst 0.0110", "default 1.00"]]
    );
    assert!(page.contains(
        "Marked are the best and the worst of these evaluations, and the default on item 0 (tile tile-0.png). The examples are the \
         sets that are best and worst on average over all items."
    ));
    // Where the best is the smallest.
    let extremes = summary.extremes.as_mut().expect("extremes");
    std::mem::swap(&mut extremes.best, &mut extremes.worst);
    assert_eq!(
        marks(&study_report_html(&summary)),
        [["best 0.0110", "worst 0.987", "default 1.00"]]
    );
    // Each phase marks its own; what has failed and what is no number is not among them.
    let mut phases = made_up::two_phase();
    phases.phases[0].values[0][..3].copy_from_slice(&[Some(0.02), Some(0.96), None]);
    phases.phases[1].values[0][..3].copy_from_slice(&[Some(0.03), Some(0.97), Some(f64::INFINITY)]);
    assert_eq!(
        marks(&study_report_html(&phases)),
        [
            ["best 0.960", "worst 0.0200", "default 1.00"],
            ["best 0.970", "worst 0.0300", "default 1.00"]
        ]
    );
    let said = "Marked are the best and the worst of these evaluations, and the default.";
    assert!(study_report_html(&phases).contains(said));
    // One item and one phase need no words for it, and no examples.
    let page = study_report_html(&made_up::table());
    assert_eq!(marks(&page), [["best 0.939", "worst 0.161"]]);
    assert!(!page.contains("Marked are"));
}

#[test]
fn pairs_are_shaded_only_where_their_interval_lies_above_zero() {
    let mut summary = made_up::vbd();
    let Indices::Vbd(found) = &mut summary.phases[0].pooled else {
        panic!("VBD")
    };
    // The largest of all, and not clear of zero.
    (found.pairs[0].s2, found.pairs[0].s2_conf) = (Some(0.3), Some(0.4));
    (found.pairs[1].s2, found.pairs[1].s2_conf) = (Some(0.0405), Some(0.02));
    let page = study_report_html(&summary);
    let shades = |page: &str| -> Vec<String> {
        let table = page.split("aria-label=\"Pairs of parameters\"").nth(1);
        let table = table.and_then(|rest| rest.split("</table>").next());
        let cells = table.expect("pairs").split("--heat:").skip(1);
        cells.map(|cell| cell[..4].to_owned()).collect()
    };
    assert_eq!(shades(&page), ["0.60", "0.30"]);
    assert!(page.contains("<td class=\"n\">0.300<br/><small>"));
    assert!(page.contains(
        "Bold and shaded where the interval lies above zero, the darker the larger; the others cannot be distinguished from zero."
    ));
    assert!(
        page.contains("Only a pair whose interval lies above zero certainly has a joint effect.")
    );
    let Indices::Vbd(found) = &mut summary.phases[0].pooled else {
        panic!("VBD")
    };
    found
        .pairs
        .iter_mut()
        .for_each(|pair| pair.s2_conf = Some(0.5));
    let page = study_report_html(&summary);
    assert_eq!(shades(&page), [""; 0]);
    assert!(page.contains("No interval lies above zero: none can be distinguished from zero."));
}

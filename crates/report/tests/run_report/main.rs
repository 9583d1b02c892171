//! The report of a run, from summaries that no run made.
//!
//! Law: whatever a summary holds, the page is well-formed, asks for nothing, and is not larger for more tasks.

mod made_up;
#[path = "../support/markup.rs"]
mod markup;
#[path = "../support/scrolling.rs"]
mod scrolling;

use headwater_report::run::{RunSummary, run_report_html};
use made_up::{HOSTILE, all};

#[test]
fn every_page_is_well_formed() {
    for (name, summary) in all() {
        if let Err(problem) = markup::check(&run_report_html(&summary)) {
            panic!("{name}: {problem}");
        }
    }
}

#[test]
fn no_page_asks_for_anything() {
    for (name, summary) in all() {
        let page = run_report_html(&summary);
        for element in markup::check(&page).expect("well-formed") {
            let asks = ["script", "iframe", "object", "embed", "base", "form", "img"];
            assert!(
                !asks.contains(&element.name.as_str()),
                "{name}: {}",
                element.name
            );
            for (key, value) in &element.attributes {
                assert!(!key.starts_with("on"), "{name}: {key}");
                assert!(!value.contains("url("), "{name}: {value}");
                if ["src", "srcset", "xlink:href", "data", "action"].contains(&key.as_str()) {
                    panic!("{name}: {key}={value}");
                }
                // A link leads to a place of the page or to a file beside it: it has no scheme and no host.
                let is_link = key == "href" && element.name == "a";
                let leaves = value.contains(':') || value.starts_with('/');
                assert!(!is_link || !leaves, "{name}: {value}");
            }
        }
        // Besides the name of SVG there is one `http-equiv`.
        let spaces = page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count();
        assert_eq!(page.matches("http").count(), spaces + 1, "{name}");
    }
}

#[test]
fn what_users_wrote_stays_text() {
    let page = run_report_html(&made_up::hostile());
    assert!(!page.contains("<script"));
    assert!(!page.contains(HOSTILE));
    let shown = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;'\u{fffd}&lt;/pre&gt;";
    // Titles of bars are texts too.
    assert!(page.matches(shown).count() > 100);
}

#[test]
fn what_is_not_known_is_a_dash() {
    for (name, summary) in all() {
        let page = run_report_html(&summary);
        for word in page.split(|letter: char| !letter.is_alphanumeric() && letter != '(') {
            let wrong = ["NaN", "inf", "Some("];
            assert!(
                !wrong.iter().any(|wrong| word.starts_with(wrong)),
                "{name}: {word}"
            );
        }
    }
    let page = run_report_html(&made_up::reused());
    assert!(page.contains("<td class=\"n\">—</td>"));
}

fn answer(summary: &RunSummary) -> String {
    let page = run_report_html(summary);
    let rest = page
        .split("<p class=\"answer\">")
        .nth(1)
        .expect("an answer");
    rest.split("</p>").next().expect("its end").to_owned()
}

#[test]
fn the_answer_comes_first() {
    insta::assert_snapshot!(answer(&made_up::done()), @"All 18 tasks are done: 12 executed, 6 reused, in 3.20 s on 2 cores.");
    insta::assert_snapshot!(answer(&made_up::fresh()), @"All 7 tasks are done, in 3.20 s on 2 cores.");
    insta::assert_snapshot!(answer(&made_up::reused()), @"Nothing had to run: all 7 tasks were done in earlier runs. This check took 3.20 s.");
    insta::assert_snapshot!(answer(&made_up::nothing()), @"There was nothing to do: this data makes no task.");
    insta::assert_snapshot!(answer(&made_up::failed()), @"25 of 56 tasks failed, and 25 that need what they would have made could not run. 6 are done, in 3.20 s on 2 cores.");
    insta::assert_snapshot!(answer(&made_up::broken()), @"The run failed: cannot write <code>x</code>: no space left on device. 7 are done, in 3.20 s on 2 cores.");
    insta::assert_snapshot!(answer(&made_up::stopped()), @"The run was stopped after 3.20 s: of 20 tasks 8 are done (6 executed, 2 reused), 12 are left.");
}

#[test]
fn failures_are_told_with_what_they_said_and_where_the_rest_is() {
    let page = run_report_html(&made_up::failed());
    assert_eq!(page.matches("<article class=\"failure\">").count(), 20);
    assert!(page.contains("<h3><code>thumbnails.shrink[3]</code></h3>"));
    assert!(page.contains("<pre>cannot read picture 3</pre>"));
    assert!(page.contains("<pre>sh /tmp/work/3/.again.sh</pre>"));
    assert!(page.contains(
        "These are the first 20; 5 more failures are in <a href=\"failures.txt\">failures.txt</a>."
    ));
    assert!(page.contains("stage <code>sheet</code>: a list that it needs did not come"));
    assert!(page.contains("headwater explain 20261116-083000-1a2b 'thumbnails.shrink[0]'"));
    // Failures stand before everything else.
    let place = |id: &str| page.find(&format!("<section id=\"{id}\""));
    assert!(place("failures") < place("graph") && place("graph") < place("timeline"));
    assert!(!run_report_html(&made_up::done()).contains("id=\"failures\""));
}

#[test]
fn every_bar_says_what_it_is() {
    let page = run_report_html(&made_up::failed());
    assert_eq!(page.matches(" failed\" x=").count(), 3);
    assert!(page.contains("<title>thumbnails.shrink[0]: 200 ms, not ended well</title>"));
    assert!(page.contains("<title>thumbnails.shrink[4]: 200 ms</title>"));
    let page = run_report_html(&made_up::huge());
    assert!(page.contains("<title>400 tasks, mostly stage.task-2: 80.0 s of work</title>"));
    assert!(page.contains("<title>400 tasks of stage.task-1: 80.0 s of work</title>"));
    assert!(run_report_html(&made_up::reused()).contains("There is no timeline: no task ran."));
}

#[test]
fn a_large_run_is_no_large_page() {
    let page = run_report_html(&made_up::huge());
    assert!(page.len() < 1_000_000, "{}", page.len());
    let elements = markup::check(&page).expect("well-formed");
    let charts = elements
        .iter()
        .filter(|element| element.attribute("class") == Some("drawn") && element.name == "svg");
    for chart in charts {
        let height = chart
            .attribute("height")
            .and_then(|height| height.parse::<f64>().ok());
        assert!(height.is_some_and(|height| height < 700.0));
    }
}

#[test]
fn outputs_are_links_where_the_page_knows_the_way() {
    let mut summary = made_up::done();
    let page = run_report_html(&summary);
    assert!(page.contains("<a href=\"picture/3.png\">picture/3.png</a>"));
    assert!(page.contains("… and 70 more in <a href=\"outputs.csv\">outputs.csv</a>"));
    assert!(page.contains("<code>0.75</code>"));
    summary.links = Some("../outputs/x/".to_owned());
    assert!(run_report_html(&summary).contains("<a href=\"../outputs/x/picture/3.png\">"));
    summary.links = None;
    let page = run_report_html(&summary);
    assert!(page.contains("<code>picture/3.png</code>"));
    assert!(!page.contains("<a href=\"picture"));
}

#[test]
fn what_is_missing_stands_beside_its_link_and_not_over_it() {
    let mut summary = made_up::done();
    summary.outputs[0].shown[1].missing = 2;
    let page = run_report_html(&summary);
    assert!(page.contains(
        " <strong class=\"missing\">2 items are missing from what it was made from</strong>"
    ));
    // The padding of an inline element covers the lines above and below it.
    assert!(page.contains("\n.missing { display: inline-block;"));
    for element in markup::check(&page).expect("well-formed") {
        let is_warning = element.attribute("class") == Some("warning");
        assert!(!is_warning || element.name == "p", "{}", element.name);
    }
}

#[test]
fn names_in_backquotes_are_code() {
    let mut summary = made_up::failed();
    summary.failures[0].message = "output `made` is missing: `a<b`".to_owned();
    summary.notes = vec!["`join[0]` (`group` is `river`) goes on".to_owned()];
    let page = run_report_html(&summary);
    assert!(page.contains(
        "<p class=\"message\">output <code>made</code> is missing: <code>a&lt;b</code></p>"
    ));
    assert!(page.contains(
        "<li><code>join[0]</code> (<code>group</code> is <code>river</code>) goes on</li>"
    ));
}

#[test]
fn a_table_shows_that_it_scrolls_and_a_keyboard_can_do_it() {
    for (name, summary) in all() {
        let page = run_report_html(&summary);
        scrolling::check_scrolling(name, &page);
    }
}

#[test]
fn the_links_of_the_contents_lead_somewhere() {
    for (name, summary) in all() {
        let page = run_report_html(&summary);
        let elements = markup::check(&page).expect("well-formed");
        let mut places: Vec<&str> = elements
            .iter()
            .filter_map(|element| element.attribute("id"))
            .collect();
        for element in &elements {
            let place = element
                .attribute("href")
                .and_then(|link| link.strip_prefix('#'));
            assert!(
                place.is_none_or(|place| places.contains(&place)),
                "{name}: {place:?}"
            );
        }
        let many = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), many, "{name}: an id stands twice");
        assert_eq!(
            elements
                .iter()
                .filter(|element| element.name == "h1")
                .count(),
            1,
            "{name}"
        );
        for chart in elements.iter().filter(|element| element.name == "svg") {
            assert_eq!(chart.attribute("role"), Some("img"), "{name}");
        }
        // Those scroll in a box of their own.
        for table in elements.iter().filter(|element| element.name == "table") {
            assert!(table.within.iter().any(|outer| outer == "div"), "{name}");
        }
    }
}

#[test]
fn a_summary_is_read_as_it_was_written() {
    for (name, summary) in all() {
        let text = serde_json::to_string(&summary).expect("a summary can be written");
        // What is no number is written as nothing, and such a summary is damaged.
        let again = serde_json::from_str::<RunSummary>(&text);
        if name == "unfit" {
            assert!(again.is_err());
        } else {
            assert!(again.expect(name) == summary, "{name}");
        }
    }
}

//! What effects of a screening are divided by, choices without order, and items without a value: as users see them.

use serde_json::{Value, json};

use crate::place::{Place, read};
use crate::study_run::{answer, index, near, rows, run, study_file};

/// y = 100 u + 10 n + g + two + what the word says; `{words}` has the lines of a `case`.
fn sum(words: &str) -> String {
    let flow = r#"
headwater: 1
workflow: sum
inputs: {item: int}
parameters:
  u: {type: choice, values: [0.1, 0.2, 0.3, 0.9], default: 0.1}
  n: {type: choice, values: [10, 1, 4], default: 1}
  g: {type: int, range: [0, 30], step: 10, default: 0}
  two: {type: choice, values: [4, 8], default: 4}
  word: {type: choice, values: [north, east, south, west], default: north}
stages:
  only:
    tasks:
      - {op: sum, in: {item: item}, params: {u: $u, n: $n, g: $g, two: $two, word: $word}, out: {y: y}}
outputs: {y: y}
operations:
  sum:
    shell: |
      case {param.word} in
      WORDS
      esac
      u={param.u}
      echo $((${u#0.} * 10 + 10 * {param.n} + {param.g} + {param.two} + w + {in.item})) > {out.y}
    inputs: {item: int}
    params: {u: float, n: int, g: int, two: int, word: text}
    outputs: {y: {type: int, path: y}}
"#;
    flow.replace("WORDS", words)
}

fn studied(flow: &str, items: &str, method: &str) -> Place {
    let place = Place::with_flow(flow);
    place.write("study.yaml", &study_file(items, method));
    place
}

/// Of four words only `north` and `east` differ from `south` and `west`, by so much.
const TWO_DIFFER: &str = "north) w=400;; east) w=0;; *) w=200;;";

#[test]
fn effects_are_those_of_the_whole_range() {
    for method in [
        "{moat: {trajectories: 6}}",
        "{moat: {trajectories: 6, levels: grid}}",
        "{moat: {trajectories: 6, design: spread}}",
        "{moat: {trajectories: 6, design: radial}}",
    ] {
        let place = studied(&sum("*) w=0;;"), "0", method);
        let report = run(&place, &[], 0);
        let found = answer(&report);
        assert_eq!(found["names"], json!(["u", "n", "g", "two", "word"]));
        // 100 × 0.8, 10 × 9, 30, 4, and words that all mean the same.
        let mu = [
            json!(80.0),
            json!(90.0),
            json!(30.0),
            json!(4.0),
            Value::Null,
        ];
        for (found, expected) in found["mu"].as_array().expect("a list").iter().zip(&mu) {
            match (found.as_f64(), expected.as_f64()) {
                (Some(found), Some(expected)) => near(&[found], &[expected], 1e-9),
                (found, expected) => assert_eq!(found, expected, "{method}"),
            }
        }
        near(
            &index(&found, "mu_star"),
            &[80.0, 90.0, 30.0, 4.0, 0.0],
            1e-9,
        );
        near(&index(&found, "sigma"), &[0.0; 5], 1e-9);
        assert_eq!(index(&found, "used"), [6.0; 5]);
        assert_eq!(index(&found, "no_step"), [0.0; 5]);
        assert_eq!(found["step"], "actual");
        assert_eq!(found["unordered"], json!(["word"]));
    }
}

#[test]
fn nominal_steps_are_to_be_had_and_run_nothing() {
    let place = studied(&sum("*) w=0;;"), "0", "{moat: {trajectories: 6}}");
    let actual = run(&place, &[], 0);
    let nominal = run(&place, &["--set", "method.moat.step=nominal"], 0);
    assert_eq!(nominal.0["counts"]["executed"], 0);
    assert_eq!(rows(&actual, "samples.csv"), rows(&nominal, "samples.csv"));
    let found = answer(&nominal);
    assert_eq!(found["step"], "nominal");
    // Two values are a whole range apart, and the nominal step is 10/19 of it.
    near(&index(&found, "mu_star")[3..], &[4.0 * 1.9, 0.0], 1e-9);
    assert!(index(&found, "sigma")[0] > 1.0, "{found}");
    let wrong = [
        "study",
        "run",
        "study.yaml",
        "--set",
        "method.moat.step=true",
    ];
    let told = place.headwater(&wrong).ended(2);
    assert!(told.stderr.contains("`actual`"), "{}", told.stderr);
}

/// The page, the terminal, the results and the guide say what an effect is in the same words.
#[test]
fn what_an_effect_is_is_said_in_the_same_words() {
    let place = studied(&sum(TWO_DIFFER), "0", "{moat: {trajectories: 4}}");
    for (step, words) in [
        ("actual", headwater::study::EFFECT),
        ("nominal", headwater::study::NOMINAL_EFFECT),
    ] {
        let set = format!("method.moat.step={step}");
        let told = place
            .headwater(&["study", "run", "study.yaml", "--set", &set])
            .ended(0);
        let report = run(&place, &["--set", &set], 0);
        let page = read(&report.folder().join("report.html"));
        let docs = read(
            &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study-files.md"),
        );
        assert!(told.stdout.contains(words), "{}", told.stdout);
        assert!(page.contains(&words[1..]));
        assert_eq!(answer(&report)["effect"], words);
        assert_eq!(report.0["phases"][0]["effect"], words);
        assert!(docs.contains(&words[1..]), "{words}");
        let unordered = headwater::study::UNORDERED_EFFECT;
        assert!(told.stdout.contains(unordered), "{}", told.stdout);
        assert!(page.contains(&unordered[1..]));
        assert!(docs.contains(&unordered[1..]));
        // The word has a dash for the mean with signs.
        let row = told.stdout.lines().find(|line| line.contains(" word "));
        assert!(
            row.is_some_and(|row| row.contains(" - ")),
            "{}",
            told.stdout
        );
    }
}

/// Half of the positions of four words apart are only `north` and `south`, and `east` and `west`: the first two would never
/// be compared, and the word would be dropped.
#[test]
fn a_second_phase_keeps_a_word_whatever_its_place_in_the_list() {
    let words = "north) w=900;; east) w=0;; south) w=900;; *) w=0;;";
    let two =
        "{two-phase: {screen: {moat: {trajectories: 8}}, keep: 2, then: {vbd: {samples: 32}}}}";
    let place = studied(&sum(words), "0", two);
    let found = answer(&run(&place, &[], 0));
    let kept = found["names"].as_array().expect("names");
    assert!(kept.contains(&json!("word")), "{found}");
    let of = kept
        .iter()
        .position(|name| *name == "word")
        .expect("a word");
    assert!(index(&found, "ST")[of] > 0.9, "{found}");
    let screen = &found["screen"];
    assert_eq!(screen["ranking"][0], "word", "{screen}");
    assert_eq!(screen["mu"][4], Value::Null);
}

/// The same, failing where a test of the shell holds.
fn failing(when: &str) -> String {
    let check = format!("if {when}; then echo no >&2; exit 3; fi\n      u={{param.u}}");
    sum(TWO_DIFFER).replace("u={param.u}", &check)
}

#[test]
fn an_item_without_a_value_has_failed_and_is_left_out() {
    let flow = failing("test {in.item} -lt 0");
    let moat = "{moat: {trajectories: 8}}";
    let vbd = "{vbd: {samples: 64}}";
    let two =
        "{two-phase: {screen: {moat: {trajectories: 8}}, keep: 2, then: {vbd: {samples: 8}}}}";
    for method in [moat, vbd, two] {
        let place = studied(&flow, "[5, -1, 7]", method);
        let told = place.headwater(&["study", "run", "study.yaml"]).ended(1);
        assert!(
            !told.stdout.contains("no parameter has an effect"),
            "{}",
            told.stdout
        );
        for text in [
            "item 1 (item -1) failed: none of its ",
            "these are the indices of 2 of 3 items together",
            "comes first on all 2 items",
        ] {
            assert!(
                told.stdout.contains(text),
                "{method}: {text}\n{}",
                told.stdout
            );
        }
        let report = run(&place, &[], 1);
        let found = answer(&report);
        let sets = found["sets"].as_u64();
        for phase in [Some(&found), found.get("screen")].into_iter().flatten() {
            let left_out = phase["left_out"].as_array().expect("a list");
            assert_eq!(left_out.len(), 1, "{phase}");
            assert_eq!(left_out[0]["inputs"]["item"], "-1");
            assert_eq!(left_out[0]["done"], 0);
            assert_eq!(left_out[0]["failed"], phase["sets"]);
        }
        assert_eq!(found["left_out"][0]["failed"].as_u64(), sets);
        let phases = report.0["phases"].as_array().expect("phases");
        assert!(phases.iter().all(|phase| phase["left_out"][0]["item"] == 1));
        let page = read(&report.folder().join("report.html"));
        assert!(page.contains("Item 1 (item -1) failed: none of its "));
        assert!(page.contains("All of this is said of 2 of 3 items"));
        // The others are as they are without it.
        place.write("study.yaml", &study_file("[5, 7]", method));
        let without = answer(&run(&place, &[], 0));
        for name in ["mu_star", "sigma", "S1", "ST", "ranking"] {
            assert_eq!(found.get(name), without.get(name), "{method}: {name}");
        }
        assert_eq!(without["left_out"], json!([]));
    }
}

/// A table has no indices; what it says of the objective leaves the item out and says so.
#[test]
fn an_item_without_a_value_is_named_where_sets_are_ones_own() {
    let place = studied(
        &failing("test {in.item} -lt 0"),
        "[5, -1]",
        "{table: sets.csv}",
    );
    place.write("sets.csv", "g,word\n0,north\n10,east\n30,west\n");
    let told = place.headwater(&["study", "run", "study.yaml"]).ended(1);
    let line = "item 1 (item -1) failed: none of its 3 evaluations has a value; it is left out";
    assert!(told.stdout.contains(line), "{}", told.stdout);
    let report = run(&place, &[], 1);
    assert_eq!(answer(&report)["left_out"][0]["item"], 1);
    let page = read(&report.folder().join("report.html"));
    assert!(page.contains("All of this is said of 1 of 2 items"));
}

/// All but one set of the second item fail, so that no step has both its ends; the third item is constant.
#[test]
fn too_few_values_are_no_answer_and_a_constant_is_one() {
    let place = studied(&sum("*) w=0;;"), "[5, -1, 7]", "{moat: {trajectories: 8}}");
    let sets = rows(&run(&place, &[], 0), "samples.csv");
    let first = |name: &str| &sets[0][name];
    let test = format!(
        "test {{in.item}} -lt 0 && test \"$(echo {{param.u}} {{param.n}} {{param.g}} {{param.two}} {{param.word}})\" != \"{} {} {} {} {}\"",
        first("u"),
        first("n"),
        first("g"),
        first("two"),
        first("word")
    );
    let constant = "if test {in.item} -eq 7; then echo 7 > {out.y}; exit 0; fi\n      u={param.u}";
    let flow = failing(&test).replace("u={param.u}", constant);
    let place = studied(&flow, "[5, -1, 7]", "{moat: {trajectories: 8}}");
    let told = place.headwater(&["study", "run", "study.yaml"]).ended(1);
    for text in [
        "item 1 (item -1) failed: 47 of its 48 evaluations have no value, and no index is left; it is left out",
        "no parameter has an effect on 1",
        "these are the indices of 2 of 3 items together",
    ] {
        assert!(told.stdout.contains(text), "{text}\n{}", told.stdout);
    }
    let found = answer(&run(&place, &[], 1));
    assert_eq!(found["left_out"].as_array().map(Vec::len), Some(1));
    assert_eq!(index(&found["items"][2], "mu_star"), [0.0; 5]);
}

/// Two numbers so close, beside the range, that a step between them has no length: it has no effect.
#[test]
fn steps_of_no_length_are_left_out_and_counted() {
    let flow = r#"
headwater: 1
workflow: narrow
inputs: {item: int}
parameters:
  a: {type: choice, values: [0.0, 1.0e-30, 1.0e+300], default: 0.0}
  b: {type: int, range: [0, 19], step: 1, default: 3}
stages:
  only:
    tasks: [{op: sum, in: {item: item}, params: {a: $a, b: $b}, out: {y: y}}]
outputs: {y: y}
operations:
  sum:
    shell: |
      case {param.a} in
      *300*|1000*) a=6;;
      *) a=0;;
      esac
      echo $((a + 2 * {param.b} + {in.item})) > {out.y}
    inputs: {item: int}
    params: {a: float, b: int}
    outputs: {y: {type: int, path: y}}
"#;
    let place = studied(flow, "0", "{moat: {trajectories: 12}}");
    let told = place.headwater(&["study", "run", "study.yaml"]).ended(0);
    let report = run(&place, &[], 0);
    let found = answer(&report);
    let (used, none) = (index(&found, "used"), index(&found, "no_step"));
    assert_eq!((used[1], none[1]), (12.0, 0.0));
    assert_eq!(used[0] + none[0], 12.0);
    assert!(none[0] > 0.0, "{found}");
    let line = format!("steps of no length, which have no effect: a {}", none[0]);
    assert!(told.stdout.contains(&line), "{}", told.stdout);
    let page = read(&report.folder().join("report.html"));
    assert!(
        page.contains("no effect can be computed: a ("),
        "the page names them"
    );
    assert!(!page.contains("NaN"));
    near(&index(&found, "mu"), &[6.0, 38.0], 1e-9);
}

//! `results.json`: the answer of a study for programs, in the shapes of SALib.
//!
//! Law: the text is a function of the phases. It carries no times, machines or names of runs, so that equal answers are
//! equal byte by byte. A number that is not known is null.

use serde_json::{Map, Value, json};

use super::summary::{
    Extreme, Indices, MoatRow, PhaseKind, PhaseSummary, StudyItem, StudyParameter, StudySummary,
    VbdRow, VbdRows,
};

/// The results of a study as JSON: the answer, and under `screen` that of a screening that comes before it. `complete` says
/// whether every evaluation has a value.
pub fn study_results_json(summary: &StudySummary) -> String {
    let mut results = Map::new();
    put(&mut results, "headwater", json!(1));
    put(&mut results, "study", json!(summary.study));
    put(&mut results, "workflow", json!(summary.workflow));
    put(&mut results, "objective", json!(summary.objective));
    put(&mut results, "complete", json!(summary.is_complete()));
    if let Some(extremes) = &summary.extremes {
        put(&mut results, "best", extreme(&extremes.best));
        put(&mut results, "worst", extreme(&extremes.worst));
    }
    // A screening whose second phase is missing is no answer.
    let (screen, answer) = summary.split();
    if let Some(answer) = answer {
        phase(&mut results, answer, summary);
    }
    if let Some(screen) = screen {
        let mut found = Map::new();
        phase(&mut found, screen, summary);
        put(&mut results, "screen", Value::Object(found));
    }
    let mut text = String::new();
    print(&Value::Object(results), 0, &mut text);
    text.push('\n');
    text
}

fn put(object: &mut Map<String, Value>, key: &str, value: Value) {
    object.insert(key.to_owned(), value);
}

fn phase(results: &mut Map<String, Value>, phase: &PhaseSummary, summary: &StudySummary) {
    let kind = match phase.kind {
        PhaseKind::Moat => "moat",
        PhaseKind::Vbd => "vbd",
        PhaseKind::Table => "table",
    };
    put(results, "method", json!(kind));
    put(results, "method_in_words", json!(phase.method));
    if let Some(effect) = phase.effect_in_words() {
        put(results, "step", json!(phase.step.name()));
        put(results, "effect", json!(effect));
        put(results, "unordered", json!(phase.unordered()));
    }
    put(results, "seed", json!(summary.seed));
    let name = |parameter: &StudyParameter| json!(parameter.name);
    put(
        results,
        "names",
        phase.parameters.iter().map(name).collect(),
    );
    indices(results, &phase.pooled);
    // Where there are too few for ranks no order is claimed.
    let ranking = if phase.pooled.has_ranks() {
        phase.pooled.ranking()
    } else {
        Vec::new()
    };
    let ranked = ranking
        .iter()
        .filter_map(|position| phase.parameters.get(*position));
    put(results, "ranking", ranked.map(name).collect());
    let places = phase.pooled.places();
    let ranks = places.iter().map(|place| json!(place));
    put(results, "ranks", ranks.collect());
    put(results, "remarks", json!(phase.remarks()));
    put(results, "confidence", json!(phase.confidence));
    put(results, "groups", json!(phase.groups));
    put(results, "sets", json!(phase.sets));
    let done = phase.values.iter().flatten().flatten().count();
    let evaluations = json!({
        "planned": phase.sets_planned * summary.items.len().max(1),
        "done": done,
        "failed": phase.failed.len(),
    });
    put(results, "evaluations", evaluations);
    let failed = phase.failed.iter();
    let failed =
        failed.map(|failed| json!({"set": failed.set, "item": failed.item, "why": failed.why}));
    put(results, "failed", failed.collect());
    let left_out = phase.left_out();
    let left_out = left_out.iter().map(|left| {
        let mut object = Map::new();
        name_of(&mut object, summary.items.get(left.item));
        put(&mut object, "item", json!(left.item));
        put(&mut object, "done", json!(left.evaluated));
        put(&mut object, "failed", json!(left.failed));
        put(&mut object, "why", json!(left.why()));
        Value::Object(object)
    });
    put(results, "left_out", left_out.collect());
    if let Some(rule) = phase.rule {
        let rule = json!({"ci": rule.ci, "reached": rule.reached, "held": rule.held});
        put(results, "stop_rule", rule);
    }
    let mut fixed = Map::new();
    for (name, value) in &phase.fixed {
        put(&mut fixed, name, json!(value));
    }
    put(results, "fixed", Value::Object(fixed));
    counts(results, &phase.pooled);
    if !phase.each.is_empty() {
        let items = phase.each.iter().enumerate();
        let items = items.map(|(position, found)| item(summary.items.get(position), found));
        put(results, "items", items.collect());
    }
    let prefixes = phase.convergence.iter().map(|prefix| {
        let mut found = Map::new();
        put(&mut found, "groups", json!(prefix.groups));
        put(&mut found, "sets", json!(prefix.sets));
        indices(&mut found, &prefix.indices);
        Value::Object(found)
    });
    put(results, "convergence", prefixes.collect());
}

fn extreme(extreme: &Extreme) -> Value {
    let mut parameters = Map::new();
    for (name, value) in &extreme.parameters {
        put(&mut parameters, name, json!(value));
    }
    json!({
        "set": extreme.set,
        "value": extreme.value,
        "items": extreme.items,
        "parameters": parameters,
    })
}

/// Which item it is, and from what.
fn name_of(object: &mut Map<String, Value>, item: Option<&StudyItem>) {
    let mut inputs = Map::new();
    for (name, called) in item.iter().flat_map(|item| &item.inputs) {
        put(&mut inputs, name, json!(called));
    }
    put(object, "index", json!(item.map(|item| &item.index)));
    put(object, "inputs", Value::Object(inputs));
}

fn item(item: Option<&StudyItem>, found: &Indices) -> Value {
    let mut object = Map::new();
    name_of(&mut object, item);
    indices(&mut object, found);
    counts(&mut object, found);
    Value::Object(object)
}

/// The arrays that SALib's analyses give, one entry per parameter.
fn indices(object: &mut Map<String, Value>, found: &Indices) {
    match found {
        Indices::None => {}
        Indices::Moat(rows) => {
            let array = |part: fn(&MoatRow) -> Option<f64>| {
                rows.iter().map(|row| json!(part(row))).collect()
            };
            put(object, "mu", array(|row| row.mu));
            put(object, "mu_star", array(|row| row.mu_star));
            put(object, "sigma", array(|row| row.sigma));
            put(object, "mu_star_conf", array(|row| row.mu_star_conf));
        }
        Indices::Vbd(found) => {
            let array = |part: fn(&VbdRow) -> Option<f64>| {
                found.rows.iter().map(|row| json!(part(row))).collect()
            };
            put(object, "S1", array(|row| row.s1));
            put(object, "S1_conf", array(|row| row.s1_conf));
            put(object, "ST", array(|row| row.st));
            put(object, "ST_conf", array(|row| row.st_conf));
            if !found.pairs.is_empty() {
                let (shares, halves) = squares(found);
                put(object, "S2", shares);
                put(object, "S2_conf", halves);
            }
        }
    }
}

/// Shares of pairs in squares: where SALib has no number, on the diagonal and below it, there is null.
fn squares(found: &VbdRows) -> (Value, Value) {
    let many = found.rows.len();
    let mut shares = vec![vec![Value::Null; many]; many];
    let mut halves = shares.clone();
    for pair in &found.pairs {
        let (one, other) = pair.parameters;
        if one < many && other < many {
            shares[one][other] = json!(pair.s2);
            halves[one][other] = json!(pair.s2_conf);
        }
    }
    (json!(shares), json!(halves))
}

/// How much counts, how much was lost for want of values, and how many steps had no length.
fn counts(object: &mut Map<String, Value>, found: &Indices) {
    match found {
        Indices::None => {}
        Indices::Moat(rows) => {
            put(
                object,
                "used",
                rows.iter().map(|row| json!(row.used)).collect(),
            );
            put(
                object,
                "lost",
                rows.iter().map(|row| json!(row.lost)).collect(),
            );
            put(
                object,
                "no_step",
                rows.iter().map(|row| json!(row.no_step)).collect(),
            );
        }
        Indices::Vbd(found) => {
            put(object, "used", json!(found.used));
            put(object, "lost", json!(found.lost));
            put(object, "constant", json!(found.constant));
        }
    }
}

/// Writes a value with two blanks for each level; arrays of plain values stand in one line.
fn print(value: &Value, depth: usize, text: &mut String) {
    let plain = |value: &Value| !matches!(value, Value::Array(_) | Value::Object(_));
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    };
    match value {
        Value::Array(entries) if entries.iter().all(plain) => {
            text.push('[');
            for (position, entry) in entries.iter().enumerate() {
                text.push_str(if position == 0 { "" } else { ", " });
                text.push_str(&entry.to_string());
            }
            text.push(']');
        }
        Value::Array(entries) => {
            text.push('[');
            for (position, entry) in entries.iter().enumerate() {
                text.push_str(if position == 0 { "" } else { "," });
                line(text, depth + 1);
                print(entry, depth + 1, text);
            }
            line(text, depth);
            text.push(']');
        }
        Value::Object(entries) if entries.is_empty() => text.push_str("{}"),
        Value::Object(entries) => {
            text.push('{');
            for (position, (key, entry)) in entries.iter().enumerate() {
                text.push_str(if position == 0 { "" } else { "," });
                line(text, depth + 1);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push_str(": ");
                print(entry, depth + 1, text);
            }
            line(text, depth);
            text.push('}');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

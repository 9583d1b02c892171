//! What a study came to, as one JSON object for scripts.
//!
//! Law: it says what the terminal says, with all digits and for all items. What is in `results.json` too has its key; indices
//! are arrays beside `names`, as SALib has them; what is not known is null.

use std::path::Path;

use headwater::study::{
    Extreme, FixedValue, Indices, MoatRow, PhaseKind, PhaseSummary, StudyFacts, StudySummary,
    VbdRow, VbdRows,
};
use serde_json::{Map, Value, json};

use crate::study::show::{all_evaluations, evaluations, files, objective, seconds};

/// The object that `--json` prints.
pub(crate) fn summary_json(summary: &StudySummary, folder: &Path) -> Value {
    let facts = &summary.facts;
    let all = all_evaluations(summary);
    let there = files(folder).map(|(what, path)| (what.to_owned(), json!(path)));
    let phases = summary.phases.iter().map(|found| phase(summary, found));
    let failures = summary
        .phases
        .iter()
        .enumerate()
        .flat_map(|(phase, found)| {
            found.failed.iter().map(move |failed| {
                json!({
                    "phase": phase,
                    "set": failed.set,
                    "item": failed.item,
                    "message": failed.why,
                })
            })
        });
    json!({
        "study": summary.study,
        "workflow": summary.workflow,
        "objective": summary.objective,
        "method": summary.method,
        "seed": summary.seed,
        "run": facts.run,
        "folder": folder,
        "files": Map::from_iter(there),
        "items": summary.items.iter().map(|item| json!({
            "index": item.index,
            "inputs": pairs(&item.inputs),
        })).collect::<Vec<Value>>(),
        "evaluations": all.wanted,
        "evaluated": all.evaluated,
        "failed": all.failed,
        "failures": failures.collect::<Vec<Value>>(),
        "phases": phases.collect::<Vec<Value>>(),
        "best": summary.extremes.as_ref().map(|extremes| extreme(&extremes.best)),
        "worst": summary.extremes.as_ref().map(|extremes| extreme(&extremes.worst)),
        "counts": counts(facts),
        "sharing": facts.sharing,
        "cores": facts.cores,
        "seconds": facts.seconds,
        "running_seconds": facts.running_seconds,
        "work_seconds": facts.tasks.iter().map(|task| task.seconds).sum::<f64>(),
        "saved_seconds": seconds(facts).1,
        "forecast": facts.forecast.as_ref().map(|forecast| json!({
            "from": forecast.from,
            "tasks": forecast.tasks,
            "work_seconds": forecast.work_seconds,
            "seconds": forecast.seconds,
            "fact": {
                "tasks": forecast.fact.0,
                // The sum of nothing has a sign.
                "work_seconds": forecast.fact.1 + 0.0,
                "seconds": forecast.fact.2,
            },
        })),
        "stopped": facts.stopped,
        "notes": summary.doubts.iter().chain(&facts.notes).collect::<Vec<_>>(),
    })
}

/// Names with their texts, as an object.
fn pairs(pairs: &[(String, String)]) -> Map<String, Value> {
    let pairs = pairs.iter().map(|(name, text)| (name.clone(), json!(text)));
    pairs.collect()
}

/// Names with their values, as an object.
fn fixed(values: &[(String, FixedValue)]) -> Map<String, Value> {
    let value = |value: &FixedValue| match value {
        FixedValue::Bool(value) => json!(value),
        FixedValue::Int(value) => json!(value),
        FixedValue::Float(value) => json!(value),
        FixedValue::Text(value) => json!(value),
    };
    let values = values.iter();
    values.map(|(name, of)| (name.clone(), value(of))).collect()
}

/// A parameter set, and what the objective is there.
fn extreme(found: &Extreme) -> Value {
    json!({
        "set": found.set,
        "value": found.value,
        "items": found.items,
        "parameters": fixed(&found.parameters),
    })
}

fn counts(facts: &StudyFacts) -> Value {
    let tally = facts.tally();
    json!({
        "tasks": facts.asked(),
        "distinct": tally.tasks,
        "executed": tally.executed,
        "cut_off": tally.cut_off,
        "reused": tally.reused,
        "failed": tally.failed,
        "blocked": tally.blocked,
        "left": tally.left(),
        "recomputed": facts.recomputed,
    })
}

fn phase(summary: &StudySummary, phase: &PhaseSummary) -> Value {
    let count = evaluations(phase, summary.items.len());
    let names: Vec<&str> = phase.parameters.iter().map(|found| &*found.name).collect();
    // Where there are too few for ranks no order is claimed.
    let ranking = if phase.pooled.has_ranks() {
        phase.pooled.ranking()
    } else {
        Vec::new()
    };
    let ranking = ranking.iter().filter_map(|position| names.get(*position));
    let left_out = phase.left_out();
    let left_out = left_out.iter().map(|left| {
        json!({
            "item": left.item,
            "done": left.evaluated,
            "failed": left.failed,
            "why": left.why(),
        })
    });
    let mut object = json!({
        "method": match phase.kind {
            PhaseKind::Moat => "moat",
            PhaseKind::Vbd => "vbd",
            PhaseKind::Table => "table",
        },
        "method_in_words": phase.method,
        "groups": phase.groups,
        "groups_planned": phase.groups_planned,
        "sets": phase.sets,
        "sets_planned": phase.sets_planned,
        "evaluations": {
            "planned": phase.sets_planned * summary.items.len(),
            "done": count.evaluated,
            "failed": count.failed,
        },
        "fixed": fixed(&phase.fixed),
        "range": objective(phase).map(|(least, mean, most)| json!({
            "least": least, "mean": mean, "most": most,
        })),
        "stop_rule": phase.rule.map(|rule| json!({
            "ci": rule.ci, "reached": rule.reached, "held": rule.held,
        })),
        "confidence": phase.confidence,
        "step": phase.effect_in_words().map(|_| phase.step.name()),
        "effect": phase.effect_in_words(),
        "left_out": left_out.collect::<Vec<Value>>(),
        "names": names,
        "ranking": ranking.collect::<Vec<_>>(),
        "ranks": phase.pooled.places(),
        "remarks": phase.remarks(),
        "indices": indices(&phase.pooled),
    });
    if !phase.each.is_empty() {
        object["each"] = phase.each.iter().map(indices).collect();
    }
    object
}

/// The indices, each an array in the order of the names.
fn indices(found: &Indices) -> Value {
    match found {
        Indices::None => Value::Null,
        Indices::Moat(rows) => {
            let column = |of: fn(&MoatRow) -> Value| rows.iter().map(of).collect::<Vec<_>>();
            json!({
                "mu": column(|row| json!(row.mu)),
                "mu_star": column(|row| json!(row.mu_star)),
                "sigma": column(|row| json!(row.sigma)),
                "mu_star_conf": column(|row| json!(row.mu_star_conf)),
                "used": column(|row| json!(row.used)),
                "lost": column(|row| json!(row.lost)),
                "no_step": column(|row| json!(row.no_step)),
            })
        }
        Indices::Vbd(found) => vbd(found),
    }
}

fn vbd(found: &VbdRows) -> Value {
    let column = |of: fn(&VbdRow) -> Option<f64>| found.rows.iter().map(of).collect::<Vec<_>>();
    let mut object = json!({
        "S1": column(|row| row.s1),
        "S1_conf": column(|row| row.s1_conf),
        "ST": column(|row| row.st),
        "ST_conf": column(|row| row.st_conf),
        "used": found.used,
        "lost": found.lost,
        "constant": found.constant,
    });
    if !found.pairs.is_empty() {
        // A square of which the part above the diagonal is known.
        let empty = vec![vec![None; found.rows.len()]; found.rows.len()];
        let (mut shares, mut widths) = (empty.clone(), empty);
        for pair in &found.pairs {
            let (one, other) = pair.parameters;
            if one < found.rows.len() && other < found.rows.len() {
                shares[one][other] = pair.s2;
                widths[one][other] = pair.s2_conf;
            }
        }
        object["S2"] = json!(shares);
        object["S2_conf"] = json!(widths);
    }
    object
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::study::cases;

    fn object(summary: &StudySummary) -> Value {
        summary_json(summary, Path::new("nowhere"))
    }

    #[test]
    fn a_screening() {
        let object = object(&cases::moat());
        let keys: Vec<&str> = object
            .as_object()
            .map(|object| object.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let expected = [
            "study",
            "workflow",
            "objective",
            "method",
            "seed",
            "run",
            "folder",
            "files",
            "items",
            "evaluations",
            "evaluated",
            "failed",
            "failures",
            "phases",
            "best",
            "worst",
            "counts",
            "sharing",
            "cores",
            "seconds",
            "running_seconds",
            "work_seconds",
            "saved_seconds",
            "forecast",
            "stopped",
            "notes",
        ];
        assert_eq!(keys, expected);
        assert_eq!(object["study"], "nuclei-moat");
        assert_eq!(object["evaluations"], 200);
        assert_eq!(object["evaluated"], 200);
        assert_eq!(object["failed"], 0);
        assert_eq!(
            object["counts"],
            json!({
                "tasks": 5120, "distinct": 2857, "executed": 1904, "cut_off": 953, "reused": 0,
                "failed": 0, "blocked": 0, "left": 0, "recomputed": 0,
            })
        );
        assert_eq!(object["work_seconds"], 26.0);
        assert_eq!(object["forecast"], Value::Null);
        let phase = &object["phases"][0];
        assert_eq!(phase["method"], "moat");
        assert_eq!(
            phase["evaluations"],
            json!({"planned": 200, "done": 200, "failed": 0})
        );
        assert_eq!(phase["names"], json!(["G1", "G2", "ReconConn", "T2"]));
        assert_eq!(phase["ranking"], json!(["G2", "G1", "T2", "ReconConn"]));
        assert_eq!(
            phase["range"],
            json!({"least": 0.5, "mean": 0.625, "most": 0.75})
        );
        let indices = &phase["indices"];
        assert_eq!(indices["mu_star"], json!([0.31, 0.412, 0.0, 0.0231]));
        assert_eq!(indices["mu_star_conf"], json!([0.06, 0.05, 0.0, 0.0117]));
        assert_eq!(indices["used"], json!([40, 40, 40, 40]));
        assert_eq!(phase.get("each"), None);
    }

    #[test]
    fn a_decomposition_has_pairs_as_a_square() {
        let with_pairs = object(&cases::vbd_with_pairs());
        let phase = &with_pairs["phases"][0];
        assert_eq!(phase["fixed"], json!({"ReconConn": 8}));
        let indices = &phase["indices"];
        assert_eq!(indices["S1"], json!([0.21, 0.55, -0.002]));
        assert_eq!(indices["ST_conf"], json!([0.09, 0.11, 0.006]));
        let square = json!([[null, 0.12, 0.01], [null, null, null], [null, null, null]]);
        assert_eq!(indices["S2"], square);
        let without = object(&cases::vbd());
        assert_eq!(without["phases"][0]["indices"].get("S2"), None);
    }

    #[test]
    fn several_items_have_their_own_indices() {
        let object = object(&cases::two_items());
        assert_eq!(object["evaluations"], 400);
        let item = json!({"index": "1", "inputs": {"tile": "tile1.png"}});
        assert_eq!(object["items"][1], item);
        let each = &object["phases"][0]["each"];
        assert_eq!(each[0], object["phases"][0]["indices"]);
        assert_eq!(each[1]["mu_star"], json!([0.1, 0.1, 0.1, 0.1]));
    }

    #[test]
    fn items_without_an_answer() {
        let object = object(&cases::failed_items());
        let phase = &object["phases"][0];
        assert_eq!(
            phase["left_out"],
            json!([
                {"item": 1, "done": 0, "failed": 200, "why": "none of its 200 evaluations has a value"},
                {"item": 2, "done": 1, "failed": 199,
                 "why": "199 of its 200 evaluations have no value, and no index is left"},
            ])
        );
        assert_eq!(phase["step"], "actual");
        assert_eq!(phase["effect"], headwater::study::EFFECT);
        assert_eq!(phase["each"][1]["no_step"], json!([0, 0, 0, 0]));
    }

    #[test]
    fn failures_and_what_is_not_known() {
        let object = object(&cases::with_failures());
        assert_eq!(object["evaluations"], 200);
        assert_eq!(object["evaluated"], 197);
        assert_eq!(object["failed"], 3);
        let failures = object["failures"].as_array().expect("a list");
        assert_eq!(failures.len(), 3);
        assert_eq!(failures[2]["set"], 77);
        assert_eq!(failures[2]["phase"], 0);
        let why = failures[2]["message"].as_str().expect("a text");
        assert!(why.ends_with("and said much more"), "{why}");
        assert_eq!(object["phases"][0]["indices"]["mu_star"][3], Value::Null);
        assert_eq!(object["phases"][0]["indices"]["lost"], json!([5, 0, 0, 40]));
    }

    #[test]
    fn stopped_and_forecast() {
        let stopped = object(&cases::stopped());
        assert_eq!(stopped["stopped"], true);
        assert_eq!(
            (&stopped["evaluated"], &stopped["evaluations"]),
            (&json!(80), &json!(200))
        );
        let two = object(&cases::two_phases());
        assert_eq!(two["forecast"]["tasks"], 2857);
        assert_eq!(two["phases"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn files_are_null_unless_they_are_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let report = folder.path().join("report.html");
        fs::write(&report, "").expect("a file");
        let object = summary_json(&cases::moat(), folder.path());
        assert_eq!(object["folder"], json!(folder.path()));
        let files = json!({"report": report, "results": null, "samples": null, "screen": null});
        assert_eq!(object["files"], files);
    }
}

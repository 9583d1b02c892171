//! How far a run is, for programs: JSON objects, one for each event.
//!
//! Law: an event is a function of a snapshot. Fields may be added, and none changes its meaning (`docs/watching.md`).

use headwater_graph::progress::{LiveAnswer, News, RunFacts, Snapshot, StageSnapshot};
use serde_json::{Value, json};

/// The run begins.
pub fn start(facts: &RunFacts) -> Value {
    json!({
        "event": "start",
        "run": facts.run,
        "workflow": facts.workflow,
        "study": facts.study,
        "started": facts.started,
        "cores": facts.cores,
        "folder": facts.folder,
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// Something happened.
pub fn news(news: &News) -> Value {
    match news {
        News::Line(line) => json!({"event": "note", "message": line}),
        News::Failed {
            task,
            message,
            again,
        } => json!({"event": "failed", "task": task, "message": message, "again": again}),
    }
}

/// How fast it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pace {
    /// Since the first task could start.
    pub elapsed_seconds: f64,
    /// How many tasks end in a second; `None` before the first has ended.
    pub rate: Option<f64>,
    /// How many seconds are left at that rate.
    pub left_seconds: Option<f64>,
}

impl Pace {
    /// How fast a run is.
    pub fn of(snapshot: &Snapshot) -> Pace {
        let ended = snapshot.tally.ended();
        let seconds = snapshot.elapsed.as_secs_f64();
        let rate = (ended > 0 && seconds > 0.0).then(|| ended as f64 / seconds);
        Pace {
            elapsed_seconds: seconds,
            rate,
            left_seconds: rate.map(|rate| snapshot.tally.left() as f64 / rate),
        }
    }
}

/// An event of progress, from what [`state`] gave.
pub fn progress(state: &Value, pace: Pace) -> Value {
    let (rate, left) = (pace.rate.map(rounded), pace.left_seconds.map(rounded));
    let elapsed = rounded(pace.elapsed_seconds);
    let mut event = json!({
        "event": "progress", "elapsed_seconds": elapsed, "rate": rate, "left_seconds": left,
    });
    for (name, value) in state.as_object().into_iter().flatten() {
        event[name] = value.clone();
    }
    event
}

/// What is said of a run apart from times, so that it can be seen whether that has changed; `None` before it began.
pub fn state(snapshot: &Snapshot, answer: Option<&LiveAnswer>) -> Option<Value> {
    match &snapshot.study {
        None => (!snapshot.stages.is_empty()).then(|| of_run(snapshot)),
        Some(study) => (study.phase > 0).then(|| of_study(snapshot, answer)),
    }
}

fn of_run(snapshot: &Snapshot) -> Value {
    let stages = snapshot.stages.iter().map(|found| {
        let mut object = stage(found);
        object["waiting"] = json!(found.waiting());
        object
    });
    json!({
        "planned": snapshot.tally.planned,
        "ended": snapshot.tally.ended(),
        "stages": stages.collect::<Vec<_>>(),
        "memory_bytes": memory(snapshot),
        "written_bytes": snapshot.written,
    })
}

fn of_study(snapshot: &Snapshot, answer: Option<&LiveAnswer>) -> Value {
    let sizes = |answer: &LiveAnswer| {
        let sizes = answer.sizes.iter().map(|(name, size, half_width)| {
            json!({"parameter": &**name, "size": size, "half_width": half_width})
        });
        json!({
            "index": answer.index,
            "evaluated": answer.evaluated,
            "sizes": sizes.collect::<Vec<_>>(),
        })
    };
    let study = snapshot.study.clone().unwrap_or_default();
    json!({
        "phase": study.phase,
        "phases": study.phases,
        "method": study.method,
        "planned": snapshot.tally.planned,
        "ended": snapshot.tally.ended(),
        "running": snapshot.running,
        "evaluations": {
            "planned": study.evaluations,
            "evaluated": study.evaluated,
            "failed": study.failed,
        },
        "stages": snapshot.stages.iter().map(stage).collect::<Vec<_>>(),
        "answer": answer.map(sizes),
        "memory_bytes": memory(snapshot),
        "written_bytes": snapshot.written,
    })
}

fn stage(stage: &StageSnapshot) -> Value {
    json!({
        "stage": &*stage.name,
        "tasks": stage.tally.tasks,
        "running": stage.running,
        "executed": stage.tally.executed,
        "reused": stage.tally.reused,
        "cut_off": stage.tally.cut_off,
        "failed": stage.tally.failed,
        "blocked": stage.tally.blocked,
        "task_seconds": rounded(stage.spent.as_secs_f64()),
    })
}

fn memory(snapshot: &Snapshot) -> Value {
    let memory = &snapshot.memory;
    json!({"products": memory.products, "tasks": memory.promised, "limit": memory.limit})
}

/// To a thousandth.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use headwater_graph::Tally;

    use super::*;

    #[test]
    fn rates() {
        let pace = |ended: usize| {
            let pace = Pace::of(&Snapshot {
                tally: Tally {
                    tasks: 4,
                    planned: 4,
                    executed: ended,
                    ..Tally::default()
                },
                elapsed: Duration::from_millis(500),
                ..Snapshot::default()
            });
            (pace.elapsed_seconds, pace.rate, pace.left_seconds)
        };
        assert_eq!(pace(0), (0.5, None, None));
        assert_eq!(pace(1), (0.5, Some(2.0), Some(1.5)));
        assert_eq!(pace(4), (0.5, Some(8.0), Some(0.0)));
    }
}

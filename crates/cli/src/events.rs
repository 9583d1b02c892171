//! Progress for programs: one JSON object per line on stderr.
//!
//! Law: what an event says is a function of a snapshot. Progress is told when something has changed, at most five times
//! a second, every ten seconds in any case, and once more at the end; news are told at once. Fields may be added, and
//! none changes its meaning (`docs/watching.md`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater::Progress;
use headwater::progress::{MemorySnapshot, News, RunFacts, Snapshot, StageSnapshot};
use headwater::study::{LiveAnswer, StudySnapshot};
use serde_json::{Value, json};

use crate::show;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(50);
/// Between two events of progress, at least.
const PAUSE: Duration = Duration::from_millis(200);
/// Progress is told after so long, even if nothing has changed.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// What is seen at one look.
pub(crate) struct Seen {
    pub(crate) facts: Option<Arc<RunFacts>>,
    pub(crate) news: Vec<News>,
    pub(crate) over: bool,
    /// The event of progress, apart from times; `None` before there is any.
    pub(crate) state: Option<Value>,
    /// Elapsed seconds, rate and seconds left.
    pub(crate) times: (f64, Option<f64>, Option<f64>),
}

/// Tells what is seen until it is over.
pub(crate) fn follow(look: impl FnMut() -> Seen) {
    tell(look, &mut |event| show::event(&event), LOOK);
}

fn tell(mut look: impl FnMut() -> Seen, out: &mut dyn FnMut(Value), pause: Duration) {
    let mut started = false;
    let mut last: Option<(Instant, Value)> = None;
    loop {
        let seen = look();
        if let Some(facts) = seen.facts.as_ref().filter(|_| !started) {
            started = true;
            out(start(facts));
        }
        for news in &seen.news {
            out(told(news));
        }
        if let Some(state) = seen.state {
            let due = match &last {
                None => true,
                Some(_) if seen.over => true,
                Some((when, before)) => {
                    let since = when.elapsed();
                    since >= HEARTBEAT || (since >= PAUSE && *before != state)
                }
            };
            if due {
                out(progress(&state, seen.times));
                last = Some((Instant::now(), state));
            }
        }
        if seen.over {
            return;
        }
        std::thread::sleep(pause);
    }
}

fn start(facts: &RunFacts) -> Value {
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

fn told(news: &News) -> Value {
    match news {
        News::Line(line) => json!({"event": "note", "message": line}),
        News::Failed {
            task,
            message,
            again,
        } => json!({"event": "failed", "task": task, "message": message, "again": again}),
    }
}

fn progress(state: &Value, (elapsed, rate, left): (f64, Option<f64>, Option<f64>)) -> Value {
    let (rate, left) = (rate.map(rounded), left.map(rounded));
    let mut event = json!({
        "event": "progress", "elapsed_seconds": rounded(elapsed), "rate": rate, "left_seconds": left,
    });
    for (name, value) in state.as_object().into_iter().flatten() {
        event[name] = value.clone();
    }
    event
}

/// To a thousandth.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// How many tasks end in a second, and how many seconds are left at that rate.
fn pace(ended: usize, planned: usize, elapsed: Duration) -> (f64, Option<f64>, Option<f64>) {
    let seconds = elapsed.as_secs_f64();
    let rate = (ended > 0 && seconds > 0.0).then(|| ended as f64 / seconds);
    let left = rate.map(|rate| planned.saturating_sub(ended) as f64 / rate);
    (seconds, rate, left)
}

fn stage(stage: &StageSnapshot) -> Value {
    json!({
        "stage": &*stage.name,
        "tasks": stage.tasks,
        "running": stage.running,
        "executed": stage.executed,
        "reused": stage.reused(),
        "cut_off": stage.cut_off,
        "failed": stage.failed,
        "blocked": stage.blocked,
        "task_seconds": rounded(stage.spent.as_secs_f64()),
    })
}

fn memory(memory: &MemorySnapshot) -> Value {
    json!({"products": memory.products, "tasks": memory.promised, "limit": memory.limit})
}

/// A run at one look.
pub(crate) fn of_run(progress: &Progress) -> Seen {
    let snapshot = progress.snapshot();
    let sum = |of: fn(&StageSnapshot) -> usize| snapshot.stages.iter().map(of).sum::<usize>();
    let (planned, ended) = (sum(|stage| stage.planned), sum(|stage| stage.ended));
    Seen {
        state: (!snapshot.stages.is_empty()).then(|| run_state(&snapshot, planned, ended)),
        times: pace(ended, planned, snapshot.elapsed),
        facts: snapshot.facts,
        news: snapshot.news,
        over: snapshot.over,
    }
}

fn run_state(snapshot: &Snapshot, planned: usize, ended: usize) -> Value {
    let stages = snapshot.stages.iter().map(|found| {
        let mut object = stage(found);
        object["waiting"] = json!(found.waiting());
        object
    });
    json!({
        "planned": planned,
        "ended": ended,
        "stages": stages.collect::<Vec<_>>(),
        "memory_bytes": memory(&snapshot.memory),
        "written_bytes": snapshot.written,
    })
}

/// A study at one look.
pub(crate) fn of_study(snapshot: StudySnapshot, answer: Option<&LiveAnswer>) -> Seen {
    let begun = snapshot.phase.0 > 0;
    Seen {
        state: begun.then(|| study_state(&snapshot, answer)),
        times: pace(snapshot.ended, snapshot.tasks, snapshot.elapsed),
        facts: snapshot.facts,
        news: snapshot.news,
        over: snapshot.over,
    }
}

fn study_state(snapshot: &StudySnapshot, answer: Option<&LiveAnswer>) -> Value {
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
    json!({
        "phase": snapshot.phase.0,
        "phases": snapshot.phase.1,
        "method": snapshot.method,
        "planned": snapshot.tasks,
        "ended": snapshot.ended,
        "running": snapshot.running,
        "evaluations": {
            "planned": snapshot.evaluations,
            "evaluated": snapshot.evaluated,
            "failed": snapshot.failed,
        },
        "stages": snapshot.stages.iter().map(stage).collect::<Vec<_>>(),
        "answer": answer.map(sizes),
        "memory_bytes": memory(&snapshot.memory),
        "written_bytes": snapshot.written,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(state: Option<Value>, over: bool) -> Seen {
        Seen {
            facts: None,
            news: Vec::new(),
            over,
            state,
            times: (1.0, None, None),
        }
    }

    fn told(seen: Vec<Seen>) -> Vec<Value> {
        let mut seen = seen.into_iter();
        let mut events = Vec::new();
        let look = || seen.next().expect("it was over");
        tell(look, &mut |event| events.push(event), Duration::ZERO);
        events
    }

    #[test]
    fn what_does_not_change_is_not_told_again_but_at_the_end() {
        let state = || Some(json!({"ended": 1}));
        let all = vec![
            seen(None, false),
            seen(state(), false),
            seen(state(), false),
        ];
        let ends: Vec<Seen> = all.into_iter().chain([seen(state(), true)]).collect();
        let events = told(ends);
        let expected = json!({"event": "progress", "ended": 1, "elapsed_seconds": 1.0, "rate": null, "left_seconds": null});
        assert_eq!(events, [expected.clone(), expected]);
    }

    #[test]
    fn what_never_began_has_no_progress() {
        assert_eq!(told(vec![seen(None, true)]), [] as [Value; 0]);
    }

    #[test]
    fn news_and_the_start_come_at_once_and_once() {
        let facts = Arc::new(RunFacts {
            run: "r".to_owned(),
            ..RunFacts::default()
        });
        let news = |news: Vec<News>, over| Seen {
            facts: Some(Arc::clone(&facts)),
            news,
            ..seen(None, over)
        };
        let failed = News::Failed {
            task: "a.b".to_owned(),
            message: "no luck".to_owned(),
            again: true,
        };
        let line = News::Line("stopping".to_owned());
        let events = told(vec![news(vec![failed], false), news(vec![line], true)]);
        let kinds: Vec<&str> = events
            .iter()
            .filter_map(|one| one["event"].as_str())
            .collect();
        assert_eq!(kinds, ["start", "failed", "note"]);
        assert_eq!(
            events[1],
            json!({"event": "failed", "task": "a.b", "message": "no luck", "again": true})
        );
        assert_eq!(events[2]["message"], "stopping");
    }

    #[test]
    fn rates() {
        let half = Duration::from_millis(500);
        assert_eq!(pace(0, 4, half), (0.5, None, None));
        assert_eq!(pace(1, 4, half), (0.5, Some(2.0), Some(1.5)));
        assert_eq!(pace(4, 4, half), (0.5, Some(8.0), Some(0.0)));
    }
}

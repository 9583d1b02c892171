//! Progress for programs: one JSON object per line on stderr.
//!
//! Law: progress is reported when something has changed, at most five times a second, every ten seconds in any case, and
//! once more at the end; news are reported at once. What an event says is up to [`headwater::progress::events`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater::progress::events::{self, Pace};
use headwater::progress::{LiveAnswer, News, RunFacts, Snapshot};
use serde_json::Value;

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
    pub(crate) pace: Pace,
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
            out(events::start(facts));
        }
        for news in &seen.news {
            out(events::news(news));
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
                out(events::progress(&state, seen.pace));
                last = Some((Instant::now(), state));
            }
        }
        if seen.over {
            return;
        }
        std::thread::sleep(pause);
    }
}

/// A run or a study at one look.
pub(crate) fn of(snapshot: Snapshot, answer: Option<&LiveAnswer>) -> Seen {
    Seen {
        state: events::state(&snapshot, answer),
        pace: Pace::of(&snapshot),
        facts: snapshot.facts,
        news: snapshot.news,
        over: snapshot.over,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(state: Option<Value>, over: bool) -> Seen {
        Seen {
            facts: None,
            news: Vec::new(),
            over,
            state,
            pace: Pace {
                elapsed_seconds: 1.0,
                ..Pace::default()
            },
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
}

//! Tallies of tasks as files have them.
//!
//! Law: the names of fields in files stay, whatever the parts of a [`Tally`] are called.

use headwater_graph::Tally;
use serde::{Deserialize, Serialize};

/// As summaries of runs have it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Tally")]
pub(crate) struct OfRun {
    tasks: usize,
    #[serde(skip)]
    planned: usize,
    executed: usize,
    #[serde(default)]
    restored: usize,
    reused: usize,
    cut_off: usize,
    failed: usize,
    blocked: usize,
    #[serde(default)]
    recomputed: usize,
}

/// As summaries of studies have it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Tally")]
pub(crate) struct OfStudy {
    #[serde(rename = "distinct")]
    tasks: usize,
    executed: usize,
    cut_off: usize,
    #[serde(rename = "remembered")]
    reused: usize,
    failed: usize,
    blocked: usize,
    #[serde(getter = "Tally::left")]
    left: usize,
}

impl From<OfStudy> for Tally {
    fn from(found: OfStudy) -> Tally {
        Tally {
            tasks: found.tasks,
            planned: found.tasks.saturating_sub(found.reused),
            executed: found.executed,
            cut_off: found.cut_off,
            reused: found.reused,
            failed: found.failed,
            blocked: found.blocked,
            ..Tally::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Rows {
        #[serde(with = "OfRun")]
        run: Tally,
        #[serde(flatten, with = "OfStudy")]
        study: Tally,
        seconds: f64,
    }

    #[test]
    fn the_fields_of_files_stay() {
        let tally = Tally {
            tasks: 9,
            executed: 3,
            reused: 2,
            cut_off: 1,
            failed: 1,
            blocked: 1,
            ..Tally::default()
        };
        let rows = Rows {
            run: tally,
            study: Tally {
                planned: 7,
                ..tally
            },
            seconds: 0.5,
        };
        let text = serde_json::to_string(&rows).expect("text");
        let expected = concat!(
            r#"{"run":{"tasks":9,"executed":3,"restored":0,"reused":2,"cut_off":1,"failed":1,"blocked":1,"recomputed":0},"#,
            r#""distinct":9,"executed":3,"cut_off":1,"remembered":2,"failed":1,"blocked":1,"left":1,"seconds":0.5}"#,
        );
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Rows>(&text).expect("rows"), rows);
        let old = r#"{"run": {"tasks": 2, "executed": 1, "reused": 1, "cut_off": 0, "failed": 0, "blocked": 0},
            "distinct": 0, "executed": 0, "cut_off": 0, "remembered": 0, "failed": 0, "blocked": 0, "left": 0, "seconds": 1}"#;
        let old: Rows = serde_json::from_str(old).expect("what an earlier version wrote");
        assert_eq!((old.run.done(), old.run.left()), (2, 0));
    }
}

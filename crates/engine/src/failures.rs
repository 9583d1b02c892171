//! What failed in a run, noted with it for those who ask later.
//!
//! Law: what is read is what was written. A run does not fail for want of the note; what cannot be read of it is left
//! out.

use std::io;
use std::path::PathBuf;

use headwater_graph::{FailedTask, Failure, FailureKind, Store};
use serde::{Deserialize, Serialize};

/// A line for each task that failed.
const FAILED: &str = "failed.jsonl";
/// All failures in words, for people; in the folder of the outputs, or with the run where there is none.
pub const FAILURES: &str = "failures.txt";
/// No more bytes than these are noted.
const MOST: usize = 64 << 20;

/// A line of [`FAILED`].
#[derive(Serialize, Deserialize)]
struct Line {
    address: String,
    kind: String,
    message: String,
    command: Option<Vec<String>>,
    folder: Option<PathBuf>,
    stderr: String,
    attempts: u32,
    blocked: usize,
    from: Vec<(String, String)>,
}

impl Line {
    fn of(failed: &FailedTask) -> Line {
        let failure = &failed.failure;
        // A name that is no text is shown as well as it can be.
        let folder = failure.folder.as_ref();
        let folder = folder.map(|folder| folder.to_string_lossy().into_owned().into());
        let from = failed.from.iter();
        Line {
            address: failed.address.clone(),
            kind: failure.kind.to_string(),
            message: failure.message.clone(),
            command: failure.command.clone(),
            folder,
            stderr: failure.stderr.clone(),
            attempts: failed.attempts,
            blocked: failed.blocked,
            from: from
                .map(|(name, value)| (name.to_string(), value.clone()))
                .collect(),
        }
    }

    fn read(self) -> Option<FailedTask> {
        let from = self.from.into_iter();
        Some(FailedTask {
            address: self.address,
            failure: Failure {
                kind: FailureKind::parse(&self.kind)?,
                message: self.message,
                command: self.command,
                folder: self.folder,
                stderr: self.stderr,
            },
            attempts: self.attempts,
            blocked: self.blocked,
            from: from.map(|(name, value)| (name.into(), value)).collect(),
        })
    }
}

/// All of them in words.
pub fn in_words(failures: &[FailedTask]) -> String {
    let all: Vec<String> = failures.iter().map(FailedTask::description).collect();
    all.join("\n\n") + "\n"
}

/// Notes what failed.
pub fn note(store: &dyn Store, run: &str, failures: &[FailedTask]) -> io::Result<()> {
    if failures.is_empty() {
        return Ok(());
    }
    let mut text = Vec::new();
    for failed in failures {
        let mut line = serde_json::to_vec(&Line::of(failed))?;
        line.push(b'\n');
        if text.len() + line.len() > MOST {
            break;
        }
        text.extend_from_slice(&line);
    }
    store.attach(run, FAILED, &text)
}

/// What failed in a run, in the order of the workflow, as far as it was noted.
pub fn noted(store: &dyn Store, run: &str) -> Vec<FailedTask> {
    let text = store.attachment(run, FAILED).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    lines.filter_map(Line::read).collect()
}

#[cfg(test)]
mod tests {
    use headwater_graph::{Mode, RunRecord};

    use super::*;

    #[test]
    fn what_failed_is_read_as_it_was_noted() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = headwater_remember::open(&folder.path().join(".headwater"), Mode::ReadWrite)
            .expect("a store");
        let record = RunRecord {
            id: "20261117-120000-abcd".to_owned(),
            ..RunRecord::default()
        };
        store.begin_run(&record).expect("it begins");
        assert!(noted(&*store, &record.id).is_empty());
        let plain = FailedTask {
            address: "a.b[0]".to_owned(),
            failure: Failure::new(FailureKind::Panicked, "it said no\nmore".to_owned()),
            attempts: 1,
            blocked: 0,
            from: Vec::new(),
        };
        let full = FailedTask {
            failure: Failure {
                kind: FailureKind::Exit(3),
                command: Some(vec!["sh".to_owned(), "a b".to_owned()]),
                folder: Some("w/1".into()),
                stderr: "one\n\u{1b}two".to_owned(),
                ..plain.failure.clone()
            },
            attempts: 2,
            blocked: 7,
            from: vec![("sample".into(), "w07".to_owned())],
            ..plain.clone()
        };
        let all = [plain, full];
        note(&*store, &record.id, &all).expect("it can be noted");
        assert_eq!(noted(&*store, &record.id), all);
    }
}

//! Explanations that real runs give rarely: two runs at once, lost records, tasks that nothing needed.

use std::sync::Arc;

use headwater::explain::Why;
use headwater::graph::{ProductRecord, Recipe};
use headwater::runs::{Outcome, RunRecord, RunStatus, RunTask};
use headwater::{Store, explain};
use headwater_graph::Mode;

struct Case {
    _folder: tempfile::TempDir,
    store: Arc<dyn Store>,
}

impl Case {
    fn new() -> Case {
        let folder = tempfile::tempdir().unwrap();
        let store =
            headwater_remember::open(&folder.path().join("store"), Mode::ReadWrite).unwrap();
        Case {
            _folder: folder,
            store,
        }
    }

    /// A run that begins at this second.
    fn begin(&self, id: &str, started: i64) {
        let run = RunRecord {
            id: id.to_owned(),
            workflow: "flow".to_owned(),
            file: "flow.yaml".into(),
            started,
            tasks: 1,
            outputs: "outputs".into(),
            ..RunRecord::default()
        };
        self.store.begin_run(&run).unwrap();
    }

    fn task(&self, run: &str, number: u8, state: Outcome) {
        let task = RunTask {
            address: format!("stage.task[{number}]"),
            recipe: Recipe([number; 32]),
            state,
            started: 0,
            wall: 5,
        };
        self.store.put_run_tasks(run, &[task]).unwrap();
    }

    fn product(&self, run: &str, number: u8) {
        let record = ProductRecord {
            recipe: Recipe([number; 32]),
            content: None,
            operation: "op".into(),
            version: "1".into(),
            parameters: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            wall: 7,
            cpu: 0,
            peak_memory: 0,
            run: run.into(),
            time: 100,
        };
        self.store.register(&[record]).unwrap();
    }

    fn why(&self, run: &str, number: u8) -> Why {
        let task = format!("stage.task[{number}]");
        explain(&*self.store, run, &task).unwrap().why
    }
}

#[test]
fn two_runs_that_made_one_product_at_the_same_time() {
    let case = Case::new();
    case.begin("one", 100);
    case.begin("two", 101);
    case.product("one", 1);
    case.task("two", 1, Outcome::Executed);
    let Why::AtOnce { made } = case.why("two", 1) else {
        panic!("{:?}", case.why("two", 1));
    };
    assert_eq!((made.run.as_str(), made.wall), ("one", 7));
}

#[test]
fn a_product_of_a_run_that_had_ended_was_made_again() {
    let case = Case::new();
    case.begin("one", 100);
    case.product("one", 1);
    let counts = headwater_graph::Tally::default();
    case.store
        .end_run("one", RunStatus::Done, counts, "")
        .unwrap();
    // It ended now; the next one begins after that.
    case.begin("two", i64::MAX);
    case.task("two", 1, Outcome::Executed);
    assert!(
        matches!(case.why("two", 1), Why::Restored { made: Some(made), .. } if made.run == "one")
    );
}

#[test]
fn records_that_are_not_there() {
    let case = Case::new();
    case.begin("one", 100);
    case.task("one", 1, Outcome::Executed);
    case.task("one", 2, Outcome::Reused);
    case.task("one", 3, Outcome::CutOff);
    case.task("one", 4, Outcome::Restored);
    assert_eq!(case.why("one", 1), Why::NoRecord);
    assert_eq!(case.why("one", 2), Why::NotNeeded);
    assert_eq!(case.why("one", 3), Why::NoRecord);
    let restored = Why::Restored {
        lost: None,
        made: None,
        because: None,
    };
    assert_eq!(case.why("one", 4), restored);
}

#[test]
fn a_run_without_a_list_of_tasks_says_so() {
    let case = Case::new();
    case.begin("one", 100);
    let error = explain(&*case.store, "one", "stage.task[1]").unwrap_err();
    assert_eq!(error.to_string(), "run `one` is still running");
    case.store.remove_staging("one").unwrap();
    let error = explain(&*case.store, "one", "stage.task[1]").unwrap_err();
    assert!(
        error.to_string().contains("before it could write its list"),
        "{error}"
    );
    assert!(error.hint().is_some());
}

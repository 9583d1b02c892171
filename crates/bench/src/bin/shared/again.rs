//! A study that somebody else has run: from the store of the group, beside the same study from one's own store.
//!
//! Law: each run is a process of its own. Who takes from the group begins with an empty folder each time; who takes from
//! their own store has made everything there. Neither executes a task, and both have the same values.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use headwater::graph::Registry;
use headwater::{Setting, Site, StorePlace, StudyRunRequest, StudySource};
use headwater_bench::{Bar, Claims, median, timed};
use serde_json::{Value, json};

use crate::server::Server;

/// The flag of a run.
pub(crate) const CHILD: &str = "--one-run";
/// How often the two are measured by turns.
const TURNS: usize = 7;

/// Runs the study and prints what it came to.
pub(crate) fn child(wanted: &[String]) -> ExitCode {
    match told(wanted) {
        Ok(told) => {
            println!("{told}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn told(wanted: &[String]) -> Result<Value, Box<dyn Error>> {
    let [folder, store, settings @ ..] = wanted else {
        return Err(format!("usage: {CHILD} FOLDER STORE [SETTING…]").into());
    };
    let mut libraries = Registry::new();
    headwater_imaging::register(&mut libraries)?;
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nuclei/moat.yaml");
    let request = StudyRunRequest {
        study: StudySource {
            settings: settings.iter().cloned().map(Setting::Written).collect(),
            ..StudySource::file(fs::canonicalize(study)?)
        },
        ..StudyRunRequest::default()
    };
    let site = Site::new(folder)
        .with_store(StorePlace::at(Some(store)))
        .with_libraries(libraries);
    let done = site.run_study(&request)?;
    if !done.succeeded() {
        return Err("the study has no whole answer".into());
    }
    let tasks = done.summary.facts.tasks.iter();
    let phases = done.summary.phases.iter();
    let values = phases.flat_map(|phase| phase.values.iter().flatten());
    let values: Vec<Option<u64>> = values.map(|value| value.map(f64::to_bits)).collect();
    Ok(json!({
        "executed": tasks.map(|task| task.tally.executed).sum::<usize>(),
        "values": values,
    }))
}

/// One run in a process of its own: its seconds, and what it printed.
fn run(folder: &Path, store: &str, settings: &[String]) -> Result<(f64, Value), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg(CHILD)
        .arg(folder)
        .arg(store)
        .args(settings)
        .stderr(Stdio::inherit());
    let (output, took) = timed(|| command.output());
    let output = output?;
    if !output.status.success() {
        return Err(format!("a run ended with {}", output.status).into());
    }
    Ok((took.as_secs_f64(), serde_json::from_slice(&output.stdout)?))
}

/// The claims on studies.
pub(crate) fn measure(
    claims: &mut Claims,
    server: &Server,
    quick: bool,
) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let database = server.database();
    let settings: Vec<String> = if quick {
        vec!["method.moat.trajectories=4".to_owned()]
    } else {
        Vec::new()
    };
    let ann = folder.join("ann");
    let (first, made) = run(&ann, &database.url("ann"), &settings)?;
    let (mut executed, mut differ) = (0, 0);
    let (mut ratios, mut own, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let bob = folder.join(format!("bob-{turn}"));
        let (local, again) = run(&ann, ".headwater", &settings)?;
        let (group, taken) = run(&bob, &database.url("bob"), &settings)?;
        for ran in [&again, &taken] {
            executed += ran["executed"].as_u64().ok_or("a run told no count")?;
            differ += u32::from(ran["values"] != made["values"]);
        }
        ratios.push(group / local);
        own.push(local);
        others.push(group);
    }
    claims.claim(
        "tasks executed when another user runs a study that the group has",
        executed as f64,
        "tasks",
        Bar::AtMost(0.0),
    );
    claims.claim(
        "values that differ from those of the first run",
        f64::from(differ),
        "runs",
        Bar::AtMost(0.0),
    );
    claims.claim(
        "time of a study from the group's store by another user, relative to one's own store",
        median(ratios),
        "times",
        Bar::AtMost(2.0),
    );
    claims.note(&format!(
        "the middle of {TURNS} turns: {:.2} s and {:.2} s; the first run took {first:.2} s",
        median(others),
        median(own),
    ));
    Ok(())
}

//! One run of a study, in a process of its own.
//!
//! Law: a run has the folder to itself; what it tells is a line of JSON, with values bit for bit.

use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use headwater::graph::Registry;
use headwater::study::{Bucketing, StudyFacts, StudyReuse};
use headwater::{Limits, Setting, Site, StorePlace, StudyRunRequest, StudySource};
use headwater_bench::{processor_seconds, resident, timed};
use serde_json::{Value, json};

use crate::CORES;

/// The flag of a run.
pub(crate) const CHILD: &str = "--one-run";

/// A way of sharing: what it is called, what is shared, and how stages are cut into buckets.
pub(crate) type Mode = (&'static str, StudyReuse, Option<Bucketing>);

/// All that there are. The algorithms of the paper share by chains, as it does.
pub(crate) const MODES: [Mode; 8] = [
    ("none", StudyReuse::None, None),
    ("stage", StudyReuse::Stage, None),
    ("naive", StudyReuse::Chain, Some(Bucketing::Naive)),
    ("RTMA", StudyReuse::Chain, Some(Bucketing::Rtma)),
    ("TRTMA", StudyReuse::Chain, Some(Bucketing::Trtma)),
    ("cost", StudyReuse::Graph, Some(Bucketing::Cost)),
    ("graph", StudyReuse::Graph, None),
    (CONTENT, StudyReuse::Content, None),
];

/// The way that `headwater study run` shares.
pub(crate) const CONTENT: &str = "graph+content";

/// What a run came to.
pub(crate) struct Ran {
    /// From the start of the process to its end.
    pub(crate) seconds: f64,
    /// How the run went.
    pub(crate) facts: StudyFacts,
    /// The objective of each set, by its bits.
    pub(crate) values: Vec<Option<u64>>,
    /// The most memory that the process ever held.
    pub(crate) memory: u64,
    /// Seconds of the processor, of all threads together.
    pub(crate) processor: f64,
}

impl Ran {
    /// Tasks that were executed, of one stage or of all.
    pub(crate) fn executed(&self, stage: Option<&str>) -> usize {
        let tasks = self.facts.tasks.iter();
        tasks
            .filter(|task| stage.is_none_or(|stage| task.stage == stage))
            .map(|task| task.tally.executed)
            .sum()
    }

    /// Seconds that the executed tasks took together.
    pub(crate) fn work(&self) -> f64 {
        self.facts.tasks.iter().map(|task| task.seconds).sum()
    }
}

/// Runs a study in a process of its own; `settings` are those of `--set`. A folder that was used before has what was
/// remembered there.
pub(crate) fn run(
    mode: &str,
    study: &Path,
    folder: &Path,
    memory: Option<u64>,
    settings: &[String],
) -> Result<Ran, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args([CHILD, mode])
        .args([study, folder])
        .arg(memory.map_or("-".to_owned(), |bytes| bytes.to_string()))
        .args(settings)
        .stderr(Stdio::inherit());
    let (output, took) = timed(|| command.output());
    let output = output?;
    if !output.status.success() {
        return Err(format!("the run `{mode}` ended with {}", output.status).into());
    }
    let told: Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| told[name].as_f64().ok_or("a run did not tell its figures");
    let facts: StudyFacts = serde_json::from_str(told["facts"].as_str().unwrap_or_default())?;
    let values = told["values"].as_array().ok_or("a run told no values")?;
    Ok(Ran {
        seconds: took.as_secs_f64(),
        facts,
        values: values.iter().map(Value::as_u64).collect(),
        memory: number("memory")? as u64,
        processor: number("processor")?,
    })
}

/// Is one run, and prints what it came to.
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
    let [mode, study, folder, memory, settings @ ..] = wanted else {
        return Err(format!("usage: {CHILD} MODE STUDY FOLDER BYTES|- [SETTING…]").into());
    };
    let mode = MODES.iter().find(|known| known.0 == mode);
    let (_, reuse, buckets) = *mode.ok_or("there is no such way of sharing")?;
    let folder = Path::new(folder);
    let mut libraries = Registry::new();
    headwater_imaging::register(&mut libraries)?;
    let request = StudyRunRequest {
        study: StudySource {
            settings: settings.iter().cloned().map(Setting::Written).collect(),
            ..StudySource::file(std::path::absolute(study)?)
        },
        reuse,
        buckets,
        ..StudyRunRequest::default()
    };
    let store = StorePlace {
        url: Some("store".to_owned()),
        read_only: false,
        ..StorePlace::default()
    };
    let limits = Limits {
        cores: Some(CORES),
        memory: memory.parse().ok(),
        ..Limits::default()
    };
    let site = Site::new(folder).with_store(store).with_limits(limits);
    let done = site.with_libraries(libraries).run_study(&request)?;
    if !done.succeeded() {
        let errors = done.errors.into_iter().chain(done.summary.facts.failures);
        let errors: Vec<String> = errors.take(3).collect();
        return Err(format!("the study has no whole answer: {}", errors.join("; ")).into());
    }
    if !done.folder.join("report.html").is_file() {
        return Err("the study has no report".into());
    }
    let phases = done.summary.phases.iter();
    let values = phases.flat_map(|phase| phase.values.iter().flatten());
    let values: Vec<Option<u64>> = values.map(|value| value.map(f64::to_bits)).collect();
    Ok(json!({
        "facts": serde_json::to_string(&done.summary.facts)?,
        "values": values,
        "memory": resident().1,
        "processor": processor_seconds(),
    }))
}

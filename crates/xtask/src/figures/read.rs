//! The document of one run of all benchmarks, taken apart.
//!
//! Law: a table of the README names claims by benchmark and words; one that was not measured is told as such, and never
//! left out or made up.

use serde_json::{Value, json};

use crate::failure::Failure;

/// What the README tells: (benchmark, words of its claim, words of the README).
const TABLE: &[(&str, &str, &str)] = &[
    (
        "study",
        "graph+content, speed-up over none",
        "a screening of 640 parameter sets, beside computing each set by itself",
    ),
    (
        "study",
        "segmentation tasks executed, of 4480 unmerged",
        "tasks of its segmentation that are executed",
    ),
    (
        "study",
        "tasks executed when the study is run again",
        "the same study again",
    ),
    (
        "study",
        "most memory of a study of a tile of 4096 × 4096 with --memory 1GiB",
        "peak memory with `--memory 1GiB` on a tile of 4096 × 4096",
    ),
    (
        "nuclei",
        "the seven tasks, relative to OpenCV's opening, labelling, distance and watershed",
        "the whole segmentation, beside four of its steps in OpenCV",
    ),
    (
        "nuclei",
        "grey reconstruction-8, relative to scikit-image",
        "grey reconstruction, beside scikit-image",
    ),
    (
        "indices",
        "Sobol' indices with intervals, speed of SALib = 1",
        "Sobol' indices with intervals, beside SALib",
    ),
    (
        "plan",
        "1,000,000 instances, graph sharing",
        "planning what 1,000,000 parameter sets share",
    ),
    (
        "overhead",
        "1,000,000 native tasks, graph and hashing included",
        "a task that does nothing, graph and hashing included",
    ),
    (
        "overhead",
        "remembering a native task",
        "remembering its product, durably",
    ),
    (
        "overhead",
        "10,000 commands against a loop that makes the same folders and files",
        "starting programs, beside a loop that makes the same folders and files",
    ),
    (
        "remember",
        "look-up of 100000 recipes among 10000000 records, all known",
        "looking up 100,000 recipes among 10,000,000 records",
    ),
    (
        "sequence",
        "Strassen: speed-up of the sequence by a second core, relative to that of its products on two threads",
        "Strassen's multiplication as a sequence: gain by a second core, that of its bare products = 1",
    ),
    (
        "sequence",
        "Montage: one call per image and pair, relative to the tutorial's sequence, on two cores",
        "a mosaic of the sky, one call per image, beside the tutorial's sequence",
    ),
];

/// The jobs that other engines do too, as the README tells them: (job, column, words, unit, whether more is better).
const JOBS: &[(&str, &str, &str, &str, bool)] = &[
    (
        "fan",
        "tasks/s",
        "10,000 tasks that do nothing",
        "per second",
        true,
    ),
    (
        "commands",
        "commands/s",
        "`echo` 500 times, a file each",
        "per second",
        true,
    ),
    (
        "pipeline",
        "first run with start-up, s",
        "three steps of ImageMagick on 24 images, with start-up",
        "s",
        false,
    ),
    (
        "pipeline",
        "first run, s",
        "the same for engines that run already",
        "s",
        false,
    ),
    (
        "pipeline",
        "nothing changed, s",
        "the same again, nothing changed",
        "s",
        false,
    ),
    (
        "pipeline",
        "last step changed, s",
        "with another last step",
        "s",
        false,
    ),
    (
        "study",
        "whole s",
        "the nuclei study, 160 parameter sets",
        "s",
        false,
    ),
    ("study", "again s", "the study again", "s", false),
];

/// A claim as it was measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Claim {
    /// Its benchmark.
    pub(super) bench: String,
    /// In the benchmark's words.
    pub(super) claim: String,
    /// The figure.
    pub(super) measured: f64,
    /// Its unit; may be empty.
    pub(super) unit: String,
    /// A sign and a number.
    pub(super) bar: String,
    /// Whether the figure is on the good side of it.
    pub(super) holds: bool,
}

/// A line of the README.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// In the README's words.
    pub(super) what: &'static str,
    /// The benchmark.
    pub(super) bench: &'static str,
    /// What was measured; none where it was left out.
    pub(super) claim: Option<Claim>,
}

/// A job of several engines.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Job {
    /// In the README's words.
    pub(super) what: &'static str,
    /// What is counted.
    pub(super) unit: &'static str,
    /// Headwater's ways, with their figures.
    pub(super) ours: Vec<(String, f64)>,
    /// Those of the others, the best first.
    pub(super) others: Vec<(String, f64)>,
}

/// What one benchmark told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    /// Its name.
    pub(super) bench: String,
    /// What it compared with, with versions.
    pub(super) compared: Vec<String>,
    /// Its claims.
    pub(super) claims: Vec<Claim>,
    /// What else it said.
    pub(super) notes: Vec<String>,
    /// Why there is nothing, if so.
    pub(super) error: Option<String>,
}

/// The figures of one run of all benchmarks.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    /// The version of the product.
    pub(super) version: String,
    /// The day.
    pub(super) date: String,
    /// The machine.
    pub(super) machine: String,
    /// What else is to be known of how they were measured.
    pub(super) note: Option<String>,
    /// By benchmark.
    pub(super) benches: Vec<Told>,
    /// The table of the README.
    pub(super) table: Vec<Line>,
    /// Its second table.
    pub(super) jobs: Vec<Job>,
    /// The tables of the benchmark of other engines, for the docs.
    pub(super) markdown: String,
}

impl Figures {
    /// Takes the document apart.
    pub(crate) fn read(document: &Value) -> Result<Figures, Failure> {
        let word = |name: &str| {
            let text = document[name].as_str().map(str::to_owned);
            text.ok_or_else(|| wrong(format!("the figures have no `{name}`")))
        };
        let benches = document["benches"]
            .as_array()
            .ok_or_else(|| wrong("the figures have no `benches`".to_owned()))?;
        let told: Vec<Told> = benches.iter().map(told).collect::<Result<_, _>>()?;
        let line = |(bench, claim, what): &(&'static str, &'static str, &'static str)| Line {
            what,
            bench,
            claim: told
                .iter()
                .filter(|told| told.bench == *bench)
                .flat_map(|told| &told.claims)
                .find(|found| found.claim == *claim)
                .cloned(),
        };
        let peers = benches.iter().find(|bench| bench["bench"] == "peers");
        let peers = peers.unwrap_or(&Value::Null);
        Ok(Figures {
            version: word("headwater")?,
            date: word("date")?,
            machine: word("machine")?,
            note: word("note").ok(),
            table: TABLE.iter().map(line).collect(),
            jobs: jobs(peers),
            markdown: peers["markdown"].as_str().unwrap_or_default().to_owned(),
            benches: told,
        })
    }

    /// Whether every benchmark ran and every claim holds.
    pub(crate) fn holds(&self) -> bool {
        let good =
            |told: &Told| told.error.is_none() && told.claims.iter().all(|claim| claim.holds);
        self.benches.iter().all(good)
    }

    /// The first table of the README, for programs.
    pub(crate) fn table_json(&self) -> Value {
        let line = |line: &Line| match &line.claim {
            Some(claim) => json!({
                "what": line.what, "bench": line.bench, "measured": claim.measured, "unit": claim.unit,
                "bar": claim.bar, "holds": claim.holds,
            }),
            None => json!({"what": line.what, "bench": line.bench, "measured": null}),
        };
        self.table.iter().map(line).collect()
    }

    /// The second table of the README, for programs.
    pub(crate) fn jobs_json(&self) -> Value {
        let named = |rows: &[(String, f64)]| -> Value {
            let row =
                |(engine, figure): &(String, f64)| json!({"engine": engine, "figure": figure});
            rows.iter().map(row).collect()
        };
        let job = |job: &Job| {
            json!({
                "what": job.what, "unit": job.unit, "headwater": named(&job.ours), "others": named(&job.others),
            })
        };
        self.jobs.iter().map(job).collect()
    }
}

/// What one benchmark told.
fn told(document: &Value) -> Result<Told, Failure> {
    let bench = document["bench"].as_str().unwrap_or_default().to_owned();
    let texts = |name: &str| -> Vec<String> {
        let all = document[name].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let claim = |row: &Value| -> Option<Claim> {
        Some(Claim {
            bench: bench.clone(),
            claim: row["claim"].as_str()?.to_owned(),
            measured: row["measured"].as_f64()?,
            unit: row["unit"].as_str()?.to_owned(),
            bar: row["bar"].as_str()?.to_owned(),
            holds: row["holds"].as_bool()?,
        })
    };
    let rows = document["claims"].as_array().into_iter().flatten();
    let claims: Option<Vec<Claim>> = rows.map(claim).collect();
    Ok(Told {
        compared: texts("compared_with"),
        notes: texts("notes"),
        error: document["error"].as_str().map(str::to_owned),
        claims: claims.ok_or_else(|| wrong(format!("a claim of `{bench}` is not complete")))?,
        bench,
    })
}

/// The jobs of the README, from the document of the benchmark of other engines.
fn jobs(peers: &Value) -> Vec<Job> {
    let tables = || peers["tables"].as_array().into_iter().flatten();
    let job = |(job, column, what, unit, more): &(_, _, &'static str, &'static str, bool)| {
        let table = tables().find(|table| table["job"] == *job)?;
        let rows = table["rows"].as_array()?.iter().filter_map(|row| {
            let columns = row["columns"].as_array()?;
            let cell = columns.iter().find(|cell| cell["column"] == *column)?;
            Some((row["engine"].as_str()?.to_owned(), cell["median"].as_f64()?))
        });
        let (ours, mut others): (Vec<_>, Vec<_>) =
            rows.partition(|(engine, _)| engine.starts_with("headwater"));
        others.sort_by(|(_, one), (_, other)| {
            if *more {
                other.total_cmp(one)
            } else {
                one.total_cmp(other)
            }
        });
        Some(Job {
            what,
            unit,
            ours,
            others,
        })
    };
    JOBS.iter().filter_map(job).collect()
}

fn wrong(what: String) -> Failure {
    Failure::Figures { what }
}

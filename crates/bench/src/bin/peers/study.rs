//! The nuclei study beside the same study written in Python.
//!
//! Law: both sides evaluate the same parameter sets on the same tile, on as many cores, each as a whole command. The
//! Python side counts only where its masks, its values and its leading parameters are those of Headwater; where they
//! are not, its rows say so and the claims fall short.

mod agreement;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use headwater_bench::Claims;
use serde_json::Value;

use crate::table::{Column, Measure, Row, Table};
use crate::venv::{Needs, said};
use crate::{Bench, CORES, process};
use agreement::Agreement;

/// What the Python version imports.
pub(crate) const NEEDS: Needs = Needs {
    name: "OpenCV, scikit-image, joblib and SALib",
    packages: &[
        "opencv-python-headless",
        "scikit-image",
        "joblib",
        "SALib",
        "numpy",
        "scipy",
    ],
};

const SCRIPT: &str = include_str!("../../../peers/nuclei_study.py");
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/nuclei");

/// How often the slow rows are measured: a minute each evens out by itself.
const SLOW_TURNS: usize = 1;
/// How long a study may take.
const LIMIT: Duration = Duration::from_secs(3600);
/// How many masks are compared besides that of the default parameters.
const MASKS: usize = 6;

/// A way to run the study in Python.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// What the script calls it.
    word: &'static str,
    /// What the table calls it.
    engine: &'static str,
    /// Whether it remembers, so that running again is another thing.
    remembers: bool,
}

const WAYS: [Way; 3] = [
    Way {
        word: "plain",
        engine: "python",
        remembers: false,
    },
    Way {
        word: "tuned",
        engine: "python, tuned by hand",
        remembers: false,
    },
    Way {
        word: "memory",
        engine: "python, joblib.Memory",
        remembers: true,
    },
];

/// Headwater as it is.
const SHARING: &str = "headwater";
/// Headwater with everything computed for every set.
const NO_SHARING: &str = "headwater --reuse none";

/// How long a command took.
struct Taken {
    /// From its start to its end.
    seconds: f64,
    /// Of the processor, all its processes together.
    processor: f64,
}

/// What was measured of one side.
#[derive(Default)]
struct Samples {
    whole: Vec<f64>,
    processor: Vec<f64>,
    again: Vec<f64>,
    more: Vec<f64>,
}

impl Samples {
    fn whole(&mut self, taken: Taken) {
        self.whole.push(taken.seconds);
        self.processor.push(taken.processor);
    }

    /// In the order of the table.
    fn columns(self) -> Vec<Vec<f64>> {
        vec![self.whole, self.processor, self.again, self.more]
    }
}

/// The folder of the study, and who runs it.
struct Study<'a> {
    bench: &'a Bench,
    folder: PathBuf,
}

/// Measures both.
pub(crate) fn run(bench: &Bench, claims: &mut Claims) -> Result<Vec<Table>, Box<dyn Error>> {
    let study = Study::prepare(bench)?;
    let mut ours = Samples::default();
    for turn in 0..bench.options.repeat {
        bench.note(&format!("study: headwater, turn {}", turn + 1));
        let [whole, again, more] = study.headwater(turn)?;
        ours.whole(whole);
        ours.again.push(again.seconds);
        ours.more.push(more.seconds);
    }
    let none = study.without_sharing()?;
    let version = bench.venv.install(NEEDS, |text| bench.note(text));
    let mut rows = vec![own(SHARING, ours), own(NO_SHARING, none)];
    let mut found = Vec::new();
    for way in WAYS {
        let measured = version.clone().and_then(|_| {
            bench.note(&format!("study: {}", way.engine));
            let (samples, agreement) = study.python(way).map_err(|error| error.to_string())?;
            let verdict = agreement.verdict();
            found.push(agreement);
            verdict.map(|()| samples.columns())
        });
        rows.push(Row {
            engine: way.engine.to_owned(),
            version: version
                .clone()
                .map_or("–".to_owned(), |version| format!("OpenCV {version}")),
            ours: false,
            samples: measured,
        });
    }
    let mut notes = vec![
        format!(
            "whole commands on {CORES} cores; headwater the median of {}, the rows that take long measured {SLOW_TURNS} \
             time; one thread of OpenCV in each process of joblib",
            bench.options.repeat
        ),
        "`again`: the same command once more; `one more`: a trajectory more, with what is remembered".to_owned(),
    ];
    notes.extend(Agreement::worst(&found).map(|worst| {
        worst.claim(claims);
        worst.text()
    }));
    notes.extend(split(&rows));
    let column = |heading: &str, measure| Column {
        heading: heading.to_owned(),
        measure,
    };
    Ok(vec![Table {
        job: "study",
        title: format!(
            "the nuclei study: {} parameter sets of 15 parameters on a tile of {}",
            bench.options.trajectories * 16,
            bench
                .options
                .tile
                .map_or("1024 × 1024 (the example)".to_owned(), |side| format!(
                    "{side} × {side}"
                ))
        ),
        columns: vec![
            column("whole s", Measure::Seconds),
            column("processor s", Measure::Aside),
            column("again s", Measure::Seconds),
            column("one more s", Measure::Seconds),
        ],
        rows,
        notes,
    }])
}

/// A row of Headwater.
fn own(engine: &str, samples: Samples) -> Row {
    Row {
        engine: engine.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ours: true,
        samples: Ok(samples.columns()),
    }
}

/// What of the gain is sharing and what is kernels.
fn split(rows: &[Row]) -> Option<String> {
    let whole = |engine: &str| rows.iter().find(|row| row.engine == engine)?.figure(0);
    let (shared, alone) = (whole(SHARING)?, whole(NO_SHARING)?);
    let plain = whole(WAYS[0].engine)?;
    Some(format!(
        "of the {:.0} × between `{}` and headwater, {:.1} × is sharing (headwater without it takes {alone:.1} s) and \
         {:.1} × are the kernels and the rest",
        plain / shared,
        WAYS[0].engine,
        alone / shared,
        plain / alone,
    ))
}

impl Study<'_> {
    /// The workflow, the study, the tile, the parameter sets and the script, in a folder of their own.
    fn prepare(bench: &Bench) -> Result<Study<'_>, Box<dyn Error>> {
        let folder = bench.scratch.join("study");
        fs::create_dir_all(&folder)?;
        for name in ["nuclei.yaml", "moat.yaml", "tissue.png"] {
            fs::copy(Path::new(EXAMPLE).join(name), folder.join(name))?;
        }
        fs::write(folder.join("nuclei_study.py"), SCRIPT)?;
        let study = Study { bench, folder };
        if let Some(side) = bench.options.tile {
            let mut synth = study.command(&["imaging", "synth", "--seed", "7", "-o", "tissue.png"]);
            said(synth.arg("--size").arg(format!("{side}x{side}")))?;
        }
        for trajectories in [bench.options.trajectories, bench.options.trajectories + 1] {
            let mut plan = study.command(&["study", "plan", "moat.yaml"]);
            said(
                plan.args(larger(trajectories))
                    .arg("-o")
                    .arg(planned(trajectories)),
            )?;
        }
        Ok(study)
    }

    /// Headwater in the folder of the study.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.bench.headwater);
        command.args(words).current_dir(&self.folder);
        command
    }

    /// `headwater study run`.
    fn study_run(&self, trajectories: usize, store: &str, output: &str) -> Command {
        let mut command = self.command(&["study", "run", "moat.yaml", "-j"]);
        command.arg(CORES.to_string()).args(larger(trajectories));
        command.args(["--store", store, "-o", output]);
        command
    }

    /// How long a command takes.
    fn taken(&self, command: &mut Command) -> Result<Taken, String> {
        let before = processor();
        let ran = process::run(command, &self.folder, LIMIT)?;
        Ok(Taken {
            seconds: ran.seconds,
            processor: processor() - before,
        })
    }

    /// One turn: with nothing remembered, with all, and with all but one trajectory.
    fn headwater(&self, turn: usize) -> Result<[Taken; 3], Box<dyn Error>> {
        let store = format!("store-{turn}");
        let trajectories = self.bench.options.trajectories;
        let taken = |trajectories: usize, name: &str| {
            self.taken(&mut self.study_run(trajectories, &store, &format!("{name}-{turn}")))
        };
        let turns = [
            taken(trajectories, "whole")?,
            taken(trajectories, "again")?,
            taken(trajectories + 1, "more")?,
        ];
        if turn == 0 {
            let mut values = self.study_run(trajectories, &store, "values");
            said(values.args(["--deliver", "dice"]))?;
        }
        Ok(turns)
    }

    /// Headwater with everything computed for every set.
    fn without_sharing(&self) -> Result<Samples, Box<dyn Error>> {
        let mut samples = Samples::default();
        for turn in 0..SLOW_TURNS {
            self.bench.note("study: headwater without sharing");
            let name = format!("none-{turn}");
            let trajectories = self.bench.options.trajectories;
            let mut command = self.study_run(trajectories, &name, &format!("{name}-results"));
            samples.whole(self.taken(command.args(["--reuse", "none"]))?);
        }
        Ok(samples)
    }

    /// Python, one way: the samples of each column, and how it agrees with Headwater.
    fn python(&self, way: Way) -> Result<(Samples, Agreement), Box<dyn Error>> {
        let trajectories = self.bench.options.trajectories;
        let dice = self.masks(way)?;
        let mut samples = Samples::default();
        for turn in 0..SLOW_TURNS {
            let taken = |trajectories: usize| {
                let mut command = self.script("study", way, trajectories);
                command.args(["--memory", &format!("memory-{turn}")]);
                command.args(["-o", &format!("{}-{trajectories}.json", way.word)]);
                self.taken(&mut command)
            };
            samples.whole(taken(trajectories)?);
            if way.remembers {
                samples.again.push(taken(trajectories)?.seconds);
                samples.more.push(taken(trajectories + 1)?.seconds);
            }
        }
        let theirs = self.json(&format!("{}-{trajectories}.json", way.word))?;
        let ours = self.json("values/results.json")?;
        let values = fs::read_to_string(self.folder.join("values/dice/values.csv"))?;
        Ok((samples, Agreement::new(dice, &values, &ours, &theirs)?))
    }

    /// The Dice between the masks of both sides, for some sets and for the default parameters.
    fn masks(&self, way: Way) -> Result<Vec<f64>, Box<dyn Error>> {
        let trajectories = self.bench.options.trajectories;
        let table =
            fs::read_to_string(self.folder.join(planned(trajectories)).join("samples.csv"))?;
        let mut lines = table.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let sets: Vec<&str> = lines.collect();
        let rows: Vec<usize> = (0..MASKS)
            .map(|place| place * (sets.len() - 1) / (MASKS - 1))
            .collect();
        let words: Vec<String> = rows.iter().map(usize::to_string).collect();
        let folder = format!("masks-{}", way.word);
        let mut script = self.script("masks", way, trajectories);
        said(script.args([
            "--rows",
            &words.join(","),
            "--memory",
            "memory-of-masks",
            "-o",
            &folder,
        ]))?;
        let compare = |name: &str, values: &str| -> Result<f64, Box<dyn Error>> {
            let mut segment =
                self.command(&["imaging", "segment", "tissue.png", "--normalize", "--json"]);
            segment.args([
                "-o",
                "mask.png",
                "--reference",
                &format!("{folder}/{name}.png"),
            ]);
            for (name, value) in names
                .iter()
                .zip(values.split(',').filter(|value| !value.is_empty()))
            {
                segment.args(["--set", &format!("{name}={value}")]);
            }
            let told: Value = serde_json::from_str(&said(&mut segment)?)?;
            told["dice"]
                .as_f64()
                .ok_or_else(|| "`imaging segment` told no Dice".into())
        };
        let mut dice = vec![compare("default", "")?];
        for row in rows {
            dice.push(compare(&row.to_string(), sets[row])?);
        }
        Ok(dice)
    }

    /// The script, for as many trajectories.
    fn script(&self, what: &str, way: Way, trajectories: usize) -> Command {
        let mut command = Command::new(&self.bench.venv.python);
        command.args([
            "nuclei_study.py",
            what,
            "tissue.png",
            "--way",
            way.word,
            "--jobs",
        ]);
        command.arg(CORES.to_string()).arg("--sets");
        command.arg(Path::new(&planned(trajectories)).join("samples.csv"));
        command.current_dir(&self.folder);
        command
    }

    fn json(&self, name: &str) -> Result<Value, Box<dyn Error>> {
        Ok(serde_json::from_slice(&fs::read(self.folder.join(name))?)?)
    }
}

/// The flags that set the number of trajectories, and have effects divided as SALib divides them.
fn larger(trajectories: usize) -> [String; 4] {
    [
        "--set".to_owned(),
        format!("method.moat.trajectories={trajectories}"),
        "--set".to_owned(),
        "method.moat.step=nominal".to_owned(),
    ]
}

/// The folder of the parameter sets.
fn planned(trajectories: usize) -> String {
    format!("sets-{trajectories}")
}

/// Seconds of the processor of all processes that ended below this one. The system counts hundredths.
fn processor() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default();
    let ticks = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

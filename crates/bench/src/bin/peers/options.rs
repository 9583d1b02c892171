//! The command line of the bench.
//!
//! Law: a word that means nothing is wrong use, with the words that do mean something.

use crate::peers::{PEERS, Peer};

/// What `--help` prints.
pub(crate) const HELP: &str = "\
cargo xtask bench peers: the same jobs in Headwater and in other engines, one run, one machine

  --jobs LIST      fan, commands, pipeline, study; all unless said
  --only LIST      headwater, dask, parsl, ray, hyperqueue, snakemake, cwltool; all unless said.
                   Headwater always runs: the others are told in ratios to it
  --tasks N        tasks of the fan, 10000 unless said
  --commands N     commands, 500 unless said
  --images N       images of the pipeline, 24 unless said
  --limit-threads  the pipeline with one thread for each program, said in the command by every engine
  --trajectories N trajectories of the study, 16 parameter sets each, 10 unless said
  --tile N         the study on made-up tissue of N × N pixels, not on the tile of the example
  --repeat N       of so many turns the median counts, 3 unless said
  --markdown       the tables as the docs have them
  --json           everything as one line of JSON
  --help           this

The engines are installed from PyPI, in the versions of crates/bench/peers/requirements.txt, into a folder of the
build. It takes a Python from 3.11 to 3.13 with its venv module, and ImageMagick for the pipeline.
";

/// A job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// Tasks that do nothing.
    Fan,
    /// Commands that write a line.
    Commands,
    /// Three steps for each image.
    Pipeline,
    /// The nuclei study.
    Study,
}

const JOBS: [(&str, Job); 4] = [
    ("fan", Job::Fan),
    ("commands", Job::Commands),
    ("pipeline", Job::Pipeline),
    ("study", Job::Study),
];

/// How tables are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// For the docs.
    Markdown,
    /// For programs.
    Json,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// Which jobs.
    pub(crate) jobs: Vec<Job>,
    /// Which engines, in the order of the tables.
    pub(crate) peers: Vec<Peer>,
    /// Tasks of the fan.
    pub(crate) tasks: usize,
    /// Commands.
    pub(crate) commands: usize,
    /// Images of the pipeline.
    pub(crate) images: usize,
    /// Whether the programs of the pipeline are told to use one thread.
    pub(crate) limit_threads: bool,
    /// Trajectories of the study.
    pub(crate) trajectories: usize,
    /// The side of a made-up tile; none for the example's.
    pub(crate) tile: Option<usize>,
    /// Turns.
    pub(crate) repeat: usize,
    /// How to tell.
    pub(crate) form: Form,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            jobs: JOBS.map(|(_, job)| job).to_vec(),
            peers: PEERS.to_vec(),
            tasks: 10_000,
            commands: 500,
            images: 24,
            limit_threads: false,
            trajectories: 10,
            tile: None,
            repeat: 3,
            form: Form::Text,
        }
    }
}

impl Options {
    /// Reads the words; none of `Options` where help is wanted.
    pub(crate) fn read(words: &[String]) -> Result<Option<Options>, String> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (flag, mut value) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let mut after = || {
                let value = value.take().or_else(|| words.next().cloned());
                value.ok_or_else(|| format!("`{flag}` wants a value after it; see --help"))
            };
            match flag {
                "--jobs" => options.jobs = several(flag, &after()?, &JOBS)?,
                "--only" => {
                    let known: Vec<(&str, Peer)> =
                        PEERS.iter().map(|peer| (peer.name(), *peer)).collect();
                    options.peers = several(flag, &after()?, &known)?;
                    options.peers.push(Peer::Headwater);
                    options.peers.sort();
                    options.peers.dedup();
                }
                "--tasks" => options.tasks = count(flag, &after()?)?,
                "--commands" => options.commands = count(flag, &after()?)?,
                "--images" => options.images = count(flag, &after()?)?,
                "--trajectories" => options.trajectories = count(flag, &after()?)?,
                "--tile" => options.tile = Some(count(flag, &after()?)?),
                "--repeat" => options.repeat = count(flag, &after()?)?,
                "--limit-threads" => options.limit_threads = true,
                "--markdown" => options.form = Form::Markdown,
                "--json" => options.form = Form::Json,
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("`{word}` means nothing here; see --help")),
            }
        }
        Ok(Some(options))
    }
}

/// Names between commas.
fn several<T: Copy>(flag: &str, text: &str, known: &[(&str, T)]) -> Result<Vec<T>, String> {
    let one = |name: &str| {
        let found = known.iter().find(|(word, _)| *word == name.trim());
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            format!("`{flag} {name}`: expected {}", names.join(", "))
        })
    };
    text.split(',').map(one).collect()
}

/// A number from 1.
fn count(flag: &str, text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("`{flag} {text}`: expected a whole number from 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, Job, Options};
    use crate::peers::Peer;

    fn read(line: &str) -> Result<Option<Options>, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::read(&words)
    }

    #[test]
    fn headwater_always_runs_and_comes_first() {
        let options = read("--only snakemake,dask --jobs fan").unwrap().unwrap();
        assert_eq!(
            options.peers,
            [Peer::Headwater, Peer::Dask, Peer::Snakemake]
        );
        assert_eq!(options.jobs, [Job::Fan]);
    }

    #[test]
    fn flags_take_their_value_after_a_space_or_a_sign() {
        let options = read("--tasks 7 --repeat=2 --markdown").unwrap().unwrap();
        assert_eq!((options.tasks, options.repeat), (7, 2));
        assert_eq!(options.form, Form::Markdown);
        let options = read("--trajectories 2 --tile=512").unwrap().unwrap();
        assert_eq!((options.trajectories, options.tile), (2, Some(512)));
        assert!(read("--limit-threads").unwrap().unwrap().limit_threads);
        assert_eq!(read("--json --help"), Ok(None));
    }

    #[test]
    fn wrong_use_is_told_with_what_would_be_right() {
        let check = |line: &str, part: &str| {
            let error = read(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        };
        check("--only airflow", "expected headwater, dask");
        check("--jobs fan,fun", "expected fan, commands, pipeline, study");
        check("--tasks 0", "from 1");
        check("--tasks", "wants a value");
        check("fan", "means nothing");
    }
}

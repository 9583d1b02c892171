//! How nodes are started: here, by a command, or by Slurm.
//!
//! Law: what is started is the program that is running, with the path of the crew file and nothing that is a secret. Nodes that
//! were started here end with their manager.

use std::ffi::OsString;
use std::fmt;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use headwater_graph::text::shell_quote;

use crate::NodeError;

/// Which nodes to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// So many processes on this machine, which share its cores.
    Local(usize),
    /// A command that starts a node; `{node}` in it is the program with its arguments.
    Command(String),
    /// So many jobs of Slurm.
    Slurm(usize),
}

/// So often Slurm is asked whether anything is left of a job.
const ASKED: Duration = Duration::from_secs(30);
/// At most this many nodes are started.
const MOST: usize = 10_000;

impl FromStr for Launch {
    type Err = NodeError;

    fn from_str(text: &str) -> Result<Launch, NodeError> {
        let unclear = || NodeError::Spec(text.to_owned());
        let (kind, rest) = text.split_once(':').ok_or_else(unclear)?;
        let count = || {
            let count: usize = rest.trim().parse().map_err(|_| unclear())?;
            (1..=MOST)
                .contains(&count)
                .then_some(count)
                .ok_or_else(unclear)
        };
        match kind {
            "local" => Ok(Launch::Local(count()?)),
            "slurm" => Ok(Launch::Slurm(count()?)),
            "command" if rest.contains(PLACE) => Ok(Launch::Command(rest.to_owned())),
            _ => Err(unclear()),
        }
    }
}

impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Launch::Local(count) => write!(f, "local:{count}"),
            Launch::Command(command) => write!(f, "command:{command}"),
            Launch::Slurm(count) => write!(f, "slurm:{count}"),
        }
    }
}

/// What stands for the program in a command.
const PLACE: &str = "{node}";

/// How a program is started as a node of a crew: what stands before the path of the crew file.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// What makes it a node; the path of the crew file comes after that.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// The program that is running, made a node by a hidden argument (see [`node_of_arguments`](crate::node_of_arguments)).
    pub fn of_this() -> std::io::Result<Program> {
        Ok(Program {
            path: std::env::current_exe()?,
            arguments: vec![crate::HIDDEN.into()],
        })
    }

    fn words(&self, crew: &Path, more: &[&str]) -> Vec<OsString> {
        let mut words = self.arguments.clone();
        words.push(crew.into());
        words.extend(more.iter().map(OsString::from));
        words
    }

    /// As a shell takes it.
    fn line(&self, crew: &Path, more: &[&str]) -> String {
        let mut line = shell_quote(&self.path.to_string_lossy()).to_string();
        for word in self.words(crew, more) {
            line.push(' ');
            line.push_str(&shell_quote(&word.to_string_lossy()));
        }
        line
    }
}

/// Nodes that were started.
#[derive(Debug, Default)]
pub struct Launched {
    children: Vec<Child>,
    /// The job of Slurm.
    job: Option<String>,
    /// When Slurm was last asked about it, and whether something of it is left.
    asked: Option<(Instant, bool)>,
}

impl Launch {
    /// How many nodes there will be.
    pub fn count(&self) -> usize {
        match self {
            Launch::Local(count) | Launch::Slurm(count) => *count,
            Launch::Command(_) => 1,
        }
    }

    /// Whether all of them are on this machine.
    pub fn is_local(&self) -> bool {
        matches!(self, Launch::Local(_))
    }

    /// Starts them. `cores` is for those that are started here, all together; `options` are for `sbatch`. What they say
    /// goes to `log`.
    pub fn start(
        &self,
        program: &Program,
        crew: &Path,
        cores: usize,
        options: &[String],
        log: &Path,
    ) -> Result<Launched, NodeError> {
        match self {
            Launch::Local(count) => {
                let mut launched = Launched::default();
                for number in 0..*count {
                    // The first ones have one core more, where they cannot be shared out evenly.
                    let own = (cores / count + usize::from(number < cores % count)).max(1);
                    let (name, own) = (format!("--name=n{}", number + 1), format!("--cores={own}"));
                    let words = program.words(crew, &[&name, &own, "--patience=10"]);
                    let child = Command::new(&program.path)
                        .args(words)
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .stderr(into(log, number))
                        // Ctrl-C is for the manager, which ends them in order.
                        .process_group(0)
                        .spawn()
                        .map_err(|error| failed(&format!("{}: {error}", program.path.display())))?;
                    launched.children.push(child);
                }
                Ok(launched)
            }
            Launch::Command(command) => {
                let line = command.replace(PLACE, &program.line(crew, &[]));
                let child = Command::new("sh")
                    .arg("-c")
                    .arg(&line)
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(into(log, 0))
                    .process_group(0)
                    .spawn()
                    .map_err(|error| failed(&format!("`sh`: {error}")))?;
                Ok(Launched {
                    children: vec![child],
                    ..Launched::default()
                })
            }
            Launch::Slurm(count) => sbatch(program, crew, *count, options, log),
        }
    }
}

fn failed(reason: &str) -> NodeError {
    NodeError::Launch {
        reason: reason.to_owned(),
        hint: None,
    }
}

fn into(log: &Path, number: usize) -> Stdio {
    let _ = std::fs::create_dir_all(log);
    let file = std::fs::File::create(log.join(format!("node-{}.log", number + 1)));
    file.map_or_else(|_| Stdio::null(), Stdio::from)
}

/// Submits one array of jobs, each of which is a node.
fn sbatch(
    program: &Program,
    crew: &Path,
    count: usize,
    options: &[String],
    log: &Path,
) -> Result<Launched, NodeError> {
    let _ = std::fs::create_dir_all(log);
    let script = format!(
        "#!/bin/sh\nexec {} --name=\"slurm-${{SLURM_ARRAY_JOB_ID}}-${{SLURM_ARRAY_TASK_ID}}\" --slurm\n",
        program.line(crew, &[])
    );
    let mut command = Command::new("sbatch");
    command
        .arg("--parsable")
        .arg("--no-requeue")
        .arg("--job-name=headwater")
        .arg(format!("--array=1-{count}"))
        .arg(format!("--output={}/slurm-%A-%a.log", log.display()))
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let missing = |error: std::io::Error| {
        NodeError::Launch {
        reason: format!("`sbatch` cannot be started: {error}"),
        hint: Some("`--nodes slurm:N` needs the programs of Slurm on the machine where the command is given".to_owned()),
    }
    };
    let mut child = command.spawn().map_err(missing)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that refuses says so itself.
        let _ = stdin.write_all(script.as_bytes());
    }
    let output = child.wait_with_output().map_err(missing)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(NodeError::Launch {
            reason: format!(
                "`sbatch` refused the job: {}",
                headwater_graph::text::printable(said.trim())
            ),
            hint: Some(
                "give what your cluster needs with --slurm, such as --slurm=--partition=NAME"
                    .to_owned(),
            ),
        });
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let job = said.trim().split(';').next().unwrap_or_default().to_owned();
    Ok(Launched {
        job: (!job.is_empty()).then_some(job),
        ..Launched::default()
    })
}

impl Launched {
    /// Whether something that was started may still become a node. Slurm is not asked often.
    pub fn may_come(&mut self) -> bool {
        let is_alive = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        self.children.iter_mut().any(is_alive) || self.is_queued()
    }

    fn is_queued(&mut self) -> bool {
        let Some(job) = &self.job else {
            return false;
        };
        let now = Instant::now();
        match self.asked {
            Some((at, answer)) if now.duration_since(at) < ASKED => answer,
            // Just after it was submitted it is there.
            None => {
                self.asked = Some((now, true));
                true
            }
            Some(_) => {
                let said = Command::new("squeue")
                    .args(["-h", "-o", "%F"])
                    .stdin(Stdio::null())
                    .stderr(Stdio::null())
                    .output();
                // A controller that does not answer says nothing of the job.
                let is_there = said.map_or(true, |said| {
                    let jobs = String::from_utf8_lossy(&said.stdout);
                    !said.status.success() || jobs.lines().any(|line| line.trim() == job)
                });
                self.asked = Some((now, is_there));
                is_there
            }
        }
    }

    /// Waits until they have ended, and ends them if they do not.
    pub fn end(&mut self, patience: Duration) {
        let end = Instant::now() + patience;
        for child in &mut self.children {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
            if matches!(child.try_wait(), Ok(None)) {
                let _ = child.kill();
            }
            let _ = child.wait();
        }
        self.children.clear();
        if let Some(job) = self.job.take() {
            // Those that wait in the queue are not wanted any more; those that run know.
            let _ = Command::new("scancel")
                .arg(job)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
    }

    /// How many of the processes that were started here are still there.
    pub fn alive(&mut self) -> usize {
        let is_alive = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        self.children
            .iter_mut()
            .map(is_alive)
            .filter(|alive| *alive)
            .count()
    }

    /// The processes that were started here.
    pub fn processes(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_nodes_is_read_or_refused_with_a_way_out() {
        let read = |text: &str| text.parse::<Launch>();
        assert_eq!(read("local:4").expect("clear"), Launch::Local(4));
        assert_eq!(read("slurm:16").expect("clear"), Launch::Slurm(16));
        let command = read("command:ssh host {node}").expect("clear");
        assert_eq!(command.to_string(), "command:ssh host {node}");
        for text in [
            "",
            "4",
            "local",
            "local:",
            "local:0",
            "local:x",
            "slurm:-1",
            "command:ssh host",
            "other:3",
            "local:99999",
        ] {
            let error = read(text).expect_err("it is unclear");
            assert!(
                error.hint().is_some_and(|hint| hint.contains("local:N")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_program_is_one_word_for_a_shell_whatever_its_path() {
        let program = Program {
            path: "/a path/with 'quotes'".into(),
            arguments: vec!["node".into()],
        };
        let line = program.line(Path::new("/crew file"), &[]);
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!("printf '%s\\n' {line}"))
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "/a path/with 'quotes'\nnode\n/crew file\n");
    }
}

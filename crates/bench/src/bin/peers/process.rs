//! Running an engine to its end, whatever it leaves behind.
//!
//! Law: a run has a limit of time, and when it is over nothing of it is running: processes that carry its mark in their
//! environment are ended. What it says goes to a file, so that a process which stays behind holds no pipe open.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The variable of the environment that marks the processes of a run.
const MARK: &str = "HEADWATER_PEERS_RUN";
/// How long processes that are about to end may take, once the run is over.
const GRACE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// How a run went.
#[derive(Debug)]
pub(crate) struct Ran {
    /// From the start of the process to its end.
    pub(crate) seconds: f64,
    /// What it printed.
    pub(crate) stdout: String,
}

/// Runs it; where it fails, the last lines that it said.
pub(crate) fn run(command: &mut Command, folder: &Path, limit: Duration) -> Result<Ran, String> {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let mark = format!("{}-{number}", std::process::id());
    let place = |name: &str| folder.join(format!("{name}-{number}"));
    let open = |path: &PathBuf| File::create(path).map_err(|error| error.to_string());
    let (stdout, stderr) = (place("stdout"), place("stderr"));
    command
        .env(MARK, &mark)
        .stdin(Stdio::null())
        .stdout(open(&stdout)?)
        .stderr(open(&stderr)?);
    let began = Instant::now();
    let ended = command
        .spawn()
        .map_err(|error| format!("`{}`: {error}", command.get_program().display()))
        .and_then(|mut child| {
            loop {
                match child.try_wait() {
                    Ok(Some(status)) => return Ok((status, began.elapsed())),
                    Ok(None) if began.elapsed() < limit => std::thread::sleep(PAUSE),
                    Ok(None) => {
                        let _ = child.kill();
                        let _ = child.wait();
                        return Err(format!("not done after {} s", limit.as_secs()));
                    }
                    Err(error) => return Err(error.to_string()),
                }
            }
        });
    sweep(&mark, if ended.is_ok() { GRACE } else { Duration::ZERO });
    let read =
        |path: &PathBuf| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let (text, words) = (read(&stdout), read(&stderr));
    let _ = fs::remove_file(&stdout);
    let _ = fs::remove_file(&stderr);
    match ended {
        Ok((status, took)) if status.success() => Ok(Ran {
            seconds: took.as_secs_f64(),
            stdout: text,
        }),
        Ok((status, _)) => Err(format!("{status}: {}", tail(&words, &text))),
        Err(reason) => Err(reason),
    }
}

/// The end of what was said, on one line.
fn tail(words: &str, text: &str) -> String {
    let said = if words.trim().is_empty() { text } else { words };
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let from = lines.len().saturating_sub(3);
    let line = lines[from..].join(" / ");
    match line.char_indices().rev().nth(400) {
        Some((place, _)) => format!("…{}", &line[place..]),
        None => line,
    }
}

/// Waits for the processes with the mark, and ends those that are still there after the grace.
fn sweep(mark: &str, grace: Duration) {
    let began = Instant::now();
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return;
        }
        if began.elapsed() >= grace {
            for process in left {
                // SAFETY: a signal is sent to a process that carries the mark of this run; no memory is involved.
                unsafe {
                    libc::kill(process, libc::SIGKILL);
                }
            }
            if began.elapsed() >= grace + GRACE {
                return;
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The processes that carry the mark, and are not dead already.
fn marked(mark: &str) -> Vec<libc::pid_t> {
    let wanted = format!("{MARK}={mark}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            // A process that has ended has no environment.
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let mut variables = environment.split(|byte| *byte == 0);
            variables
                .any(|variable| variable == wanted.as_bytes())
                .then_some(process)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::{MARK, marked, run, sweep, tail};

    const LONG: Duration = Duration::from_secs(60);

    fn folder(name: &str) -> std::path::PathBuf {
        let folder =
            std::env::temp_dir().join(format!("headwater-peers-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn what_a_run_prints_is_told_and_why_it_failed() {
        let folder = folder("told");
        let ran = run(Command::new("echo").arg("well"), &folder, LONG).unwrap();
        assert_eq!(ran.stdout, "well\n");
        let mut failing = Command::new("sh");
        failing.args(["-c", "echo one >&2; echo two >&2; exit 3"]);
        let reason = run(&mut failing, &folder, LONG).unwrap_err();
        assert!(
            reason.contains('3') && reason.ends_with("one / two"),
            "{reason}"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_run_that_takes_too_long_is_given_up() {
        let folder = folder("limit");
        let mut slow = Command::new("sleep");
        let reason = run(slow.arg("300"), &folder, Duration::ZERO).unwrap_err();
        assert_eq!(reason, "not done after 0 s");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_that_carries_the_mark_is_left_running() {
        let mark = format!("test-{}", std::process::id());
        // The inner one leaves the group and the session of the outer one, as servers do.
        let mut child = Command::new("sh")
            .args(["-c", "setsid sleep 300 & echo started; sleep 300"])
            .env(MARK, &mark)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        assert_eq!(line, "started\n");
        assert!(!marked(&mark).is_empty());
        sweep(&mark, Duration::ZERO);
        assert!(marked(&mark).is_empty());
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn the_end_of_what_was_said_fits_on_a_line() {
        assert_eq!(tail("", "a\n\nb\nc\nd\n"), "b / c / d");
        assert_eq!(tail("x\n", "a\n"), "x");
        assert_eq!(tail(&"ä".repeat(1000), "").chars().count(), 402);
    }
}

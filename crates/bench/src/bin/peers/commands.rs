//! As many runs of `echo`, each with a file of its own for what it says.
//!
//! Law: every engine has to leave the same files. Headwater, Snakemake and cwltool are programs, and their time is that
//! of the whole program; the others have started before the clock does, and the column with start-up counts that too.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use headwater::text::grouped;
use headwater_bench::timed;

use crate::jobs::{self, Chain, Files, LIMIT, Step, Turn, Way};
use crate::peers::Peer;
use crate::table::{Column, Measure, Table};
use crate::{Bench, CORES, process};

/// Commands that run before the clock does, where an engine can start before.
const WARM: usize = 8;

/// Measures the commands.
pub(crate) fn run(bench: &Bench) -> Result<Vec<Table>, Box<dyn Error>> {
    let echo = crate::program_named("echo").ok_or("there is no program `echo` in PATH")?;
    let count = bench.options.commands;
    let wanted: Files = (0..count)
        .map(|number| (format!("{number}.txt"), format!("{number}\n").into_bytes()))
        .collect();
    let turn = |way: Way, folder: &Path| {
        let failed = |error: std::io::Error| error.to_string();
        let out = folder.join("out");
        let turn = match way.peer {
            Peer::Headwater => headwater(bench, folder, &echo, count),
            Peer::Snakemake => snakemake(bench, folder, &echo, count),
            Peer::Cwltool => cwltool(bench, folder, &echo, count),
            _ => {
                let (warm, warm_out) = (0..WARM.min(count), folder.join("warm"));
                fs::create_dir_all(&out).map_err(failed)?;
                fs::create_dir_all(&warm_out).map_err(failed)?;
                let runs = [chains(&echo, 0..count, &out)];
                bench.scripted_chains(way, folder, &runs, &chains(&echo, warm, &warm_out))
            }
        }?;
        jobs::equal(&jobs::files(&out)?, &wanted)?;
        Ok(turn)
    };
    let columns = |_: Way, turn: &Turn| {
        let seconds = turn.seconds.first().copied();
        let rate = seconds.map(|seconds| count as f64 / seconds);
        let whole = seconds.map(|seconds| seconds + turn.start.unwrap_or(0.0));
        vec![rate, whole, turn.start]
    };
    let alone = alone(bench, &echo, count)?;
    let rows = jobs::measure(bench, "commands", &jobs::COMMAND_WAYS, turn, columns);
    Ok(vec![Table {
        job: "commands",
        title: format!(
            "Commands: `echo` {} times, each into a file of its own, {CORES} cores, median of {}",
            grouped(count as u64),
            bench.options.repeat
        ),
        columns: vec![
            Column { heading: "commands/s".to_owned(), measure: Measure::Rate },
            Column { heading: "with start-up, s".to_owned(), measure: Measure::Seconds },
            Column { heading: "start-up, s".to_owned(), measure: Measure::Aside },
        ],
        rows,
        notes: vec![
            format!(
                "no engine at all, {CORES} threads that start the same programs: {} per second",
                grouped((count as f64 / alone).round() as u64)
            ),
            "headwater, snakemake and cwltool are timed as whole programs, from reading their file to the last output; the \
             rates of the others leave out their start-up"
                .to_owned(),
            "every command is a process. Snakemake and parsl start it by a shell; dask, parsl and ray start it from a Python \
             worker"
                .to_owned(),
            "headwater gives each command a folder of its own, and keeps its output in a store under the hash of its \
             contents. Cwltool gives it folders of its own. Snakemake notes in a folder what made each file. Dask, parsl, \
             ray and hyperqueue keep nothing"
                .to_owned(),
        ],
    }])
}

/// Each number to its file.
fn chains(echo: &str, numbers: std::ops::Range<usize>, out: &Path) -> Vec<Chain> {
    let step = |number: usize| Step {
        argv: vec![echo.to_owned(), number.to_string()],
        stdout: Some(out.join(format!("{number}.txt"))),
    };
    numbers.map(|number| vec![step(number)]).collect()
}

/// Seconds that the programs take without any engine; the median of as many turns.
fn alone(bench: &Bench, echo: &str, count: usize) -> Result<f64, Box<dyn Error>> {
    let mut samples = Vec::new();
    for _ in 0..bench.options.repeat {
        let out = bench.scratch.join("alone");
        fs::create_dir_all(&out)?;
        let chains = chains(echo, 0..count, &out);
        let (done, took) = timed(|| jobs::plainly(&chains));
        done?;
        samples.push(took.as_secs_f64());
        fs::remove_dir_all(&out)?;
    }
    Ok(headwater_bench::median(samples))
}

/// `headwater run`, with a store that is new.
fn headwater(bench: &Bench, folder: &Path, echo: &str, count: usize) -> Result<Turn, String> {
    let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    let flow = format!(
        "headwater: 1
workflow: commands
inputs: {{number: int}}
stages:
  write:
    - {{op: write, in: {{number: number}}, out: {{line: line}}}}
outputs: [line]
operations:
  write:
    command: [{echo:?}, \"{{in.number}}\"]
    inputs: {{number: int}}
    stdout: \"{{out.line}}\"
    outputs: {{line: {{type: file, path: line.txt}}}}
"
    );
    write(folder, "flow.yaml", &flow)?;
    write(
        folder,
        "data.yaml",
        &format!("inputs: {{number: [{}]}}\n", numbers.join(", ")),
    )?;
    let mut command = Command::new(&bench.headwater);
    command
        .current_dir(folder)
        .args([
            "run",
            "flow.yaml",
            "--inputs",
            "data.yaml",
            "--store",
            "store",
            "-o",
            "made",
        ])
        .args(["-j", &CORES.to_string()]);
    let ran = process::run(&mut command, folder, LIMIT)?;
    jobs::gather(&folder.join("made/line"), &folder.join("out"))?;
    Ok(whole(ran.seconds))
}

/// `snakemake`, one rule.
fn snakemake(bench: &Bench, folder: &Path, echo: &str, count: usize) -> Result<Turn, String> {
    let file = format!(
        "rule all:
    input: expand(\"out/{{number}}.txt\", number=range({count}))
rule write:
    output: \"out/{{number}}.txt\"
    shell: \"{echo} {{wildcards.number}} > {{output}}\"
"
    );
    write(folder, "Snakefile", &file)?;
    let ran = process::run(&mut jobs::snakemake(bench, folder), folder, LIMIT)?;
    Ok(whole(ran.seconds))
}

/// `cwltool`, one scattered step.
fn cwltool(bench: &Bench, folder: &Path, echo: &str, count: usize) -> Result<Turn, String> {
    let tool = format!(
        "cwlVersion: v1.2
class: CommandLineTool
baseCommand: [{echo:?}]
inputs:
  number: {{type: int, inputBinding: {{position: 1}}}}
stdout: $(inputs.number).txt
outputs:
  line: {{type: stdout}}
"
    );
    const FLOW: &str = "cwlVersion: v1.2
class: Workflow
requirements: {ScatterFeatureRequirement: {}}
inputs: {number: \"int[]\"}
outputs:
  line: {type: \"File[]\", outputSource: write/line}
steps:
  write: {run: tool.cwl, scatter: number, in: {number: number}, out: [line]}
";
    write(folder, "tool.cwl", &tool)?;
    write(folder, "flow.cwl", FLOW)?;
    let numbers: Vec<usize> = (0..count).collect();
    write(
        folder,
        "data.json",
        &serde_json::json!({"number": numbers}).to_string(),
    )?;
    let mut command = jobs::cwltool(bench, folder);
    command.args(["--outdir", "out", "flow.cwl", "data.json"]);
    let ran = process::run(&mut command, folder, LIMIT)?;
    Ok(whole(ran.seconds))
}

/// The turn of a program that does everything.
fn whole(seconds: f64) -> Turn {
    Turn {
        start: None,
        seconds: vec![seconds],
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    fs::write(folder.join(name), text).map_err(|error| format!("`{name}`: {error}"))
}

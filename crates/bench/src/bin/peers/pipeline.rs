//! Three steps of ImageMagick for each image: grey, blurred, black and white.
//!
//! Law: every engine runs the same program with the same arguments, and what comes out has to be the same to the byte.
//! Three runs follow each other: the first, one with nothing changed, and one with another threshold in the last step.
//! An engine that remembers nothing runs all of it again.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use headwater_bench::timed;

use crate::jobs::{self, Chain, Files, LIMIT, Step, Turn, Way};
use crate::peers::Peer;
use crate::table::{Column, Measure, Table};
use crate::{Bench, CORES, process};

/// The names of ImageMagick: of version 7, of version 6 where several can be installed, and of version 6.
const MAGICK: [&str; 3] = ["magick", "convert-im6.q16", "convert"];
/// The threshold of each run, in percent.
const RUNS: [u32; 3] = [60, 60, 55];
/// Pixels on a side of an image.
const SIDE: usize = 512;
/// The steps: name, what stands between the file that is read and the one that is written.
const STEPS: [(&str, &[&str]); 3] = [
    ("grey", &["-colorspace", "Gray", "-depth", "8", "-strip"]),
    ("blur", &["-gaussian-blur", "0x2", "-depth", "8", "-strip"]),
    ("mask", &["-threshold", THRESHOLD, "-depth", "8", "-strip"]),
];
/// Where the threshold goes.
const THRESHOLD: &str = "THRESHOLD";
/// What ImageMagick is told before the file that it reads where every engine is to keep it to one core.
const LIMIT_THREADS: [&str; 3] = ["-limit", "thread", "1"];

/// Measures the pipeline.
pub(crate) fn run(bench: &Bench) -> Result<Vec<Table>, Box<dyn Error>> {
    let Some(magick) = MAGICK.iter().find_map(|name| crate::program_named(name)) else {
        return Ok(vec![left_out()]);
    };
    let images = bench.scratch.join("images");
    make_images(bench, &images)?;
    let (count, limited) = (bench.options.images, bench.options.limit_threads);
    let mut samples = Vec::new();
    let mut wanted: Vec<Files> = Vec::new();
    let plain = bench.scratch.join("alone");
    for threshold in RUNS {
        let chains = chains(&magick, &images, count, &plain, threshold, limited)?;
        let (done, took) = timed(|| jobs::plainly(&chains));
        done?;
        samples.push(took.as_secs_f64());
        wanted.push(jobs::files(&plain.join("mask"))?);
    }
    if wanted[0] == wanted[2] {
        return Err("the threshold makes no difference, so nothing could be compared".into());
    }
    let turn = |way: Way, folder: &Path| {
        let mut turn = Turn {
            start: None,
            seconds: Vec::new(),
        };
        match way.peer {
            Peer::Headwater | Peer::Snakemake | Peer::Cwltool => {
                for (run, threshold) in RUNS.iter().enumerate() {
                    let seconds = match way.peer {
                        Peer::Headwater => {
                            headwater(bench, folder, &magick, &images, *threshold, run)
                        }
                        Peer::Snakemake => {
                            snakemake(bench, folder, &magick, &images, *threshold, run)
                        }
                        _ => cwltool(bench, folder, &magick, &images, *threshold, run),
                    }?;
                    turn.seconds.push(seconds);
                    jobs::equal(
                        &jobs::files(&folder.join(format!("out-{run}")))?,
                        &wanted[run],
                    )?;
                }
            }
            _ => {
                let mut runs = Vec::new();
                for (run, threshold) in RUNS.iter().enumerate() {
                    let out = folder.join(run.to_string());
                    runs.push(
                        chains(&magick, &images, count, &out, *threshold, limited)
                            .map_err(|error| error.to_string())?,
                    );
                }
                let warm = chains(
                    &magick,
                    &images,
                    count.min(CORES),
                    &folder.join("warm"),
                    RUNS[0],
                    limited,
                );
                let warm = warm.map_err(|error| error.to_string())?;
                turn = bench.scripted_chains(way, folder, &runs, &warm)?;
                for (run, wanted) in wanted.iter().enumerate() {
                    jobs::equal(
                        &jobs::files(&folder.join(run.to_string()).join("mask"))?,
                        wanted,
                    )?;
                }
            }
        }
        Ok(turn)
    };
    let columns = |_: Way, turn: &Turn| {
        let first = turn.seconds.first().copied();
        let whole = first.map(|seconds| seconds + turn.start.unwrap_or(0.0));
        let again = turn.seconds.iter().skip(1).copied().map(Some);
        [whole, first]
            .into_iter()
            .chain(again)
            .chain([turn.start])
            .collect()
    };
    let rows = jobs::measure(bench, "pipeline", &jobs::COMMAND_WAYS, turn, columns);
    let column = |heading: &str, measure| Column {
        heading: heading.to_owned(),
        measure,
    };
    Ok(vec![Table {
        job: "pipeline",
        title: format!(
            "Pipeline: three steps of ImageMagick on {count} images of {SIDE} × {SIDE}, {CORES} cores, median of {}",
            bench.options.repeat
        ),
        columns: vec![
            column("first run with start-up, s", Measure::Seconds),
            column("first run, s", Measure::Seconds),
            column("nothing changed, s", Measure::Seconds),
            column("last step changed, s", Measure::Seconds),
            column("start-up, s", Measure::Aside),
        ],
        rows,
        notes: vec![
            format!(
                "no engine at all, {CORES} threads that start the same programs: {:.2} s; outputs are the same to the byte \
                 in every run of every engine",
                samples[0]
            ),
            "headwater, snakemake and cwltool are timed as whole programs; the others leave out their start-up, but in \
             the first column, and run everything again: what they can remember of commands (parsl: `cache=True` and \
             checkpoints, by the arguments; dask: while somebody holds the result) is off, and was not measured"
                .to_owned(),
            if limited { "ImageMagick was told by every engine to use one thread" } else {
                    "ImageMagick uses all cores for one image, unless somebody tells it not to: headwater tells each \
                     program how many cores it has, snakemake, ray and the processes of dask do so for OpenMP, the \
                     others do not. A flag of this benchmark tells it in all of them"
                }
            .to_owned(),
            "headwater knows files and steps by their contents, snakemake by the time of the file, its parameters and its \
             code, cwltool (with --cachedir) by the command and the contents of the files"
                .to_owned(),
        ],
    }])
}

/// The table where there is nothing to run.
fn left_out() -> Table {
    Table {
        job: "pipeline",
        title: "Pipeline: left out".to_owned(),
        columns: Vec::new(),
        rows: Vec::new(),
        notes: vec![format!(
            "there is no ImageMagick: none of {} is in PATH",
            MAGICK.map(|name| format!("`{name}`")).join(", ")
        )],
    }
}

/// Synthetic tissue, another for each number.
fn make_images(bench: &Bench, folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    for number in 0..bench.options.images {
        let status = Command::new(&bench.headwater)
            .args(["imaging", "synth", "--size", &format!("{SIDE}x{SIDE}")])
            .args(["--seed", &(number + 1).to_string(), "-o"])
            .arg(folder.join(image(number)))
            .stdout(std::process::Stdio::null())
            .status()?;
        if !status.success() {
            return Err("`headwater imaging synth` failed; what it said stands above".into());
        }
    }
    Ok(())
}

/// The name of an image, and of what is made of it.
fn image(number: usize) -> String {
    format!("{number:04}.png")
}

/// The arguments of a step, with its files. Unless it is `limited`, ImageMagick uses all cores for one image, or as
/// many as the engine tells it to.
fn arguments(limited: bool, step: usize, from: &str, to: &str, threshold: &str) -> Vec<String> {
    let between = STEPS[step].1.iter().map(|word| match *word {
        THRESHOLD => threshold,
        word => word,
    });
    let before = LIMIT_THREADS.into_iter().filter(|_| limited);
    let words = before.chain([from]).chain(between).chain([to]);
    words.map(str::to_owned).collect()
}

/// The commands of all images, into folders that are made here: one for each step.
fn chains(
    magick: &str,
    images: &Path,
    count: usize,
    out: &Path,
    threshold: u32,
    limited: bool,
) -> Result<Vec<Chain>, Box<dyn Error>> {
    for (name, _) in STEPS {
        fs::create_dir_all(out.join(name))?;
    }
    let threshold = format!("{threshold}%");
    let chain = |number: usize| {
        let mut from = images.join(image(number));
        let step = |step: usize| {
            let to = out.join(STEPS[step].0).join(image(number));
            let mut argv = vec![magick.to_owned()];
            argv.extend(arguments(
                limited,
                step,
                &from.to_string_lossy(),
                &to.to_string_lossy(),
                &threshold,
            ));
            from = to;
            Step { argv, stdout: None }
        };
        (0..STEPS.len()).map(step).collect()
    };
    Ok((0..count).map(chain).collect())
}

/// `headwater run`; what was made goes to `out-RUN`.
fn headwater(
    bench: &Bench,
    folder: &Path,
    magick: &str,
    images: &Path,
    threshold: u32,
    run: usize,
) -> Result<f64, String> {
    let limited = bench.options.limit_threads;
    let mut stages = String::new();
    let mut operations = String::new();
    let mut before = "image";
    for (step, (name, _)) in STEPS.iter().enumerate() {
        let words = arguments(
            limited,
            step,
            "{in.image}",
            "{out.image}",
            "{param.threshold}%",
        );
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let last = step + 1 == STEPS.len();
        let (value, parameter) = if last {
            (
                ", params: {threshold: $threshold}",
                "\n    params: {threshold: int}",
            )
        } else {
            ("", "")
        };
        stages.push_str(&format!(
            "  {name}:\n    - {{op: {name}, in: {{image: {before}}}{value}, out: {{image: {name}}}}}\n"
        ));
        operations.push_str(&format!(
            "  {name}:\n    command: [{magick:?}, {}]\n    inputs: {{image: {{type: file, extension: png}}}}{parameter}\n    \
             outputs: {{image: {{type: file, path: {name}.png}}}}\n",
            words.join(", ")
        ));
        before = name;
    }
    let flow = format!(
        "headwater: 1\nworkflow: pipeline\ninputs: {{image: file}}\nparameters: {{threshold: {{type: int, default: \
         60}}}}\nstages:\n{stages}outputs: [mask]\noperations:\n{operations}"
    );
    write(folder, "flow.yaml", &flow)?;
    let pattern = images.join("*.png");
    write(
        folder,
        "data.yaml",
        &format!("inputs: {{image: {:?}}}\n", pattern.to_string_lossy()),
    )?;
    let made = format!("made-{run}");
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
            &made,
        ])
        .args([
            "--set",
            &format!("threshold={threshold}"),
            "-j",
            &CORES.to_string(),
        ]);
    let ran = process::run(&mut command, folder, LIMIT)?;
    jobs::gather(
        &folder.join(made).join("mask"),
        &folder.join(format!("out-{run}")),
    )?;
    let out = folder.join(format!("out-{run}"));
    rename(&out)?;
    Ok(ran.seconds)
}

/// `snakemake`, a rule for each step.
fn snakemake(
    bench: &Bench,
    folder: &Path,
    magick: &str,
    images: &Path,
    threshold: u32,
    run: usize,
) -> Result<f64, String> {
    let limited = bench.options.limit_threads;
    let numbers: Vec<String> = (0..bench.options.images)
        .map(|number| format!("{number:04}"))
        .collect();
    let mut file = format!(
        "NUMBERS = \"{}\".split()\nrule all:\n    input: expand(\"mask/{{number}}.png\", number=NUMBERS)\n",
        numbers.join(" ")
    );
    let mut before = images.to_string_lossy().into_owned();
    for (step, (name, _)) in STEPS.iter().enumerate() {
        let words = arguments(limited, step, "{input}", "{output}", "{params.threshold}%");
        let parameter = if step + 1 == STEPS.len() {
            "    params: threshold=config[\"threshold\"]\n"
        } else {
            ""
        };
        file.push_str(&format!(
            "rule {name}:\n    input: \"{before}/{{number}}.png\"\n    output: \"{name}/{{number}}.png\"\n{parameter}    \
             shell: \"{magick} {}\"\n",
            words.join(" ")
        ));
        before = (*name).to_owned();
    }
    write(folder, "Snakefile", &file)?;
    let mut command = jobs::snakemake(bench, folder);
    command.args(["--config", &format!("threshold={threshold}")]);
    let ran = process::run(&mut command, folder, LIMIT)?;
    jobs::gather(&folder.join("mask"), &folder.join(format!("out-{run}")))?;
    Ok(ran.seconds)
}

/// `cwltool` with a cache, a scattered step for each step.
fn cwltool(
    bench: &Bench,
    folder: &Path,
    magick: &str,
    images: &Path,
    threshold: u32,
    run: usize,
) -> Result<f64, String> {
    let limited = bench.options.limit_threads;
    let mut steps = String::new();
    let mut before = "image".to_owned();
    for (step, (name, _)) in STEPS.iter().enumerate() {
        let words = arguments(
            limited,
            step,
            "$(inputs.image.path)",
            "$(inputs.image.basename)",
            "$(inputs.threshold)%",
        );
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let (input, value) = if step + 1 == STEPS.len() {
            ("  threshold: int\n", ", threshold: threshold")
        } else {
            ("", "")
        };
        let tool = format!(
            "cwlVersion: v1.2\nclass: CommandLineTool\nbaseCommand: [{magick:?}]\narguments: [{}]\ninputs:\n  image: \
             File\n{input}outputs:\n  made: {{type: File, outputBinding: {{glob: $(inputs.image.basename)}}}}\n",
            words.join(", ")
        );
        write(folder, &format!("{name}.cwl"), &tool)?;
        steps.push_str(&format!(
            "  {name}: {{run: {name}.cwl, scatter: image, in: {{image: {before}{value}}}, out: [made]}}\n"
        ));
        before = format!("{name}/made");
    }
    let flow = format!(
        "cwlVersion: v1.2\nclass: Workflow\nrequirements: {{ScatterFeatureRequirement: {{}}}}\ninputs: {{image: \"File[]\", \
         threshold: int}}\noutputs:\n  mask: {{type: \"File[]\", outputSource: mask/made}}\nsteps:\n{steps}"
    );
    write(folder, "flow.cwl", &flow)?;
    let files: Vec<_> = (0..bench.options.images)
        .map(|number| serde_json::json!({"class": "File", "path": images.join(image(number))}))
        .collect();
    let data = serde_json::json!({"image": files, "threshold": threshold});
    write(folder, "data.json", &data.to_string())?;
    let mut command = jobs::cwltool(bench, folder);
    let out = format!("out-{run}");
    command.args([
        "--cachedir",
        "cachedir",
        "--outdir",
        &out,
        "flow.cwl",
        "data.json",
    ]);
    let ran = process::run(&mut command, folder, LIMIT)?;
    Ok(ran.seconds)
}

/// Headwater names outputs by their place; here they get the name of their image.
fn rename(folder: &Path) -> Result<(), String> {
    for name in jobs::files(folder)?.keys() {
        let stem = name.split('.').next().unwrap_or_default();
        let number: usize = stem
            .parse()
            .map_err(|_| format!("`{name}` is not the name of an output"))?;
        let to = folder.join(image(number));
        fs::rename(folder.join(name), to).map_err(|error| format!("`{name}`: {error}"))?;
    }
    Ok(())
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    fs::write(folder.join(name), text).map_err(|error| format!("`{name}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::arguments;

    #[test]
    fn a_step_reads_one_file_and_writes_one() {
        let words = |limited| arguments(limited, 2, "from.png", "to.png", "55%").join(" ");
        let plain = "from.png -threshold 55% -depth 8 -strip to.png";
        assert_eq!(words(false), plain);
        assert_eq!(words(true), format!("-limit thread 1 {plain}"));
        assert!(!arguments(false, 1, "a", "b", "55%").contains(&"55%".to_owned()));
    }
}

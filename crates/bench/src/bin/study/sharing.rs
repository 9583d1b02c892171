//! The same study under eight ways of sharing.
//!
//! Law: all ways give the same values, bit for bit, or nothing is compared. The unmerged segmentation is seven tasks for
//! each set; the tasks of the reference and of the examples are among those that were executed, and the channel split,
//! which nobody counts, is not.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use headwater_bench::{Bar, Claims};

use crate::CORES;
use crate::child::{self, CONTENT, MODES, Ran};

/// The stage that the paper merges, and the tasks that it has.
const STAGE: &str = "segment";
const WIDTH: usize = 7;
/// The paper's costs of t1 to t7, in percent of the stage, in the order of the workflow.
const COSTS: [f64; WIDTH] = [12.03, 20.90, 6.92, 3.49, 8.02, 39.59, 9.05];
/// The paper's speed-up of merging whole stages.
const PAPER_STAGE: f64 = 1.85;
/// What the paper has beside a way of sharing. Each figure is an "up to" over 160 to 640 sets, on six nodes.
const PAPER: [&str; MODES.len()] = [
    "1",
    "up to 1.85",
    "1.08 over stage",
    "up to 2.61; 1.50 over stage",
    "",
    "",
    "",
    "",
];

/// Where the study is.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nuclei")
}

/// Claims on sharing.
pub(crate) fn measure(
    claims: &mut Claims,
    folder: &Path,
    quick: bool,
    turns: usize,
) -> Result<(), Box<dyn Error>> {
    let study = examples().join("moat.yaml");
    let settings = if quick {
        vec!["method.moat.trajectories=2".to_owned()]
    } else {
        Vec::new()
    };
    let mut best: [Option<Ran>; MODES.len()] = Default::default();
    let mut content = folder.join(CONTENT);
    let mut ratios = Vec::new();
    let mut differ = 0;
    let mut values: Option<Vec<Option<u64>>> = None;
    for turn in 0..turns {
        for (place, (mode, ..)) in MODES.iter().enumerate() {
            let own = folder.join(format!("{mode}-{turn}"));
            fs::create_dir_all(&own)?;
            let ran = child::run(mode, &study, &own, None, &settings)?;
            eprintln!("{mode}: {:.2} s, {:.2} s of work", ran.seconds, ran.work());
            let first = values.get_or_insert_with(|| ran.values.clone());
            let pairs = first.iter().zip(&ran.values);
            differ += pairs
                .filter(|(one, other)| one.is_none() || one != other)
                .count();
            differ += first.len().abs_diff(ran.values.len());
            match *mode {
                CONTENT => {
                    ratios.push(ran.facts.running_seconds / (ran.work() / CORES as f64));
                    content = own;
                }
                _ => fs::remove_dir_all(&own)?,
            }
            let slot = &mut best[place];
            if slot
                .as_ref()
                .is_none_or(|known| ran.seconds < known.seconds)
            {
                *slot = Some(ran);
            }
        }
    }
    let best: Vec<Ran> = best.into_iter().flatten().collect();
    let sets = best[0].values.len();
    let unmerged = WIDTH * sets;
    table(claims, &best, unmerged);
    let (none, shared) = (&best[0], &best[MODES.len() - 1]);
    weighted(claims, shared, sets);
    claims.claim(
        &format!(
            "values that differ from those of none, bit for bit, in {} runs of {sets} sets",
            turns * MODES.len()
        ),
        differ as f64,
        "values",
        Bar::AtMost(0.0),
    );
    if quick {
        claims.note(&format!(
            "--quick: {sets} sets; the bars for 640 sets are not tested"
        ));
    } else {
        let share = 100.0 * shared.executed(Some(STAGE)) as f64 / unmerged as f64;
        let what = format!("segmentation tasks executed, of {unmerged} unmerged");
        claims.claim(&what, share, "%", Bar::AtMost(42.0));
        let ideal = shared.work() / CORES as f64;
        claims.claim(
            &format!(
                "time from the first task to the last over (sum of executed task times / {CORES} cores)"
            ),
            shared.facts.running_seconds / ideal,
            "times",
            Bar::AtMost(1.1),
        );
        let spread: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.3}")).collect();
        claims.note(&format!(
            "{:.2} s; in each turn {}. From reading the study to its report it is {:.2} s, {:.3} times; of the whole \
             process {:.2} s, {:.3} times",
            shared.facts.running_seconds,
            spread.join(" and "),
            shared.facts.seconds,
            shared.facts.seconds / ideal,
            shared.seconds,
            shared.seconds / ideal,
        ));
        let speedup = none.seconds / shared.seconds;
        let what = format!("{CONTENT}, speed-up over none");
        claims.claim(&what, speedup, "times", Bar::AtLeast(3.0));
        claims.claim(
            "the study, from the start of the process to its end, with its report",
            shared.seconds,
            "s",
            Bar::AtMost(120.0),
        );
    }
    again(claims, &study, &content, &settings, shared)
}

/// One line for each way of sharing.
fn table(claims: &mut Claims, best: &[Ran], unmerged: usize) {
    claims.note(&format!(
        "{:13} {:>9} {:>7} {:>6} {:>7} {:>7} {:>7} {:>9} {:>5}  paper (six nodes)",
        "sharing", STAGE, "%", "all", "time s", "work s", "CPU s", "speed-up", "MiB"
    ));
    for (place, ran) in best.iter().enumerate() {
        let segment = ran.executed(Some(STAGE));
        let line = format!(
            "{:13} {segment:>9} {:>7.1} {:>6} {:>7.2} {:>7.2} {:>7.2} {:>9.2} {:>5.0}  {}",
            MODES[place].0,
            100.0 * segment as f64 / unmerged as f64,
            ran.executed(None),
            ran.seconds,
            ran.work(),
            ran.processor,
            best[0].seconds / ran.seconds,
            ran.memory as f64 / f64::from(1 << 20),
            PAPER[place],
        );
        claims.note(line.trim_end());
    }
    claims.note(
        "time: the whole process; work: all executed tasks, one after the other; CPU: of all threads; graph and graph+content remember in a \
         fresh store and pay for it, the others do not; RTMA and naive: 7 stages in a bucket",
    );
}

/// What the sharing is worth if tasks cost what they cost the paper.
fn weighted(claims: &mut Claims, shared: &Ran, sets: usize) {
    let tasks = shared.facts.tasks.iter().filter(|task| task.stage == STAGE);
    let executed: Vec<usize> = tasks.map(|task| task.tally.executed).collect();
    if executed.len() != WIDTH {
        return;
    }
    let weigh = |counts: &[usize]| -> f64 {
        let pairs = counts.iter().zip(COSTS);
        pairs.map(|(count, cost)| *count as f64 * cost).sum()
    };
    let factor = weigh(&[sets; WIDTH]) / weigh(&executed);
    let counts: Vec<String> = executed.iter().map(ToString::to_string).collect();
    claims.note(&format!(
        "{CONTENT}: t1 to t7 executed {} times; weighted with the paper's task costs {factor:.2} times less segmentation, \
         and with its {PAPER_STAGE} for merging whole stages {:.2} times less in all",
        counts.join(", "),
        factor * PAPER_STAGE,
    ));
}

/// The same study again, where everything is remembered.
fn again(
    claims: &mut Claims,
    study: &Path,
    folder: &Path,
    settings: &[String],
    first: &Ran,
) -> Result<(), Box<dyn Error>> {
    let ran = child::run(CONTENT, study, folder, None, settings)?;
    if ran.values != first.values {
        return Err("the second run has other values than the first".into());
    }
    claims.claim(
        "tasks executed when the study is run again",
        ran.executed(None) as f64,
        "tasks",
        Bar::AtMost(0.0),
    );
    claims.note(&format!(
        "in {:.2} s, {:.0} times quicker than the first time",
        ran.seconds,
        first.seconds / ran.seconds
    ));
    Ok(())
}

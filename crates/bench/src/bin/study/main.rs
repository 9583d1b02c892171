//! What sharing saves a whole study: eight ways of sharing side by side, a second run, memory under a limit, and a
//! large study.
//!
//! Law: the study is `examples/nuclei/moat.yaml`, 640 sets with normalization, on two cores. Each run is a process of
//! its own in a fresh folder with a fresh store; its time is that of the process, from its start to its end. Ways of
//! sharing take turns, and of each the quickest run counts. `--quick` has two trajectories and one turn, tests no bar
//! that is for 640 sets, and says so; `--turns N` takes as many turns as said; `--only sharing`, `--only memory` and
//! `--only large` (the same study with 160,000 sets, and again) measure one part. `--only paper` measures how far the answer agrees with the paper's, over several seeds; that is no
//! measure of time, and no part of the others.

mod child;
mod large;
mod memory;
mod paper;
mod sharing;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use headwater_bench::{Claims, exit_code};

/// On how many cores studies run.
const CORES: usize = 2;

fn main() -> ExitCode {
    // A run may have to start programs, as the command line does.
    headwater::init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, wanted @ ..] = arguments.as_slice()
        && flag == child::CHILD
    {
        return child::child(wanted);
    }
    let mut claims = Claims::new("study");
    let folder = std::env::temp_dir().join(format!("headwater-study-{}", std::process::id()));
    let measured = fs::create_dir_all(&folder)
        .map_err(Into::into)
        .and_then(|()| measure(&mut claims, &folder, &arguments));
    let _ = fs::remove_dir_all(&folder);
    exit_code(measured, |()| claims.finish())
}

fn measure(claims: &mut Claims, folder: &Path, arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let after = |flag: &str| {
        let place = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(place + 1)
    };
    let turns = after("--turns").map(|turns| turns.parse()).transpose()?;
    let turns: usize = turns.unwrap_or(if quick { 1 } else { 2 });
    let only = after("--only");
    const PARTS: [&str; 4] = ["sharing", "memory", "large", "paper"];
    if let Some(only) = only.filter(|only| !PARTS.contains(&only.as_str())) {
        return Err(format!("`--only {only}`: expected one of {}", PARTS.join(", ")).into());
    }
    let wanted = |part: &str| only.is_none_or(|only| only == part);
    if wanted("sharing") {
        sharing::measure(claims, folder, quick, turns.max(1))?;
    }
    if wanted("memory") {
        memory::measure(claims, folder, quick)?;
    }
    if wanted("large") {
        large::measure(claims, folder, quick)?;
    }
    if only.is_some_and(|only| only == "paper") {
        paper::measure(claims, folder, quick)?;
    }
    Ok(())
}

//! How far the study of the example agrees with table 2 of the paper, over several seeds.
//!
//! Law: the study is `examples/nuclei/two-phase.yaml`, a screening and then a decomposition of variance, with nothing
//! changed but its seed. What one seed says is chance as much as agreement, so the least and the largest of all seeds are
//! told. Seeds share a store; that changes no value.

use std::error::Error;
use std::fs;
use std::path::Path;

use headwater_bench::{Bar, Claims};
use serde_json::Value;

use crate::{child, sharing};

/// Which seeds: that of the file, and those after it.
const SEEDS: std::ops::RangeInclusive<u64> = 42..=48;

/// What the paper's table 2 has of the two parameters that matter most: S1.
const PAPER: [(&str, f64); 2] = [("G2", 0.73), ("G1", 0.23)];

/// Claims on agreement with the paper.
pub(crate) fn measure(
    claims: &mut Claims,
    folder: &Path,
    quick: bool,
) -> Result<(), Box<dyn Error>> {
    let place = folder.join("paper");
    fs::create_dir_all(&place)?;
    for file in ["nuclei.yaml", "two-phase.yaml", "tissue.png"] {
        fs::copy(sharing::examples().join(file), place.join(file))?;
    }
    let study = place.join("two-phase.yaml");
    let mut found: Vec<[(f64, f64); 2]> = Vec::new();
    let mut in_order = 0;
    for seed in SEEDS.take(if quick { 1 } else { usize::MAX }) {
        let settings = [format!("seed={seed}")];
        child::run(child::CONTENT, &study, &place, None, &settings)?;
        let results = fs::read(place.join("outputs/last/results.json"))?;
        let results: Value = serde_json::from_slice(&results)?;
        let shares = [share(&results, PAPER[0].0)?, share(&results, PAPER[1].0)?];
        claims.note(&format!(
            "seed {seed}: S1 of {} is {:.3} ± {:.3}, of {} {:.3} ± {:.3}",
            PAPER[0].0, shares[0].0, shares[0].1, PAPER[1].0, shares[1].0, shares[1].1
        ));
        in_order += usize::from(leads(&results, PAPER.map(|(name, _)| name)));
        found.push(shares);
    }
    for (place, (name, paper)) in PAPER.into_iter().enumerate() {
        let of_seeds = || found.iter().map(|shares| shares[place].0);
        let least = of_seeds().fold(f64::INFINITY, f64::min);
        let most = of_seeds().fold(f64::NEG_INFINITY, f64::max);
        let mean = of_seeds().sum::<f64>() / found.len() as f64;
        let held = found
            .iter()
            .filter(|shares| (shares[place].0 - paper).abs() <= shares[place].1)
            .count();
        claims.note(&format!(
            "S1 of {name}: {least:.3} to {most:.3} over {} seeds, {mean:.3} on average; the paper has {paper} on its own \
             tiles, which {held} of the intervals hold",
            found.len()
        ));
    }
    claims.claim(
        "seeds for which the two parameters with the largest S1 are those of the paper's table 2",
        in_order as f64 / found.len() as f64,
        "of all",
        Bar::AtLeast(1.0),
    );
    Ok(())
}

/// S1 of a parameter, and half its interval.
fn share(results: &Value, name: &str) -> Result<(f64, f64), Box<dyn Error>> {
    let names = results["names"].as_array().ok_or("no names")?;
    let position = names.iter().position(|known| known == name);
    let position = position.ok_or("the screening did not keep it")?;
    let number = |key: &str| results[key][position].as_f64().ok_or("no share");
    Ok((number("S1")?, number("S1_conf")?))
}

/// Whether these have the largest S1, in this order.
fn leads(results: &Value, expected: [&str; 2]) -> bool {
    let (Some(names), Some(shares)) = (results["names"].as_array(), results["S1"].as_array())
    else {
        return false;
    };
    let mut ranked: Vec<(&Value, f64)> = names
        .iter()
        .zip(
            shares
                .iter()
                .map(|share| share.as_f64().unwrap_or(f64::NAN)),
        )
        .collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    let leaders = ranked.iter().map(|(name, _)| name.as_str());
    leaders.take(2).eq(expected.map(Some))
}

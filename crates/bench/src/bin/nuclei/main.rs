//! The nuclei segmentation beside OpenCV and scikit-image: kernels, the seven tasks, memory, two threads.
//!
//! Law: all is measured on one image, mirrored to the size in question, and both sides of a ratio come from one run.
//! `clock` measures, `images` has the image, `python` the other side, `kernels` and `tiles` what is compared. `--only
//! kernels`, `--only memory` and `--only tiles` measure one part.

mod clock;
mod images;
mod kernels;
mod python;
mod tiles;

use std::error::Error;
use std::process::{Command, ExitCode};

use headwater_bench::{Bar, Claims, exit_code, resident};
use headwater_imaging::nuclei::{self, Parameters};

use images::Source;
use python::Python;

/// Pixels on a side of the tile for the kernels, and of that for the memory.
const SIDE: usize = 2048;
const LARGE_SIDE: usize = 4096;
/// The argument that makes this program measure its own memory.
const MEMORY: &str = "--memory";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [MEMORY] => memory_of_a_stage(),
        [tiles::ARGUMENT, half] => tiles::process(half),
        _ => {
            let mut claims = Claims::new("nuclei");
            match measure(&mut claims, &words) {
                Ok(()) => return claims.finish(),
                Err(error) => Err(error),
            }
        }
    };
    exit_code(done, |()| ExitCode::SUCCESS)
}

fn measure(claims: &mut Claims, words: &[&str]) -> Result<(), Box<dyn Error>> {
    let only = words.iter().position(|word| *word == "--only");
    let only = only.and_then(|place| words.get(place + 1));
    const PARTS: [&str; 3] = ["kernels", "memory", "tiles"];
    if let Some(only) = only.filter(|only| !PARTS.contains(only)) {
        return Err(format!("`--only {only}`: expected one of {}", PARTS.join(", ")).into());
    }
    let wanted = |part: &str| only.is_none_or(|only| *only == part);
    let source = Source::find()?;
    claims.note(&format!("on {}, mirrored", source.name));
    if wanted("kernels") {
        let mut python = Python::start(claims)?;
        if let Some(python) = &python {
            claims.compared_with(python.versions.trim());
            claims.note(&format!("a tile of {SIDE} × {SIDE}"));
        }
        kernels::measure(claims, source.mirrored(SIDE, 0).view(), python.as_mut())?;
    }
    drop(source);
    if wanted("memory") {
        memory(claims)?;
    }
    if wanted("tiles") {
        tiles::measure(claims)?;
    }
    Ok(())
}

/// In a process of its own, which has done nothing before.
fn memory(claims: &mut Claims) -> Result<(), Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?)
        .arg(MEMORY)
        .output()?;
    let bytes: u64 = String::from_utf8(output.stdout)?.trim().parse()?;
    claims.claim(
        "peak memory of the segmentation",
        bytes as f64 / (LARGE_SIDE * LARGE_SIDE) as f64,
        "bytes per pixel",
        Bar::AtMost(32.0),
    );
    claims.note(&format!(
        "image of {LARGE_SIDE} × {LARGE_SIDE}: the most that a fresh process ever held, less what it held before it had \
         the image; image (3 bytes per pixel) and mask included"
    ));
    Ok(())
}

/// Prints by how many bytes the segmentation raises what this process holds.
fn memory_of_a_stage() -> Result<(), Box<dyn Error>> {
    let source = Source::find()?;
    let (before, _) = resident();
    let image = source.mirrored(LARGE_SIDE, 0);
    let made = nuclei::segment(image.view(), &Parameters::default(), |_| {});
    let (_, after) = resident();
    if made.nuclei == 0 || before == 0 {
        return Err("there was nothing to measure".into());
    }
    println!("{}", after - before);
    Ok(())
}

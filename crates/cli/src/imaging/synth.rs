//! `headwater imaging synth`.
//!
//! Law: the same arguments give the same bytes, whatever the number of threads. Memory is that of a few bands of rows
//! for each thread, whatever the size.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use headwater::Error;
use headwater_imaging::{Colour, Plane, Synth, SynthOptions};
use serde_json::json;

use super::order::{Plan, in_order};
use super::outputs::{self, Output, Writing};
use super::{cores, failed, seconds, wrong_use};
use crate::arguments::Common;
use crate::arguments::imaging::Synthesis;
use crate::progress::Steps;
use crate::show;

/// Rows of a band: higher than any nucleus, so that one lies in at most two, and as high as the tiles of a TIFF.
const BAND: usize = 256;

/// A file of labels of 16 bits, counted as they come.
struct Labels {
    writing: Writing<u16>,
    numbers: HashMap<u32, u16>,
    row: Vec<u16>,
}

impl Labels {
    fn write(&mut self, path: &Path, labels: &Plane<u32>) -> Result<(), Error> {
        for row in labels.view().rows() {
            self.row.clear();
            for &label in row {
                let number = match self.numbers.get(&label) {
                    _ if label == 0 => 0,
                    Some(&number) => number,
                    None => {
                        let next = u16::try_from(self.numbers.len() + 1).map_err(|_| {
                            let problem = "there are more than 65,535 nuclei, and labels have 16 bits; choose a \
                                           smaller --size, a lower --density, or --mask";
                            failed("cannot write", path, std::io::Error::other(problem).into())
                        })?;
                        self.numbers.insert(label, next);
                        next
                    }
                };
                self.row.push(number);
            }
            self.writing.write_row(&self.row)?;
        }
        Ok(())
    }
}

/// A file of a mask.
struct Mask {
    writing: Writing<u8>,
    row: Vec<u8>,
}

impl Mask {
    fn write(&mut self, labels: &Plane<u32>) -> Result<(), Error> {
        for row in labels.view().rows() {
            self.row.clear();
            let row = row.iter().map(|&label| if label == 0 { 0 } else { 255 });
            self.row.extend(row);
            self.writing.write_row(&self.row)?;
        }
        Ok(())
    }
}

/// What has been made.
#[derive(Default)]
struct Counts {
    nuclei: usize,
    foreground: usize,
    /// The labels of the band before.
    before: HashSet<u32>,
}

impl Counts {
    fn add(&mut self, labels: &Plane<u32>) {
        let mut here = HashSet::new();
        let mut last = 0;
        for &label in labels.pixels() {
            self.foreground += usize::from(label != 0);
            if label != 0 && label != last {
                here.insert(label);
            }
            last = label;
        }
        self.nuclei += here.difference(&self.before).count();
        self.before = here;
    }
}

pub(super) fn synth(options: &Synthesis, common: &Common) -> Result<ExitCode, Error> {
    let began = Instant::now();
    let (width, height) = options.size;
    let tissue = SynthOptions {
        density: options.density as f32,
        ..SynthOptions::default()
    };
    let made = Synth::new(width, height, options.seed, tissue);
    let made =
        made.map_err(|error| wrong_use(error.to_string(), "see --help for what is possible"))?;
    let mut others: Vec<&Path> = Vec::new();
    let mut output = |flag: &str, path| {
        let output = Output::new(flag, path, &others);
        others.push(path);
        output
    };
    let image = output("-o", &options.output)?;
    let mask = options.mask.as_ref();
    let mask = mask.map(|path| output("--mask", path)).transpose()?;
    let labels = options.labels.as_ref();
    let labels = labels.map(|path| output("--labels", path)).transpose()?;

    outputs::watch(common.json);
    let mut image = image.begin::<Colour>(width, height)?;
    let begin = |output: Output| {
        let writing = output.begin(width, height)?;
        let row = Vec::with_capacity(width);
        Ok::<_, Error>(Mask { writing, row })
    };
    let mut mask = mask.map(begin).transpose()?;
    let begin = |output: Output| {
        let writing = output.begin(width, height)?;
        let (numbers, row) = (HashMap::new(), Vec::with_capacity(width));
        Ok::<_, Error>(Labels {
            writing,
            numbers,
            row,
        })
    };
    let mut labels = labels.map(begin).transpose()?;

    let plan = Plan {
        count: height.div_ceil(BAND),
        threads: options.cores.number().unwrap_or_else(cores),
        reads_in_order: false,
    };
    let mut steps = Steps::new("synth", "band", plan.count, common.json);
    let mut counts = Counts::default();
    in_order(
        plan,
        || Ok(()),
        |(), _| Ok(()),
        |number, ()| made.labelled_band(number * BAND, BAND),
        |_, (band, found)| {
            image.write_rows(band.view().rows())?;
            if let Some(mask) = &mut mask {
                mask.write(&found)?;
            }
            if let (Some(labels), Some(path)) = (&mut labels, &options.labels) {
                labels.write(path, &found)?;
            }
            counts.add(&found);
            steps.advance(1);
            Ok(())
        },
    )?;
    let mut written = vec![image.finish()?];
    if let Some(mask) = mask {
        written.push(mask.writing.finish()?);
    }
    if let Some(labels) = labels {
        written.push(labels.writing.finish()?);
    }
    outputs::appear(written)?;
    steps.finish();
    let total = began.elapsed().as_secs_f64();
    if common.json {
        let object = json!({
            "image": options.output,
            "mask": options.mask,
            "labels": options.labels,
            "width": width,
            "height": height,
            "seed": options.seed,
            "density": options.density,
            "nuclei": counts.nuclei,
            "foreground": counts.foreground,
            "seconds": seconds(total),
        });
        show::line(&object.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    show::line(&format!(
        "{}: {width} × {height} pixels, {} nuclei, {}",
        options.output.display(),
        show::grouped(counts.nuclei),
        show::duration(total)
    ));
    for (name, path) in [("mask", &options.mask), ("labels", &options.labels)] {
        if let Some(path) = path {
            show::line(&format!("  {name}: {}", path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

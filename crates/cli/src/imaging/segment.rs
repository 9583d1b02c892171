//! `headwater imaging segment`.
//!
//! Law: a status is a result; an image that cannot be read, or a reference that does not fit it, is an error, and then
//! no file is written.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use headwater::Error;
use headwater_imaging::files::{ImageError, Picture, Slide};
use headwater_imaging::nuclei::{Status, StatusCounts, Task};
use headwater_imaging::segmentation::{Job, Step};
use headwater_imaging::{PixelAgreement, Plane, View, compare_pixels};
use serde_json::{Map, Value, json};

use super::outputs::{self, Output};
use super::{open, seconds, settings, tiled, unreadable, wrong_use};
use crate::arguments::Common;
use crate::arguments::imaging::Segment;
use crate::show;

/// More pixels than this are not segmented at once: 32 bytes are needed for each.
const MOST: u64 = 1 << 28;

/// How long the steps took.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Times {
    pub(super) read: f64,
    pub(super) normalize: f64,
    /// In the order of [`Task::ALL`].
    pub(super) tasks: [f64; Task::ALL.len()],
    pub(super) overlay: f64,
    pub(super) write: f64,
}

impl Times {
    pub(super) fn add(&mut self, other: &Times) {
        self.read += other.read;
        self.normalize += other.normalize;
        for (own, other) in self.tasks.iter_mut().zip(other.tasks) {
            *own += other;
        }
        self.overlay += other.overlay;
        self.write += other.write;
    }

    fn steps(&self, options: &Segment) -> Vec<(&'static str, f64)> {
        let mut steps = vec![("read", self.read)];
        if options.normalize {
            steps.push(("normalize", self.normalize));
        }
        steps.extend(Task::ALL.iter().map(|task| task.name()).zip(self.tasks));
        if options.overlay.is_some() {
            steps.push(("overlay", self.overlay));
        }
        steps.push(("write", self.write));
        steps
    }
}

/// Measures the steps of a job.
#[derive(Default)]
pub(super) struct Watch {
    times: Times,
    current: Option<(Step, Instant)>,
}

impl Watch {
    /// A step begins, and the one before it ends.
    pub(super) fn began(&mut self, step: Step) {
        self.end();
        self.current = Some((step, Instant::now()));
    }

    fn end(&mut self) {
        let Some((step, began)) = self.current.take() else {
            return;
        };
        let times = &mut self.times;
        let time = match step {
            Step::Normalize => &mut times.normalize,
            Step::Task(task) => &mut times.tasks[task as usize],
            Step::Overlay => &mut times.overlay,
            // It takes next to nothing, and is not reported.
            Step::Compare => return,
        };
        *time += began.elapsed().as_secs_f64();
    }

    /// How long the steps took, now that the last one has ended.
    pub(super) fn times(mut self) -> Times {
        self.end();
        self.times
    }
}

/// What a segmentation came to.
pub(super) struct Segmented {
    pub(super) size: (u64, u64),
    pub(super) status: Status,
    pub(super) nuclei: u64,
    pub(super) foreground: u64,
    pub(super) times: Times,
    pub(super) agreement: Option<PixelAgreement>,
    /// Only of a slide in tiles.
    pub(super) tiles: Option<StatusCounts>,
}

/// Where results go.
pub(super) struct Outputs {
    pub(super) mask: Output,
    pub(super) overlay: Option<Output>,
}

pub(super) fn segment(options: &Segment, common: &Common) -> Result<ExitCode, Error> {
    let began = Instant::now();
    let job = Job {
        parameters: settings::parameters(&options.set)?,
        normalize: options.normalize,
        overlay: options.overlay.is_some(),
    };
    let mut read: Vec<&Path> = vec![&options.image];
    read.extend(options.reference.as_deref());
    let mask = Output::new("-o", &options.output, &read)?;
    read.push(&options.output);
    let overlay = options.overlay.as_deref();
    let overlay = overlay.map(|path| Output::new("--overlay", path, &read));
    let outputs = Outputs {
        mask,
        overlay: overlay.transpose()?,
    };
    let slide = open(&options.image)?;
    let (width, height) = level(options, &slide)?;
    outputs::watch(common.json);
    let outcome = match options.tile {
        Some(tile) => tiled::segment(options, common, &job, outputs, slide, tile)?,
        None if width.saturating_mul(height) > MOST => {
            let error = ImageError::TooLarge {
                width,
                height,
                limit: MOST,
                way_out: "segment it in tiles, with --tile 4096",
            };
            return Err(unreadable(&options.image, error));
        }
        None => at_once(options, &job, outputs, slide)?,
    };
    let total = began.elapsed().as_secs_f64();
    if common.json {
        show::line(&as_json(options, &outcome, total).to_string());
    } else {
        show_outcome(options, &outcome, total);
    }
    Ok(ExitCode::SUCCESS)
}

/// The size of the level that is asked for.
pub(super) fn level(options: &Segment, slide: &Slide) -> Result<(u64, u64), Error> {
    let levels = slide.levels();
    let found = levels.get(options.level).ok_or_else(|| {
        wrong_use(
            format!(
                "--level {}: `{}` has {}",
                options.level,
                options.image.display(),
                show::count(levels.len(), "level")
            ),
            &format!(
                "levels are counted from 0; the last one is {}",
                levels.len() - 1
            ),
        )
    })?;
    Ok((found.width, found.height))
}

/// Checks that a reference shows the same region.
pub(super) fn same_size(path: &Path, found: (u64, u64), expected: (u64, u64)) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    let problem = format!(
        "the reference `{}` has {} × {} pixels and the image {} × {}",
        path.display(),
        found.0,
        found.1,
        expected.0,
        expected.1
    );
    Err(wrong_use(
        problem,
        "both must show the same region at the same scale",
    ))
}

/// A reference as a mask. A photograph is none.
pub(super) fn to_mask(path: &Path, picture: Picture) -> Result<Plane<u8>, Error> {
    if !picture.is_grey() {
        return Err(wrong_use(
            format!("the reference `{}` is a colour image", path.display()),
            "give a mask: grey, 0 outside of nuclei",
        ));
    }
    Ok(picture.into_mask())
}

/// A reference at full size.
fn read_reference(path: &Path, expected: (u64, u64)) -> Result<Plane<u8>, Error> {
    let mut slide = open(path)?.with_cache(0);
    let (width, height) = (slide.width(), slide.height());
    same_size(path, (width, height), expected)?;
    let picture = slide.read_picture(0, 0, 0, width, height);
    let picture = picture.map_err(|error| unreadable(path, error))?;
    to_mask(path, picture)
}

/// An image that is held in memory whole.
fn at_once(
    options: &Segment,
    job: &Job,
    outputs: Outputs,
    slide: Slide,
) -> Result<Segmented, Error> {
    let mut times = Times::default();
    let (width, height) = level(options, &slide)?;
    let began = Instant::now();
    let mut slide = slide.with_cache(0);
    let image = slide.read(options.level, 0, 0, width, height);
    drop(slide);
    let image = image.map_err(|error| unreadable(&options.image, error))?;
    let reference = options.reference.as_deref();
    let reference = reference.map(|path| read_reference(path, (width, height)));
    let reference = reference.transpose()?;
    times.read = began.elapsed().as_secs_f64();
    let mut watch = Watch::default();
    let found = job.run(image, |step| watch.began(step));
    times.add(&watch.times());
    let segmentation = found.segmentation;
    let agreement =
        reference.map(|reference| agreement(segmentation.mask.view(), reference.view()));
    let began = Instant::now();
    let (wide, high) = (width as usize, height as usize);
    let mut writing = outputs.mask.begin(wide, high)?;
    writing.write_rows(segmentation.mask.view().rows())?;
    let mut written = vec![writing.finish()?];
    if let (Some(output), Some(drawn)) = (outputs.overlay, &found.drawn) {
        let mut writing = output.begin(wide, high)?;
        writing.write_rows(drawn.view().rows())?;
        written.push(writing.finish()?);
    }
    outputs::appear(written)?;
    times.write = began.elapsed().as_secs_f64();
    Ok(Segmented {
        size: (width, height),
        status: segmentation.status,
        nuclei: segmentation.nuclei,
        foreground: segmentation.foreground,
        times,
        agreement,
        tiles: None,
    })
}

/// Of two masks that have the same size.
fn agreement(mask: View<'_, u8>, reference: View<'_, u8>) -> PixelAgreement {
    compare_pixels(mask, reference).unwrap_or_else(|_| unreachable!("the sizes have been compared"))
}

fn as_json(options: &Segment, outcome: &Segmented, total: f64) -> Value {
    let mut times = Map::new();
    for (name, time) in outcome.times.steps(options) {
        times.insert(name.to_owned(), seconds(time));
    }
    let mut object = json!({
        "status": outcome.status.code(),
        "meaning": outcome.status.meaning(),
        "nuclei": outcome.nuclei,
        "foreground": outcome.foreground,
        "width": outcome.size.0,
        "height": outcome.size.1,
    });
    if let Some(tally) = outcome.tiles {
        let by_status: Map<String, Value> = tally
            .counts()
            .map(|(status, count)| (status.meaning().to_owned(), json!(count)))
            .collect();
        object["tiles"] = json!(tally.total());
        object["statuses"] = Value::Object(by_status);
    }
    if let Some(agreement) = &outcome.agreement {
        object["dice"] = json!(agreement.dice());
        object["jaccard"] = json!(agreement.jaccard());
        object["differing"] = json!(agreement.differing());
    }
    object["seconds"] = seconds(total);
    object["step_seconds"] = Value::Object(times);
    object["mask"] = json!(options.output);
    if let Some(overlay) = &options.overlay {
        object["overlay"] = json!(overlay);
    }
    object
}

fn show_outcome(options: &Segment, outcome: &Segmented, total: f64) {
    let (width, height) = outcome.size;
    let pixels = (width * height).max(1);
    let mut line = if outcome.status == Status::Done {
        format!(
            "{}, {} of the area",
            nuclei_in_words(outcome.nuclei),
            percent(outcome.foreground, pixels)
        )
    } else {
        format!("no nuclei: {}", outcome.status.meaning())
    };
    line.push_str(&format!(
        "; {width} × {height} pixels, {}",
        show::duration(total)
    ));
    show::line(&line);
    if outcome.status == Status::Nothing {
        show::note(
            "nothing stands out enough, or nothing of the right size: lower `G1` and `G2` (`--set G1=20 --set G2=10`), normalize the \
             stain, or widen `MinSize` and `MaxSize`",
        );
    }
    if let Some(tally) = outcome.tiles {
        let parts = tally.counts().filter(|(_, count)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(status, count)| {
                format!("{} {}", show::grouped(count as usize), status.meaning())
            })
            .collect();
        show::line(&format!(
            "  {}: {}",
            show::count(tally.total() as usize, "tile"),
            parts.join(", ")
        ));
    }
    if let Some(agreement) = &outcome.agreement {
        show::line(&format!(
            "  against the reference: Dice {:.6}, Jaccard {:.6}, {} differ",
            agreement.dice(),
            agreement.jaccard(),
            show::count(agreement.differing() as usize, "pixel")
        ));
    }
    show::line(&format!("  mask: {}", options.output.display()));
    if let Some(overlay) = &options.overlay {
        show::line(&format!("  overlay: {}", overlay.display()));
    }
}

fn nuclei_in_words(count: u64) -> String {
    let noun = if count == 1 { "nucleus" } else { "nuclei" };
    format!("{} {noun}", show::grouped(count as usize))
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}%", part as f64 * 100.0 / whole as f64)
}

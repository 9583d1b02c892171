//! Mosaics of the sky, as two sequences of the programs of Montage.
//!
//! Law: both sequences give the same two mosaics, one of the images as they are and one with their backgrounds matched.
//! [`naive`] calls the programs that go through all images themselves. [`modified`] calls one program per image or per
//! pair of images, and those run at the same time; nothing in it says so.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use headwater::sequence::{
    ByValue, Directory, File, In, InList, Item, Out, Procedure, ProcedureError, Programs, Sequence,
    SequenceError, programs,
};

/// The programs that the two sequences call.
const PROGRAMS: [&str; 12] = [
    "mImgtbl",
    "mAdd",
    "mOverlaps",
    "mBgModel",
    "mProjExec",
    "mProjectPP",
    "mDiffExec",
    "mDiff",
    "mFitExec",
    "mFitplane",
    "mBgExec",
    "mBackground",
];

/// Why there is no mosaic.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MosaicError {
    /// Something is not there, or not as it should be.
    #[error("{message}")]
    Missing {
        /// What.
        message: String,
        /// What would help.
        hint: &'static str,
    },
    /// The file of operations cannot be used.
    #[error(transparent)]
    Programs(#[from] headwater::Error),
    /// An operation is not what it is called as.
    #[error(transparent)]
    Procedure(#[from] ProcedureError),
    /// A call could not be made, or failed.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
}

impl MosaicError {
    fn missing(message: impl Into<String>, hint: &'static str) -> MosaicError {
        MosaicError::Missing {
            message: message.into(),
            hint,
        }
    }

    /// What would help, where that is known.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            MosaicError::Missing { hint, .. } => Some((*hint).to_owned()),
            MosaicError::Programs(error) => error.hint(),
            MosaicError::Procedure(_) => None,
            MosaicError::Sequence(error) => error.hint(),
        }
    }
}

/// What is worked on: images of the sky, and what the mosaic is to look like.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// The folder with the images.
    pub(crate) folder: PathBuf,
    /// The images, sorted.
    pub(crate) images: Vec<PathBuf>,
    /// The header of the mosaic.
    pub(crate) header: PathBuf,
}

impl Field {
    /// Looks into a folder for `rawdir/*.fits` and `template.hdr`.
    pub(crate) fn at(place: &Path) -> Result<Field, MosaicError> {
        let hint = "name a folder with images `rawdir/*.fits` and a header `template.hdr`";
        let folder = place.join("rawdir");
        let header = place.join("template.hdr");
        if !header.is_file() {
            let message = format!("there is no file `{}`", header.display());
            return Err(MosaicError::missing(message, hint));
        }
        let entries = fs::read_dir(&folder).map_err(|error| {
            let message = format!("cannot read `{}`: {error}", folder.display());
            MosaicError::missing(message, hint)
        })?;
        let mut images: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|found| found == "fits"))
            .collect();
        images.sort_unstable();
        if images.is_empty() {
            let message = format!("there is no image in `{}`", folder.display());
            return Err(MosaicError::missing(message, hint));
        }
        Ok(Field {
            folder,
            images,
            header,
        })
    }
}

/// The first program of Montage that is not installed.
pub(crate) fn missing_program() -> Option<&'static str> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let installed = |program: &str| folders.iter().any(|folder| folder.join(program).is_file());
    PROGRAMS.into_iter().find(|program| !installed(program))
}

// What the procedures read and write: folders with images and their areas, and other files.
type Images = InList<Directory>;
type Image = In<Directory>;
type MadeImages = Out<Directory>;
type Given = In<File>;
type Made = Out<File>;

/// The programs of Montage as procedures.
pub(crate) struct Montage {
    table: Procedure<(Images, Made)>,
    add: Procedure<(Images, Given, Given, Made, Made)>,
    overlaps: Procedure<(Given, Made)>,
    model: Procedure<(Given, Given, Made)>,
    project_all: Procedure<(Images, Given, Given, MadeImages)>,
    subtract_all: Procedure<(Images, Given, Given, MadeImages)>,
    fit_all: Procedure<(Image, Given, Made)>,
    correct_all: Procedure<(Images, Given, Given, MadeImages)>,
    project: Procedure<(Given, Given, MadeImages)>,
    fit: Procedure<(Image, Image, Given, Made)>,
    join_fits: Procedure<(Given, InList<File>, Made)>,
    correct: Procedure<(Image, Given, ByValue<i64>, MadeImages)>,
    /// What the programs use is there as long as this.
    _programs: Programs,
}

impl Montage {
    /// Reads `montage.yaml`, wherever it is.
    pub(crate) fn read(file: &Path) -> Result<Montage, MosaicError> {
        if let Some(program) = missing_program() {
            return Err(MosaicError::missing(
                format!("`{program}` of Montage is not installed"),
                "install it, on Debian and Ubuntu with `apt install montage`",
            ));
        }
        let programs = programs(file, None)?;
        let of =
            |name: &str| -> Result<_, MosaicError> { Ok(Procedure::of(programs.operation(name)?)) };
        Ok(Montage {
            table: of("table")?
                .reads_list::<Directory>("images")?
                .writes::<File>("table")?
                .done()?,
            add: of("add")?
                .reads_list::<Directory>("images")?
                .reads::<File>("table")?
                .reads::<File>("header")?
                .writes::<File>("mosaic")?
                .writes::<File>("area")?
                .done()?,
            overlaps: of("overlaps")?
                .reads::<File>("table")?
                .writes::<File>("overlaps")?
                .done()?,
            model: of("model")?
                .reads::<File>("table")?
                .reads::<File>("fits")?
                .writes::<File>("corrections")?
                .done()?,
            project_all: of("project-all")?
                .reads_list::<Directory>("images")?
                .reads::<File>("table")?
                .reads::<File>("header")?
                .writes::<Directory>("projected")?
                .done()?,
            subtract_all: of("subtract-all")?
                .reads_list::<Directory>("images")?
                .reads::<File>("overlaps")?
                .reads::<File>("header")?
                .writes::<Directory>("differences")?
                .done()?,
            fit_all: of("fit-all")?
                .reads::<Directory>("differences")?
                .reads::<File>("overlaps")?
                .writes::<File>("fits")?
                .done()?,
            correct_all: of("correct-all")?
                .reads_list::<Directory>("images")?
                .reads::<File>("table")?
                .reads::<File>("corrections")?
                .writes::<Directory>("corrected")?
                .done()?,
            project: of("project")?
                .reads::<File>("image")?
                .reads::<File>("header")?
                .writes::<Directory>("projected")?
                .done()?,
            fit: of("fit")?
                .reads::<Directory>("plus")?
                .reads::<Directory>("minus")?
                .reads::<File>("header")?
                .writes::<File>("fit")?
                .done()?,
            join_fits: of("join-fits")?
                .reads::<File>("overlaps")?
                .reads_list::<File>("fits")?
                .writes::<File>("fits")?
                .done()?,
            correct: of("correct")?
                .reads::<Directory>("image")?
                .reads::<File>("corrections")?
                .takes::<i64>("position")?
                .writes::<Directory>("corrected")?
                .done()?,
            _programs: programs,
        })
    }
}

/// A mosaic, and how much of each pixel the images cover.
#[derive(Debug, Clone)]
pub(crate) struct Mosaic {
    /// The sky.
    pub(crate) image: Item<File>,
    /// The areas.
    pub(crate) area: Item<File>,
}

/// What both sequences make.
#[derive(Debug, Clone)]
pub(crate) struct Mosaics {
    /// Of the images as they are.
    pub(crate) plain: Mosaic,
    /// Of the images with their backgrounds matched.
    pub(crate) corrected: Mosaic,
}

fn add(
    sequence: &mut Sequence,
    montage: &Montage,
    images: &[Item<Directory>],
    table: &Item<File>,
    header: &Item<File>,
) -> Result<Mosaic, MosaicError> {
    let (mut image, mut area) = (sequence.item(), sequence.item());
    let arguments = (images, table, header, &mut image, &mut area);
    sequence.submit(&montage.add, arguments)?;
    Ok(Mosaic { image, area })
}

/// One program after the other, each of which goes through all images.
pub(crate) fn naive(
    sequence: &mut Sequence,
    montage: &Montage,
    field: &Field,
) -> Result<Mosaics, MosaicError> {
    let header = sequence.file(&field.header)?;
    let raw = [sequence.directory(&field.folder)?];
    let mut raw_table = sequence.item();
    sequence.submit(&montage.table, (&raw, &mut raw_table))?;
    let mut projected = [sequence.item()];
    let [all] = &mut projected;
    sequence.submit(&montage.project_all, (&raw, &raw_table, &header, all))?;
    let mut table = sequence.item();
    sequence.submit(&montage.table, (&projected, &mut table))?;
    let plain = add(sequence, montage, &projected, &table, &header)?;

    let mut overlaps = sequence.item();
    sequence.submit(&montage.overlaps, (&table, &mut overlaps))?;
    let mut differences = sequence.item();
    let arguments = (&projected, &overlaps, &header, &mut differences);
    sequence.submit(&montage.subtract_all, arguments)?;
    let mut fits = sequence.item();
    sequence.submit(&montage.fit_all, (&differences, &overlaps, &mut fits))?;
    let mut corrections = sequence.item();
    sequence.submit(&montage.model, (&table, &fits, &mut corrections))?;
    let mut corrected = [sequence.item()];
    let [all] = &mut corrected;
    sequence.submit(
        &montage.correct_all,
        (&projected, &table, &corrections, all),
    )?;
    let corrected = add(sequence, montage, &corrected, &table, &header)?;
    Ok(Mosaics { plain, corrected })
}

/// One program per image to project and to correct it, and one per pair of images that overlap to compare them.
pub(crate) fn modified(
    sequence: &mut Sequence,
    montage: &Montage,
    field: &Field,
) -> Result<Mosaics, MosaicError> {
    let header = sequence.file(&field.header)?;
    let mut projected = Vec::new();
    for path in &field.images {
        let image = sequence.file(path)?;
        let mut one = sequence.item();
        sequence.submit(&montage.project, (&image, &header, &mut one))?;
        projected.push(one);
    }
    let mut table = sequence.item();
    sequence.submit(&montage.table, (&projected, &mut table))?;
    let plain = add(sequence, montage, &projected, &table, &header)?;

    let mut overlaps = sequence.item();
    sequence.submit(&montage.overlaps, (&table, &mut overlaps))?;
    let pairs = pairs(&sequence.value(&overlaps)?, projected.len())?;
    let mut planes = Vec::new();
    for (plus, minus) in pairs {
        let mut plane = sequence.item();
        let arguments = (&projected[plus], &projected[minus], &header, &mut plane);
        sequence.submit(&montage.fit, arguments)?;
        planes.push(plane);
    }
    let mut fits = sequence.item();
    sequence.submit(&montage.join_fits, (&overlaps, &planes, &mut fits))?;
    let mut corrections = sequence.item();
    sequence.submit(&montage.model, (&table, &fits, &mut corrections))?;
    let mut corrected = Vec::new();
    for (position, image) in (0_i64..).zip(&projected) {
        let mut one = sequence.item();
        let arguments = (image, &corrections, position, &mut one);
        sequence.submit(&montage.correct, arguments)?;
        corrected.push(one);
    }
    let corrected = add(sequence, montage, &corrected, &table, &header)?;
    Ok(Mosaics { plain, corrected })
}

/// The pairs of a table of overlaps, as positions among so many images.
fn pairs(table: &File, images: usize) -> Result<Vec<(usize, usize)>, MosaicError> {
    let wrong = |what: String| {
        let hint = "is this the table that `mOverlaps` writes?";
        MosaicError::missing(format!("the table of overlaps: {what}"), hint)
    };
    let bytes = table.read().map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8_lossy(&bytes);
    let rows = text.lines().filter(|line| !line.starts_with(['|', '\\']));
    let pair = |row: &str| {
        let mut numbers = row.split_whitespace().map(str::parse::<usize>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(plus)), Some(Ok(minus))) if plus.max(minus) < images => Ok((plus, minus)),
            _ => Err(wrong(format!("`{row}` is no pair of {images} images"))),
        }
    };
    rows.map(pair).collect()
}

//! The mosaics of the example `montage`: what both sequences make, and that it is made once.
//!
//! It has no harness, since [`headwater::init`] comes first in `main`. What needs Montage or the shared data says so and
//! is skipped where they are not there.

#[path = "../examples/montage/mosaic.rs"]
mod mosaic;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use headwater::Site;
use headwater::StorePlace;
use headwater::sequence::{CallState, Mode, Sequence, SequenceOptions, SequenceReport};
use mosaic::{Field, Montage, MosaicError, Mosaics};

/// What made the mosaics that are expected.
const EXPECTED_VERSION: &str = "6.0+dfsg-7+b8";

/// How far pixels may be from those expected, where another version of Montage makes them. The noise of the images is
/// about 0.5, and the planes that are added to them are known to about 0.00001.
const TOLERANCE: f64 = 0.001;

type Sequel = fn(&mut Sequence, &Montage, &Field) -> Result<Mosaics, MosaicError>;

fn main() {
    headwater::init();
    the_operations_have_no_mistakes();
    a_folder_without_images_is_told();
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = shared.join("data/montage-m101");
    if !folder.exists() {
        println!("skipped: there is no ../shared/data/montage-m101");
    } else if let Some(program) = mosaic::missing_program() {
        println!("skipped: `{program}` of Montage is not installed");
    } else {
        mosaics_are_as_expected(&folder);
    }
}

fn operations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/montage/montage.yaml")
}

fn the_operations_have_no_mistakes() {
    let site = Site::here().expect("a folder");
    let checked = site.check(operations()).expect("it can be read");
    let said: Vec<_> = (checked.files.iter())
        .flat_map(|file| &file.diagnostics)
        .collect();
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(checked.summary.as_deref(), Some("12 operations"));
}

fn a_folder_without_images_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = || Field::at(folder.path()).expect_err("there are no images");
    assert!(error().to_string().contains("template.hdr"), "{}", error());
    fs::write(folder.path().join("template.hdr"), "END\n").expect("written");
    assert!(error().to_string().contains("rawdir"), "{}", error());
    fs::create_dir(folder.path().join("rawdir")).expect("made");
    assert!(error().to_string().contains("no image"), "{}", error());
    let hint = error().hint();
    assert!(hint.is_some_and(|hint| hint.contains("rawdir/*.fits")));
}

fn run(
    sequel: Sequel,
    montage: &Montage,
    field: &Field,
    store: &Path,
) -> (SequenceReport, Mosaics) {
    let place = StorePlace {
        url: Some(store.to_string_lossy().into_owned()),
        read_only: false,
        ..StorePlace::default()
    };
    let options = SequenceOptions::new(Mode::Restrictive).store(place);
    let mut sequence = Sequence::with(options);
    let mosaics = sequel(&mut sequence, montage, field).expect("calls that can be made");
    let report = sequence.end().expect("a sequence that runs");
    (report, mosaics)
}

/// The files of the mosaics: the plain one and its area, the corrected one and its area.
fn files(report: &SequenceReport, mosaics: &Mosaics) -> [Vec<u8>; 4] {
    let Mosaics { plain, corrected } = mosaics;
    let all = [&plain.image, &plain.area, &corrected.image, &corrected.area];
    all.map(|item| {
        let file = report.value(item).expect("a mosaic");
        file.read().expect("its bytes")
    })
}

fn mosaics_are_as_expected(folder: &Path) {
    let montage = Montage::read(&operations()).expect("Montage is there");
    let field = Field::at(folder).expect("images and a header");
    let scratch = tempfile::tempdir().expect("a folder");
    let mut made = Vec::new();
    let sequels: [(&str, usize, Sequel); 2] = [
        ("naive", 10, mosaic::naive),
        ("modified", 43, mosaic::modified),
    ];
    for (name, calls, sequel) in sequels {
        let store = scratch.path().join(name);
        let (report, mosaics) = run(sequel, &montage, &field, &store);
        assert_eq!(report.count(CallState::Executed), calls, "{report}");
        assert_eq!(report.calls.len(), calls, "{report}");
        let files = files(&report, &mosaics);
        let (again, mosaics) = run(sequel, &montage, &field, &store);
        assert_eq!(again.count(CallState::Executed), 0, "{again}");
        assert_eq!(again.count(CallState::Failed), 0, "{again}");
        assert!(files == self::files(&again, &mosaics), "{name}, again");
        made.push(files);
    }
    let [naive, modified] = made.as_slice() else {
        panic!("two sequences");
    };
    assert!(naive == modified, "both sequences make the same");
    let [plain, _, corrected, _] = naive;
    assert!(plain != corrected, "backgrounds are corrected");
    near(corrected, folder, scratch.path());
    if version().as_deref() == Some(EXPECTED_VERSION) {
        same(naive, folder, scratch.path());
    } else {
        println!("skipped: the mosaics byte for byte, which Montage {EXPECTED_VERSION} made");
    }
}

fn version() -> Option<String> {
    let asked = Command::new("dpkg-query")
        .args(["-W", "-f", "${Version}", "montage"])
        .output();
    String::from_utf8(asked.ok()?.stdout).ok()
}

/// The mosaics byte for byte, by the digests of those expected.
fn same(files: &[Vec<u8>; 4], folder: &Path, scratch: &Path) {
    let list = fs::read_to_string(folder.join("expected/sha256-full-size.txt")).expect("digests");
    let names = [
        "m101_uncorrected.fits",
        "m101_uncorrected_area.fits",
        "m101_mosaic.fits",
        "m101_mosaic_area.fits",
    ];
    for (name, bytes) in names.into_iter().zip(files) {
        let ending = format!("/{name}");
        let line = list.lines().find(|line| line.ends_with(&ending));
        let wanted = line.and_then(|line| line.split_whitespace().next());
        let path = scratch.join(name);
        fs::write(&path, bytes).expect("written");
        let found = Command::new("sha256sum").arg(&path).output();
        let found = String::from_utf8(found.expect("a digest").stdout).expect("text");
        assert_eq!(found.split_whitespace().next(), wanted, "{name}");
    }
}

/// The corrected mosaic, made smaller, pixel by pixel.
fn near(mosaic: &[u8], folder: &Path, scratch: &Path) {
    let (large, small) = (scratch.join("large.fits"), scratch.join("small.fits"));
    fs::write(&large, mosaic).expect("written");
    let shrunk = Command::new("mShrink")
        .args([&large, &small])
        .arg("4")
        .output();
    assert!(shrunk.expect("mShrink").status.success());
    let wanted = Picture::read(&folder.join("expected/m101_mosaic_shrink4.fits"));
    let found = Picture::read(&small);
    assert_eq!((found.width, found.height), (wanted.width, wanted.height));
    assert!(
        wanted
            .pixels
            .iter()
            .filter(|pixel| pixel.is_finite())
            .count()
            > 100_000
    );
    for (at, (found, wanted)) in found.pixels.iter().zip(&wanted.pixels).enumerate() {
        let alike = found.is_nan() && wanted.is_nan() || (found - wanted).abs() <= TOLERANCE;
        assert!(alike, "pixel {at}: {found}, expected {wanted}");
    }
}

/// A FITS image of 64-bit real numbers.
struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<f64>,
}

impl Picture {
    fn read(path: &Path) -> Picture {
        const BLOCK: usize = 2880;
        let bytes = fs::read(path).expect("an image");
        let cards: Vec<&str> = bytes
            .chunks_exact(80)
            .map_while(|card| std::str::from_utf8(card).ok())
            .take_while(|card| card.trim_end() != "END")
            .collect();
        let field = |name: &str| -> i64 {
            let card = cards.iter().find(|card| card[..8].trim_end() == name);
            let value = card.and_then(|card| card[10..].split('/').next()?.trim().parse().ok());
            value.unwrap_or_else(|| panic!("{}: {name}", path.display()))
        };
        assert_eq!((field("BITPIX"), field("NAXIS")), (-64, 2));
        let (width, height) = (field("NAXIS1") as usize, field("NAXIS2") as usize);
        let header = ((cards.len() + 1) * 80).next_multiple_of(BLOCK);
        let (numbers, _) = bytes[header..].as_chunks::<8>();
        let pixels = numbers[..width * height].iter();
        Picture {
            width,
            height,
            pixels: pixels.map(|number| f64::from_be_bytes(*number)).collect(),
        }
    }
}

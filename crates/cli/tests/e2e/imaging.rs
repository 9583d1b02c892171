//! `headwater imaging`: the masks are those of the reference, in one piece and in tiles, and files appear whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_imaging::files::{Picture, Slide, read_image, tiles, write_png};
use headwater_imaging::nuclei::{self, Parameters};
use headwater_imaging::{Colour, Plane, Target, normalize};
use serde_json::Value;

use crate::place::{Place, Ran};

fn tissue() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nuclei/tissue.png")
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../imaging/fixtures")
        .join(name)
}

fn picture(path: &Path) -> Picture {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    read_image(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn mask(path: &Path) -> Plane<u8> {
    match picture(path) {
        Picture::Grey(plane) => plane,
        _ => panic!("{} is no mask", path.display()),
    }
}

fn segment(place: &Place, arguments: &[&str]) -> Ran {
    place.headwater(&[&["imaging", "segment"], arguments].concat())
}

/// The files of a place, hidden ones too.
fn files(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.root()).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.into_string().expect("UTF-8"))
        .filter(|name| name != "side")
        .collect();
    names.sort();
    names
}

/// A synthetic image in a place.
fn with_synth(name: &str, size: &str) -> Place {
    let place = Place::new();
    let arguments = ["imaging", "synth", "-o", name, "--mask", "truth.png"];
    place
        .headwater(&[&arguments[..], &["--size", size, "--seed", "3"]].concat())
        .ended(0);
    place
}

#[test]
fn the_example_gives_the_mask_of_the_reference() {
    let place = Place::new();
    let image = tissue();
    let image = image.to_str().expect("UTF-8");
    let arguments = [
        image,
        "-o",
        "mask.png",
        "--overlay",
        "outlines.tif",
        "--json",
    ];
    let report = segment(&place, &arguments).ended(0).report();
    assert_eq!(
        (&report.0["status"], &report.0["meaning"]),
        (&0.into(), &"done".into())
    );
    assert_eq!(
        ["nuclei", "foreground", "width", "height"].map(|key| report.number(key)),
        [566, 62_875, 1024, 1024]
    );
    let times = report.0["step_seconds"].as_object().expect("seconds");
    let names: Vec<&str> = times.keys().map(String::as_str).collect();
    let mut wanted = vec!["read"];
    wanted.extend(nuclei::Task::ALL.map(nuclei::Task::name));
    wanted.extend(["overlay", "write"]);
    assert_eq!(names, wanted);
    assert!(
        report.0["seconds"]
            .as_f64()
            .is_some_and(|seconds| seconds > 0.0)
    );
    assert!(
        times
            .values()
            .all(|time| time.as_f64().is_some_and(|time| time >= 0.0))
    );

    let found = mask(&place.path("mask.png"));
    assert_eq!(
        blake3::hash(found.pixels()).to_hex().as_str(),
        "47391f9e7ec60811a49013ff0ee479ac082ed0c2d3a5853b7f2d0ce8821dcf08"
    );
    let Picture::Colour(drawn) = picture(&place.path("outlines.tif")) else {
        panic!("the overlay has colours");
    };
    let image = picture(&tissue()).into_colour();
    let pixels = drawn
        .pixels()
        .iter()
        .zip(image.pixels())
        .zip(found.pixels());
    let changed = pixels.filter(|((drawn, image), _)| drawn != image);
    let changed: Vec<bool> = changed.map(|(_, mask)| *mask == 255).collect();
    assert!(changed.len() > 5000 && changed.iter().all(|&inside| inside));
    assert_eq!(files(&place), ["mask.png", "outlines.tif"]);
}

#[test]
fn the_cases_of_the_reference_through_the_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let oracle = root.join("shared/oracle/nuclei");
    let Ok(cases) = fs::read_to_string(oracle.join("cases.jsonl")) else {
        println!("skipped: there is no ../shared/oracle/nuclei");
        return;
    };
    let place = Place::new();
    let cases: Vec<Value> = cases
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    // One in eleven, which meets every image, and all that stop early.
    let chosen = cases.iter().enumerate();
    let chosen = chosen.filter(|(number, case)| number % 11 == 0 || case["status"] != 0);
    let mut count = 0;
    for (_, case) in chosen {
        let text = |key: &str| case[key].as_str().expect("a text");
        let image = oracle.join(format!("images/{}.png", text("image")));
        let reference = oracle.join(text("mask"));
        let mut arguments = vec![
            image.to_str().expect("UTF-8").to_owned(),
            "--reference".to_owned(),
            reference.to_str().expect("UTF-8").to_owned(),
        ];
        for (name, value) in case["params"].as_object().expect("parameters") {
            arguments.extend(["--set".to_owned(), format!("{name}={value}")]);
        }
        let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
        all.extend(["-o", "mask.png", "--json"]);
        let report = segment(&place, &all).ended(0).report();
        for key in ["status", "nuclei", "foreground"] {
            assert_eq!(report.0[key], case[key], "{key} of {case}");
        }
        assert_eq!(report.0["dice"], 1.0, "{case}");
        assert_eq!(report.0["jaccard"], 1.0, "{case}");
        assert_eq!(report.0["differing"], 0, "{case}");
        assert_eq!(mask(&place.path("mask.png")), mask(&reference), "{case}");
        count += 1;
    }
    assert!(count >= 15, "{count} cases");
}

#[test]
fn each_tile_is_an_image_of_its_own() {
    for name in ["slide.tif", "slide.png"] {
        let place = with_synth(name, "700x500");
        let file = fs::File::open(place.path(name)).expect("a slide");
        let mut slide = Slide::open(file).expect("a slide");
        for (halo, normalized) in [(0, false), (0, true), (24, false)] {
            // What the library gives for each tile.
            let mut expected = Plane::filled(700, 500, 0u8);
            for tile in tiles(700, 500, 256, halo) {
                let size = (tile.outer_width, tile.outer_height);
                let image = slide.read(0, tile.outer_x, tile.outer_y, size.0, size.1);
                let mut image = image.expect("a tile");
                if normalized {
                    image = normalize(image.view(), &Target::default());
                }
                let found = nuclei::segment(image.view(), &Parameters::default(), |_| {});
                let (left, top) = tile.inset();
                for y in 0..tile.height {
                    let from = &found.mask.row((top + y) as usize)[left as usize..];
                    expected.row_mut((tile.y + y) as usize)[tile.x as usize..]
                        [..tile.width as usize]
                        .copy_from_slice(&from[..tile.width as usize]);
                }
            }
            let halo = halo.to_string();
            let mut arguments = vec![name, "--tile", "256", "--halo", &halo];
            if normalized {
                arguments.push("--normalize");
            }
            let mut counts = Vec::new();
            for (threads, output) in [("1", "mask.png"), ("3", "mask.tif")] {
                let more = [
                    "-o",
                    output,
                    "-j",
                    threads,
                    "--reference",
                    "truth.png",
                    "--json",
                ];
                let all = [&arguments[..], &more].concat();
                let report = segment(&place, &all).ended(0).report();
                assert_eq!(mask(&place.path(output)), expected, "{all:?}");
                assert_eq!(report.number("tiles"), 6);
                assert_eq!(report.0["statuses"]["done"], 6);
                let foreground = expected
                    .pixels()
                    .iter()
                    .filter(|&&pixel| pixel != 0)
                    .count();
                assert_eq!(report.number("foreground"), foreground);
                let keys = ["nuclei", "dice", "jaccard", "differing"];
                counts.push(keys.map(|key| report.0[key].clone()));
            }
            assert_eq!(counts[0], counts[1], "threads play no part");
            if !normalized {
                assert!(counts[0][1].as_f64().expect("dice") > 0.8, "{counts:?}");
            }
        }
    }
}

#[test]
fn a_tile_as_large_as_the_image_is_the_image() {
    let place = Place::new();
    let image = tissue();
    let image = image.to_str().expect("UTF-8");
    let keys = ["status", "nuclei", "foreground", "width", "height"];
    let reports = [&[][..], &["--tile", "2000", "--halo", "99"]].map(|more| {
        let number = more.len();
        let (mask, overlay) = (format!("mask{number}.png"), format!("overlay{number}.png"));
        let arguments = [image, "-o", &mask, "--overlay", &overlay, "--json"];
        let report = segment(&place, &[&arguments[..], more].concat());
        let report = report.ended(0).report();
        keys.map(|key| report.0[key].clone())
    });
    assert_eq!(reports[0], reports[1]);
    for name in ["mask", "overlay"] {
        let read = |number: usize| fs::read(place.path(&format!("{name}{number}.png")));
        assert_eq!(read(0).expect("a file"), read(4).expect("a file"));
    }
}

#[test]
fn an_overlay_in_tiles_shows_the_whole_image() {
    let place = with_synth("slide.tif", "300x200");
    let arguments = ["slide.tif", "-o", "mask.png", "--overlay", "drawn.png"];
    let ran = segment(
        &place,
        &[&arguments[..], &["--tile", "64", "--halo", "16"]].concat(),
    );
    let ran = ran.ended(0);
    assert!(ran.stdout.contains("20 tiles"), "{}", ran.stdout);
    let image = picture(&place.path("slide.tif")).into_colour();
    let drawn = picture(&place.path("drawn.png")).into_colour();
    let mask = mask(&place.path("mask.png"));
    assert_eq!((drawn.width(), drawn.height()), (300, 200));
    let mut changed = 0;
    for ((drawn, image), mask) in drawn.pixels().iter().zip(image.pixels()).zip(mask.pixels()) {
        changed += usize::from(drawn != image);
        assert!(drawn == image || *mask == 255, "outlines lie in nuclei");
    }
    assert!(changed > 100, "{changed}");
}

#[test]
fn nothing_to_find_is_a_result() {
    let place = Place::new();
    let white: Plane<Colour> = Plane::filled(60, 40, [255; 3]);
    let bytes = write_png(white.view()).expect("a PNG");
    fs::write(place.path("white.png"), bytes).expect("a file");
    for more in [&[][..], &["--tile", "32"]] {
        let arguments = [&["white.png", "-o", "mask.png", "--json"], more].concat();
        let report = segment(&place, &arguments).ended(0).report();
        assert_eq!(
            (&report.0["status"], &report.0["meaning"]),
            (&1.into(), &"background".into())
        );
        assert_eq!(
            (report.number("nuclei"), report.number("foreground")),
            (0, 0)
        );
        assert_eq!(mask(&place.path("mask.png")), Plane::filled(60, 40, 0));
        fs::remove_file(place.path("mask.png")).expect("a mask");
    }
    let ran = segment(&place, &["white.png", "-o", "mask.png"]).ended(0);
    assert!(
        ran.stdout.starts_with("no nuclei: background"),
        "{}",
        ran.stdout
    );
}

/// The sum that a chunk of a PNG ends with.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |mut sum, &byte| {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 {
                sum >> 1 ^ 0xedb8_8320
            } else {
                sum >> 1
            };
        }
        sum
    })
}

#[test]
fn odd_images_give_a_mask_or_a_clear_error() {
    let place = Place::new();
    let whole = fs::read(tissue()).expect("the example");
    let write = |name: &str, bytes: &[u8]| fs::write(place.path(name), bytes).expect("a file");
    write("cut.png", &whole[..whole.len() / 2]);
    write("text.png", b"dear reader\n");
    write("empty.png", b"");
    let mut nothing = whole.clone();
    nothing[16..24].fill(0);
    let sum = crc(&nothing[12..29]);
    nothing[29..33].copy_from_slice(&sum.to_be_bytes());
    write("nothing.png", &nothing);
    fs::create_dir(place.path("folder.png")).expect("a folder");
    let before = files(&place);
    let wrong: [(&str, &[&str]); 6] = [
        ("cut.png", &["damaged PNG file", "get a fresh copy"]),
        (
            "text.png",
            &["a text file", "dear reader", "expected PNG, JPEG or TIFF"],
        ),
        ("empty.png", &["an empty file"]),
        ("nothing.png", &["0 × 0 pixels", "expected at least 1 × 1"]),
        ("folder.png", &["is a folder, not a file"]),
        ("missing.png", &["there is no file `missing.png`"]),
    ];
    for (name, told) in wrong {
        // A file that is not there, or none, is wrong use.
        let code = match name {
            "folder.png" | "missing.png" => 2,
            _ => 1,
        };
        for more in [&[][..], &["--tile", "512", "--overlay", "drawn.tif"]] {
            let all = [&[name, "-o", "mask.png"], more].concat();
            let ran = segment(&place, &all).ended(code).says(told).says(&[name]);
            assert_eq!(ran.stdout, "", "{name}");
            assert_eq!(files(&place), before, "{name} leaves nothing behind");
        }
        let report = segment(&place, &[name, "-o", "mask.png", "--json"])
            .ended(code)
            .report();
        assert!(
            report.0["error"]
                .as_str()
                .is_some_and(|text| text.contains(name))
        );
    }

    let grey: Vec<u8> = (0..64 * 48).map(|at| (at % 251) as u8).collect();
    let grey = Plane::new(64, 48, grey).expect("a plane");
    write("grey.png", &write_png(grey.view()).expect("a PNG"));
    let deep: Vec<u16> = grey
        .pixels()
        .iter()
        .map(|&value| u16::from(value) * 257)
        .collect();
    let deep = Plane::new(64, 48, deep).expect("a plane");
    write("deep.png", &write_png(deep.view()).expect("a PNG"));
    let strip = Plane::filled(100_000, 3, [180u8, 120, 160]);
    write("strip.png", &write_png(strip.view()).expect("a PNG"));
    for name in [
        "alpha.png",
        "cmyk.jpg",
        "palette.png",
        "interlaced.png",
        "aperio.tif",
    ] {
        fs::copy(fixture(name), place.path(name)).expect("a copy");
    }
    for name in [
        "grey.png",
        "deep.png",
        "strip.png",
        "alpha.png",
        "cmyk.jpg",
        "palette.png",
        "interlaced.png",
        "aperio.tif",
    ] {
        let image = picture(&place.path(name)).into_colour();
        let expected = nuclei::segment(image.view(), &Parameters::default(), |_| {});
        for more in [&[][..], &["--tile", "32768"]] {
            let all = [&[name, "-o", "mask.png", "--json"], more].concat();
            let report = segment(&place, &all).ended(0).report();
            assert_eq!(report.0["status"], expected.status.code(), "{name}");
            assert_eq!(mask(&place.path("mask.png")), expected.mask, "{name}");
        }
    }
    // Tiles of a strip, whose lowest row of tiles is the only one.
    let all = [
        "strip.png",
        "-o",
        "mask.tif",
        "--tile",
        "4096",
        "--halo",
        "64",
        "--json",
    ];
    assert_eq!(segment(&place, &all).ended(0).report().number("tiles"), 25);
}

#[test]
fn levels_of_a_slide() {
    let place = Place::new();
    fs::copy(fixture("aperio.tif"), place.path("slide.svs")).expect("a copy");
    let file = fs::File::open(place.path("slide.svs")).expect("a slide");
    let levels = Slide::open(file).expect("a slide").levels().to_vec();
    assert!(levels.len() > 1);
    for (number, level) in levels.iter().enumerate() {
        let number = number.to_string();
        let all = ["slide.svs", "-o", "mask.png", "--json", "--level", &number];
        let report = segment(&place, &all).ended(0).report();
        assert_eq!(report.0["width"], level.width);
        assert_eq!(report.0["height"], level.height);
    }
    segment(&place, &["slide.svs", "-o", "mask.png", "--level", "9"])
        .ended(2)
        .says(&["--level 9", "slide.svs", "the last one is"]);
}

#[test]
fn wrong_use_is_told_before_anything_is_done() {
    let place = with_synth("tissue.png", "64x64");
    fs::create_dir(place.path("folder.png")).expect("a folder");
    std::os::unix::fs::symlink("tissue.png", place.path("link.png")).expect("a link");
    let before = files(&place);
    let image = fs::read(place.path("tissue.png")).expect("the image");
    let cases: [(&[&str], &[&str]); 15] = [
        (
            &["-o", "mask.png", "--set", "MinSzie=3"],
            &["--set MinSzie=3", "did you mean `MinSize`?"],
        ),
        (
            &["-o", "mask.png", "--set", "G1"],
            &["--set G1", "NAME=VALUE"],
        ),
        (
            &["-o", "mask.png", "--set", "G1=a"],
            &["`a` is not a number"],
        ),
        (&["-o", "mask.png", "--set", "G1=nan"], &["finite number"]),
        (
            &["-o", "mask.png", "--set", "G1=1", "--set", "G1=1"],
            &["`G1` is given twice"],
        ),
        (&["-o", "mask.jpg"], &["-o mask.jpg", ".png, .tif or .tiff"]),
        (&["-o", "mask"], &["-o mask", ".png, .tif or .tiff"]),
        (
            &["-o", "mask.png", "--overlay", "a.bmp"],
            &["--overlay a.bmp", ".tiff"],
        ),
        (&["-o", "folder.png"], &["there is a folder of that name"]),
        (&["-o", "none/mask.png"], &["there is no folder `none`"]),
        (&["-o", "./tissue.png"], &["this is `tissue.png`"]),
        (&["-o", "link.png"], &["this is `tissue.png`"]),
        (
            &["-o", "mask.png", "--overlay", "mask.png"],
            &["--overlay mask.png"],
        ),
        (&["-o", "mask.png", "--halo", "5"], &["--tile"]),
        (
            &["-o", "mask.png", "--tile", "3"],
            &["3 is not in 16..=32768"],
        ),
    ];
    for (arguments, told) in cases {
        let all = [&["tissue.png"], arguments].concat();
        let ran = segment(&place, &all).ended(2).says(told);
        assert_eq!(ran.stdout, "", "{all:?}");
        assert_eq!(files(&place), before, "{all:?}");
    }
    assert_eq!(
        fs::read(place.path("tissue.png")).expect("the image"),
        image
    );
    segment(&place, &["tissue.png"])
        .ended(2)
        .says(&["--output"]);
    // The sizes of files are known only when they are read.
    let other = Plane::filled(5, 4, 0u8);
    let bytes = write_png(other.view()).expect("a PNG");
    fs::write(place.path("other.png"), bytes).expect("a file");
    for more in [&[][..], &["--tile", "32"]] {
        let all = [
            &["tissue.png", "-o", "mask.png", "--reference", "other.png"],
            more,
        ]
        .concat();
        segment(&place, &all)
            .ended(2)
            .says(&["other.png", "5 × 4", "64 × 64"]);
        let all = [
            &["tissue.png", "-o", "mask.png", "--reference", "tissue.png"],
            more,
        ]
        .concat();
        segment(&place, &all)
            .ended(2)
            .says(&["tissue.png", "is a colour image", "give a mask"]);
    }
    assert!(!place.path("mask.png").exists());
}

#[test]
fn a_slide_is_not_segmented_at_once() {
    let place = Place::new();
    let arguments = ["imaging", "synth", "-o", "slide.png", "--density", "0"];
    place
        .headwater(&[&arguments[..], &["--size", "300000x1"]].concat())
        .ended(0);
    // A header that promises more rows, in a file that could hold them.
    let mut bytes = fs::read(place.path("slide.png")).expect("a PNG");
    bytes[20..24].copy_from_slice(&1000u32.to_be_bytes());
    let sum = crc(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&sum.to_be_bytes());
    bytes.resize(bytes.len() + 4_000_000, 0);
    fs::write(place.path("slide.png"), bytes).expect("a file");
    segment(&place, &["slide.png", "-o", "mask.png"])
        .ended(1)
        .says(&["slide.png", "300000 × 1000", "--tile 4096"]);
    assert_eq!(files(&place), ["slide.png"]);
}

#[test]
fn the_same_arguments_make_the_same_tissue() {
    let place = Place::new();
    let synth = |name: &str, more: &[&str]| {
        let (image, mask, labels) = (
            format!("{name}.png"),
            format!("{name}-mask.tif"),
            format!("{name}-labels.png"),
        );
        let arguments = ["imaging", "synth", "-o", &image, "--mask", &mask];
        let arguments = [&arguments[..], &["--labels", &labels, "--json"], more].concat();
        let report = place.headwater(&arguments).ended(0).report();
        let Picture::Deep(labels) = picture(&place.path(&labels)) else {
            panic!("labels have 16 bits");
        };
        let mask = self::mask(&place.path(&mask));
        let set = |(label, mask): (&u16, &u8)| (*label != 0) == (*mask == 255);
        assert!(labels.pixels().iter().zip(mask.pixels()).all(set));
        let most = labels.pixels().iter().max().copied().unwrap_or(0);
        assert_eq!(report.number("nuclei"), usize::from(most));
        let foreground = mask.pixels().iter().filter(|&&pixel| pixel != 0).count();
        assert_eq!(report.number("foreground"), foreground);
        (picture(&place.path(&image)).into_colour(), labels)
    };
    let size = ["--size", "300x600", "--seed", "5"];
    let one = synth("one", &[&size[..], &["-j", "1"]].concat());
    let two = synth("two", &[&size[..], &["-j", "4"]].concat());
    assert!(one == two, "threads play no part");
    let bytes = |name: &str| fs::read(place.path(name)).expect("a file");
    assert_eq!(bytes("one.png"), bytes("two.png"));
    let other = synth("other", &["--size", "300x600", "--seed", "6"]);
    assert!(one.0 != other.0);
    let sparse = synth("sparse", &[&size[..], &["--density", "0.1"]].concat());
    let count = |labels: &Plane<u16>| labels.pixels().iter().max().copied();
    assert!(count(&sparse.1) < count(&one.1));

    for (more, told) in [
        (&["--size", "0x5"][..], "2048x1024"),
        (&["--density", "2"], "from 0 to 1"),
        (&["--size", "400000x1"], "300000"),
        (&["--mask", "x.png"], "this is `x.png`"),
        (&["--labels", "x.jpg"], ".tiff"),
    ] {
        let arguments = [&["imaging", "synth", "-o", "x.png"], more].concat();
        place.headwater(&arguments).ended(2).says(&[told]);
    }
    assert!(!place.path("x.png").exists());
}

#[test]
fn control_c_leaves_no_half_file() {
    // Thousands of tiles, so that it is far from done when the first file is seen.
    let place = with_synth("slide.tif", "3000x3000");
    let segmenting = [
        "segment",
        "slide.tif",
        "-o",
        "mask.tif",
        "--overlay",
        "drawn.png",
    ];
    let segmenting = [&segmenting[..], &["--tile", "16", "-j", "2", "--json"]].concat();
    let making = [
        "synth",
        "-o",
        "large.tif",
        "--size",
        "40000x40000",
        "--json",
    ];
    for arguments in [&segmenting[..], &making] {
        let before = files(&place);
        let mut child = place.start(&[&["imaging"], arguments].concat());
        while !files(&place).iter().any(|name| name.ends_with(".part")) {
            let ended = child.try_wait().expect("it can be waited for");
            assert!(ended.is_none(), "it ended");
            std::thread::sleep(Duration::from_millis(1));
        }
        let process = libc::pid_t::try_from(child.id()).expect("a process number");
        // SAFETY: a plain system call; the child has not been waited for, so the number is its own.
        assert_eq!(unsafe { libc::kill(process, libc::SIGINT) }, 0);
        let ran = Ran::from(child.wait_with_output().expect("it ends"));
        let ran = ran.ended(1).says(&["stopped: nothing was written"]);
        assert_eq!(ran.report().0["error"], "stopped: nothing was written");
        assert_eq!(files(&place), before);
    }
}

//! What each operation gives for one image, by digest: whoever changes one has to change its version too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_graph::{
    Context, FileValue, Kind, Operation, OperationError, Registry, Scalar, Type, Value,
    value_digest,
};
use headwater_imaging::files::{mutate, read_image};
use headwater_imaging::{Colour, Plane, colour_value, grey_value, register};

/// The library, and a folder for files that its operations write.
struct Library {
    registry: Registry,
    folder: tempfile::TempDir,
}

type Named = BTreeMap<String, Value>;

impl Library {
    fn new() -> Library {
        let mut registry = Registry::new();
        register(&mut registry).unwrap();
        Library {
            registry,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn operation(&self, name: &str) -> Arc<Operation> {
        let found = self.registry.operation(&format!("imaging/{name}"));
        Arc::clone(found.unwrap_or_else(|| panic!("there is no imaging/{name}")))
    }

    /// Runs an operation with some parameters and the defaults of the others.
    fn run(
        &self,
        name: &str,
        inputs: &[(&str, &Value)],
        parameters: &[(&str, Scalar)],
    ) -> Result<Named, OperationError> {
        let operation = self.operation(name);
        let signature = &operation.signature;
        let given = signature.inputs.iter().map(|port| {
            let found = inputs.iter().find(|(name, _)| **name == *port.name);
            found.map_or(Value::Null, |(_, value)| (*value).clone())
        });
        let values = signature.parameters.iter().map(|declared| {
            let found = parameters.iter().find(|(name, _)| **name == *declared.name);
            found.map_or_else(
                || declared.default.clone().unwrap(),
                |(_, value)| value.clone(),
            )
        });
        let Kind::Native(run) = &operation.kind else {
            panic!("{name} is not native");
        };
        let mut context = Context {
            scratch: Some(self.folder.path().join(name)),
            ..Context::default()
        };
        let (given, values): (Vec<Value>, Vec<Scalar>) = (given.collect(), values.collect());
        let outputs = run.run(&given, &values, &mut context)?;
        let ports = signature.outputs.iter().map(|port| port.name.to_string());
        Ok(ports.zip(outputs).collect())
    }
}

/// Pale tissue with dark discs, some of them touching, some red: made of integers alone.
fn tissue() -> Plane<Colour> {
    let (width, height) = (150usize, 110usize);
    let discs = [
        (20, 20, 9),
        (60, 30, 8),
        (73, 33, 8),
        (120, 60, 10),
        (40, 80, 7),
        (100, 95, 6),
    ];
    let cells = [(90, 50, 5), (20, 60, 5)];
    let within = |x: usize, y: usize, (u, v, radius): (i64, i64, i64)| {
        let (dx, dy) = (x as i64 - u, y as i64 - v);
        dx * dx + dy * dy <= radius * radius
    };
    let pixels = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .map(|(x, y)| {
            let grain = ((x * 7 + y * 13 + x * y) % 17) as u8;
            if cells.iter().any(|cell| within(x, y, *cell)) {
                [200 + grain, 30 + grain, 60]
            } else if discs.iter().any(|disc| within(x, y, *disc)) {
                [70 + grain, 60 + grain, 130 + grain]
            } else {
                [215 + grain, 170 + grain, 200 + grain]
            }
        });
    Plane::new(width, height, pixels.collect()).unwrap()
}

/// Everything that the operations give for the tissue, in the order of the workflow.
fn all(library: &Library) -> BTreeMap<String, Named> {
    let image = colour_value(tissue().view()).unwrap();
    let mut given: BTreeMap<String, Named> = BTreeMap::new();
    let go = |given: &mut BTreeMap<String, Named>, name: &str, inputs: &[(&str, &str, &str)]| {
        let outputs = {
            let find = |from: &str, port: &str| match from {
                "" => image.clone(),
                from => given[from][port].clone(),
            };
            let values: Vec<(&str, Value)> = inputs
                .iter()
                .map(|(port, from, output)| (*port, find(from, output)))
                .collect();
            let values: Vec<(&str, &Value)> =
                values.iter().map(|(port, value)| (*port, value)).collect();
            library.run(name, &values, &[]).unwrap()
        };
        given.insert(name.to_owned(), outputs);
    };
    let given_to = &mut given;
    go(given_to, "normalize", &[("image", "", "")]);
    go(given_to, "split", &[("image", "", "")]);
    let channels = [
        ("red", "split", "red"),
        ("green", "split", "green"),
        ("blue", "split", "blue"),
    ];
    go(given_to, "red-blood-cells", &channels);
    go(given_to, "reconstruct-background", &channels[..1]);
    let from = "reconstruct-background";
    let backgrounds = [
        ("inverted", from, "inverted"),
        ("background", from, "background"),
    ];
    go(given_to, "threshold", &backgrounds);
    go(
        given_to,
        "filter-candidates",
        &[("mask", "threshold", "mask")],
    );
    let found = [
        ("difference", "threshold", "difference"),
        ("seeds", "filter-candidates", "mask"),
        ("red-blood-cells", "red-blood-cells", "mask"),
        ("background-status", "red-blood-cells", "status"),
        ("seeds-status", "filter-candidates", "status"),
    ];
    go(given_to, "candidates", &found);
    let objects = [
        ("image", "", ""),
        ("mask", "candidates", "mask"),
        ("status", "candidates", "status"),
    ];
    go(given_to, "separate", &objects);
    let separated = [
        ("mask", "separate", "mask"),
        ("status", "separate", "status"),
    ];
    go(given_to, "final-filter", &separated);
    go(
        given_to,
        "overlay",
        &[("image", "", ""), ("mask", "final-filter", "mask")],
    );
    go(given_to, "save", &[("image", "final-filter", "mask")]);
    let pair = [("a", "final-filter", "mask"), ("b", "candidates", "mask")];
    go(given_to, "dice", &pair);
    let pair = [
        ("mask", "final-filter", "mask"),
        ("reference", "candidates", "mask"),
    ];
    go(given_to, "compare-objects", &pair);
    let size = [("width", Scalar::Int(70)), ("height", Scalar::Int(50))];
    let synth = library.run("synth", &[], &size).unwrap();
    given.insert("synth".to_owned(), synth);
    slides(library, &image, &mut given);
    given
}

/// The image as a slide of tiles of 64 pixels, and the masks of its tiles put together.
fn slides(library: &Library, image: &Value, given: &mut BTreeMap<String, Named>) {
    let saved = library.run("save", &[("image", image)], &[]).unwrap();
    let slide = &saved["file"];
    let parameters = [("tile", Scalar::Int(64)), ("halo", Scalar::Int(8))];
    let partition = library
        .run("partition", &[("slide", slide)], &parameters)
        .unwrap();
    let boxes = partition["boxes"].clone();
    given.insert("partition".to_owned(), partition);
    let Value::List(items) = &boxes else {
        panic!("boxes are a list");
    };
    let mut masks = Vec::new();
    for item in items.iter() {
        let tile = library
            .run("tile", &[("slide", slide), ("box", item)], &[])
            .unwrap();
        // Any grey image will do for a mask: red is never 0.
        let split = library
            .run("split", &[("image", &tile["image"])], &[])
            .unwrap();
        let saved = library
            .run("save", &[("image", &split["red"])], &[])
            .unwrap();
        masks.push(saved["file"].clone());
        given.insert("tile".to_owned(), tile);
    }
    let masks = Value::List(masks.into());
    let mut stitched = library
        .run("stitch", &[("masks", &masks), ("boxes", &boxes)], &[])
        .unwrap();
    // The engine finds out what is in a file that was written; here it is done by hand.
    let bytes = std::fs::read(library.folder.path().join("stitch/mask.tif")).unwrap();
    stitched.insert(
        "mask".to_owned(),
        Value::File(Arc::new(FileValue::of_bytes(bytes))),
    );
    given.insert("stitch".to_owned(), stitched);
}

#[test]
fn what_an_operation_gives_belongs_to_its_version() {
    let library = Library::new();
    let given = all(&library);
    let held: BTreeSet<&str> = given.keys().map(String::as_str).collect();
    let known: BTreeSet<&str> = library
        .registry
        .names()
        .filter_map(|name| name.strip_prefix("imaging/"))
        .collect();
    assert_eq!(held, known, "every operation is tried here");
    let mut lines = String::new();
    for (name, outputs) in &given {
        let version = &library.operation(name).signature.version;
        for (port, value) in outputs {
            let digest = value_digest(value).to_string();
            lines += &format!("{name} {version} {port} {}\n", &digest[..16]);
        }
    }
    // What a file is read as belongs to the version of the codec, and so to a decoder of another release.
    let codec = library.registry.codec(&Type::Image).unwrap();
    for (file, bytes) in mutate::CORPUS {
        let what = match (codec.decode)(bytes) {
            Ok(value) => value_digest(&value).to_string()[..16].to_owned(),
            Err(error) => error.to_string(),
        };
        lines += &format!("read {} {file} {what}\n", codec.version);
    }
    insta::assert_snapshot!("given", lines);
}

#[test]
fn a_status_that_comes_in_goes_out_with_an_empty_mask() {
    let library = Library::new();
    let given = all(&library);
    let image = colour_value(tissue().view()).unwrap();
    let (mask, difference) = (
        &given["candidates"]["mask"],
        &given["threshold"]["difference"],
    );
    let (two, three, zero) = (Value::Int(2), Value::Int(3), Value::Int(0));
    let empty = grey_value(Plane::filled(150, 110, 0).view()).unwrap();
    for (first, second, expected) in [(&two, &three, 2), (&zero, &three, 3), (&two, &zero, 2)] {
        let inputs = [
            ("difference", difference),
            ("seeds", mask),
            ("red-blood-cells", mask),
            ("background-status", first),
            ("seeds-status", second),
        ];
        let made = library.run("candidates", &inputs, &[]).unwrap();
        assert_eq!(made["status"], Value::Int(expected));
        assert_eq!(made["mask"], empty);
    }
    let inputs = [("image", &image), ("mask", mask), ("status", &two)];
    let made = library.run("separate", &inputs, &[]).unwrap();
    assert_eq!((&made["status"], &made["mask"]), (&two, &empty));
    let made = library.run("final-filter", &inputs[1..], &[]).unwrap();
    assert_eq!((&made["status"], &made["mask"]), (&two, &empty));
    assert_eq!(made["nuclei"], zero);
}

#[test]
fn wrong_images_are_refused_in_words() {
    let library = Library::new();
    let grey = grey_value(Plane::filled(4, 4, 7).view()).unwrap();
    let other = grey_value(Plane::filled(5, 4, 7).view()).unwrap();
    let refused = |name: &str, inputs: &[(&str, &Value)], parameters: &[(&str, Scalar)]| {
        library
            .run(name, inputs, parameters)
            .unwrap_err()
            .to_string()
    };
    let status = Value::Int(0);
    assert_eq!(
        refused("split", &[("image", &status)], &[]),
        "input `image`: expected an image, found int"
    );
    let size = [
        ("width", Scalar::Int(40_000)),
        ("height", Scalar::Int(40_000)),
    ];
    assert_eq!(
        refused("synth", &[], &size),
        "parameter `width`: 40000 × 40000 pixels are too many for one image; `headwater imaging synth` writes files \
         of any size"
    );
    let large = Plane::filled(40_000, 100, 7);
    let large = grey_value(large.view()).unwrap();
    let large = library.run("save", &[("image", &large)], &[]).unwrap();
    assert_eq!(
        refused(
            "partition",
            &[("slide", &large["file"])],
            &[("tile", Scalar::Int(1))]
        ),
        "parameter `tile`: expected at least 16 pixels, or 0 for the whole slide, found 1"
    );
    assert_eq!(
        refused(
            "partition",
            &[("slide", &large["file"])],
            &[("tile", Scalar::Int(16))]
        ),
        "parameter `tile`: the slide is stored in whole rows, and each of 17500 tiles would decode them again; save it \
         as a tiled TIFF, take larger tiles, or use `headwater imaging segment --tile`"
    );
    let pair = [("inverted", &grey), ("background", &other)];
    assert_eq!(
        refused("threshold", &pair, &[]),
        "input `background`: is 5 × 4 pixels and `inverted` is 4 × 4; expected images of one size"
    );
    let saved = library.run("save", &[("image", &grey)], &[]).unwrap();
    assert_eq!(
        refused(
            "partition",
            &[("slide", &saved["file"])],
            &[("level", Scalar::Int(1))]
        ),
        "parameter `level`: the slide has levels 0 to 0"
    );
    assert_eq!(
        refused(
            "partition",
            &[("slide", &saved["file"])],
            &[("tile", Scalar::Int(-1))]
        ),
        "parameter `tile`: expected at least 0, found -1"
    );
}

#[test]
fn the_codec_gives_back_what_it_wrote() {
    let library = Library::new();
    let codec = library.registry.codec(&Type::Image).unwrap();
    assert_eq!(&*codec.extensions[0], "png");
    for image in [
        colour_value(tissue().view()).unwrap(),
        grey_value(Plane::filled(3, 2, 9).view()).unwrap(),
    ] {
        let bytes = (codec.encode)(&image).unwrap();
        assert_eq!((codec.decode)(&bytes).unwrap(), image);
        assert!(read_image(&bytes).is_ok());
    }
    let words = (codec.decode)(b"headwater: 1\n").unwrap_err().to_string();
    assert!(words.contains("expected PNG, JPEG or TIFF"), "{words}");
}

#[test]
fn labels_may_be_of_8_bits_and_a_grey_image_is_a_colourless_one() {
    let library = Library::new();
    let image = |pixels: Vec<u8>| grey_value(Plane::new(4, 2, pixels).unwrap().view()).unwrap();
    let labels = image(vec![1, 1, 2, 2, 1, 1, 2, 2]);
    let mask = image(vec![255, 255, 0, 0, 255, 255, 0, 0]);
    let compare = |one: &Value, other: &Value| {
        let inputs = [("mask", one), ("reference", other)];
        let made = library.run("compare-objects", &inputs, &[]).unwrap();
        (
            made["objects"].clone(),
            made["references"].clone(),
            made["f1"].clone(),
        )
    };
    let (one, two) = (Value::Int(1), Value::Int(2));
    assert_eq!(
        compare(&labels, &labels),
        (two.clone(), two.clone(), Value::Float(1.0))
    );
    assert_eq!(compare(&mask, &labels), (one, two, Value::Float(2.0 / 3.0)));
    let split = library.run("split", &[("image", &labels)], &[]).unwrap();
    assert_eq!(
        (&split["red"], &split["green"], &split["blue"]),
        (&labels, &labels, &labels)
    );
}

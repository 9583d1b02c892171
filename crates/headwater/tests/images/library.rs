//! A library of image operations, small enough to be looked through: its files are a line of text and pixels.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use headwater::graph::{
    Array, Codec, Context, ElementType, FileValue, Image, Operation, OperationError, Outputs,
    Registry, Scalar, ScalarType, Signature, Type, Value,
};
use headwater::{Error, Limits, RunReport, RunRequest, Site, StorePlace};

/// How often each operation ran.
pub(crate) type Calls = Arc<Mutex<BTreeMap<&'static str, usize>>>;

/// An image of one row.
pub(crate) fn image(pixels: &[u8]) -> Value {
    let shape = [1, pixels.len() as u64, 1];
    let array = Array::new(ElementType::U8, &shape, pixels).expect("an array");
    Value::Image(Arc::new(Image {
        array,
        channels: "grey".into(),
    }))
}

fn pixels(value: &Value) -> &[u8] {
    match value {
        Value::Image(image) => image.array.bytes(),
        other => panic!("expected an image, found {}", other.value_type()),
    }
}

fn decode(bytes: &[u8]) -> Result<Value, OperationError> {
    match bytes.strip_prefix(b"image\n") {
        Some(pixels) => Ok(image(pixels)),
        None => Err(OperationError::Failed(
            "not an image: it does not begin with `image`".to_owned(),
        )),
    }
}

fn encode(value: &Value) -> Result<Vec<u8>, OperationError> {
    match value {
        Value::Image(image) if image.array.bytes() == b"trouble" => {
            Err(OperationError::Failed("it is trouble".to_owned()))
        }
        Value::Image(image) if image.array.element_type() == ElementType::U8 => {
            Ok([b"image\n", image.array.bytes()].concat())
        }
        _ => Err(OperationError::Input {
            port: "value".to_owned(),
            message: "only pixels of one byte can be written".to_owned(),
        }),
    }
}

fn number(parameters: &[Scalar]) -> u8 {
    match parameters.first() {
        Some(Scalar::Int(number)) => *number as u8,
        _ => 0,
    }
}

type Body = fn(&[Value], u8, &mut Context) -> Result<Outputs, OperationError>;

fn io(error: std::io::Error) -> OperationError {
    OperationError::Failed(error.to_string())
}

/// The first, second and third of every three pixels.
fn split(inputs: &[Value], _: u8, _: &mut Context) -> Result<Outputs, OperationError> {
    let pixels = pixels(&inputs[0]);
    if !pixels.len().is_multiple_of(3) {
        return Err(OperationError::Input {
            port: "image".to_owned(),
            message: format!("{} pixels are not colours", pixels.len()),
        });
    }
    // Outputs are sorted by name: blue, green, red.
    let plane = |first: usize| {
        let plane: Vec<u8> = pixels.iter().skip(first).step_by(3).copied().collect();
        image(&plane)
    };
    Ok(vec![plane(2), plane(1), plane(0)])
}

fn brighten(inputs: &[Value], number: u8, _: &mut Context) -> Result<Outputs, OperationError> {
    let bright = pixels(&inputs[0]).iter().map(|p| p.saturating_add(number));
    Ok(vec![image(&bright.collect::<Vec<u8>>())])
}

fn add(inputs: &[Value], _: u8, _: &mut Context) -> Result<Outputs, OperationError> {
    let pairs = pixels(&inputs[0]).iter().zip(pixels(&inputs[1]));
    let sums: Vec<u8> = pairs.map(|(a, b)| a.saturating_add(*b)).collect();
    Ok(vec![image(&sums)])
}

fn sum(inputs: &[Value], _: u8, _: &mut Context) -> Result<Outputs, OperationError> {
    let sum = pixels(&inputs[0]).iter().map(|pixel| i64::from(*pixel));
    Ok(vec![Value::Int(sum.sum())])
}

/// Real pixels, which the codec cannot write.
fn real(inputs: &[Value], _: u8, _: &mut Context) -> Result<Outputs, OperationError> {
    let reals: Vec<u8> = pixels(&inputs[0])
        .iter()
        .flat_map(|pixel| f32::from(*pixel).to_le_bytes())
        .collect();
    let shape = [1, pixels(&inputs[0]).len() as u64, 1];
    let array = Array::new(ElementType::F32, &shape, &reals).expect("an array");
    Ok(vec![Value::Image(Arc::new(Image {
        array,
        channels: "grey".into(),
    }))])
}

/// A list of images of one pixel.
fn tiles(inputs: &[Value], _: u8, _: &mut Context) -> Result<Outputs, OperationError> {
    let tiles = pixels(&inputs[0]).chunks(1).map(image);
    Ok(vec![Value::List(tiles.collect())])
}

/// A file that is written to the folder of the task, beside one that is not given.
fn export(inputs: &[Value], number: u8, context: &mut Context) -> Result<Outputs, OperationError> {
    let scratch = context.scratch.clone().expect("a folder");
    assert!(!scratch.exists(), "the folder is the task's own");
    fs::create_dir_all(&scratch).map_err(io)?;
    fs::write(scratch.join("rest"), b"not given").map_err(io)?;
    if number < 100 {
        fs::write(scratch.join("whole"), encode(&inputs[0])?).map_err(io)?;
    }
    Ok(vec![context.give_file("whole")?])
}

/// A file in memory, with a digest that is not its own.
fn note(inputs: &[Value], _: u8, _: &mut Context) -> Result<Outputs, OperationError> {
    let text = format!("{} pixels\n", pixels(&inputs[0]).len());
    let file = FileValue {
        digest: headwater::graph::Digest([7; 32]),
        ..FileValue::of_bytes(text.into_bytes())
    };
    Ok(vec![Value::File(Arc::new(file))])
}

/// The last byte of a file, without the rest.
fn last(inputs: &[Value], _: u8, context: &mut Context) -> Result<Outputs, OperationError> {
    let mut file = context.open(&inputs[0])?;
    file.seek(SeekFrom::End(-1)).map_err(io)?;
    let mut byte = [0];
    file.read_exact(&mut byte).map_err(io)?;
    Ok(vec![Value::Int(i64::from(byte[0]))])
}

/// The library, under the name `test`.
pub(crate) fn registry(calls: &Calls) -> Registry {
    let mut registry = Registry::new();
    let codec = Codec {
        library: "test".into(),
        version: "1".into(),
        value_type: Type::Image,
        extensions: vec!["img".into()],
        decode: Arc::new(decode),
        encode: Arc::new({
            let calls = Arc::clone(calls);
            move |value: &Value| {
                *calls.lock().unwrap().entry("encode").or_default() += 1;
                encode(value)
            }
        }),
    };
    registry.register_codec(codec).unwrap();
    let one = |name: &str| Signature::new(name, "1").input("image", Type::Image);
    let number =
        |signature: Signature| signature.parameter("number", ScalarType::Int, Some(Scalar::Int(1)));
    let mut planes = one("split")
        .output("red", Type::Image)
        .output("green", Type::Image)
        .output("blue", Type::Image);
    planes.implicit = true;
    let two = Signature::new("add", "1")
        .input("a", Type::Image)
        .input("b", Type::Image)
        .output("image", Type::Image);
    let last_of = Signature::new("last", "1")
        .input("file", Type::File)
        .output("byte", Type::Int);
    let operations: [(&'static str, Signature, Body); 9] = [
        ("split", planes, split),
        (
            "brighten",
            number(one("brighten").output("image", Type::Image)),
            brighten,
        ),
        ("add", two, add),
        ("sum", one("sum").output("sum", Type::Int), sum),
        ("real", one("real").output("image", Type::Image), real),
        (
            "tiles",
            one("tiles").output("tiles", Type::Image.list()),
            tiles,
        ),
        (
            "export",
            number(one("export").file_output("file", "pic")),
            export,
        ),
        ("note", one("note").file_output("file", "txt"), note),
        ("last", last_of, last),
    ];
    for (name, signature, body) in operations {
        let calls = Arc::clone(calls);
        let run = move |inputs: &[Value], parameters: &[Scalar], context: &mut Context| {
            *calls.lock().unwrap().entry(name).or_default() += 1;
            body(inputs, self::number(parameters), context)
        };
        registry
            .register(Some("test"), Operation::native(signature, run))
            .unwrap();
    }
    registry
}

/// A folder with a workflow, some pictures and a store.
pub(crate) struct Case {
    folder: tempfile::TempDir,
    calls: Calls,
}

impl Case {
    /// A workflow over pictures, which are files `0.img`, `1.img`, … with these contents.
    pub(crate) fn new(flow: &str, pictures: &[&[u8]]) -> Case {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("flow.yaml"), flow).unwrap();
        fs::write(root.join("data.yaml"), "inputs: {picture: '*.img'}\n").unwrap();
        for (position, picture) in pictures.iter().enumerate() {
            fs::write(root.join(format!("{position}.img")), picture).unwrap();
        }
        Case {
            folder,
            calls: Calls::default(),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where the store is.
    pub(crate) fn store(&self) -> PathBuf {
        self.path().join("store")
    }

    /// Where it runs, with the library of these tests.
    pub(crate) fn site(&self) -> Site {
        let store = StorePlace {
            url: self.store().to_str().map(str::to_owned),
            read_only: false,
            ..StorePlace::default()
        };
        let limits = Limits {
            cores: Some(2),
            ..Limits::default()
        };
        let site = Site::new(self.path()).with_store(store).with_limits(limits);
        site.with_libraries(registry(&self.calls))
    }

    /// Runs it with these settings.
    pub(crate) fn try_run(&self, settings: &[&str]) -> Result<RunReport, Error> {
        self.calls.lock().unwrap().clear();
        let request = RunRequest {
            flow: "flow.yaml".into(),
            inputs: Some("data.yaml".into()),
            settings: settings.iter().map(|&setting| setting.into()).collect(),
            ..RunRequest::default()
        };
        self.site().run(&request)
    }

    /// Runs it, and expects that all goes well.
    pub(crate) fn run(&self, settings: &[&str]) -> RunReport {
        let report = self.try_run(settings).expect("the run ends");
        assert!(
            report.succeeded(),
            "{:?} {:?}",
            report.failures,
            report.errors
        );
        report
    }

    /// How often an operation ran in the last run.
    pub(crate) fn calls(&self, operation: &str) -> usize {
        self.calls
            .lock()
            .unwrap()
            .get(operation)
            .copied()
            .unwrap_or(0)
    }
}

/// The files below a folder of outputs, without those about the run, sorted.
pub(crate) fn files(report: &RunReport) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![report.folder.clone()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let name = path.strip_prefix(&report.folder).unwrap().to_str().unwrap();
            if ![
                "inputs.yaml",
                "outputs.csv",
                "trace.tsv",
                "report.html",
                "failures.txt",
            ]
            .contains(&name)
            {
                found.push(name.to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The bytes of a delivered file.
pub(crate) fn read(report: &RunReport, name: &str) -> Vec<u8> {
    fs::read(report.folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

//! Signatures, and what an operation may use while it runs.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_graph::{
    Context, Digest, FileValue, Handle, OperationError, ReadFile, Scalar, ScalarType, Signature,
    Type, Value,
};

#[test]
fn a_signature_says_what_is_optional_truncated_and_how_files_are_called() {
    let signature = Signature::new("op", "1")
        .optional_input("mask", Type::Image)
        .input("image", Type::Image)
        .file_output("table", "csv")
        .output("image", Type::Image)
        .parameter("radius", ScalarType::Int, None)
        .parameter("level", ScalarType::Int, None)
        .truncating("radius")
        .truncating("nothing of this name");
    let inputs: Vec<(&str, bool)> = signature
        .inputs
        .iter()
        .map(|port| (&*port.name, port.optional))
        .collect();
    assert_eq!(inputs, [("image", false), ("mask", true)]);
    let outputs: Vec<(&str, &Type, Option<&str>)> = signature
        .outputs
        .iter()
        .map(|port| (&*port.name, &port.port_type, port.extension.as_deref()))
        .collect();
    let expected = [
        ("image", &Type::Image, None),
        ("table", &Type::File, Some("csv")),
    ];
    assert_eq!(outputs, expected);
    let coerced: Vec<Option<Scalar>> = signature
        .parameters
        .iter()
        .map(|declared| Scalar::Float(2.7).coerce(declared.scalar_type, declared.truncate))
        .collect();
    assert_eq!(coerced, [None, Some(Scalar::Int(2))], "level, radius");
}

/// Gives the path of a file as its contents.
struct Paths;

impl ReadFile for Paths {
    fn read_file(&self, file: &FileValue) -> Result<Vec<u8>, OperationError> {
        let path = file.handle.path().expect("a path");
        Ok(path.to_str().expect("text").as_bytes().to_vec())
    }
}

fn last_two(context: &Context, value: &Value) -> Result<[u8; 2], OperationError> {
    let mut opened = context.open(value)?;
    let mut bytes = [0; 2];
    opened.seek(SeekFrom::End(-2)).expect("it can be sought");
    opened.read_exact(&mut bytes).expect("it can be read");
    Ok(bytes)
}

#[test]
fn files_are_read_in_pieces_wherever_they_are() {
    let memory = FileValue::of_bytes(*b"abcdef");
    assert_eq!((memory.digest, memory.size), (Digest::of(b"abcdef"), 6));
    let elsewhere = FileValue {
        handle: Handle::Path(Path::new("folder/name").into()),
        ..memory.clone()
    };
    let (memory, elsewhere) = (
        Value::File(Arc::new(memory)),
        Value::File(Arc::new(elsewhere)),
    );
    let context = Context::default();
    assert_eq!(last_two(&context, &memory), Ok(*b"ef"));
    assert!(last_two(&context, &elsewhere).is_err());
    assert!(last_two(&context, &Value::Int(1)).is_err());
    let context = Context {
        reader: Some(Arc::new(Paths)),
        ..Context::default()
    };
    assert_eq!(last_two(&context, &memory), Ok(*b"ef"));
    assert_eq!(last_two(&context, &elsewhere), Ok(*b"me"));
}

#[test]
fn a_file_is_given_from_the_folder_of_the_task() {
    assert!(Context::default().give_file("name").is_err());
    let context = Context {
        scratch: Some(PathBuf::from("scratch")),
        ..Context::default()
    };
    let Ok(Value::File(file)) = context.give_file("name") else {
        panic!("it is a file");
    };
    assert_eq!(
        file.handle.path().map(|path| &**path),
        Some(Path::new("scratch/name"))
    );
}

//! The canonical encoding: one for each value, and nothing else decodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{
    Array, DecodeError, Digest, DirectoryEntry, DirectoryValue, ElementType, FileValue, Handle,
    Identity, Image, Opaque, Region, Value, decode, encode, encode_to, encoded_length,
    value_digest,
};
use proptest::prelude::*;

fn file(content: &str, name: Option<&str>) -> FileValue {
    FileValue {
        digest: Digest::of(content.as_bytes()),
        size: content.len() as u64,
        name: name.map(Into::into),
        executable: false,
        handle: Handle::Memory(content.as_bytes().into()),
    }
}

fn arrays() -> impl Strategy<Value = Array> {
    let shape = proptest::collection::vec(0u64..4, 0..4);
    (0usize..10, shape, any::<u8>()).prop_map(|(element, shape, fill)| {
        let element = ElementType::ALL[element];
        let count: u64 = shape.iter().product();
        let bytes: Vec<u8> = (0..count as usize * element.size())
            .map(|at| fill.wrapping_add(at as u8))
            .collect();
        Array::new(element, &shape, &bytes).unwrap()
    })
}

fn files() -> impl Strategy<Value = FileValue> {
    (
        ".{0,8}",
        proptest::option::of("[^./\\x00][^/\\x00]{0,7}"),
        any::<bool>(),
    )
        .prop_map(|(content, name, executable)| FileValue {
            executable,
            ..file(&content, name.as_deref())
        })
}

fn directories() -> impl Strategy<Value = DirectoryValue> {
    proptest::collection::btree_map("[a-z]{1,4}(/[a-z.]{3,5})?", (any::<bool>(), files()), 0..4)
        .prop_map(|entries| {
            let entry = |(path, (executable, file)): (String, (bool, FileValue))| DirectoryEntry {
                path: path.as_str().into(),
                executable,
                file,
            };
            let below = |entry: &DirectoryEntry| {
                !entry.path.ends_with("/...") && !entry.path.ends_with("/..")
            };
            let entries: Arc<[DirectoryEntry]> =
                entries.into_iter().map(entry).filter(below).collect();
            DirectoryValue {
                entries,
                path: None,
                name: None,
            }
        })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        prop_oneof![
            Just(-0.0),
            Just(f64::NAN),
            Just(-f64::NAN),
            Just(f64::INFINITY)
        ]
        .prop_map(Value::Float),
        ".{0,12}".prop_map(|text| Value::Text(text.as_str().into())),
        proptest::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| Value::Bytes(bytes.into())),
        arrays().prop_map(Value::Array),
        (arrays(), "[a-z]{0,4}").prop_map(|(array, channels)| {
            Value::Image(Arc::new(Image {
                array,
                channels: channels.as_str().into(),
            }))
        }),
        (
            arrays(),
            any::<[i64; 4]>(),
            any::<[i64; 4]>(),
            any::<[f64; 4]>()
        )
            .prop_map(|(array, lower, upper, resolution)| Value::Region(Arc::new(
                Region {
                    array,
                    lower,
                    upper,
                    resolution
                }
            ))),
        files().prop_map(|file| Value::File(Arc::new(file))),
        directories().prop_map(Value::Directory),
        ("[a-z]{1,6}", proptest::collection::vec(any::<u8>(), 0..8)).prop_map(
            |(type_name, bytes)| {
                Value::Opaque(Arc::new(Opaque {
                    type_name: type_name.as_str().into(),
                    bytes: bytes.into(),
                }))
            }
        ),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| Value::List(items.into())),
            proptest::collection::btree_map(".{0,4}", inner, 0..4).prop_map(|fields| {
                let fields: BTreeMap<Arc<str>, Value> = fields
                    .into_iter()
                    .map(|(name, field)| (name.as_str().into(), field))
                    .collect();
                Value::Record(Arc::new(fields))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn what_is_encoded_decodes_to_the_same(value in values()) {
        let bytes = encode(&value);
        let back = decode(&bytes).unwrap();
        // A number that is none does not equal itself; its encoding does.
        prop_assert_eq!(encode(&back), bytes.clone());
        if !format!("{value:?}").contains("NaN") {
            prop_assert_eq!(&back, &value);
        }
        prop_assert_eq!(value_digest(&back), value_digest(&value));
        prop_assert_eq!(back.value_type(), value.value_type());
    }

    #[test]
    fn whatever_decodes_is_canonical(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(value) = decode(&bytes) {
            prop_assert_eq!(encode(&value), bytes);
        }
    }

    /// Changed at one place, cut short or made longer: never a panic, never another encoding of a value.
    #[test]
    fn damaged_encodings_do_no_harm(value in values(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = encode(&value);
        let place = at.index(bytes.len());
        prop_assert!(decode(&bytes[..place]).is_err());
        let whole = bytes.clone();
        bytes.push(byte);
        prop_assert_eq!(decode(&bytes), Err(DecodeError::Trailing(1)));
        bytes.pop();
        bytes[place] = byte;
        match decode(&bytes) {
            Ok(value) => prop_assert_eq!(encode(&value), bytes),
            Err(_) => prop_assert_ne!(bytes, whole),
        }
    }

    /// Different values, different encodings.
    #[test]
    fn different_values_have_different_digests(one in values(), other in values()) {
        prop_assert_eq!(encode(&one) == encode(&other), value_digest(&one) == value_digest(&other));
    }
}

fn check_refused(bytes: &[u8], message: &str) {
    assert_eq!(decode(bytes).unwrap_err().to_string(), message);
}

fn with_length(tag: u8, length: u64, rest: &[u8]) -> Vec<u8> {
    [&[tag], length.to_le_bytes().as_slice(), rest].concat()
}

#[test]
fn hostile_lengths_are_refused_before_anything_is_allocated() {
    for tag in [5, 6, 12, 13, 14, 15] {
        check_refused(
            &with_length(tag, u64::MAX, b""),
            "the encoding ends early, at byte 9",
        );
        check_refused(
            &with_length(tag, 1 << 40, b"abc"),
            "the encoding ends early, at byte 12",
        );
    }
    // An array of 2^62 elements, and one whose size does not fit a number.
    let array = |extents: &[u64]| {
        let extents: Vec<u8> = extents
            .iter()
            .flat_map(|extent| extent.to_le_bytes())
            .collect();
        let mut bytes = vec![7, 0];
        bytes.extend((extents.len() as u64 / 8).to_le_bytes());
        bytes.extend(extents);
        bytes
    };
    assert!(decode(&array(&[1 << 62])).is_err());
    assert!(decode(&array(&[u64::MAX, u64::MAX])).is_err());
    assert!(decode(&array(&[u64::MAX, 0])).is_ok());
}

#[test]
fn what_is_not_canonical_is_refused() {
    check_refused(&[], "the encoding ends early, at byte 0");
    check_refused(&[99], "no value begins with 99 (byte 0)");
    check_refused(&[0, 0], "1 bytes follow the value");
    let float = |number: u64| [&[4], number.to_le_bytes().as_slice()].concat();
    check_refused(
        &float((-0.0f64).to_bits()),
        "not in canonical form at byte 1: a second zero or NaN",
    );
    check_refused(
        &float(f64::NAN.to_bits() | 1),
        "not in canonical form at byte 1: a second zero or NaN",
    );
    check_refused(
        &with_length(5, 1, &[0xff]),
        "not in canonical form at byte 1: text is not UTF-8",
    );
    let field = |name: &str| {
        [
            (name.len() as u64).to_le_bytes().as_slice(),
            name.as_bytes(),
            &[0],
        ]
        .concat()
    };
    let record = with_length(14, 2, &[field("b"), field("a")].concat());
    check_refused(
        &record,
        "not in canonical form at byte 19: fields are not in order",
    );
    let twice = with_length(14, 2, &[field("a"), field("a")].concat());
    check_refused(
        &twice,
        "not in canonical form at byte 19: fields are not in order",
    );
}

#[test]
fn deep_nesting_is_refused() {
    let nested = |depth: usize| {
        let mut bytes = Vec::new();
        (0..depth).for_each(|_| bytes.extend(with_length(13, 1, b"")));
        bytes.push(0);
        bytes
    };
    assert!(decode(&nested(128)).is_ok());
    assert!(
        decode(&nested(129))
            .unwrap_err()
            .to_string()
            .ends_with("nested too deeply")
    );
    assert!(decode(&nested(100_000)).is_err());
}

/// Paths of directories end up on disk: what points outside is refused.
#[test]
fn paths_that_leave_their_directory_are_refused() {
    let directory = |path: &str| {
        let entry = DirectoryEntry {
            path: path.into(),
            executable: false,
            file: file("x", None),
        };
        decode(&encode(&Value::Directory(DirectoryValue {
            entries: [entry].into(),
            path: None,
            name: None,
        })))
    };
    for path in ["a", "a/b", "a.b", "..a", "a..b/c", "a\\b", "-rf", "a\nb"] {
        assert!(directory(path).is_ok(), "{path}");
    }
    for path in ["", "..", ".", "/a", "a/../b", "a//b", "a/", "./a", "a\0b"] {
        let error = directory(path).unwrap_err().to_string();
        assert!(
            error.ends_with("a path that leaves its directory"),
            "{path}: {error}"
        );
    }
}

/// A file that keeps its name lies under it in the folder of a task.
#[test]
fn names_of_files_that_are_paths_are_refused() {
    let named = |name: &str| decode(&encode(&Value::File(Arc::new(file("x", Some(name))))));
    for name in ["a", "a.b", "..a", "-rf", "a b", "a\\b"] {
        assert!(named(name).is_ok(), "{name}");
    }
    for name in ["", "..", ".", "/a", "../a", "a/b", "a\0b"] {
        let error = named(name).unwrap_err().to_string();
        assert!(
            error.ends_with("a name of a file that is a path"),
            "{name}: {error}"
        );
    }
}

#[test]
fn the_digest_of_a_file_is_that_of_its_contents() {
    let plain = Value::File(Arc::new(file("hello", None)));
    assert_eq!(value_digest(&plain), Digest::of(b"hello"));
    let named = Value::File(Arc::new(file("hello", Some("a.txt"))));
    assert_ne!(value_digest(&named), Digest::of(b"hello"));
}

/// A program and data with the same bytes are two values; what is no program is encoded as ever.
#[test]
fn a_program_is_another_value_than_its_bytes() {
    let plain = file("hello", None);
    let program = FileValue {
        executable: true,
        ..plain.clone()
    };
    assert_ne!(plain, program);
    let [plain, program] = [plain, program].map(|file| Value::File(Arc::new(file)));
    let bytes = [
        [10].as_slice(),
        &Digest::of(b"hello").0,
        &5u64.to_le_bytes(),
    ]
    .concat();
    assert_eq!(encode(&plain), bytes);
    let marked = [[17].as_slice(), &bytes].concat();
    assert_eq!(encode(&program), marked);
    assert_eq!(decode(&marked).unwrap(), program);
    assert_eq!(value_digest(&program), Digest::of(&marked));
    assert_eq!(Identity::of(&plain), Identity::File(Digest::of(b"hello")));
    assert_eq!(Identity::of(&program), Identity::Value(Digest::of(&marked)));
    let lists = [&plain, &program].map(|value| Value::List([value.clone()].into()));
    assert_ne!(Identity::of(&lists[0]), Identity::of(&lists[1]));
    // Nothing but a file is a program, and once is enough.
    for rest in [&[0][..], &marked, b""] {
        assert!(decode(&[[17].as_slice(), rest].concat()).is_err());
    }
}

/// In a directory the entry says it, and nothing else does.
#[test]
fn in_a_directory_the_entry_says_what_is_a_program() {
    let directory = |executable, file_says| {
        let entry = DirectoryEntry {
            path: "a".into(),
            executable,
            file: FileValue {
                executable: file_says,
                ..file("hello", None)
            },
        };
        Value::Directory(DirectoryValue {
            entries: [entry].into(),
            path: None,
            name: None,
        })
    };
    for executable in [false, true] {
        let (one, other) = (directory(executable, false), directory(executable, true));
        assert_eq!(one, other);
        assert_eq!(encode(&one), encode(&other));
        assert_eq!(decode(&encode(&other)).unwrap(), one);
    }
    assert_ne!(directory(false, false), directory(true, false));
    assert_ne!(
        Identity::of(&directory(false, true)),
        Identity::of(&directory(true, false))
    );
}

/// What is known by its name is that name, wherever it lies and whatever is in it, and nobody can take it for
/// contents.
#[test]
fn a_logical_name_stands_for_contents_that_nobody_has_seen() {
    let at = |name: &str, path: &str, size| {
        FileValue::known_by_name(name, std::path::Path::new(path), size)
    };
    let (here, there) = (at("a.nii", "x/a.nii", 3), at("a.nii", "y/a.nii", 4));
    let values = [&here, &there].map(|found| Value::File(Arc::new(found.clone())));
    assert_eq!(encode(&values[0]), encode(&values[1]));
    assert_eq!(Identity::of(&values[0]), Identity::Name("a.nii".into()));
    assert_ne!(here.digest, at("b.nii", "x/a.nii", 3).digest);
    let encoding = encode(&values[0]);
    assert!(decode(&encoding).is_err());
    assert_ne!(here.digest, Digest::of(&encoding));
    assert_ne!(here.digest, Digest::of(b"a.nii"));
    let folder = |files: Vec<FileValue>| {
        let entry = |file| DirectoryEntry {
            path: "a.nii".into(),
            executable: false,
            file,
        };
        Value::Directory(DirectoryValue {
            entries: files.into_iter().map(entry).collect(),
            path: None,
            name: Some("scans".into()),
        })
    };
    let (empty, one) = (folder(Vec::new()), folder(vec![here]));
    assert_eq!(encode(&empty), encode(&one));
    assert_eq!(Identity::of(&one), Identity::Name("scans".into()));
    let lists = [&empty, &one].map(|value| Value::List([value.clone()].into()));
    assert_eq!(Identity::of(&lists[0]), Identity::of(&lists[1]));
    assert!(decode(&encode(&lists[0])).is_err());
    assert!(lists.iter().all(Value::is_known_by_name));
    assert!(!Value::File(Arc::new(file("hello", None))).is_known_by_name());
}

/// Where the bytes are does not count.
#[test]
fn handles_are_not_part_of_a_value() {
    let mut stored = file("hello", None);
    stored.handle = Handle::Stored;
    assert_eq!(stored, file("hello", None));
    let (a, b) = (
        Value::File(Arc::new(stored)),
        Value::File(Arc::new(file("hello", None))),
    );
    assert_eq!(encode(&a), encode(&b));
}

#[test]
fn an_encoding_is_the_same_in_pieces() {
    for length in [0_usize, 1, 4000, 4095, 4096, 4097, 8192, 100_000] {
        let bytes: Vec<u8> = (0..length).map(|position| position as u8).collect();
        let array = Array::new(ElementType::U8, &[length as u64], &bytes).unwrap();
        let image = Image {
            array: array.clone(),
            channels: "grey".into(),
        };
        let value = Value::List(
            vec![
                Value::Image(Arc::new(image)),
                Value::Int(1),
                Value::Array(array),
                Value::Bytes(bytes.into()),
                Value::Text("end".into()),
            ]
            .into(),
        );
        let whole = encode(&value);
        let mut written = Vec::new();
        encode_to(&value, &mut written).unwrap();
        assert_eq!(written, whole, "{length}");
        assert_eq!(encoded_length(&value), whole.len() as u64, "{length}");
        assert_eq!(value_digest(&value), Digest::of(&whole), "{length}");
    }
}

#[test]
fn an_encoding_that_cannot_be_written_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for length in [1, 100_000] {
        let value = Value::Bytes(vec![0; length].into());
        assert!(encode_to(&value, &mut Full).is_err(), "{length}");
    }
}

#[test]
fn arrays_are_built_in_place() {
    for length in [0_u64, 1, 63, 64, 65, 4096, 1 << 20] {
        let mut given = 0;
        let array = Array::build(ElementType::U16, &[length, 1], |bytes| {
            assert!(
                bytes.iter().all(|byte| *byte == 0),
                "what is handed out is zeroed"
            );
            given = bytes.as_ptr().addr();
            for (position, byte) in bytes.iter_mut().enumerate() {
                *byte = position as u8;
            }
        });
        let array = array.unwrap();
        assert_eq!(given, array.bytes().as_ptr().addr(), "no copy was made");
        assert_eq!(given % 64, 0);
        let expected: Vec<u8> = (0..2 * length).map(|position| position as u8).collect();
        assert_eq!(
            array,
            Array::new(ElementType::U16, &[length, 1], &expected).unwrap()
        );
        let clone = array.clone();
        assert_eq!(
            clone.bytes().as_ptr(),
            array.bytes().as_ptr(),
            "a clone is the same array"
        );
    }
}

#[test]
fn an_array_larger_than_memory_is_refused() {
    let never = |_: &mut [u8]| panic!("it cannot be there");
    for shape in [
        &[u64::MAX, 2][..],
        &[u64::MAX],
        &[1 << 62],
        &[i64::MAX as u64],
    ] {
        assert!(
            Array::build(ElementType::U8, shape, never).is_none(),
            "{shape:?}"
        );
    }
}

#[test]
fn arrays_are_aligned_and_checked() {
    for length in [0, 1, 63, 64, 65, 1000] {
        let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
        let array = Array::new(ElementType::U8, &[length as u64], &bytes).unwrap();
        assert_eq!(array.bytes(), bytes);
        assert_eq!(array.bytes().as_ptr() as usize % 64, 0);
    }
    assert!(Array::new(ElementType::F64, &[2], &[0; 15]).is_none());
    assert!(Array::new(ElementType::F64, &[u64::MAX, 2], &[]).is_none());
    assert_eq!(
        Array::new(ElementType::U16, &[], &[1, 2]).unwrap().shape(),
        &[] as &[u64]
    );
}

#[test]
fn memory_counts_what_is_in_this_process() {
    let list = Value::List([Value::Text("abc".into()), Value::Bytes([0; 5].into())].into());
    assert_eq!(list.memory(), 8);
    assert_eq!(Value::File(Arc::new(file("hello", None))).memory(), 5);
    let mut stored = file("hello", None);
    stored.handle = Handle::Stored;
    assert_eq!(Value::File(Arc::new(stored)).memory(), 0);
}

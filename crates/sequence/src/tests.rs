//! Typed data, procedures and arguments, without a sequence to run them.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_derive::ItemId;
use headwater_graph::{
    Array, Context, DirectoryEntry, DirectoryValue, ElementType, FileValue, Image, Kind, Operation,
    OperationError, Outputs, Region, Scalar, ScalarType, Signature, Type, Value,
};
use proptest::prelude::*;

use super::*;
use crate::item::Dropped;

type M = Numbers<f64>;

/// There and back, also within lists; and the type fits the value.
fn round_trip<T: Datum + Clone + PartialEq + std::fmt::Debug>(datum: &T) {
    let value = datum.clone().into_value();
    assert!(T::datum_type().accepts(&value.value_type()), "{value:?}");
    assert_eq!(T::from_value(value).as_ref(), Ok(datum));
    let list = vec![datum.clone(), datum.clone()];
    let value = list.clone().into_value();
    assert_eq!(Vec::<T>::from_value(value.clone()), Ok(list.clone()));
    // Now somebody else has it, too.
    assert_eq!(Vec::<T>::from_value(value.clone()), Ok(list.clone()));
    assert!(Vec::<T>::datum_type().accepts(&value.value_type()));
    assert_eq!(
        Vec::<Vec<T>>::from_value(vec![list.clone()].into_value()),
        Ok(vec![list])
    );
}

/// What is not of the type comes back as it was.
fn refused<T: Datum + std::fmt::Debug + PartialEq>(value: &Value) {
    assert_eq!(T::from_value(value.clone()), Err(value.clone()));
    let list = || Value::List(Arc::from([value.clone()]));
    assert_eq!(Vec::<T>::from_value(list()), Err(list()));
}

fn array() -> Array {
    Array::of_elements(&[2, 1], &[1_u8, 2]).expect("two of them")
}

#[test]
fn data_go_into_values_and_come_out_again() {
    round_trip(&true);
    round_trip(&array());
    round_trip(&Arc::<[u8]>::from([1, 2]));
    round_trip(&Image {
        array: array(),
        channels: "grey".into(),
    });
    round_trip(&Region {
        array: array(),
        lower: [0; 4],
        upper: [1, 2, 1, 1],
        resolution: [1.0; 4],
    });
    round_trip(&File::of_bytes(*b"text"));
    round_trip(&directory());
    round_trip(&Value::Null);
    round_trip(&Value::Record(Arc::new(BTreeMap::new())));
    round_trip(&Numbers::new(&[2], [1.0_f32, f32::NAN]).expect("two of them"));
}

proptest! {
    #[test]
    fn scalars_and_numbers_go_into_values_and_come_out_again(
        int in any::<i64>(),
        float in any::<f64>().prop_filter("equal to itself", |number| !number.is_nan()),
        text in any::<String>(),
        numbers in proptest::collection::vec(any::<f64>(), 0..20),
        ints in proptest::collection::vec(any::<i16>(), 0..20),
    ) {
        round_trip(&int);
        round_trip(&float);
        round_trip(&text);
        let shape = [numbers.len() as u64];
        round_trip(&Numbers::new(&shape, numbers).expect("as many as it says"));
        let shape = [1, ints.len() as u64];
        round_trip(&Numbers::new(&shape, &ints).expect("as many as it says"));
    }

    #[test]
    fn a_list_with_one_of_another_type_comes_back_whole(
        ints in proptest::collection::vec(any::<i64>(), 0..8),
        place in any::<proptest::sample::Index>(),
        shared: bool,
    ) {
        let mut values: Vec<Value> = ints.into_iter().map(Value::Int).collect();
        values.insert(place.index(values.len() + 1), Value::Text("no number".into()));
        let list = Value::List(values.clone().into());
        let other = shared.then(|| list.clone());
        prop_assert_eq!(Vec::<i64>::from_value(list), Err(Value::List(values.into())));
        drop(other);
    }
}

#[test]
fn values_of_another_type_come_back_as_they_were() {
    let text = Value::Text("5".into());
    refused::<bool>(&text);
    refused::<i64>(&text);
    refused::<f64>(&text);
    refused::<String>(&Value::Int(5));
    refused::<Array>(&text);
    refused::<M>(&text);
    refused::<M>(&Value::Array(array()));
    refused::<Image>(&Value::Array(array()));
    refused::<Region>(&text);
    refused::<File>(&text);
    refused::<Directory>(&File::of_bytes(*b"").into_value());
    refused::<Vec<i64>>(&Value::Int(5));
    refused::<i64>(&Value::Float(5.0));
}

#[test]
fn a_whole_number_is_a_number_if_nothing_is_lost() {
    assert_eq!(f64::from_value(Value::Int(5)), Ok(5.0));
    refused::<f64>(&Value::Int(i64::MAX));
}

#[test]
fn what_nobody_else_has_stays_so_on_its_way() {
    let numbers = || Numbers::new(&[1], [1.0]).expect("one of them");
    assert!(M::from_value(numbers().into_value()).is_ok_and(|numbers| numbers.is_alone()));
    let list = Vec::<M>::from_value(vec![numbers(), numbers()].into_value()).expect("a list");
    assert!(list.iter().all(Numbers::is_alone));
    let image = Image {
        array: numbers().into_array(),
        channels: "grey".into(),
    };
    let image = Image::from_value(image.into_value());
    assert!(image.is_ok_and(|image| image.array.is_alone()));
}

#[test]
fn numbers_are_read_changed_and_checked() {
    let mut numbers = Numbers::build(&[2, 2], |all: &mut [i32]| all[3] = 7).expect("a small one");
    assert_eq!(
        (numbers.shape(), numbers.as_slice()),
        (&[2, 2][..], &[0, 0, 0, 7][..])
    );
    let place = numbers.as_slice().as_ptr();
    numbers.as_mut_slice()[0] = 1;
    assert_eq!(numbers.as_slice().as_ptr(), place);
    let other = numbers.clone();
    numbers.as_mut_slice()[0] = 2;
    assert_eq!((numbers.as_slice()[0], other.as_slice()[0]), (2, 1));
    assert_eq!(format!("{other:?}"), "Numbers(I32, [2, 2]) [1, 0, 0, 7]");

    let short = Numbers::new(&[2, 3], vec![1.0; 5]).expect_err("one is missing");
    assert_eq!(short.to_string(), "5 numbers do not fill the shape [2, 3]");
    let large = Numbers::build(&[u64::MAX, 2], |_: &mut [f64]| {}).expect_err("too large");
    assert_eq!(
        OperationError::from(large).to_string(),
        "the shape [18446744073709551615, 2] is larger than memory"
    );
    assert_eq!(
        Numbers::<f32>::try_from(array()).map_err(|array| array.element_type()),
        Err(ElementType::U8)
    );
}

fn directory() -> Directory {
    let entry = |path: &str, executable, bytes: &[u8]| DirectoryEntry {
        path: path.into(),
        executable,
        file: FileValue::of_bytes(bytes),
    };
    Directory::from(DirectoryValue {
        entries: Arc::from([entry("a", false, b"first"), entry("b/c", true, b"second")]),
        path: None,
        name: None,
    })
}

#[test]
fn files_and_directories_say_what_they_are() {
    let file = File::of_bytes(*b"text");
    assert_eq!((file.size(), file.path()), (4, None));
    assert_eq!(file.digest(), headwater_graph::Digest::of(b"text"));
    assert_eq!(file.read().expect("in memory"), b"text");
    assert_eq!(file.read_with(&Context::default()), Ok(b"text".to_vec()));

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("there");
    std::fs::write(&path, "on disk").expect("written");
    let mut there = FileValue::of_bytes(*b"on disk");
    there.handle = Handle::Path(path.as_path().into());
    let there = File::from(there);
    assert_eq!(there.path(), Some(path.as_path()));
    assert_eq!(there.read().expect("on disk"), b"on disk");

    let mut stored = FileValue::of_bytes(*b"kept");
    stored.handle = Handle::Stored;
    let error = File::from(stored).read().expect_err("only in the store");
    assert!(
        error
            .to_string()
            .ends_with("is only in the store; within a call it is read with `read_with`")
    );

    let directory = directory();
    assert_eq!((directory.entries().len(), directory.path()), (2, None));
    let second = directory.file("b/c").expect("it is there");
    assert_eq!(second.read().expect("in memory"), b"second");
    assert!(second.file_value().executable);
    assert_eq!(directory.file("c"), None);
}

fn run<P>(
    procedure: &Procedure<P>,
    inputs: Vec<Value>,
    parameters: &[Scalar],
) -> Result<Outputs, OperationError> {
    let Kind::Native(body) = &procedure.operation().kind else {
        panic!("procedures of Rust code are native");
    };
    body.run_owned(inputs, parameters, &mut Context::default())
}

/// Declared in an order that is not that of names.
type Mixed = (
    Out<String>,
    InOut<M>,
    ByValue<i64>,
    In<bool>,
    InList<f64>,
    Out<i64>,
);

fn mixed() -> Procedure<Mixed> {
    procedure("test/mixed", "3")
        .writes::<String>("z")
        .updates::<M>("m")
        .takes::<i64>("times")
        .reads::<bool>("b")
        .reads_list::<f64>("a")
        .writes::<i64>("c")
        .run(|(mut m, times, b, a), _| {
            m.as_mut_slice()
                .iter_mut()
                .for_each(|number| *number *= times as f64);
            Ok((format!("{b} {a:?}"), m, a.len() as i64))
        })
}

#[test]
fn a_body_gets_what_is_read_and_gives_what_is_written_as_declared() {
    let procedure = mixed();
    let signature = &procedure.operation().signature;
    let names = |ports: &[headwater_graph::Port]| -> Vec<String> {
        let words = |port: &headwater_graph::Port| {
            let place = if port.in_place { " in place" } else { "" };
            format!("{}: {}{place}", port.name, port.port_type)
        };
        ports.iter().map(words).collect()
    };
    assert_eq!(
        names(&signature.inputs),
        ["a: list of float", "b: bool", "m: array in place"]
    );
    assert_eq!(names(&signature.outputs), ["c: int", "m: array", "z: text"]);
    assert_eq!(signature.parameters.len(), 1);
    assert!(signature.pure);
    assert_eq!(format!("{procedure:?}"), "Procedure(test/mixed 3)");

    let numbers = Numbers::new(&[2], [1.0, 2.0]).expect("two of them");
    let place = numbers.as_slice().as_ptr();
    let inputs = vec![
        vec![0.5, 1.5].into_value(),
        Value::Bool(true),
        numbers.into_value(),
    ];
    let outputs = run(&procedure, inputs, &[Scalar::Int(3)]).expect("it runs");
    let [count, m, text] = <[Value; 3]>::try_from(outputs).expect("three outputs");
    assert_eq!(count, Value::Int(2));
    assert_eq!(text, Value::Text("true [0.5, 1.5]".into()));
    let m = M::from_value(m).expect("numbers");
    assert_eq!(m.as_slice(), [3.0, 6.0]);
    assert_eq!(m.as_slice().as_ptr(), place, "changed where it lies");
}

#[test]
fn a_body_is_not_given_what_it_does_not_take() {
    let procedure = mixed();
    let wrong = |array: Value, b: Value, times: Scalar| {
        let list = vec![0.5].into_value();
        let error = run(&procedure, vec![list, b, array], &[times]);
        error.expect_err("something is of another type").to_string()
    };
    let m = || Numbers::new(&[1], [1.0]).expect("one of them").into_value();
    assert_eq!(
        wrong(Value::Array(array()), Value::Bool(true), Scalar::Int(1)),
        "input `m`: expected array of f64, found array of u8"
    );
    assert_eq!(
        wrong(m(), Value::Null, Scalar::Int(1)),
        "input `b`: expected bool, found null"
    );
    assert_eq!(
        wrong(m(), Value::Bool(true), Scalar::Text("1".into())),
        "parameter `times`: expected int, found text"
    );
    let list = procedure_of_lists();
    assert_eq!(
        run(&list, vec![vec![Value::Array(array())].into_value()], &[])
            .expect_err("bytes")
            .to_string(),
        "input `all`: expected list of array of f64, found list of array"
    );
}

fn procedure_of_lists() -> Procedure<(InList<M>, Out<i64>)> {
    procedure("test/lists", "1")
        .reads_list::<M>("all")
        .writes::<i64>("count")
        .run(|(all,), _| Ok((all.len() as i64,)))
}

#[test]
fn a_body_fails_with_a_text() {
    let fails = procedure("test/fails", "1")
        .reads::<i64>("n")
        .impure()
        .cores(2)
        .memory(1 << 20)
        .run(|(n,), _| match n {
            0 => Err("nothing to do".into()),
            n => Err(format!("{n} are too many").into()),
        });
    let error = |n| run(&fails, vec![Value::Int(n)], &[]).expect_err("it always fails");
    assert_eq!(error(0), OperationError::Failed("nothing to do".to_owned()));
    assert_eq!(error(3).to_string(), "3 are too many");
    let signature = &fails.operation().signature;
    assert!(!signature.pure);
    assert_eq!(
        (signature.resources.cores(), signature.resources.memory()),
        (2, 1 << 20)
    );
}

#[test]
#[should_panic(expected = "procedure `test/twice` reads two parameters `a`")]
fn two_that_are_read_cannot_have_one_name() {
    procedure("test/twice", "1")
        .reads::<i64>("a")
        .takes::<i64>("a")
        .run(|(_, _), _| Ok(()));
}

#[test]
#[should_panic(expected = "procedure `test/twice` writes two parameters `a`")]
fn two_that_are_written_cannot_have_one_name() {
    procedure("test/twice", "1")
        .writes::<i64>("a")
        .writes::<i64>("a")
        .run(|(), _| Ok((1, 2)));
}

/// An operation that knows nothing of Rust types.
fn operation() -> Arc<Operation> {
    let signature = Signature::new("sky/project", "1")
        .input("image", Type::File)
        .input("header", Type::File)
        .input("weights", Type::Float.list())
        .optional_input("mask", Type::Array)
        .output("projected", Type::File)
        .output("area", Type::File)
        .parameter("scale", ScalarType::Float, None)
        .parameter("rounds", ScalarType::Int, Some(Scalar::Int(1)));
    let body = |_: &[Value], _: &[Scalar], _: &mut Context| Err("it never runs".into());
    Arc::new(Operation::native(signature, body))
}

fn bound<T>(made: Result<T, ProcedureError>) -> String {
    made.map_or_else(|error| error.to_string(), |_| "bound".to_owned())
}

#[test]
fn an_operation_becomes_a_procedure_port_by_port() -> Result<(), ProcedureError> {
    type Project = (In<File>, InOut<File>, InList<f64>, ByValue<i64>);
    let project: Procedure<Project> = Procedure::of(operation())
        .reads("header")?
        .updates_as("image", "projected")?
        .reads_list("weights")?
        .sets("scale", 0.5)?
        .takes("rounds")?
        .done()?;
    let (header, mut image, weights) = (item(0), item(1), [item(2), item(3)]);
    let list = (&header, &mut image, &weights, 4).list(&project);
    assert_eq!(
        words(&list),
        [
            "header ← 0",
            "image ← 1 ← projected",
            "weights ← 2, 3",
            "rounds = 4",
            "scale = 0.5"
        ]
    );
    let twice = project.clone();
    assert!(Arc::ptr_eq(twice.operation(), project.operation()));
    assert_eq!((&header, &mut image, &weights, 4).list(&twice).len(), 5);
    Ok(())
}

#[test]
fn what_does_not_fit_an_operation_is_told() -> Result<(), ProcedureError> {
    let of = || Procedure::of(operation());
    assert_eq!(
        bound(of().reads::<File>("imgae")),
        "operation `sky/project` has no input `imgae`; its inputs are `header`, `image`, `mask` and `weights`"
    );
    assert_eq!(
        bound(of().writes::<File>("image")),
        "operation `sky/project` has no output `image`; its outputs are `area` and `projected`"
    );
    assert_eq!(
        bound(of().takes::<i64>("sigma")),
        "operation `sky/project` has no parameter `sigma`; its parameters are `rounds` and `scale`"
    );
    assert_eq!(
        bound(of().updates::<File>("image")),
        bound(of().writes::<File>("image"))
    );
    assert_eq!(
        bound(of().reads::<M>("image")),
        "input `image` of operation `sky/project` is of type file, not array of f64"
    );
    assert_eq!(
        bound(of().reads_list::<String>("weights")),
        "input `weights` of operation `sky/project` is of type list of float, not list of text"
    );
    assert_eq!(
        bound(of().takes::<f64>("rounds")),
        "parameter `rounds` of operation `sky/project` is of type int, not float"
    );
    assert_eq!(bound(of().takes::<i64>("scale")), "bound");
    assert_eq!(bound(of().reads::<Value>("image")), "bound");
    assert_eq!(
        bound(
            of().reads::<File>("image")?
                .updates_as::<File>("image", "area")
        ),
        "input `image` of operation `sky/project` is bound twice; leave one of them out"
    );
    assert_eq!(
        bound(of().sets("scale", 1.0)?.takes::<f64>("scale")),
        "parameter `scale` of operation `sky/project` is bound twice; leave one of them out"
    );
    let two = of().reads::<File>("image")?.reads::<File>("header")?;
    assert_eq!(
        bound(two.done()),
        "operation `sky/project` needs input `weights`; bind it with `.reads::<…>(\"weights\")`"
    );
    let three = of().reads::<File>("image")?.reads::<File>("header")?;
    assert_eq!(
        bound(three.reads::<Vec<f64>>("weights")?.done()),
        "operation `sky/project` needs parameter `scale`; bind it with `.takes::<…>(\"scale\")`"
    );
    let none = Arc::new(Operation::native(
        Signature::new("nothing", "1").output("only", Type::Int),
        |_: &[Value], _: &[Scalar], _: &mut Context| Ok(vec![Value::Int(1)]),
    ));
    assert_eq!(
        bound(Procedure::of(Arc::clone(&none)).reads::<i64>("n")),
        "operation `nothing` has no input `n`; it has no inputs at all"
    );
    assert_eq!(
        bound(Procedure::of(none).writes::<i64>("n")),
        "operation `nothing` has no output `n`; its only output is `only`"
    );
    Ok(())
}

fn item<T>(id: u32) -> Item<T> {
    Item::new(Reference::new(ItemId(id), &Arc::new(Dropped::default())))
}

/// Arguments in one line each.
fn words(list: &[Argument]) -> Vec<String> {
    let id = |item: &Reference| item.id().0.to_string();
    list.iter()
        .map(|argument| match argument {
            Argument::In { input, item } => format!("{input} ← {}", id(item)),
            Argument::InList { input, items } => {
                let items: Vec<String> = items.iter().map(id).collect();
                format!("{input} ← {}", items.join(", "))
            }
            Argument::Value { input, value } => format!("{input} ← {value:?}"),
            Argument::Parameter { name, value } => format!("{name} = {value}"),
            Argument::Out { output, item } => format!("{} ← {output}", id(item)),
            Argument::InOut {
                input,
                output,
                item,
            } => format!("{input} ← {} ← {output}", id(item)),
        })
        .collect()
}

#[test]
fn arguments_get_the_names_of_their_parameters() {
    let procedure = mixed();
    let (mut text, mut m, b, all) = (item(0), item(1), item(2), vec![item(3), item(4)]);
    let mut count = item(5);
    let list = (&mut text, &mut m, 3, &b, &all, &mut count).list(&procedure);
    assert_eq!(
        words(&list),
        [
            "0 ← z",
            "m ← 1 ← m",
            "times = 3",
            "b ← 2",
            "a ← 3, 4",
            "5 ← c"
        ]
    );
    let list = (&mut text, &mut m, 3, true, &all[..1], &mut count).list(&procedure);
    assert_eq!(words(&list)[3..5], ["b ← Bool(true)", "a ← 3"]);

    let greet = procedure_of_texts();
    let list = ("hello", "world", &mut text).list(&greet);
    assert_eq!(
        words(&list),
        ["greeting ← Text(\"hello\")", "name = world", "0 ← all"]
    );
    let list = (&text.clone(), "world".to_owned(), &mut text).list(&greet);
    assert_eq!(words(&list), ["greeting ← 0", "name = world", "0 ← all"]);

    let sum = super::procedure("test/sum", "1")
        .reads::<M>("m")
        .writes::<f64>("sum")
        .run(|(m,), _| Ok((m.as_slice().iter().sum::<f64>(),)));
    let mut total: Item<f64> = item(6);
    let m = Numbers::new(&[1], [1.0]).expect("one of them");
    assert_eq!(words(&(Plain(m), &mut total).list(&sum))[1], "6 ← sum");

    let nothing = super::procedure("test/nothing", "1")
        .impure()
        .run(|(), _| Ok(()));
    assert!(().list(&nothing).is_empty());
}

fn procedure_of_texts() -> Procedure<(In<String>, ByValue<String>, Out<String>)> {
    procedure("test/greet", "1")
        .reads::<String>("greeting")
        .takes::<String>("name")
        .writes::<String>("all")
        .run(|(greeting, name), _| Ok((format!("{greeting} {name}"),)))
}

#[test]
fn twelve_parameters_are_not_too_many() {
    let many = procedure("test/many", "1")
        .takes::<i64>("a")
        .takes::<i64>("b")
        .takes::<i64>("c")
        .takes::<i64>("d")
        .takes::<i64>("e")
        .takes::<i64>("f")
        .takes::<i64>("g")
        .takes::<i64>("h")
        .takes::<i64>("i")
        .takes::<i64>("j")
        .takes::<i64>("k")
        .writes::<i64>("sum")
        .run(|(a, b, c, d, e, f, g, h, i, j, k), _| {
            Ok((a + b + c + d + e + f + g + h + i + j + k,))
        });
    let mut sum = item(0);
    let list = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, &mut sum).list(&many);
    assert_eq!(
        words(&list).join(" "),
        "a = 1 b = 2 c = 3 d = 4 e = 5 f = 6 g = 7 h = 8 i = 9 j = 10 k = 11 0 ← sum"
    );
    let parameters: Vec<Scalar> = (1..12).map(Scalar::Int).collect();
    assert_eq!(
        run(&many, Vec::new(), &parameters),
        Ok(vec![Value::Int(66)])
    );
}

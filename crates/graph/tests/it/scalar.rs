//! Scalars and types: coercion, text, nesting.

use std::sync::Arc;

use headwater_graph::{Array, ElementType, Scalar, ScalarType, Type, Value, decode, encode};
use proptest::prelude::*;

#[test]
fn coercion_loses_nothing() {
    let check = |given: Scalar, wanted: ScalarType, truncate: bool, expected: Option<Scalar>| {
        assert_eq!(
            given.coerce(wanted, truncate),
            expected,
            "{given:?} as {wanted}"
        );
    };
    use Scalar::{Bool, Float, Int, Text};
    check(Int(3), ScalarType::Float, false, Some(Float(3.0)));
    check(Int((1 << 53) + 1), ScalarType::Float, false, None);
    check(Int(i64::MAX), ScalarType::Float, false, None);
    check(
        Int(i64::MIN),
        ScalarType::Float,
        false,
        Some(Float(-(2f64.powi(63)))),
    );
    check(Float(3.0), ScalarType::Int, false, Some(Int(3)));
    check(Float(3.5), ScalarType::Int, false, None);
    check(Float(3.9), ScalarType::Int, true, Some(Int(3)));
    check(Float(-3.9), ScalarType::Int, true, Some(Int(-3)));
    check(Float(1e300), ScalarType::Int, true, None);
    check(Float(f64::NAN), ScalarType::Int, true, None);
    check(Float(f64::NAN), ScalarType::Float, false, None);
    check(Float(f64::INFINITY), ScalarType::Float, false, None);
    check(Bool(true), ScalarType::Int, true, None);
    check(Text("3".into()), ScalarType::Int, true, None);
    check(Int(3), ScalarType::Text, true, None);
    check(
        Text("x".into()),
        ScalarType::Text,
        false,
        Some(Text("x".into())),
    );
}

#[test]
fn minus_zero_becomes_zero() {
    let Some(Scalar::Float(zero)) = Scalar::Float(-0.0).coerce(ScalarType::Float, false) else {
        panic!()
    };
    assert_eq!(zero.to_bits(), 0);
    assert_eq!(
        format!("{:?}", Scalar::parse("-0.0", ScalarType::Float)),
        "Some(Float(0.0))"
    );
    assert_eq!(Scalar::Float(-0.0).plain().to_string(), "0.0");
    assert_eq!(Scalar::Text("-0.0".into()).plain().to_string(), "-0.0");
}

/// Whoever reads a value now gets what those get who read it from a store.
#[test]
fn a_plain_value_is_the_one_that_is_encoded() {
    let list = |items: &[Value]| Value::List(items.into());
    let record = |value: Value| Value::Record(Arc::new([("a".into(), value)].into()));
    let nan = f64::from_bits(0xfff8_0000_0000_0001);
    for number in [-0.0, 0.0, nan, -1.5, f64::INFINITY] {
        for value in [
            Value::Float(number),
            list(&[Value::Int(1), Value::Float(number)]),
            list(&[list(&[Value::Float(number)])]),
            record(Value::Float(number)),
            list(&[record(list(&[Value::Float(number), Value::Null]))]),
        ] {
            let bits = |value: &Value| {
                let mut bits = Vec::new();
                floats(value, &mut bits);
                bits
            };
            let plain = value.clone().plain();
            let decoded = decode(&encode(&value)).unwrap();
            assert_eq!(bits(&plain), bits(&decoded), "{value:?}");
        }
    }
    // In arrays all bits stay.
    let bytes = (-0.0_f64).to_le_bytes();
    let array = Array::new(ElementType::F64, &[1], &bytes).unwrap();
    let Value::Array(plain) = Value::Array(array).plain() else {
        panic!()
    };
    assert_eq!(plain.bytes(), bytes);
}

fn floats(value: &Value, bits: &mut Vec<u64>) {
    match value {
        Value::Float(number) => bits.push(number.to_bits()),
        Value::List(items) => items.iter().for_each(|item| floats(item, bits)),
        Value::Record(fields) => fields.values().for_each(|field| floats(field, bits)),
        _ => {}
    }
}

#[test]
fn what_people_type() {
    let check = |text: &str, wanted: ScalarType, expected: Option<Scalar>| {
        assert_eq!(Scalar::parse(text, wanted), expected, "{text} as {wanted}");
    };
    check("true", ScalarType::Bool, Some(Scalar::Bool(true)));
    check("yes", ScalarType::Bool, None);
    check("-12", ScalarType::Int, Some(Scalar::Int(-12)));
    check("1.5", ScalarType::Int, None);
    check("1e3", ScalarType::Float, Some(Scalar::Float(1000.0)));
    check("NaN", ScalarType::Float, None);
    check("inf", ScalarType::Float, None);
    check(" a ", ScalarType::Text, Some(Scalar::Text(" a ".into())));
}

#[test]
fn types_have_names() {
    for name in Type::NAMES {
        let parsed: Type = name.parse().unwrap();
        assert_eq!(parsed.to_string(), name);
        assert!(!matches!(parsed, Type::Opaque(_)), "{name}");
    }
    assert_eq!("list of list of int".parse(), Ok(Type::Int.list().list()));
    assert_eq!("mesh".parse(), Ok(Type::Opaque("mesh".into())));
    // Deep enough to exhaust the stack, were it taken at its word.
    let deep = "list of ".repeat(200_000) + "int";
    assert!(matches!(deep.parse(), Ok(Type::Opaque(_))));
}

#[test]
fn what_a_port_accepts() {
    let check = |port: &str, given: &str, expected: bool| {
        let (port, given): (Type, Type) = (port.parse().unwrap(), given.parse().unwrap());
        assert_eq!(port.accepts(&given), expected, "{port} from {given}");
    };
    check("any", "image", true);
    check("image", "any", true);
    check("float", "int", true);
    check("int", "float", false);
    check("list of float", "list of int", true);
    check("list of int", "int", false);
    check("mesh", "mesh", true);
    check("mesh", "image", false);
}

proptest! {
    /// The text of a float reads back as the same number; there is one zero.
    #[test]
    fn floats_read_back(number in any::<f64>().prop_filter("finite", |number| number.is_finite())) {
        let text = Scalar::Float(number).to_string();
        let Some(Scalar::Float(back)) = Scalar::parse(&text, ScalarType::Float) else { panic!("{text}") };
        prop_assert_eq!(back.to_bits(), (number + 0.0).to_bits());
    }

    #[test]
    fn coercion_is_idempotent(number in any::<f64>(), whole in any::<i64>(), truncate in any::<bool>()) {
        for given in [Scalar::Float(number), Scalar::Int(whole)] {
            for wanted in [ScalarType::Int, ScalarType::Float] {
                if let Some(coerced) = given.coerce(wanted, truncate) {
                    prop_assert_eq!(coerced.scalar_type(), wanted);
                    prop_assert_eq!(coerced.coerce(wanted, truncate), Some(coerced));
                }
            }
        }
    }
}

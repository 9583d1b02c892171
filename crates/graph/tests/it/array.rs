//! Arrays that are changed, and arrays as slices of numbers.

use headwater_graph::{
    Array, Context, Element, ElementType, Image, Kind, Operation, OperationError, Scalar,
    Signature, Type, Value,
};
use proptest::prelude::*;
use std::sync::Arc;

fn numbers(array: &Array) -> Vec<f64> {
    let found = array.bytes().chunks_exact(8);
    found
        .map(|bytes| f64::from_le_bytes(bytes.try_into().expect("eight of them")))
        .collect()
}

#[test]
fn an_array_that_nobody_else_has_is_changed_where_it_lies() {
    let mut array = Array::of_elements(&[3], &[1.0, 2.0, 3.0]).expect("three of them");
    let place = array.bytes().as_ptr();
    assert!(array.is_alone());
    array.elements_mut::<f64>().expect("floats")[1] = 5.0;
    assert_eq!(array.bytes().as_ptr(), place);
    assert_eq!(numbers(&array), [1.0, 5.0, 3.0]);
}

#[test]
fn an_array_that_others_have_is_copied_before_it_is_changed() {
    let first = Array::of_elements(&[3], &[1.0, 2.0, 3.0]).expect("three of them");
    let mut second = first.clone();
    assert!(!first.is_alone() && !second.is_alone());
    second.bytes_mut()[..8].copy_from_slice(&9.0_f64.to_le_bytes());
    assert_eq!(numbers(&first), [1.0, 2.0, 3.0]);
    assert_eq!(numbers(&second), [9.0, 2.0, 3.0]);
    assert!(first.is_alone() && second.is_alone());
    assert_eq!(second.shape(), [3]);

    let mut third = first.clone();
    let place = third.bytes().as_ptr();
    drop(first);
    assert!(third.is_alone());
    third.elements_mut::<f64>().expect("floats")[0] = 4.0;
    assert_eq!(
        third.bytes().as_ptr(),
        place,
        "the last one keeps the bytes"
    );
}

/// What somebody else owns is read where it lies, and never changed.
#[test]
fn an_array_of_another_owner_lies_where_that_has_it() {
    let mine = vec![1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0];
    let place = mine.as_ptr().addr();
    let array = Array::of_vec(&[2, 3], mine).expect("six of them");
    assert_eq!(array.bytes().as_ptr().addr(), place);
    assert_eq!(
        array,
        Array::of_elements(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("six")
    );
    assert!(!array.is_alone());

    let mut changed = array.clone();
    changed.elements_mut::<f64>().expect("floats")[0] = 9.0;
    assert_eq!((numbers(&array)[0], numbers(&changed)[0]), (1.0, 9.0));
    assert_eq!(changed.bytes().as_ptr().addr() % 64, 0);
    assert!(changed.is_alone());
    let copied = changed.bytes().as_ptr();
    changed.bytes_mut()[0] = 1;
    assert_eq!(changed.bytes().as_ptr(), copied, "it is copied once");

    assert!(Array::of_vec(&[7], vec![1_u8; 6]).is_none());
    assert!(Array::of_vec(&[u64::MAX, 2], Vec::<u8>::new()).is_none());
    let nothing = Array::of_vec(&[0, 3], Vec::<f32>::new()).expect("none of them");
    assert_eq!(nothing.elements::<f32>(), Some(&[][..]));
}

/// An owner is kept as long as somebody has its array, and numbers that do not lie as numbers do are refused.
#[test]
fn an_owner_is_kept_as_long_as_its_array() {
    struct Part(Vec<u64>, usize);
    impl AsRef<[u8]> for Part {
        fn as_ref(&self) -> &[u8] {
            let bytes: &[u8] = bytemuck::cast_slice(&self.0);
            &bytes[self.1..self.1 + 16]
        }
    }
    let owner = Arc::new(Part(vec![1, 2, 3], 8));
    let array = Array::owned_by(ElementType::U64, &[2], owner.clone()).expect("two of them");
    assert_eq!(array.elements::<u64>(), Some(&[2, 3][..]));
    let other = array.clone();
    drop(array);
    assert_eq!(Arc::strong_count(&owner), 2);
    drop(other);
    assert_eq!(Arc::strong_count(&owner), 1);

    let crooked = Arc::new(Part(vec![1, 2, 3], 4));
    assert!(Array::owned_by(ElementType::U64, &[2], crooked.clone()).is_none());
    assert!(Array::owned_by(ElementType::U32, &[4], crooked).is_some());
}

#[test]
fn the_array_of_an_image_is_changed_where_it_lies_too() {
    let array = Array::of_elements(&[1, 2, 1], &[1_u8, 2]).expect("two of them");
    let mut alone = Arc::new(Image {
        array,
        channels: "grey".into(),
    });
    let place = alone.array.bytes().as_ptr();
    Arc::make_mut(&mut alone).array.bytes_mut()[0] = 7;
    assert_eq!(alone.array.bytes(), [7, 2]);
    assert_eq!(alone.array.bytes().as_ptr(), place);
    let other = Arc::clone(&alone);
    Arc::make_mut(&mut alone).array.bytes_mut()[0] = 8;
    assert_eq!(
        (other.array.bytes(), alone.array.bytes()),
        (&[7, 2][..], &[8, 2][..])
    );
}

#[test]
fn numbers_are_seen_as_the_type_that_they_have_and_no_other() {
    let mut array = Array::of_elements(&[2, 2], &[-1_i16, 2, 300, -4]).expect("four of them");
    assert_eq!(array.element_type(), ElementType::I16);
    assert_eq!(array.elements::<i16>(), Some(&[-1, 2, 300, -4][..]));
    assert_eq!(array.elements::<u16>(), None);
    let other = array.clone();
    assert_eq!(array.elements_mut::<u8>(), None);
    assert!(!other.is_alone(), "what is refused copies nothing");
    assert_eq!(Array::of_elements(&[2, 2], &[1_i16, 2, 3]), None);
    assert_eq!(Array::of_elements(&[u64::MAX, 8], &[1_u8]), None);
    let built = Array::build_elements::<u32>(&[3], |elements| {
        assert_eq!(elements, [0, 0, 0]);
        elements.copy_from_slice(&[1, 2, 3]);
    });
    assert_eq!(built, Array::of_elements(&[3], &[1_u32, 2, 3]));
    let too_large = Array::build_elements::<f64>(&[u64::MAX, 2], |_| unreachable!());
    assert_eq!(too_large, None);
    let empty = Array::of_elements::<f64>(&[0, 4], &[]).expect("none of them");
    assert_eq!(empty.elements::<f64>(), Some(&[][..]));
}

/// Goes there and back for one type.
fn round_trip<E: Element + PartialEq + std::fmt::Debug>(numbers: &[E]) {
    let shape = [numbers.len() as u64];
    let mut array = Array::of_elements(&shape, numbers).expect("as many as it says");
    assert_eq!(array.element_type(), E::ELEMENT_TYPE);
    assert_eq!(E::ELEMENT_TYPE.size(), size_of::<E>());
    assert_eq!(array.elements::<E>(), Some(numbers));
    let other = array.clone();
    let changed = array.elements_mut::<E>().expect("its own type");
    changed.reverse();
    assert_eq!(changed.as_ptr().addr() % 64, 0);
    assert_eq!(array.bytes().as_ptr().addr() % 64, 0);
    let reversed: Vec<E> = numbers.iter().rev().copied().collect();
    assert_eq!(array.elements::<E>(), Some(&reversed[..]));
    assert_eq!(other.elements::<E>(), Some(numbers));
}

#[test]
fn every_type_of_number_goes_there_and_back() {
    round_trip::<u8>(&[0, 1, u8::MAX]);
    round_trip::<u16>(&[0, 1, u16::MAX]);
    round_trip::<u32>(&[0, 1, u32::MAX]);
    round_trip::<u64>(&[0, 1, u64::MAX]);
    round_trip::<i8>(&[i8::MIN, -1, i8::MAX]);
    round_trip::<i16>(&[i16::MIN, -1, i16::MAX]);
    round_trip::<i32>(&[i32::MIN, -1, i32::MAX]);
    round_trip::<i64>(&[i64::MIN, -1, i64::MAX]);
    round_trip::<f32>(&[-0.5, f32::MIN_POSITIVE, f32::INFINITY]);
    round_trip::<f64>(&[-0.5, f64::MIN_POSITIVE, f64::INFINITY]);
}

proptest! {
    #[test]
    fn copies_are_aligned_and_nobody_sees_a_change_of_another(
        bytes in proptest::collection::vec(any::<u8>(), 1..300),
        changes in proptest::collection::vec((0..4_usize, any::<proptest::sample::Index>(), any::<u8>()), 0..20),
    ) {
        let array = Array::of_elements(&[bytes.len() as u64], &bytes).expect("as many as it says");
        let mut arrays = vec![array; 4];
        let mut models = vec![bytes; 4];
        for (which, place, byte) in changes {
            let place = place.index(models[which].len());
            models[which][place] = byte;
            arrays[which].bytes_mut()[place] = byte;
            for (array, model) in arrays.iter().zip(&models) {
                prop_assert_eq!(array.bytes(), &model[..]);
                prop_assert_eq!(array.bytes().as_ptr().addr() % 64, 0);
            }
        }
    }
}

/// Adds one to every number of what it is given.
fn increment() -> Operation {
    let signature = Signature::new("increment", "1")
        .input("array", Type::Array)
        .input("other", Type::Array)
        .output("array", Type::Array)
        .in_place("array")
        .in_place("nothing of this name");
    Operation::native_owned(signature, |inputs, _: &[Scalar], _: &mut Context| {
        let Some(Value::Array(mut array)) = inputs.into_iter().next() else {
            return Err(OperationError::Failed("no array".to_owned()));
        };
        let numbers = array.elements_mut::<f64>();
        numbers
            .into_iter()
            .flatten()
            .for_each(|number| *number += 1.0);
        Ok(vec![Value::Array(array)])
    })
}

#[test]
fn a_body_that_owns_its_inputs_changes_what_nobody_else_has() {
    let operation = increment();
    let in_place: Vec<bool> = operation
        .signature
        .inputs
        .iter()
        .map(|port| port.in_place)
        .collect();
    assert_eq!(in_place, [true, false]);
    let Kind::Native(body) = &operation.kind else {
        panic!("it is native");
    };
    let array = Array::of_elements(&[2], &[1.0, 2.0]).expect("two of them");
    let place = array.bytes().as_ptr();
    let inputs = vec![Value::Array(array), Value::Null];
    let mut context = Context::default();

    let lent = body.run(&inputs, &[], &mut context).expect("it runs");
    let [Value::Array(lent)] = &lent[..] else {
        panic!("one array");
    };
    assert_eq!(numbers(lent), [2.0, 3.0]);
    assert_ne!(lent.bytes().as_ptr(), place);
    assert_eq!(
        inputs[0],
        Value::Array(Array::of_elements(&[2], &[1.0, 2.0]).expect("two of them"))
    );

    let owned = body.run_owned(inputs, &[], &mut context).expect("it runs");
    let [Value::Array(owned)] = &owned[..] else {
        panic!("one array");
    };
    assert_eq!(numbers(owned), [2.0, 3.0]);
    assert_eq!(owned.bytes().as_ptr(), place);
}

#[test]
fn a_body_that_borrows_its_inputs_may_be_given_them() {
    let signature = Signature::new("first", "1")
        .input("value", Type::Any)
        .output("value", Type::Any);
    let body = |inputs: &[Value], _: &[Scalar], _: &mut Context| Ok(vec![inputs[0].clone()]);
    let operation = Operation::native(signature, body);
    let Kind::Native(body) = &operation.kind else {
        panic!("it is native");
    };
    let given = body.run_owned(vec![Value::Int(4)], &[], &mut Context::default());
    assert_eq!(given, Ok(vec![Value::Int(4)]));
}

//! Operations that nobody wrote down: decoding a file, picking an item of a list.
//!
//! Law: tasks of these are pure, quick, not counted and not remembered.

use std::sync::Arc;

use crate::{
    Codec, Context, Decode, Kind, Operation, OperationError, Scalar, ScalarType, Signature, Type,
    Value,
};

/// The operation that picks one item of a list.
pub fn item_operation() -> Operation {
    let mut signature = Signature::new("headwater/item", "1")
        .input("list", Type::Any.list())
        .output("item", Type::Any)
        .parameter("position", ScalarType::Int, None);
    signature.implicit = true;
    Operation::native(
        signature,
        |inputs: &[Value], parameters: &[Scalar], _: &mut Context| {
            let (Some(Value::List(items)), Some(Scalar::Int(position))) =
                (inputs.first(), parameters.first())
            else {
                return Err(OperationError::Failed("not a list".to_owned()));
            };
            let item = usize::try_from(*position)
                .ok()
                .and_then(|position| items.get(position));
            item.map(|item| vec![item.clone()])
                .ok_or_else(|| OperationError::Failed(format!("the list has no item {position}")))
        },
    )
}

/// The operation that decodes a file.
pub fn decoder(codec: &Codec) -> Operation {
    let signature = codec.read_signature();
    let decode = Arc::clone(&codec.decode);
    let run = move |inputs: &[Value], _: &[Scalar], context: &mut Context| {
        let given = inputs.first().unwrap_or(&Value::Null);
        Ok(vec![decoded(given, &*decode, context)?])
    };
    Operation {
        signature,
        kind: Kind::Native(Arc::new(run)),
    }
}

/// Whether a value is what a file of its kind is read to: a program that has an image gives it as it is.
pub fn is_read(value: &Value) -> bool {
    match value {
        Value::List(items) => !items.is_empty() && items.iter().all(is_read),
        other => matches!(
            other,
            Value::Array(_) | Value::Image(_) | Value::Region(_) | Value::Opaque(_)
        ),
    }
}

/// What is in a file, or in each of a list of files.
fn decoded(given: &Value, decode: &Decode, context: &Context) -> Result<Value, OperationError> {
    if let Value::List(items) = given {
        let items = items.iter().map(|item| decoded(item, decode, context));
        return Ok(Value::List(items.collect::<Result<_, _>>()?));
    }
    if is_read(given) {
        return Ok(given.clone());
    }
    let bytes = context.read(given)?;
    decode(&bytes).map_err(|error| match (error, given) {
        (OperationError::Cancelled, _) => OperationError::Cancelled,
        (error, Value::File(file)) => match file.handle.path() {
            Some(path) => OperationError::Failed(format!("{}: {error}", path.display())),
            None => error,
        },
        (error, _) => error,
    })
}

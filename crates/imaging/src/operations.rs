//! The kernels as operations of a workflow: names, ports, parameters, and what a file of an image type is.
//!
//! Law: an operation gives what the function of the same name gives, and leaves its inputs as they are; a status other
//! than 0 that comes in goes out, with empty images beside it. A change of what an operation gives is a change of its
//! version: a test holds a digest of what each gives for one image.
//!
//! What an operation needs while it runs, besides what it reads and makes, is said in its signature: as measured on
//! tissue, with a little to spare; a test counts it again. A limit on memory is kept by that.
//!
//! `values` turns values of the engine into views and back; `segmentation` has normalization, the split and the
//! seven tasks, `results` what is made of masks, `slides` what is made of images too large to be read at once.

mod results;
mod segmentation;
mod slides;
mod values;

use std::sync::Arc;

use headwater_graph::{
    Codec, Context, Operation, OperationError, Registry, RegistryError, Scalar, ScalarType,
    Signature, Type, Value,
};

pub use values::{colour_value, grey_value};

/// The name of the library: its operations are called `imaging/…`.
pub const LIBRARY: &str = "imaging";

/// Adds the operations and the codec for images.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    for operation in operations() {
        registry.register(Some(LIBRARY), operation)?;
    }
    registry.register_codec(Codec {
        library: LIBRARY.into(),
        version: "1".into(),
        value_type: Type::Image,
        extensions: ["png", "jpg", "jpeg", "tif", "tiff", "svs"]
            .map(Arc::from)
            .to_vec(),
        decode: Arc::new(values::decode),
        encode: Arc::new(values::encode),
    })
}

/// All operations, without the name of the library.
pub fn operations() -> Vec<Operation> {
    let mut all = segmentation::operations();
    all.extend(results::operations());
    all.extend(slides::operations());
    all
}

/// What an operation is called with, by name.
struct Call<'a> {
    signature: &'a Signature,
    inputs: &'a [Value],
    parameters: &'a [Scalar],
    context: &'a mut Context,
}

/// What an operation gives, by name.
type Given = Vec<(&'static str, Value)>;

impl<'a> Call<'a> {
    /// An input; null where it is not bound.
    fn input(&self, name: &str) -> &'a Value {
        let place = self.signature.input_index(name);
        place
            .and_then(|place| self.inputs.get(place))
            .unwrap_or(&Value::Null)
    }

    fn parameter(&self, name: &str) -> Option<&'a Scalar> {
        self.parameters.get(self.signature.parameter_index(name)?)
    }

    /// An integer parameter.
    fn int(&self, name: &str) -> Result<i64, OperationError> {
        match self.parameter(name) {
            Some(Scalar::Int(value)) => Ok(*value),
            other => Err(wrong_parameter(name, "an integer", other)),
        }
    }

    /// A real parameter.
    fn float(&self, name: &str) -> Result<f64, OperationError> {
        match self.parameter(name) {
            Some(Scalar::Float(value)) => Ok(*value),
            other => Err(wrong_parameter(name, "a number", other)),
        }
    }

    /// A switch.
    fn bool(&self, name: &str) -> Result<bool, OperationError> {
        match self.parameter(name) {
            Some(Scalar::Bool(value)) => Ok(*value),
            other => Err(wrong_parameter(name, "true or false", other)),
        }
    }
}

fn wrong_parameter(name: &str, expected: &str, found: Option<&Scalar>) -> OperationError {
    OperationError::Parameter {
        parameter: name.to_owned(),
        message: format!("expected {expected}, found {found:?}"),
    }
}

/// An operation of a signature and a body.
fn operation(
    signature: Signature,
    body: impl Fn(&mut Call<'_>) -> Result<Given, OperationError> + Send + Sync + 'static,
) -> Operation {
    let own = signature.clone();
    Operation::native(
        signature,
        move |inputs: &[Value], parameters: &[Scalar], context: &mut Context| {
            if context.cancel.is_cancelled() {
                return Err(OperationError::Cancelled);
            }
            let mut given = body(&mut Call {
                signature: &own,
                inputs,
                parameters,
                context,
            })?;
            let mut take = |name: &str| {
                let place = given.iter().position(|(given, _)| *given == name);
                place.map(|place| given.swap_remove(place).1)
            };
            let outputs = own.outputs.iter().map(|port| {
                take(&port.name)
                    .ok_or_else(|| OperationError::Failed(format!("gave no `{}`", port.name)))
            });
            outputs.collect()
        },
    )
}

/// A signature with integer parameters added, which take reals by truncation.
fn integers(mut signature: Signature, parameters: &[(&str, i64)]) -> Signature {
    for (name, default) in parameters {
        let default = Some(Scalar::Int(*default));
        signature = signature
            .parameter(name, ScalarType::Int, default)
            .truncating(name);
    }
    signature
}

/// A signature with real parameters added.
fn reals(mut signature: Signature, parameters: &[(&str, f64)]) -> Signature {
    for (name, default) in parameters {
        signature = signature.parameter(name, ScalarType::Float, Some(Scalar::Float(*default)));
    }
    signature
}

/// The number that people write for a single-precision one: its shortest decimals.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

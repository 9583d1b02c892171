//! Arrays whose numbers the compiler knows.
//!
//! Law: the array has elements of the type `E`, and as many as its shape says.

use std::fmt;
use std::marker::PhantomData;

use headwater_graph::{Array, Element, OperationError, Type, Value};

use super::Datum;

/// An [`Array`] of `E`: of `f64`, `i32` and their like. One of `f32` does not fit where one of `f64` is wanted.
pub struct Numbers<E> {
    array: Array,
    elements: PhantomData<fn() -> E>,
}

/// Numbers that do not fit a shape, or a shape that does not fit into memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// More or fewer numbers than there is room for.
    #[error("{given} numbers do not fill the shape {shape:?}")]
    Count {
        /// The shape.
        shape: Vec<u64>,
        /// The numbers that there are.
        given: usize,
    },
    /// More numbers than memory can hold.
    #[error("the shape {shape:?} is larger than memory")]
    Large {
        /// The shape.
        shape: Vec<u64>,
    },
}

impl From<ShapeError> for OperationError {
    fn from(error: ShapeError) -> OperationError {
        OperationError::Failed(error.to_string())
    }
}

impl<E: Element> Numbers<E> {
    /// These numbers, in C order.
    pub fn new(shape: &[u64], numbers: impl AsRef<[E]>) -> Result<Numbers<E>, ShapeError> {
        let numbers = numbers.as_ref();
        let array = Array::of_elements(shape, numbers).ok_or_else(|| ShapeError::Count {
            shape: shape.to_vec(),
            given: numbers.len(),
        })?;
        Ok(Numbers::of(array))
    }

    /// Numbers that `fill` writes where they stay: no copy is made of them. They are zero before.
    pub fn build(shape: &[u64], fill: impl FnOnce(&mut [E])) -> Result<Numbers<E>, ShapeError> {
        let array = Array::build_elements(shape, fill).ok_or_else(|| ShapeError::Large {
            shape: shape.to_vec(),
        })?;
        Ok(Numbers::of(array))
    }

    fn of(array: Array) -> Numbers<E> {
        Numbers {
            array,
            elements: PhantomData,
        }
    }

    /// Its extents.
    pub fn shape(&self) -> &[u64] {
        self.array.shape()
    }

    /// The numbers, in C order.
    pub fn as_slice(&self) -> &[E] {
        // They are of this type, by the law of this module.
        self.array.elements().unwrap_or_default()
    }

    /// The numbers, to be changed. They are copied first if somebody else has them, too: nobody sees the change.
    pub fn as_mut_slice(&mut self) -> &mut [E] {
        self.array.elements_mut().unwrap_or_default()
    }

    /// Whether nobody else has the numbers: then [`as_mut_slice`](Self::as_mut_slice) makes no copy.
    pub fn is_alone(&self) -> bool {
        self.array.is_alone()
    }

    /// The array, for those who do not know its type.
    pub fn into_array(self) -> Array {
        self.array
    }
}

/// An array of another type is given back.
impl<E: Element> TryFrom<Array> for Numbers<E> {
    type Error = Array;

    fn try_from(array: Array) -> Result<Numbers<E>, Array> {
        match array.elements::<E>() {
            Some(_) => Ok(Numbers::of(array)),
            None => Err(array),
        }
    }
}

impl<E> Clone for Numbers<E> {
    fn clone(&self) -> Numbers<E> {
        Numbers {
            array: self.array.clone(),
            elements: PhantomData,
        }
    }
}

/// Bit for bit: 0.0 and −0.0 differ, and a NaN equals itself.
impl<E> PartialEq for Numbers<E> {
    fn eq(&self, other: &Numbers<E>) -> bool {
        self.array == other.array
    }
}

/// So many numbers are shown.
const SHOWN: usize = 12;

/// The shape, and the first numbers.
impl<E: Element + fmt::Debug> fmt::Debug for Numbers<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (element_type, shape) = (self.array.element_type(), self.array.shape());
        let all = self.as_slice();
        write!(f, "Numbers({element_type:?}, {shape:?}) ")?;
        let shown = &all[..all.len().min(SHOWN)];
        match all.len() - shown.len() {
            0 => write!(f, "{shown:?}"),
            more => write!(f, "{shown:?} and {more} more"),
        }
    }
}

impl<E: Element> Datum for Numbers<E> {
    fn datum_type() -> Type {
        Type::Array
    }

    fn into_value(self) -> Value {
        Value::Array(self.array)
    }

    fn from_value(value: Value) -> Result<Numbers<E>, Value> {
        match value {
            Value::Array(array) => Numbers::try_from(array).map_err(Value::Array),
            other => Err(other),
        }
    }

    fn type_name() -> String {
        format!("array of {}", crate::datum::element_name(E::ELEMENT_TYPE))
    }
}

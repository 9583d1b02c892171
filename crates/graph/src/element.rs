//! Arrays as slices of the numbers that they are made of.
//!
//! Law: a slice of numbers is the bytes of the array themselves, never a copy. Arrays are little-endian; on a machine
//! that is not, numbers of more than one byte cannot be seen like that, and every function here says `None`. Then, and
//! when the type is another one, whoever asks goes by [`Array::bytes`].

use std::sync::Arc;

use crate::{Array, ElementType};

mod sealed {
    /// A number that is its bytes.
    pub trait Number: bytemuck::Pod + Send + Sync {}
}

/// A number that arrays are made of: `u8` to `u64`, `i8` to `i64`, `f32` and `f64`.
pub trait Element: sealed::Number {
    /// What it is called in an array.
    const ELEMENT_TYPE: ElementType;
}

macro_rules! elements {
    ($($number:ty: $name:ident),*) => {
        $(
            impl sealed::Number for $number {}

            impl Element for $number {
                const ELEMENT_TYPE: ElementType = ElementType::$name;
            }
        )*
    };
}

elements!(u8: U8, u16: U16, u32: U32, u64: U64, i8: I8, i16: I16, i32: I32, i64: I64, f32: F32, f64: F64);

/// Whether such numbers lie in an array as they do in this machine.
const fn lies_the_same<E: Element>() -> bool {
    cfg!(target_endian = "little") || size_of::<E>() == 1
}

/// Owns numbers, and gives their bytes.
struct Numbers<E>(Vec<E>);

impl<E: Element> AsRef<[u8]> for Numbers<E> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl Array {
    /// Whether its bytes are such numbers, for this machine.
    fn has_elements<E: Element>(&self) -> bool {
        lies_the_same::<E>() && self.element_type() == E::ELEMENT_TYPE
    }

    /// Its numbers, in C order; `None` when they are of another type.
    pub fn elements<E: Element>(&self) -> Option<&[E]> {
        if !self.has_elements::<E>() {
            return None;
        }
        bytemuck::try_cast_slice(self.bytes()).ok()
    }

    /// Its numbers, to be changed; `None` when they are of another type. If others have them, too, they are copied
    /// first, see [`bytes_mut`](Self::bytes_mut).
    pub fn elements_mut<E: Element>(&mut self) -> Option<&mut [E]> {
        if !self.has_elements::<E>() {
            return None;
        }
        bytemuck::try_cast_slice_mut(self.bytes_mut()).ok()
    }

    /// An array of these numbers; `None` when there are more or fewer than the shape asks for.
    pub fn of_elements<E: Element>(shape: &[u64], elements: &[E]) -> Option<Array> {
        if !lies_the_same::<E>() {
            return None;
        }
        Array::new(E::ELEMENT_TYPE, shape, bytemuck::cast_slice(elements))
    }

    /// An array of the numbers of a vector, where they lie: no copy is made. `None` when there are more or fewer than the
    /// shape asks for.
    pub fn of_vec<E: Element>(shape: &[u64], elements: Vec<E>) -> Option<Array> {
        if !lies_the_same::<E>() {
            return None;
        }
        Array::owned_by(E::ELEMENT_TYPE, shape, Arc::new(Numbers(elements)))
    }

    /// An array whose numbers `fill` writes where they stay; they are zero before. `None`, without a call, when the
    /// shape is larger than memory can be. See [`build`](Self::build).
    pub fn build_elements<E: Element>(shape: &[u64], fill: impl FnOnce(&mut [E])) -> Option<Array> {
        if !lies_the_same::<E>() {
            return None;
        }
        // The bytes are aligned for every number, and as many as whole numbers have.
        Array::build(E::ELEMENT_TYPE, shape, |bytes| {
            fill(bytemuck::cast_slice_mut(bytes));
        })
    }
}

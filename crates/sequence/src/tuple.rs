//! Tuples of up to twelve: growing them by one, and filling them with data.
//!
//! Law: positions are those of the tuple. Values go in and come out in its order.

use headwater_graph::Value;

use super::Datum;
use crate::datum::name_of;

/// Calls a macro with names and positions for tuples of 1 to 12: two names for each place, where one tuple goes with
/// another.
macro_rules! for_tuples {
    ($make:ident) => {
        $make!(A ForA 0);
        $make!(A ForA 0, B ForB 1);
        $make!(A ForA 0, B ForB 1, C ForC 2);
        $make!(A ForA 0, B ForB 1, C ForC 2, D ForD 3);
        $make!(A ForA 0, B ForB 1, C ForC 2, D ForD 3, E ForE 4);
        $make!(A ForA 0, B ForB 1, C ForC 2, D ForD 3, E ForE 4, F ForF 5);
        $make!(A ForA 0, B ForB 1, C ForC 2, D ForD 3, E ForE 4, F ForF 5, G ForG 6);
        $make!(A ForA 0, B ForB 1, C ForC 2, D ForD 3, E ForE 4, F ForF 5, G ForG 6, H ForH 7);
        $make!(A ForA 0, B ForB 1, C ForC 2, D ForD 3, E ForE 4, F ForF 5, G ForG 6, H ForH 7, I ForI 8);
        $make!(A ForA 0, B ForB 1, C ForC 2, D ForD 3, E ForE 4, F ForF 5, G ForG 6, H ForH 7, I ForI 8, J ForJ 9);
        $make!(A ForA 0, B ForB 1, C ForC 2, D ForD 3, E ForE 4, F ForF 5, G ForG 6, H ForH 7, I ForI 8, J ForJ 9, K ForK 10);
        $make!(A ForA 0, B ForB 1, C ForC 2, D ForD 3, E ForE 4, F ForF 5, G ForG 6, H ForH 7, I ForI 8, J ForJ 9, K ForK 10, L ForL 11);
    };
}

pub(crate) use for_tuples;

/// A tuple that can have one more.
#[diagnostic::on_unimplemented(
    message = "a procedure has at most 12 parameters",
    note = "several items of one type can be read as a list: `.reads_list::<…>(name)`"
)]
pub trait Append<X> {
    /// The tuple with one more.
    type Longer;
}

/// A value that is not what a place of a tuple holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The position in the tuple.
    pub position: usize,
    /// What was wanted, and what was there.
    pub message: String,
}

/// A tuple of [`Datum`]s.
pub trait Data: Sized {
    /// Takes the values in order.
    fn from_values(values: impl Iterator<Item = Value>) -> Result<Self, Mismatch>;

    /// Gives the values in order.
    fn into_values(self) -> Vec<Value>;
}

fn datum<T: Datum>(position: usize, value: Option<Value>) -> Result<T, Mismatch> {
    T::from_value(value.unwrap_or_default()).map_err(|other| Mismatch {
        position,
        message: format!("expected {}, found {}", T::type_name(), name_of(&other)),
    })
}

impl Data for () {
    fn from_values(_: impl Iterator<Item = Value>) -> Result<(), Mismatch> {
        Ok(())
    }

    fn into_values(self) -> Vec<Value> {
        Vec::new()
    }
}

macro_rules! data {
    ($($name:ident $other:ident $position:tt),+) => {
        impl<$($name: Datum),+> Data for ($($name,)+) {
            fn from_values(mut values: impl Iterator<Item = Value>) -> Result<Self, Mismatch> {
                Ok(($(datum::<$name>($position, values.next())?,)+))
            }

            fn into_values(self) -> Vec<Value> {
                vec![$(self.$position.into_value()),+]
            }
        }
    };
}

for_tuples!(data);

macro_rules! append {
    ($($name:ident),*) => {
        impl<X, $($name),*> Append<X> for ($($name,)*) {
            type Longer = ($($name,)* X,);
        }
    };
}

append!();
append!(A);
append!(A, B);
append!(A, B, C);
append!(A, B, C, D);
append!(A, B, C, D, E);
append!(A, B, C, D, E, F);
append!(A, B, C, D, E, F, G);
append!(A, B, C, D, E, F, G, H);
append!(A, B, C, D, E, F, G, H, I);
append!(A, B, C, D, E, F, G, H, I, J);
append!(A, B, C, D, E, F, G, H, I, J, K);

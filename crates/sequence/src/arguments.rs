//! What a call passes to a procedure, checked by the compiler.
//!
//! Law: the arguments of a call are those that the procedure's type asks for, in number, type and access; whatever
//! else does not compile. What is read is passed by `&`, what is written by `&mut`, as in Rust.

use std::sync::Arc;

use crate::procedure::{ByValue, In, InList, InOut, Out, Slot};
use crate::tuple::for_tuples;
use crate::{Argument, Datum, Item, Procedure, Reference, ScalarDatum};

/// What can be passed for one parameter of a procedure: [`In`], [`InList`], [`Out`], [`InOut`] or [`ByValue`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed for the parameter `{M}`",
    label = "a call wants `{M}` here",
    note = "`In<T>` is passed as `&item`, `Out<T>` and `InOut<T>` as `&mut item`, of an `Item<T>`",
    note = "`InList<T>` is passed as `&items`, of a slice or a `Vec` of `Item<T>`",
    note = "`ByValue<T>` is passed as a plain value; so may `In<T>` be, if it is a scalar, or else as `Plain(value)`"
)]
pub trait Pass<M> {
    /// The argument of a call.
    fn pass(self, slot: &Slot) -> Argument;
}

/// A value that a call reads and that is no item: nothing else can read it, and nothing writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plain<T>(pub T);

impl<T> Pass<In<T>> for &Item<T> {
    fn pass(self, slot: &Slot) -> Argument {
        Argument::In {
            input: Arc::clone(&slot.input),
            item: self.reference().clone(),
        }
    }
}

impl<T: Datum> Pass<In<T>> for Plain<T> {
    fn pass(self, slot: &Slot) -> Argument {
        Argument::Value {
            input: Arc::clone(&slot.input),
            value: self.0.into_value(),
        }
    }
}

impl<T: ScalarDatum> Pass<In<T>> for T {
    fn pass(self, slot: &Slot) -> Argument {
        Plain(self).pass(slot)
    }
}

impl Pass<In<String>> for &str {
    fn pass(self, slot: &Slot) -> Argument {
        Plain(self.to_owned()).pass(slot)
    }
}

impl<T> Pass<InList<T>> for &[Item<T>] {
    fn pass(self, slot: &Slot) -> Argument {
        Argument::InList {
            input: Arc::clone(&slot.input),
            items: self.iter().map(|item| item.reference().clone()).collect(),
        }
    }
}

impl<T, const N: usize> Pass<InList<T>> for &[Item<T>; N] {
    fn pass(self, slot: &Slot) -> Argument {
        self.as_slice().pass(slot)
    }
}

impl<T> Pass<InList<T>> for &Vec<Item<T>> {
    fn pass(self, slot: &Slot) -> Argument {
        self.as_slice().pass(slot)
    }
}

impl<T> Pass<Out<T>> for &mut Item<T> {
    fn pass(self, slot: &Slot) -> Argument {
        Argument::Out {
            output: Arc::clone(&slot.output),
            item: Reference::clone(self.reference()),
        }
    }
}

impl<T> Pass<InOut<T>> for &mut Item<T> {
    fn pass(self, slot: &Slot) -> Argument {
        Argument::InOut {
            input: Arc::clone(&slot.input),
            output: Arc::clone(&slot.output),
            item: Reference::clone(self.reference()),
        }
    }
}

impl<T: ScalarDatum> Pass<ByValue<T>> for T {
    fn pass(self, slot: &Slot) -> Argument {
        Argument::Parameter {
            name: Arc::clone(&slot.input),
            value: self.into_scalar(),
        }
    }
}

impl Pass<ByValue<String>> for &str {
    fn pass(self, slot: &Slot) -> Argument {
        Pass::<ByValue<String>>::pass(self.to_owned(), slot)
    }
}

/// A tuple of arguments that fits the parameters `P` of a procedure.
///
/// Here `add` is a `Procedure<(In<M>, In<M>, Out<M>)>`, with `M` for `Numbers<f64>`, and `a`, `b` and `sum` are items of
/// that type:
///
/// ```
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&a, &b, &mut sum))?;
/// # Ok(()) }
/// ```
///
/// Whatever does not fit does not compile. An item that holds something else, such as `count`, an `Item<i64>`:
///
/// ```compile_fail,E0277
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&a, &count, &mut sum))?;
/// # Ok(()) }
/// ```
///
/// An item of other numbers, such as `single`, an `Item<Numbers<f32>>`:
///
/// ```compile_fail,E0277
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&a, &single, &mut sum))?;
/// # Ok(()) }
/// ```
///
/// One argument too few, or too many:
///
/// ```compile_fail,E0277
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&a, &mut sum))?;
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0277
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&a, &b, &a, &mut sum))?;
/// # Ok(()) }
/// ```
///
/// An item that is written, but not passed by `&mut`; one that is only read, but passed by `&mut`; a handle itself:
///
/// ```compile_fail,E0277
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&a, &b, &sum))?;
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0277
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&a, &mut sum.clone(), &mut sum))?;
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0277
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&a, b, &mut sum))?;
/// # Ok(()) }
/// ```
///
/// A literal where an item is written:
///
/// ```compile_fail,E0277
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&a, &b, 0.0))?;
/// # Ok(()) }
/// ```
///
/// The same handle for what is read and what is written. A clone of it stands for the same item, so the call may well read
/// what was there before; only this has to be said:
///
/// ```compile_fail,E0502
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&sum, &b, &mut sum))?;
/// # Ok(()) }
/// ```
///
/// ```
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&sum.clone(), &b, &mut sum))?;
/// # Ok(()) }
/// ```
///
/// A call after the end of the sequence; and a value asked for as another type:
///
/// ```compile_fail,E0382
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.end()?;
/// sequence.submit(&add, (&a, &b, &mut sum))?;
/// # Ok(()) }
/// ```
///
/// ```
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// sequence.submit(&add, (&a, &b, &mut sum))?;
/// sequence.end()?;
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0308
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// let sum: i64 = sequence.value(&sum)?;
/// # Ok(()) }
/// ```
///
/// ```
/// # use headwater::sequence::{Item, Mode, Numbers, Sequence, SequenceError, procedure};
/// # type M = Numbers<f64>;
/// # fn program(mut sequence: Sequence, a: M, b: M) -> Result<(), SequenceError> {
/// # let add = procedure("matrix/add", "1").reads::<M>("a").reads::<M>("b").writes::<M>("sum")
/// #     .run(|(a, _), _| Ok((a,)));
/// # let (a, b, mut sum): (Item<M>, Item<M>, Item<M>) = (sequence.give(a), sequence.give(b), sequence.item());
/// # let (count, single): (Item<i64>, Item<Numbers<f32>>) = (sequence.item(), sequence.item());
/// let sum: M = sequence.value(&sum)?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "the arguments `{Self}` do not fit a procedure with the parameters `{P}`",
    label = "wrong number of arguments, or not a tuple",
    note = "arguments are a tuple with one place for each parameter, a single one with a comma: `(&mut item,)`"
)]
pub trait Arguments<P> {
    /// The arguments with the names under which they go to the operation.
    fn list(self, procedure: &Procedure<P>) -> Vec<Argument>;
}

impl Arguments<()> for () {
    fn list(self, procedure: &Procedure<()>) -> Vec<Argument> {
        procedure.fixed().to_vec()
    }
}

macro_rules! arguments {
    ($($name:ident $wanted:ident $position:tt),+) => {
        impl<$($name: Pass<$wanted>, $wanted),+> Arguments<($($wanted,)+)> for ($($name,)+) {
            fn list(self, procedure: &Procedure<($($wanted,)+)>) -> Vec<Argument> {
                let slots = procedure.slots();
                let mut list = vec![$(self.$position.pass(&slots[$position])),+];
                list.extend_from_slice(procedure.fixed());
                list
            }
        }
    };
}

for_tuples!(arguments);

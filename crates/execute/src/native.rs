//! Native operations.
//!
//! Law: a panic in one fails that task only. A time-out sets the cancel flag and abandons the result; the
//! thread is left to end when it will. What it was given is its own, and gone when it has ended.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use headwater_graph::{
    Cancel, Context, Failure, FailureKind, OperationError, Outputs, Run, Scalar, Value,
};

use crate::processor::{thread_time, time_of};

/// Runs a body. `elsewhere` is set to the processor time that other threads than this one have used for it.
pub(crate) fn run(
    body: &Arc<dyn Run>,
    inputs: Vec<Value>,
    parameters: &[Scalar],
    mut context: Context,
    timeout: Option<Duration>,
    elsewhere: &mut Duration,
) -> Result<Outputs, Failure> {
    let Some(timeout) = timeout else {
        let result = caught(&**body, inputs, parameters, &mut context);
        *elsewhere = context.helpers;
        return result;
    };
    let cancel: Cancel = context.cancel.clone();
    let (sender, receiver) = mpsc::channel();
    let (body, parameters) = (Arc::clone(body), parameters.to_vec());
    let thread = std::thread::Builder::new().name("headwater-timed".to_owned());
    let spawned = thread.spawn(move || {
        let result = caught(&*body, inputs, &parameters, &mut context);
        // Nobody listens any more once the time is over.
        let _ = sender.send((result, thread_time() + context.helpers));
    });
    let thread = spawned.map_err(|error| {
        Failure::new(
            FailureKind::NotStarted,
            format!("no thread for it: {error}"),
        )
    })?;
    let (result, used) = receiver.recv_timeout(timeout).unwrap_or_else(|_| {
        cancel.cancel();
        let message = format!("not done after {timeout:?}; its result is no longer waited for");
        let failure = Failure::new(FailureKind::TimedOut, message);
        (Err(failure), time_of(&thread))
    });
    *elsewhere = used;
    result
}

fn caught(
    body: &dyn Run,
    inputs: Vec<Value>,
    parameters: &[Scalar],
    context: &mut Context,
) -> Result<Outputs, Failure> {
    // The operation gets no reference to anything of ours but the context, which is dropped afterwards.
    let run = || body.run_owned(inputs, parameters, context);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(outputs)) => Ok(outputs),
        Ok(Err(OperationError::Cancelled)) => {
            Err(Failure::new(FailureKind::Cancelled, "cancelled".to_owned()))
        }
        Ok(Err(error)) => Err(Failure::new(FailureKind::Operation, error.to_string())),
        Err(panic) => Err(Failure::new(FailureKind::Panicked, panic_text(&*panic))),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!(
        "panicked: {}",
        text.unwrap_or_else(|| "without a message".to_owned())
    )
}

//! Native operations.
//!
//! Law: a panic in one fails that task only. A time-out sets the cancel flag and abandons the result; the
//! thread is left to end when it will. What it was given is its own, and gone when it has ended.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use headwater_graph::{Cancel, Context, OperationError, Outputs, Run, Scalar, Value};

use crate::pool::{Failure, FailureKind};

pub(crate) fn run(
    body: &Arc<dyn Run>,
    inputs: Vec<Value>,
    parameters: &[Scalar],
    mut context: Context,
    timeout: Option<Duration>,
) -> Result<Outputs, Failure> {
    let Some(timeout) = timeout else {
        return caught(&**body, inputs, parameters, &mut context);
    };
    let cancel: Cancel = context.cancel.clone();
    let (sender, receiver) = mpsc::channel();
    let (body, parameters) = (Arc::clone(body), parameters.to_vec());
    let thread = std::thread::Builder::new().name("headwater-timed".to_owned());
    let spawned = thread.spawn(move || {
        // Nobody listens any more once the time is over.
        let _ = sender.send(caught(&*body, inputs, &parameters, &mut context));
    });
    if let Err(error) = spawned {
        return Err(Failure::new(
            FailureKind::NotStarted,
            format!("no thread for it: {error}"),
        ));
    }
    receiver.recv_timeout(timeout).unwrap_or_else(|_| {
        cancel.cancel();
        let message = format!("not done after {timeout:?}; its result is no longer waited for");
        Err(Failure::new(FailureKind::TimedOut, message))
    })
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

//! What a study cannot be planned or run with: mistakes with their place in the file.

use headwater_engine::Error;
use headwater_flow::Method;

use crate::instances::{Instances, Unfit};
use crate::load::Study;

/// The most words of tasks and their parameters that the sets of a study may have together: 2³⁰, of four bytes each.
const MOST_WORDS: u128 = 1 << 30;

/// Refuses a study whose tasks cannot be numbered.
pub(crate) fn refuse_too_many(study: &Study, instances: &Instances) -> Result<(), Error> {
    let words = instances.template.steps.iter().map(|step| step.words.len());
    let words = words.sum::<usize>() as u128 * instances.sets.len() as u128;
    if words < MOST_WORDS {
        Ok(())
    } else {
        Err(study.mistake_at_method(
            format!(
                "{} parameter sets of {} tasks each are more than a plan can hold",
                instances.sets.len(),
                instances.template.steps.len()
            ),
            "plan the study with fewer sets, or for a part of its items",
        ))
    }
}

/// A parameter that cannot take a value of the design.
pub(crate) fn misfit(study: &Study, unfit: &Unfit) -> Error {
    study.mistake_at_parameter(
        &unfit.parameter,
        format!(
            "`{}` takes the value {} here, but operation `{}` takes it as {}",
            unfit.parameter, unfit.value, unfit.operation, unfit.wanted
        ),
        match study.study.method {
            Method::Table(_) => {
                "give such values in the table, or have the operation declare `truncate`"
            }
            _ => "give it a step that fits, or have the operation declare `truncate`",
        },
    )
}

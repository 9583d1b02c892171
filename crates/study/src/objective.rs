//! What is studied has to be a number.
//!
//! Law: bools, ints and floats are numbers; what may be anything is one until it turns out not to be; the outputs of
//! a stage descriptor pass, since it can be planned only and says nothing of the numbers that are made of them.

use headwater_engine::load::Parsed;
use headwater_graph::{DataOrigin, Kind, OutputBinding, Registry, Type};

/// What makes an output.
struct Maker {
    /// What the output is.
    output_type: Type,
    /// Whether a program leaves it.
    by_program: bool,
}

/// Who makes an output; `None` where nothing is known of it.
fn maker(output: &OutputBinding, parsed: &Parsed, libraries: &Registry) -> Option<Maker> {
    let workflow = &parsed.workflow;
    let (stage, task) = match workflow.origins().get(&output.data)? {
        DataOrigin::Input(place) => {
            return Some(Maker {
                output_type: workflow.inputs[*place].input_type.clone(),
                by_program: false,
            });
        }
        DataOrigin::Task { stage, task } => (*stage, *task),
    };
    let definition = &workflow.stages[stage].tasks[task];
    let operation = parsed.runnable_operation(&definition.operation, libraries)?;
    let mut outputs = definition.outputs.iter();
    let (port, _) = outputs.find(|(_, data)| **data == output.data)?;
    let port = operation.signature.output_index(port)?;
    Some(Maker {
        output_type: operation.signature.outputs[port].port_type.clone(),
        by_program: matches!(operation.kind, Kind::Command(_)),
    })
}

fn is_number(found: &Type) -> bool {
    matches!(found, Type::Bool | Type::Int | Type::Float | Type::Any)
}

/// What is wrong with an objective that is no number, and a way out.
pub(crate) fn mistake(
    objective: &OutputBinding,
    parsed: &Parsed,
    libraries: &Registry,
) -> Option<(String, String)> {
    let Maker {
        output_type,
        by_program,
    } = maker(objective, parsed, libraries)?;
    if is_number(&output_type) {
        return None;
    }
    let name = &objective.name;
    let message = format!("`{name}` is of type {output_type}, and what is studied is a number");
    if by_program && matches!(output_type, Type::File | Type::Text) {
        let hint = format!(
            "if the program writes a number to this output, declare the output behind `{name}` with `type: float`"
        );
        return Some((message, hint));
    }
    let others = parsed.workflow.wanted();
    let others: Vec<String> = others
        .iter()
        .filter(|output| {
            maker(output, parsed, libraries).is_some_and(|made| is_number(&made.output_type))
        })
        .map(|output| format!("`{}`", output.name))
        .collect();
    let hint = match others.as_slice() {
        [] => "add a task to the workflow that makes a number of it, and name that number under `outputs`"
            .to_owned(),
        [one] => format!("the output that is a number is {one}"),
        several => format!("outputs that are numbers: {}", several.join(", ")),
    };
    Some((message, hint))
}

/// The outputs that are images.
pub(crate) fn images(parsed: &Parsed, libraries: &Registry) -> Vec<OutputBinding> {
    let is_image = |output: &OutputBinding| {
        maker(output, parsed, libraries).is_some_and(|made| made.output_type == Type::Image)
    };
    let mut outputs = parsed.workflow.wanted();
    outputs.retain(is_image);
    outputs
}

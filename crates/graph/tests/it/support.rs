//! Small operations, tasks and workflows.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{
    Codec, Context, Input, KnownBy, Operation, Outputs, Registry, Scalar, Signature, Stage,
    TaskDefinition, Type, Value, Workflow,
};

pub(crate) fn operation(signature: Signature) -> Operation {
    let run = |_: &[Value], _: &[Scalar], _: &mut Context| Ok(Outputs::new());
    Operation::native(signature, run)
}

pub(crate) fn registry(signatures: Vec<Signature>) -> Registry {
    let mut registry = Registry::new();
    for signature in signatures {
        registry.register(None, operation(signature)).unwrap();
    }
    registry
}

/// A codec for `type_name` that reads and writes nothing.
pub(crate) fn codec(value_type: Type) -> Codec {
    Codec {
        library: "lib".into(),
        version: "1".into(),
        value_type,
        extensions: vec!["x".into()],
        decode: Arc::new(|_| Ok(Value::Null)),
        encode: Arc::new(|_| Ok(Vec::new())),
    }
}

/// A task: `name`, `operation`, `port=data …`, `port=data …`.
pub(crate) fn task(name: &str, operation: &str, inputs: &str, outputs: &str) -> TaskDefinition {
    let ports = |text: &str| -> BTreeMap<Arc<str>, Arc<str>> {
        let pair = |word: &str| {
            let (port, data) = word.split_once('=').expect("port=data");
            (port.into(), data.into())
        };
        text.split_whitespace().map(pair).collect()
    };
    TaskDefinition {
        name: name.into(),
        operation: operation.into(),
        inputs: ports(inputs),
        parameters: BTreeMap::new(),
        outputs: ports(outputs),
    }
}

pub(crate) fn stage(name: &str, tasks: Vec<TaskDefinition>) -> Stage {
    Stage::new(name, tasks)
}

pub(crate) fn input(name: &str, input_type: Type) -> Input {
    Input {
        name: name.into(),
        input_type,
        optional: false,
        identity: KnownBy::Content,
    }
}

pub(crate) fn workflow(inputs: Vec<Input>, stages: Vec<Stage>) -> Workflow {
    Workflow {
        name: "test".into(),
        inputs,
        stages,
        ..Workflow::default()
    }
}

//! How parameters of tasks get their values.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{Binding, ParameterDeclaration, Scalar};

/// The value of a parameter of a task.
pub(super) fn bind(
    binding: Option<&Binding>,
    declared: &ParameterDeclaration,
    parameters: &BTreeMap<Arc<str>, Scalar>,
) -> Option<Scalar> {
    let given = match binding {
        None => declared.default.clone()?,
        Some(Binding::Literal(value)) => value.clone(),
        Some(Binding::Parameter(name)) => parameters.get(name)?.clone(),
    };
    given.coerce(declared.scalar_type, declared.truncate)
}

//! Everything about an operation but how it runs: its name and version, its ports, its parameters, and what a task
//! occupies.
//!
//! Law: ports and parameters are sorted by name, so that one order serves bodies, recipes and records.

use std::collections::BTreeMap;
use std::sync::Arc;

use core::time::Duration;

use crate::{Scalar, ScalarType, Type};

/// An input or output of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name, unique among the inputs or among the outputs of its operation.
    pub name: Arc<str>,
    /// What it carries.
    pub port_type: Type,
    /// An optional input may be left unbound; an optional output may be missing (it is then null).
    pub optional: bool,
    /// Whether the names of files bound here are part of their value.
    pub keep_name: bool,
    /// Whether the bytes of an output are kept in the store where nobody asked for them: always, never, or
    /// as the engine sees fit. Where bytes lie changes no result, so this is no part of any version.
    pub keep: Option<bool>,
    /// The extension, without dot, that a file of this output is delivered with; of a program, the path that it
    /// leaves says it. What a file is called where it is delivered changes no result, so this is no part of any
    /// version.
    pub extension: Option<Arc<str>>,
    /// The memory that a task needs while it runs on account of this port, besides inputs and outputs
    /// themselves, in percent of the bytes of the value (see [`Value::size`](crate::Value::size)). Only a limit on memory asks, so
    /// this is no part of any version.
    pub working: u32,
    /// Whether the operation changes what it is given at this input where it lies, if nobody else has it (see
    /// [`Array::bytes_mut`](crate::Array::bytes_mut)): an executor then lets go of it before a native body runs, as
    /// far as nobody else can need it. Where a result is computed does not change it, so this is no part of any
    /// version.
    pub in_place: bool,
}

impl Port {
    /// A required port.
    pub fn new(name: &str, port_type: Type) -> Port {
        Port {
            name: name.into(),
            port_type,
            optional: false,
            keep_name: false,
            keep: None,
            extension: None,
            working: 0,
            in_place: false,
        }
    }
}

/// A parameter of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterDeclaration {
    /// Its name, unique in its operation.
    pub name: Arc<str>,
    /// Its type; values are coerced to it before anything else is done with them.
    pub scalar_type: ScalarType,
    /// The value it takes when none is given.
    pub default: Option<Scalar>,
    /// Whether a real given for an int is truncated instead of refused.
    pub truncate: bool,
}

/// What a task occupies while it runs: an open map of counters.
///
/// `cores` and `memory` (bytes) are known to every executor; other names (`gpu`, a licence) are counted
/// against what the user says the machine has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resources(pub BTreeMap<Arc<str>, u64>);

impl Resources {
    /// How many cores; one unless said otherwise.
    pub fn cores(&self) -> u64 {
        self.0.get("cores").copied().unwrap_or(1)
    }

    /// How many bytes of memory; zero unless said otherwise.
    pub fn memory(&self) -> u64 {
        self.0.get("memory").copied().unwrap_or(0)
    }
}

/// Everything about an operation but how it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    /// `library/operation`, or a name without slash for an operation of the workflow file itself.
    pub name: Arc<str>,
    /// Part of the recipe: a change of behaviour is a change of version.
    pub version: Arc<str>,
    /// Sorted by name.
    pub inputs: Vec<Port>,
    /// Sorted by name.
    pub outputs: Vec<Port>,
    /// Sorted by name.
    pub parameters: Vec<ParameterDeclaration>,
    /// Whether its outputs depend on its name, version, parameter values and inputs alone.
    pub pure: bool,
    /// Helper tasks that the engine adds (decoding a file, picking an item of a list) are not counted in
    /// any figure and not remembered.
    pub implicit: bool,
    /// What a task occupies.
    pub resources: Resources,
    /// How long a task may take.
    pub timeout: Option<Duration>,
    /// How often a failed task is tried again; `None` leaves it to the run.
    pub retries: Option<u32>,
}

impl Signature {
    /// A pure operation without ports and parameters.
    pub fn new(name: &str, version: &str) -> Signature {
        Signature {
            name: name.into(),
            version: version.into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            parameters: Vec::new(),
            pure: true,
            implicit: false,
            resources: Resources::default(),
            timeout: None,
            retries: None,
        }
    }

    /// Adds an input.
    #[must_use]
    pub fn input(mut self, name: &str, port_type: Type) -> Self {
        self.inputs.push(Port::new(name, port_type));
        self.inputs.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }

    /// Adds an input that may be left unbound; it is then [`Value::Null`](crate::Value::Null).
    #[must_use]
    pub fn optional_input(mut self, name: &str, port_type: Type) -> Self {
        self = self.input(name, port_type);
        if let Some(position) = self.input_index(name) {
            self.inputs[position].optional = true;
        }
        self
    }

    /// Adds an output of files, which are delivered with this extension (without dot).
    #[must_use]
    pub fn file_output(mut self, name: &str, extension: &str) -> Self {
        self = self.output(name, Type::File);
        if let Some(position) = self.output_index(name) {
            self.outputs[position].extension = Some(extension.into());
        }
        self
    }

    /// Adds an output.
    #[must_use]
    pub fn output(mut self, name: &str, port_type: Type) -> Self {
        self.outputs.push(Port::new(name, port_type));
        self.outputs.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }

    /// Says whether the bytes of an output are kept where nobody asked for them; see [`Port::keep`]. A name
    /// that is not there says nothing.
    #[must_use]
    pub fn keep(mut self, output: &str, keep: bool) -> Self {
        if let Some(position) = self.output_index(output) {
            self.outputs[position].keep = Some(keep);
        }
        self
    }

    /// Says how much memory a task needs while it runs, besides its inputs and outputs, in percent of the bytes of
    /// an input; see [`Port::working`]. What several ports say adds up. A name that is not there says nothing.
    #[must_use]
    pub fn working(mut self, input: &str, percent: u32) -> Self {
        if let Some(position) = self.input_index(input) {
            self.inputs[position].working = percent;
        }
        self
    }

    /// Says that the operation changes what it is given at an input where it lies, if it can; see
    /// [`Port::in_place`]. A name that is not there says nothing.
    #[must_use]
    pub fn in_place(mut self, input: &str) -> Self {
        if let Some(position) = self.input_index(input) {
            self.inputs[position].in_place = true;
        }
        self
    }

    /// As [`working`](Self::working), in percent of the bytes of all outputs together: for an operation that
    /// makes something large of something small. Before one has been seen they are taken to be as large as the
    /// inputs.
    #[must_use]
    pub fn working_on_outputs(mut self, percent: u32) -> Self {
        if let Some(output) = self.outputs.first_mut() {
            output.working = percent;
        }
        self
    }

    /// Adds a parameter.
    #[must_use]
    pub fn parameter(
        mut self,
        name: &str,
        scalar_type: ScalarType,
        default: Option<Scalar>,
    ) -> Self {
        self.parameters.push(ParameterDeclaration {
            name: name.into(),
            scalar_type,
            default,
            truncate: false,
        });
        self.parameters.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }

    /// Says that a real given for this int parameter is truncated towards zero instead of refused. A name that
    /// is not there says nothing.
    #[must_use]
    pub fn truncating(mut self, parameter: &str) -> Self {
        if let Some(position) = self.parameter_index(parameter) {
            self.parameters[position].truncate = true;
        }
        self
    }

    /// The position of an input.
    pub fn input_index(&self, name: &str) -> Option<usize> {
        self.inputs
            .binary_search_by(|port| (*port.name).cmp(name))
            .ok()
    }

    /// The position of an output.
    pub fn output_index(&self, name: &str) -> Option<usize> {
        self.outputs
            .binary_search_by(|port| (*port.name).cmp(name))
            .ok()
    }

    /// The position of a parameter.
    pub fn parameter_index(&self, name: &str) -> Option<usize> {
        self.parameters
            .binary_search_by(|parameter| (*parameter.name).cmp(name))
            .ok()
    }
}

//! The formats: which fields there are, and what they hold.
//!
//! Law: this file is the grammar. A field exists if and only if it stands here.

use crate::leaf::Leaf;
use crate::name::NameRule;
use crate::shape::{Field, Shape, Table};

const DATA_NAME: Shape = Shape::Leaf(Leaf::Name(NameRule::Common, "a data name"));
const OUTPUT_NAME: Shape = Shape::Leaf(Leaf::Name(NameRule::Output, "a data name"));
const STAGE_NAME: Shape = Shape::Leaf(Leaf::Name(NameRule::Address, "the name of a stage"));
const TASK_NAME: Shape = Shape::Leaf(Leaf::Name(NameRule::Address, "a name for the task"));
const LITERAL: Shape = Shape::Leaf(Leaf::Literal);
const NUMBER: Shape = Shape::Leaf(Leaf::Number);
const FLAG: Shape = Shape::Leaf(Leaf::Flag);
const TYPE: Shape = Shape::Leaf(Leaf::Type);
const PATH: Shape = Shape::Leaf(Leaf::Path);
const FORMAT: Shape = Shape::Leaf(Leaf::Format);
const ARGUMENT: Shape = Shape::Leaf(Leaf::Text("an argument"));
const TEXT: Shape = Shape::Leaf(Leaf::Text("a text"));

/// The types of parameters of operations.
pub(crate) const SCALAR_TYPES: &[&str] = &["int", "float", "bool", "text"];
/// The types of parameters of workflows.
pub(crate) const PARAMETER_TYPES: &[&str] = &["int", "float", "bool", "text", "choice"];
/// The types of outputs of programs.
pub(crate) const OUTPUT_TYPES: &[&str] = &["file", "directory", "int", "float", "bool", "text"];
/// The words that `wait` takes.
pub(crate) const WAIT_WORDS: &[&str] = &["all"];
/// The words that `step` takes.
pub(crate) const STEP_WORDS: &[&str] = &["none"];

/// An input of a workflow.
pub(crate) static INPUT: Table = Table::new(
    "an input",
    &[
        Field::required("type", TYPE, "what the input carries"),
        Field::new(
            "optional",
            FLAG,
            "whether it may be left out; outputs that need it are then left out too",
        ),
    ],
);

/// A parameter of a workflow.
pub(crate) static PARAMETER: Table = Table::new(
    "a parameter",
    &[
        Field::required("type", Shape::Leaf(Leaf::Word(PARAMETER_TYPES)), "its type"),
        Field::new(
            "range",
            Shape::List {
                of: &NUMBER,
                what: "a range such as `[1, 10]`",
                least: 2,
                most: 2,
            },
            "lower and upper end, for studies",
        ),
        Field::new(
            "step",
            Shape::Either(&[NUMBER, Shape::Leaf(Leaf::Word(STEP_WORDS))]),
            "distance between the values that studies use; `none` for all values in the range",
        ),
        Field::new("default", LITERAL, "the value it has when none is given"),
        Field::new(
            "values",
            Shape::List {
                of: &LITERAL,
                what: "a list of values to choose from",
                least: 1,
                most: usize::MAX,
            },
            "the values of a choice",
        ),
    ],
);

/// A task.
pub(crate) static TASK: Table = Table::new(
    "a task",
    &[
        Field::required(
            "op",
            Shape::Leaf(Leaf::Text("the name of an operation")),
            "the operation it applies",
        ),
        Field::new(
            "name",
            TASK_NAME,
            "unique in its stage; by default the last part of `op`",
        ),
        Field::new(
            "in",
            Shape::Map {
                names: NameRule::Common,
                of: &DATA_NAME,
                what: "a mapping of input ports to data names",
            },
            "which data goes to which input port",
        ),
        Field::new(
            "params",
            Shape::Map {
                names: NameRule::Common,
                of: &LITERAL,
                what: "a mapping of parameters to values",
            },
            "values, or `$NAME` for a parameter of the workflow",
        ),
        Field::new(
            "out",
            Shape::Map {
                names: NameRule::Common,
                of: &DATA_NAME,
                what: "a mapping of output ports to data names",
            },
            "what the data of each output port is called",
        ),
    ],
);

/// `wait: {per: NAME}`.
pub(crate) static WAIT: Table = Table::new(
    "`wait`",
    &[Field::required(
        "per",
        Shape::Leaf(Leaf::Name(NameRule::Common, "the name of a workflow input")),
        "the workflow input whose items form the groups",
    )],
);

/// A stage.
pub(crate) static STAGE: Table = Table::new(
    "a stage",
    &[
        Field::required(
            "tasks",
            Shape::list(&Shape::Record(&TASK), "a list of tasks"),
            "what the stage does",
        ),
        Field::new(
            "iterate",
            Shape::Leaf(Leaf::Strategy),
            "how items are combined: `cross(a, dot(b, c))`",
        ),
        Field::new(
            "wait",
            Shape::Either(&[
                Shape::Leaf(Leaf::Word(WAIT_WORDS)),
                Shape::list(&STAGE_NAME, "a list of stage names"),
                Shape::Record(&WAIT),
            ]),
            "the stage receives all items as lists, once or per group",
        ),
        Field::new(
            "after",
            Shape::list(&STAGE_NAME, "a list of stage names"),
            "stages that come first without giving data",
        ),
        Field::new(
            "tolerate",
            Shape::Leaf(Leaf::Tolerance),
            "how many failed items a waiting stage accepts",
        ),
        Field::new(
            "concurrency",
            Shape::Leaf(Leaf::Whole(1)),
            "how many of its instances may run at once",
        ),
    ],
);

static STAGE_OR_TASKS: Shape = Shape::Either(&[
    Shape::list(&Shape::Record(&TASK), "a list of tasks"),
    Shape::Record(&STAGE),
]);

/// Where the version of a tool comes from.
pub(crate) static VERSION: Table = Table::new(
    "`version`",
    &[Field::required(
        "command",
        Shape::List {
            of: &ARGUMENT,
            what: "a program and its arguments",
            least: 1,
            most: usize::MAX,
        },
        "a command that prints the version",
    )],
);

/// An input of a program.
pub(crate) static OPERATION_INPUT: Table = Table::new(
    "an input",
    &[
        Field::required("type", TYPE, "what the port takes"),
        Field::new(
            "extension",
            Shape::Leaf(Leaf::Name(NameRule::Common, "an extension")),
            "the file is linked as PORT.EXTENSION",
        ),
        Field::new("optional", FLAG, "whether it may be left unbound"),
        Field::new(
            "keep_name",
            FLAG,
            "whether the names of files count as part of their value",
        ),
    ],
);

/// A parameter of a program.
pub(crate) static OPERATION_PARAMETER: Table = Table::new(
    "a parameter",
    &[
        Field::required("type", Shape::Leaf(Leaf::Word(SCALAR_TYPES)), "its type"),
        Field::new("default", LITERAL, "the value it has when none is given"),
        Field::new(
            "truncate",
            FLAG,
            "whether a real number given for an int is cut instead of refused",
        ),
    ],
);

/// An output of a program.
pub(crate) static OPERATION_OUTPUT: Table = Table {
    what: "an output",
    fields: &[
        Field::new(
            "type",
            Shape::Leaf(Leaf::Word(OUTPUT_TYPES)),
            "`file` unless said otherwise; numbers and texts are read from the file",
        ),
        Field::new(
            "path",
            PATH,
            "where the program writes it; by default the name of the port",
        ),
        Field::new(
            "glob",
            PATH,
            "a pattern; the output is the list of all that match",
        ),
        Field::new(
            "extension",
            Shape::Leaf(Leaf::Name(NameRule::Common, "an extension")),
            "added to the default path",
        ),
        Field::new("optional", FLAG, "whether it may be missing"),
        Field::new(
            "keep",
            FLAG,
            "whether its bytes are kept in the store although nobody asked for them: always or never",
        ),
    ],
    one_of: &["path", "glob"],
    one_needed: false,
    others: None,
};

/// What a task occupies.
pub(crate) static RESOURCES: Table = Table {
    what: "`resources`",
    fields: &[
        Field::new(
            "cores",
            Shape::Leaf(Leaf::Whole(1)),
            "how many cores a task uses",
        ),
        Field::new(
            "memory",
            Shape::Leaf(Leaf::Size),
            "how much memory a task uses",
        ),
    ],
    one_of: &[],
    one_needed: false,
    others: Some(&Shape::Leaf(Leaf::Whole(0))),
};

/// A program as an operation.
pub(crate) static OPERATION: Table = Table {
    what: "an operation",
    fields: &[
        Field::new(
            "command",
            Shape::List {
                of: &ARGUMENT,
                what: "a program and its arguments",
                least: 1,
                most: usize::MAX,
            },
            "the program and its arguments; no shell sees them",
        ),
        Field::new(
            "shell",
            Shape::Leaf(Leaf::Text("a shell script")),
            "a script for /bin/sh; placeholders are put in quoted",
        ),
        Field::new(
            "version",
            Shape::Either(&[
                Shape::Leaf(Leaf::Text("a version")),
                Shape::Record(&VERSION),
            ]),
            "the version of the tool, or a command that prints it",
        ),
        Field::new(
            "inputs",
            Shape::Map {
                names: NameRule::Common,
                of: &Shape::Either(&[TYPE, Shape::Record(&OPERATION_INPUT)]),
                what: "a mapping of input ports to types",
            },
            "its input ports",
        ),
        Field::new(
            "params",
            Shape::Map {
                names: NameRule::Common,
                of: &Shape::Either(&[
                    Shape::Leaf(Leaf::Word(SCALAR_TYPES)),
                    Shape::Record(&OPERATION_PARAMETER),
                ]),
                what: "a mapping of parameters to types",
            },
            "its parameters",
        ),
        Field::new(
            "outputs",
            Shape::Map {
                names: NameRule::Common,
                of: &Shape::Either(&[
                    Shape::Leaf(Leaf::Word(OUTPUT_TYPES)),
                    Shape::Record(&OPERATION_OUTPUT),
                ]),
                what: "a mapping of output ports to types",
            },
            "its output ports",
        ),
        Field::new(
            "env",
            Shape::Map {
                names: NameRule::Variable,
                of: &TEXT,
                what: "a mapping of variables to texts",
            },
            "variables of the environment",
        ),
        Field::new("stdin", TEXT, "what the program reads on standard input"),
        Field::new("stdout", PATH, "where standard output goes"),
        Field::new("stderr", PATH, "where standard error goes"),
        Field::new(
            "uses",
            Shape::list(&PATH, "a list of paths and patterns"),
            "scripts and other files it needs, relative to this file",
        ),
        Field::new(
            "resources",
            Shape::Record(&RESOURCES),
            "what a task occupies",
        ),
        Field::new(
            "timeout",
            Shape::Leaf(Leaf::Duration),
            "how long a task may take",
        ),
        Field::new(
            "retries",
            Shape::Leaf(Leaf::Whole(0)),
            "how often a failed task is tried again",
        ),
        Field::new(
            "pure",
            FLAG,
            "`false`: it always runs, and its results are never reused",
        ),
    ],
    one_of: &["command", "shell"],
    one_needed: true,
    others: None,
};

/// A workflow file.
pub(crate) static WORKFLOW: Table = Table::new(
    "a workflow file",
    &[
        Field::required("headwater", FORMAT, "the number of the format"),
        Field::required(
            "workflow",
            Shape::Leaf(Leaf::Name(NameRule::Common, "the name of the workflow")),
            "the name of the workflow",
        ),
        Field::new(
            "inputs",
            Shape::Map {
                names: NameRule::Common,
                of: &Shape::Either(&[TYPE, Shape::Record(&INPUT)]),
                what: "a mapping of input names to types",
            },
            "the data that comes from outside",
        ),
        Field::new(
            "parameters",
            Shape::Map {
                names: NameRule::Common,
                of: &Shape::Either(&[
                    Shape::Leaf(Leaf::Word(SCALAR_TYPES)),
                    Shape::Record(&PARAMETER),
                ]),
                what: "a mapping of parameter names to types",
            },
            "single values that can be set for a run or varied by a study",
        ),
        Field::required(
            "stages",
            Shape::Map {
                names: NameRule::Address,
                of: &STAGE_OR_TASKS,
                what: "a mapping of stage names to tasks",
            },
            "the steps of the workflow",
        ),
        Field::new(
            "outputs",
            Shape::Either(&[
                Shape::list(&OUTPUT_NAME, "a list of data names"),
                Shape::Map {
                    names: NameRule::Output,
                    of: &DATA_NAME,
                    what: "a mapping of output names to data names",
                },
            ]),
            "what is wanted; by default everything that no task reads",
        ),
        Field::new(
            "operations",
            Shape::Map {
                names: NameRule::Common,
                of: &Shape::Record(&OPERATION),
                what: "a mapping of operation names to programs",
            },
            "programs that the tasks of this file use",
        ),
    ],
);

/// The shape of a workflow file.
pub(crate) static WORKFLOW_SHAPE: Shape = Shape::Record(&WORKFLOW);

/// A data file.
pub(crate) static DATA: Table = Table {
    what: "a data file",
    fields: &[
        Field::new("headwater", FORMAT, "the number of the format"),
        Field::new(
            "inputs",
            Shape::Map {
                names: NameRule::Common,
                of: &Shape::Anything,
                what: "a mapping of input names to values",
            },
            "for each input a value, a list of values or a pattern",
        ),
        Field::new(
            "rows",
            Shape::list(
                &Shape::Map {
                    names: NameRule::Common,
                    of: &Shape::Anything,
                    what: "a row such as `{a: 1, b: 2}`",
                },
                "a list of rows",
            ),
            "items that belong together: one row after the other",
        ),
        Field::new(
            "parameters",
            Shape::Map {
                names: NameRule::Common,
                of: &LITERAL,
                what: "a mapping of parameter names to values",
            },
            "values for parameters of the workflow",
        ),
    ],
    one_of: &["inputs", "rows"],
    one_needed: false,
    others: None,
};

/// The shape of a data file.
pub(crate) static DATA_SHAPE: Shape = Shape::Record(&DATA);

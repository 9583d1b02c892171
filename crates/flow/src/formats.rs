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
/// The words that `identity` takes.
pub(crate) const IDENTITY_WORDS: &[&str] = &["content", "name"];
/// The words that `wait` takes.
pub(crate) const WAIT_WORDS: &[&str] = &["all"];
/// The words that `threads` takes.
pub(crate) const THREADS_WORDS: &[&str] = &["inherit"];
/// The words that `step` takes.
pub(crate) const STEP_WORDS: &[&str] = &["none"];

/// The words that `at` takes.
pub(crate) const AT_WORDS: &[&str] = &["default"];
/// The words that `levels` takes.
pub(crate) const LEVEL_WORDS: &[&str] = &["grid"];
/// The words that `design` takes.
pub(crate) const DESIGN_WORDS: &[&str] = &["random", "spread", "radial"];
/// The words that `step` of a screening takes.
pub(crate) const LENGTH_WORDS: &[&str] = &["actual", "nominal"];
/// The words that `sampler` takes.
pub(crate) const SAMPLER_WORDS: &[&str] = &["mc", "lhs", "halton", "sobol"];
/// The words that `parameters` of a study takes.
pub(crate) const PARAMETERS_WORDS: &[&str] = &["all"];

const RANGE: Shape = Shape::List {
    of: &NUMBER,
    what: "a range such as `[1, 10]`",
    least: 2,
    most: 2,
};
const STEP: Shape = Shape::Either(&[NUMBER, Shape::Leaf(Leaf::Word(STEP_WORDS))]);
const VALUES: Shape = Shape::List {
    of: &LITERAL,
    what: "a list of values to choose from",
    least: 1,
    most: usize::MAX,
};

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
        Field::new(
            "identity",
            Shape::Leaf(Leaf::Word(IDENTITY_WORDS)),
            "what its files are known by: what is in them, or what they are called",
        ),
    ],
);

/// A parameter of a workflow.
pub(crate) static PARAMETER: Table = Table::new(
    "a parameter",
    &[
        Field::required("type", Shape::Leaf(Leaf::Word(PARAMETER_TYPES)), "its type"),
        Field::new("range", RANGE, "lower and upper end, for studies"),
        Field::new(
            "step",
            STEP,
            "distance between the values that studies use; `none` for all values in the range",
        ),
        Field::new("default", LITERAL, "the value it has when none is given"),
        Field::new("values", VALUES, "the values of a choice"),
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
    synonyms: &[],
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
    synonyms: &[],
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
            "threads",
            Shape::Leaf(Leaf::Word(THREADS_WORDS)),
            "`inherit`: variables such as OMP_NUM_THREADS are passed on, not set to its cores",
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
    synonyms: &[],
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
            OPERATIONS,
            "programs that the tasks of this file use",
        ),
    ],
);

const OPERATIONS: Shape = Shape::Map {
    names: NameRule::Common,
    of: &Shape::Record(&OPERATION),
    what: "a mapping of operation names to programs",
};

/// A file of operations alone.
pub(crate) static PROGRAMS: Table = Table::new(
    "a file of operations",
    &[
        Field::required("headwater", FORMAT, "the number of the format"),
        Field::required("operations", OPERATIONS, "the programs"),
    ],
);

/// When products are given to a group.
pub(crate) const PUBLISH_WORDS: &[&str] = &["always", "asked"];

/// What settings say of the store.
pub(crate) static STORE: Table = Table::new(
    "a store",
    &[
        Field::new(
            "own",
            Shape::Leaf(Leaf::Text("the path of a folder")),
            "the folder of your own store, relative to this file; by default the nearest .headwater",
        ),
        Field::new(
            "group",
            Shape::Leaf(Leaf::Text(
                "a URL such as `postgresql://USER@HOST/DATABASE`",
            )),
            "the store of your group, behind your own; no password belongs here",
        ),
        Field::new(
            "objects",
            Shape::Leaf(Leaf::Text(
                "the whole path of a folder, or a URL such as `s3://BUCKET/PREFIX`",
            )),
            "where this machine finds the objects of the group; by default where the store says",
        ),
        Field::new(
            "publish",
            Shape::Leaf(Leaf::Word(PUBLISH_WORDS)),
            "`always` gives products to the group at once, `asked` only by `headwater products push`; by default `always`",
        ),
        Field::new(
            "trust",
            Shape::list(
                &Shape::Leaf(Leaf::Text("the name of a role")),
                "a list of roles of the database",
            ),
            "whose products of the group are reused; by default everybody's",
        ),
        Field::new(
            "wait",
            Shape::Leaf(Leaf::Duration),
            "how long to wait for a group that cannot be reached; by default 30s",
        ),
        Field::new(
            "spool",
            Shape::Leaf(Leaf::Size),
            "how many bytes of products may wait for a group that cannot be reached; by default 16GiB",
        ),
    ],
);

/// A settings file.
pub(crate) static SETTINGS: Table = Table::new(
    "a settings file",
    &[
        Field::required("headwater", FORMAT, "the number of the format"),
        Field::required(
            "store",
            Shape::Either(&[
                Shape::Leaf(Leaf::Text(
                    "a URL such as `postgresql://USER@HOST/DATABASE`",
                )),
                Shape::Record(&STORE),
            ]),
            "the store that products are kept in: the URL of the store of your group, or more about it",
        ),
    ],
);

/// The shape of a settings file.
pub(crate) static SETTINGS_SHAPE: Shape = Shape::Record(&SETTINGS);

/// The shape of a file of operations alone.
pub(crate) static PROGRAMS_SHAPE: Shape = Shape::Record(&PROGRAMS);

/// The shape of a workflow file.
pub(crate) static WORKFLOW_SHAPE: Shape = Shape::Record(&WORKFLOW);

/// Items that belong together.
const ROWS: Shape = Shape::list(
    &Shape::Map {
        names: NameRule::Common,
        of: &Shape::Anything,
        what: "a row such as `{a: 1, b: 2}`",
    },
    "a list of rows",
);

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
            ROWS,
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
    synonyms: &[],
};

/// The shape of a data file.
pub(crate) static DATA_SHAPE: Shape = Shape::Record(&DATA);

/// What a study says about one parameter.
pub(crate) static OVERRIDE: Table = Table::new(
    "a parameter of a study",
    &[
        Field::new(
            "range",
            RANGE,
            "lower and upper end, instead of the workflow's",
        ),
        Field::new(
            "step",
            STEP,
            "distance between the values, instead of the workflow's; `none` for every number in the range",
        ),
        Field::new(
            "values",
            VALUES,
            "the values to choose from, instead of range and step",
        ),
        Field::new(
            "value",
            LITERAL,
            "one value for the whole study: the parameter is not varied",
        ),
    ],
);

/// `{output: NAME, at: default}`.
pub(crate) static REFERENCE: Table = Table::new(
    "a reference to an output",
    &[
        Field::required(
            "output",
            Shape::Leaf(Leaf::Name(NameRule::Output, "the name of an output")),
            "the output of the workflow that the input gets",
        ),
        Field::new(
            "at",
            Shape::Leaf(Leaf::Word(AT_WORDS)),
            "the parameter values at which the output is computed; only `default` is possible",
        ),
    ],
);

/// The shape of a reference.
pub(crate) static REFERENCE_SHAPE: Shape = Shape::Record(&REFERENCE);

const BOOTSTRAP: Field = Field::new(
    "bootstrap",
    Shape::Leaf(Leaf::Whole(0)),
    "how many resamples the intervals come from; 0 for no intervals; by default 100",
);
const CONFIDENCE: Field = Field::new(
    "confidence",
    NUMBER,
    "the share that the intervals cover, between 0 and 1; by default 0.95",
);

/// One-at-a-time screening.
pub(crate) static MOAT: Table = Table::new(
    "`moat`",
    &[
        Field::new(
            "trajectories",
            Shape::Leaf(Leaf::Whole(1)),
            "how many trajectories; by default 10",
        ),
        Field::new(
            "levels",
            Shape::Either(&[
                Shape::Leaf(Leaf::Whole(2)),
                Shape::Leaf(Leaf::Word(LEVEL_WORDS)),
            ]),
            "the number of values (levels) of a parameter: an even number, or `grid` for all values of its own grid; by default 20",
        ),
        Field::new(
            "design",
            Shape::Leaf(Leaf::Word(DESIGN_WORDS)),
            "how trajectories are chosen; by default `random`",
        ),
        Field::new(
            "step",
            Shape::Leaf(Leaf::Word(LENGTH_WORDS)),
            "what effects are divided by: the step that was taken, or the nominal one of the levels; by default `actual`",
        ),
        BOOTSTRAP,
        CONFIDENCE,
    ],
);

/// Decomposition of variance.
pub(crate) static VBD: Table = Table::new(
    "`vbd`",
    &[
        Field::required(
            "samples",
            Shape::Leaf(Leaf::Whole(1)),
            "how many base points",
        ),
        Field::new(
            "sampler",
            Shape::Leaf(Leaf::Word(SAMPLER_WORDS)),
            "how base points are drawn; by default `sobol`",
        ),
        Field::new(
            "second-order",
            FLAG,
            "whether effects of pairs are wanted as well",
        ),
        BOOTSTRAP,
        CONFIDENCE,
    ],
);

/// What other programs call the methods.
const METHOD_SYNONYMS: &[(&str, &str)] =
    &[("morris", "moat"), ("sobol", "vbd"), ("saltelli", "vbd")];

const MOAT_FIELD: Shape = Shape::Maybe(&Shape::Record(&MOAT));

/// The first of two phases.
pub(crate) static SCREEN: Table = Table::new(
    "`screen`",
    &[Field::required("moat", MOAT_FIELD, "the screening")],
)
.with_synonyms(METHOD_SYNONYMS);

/// The second of two phases.
pub(crate) static THEN: Table = Table::new(
    "`then`",
    &[Field::required(
        "vbd",
        Shape::Record(&VBD),
        "the decomposition of variance",
    )],
)
.with_synonyms(METHOD_SYNONYMS);

/// Screening, then a decomposition of what matters.
pub(crate) static TWO_PHASE: Table = Table::new(
    "`two-phase`",
    &[
        Field::required(
            "screen",
            Shape::Record(&SCREEN),
            "the screening of all parameters",
        ),
        Field::required(
            "keep",
            Shape::Leaf(Leaf::Whole(1)),
            "how many parameters, those with the largest effects, the second phase keeps",
        ),
        Field::required("then", Shape::Record(&THEN), "what is done with those"),
    ],
);

/// How a study draws its samples.
pub(crate) static METHOD: Table = Table {
    what: "`method`",
    fields: &[
        Field::new(
            "moat",
            MOAT_FIELD,
            "screening by changing one parameter at a time",
        ),
        Field::new(
            "vbd",
            Shape::Record(&VBD),
            "decomposition of variance (Sobol' indices)",
        ),
        Field::new(
            "two-phase",
            Shape::Record(&TWO_PHASE),
            "screening of all, then a decomposition of variance of those that matter",
        ),
        Field::new(
            "table",
            Shape::Leaf(Leaf::Text("the path of a table")),
            "samples of your own: a table whose columns are parameters",
        ),
    ],
    one_of: &["moat", "vbd", "two-phase", "table"],
    one_needed: true,
    others: None,
    synonyms: METHOD_SYNONYMS,
};

/// When a study has seen enough.
pub(crate) static UNTIL: Table = Table::new(
    "`until`",
    &[Field::required(
        "ci",
        NUMBER,
        "how wide half an interval may be, between 0 and 1: of S1 and ST, and of μ* as a part of the largest",
    )],
);

/// A study file.
pub(crate) static STUDY: Table = Table::new(
    "a study file",
    &[
        Field::required("headwater", FORMAT, "the number of the format"),
        Field::required(
            "study",
            Shape::Leaf(Leaf::Name(NameRule::Common, "the name of the study")),
            "the name of the study",
        ),
        Field::required(
            "workflow",
            Shape::Leaf(Leaf::Text("the path of a workflow file")),
            "the path of the workflow file, relative to this file",
        ),
        Field::new(
            "data",
            Shape::Leaf(Leaf::Text("the path of a data file")),
            "a data file (YAML, JSON or CSV) for the inputs that neither `inputs` nor `rows` names",
        ),
        Field::new(
            "inputs",
            Shape::Either(&[
                Shape::Leaf(Leaf::Text("the path of a data file")),
                Shape::Map {
                    names: NameRule::Common,
                    of: &Shape::Anything,
                    what: "a mapping of input names to values",
                },
            ]),
            "for each input a value, a list of values, a pattern or `{output: NAME, at: default}`",
        ),
        Field::new(
            "rows",
            ROWS,
            "items that belong together, such as a file and its own reference: one row after the other",
        ),
        Field::new(
            "parameters",
            Shape::Either(&[
                Shape::Leaf(Leaf::Word(PARAMETERS_WORDS)),
                Shape::List {
                    of: &Shape::Leaf(Leaf::Name(NameRule::Common, "the name of a parameter")),
                    what: "a list of parameter names",
                    least: 1,
                    most: usize::MAX,
                },
                Shape::Map {
                    names: NameRule::Common,
                    of: &Shape::Maybe(&Shape::Record(&OVERRIDE)),
                    what: "a mapping of parameter names to ranges or values",
                },
            ]),
            "which parameters are varied; by default all that have a range or values",
        ),
        Field::required(
            "objective",
            Shape::Leaf(Leaf::Name(NameRule::Output, "the name of an output")),
            "the output of the workflow that is studied",
        ),
        Field::required("method", Shape::Record(&METHOD), "how samples are drawn"),
        Field::new(
            "seed",
            Shape::Leaf(Leaf::Whole(0)),
            "what random choices start from; by default 42",
        ),
        Field::new(
            "until",
            Shape::Record(&UNTIL),
            "when the study stops; by default after all evaluations",
        ),
    ],
);

/// The shape of a study file.
pub(crate) static STUDY_SHAPE: Shape = Shape::Record(&STUDY);

/// The types of arguments in stage descriptors.
pub(crate) const DESCRIPTOR_TYPES: &[&str] = &[
    "dr",
    "uchar",
    "int",
    "double",
    "float",
    "float_array",
    "mat",
    "mat_vect",
];
/// The directions of arguments in stage descriptors.
pub(crate) const DESCRIPTOR_DIRECTIONS: &[&str] = &["input", "output", "forward"];

/// An argument in a stage descriptor.
pub(crate) static DESCRIPTOR_ARGUMENT: Table = Table::new(
    "an argument",
    &[
        Field::required("name", DATA_NAME, "its name"),
        Field::required(
            "type",
            Shape::Leaf(Leaf::Word(DESCRIPTOR_TYPES)),
            "its type",
        ),
        Field::new(
            "io",
            Shape::Leaf(Leaf::Word(DESCRIPTOR_DIRECTIONS)),
            "whether it is read, made, or passed on",
        ),
        Field::new(
            "default",
            LITERAL,
            "the value of a scalar when none is given",
        ),
    ],
);

const DESCRIPTOR_ARGUMENTS: Shape = Shape::List {
    of: &Shape::Record(&DESCRIPTOR_ARGUMENT),
    what: "a list of arguments",
    least: 0,
    most: usize::MAX,
};

/// A task in a stage descriptor.
pub(crate) static DESCRIPTOR_TASK: Table = Table::new(
    "a task",
    &[
        Field::required(
            "call",
            Shape::Leaf(Leaf::Text("the name of a function")),
            "the function it calls, such as `::library::Group::function`",
        ),
        Field::new("args", DESCRIPTOR_ARGUMENTS, "scalars and data regions"),
        Field::new(
            "intertask_args",
            DESCRIPTOR_ARGUMENTS,
            "what tasks of the stage give each other",
        ),
    ],
);

/// A stage descriptor.
pub(crate) static DESCRIPTOR: Table = Table::new(
    "a stage descriptor",
    &[
        Field::required(
            "name",
            Shape::Leaf(Leaf::Name(NameRule::Address, "the name of the stage")),
            "the name of the stage",
        ),
        Field::new(
            "includes",
            TEXT,
            "what its source code includes; it is not used",
        ),
        Field::new(
            "dr_args",
            DESCRIPTOR_ARGUMENTS,
            "the data regions that it reads and makes",
        ),
        Field::required(
            "tasks",
            Shape::list(&Shape::Record(&DESCRIPTOR_TASK), "a list of tasks"),
            "what the stage does",
        ),
    ],
);

/// The shape of a stage descriptor.
pub(crate) static DESCRIPTOR_SHAPE: Shape = Shape::Record(&DESCRIPTOR);

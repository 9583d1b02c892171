//! Recipes: the golden vectors of `docs/recipe.md`, and what a recipe depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{
    Digest, External, FileValue, Handle, Identity, NewTask, Operation, Recipe, RecipeBuilder,
    Scalar, ScalarType, Signature, Source, TaskGraph, Type, Value, value_digest,
};
use proptest::prelude::*;

use crate::support::operation;

const DOCUMENT: &str = include_str!("../../../../docs/recipe.md");

/// The vectors: a name, and what is written for it.
fn vectors() -> Vec<(&'static str, RecipeBuilder)> {
    let hello = Digest::of(b"hello");
    let build = |write: &dyn Fn(&mut RecipeBuilder)| {
        let mut builder = RecipeBuilder::new();
        write(&mut builder);
        builder
    };
    let nothing = build(&|builder| {
        builder.begin("now", "1");
        builder.parameters(0);
        builder.inputs(0);
    });
    let first = nothing.finish();
    vec![
        ("nothing", nothing),
        (
            "parameters",
            build(&|builder| {
                builder.begin("lib/op", "2.1");
                builder.parameters(5);
                builder.parameter("a", &Scalar::Bool(true)).unwrap();
                builder.parameter("b", &Scalar::Int(-1)).unwrap();
                builder.parameter("c", &Scalar::Float(-0.0)).unwrap();
                builder.parameter("d", &Scalar::Float(2.5)).unwrap();
                builder.parameter("e", &Scalar::Text("é".into())).unwrap();
                builder.inputs(0);
            }),
        ),
        (
            "file",
            build(&|builder| {
                builder.begin("lib/op", "1");
                builder.parameters(0);
                builder.inputs(1);
                builder.port("image");
                builder.external(&Identity::File(hello));
            }),
        ),
        (
            "other externals",
            build(&|builder| {
                builder.begin("lib/op", "1");
                builder.parameters(0);
                builder.inputs(3);
                builder.port("a");
                builder.external(&Identity::Directory(hello));
                builder.port("b");
                builder.external(&Identity::Value(hello));
                builder.port("c");
                builder.external(&Identity::Name("atlas/v1".into()));
            }),
        ),
        (
            "product",
            build(&|builder| {
                builder.begin("lib/op", "1");
                builder.parameters(0);
                builder.inputs(1);
                builder.port("image");
                builder.product(&first, "out");
            }),
        ),
        (
            "list and record",
            build(&|builder| {
                builder.begin("lib/op", "1");
                builder.parameters(0);
                builder.inputs(2);
                builder.port("list");
                builder.list(2);
                builder.product(&first, "out");
                builder.external(&Identity::File(hello));
                builder.port("record");
                builder.record(1);
                builder.port("key");
                builder.product(&first, "out");
            }),
        ),
        (
            "impure",
            build(&|builder| {
                builder.begin("now", "1");
                builder.parameters(0);
                builder.inputs(0);
                builder.address("clock.now[0]");
            }),
        ),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The vectors as the document lists them: name → (bytes, recipe), in hexadecimal digits without blanks.
fn documented() -> BTreeMap<String, (String, String)> {
    let mut found = BTreeMap::new();
    for section in DOCUMENT.split("\n### Vector: ").skip(1) {
        let name = section.lines().next().unwrap().trim().to_owned();
        let block = section.split("```").nth(1).expect("a block of digits");
        let (bytes, recipe) = block
            .split_once("recipe:")
            .expect("`recipe:` after the bytes");
        let digits = |text: &str| {
            text.chars()
                .filter(char::is_ascii_hexdigit)
                .collect::<String>()
        };
        let bytes = bytes.split_once("bytes:").expect("`bytes:`").1;
        found.insert(name, (digits(bytes), digits(recipe)));
    }
    found
}

#[test]
fn the_document_and_the_code_have_the_same_vectors() {
    let mut expected = BTreeMap::new();
    let mut sections = String::new();
    for (name, builder) in vectors() {
        let (bytes, recipe) = (hex(builder.encoding()), builder.finish().hex());
        let lines: Vec<&str> = bytes
            .as_bytes()
            .chunks(64)
            .map(|line| std::str::from_utf8(line).unwrap())
            .collect();
        sections += &format!(
            "### Vector: {name}\n\n```\nbytes:\n{}\nrecipe:\n{recipe}\n```\n\n",
            lines.join("\n")
        );
        expected.insert(name.to_owned(), (bytes, recipe));
    }
    assert_eq!(
        documented(),
        expected,
        "the document should have:\n\n{sections}"
    );
}

/// The recipes of the document follow from its bytes with nothing but BLAKE3.
#[test]
fn a_recipe_is_the_digest_of_its_encoding() {
    for (bytes, recipe) in documented().values() {
        let bytes: Vec<u8> = (0..bytes.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&bytes[at..at + 2], 16).unwrap())
            .collect();
        assert_eq!(Digest::of(&bytes).hex(), *recipe);
    }
}

/// The graph writes what the document says.
#[test]
fn the_graph_writes_the_documented_encoding() {
    let mut graph = TaskGraph::new();
    let signature = Signature::new("lib/op", "1")
        .input("image", Type::Any)
        .output("out", Type::Any);
    let operation = graph.operation(&Arc::new(operation(signature)));
    let identity = Identity::File(Digest::of(b"hello"));
    let source = graph.external(External {
        identity,
        value: Value::Null,
    });
    let new = NewTask {
        operation,
        parameters: &[],
        inputs: &[(0, source)],
        address: "",
    };
    let (task, _) = graph.add(&new).unwrap();
    assert_eq!(graph.recipe(task).hex(), documented()["file"].1);
}

#[test]
fn invariant_2_minus_zero_is_zero_and_not_a_number_is_refused() {
    let recipe = |number: f64| {
        let mut builder = RecipeBuilder::new();
        builder.begin("op", "1");
        builder.parameters(1);
        builder
            .parameter("x", &Scalar::Float(number))
            .map(|()| builder.finish())
    };
    assert_eq!(recipe(0.0), recipe(-0.0));
    assert_ne!(recipe(0.0), recipe(f64::MIN_POSITIVE));
    assert!(recipe(f64::NAN).is_err());
}

/// Two outputs of one task, bound to two ports: exchanging them is another computation.
#[test]
fn invariant_2_swapping_two_outputs_of_one_task_changes_the_recipe() {
    let mut graph = TaskGraph::new();
    let make = Signature::new("make", "1")
        .output("x", Type::Any)
        .output("y", Type::Any);
    let read = Signature::new("read", "1")
        .input("a", Type::Any)
        .input("b", Type::Any);
    let (make, read) = (Arc::new(operation(make)), Arc::new(operation(read)));
    let (make, read) = (graph.operation(&make), graph.operation(&read));
    let (made, _) = graph
        .add(&NewTask {
            operation: make,
            parameters: &[],
            inputs: &[],
            address: "",
        })
        .unwrap();
    let mut add = |a: u16, b: u16| {
        let inputs = [
            (
                0,
                Source::Product {
                    task: made,
                    port: a,
                },
            ),
            (
                1,
                Source::Product {
                    task: made,
                    port: b,
                },
            ),
        ];
        graph
            .add(&NewTask {
                operation: read,
                parameters: &[],
                inputs: &inputs,
                address: "",
            })
            .unwrap()
            .0
    };
    assert_ne!(add(0, 1), add(1, 0));
    assert_eq!(add(0, 1), add(0, 1));
}

/// One task, described in all its parts.
#[derive(Debug, Clone, PartialEq)]
struct Described {
    name: String,
    version: String,
    parameters: BTreeMap<String, Scalar>,
    /// Port → (content of a text from outside); `None` is an optional port left unbound.
    inputs: BTreeMap<String, Option<String>>,
}

/// What must not matter.
#[derive(Debug, Clone, Default)]
struct Circumstances {
    reversed: bool,
    retries: Option<u32>,
    cores: Option<u64>,
    seconds: Option<u64>,
    keep: Option<bool>,
    /// How the values can be got at.
    handle: u8,
    /// Tasks that were in the graph before.
    before: usize,
    address: String,
}

fn external(content: &str, handle: u8) -> External {
    let digest = Digest::of(content.as_bytes());
    let handle = match handle % 3 {
        0 => Handle::Memory(content.as_bytes().into()),
        1 => Handle::Path(std::path::Path::new("somewhere").into()),
        _ => Handle::Stored,
    };
    let file = FileValue {
        digest,
        size: content.len() as u64,
        name: None,
        executable: false,
        handle,
    };
    External {
        identity: Identity::File(digest),
        value: Value::File(Arc::new(file)),
    }
}

fn recipe_of(task: &Described, circumstances: &Circumstances) -> Recipe {
    let mut graph = TaskGraph::new();
    let filler = Signature::new("filler", "1").parameter("n", ScalarType::Int, None);
    let filler = graph.operation(&Arc::new(operation(filler)));
    for number in 0..circumstances.before {
        let parameters = [Scalar::Int(number as i64)];
        graph
            .add(&NewTask {
                operation: filler,
                parameters: &parameters,
                inputs: &[],
                address: "",
            })
            .unwrap();
        graph.external(external("noise", 0));
    }
    let mut signature = Signature::new(&task.name, &task.version).output("out", Type::Any);
    let mut parameters: Vec<_> = task.parameters.iter().collect();
    let mut inputs: Vec<_> = task.inputs.keys().collect();
    if circumstances.reversed {
        parameters.reverse();
        inputs.reverse();
    }
    for (name, value) in parameters {
        signature = signature.parameter(name, value.scalar_type(), None);
    }
    for port in inputs {
        signature = signature.input(port, Type::Any);
    }
    signature
        .inputs
        .iter_mut()
        .for_each(|port| port.optional = true);
    signature.outputs[0].keep = circumstances.keep;
    signature.retries = circumstances.retries;
    signature.timeout = circumstances.seconds.map(std::time::Duration::from_secs);
    if let Some(cores) = circumstances.cores {
        signature.resources.0.insert("cores".into(), cores);
    }
    let bound: Vec<(u16, Source)> = task
        .inputs
        .values()
        .enumerate()
        .filter_map(|(port, content)| {
            let source = graph.external(external(content.as_ref()?, circumstances.handle));
            Some((port as u16, source))
        })
        .collect();
    let values: Vec<Scalar> = task.parameters.values().cloned().collect();
    let operation: Arc<Operation> = Arc::new(operation(signature));
    let operation = graph.operation(&operation);
    let address = &circumstances.address;
    let new = NewTask {
        operation,
        parameters: &values,
        inputs: &bound,
        address,
    };
    let (id, _) = graph.add(&new).unwrap();
    graph.recipe(id)
}

fn scalars() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        any::<bool>().prop_map(Scalar::Bool),
        (-3i64..3).prop_map(Scalar::Int),
        (-3i32..3).prop_map(|number| Scalar::Float(f64::from(number))),
        "[ab]{0,2}".prop_map(|text| Scalar::Text(text.as_str().into())),
    ]
}

fn described() -> impl Strategy<Value = Described> {
    (
        "[ab]{1,2}",
        "[12]{0,2}",
        proptest::collection::btree_map("[xy]{1,2}", scalars(), 0..3),
        proptest::collection::btree_map(
            "[pq]{1,2}",
            proptest::option::weighted(0.8, "[ab]{0,2}"),
            0..3,
        ),
    )
        .prop_map(|(name, version, parameters, inputs)| Described {
            name,
            version,
            parameters,
            inputs,
        })
}

fn circumstances() -> impl Strategy<Value = Circumstances> {
    let options = (
        any::<Option<u32>>(),
        any::<Option<u64>>(),
        any::<Option<u64>>(),
        any::<Option<bool>>(),
    );
    (any::<bool>(), options, any::<u8>(), 0usize..4, ".{0,8}").prop_map(
        |(reversed, (retries, cores, seconds, keep), handle, before, address)| Circumstances {
            reversed,
            retries,
            cores,
            seconds,
            keep,
            handle,
            before,
            address,
        },
    )
}

impl Described {
    /// What counts: unbound ports do not.
    fn meaning(&self) -> Described {
        let mut meaning = self.clone();
        meaning.inputs.retain(|_, content| content.is_some());
        meaning
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    /// Two tasks have the same recipe exactly when operation, version, parameters, and ports with the
    /// identities bound to them are the same; nothing else matters.
    #[test]
    fn invariant_2_a_recipe_depends_on_what_is_computed_and_nothing_else(
        one in described(),
        other in described(),
        how in circumstances(),
        otherwise in circumstances(),
    ) {
        prop_assert_eq!(recipe_of(&one, &how), recipe_of(&one, &otherwise));
        let same = one.meaning() == other.meaning();
        prop_assert_eq!(recipe_of(&one, &how) == recipe_of(&other, &otherwise), same);
    }

    /// Each part on its own.
    #[test]
    fn invariant_2_every_part_counts(task in described(), how in circumstances()) {
        let base = recipe_of(&task, &how);
        let change = |change: &dyn Fn(&mut Described)| {
            let mut changed = task.clone();
            change(&mut changed);
            recipe_of(&changed, &how)
        };
        prop_assert_ne!(base, change(&|task| task.name.push('a')));
        prop_assert_ne!(base, change(&|task| task.version.push('1')));
        prop_assert_ne!(base, change(&|task| { task.parameters.insert("new".into(), Scalar::Int(0)); }));
        prop_assert_ne!(base, change(&|task| { task.inputs.insert("new".into(), Some("a".into())); }));
        prop_assert_eq!(base, change(&|task| { task.inputs.insert("new".into(), None); }));
    }

    /// The order of the items of a list counts.
    #[test]
    fn invariant_2_lists_are_in_order(items in proptest::collection::vec("[ab]{1,2}", 0..4)) {
        let recipe = |items: &[String]| {
            let mut graph = TaskGraph::new();
            let signature = Signature::new("op", "1").input("list", Type::Any.list());
            let operation = graph.operation(&Arc::new(operation(signature)));
            let sources = items.iter().map(|item| graph.external(external(item, 0))).collect();
            let inputs = [(0, Source::List(Arc::new(sources)))];
            let (id, _) = graph.add(&NewTask { operation, parameters: &[], inputs: &inputs, address: "" }).unwrap();
            graph.recipe(id)
        };
        let mut reversed = items.clone();
        reversed.reverse();
        prop_assert_eq!(recipe(&items) == recipe(&reversed), items == reversed);
    }
}

#[test]
fn recipes_and_digests_have_hexadecimal_names() {
    let recipe = vectors()[0].1.finish();
    assert_eq!(recipe.hex().parse(), Ok(recipe));
    assert_eq!(recipe.short().len(), 12);
    assert!(recipe.hex().starts_with(&recipe.short()));
    let error = "xyz".parse::<Recipe>().unwrap_err();
    assert_eq!(error.to_string(), "`xyz` is not 64 hexadecimal digits");
    let value = Value::Int(1);
    assert_ne!(value_digest(&value).hex(), recipe.hex());
}

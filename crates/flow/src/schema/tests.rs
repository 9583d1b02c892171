//! The printed JSON Schema against files: it accepts those that are right, and refuses wrong fields.
//!
//! The reader is checked against the same shapes, so only the printing can go wrong; a small evaluator of
//! the words that are printed is enough to see that.

use serde_json::{Value, json};

use crate::parse::parse;
use crate::report::Report;
use crate::scalar;
use crate::schema::{
    data_schema, descriptor_schema, operations_schema, study_schema, workflow_schema,
};
use crate::source::Source;
use crate::starter::{StarterFile, starter_study, starter_workflow};
use crate::tree::{Kind, Node};

/// A file as other programs see it, which read YAML into JSON.
fn as_json(text: &str) -> Value {
    fn value(node: &Node) -> Value {
        match &node.kind {
            Kind::Sequence(items) => items.iter().map(value).collect(),
            Kind::Mapping(entries) => entries
                .iter()
                .map(|(key, node)| (key.text().expect("a key").to_string(), value(node)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Kind::Scalar { text, plain: false } => json!(&**text),
            Kind::Scalar { text, plain: true } => match scalar::plain(text) {
                scalar::Plain::Null => Value::Null,
                scalar::Plain::Value(headwater_graph::Scalar::Bool(flag)) => json!(flag),
                scalar::Plain::Value(headwater_graph::Scalar::Int(number)) => json!(number),
                scalar::Plain::Value(headwater_graph::Scalar::Float(number)) => json!(number),
                _ => json!(&**text),
            },
        }
    }
    let tree = parse(&Source::new(text), &mut Report::default());
    value(&tree.root.expect("the file has something in it"))
}

fn accepts(schema: &Value, value: &Value) -> bool {
    let Value::Object(words) = schema else {
        return schema
            .as_bool()
            .expect("a schema is an object or a truth value");
    };
    words.iter().all(|(word, wanted)| match word.as_str() {
        "$schema" | "title" | "description" | "pattern" | "propertyNames" => true,
        "type" => match wanted {
            Value::Array(types) => types.iter().any(|wanted| is_of(wanted, value)),
            wanted => is_of(wanted, value),
        },
        "const" => value == wanted,
        "enum" => wanted.as_array().is_some_and(|words| words.contains(value)),
        "minimum" => value
            .as_f64()
            .is_none_or(|number| Some(number) >= wanted.as_f64()),
        "exclusiveMinimum" => value
            .as_f64()
            .is_none_or(|number| Some(number) > wanted.as_f64()),
        "minItems" => value
            .as_array()
            .is_none_or(|items| Some(items.len() as u64) >= wanted.as_u64()),
        "maxItems" => value
            .as_array()
            .is_none_or(|items| Some(items.len() as u64) <= wanted.as_u64()),
        "items" => value
            .as_array()
            .is_none_or(|items| items.iter().all(|item| accepts(wanted, item))),
        "properties" => value.as_object().is_none_or(|fields| {
            fields
                .iter()
                .all(|(name, field)| wanted.get(name).is_none_or(|wanted| accepts(wanted, field)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|fields| {
            let known = |name: &String| {
                words
                    .get("properties")
                    .is_some_and(|known| known.get(name).is_some())
            };
            fields
                .iter()
                .all(|(name, field)| known(name) || accepts(wanted, field))
        }),
        "required" => value.as_object().is_none_or(|fields| {
            let names = wanted.as_array().expect("a list of names");
            names
                .iter()
                .all(|name| fields.contains_key(name.as_str().expect("a name")))
        }),
        "anyOf" => wanted
            .as_array()
            .expect("a list")
            .iter()
            .any(|option| accepts(option, value)),
        "oneOf" => {
            wanted
                .as_array()
                .expect("a list")
                .iter()
                .filter(|option| accepts(option, value))
                .count()
                == 1
        }
        "not" => !accepts(wanted, value),
        other => panic!("the schema uses `{other}`, which this test does not know"),
    })
}

fn is_of(wanted: &Value, value: &Value) -> bool {
    match wanted.as_str().expect("a type has a name") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("there is no type `{other}`"),
    }
}

fn workflow() -> Value {
    serde_json::from_str(include_str!("../../fixtures/text.json")).expect("the file is JSON")
}

#[test]
fn right_files_are_accepted() {
    let mut file = workflow();
    assert!(accepts(&workflow_schema(), &file));
    file["parameters"] = json!({
        "B": {"type": "int", "range": [1, 2], "step": "none", "default": 1},
        "C": {"type": "choice", "values": [4, 8]},
        "D": "float",
    });
    file["stages"]["sort"]["wait"] = json!({"per": "text"});
    file["stages"]["sort"]["tolerate"] = json!("5%");
    file["stages"]["sort"]["after"] = json!(["count"]);
    file["operations"]["sort"]["resources"] = json!({"cores": 2, "memory": "1GiB", "gpu": 1});
    file["operations"]["sort"]["threads"] = json!("inherit");
    file["operations"]["sort"]["timeout"] = json!("10m");
    file["operations"]["sort"]["version"] = json!({"command": ["sort", "--version"]});
    assert!(accepts(&workflow_schema(), &file));
    let data = json!({"rows": [{"a": 1}, {"a": [1, 2]}], "parameters": {"B": 3}});
    assert!(accepts(&data_schema(), &data));
    assert!(accepts(
        &data_schema(),
        &json!({"inputs": {"a": "*.png", "b": null}})
    ));
}

#[test]
fn patterns_are_read_by_every_validator() {
    let all = [
        workflow_schema(),
        data_schema(),
        study_schema(),
        operations_schema(),
        descriptor_schema(),
    ];
    for schema in all {
        let text = schema.to_string();
        assert!(text.contains("\\\\x7f"));
        assert!(!text.contains("\\\\p"));
    }
}

#[test]
fn wrong_files_are_refused() {
    let check = |change: fn(&mut Value)| {
        let mut file = workflow();
        change(&mut file);
        assert!(!accepts(&workflow_schema(), &file), "{file}");
    };
    check(|file| file["headwater"] = json!(2));
    check(|file| file["stagess"] = json!({}));
    check(|file| file["stages"]["sort"]["task"] = json!([]));
    check(|file| file["stages"]["sort"]["after"] = json!("count"));
    check(|file| file["stages"]["sort"]["wait"] = json!("some"));
    check(|file| file["stages"]["sort"]["tasks"][0] = json!({"in": {}}));
    check(|file| file["operations"]["sort"]["shell"] = json!("sort"));
    check(|file| file["operations"]["sort"]["command"] = json!([]));
    check(|file| file["operations"]["sort"]["retries"] = json!(-1));
    check(|file| file["operations"]["sort"]["threads"] = json!("all"));
    check(|file| file["operations"]["count"]["outputs"]["lines"]["glob"] = json!("*"));
    check(|file| {
        file.as_object_mut()
            .expect("a file is an object")
            .remove("stages");
    });
    assert!(!accepts(&data_schema(), &json!({"inputs": {}, "rows": []})));
    assert!(!accepts(&data_schema(), &json!({"input": {}})));
}

fn study() -> Value {
    json!({
        "headwater": 1,
        "study": "s",
        "workflow": "w.yaml",
        "inputs": {"tile": "*.png", "reference": {"output": "mask", "at": "default"}},
        "parameters": {"A": {"range": [1, 2], "step": "none"}, "B": null, "C": {"value": true}},
        "objective": "dice",
        "method": {"moat": {"levels": "grid"}},
        "seed": 7,
        "until": {"ci": 0.05},
    })
}

#[test]
fn right_studies_are_accepted() {
    let mut file = study();
    assert!(accepts(&study_schema(), &file));
    for parameters in [json!("all"), json!(["A"]), json!(null)] {
        file["parameters"] = parameters;
        assert!(accepts(&study_schema(), &file));
    }
    file["inputs"] = json!("rows.csv");
    for method in [
        json!({"moat": null}),
        json!({"vbd": {"samples": 128, "second-order": true}}),
        json!({"two-phase": {"screen": {"moat": {}}, "keep": 8, "then": {"vbd": {"samples": 8}}}}),
        json!({"table": "samples.csv"}),
    ] {
        file["method"] = method;
        assert!(accepts(&study_schema(), &file), "{file}");
    }
}

#[test]
fn wrong_studies_are_refused() {
    let check = |change: fn(&mut Value)| {
        let mut file = study();
        change(&mut file);
        assert!(!accepts(&study_schema(), &file), "{file}");
    };
    check(|file| file["objectives"] = json!("dice"));
    check(|file| file["parameters"] = json!([]));
    check(|file| file["parameters"] = json!({"A": {"rang": [1, 2]}}));
    check(|file| file["method"] = json!({}));
    check(|file| file["method"] = json!({"moat": {}, "table": "a.csv"}));
    check(|file| file["method"] = json!({"vbd": {}}));
    check(|file| file["until"] = json!({}));
    check(|file| file["until"] = json!(0.05));
    check(|file| file["until"] = json!({"ci": "narrow"}));
    check(|file| file["method"] = json!({"moat": {"levels": 1}}));
    check(|file| file["seed"] = json!(-1));
}

#[test]
fn what_comes_with_headwater_is_accepted() {
    let examples = [
        (
            workflow_schema(),
            include_str!("../../../../examples/words/words.yaml"),
        ),
        (
            workflow_schema(),
            include_str!("../../../../examples/contact-sheet/sheet.yaml"),
        ),
        (
            workflow_schema(),
            include_str!("../../../../examples/nuclei/nuclei.yaml"),
        ),
        (
            workflow_schema(),
            include_str!("../../../../examples/nuclei/slide.yaml"),
        ),
        (
            data_schema(),
            include_str!("../../../../examples/words/inputs.yaml"),
        ),
        (
            data_schema(),
            include_str!("../../../../examples/contact-sheet/inputs.yaml"),
        ),
        (
            data_schema(),
            include_str!("../../../../examples/nuclei/inputs.yaml"),
        ),
        (
            study_schema(),
            include_str!("../../../../examples/nuclei/moat.yaml"),
        ),
        (
            study_schema(),
            include_str!("../../../../examples/nuclei/vbd.yaml"),
        ),
        (
            study_schema(),
            include_str!("../../../../examples/nuclei/two-phase.yaml"),
        ),
        (workflow_schema(), include_str!("../../fixtures/full.yaml")),
        (
            operations_schema(),
            include_str!("../../fixtures/programs.yaml"),
        ),
        (
            descriptor_schema(),
            include_str!("../../fixtures/segmentation.json"),
        ),
    ];
    for (schema, text) in examples {
        let file = as_json(text);
        assert!(accepts(&schema, &file), "{}: {file}", schema["title"]);
    }
    let accepted = |schema: &Value, file: &StarterFile| {
        assert!(accepts(schema, &as_json(&file.text)), "{}", file.path);
    };
    let files = starter_workflow("a").expect("a name");
    accepted(&workflow_schema(), &files[0]);
    accepted(&data_schema(), &files[1]);
    let files = starter_study("a").expect("a name");
    accepted(&study_schema(), &files[0]);
    accepted(&workflow_schema(), &files[1]);
}

#[test]
fn files_of_another_kind_are_refused() {
    let kinds = [
        (
            workflow_schema(),
            include_str!("../../../../examples/words/words.yaml"),
        ),
        (
            data_schema(),
            include_str!("../../../../examples/words/inputs.yaml"),
        ),
        (
            study_schema(),
            include_str!("../../../../examples/nuclei/moat.yaml"),
        ),
        (
            operations_schema(),
            include_str!("../../fixtures/programs.yaml"),
        ),
        (
            descriptor_schema(),
            include_str!("../../fixtures/segmentation.json"),
        ),
    ];
    for (schema, _) in &kinds {
        let fitting = kinds
            .iter()
            .filter(|(_, text)| accepts(schema, &as_json(text)));
        assert_eq!(fitting.count(), 1, "{}", schema["title"]);
    }
}

#[test]
fn wrong_operations_and_descriptors_are_refused() {
    let operations = as_json(include_str!("../../fixtures/programs.yaml"));
    let descriptor = as_json(include_str!("../../fixtures/segmentation.json"));
    let check = |schema: Value, file: &Value, change: fn(&mut Value)| {
        let mut file = file.clone();
        change(&mut file);
        assert!(!accepts(&schema, &file), "{file}");
    };
    check(operations_schema(), &operations, |file| {
        file["stages"] = json!({});
    });
    check(operations_schema(), &operations, |file| {
        file["operations"]["x"] = json!({"inputs": {}});
    });
    check(descriptor_schema(), &descriptor, |file| {
        file["task"] = json!([]);
    });
    check(descriptor_schema(), &descriptor, |file| {
        file["tasks"][0]["call"] = json!(["f"]);
    });
    check(descriptor_schema(), &descriptor, |file| {
        file["dr_args"][0]["io"] = json!("in");
    });
    check(descriptor_schema(), &descriptor, |file| {
        file["dr_args"][0]["type"] = json!("matrix");
    });
}

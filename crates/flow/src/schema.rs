//! The formats as JSON Schema (draft 2020-12), for editors and other programs.
//!
//! Law: a schema is printed from the [`Shape`] that the reader uses. It accepts every file that the reader
//! accepts; the reader finds more, since it knows what the names mean.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::formats::{
    DATA_SHAPE, DESCRIPTOR_SHAPE, PROGRAMS_SHAPE, SETTINGS_SHAPE, STUDY_SHAPE, WORKFLOW_SHAPE,
};
use crate::leaf::Leaf;
use crate::shape::{Shape, Table};

/// The JSON Schema of workflow files.
pub fn workflow_schema() -> Value {
    document("Headwater workflow", &WORKFLOW_SHAPE)
}

/// The JSON Schema of data files.
pub fn data_schema() -> Value {
    document("Headwater data", &DATA_SHAPE)
}

/// The JSON Schema of study files.
pub fn study_schema() -> Value {
    document("Headwater study", &STUDY_SHAPE)
}

/// The JSON Schema of files of operations alone.
pub fn operations_schema() -> Value {
    document("Headwater operations", &PROGRAMS_SHAPE)
}

/// The JSON Schema of settings files.
pub fn settings_schema() -> Value {
    document("Headwater settings", &SETTINGS_SHAPE)
}

/// The JSON Schema of stage descriptors.
pub fn descriptor_schema() -> Value {
    document("Headwater stage descriptor", &DESCRIPTOR_SHAPE)
}

fn document(title: &str, shape: &Shape) -> Value {
    let mut document = Map::new();
    document.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    document.insert("title".to_owned(), json!(title));
    if let Value::Object(rest) = schema(shape) {
        document.extend(rest);
    }
    Value::Object(document)
}

fn schema(shape: &Shape) -> Value {
    match shape {
        Shape::Leaf(leaf) => leaf_schema(leaf),
        Shape::List {
            of, least, most, ..
        } => {
            let mut list = Map::new();
            list.insert("type".to_owned(), json!("array"));
            list.insert("items".to_owned(), schema(of));
            if *least > 0 {
                list.insert("minItems".to_owned(), json!(least));
            }
            if *most < usize::MAX {
                list.insert("maxItems".to_owned(), json!(most));
            }
            Value::Object(list)
        }
        Shape::Map { names, of, .. } => json!({
            "type": ["object", "null"],
            "propertyNames": {"pattern": names.pattern()},
            "additionalProperties": schema(of),
        }),
        Shape::Record(table) => record(table),
        Shape::Either(options) => {
            let options: Vec<Value> = options.iter().map(schema).collect();
            json!({"anyOf": options})
        }
        Shape::Maybe(inner) => json!({"anyOf": [schema(inner), {"type": "null"}]}),
        Shape::Anything => json!(true),
    }
}

fn record(table: &Table) -> Value {
    let mut properties = Map::new();
    for field in table.fields {
        let mut property = schema(&field.shape);
        if let Value::Object(property) = &mut property {
            property.insert("description".to_owned(), json!(field.about));
        }
        properties.insert(field.name.to_owned(), property);
    }
    let required: Vec<&str> = table
        .fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name)
        .collect();
    let mut record = Map::new();
    record.insert("type".to_owned(), json!("object"));
    record.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        record.insert("required".to_owned(), json!(required));
    }
    record.insert(
        "additionalProperties".to_owned(),
        table.others.map_or(json!(false), schema),
    );
    if let [first, rest @ ..] = table.one_of {
        if table.one_needed {
            let options: Vec<Value> = table
                .one_of
                .iter()
                .map(|name| json!({"required": [name]}))
                .collect();
            record.insert("oneOf".to_owned(), json!(options));
        } else if let [second] = rest {
            record.insert("not".to_owned(), json!({"required": [first, second]}));
        }
    }
    Value::Object(record)
}

fn leaf_schema(leaf: &Leaf) -> Value {
    // Texts may be written without quotes; to a schema those are numbers and truth values.
    let text = json!(["string", "number", "boolean"]);
    match leaf {
        Leaf::Format => json!({"const": 1}),
        Leaf::Name(rule, _) => json!({"type": ["string", "number"], "pattern": rule.pattern()}),
        Leaf::Text(_) => json!({"type": text}),
        Leaf::Flag => json!({"type": "boolean"}),
        Leaf::Whole(least) => json!({"type": "integer", "minimum": least}),
        Leaf::Number => json!({"type": "number"}),
        Leaf::Literal => json!({"type": text}),
        Leaf::Word(words) => json!({"enum": words}),
        Leaf::Type => json!({"type": ["string", "null"]}),
        Leaf::Duration => json!({
            "type": ["string", "number"],
            "pattern": "^ *([0-9.]+ *(ms|s|min|m|h|d)? *)+$",
            "exclusiveMinimum": 0,
        }),
        Leaf::Size => json!({
            "type": ["string", "number"],
            "pattern": "^ *[0-9.]+ *([kKmMgGtT][iI]?)?[bB]? *$",
            "minimum": 0,
        }),
        Leaf::Strategy => json!({"type": "string"}),
        Leaf::Tolerance => json!({
            "type": ["string", "integer"],
            "pattern": "^ *[0-9.]+ *%? *$",
            "minimum": 0,
        }),
        Leaf::Path => json!({"type": text, "pattern": "^[^/~]"}),
    }
}

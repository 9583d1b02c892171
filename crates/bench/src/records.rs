//! Records of products that nobody made, for what measures stores.
//!
//! Law: a record is a function of its number, and two numbers give two recipes.

use std::sync::Arc;

use headwater_graph::{Digest, ProductRecord, Recipe, Scalar, StoredOutput};

/// The recipe of a record.
pub fn recipe(number: u64) -> Recipe {
    Recipe(Digest::of(&number.to_le_bytes()).0)
}

/// A small record: three parameters, one input, one output of eight bytes.
pub fn record(number: u64) -> ProductRecord {
    let inline: Arc<[u8]> = number.to_le_bytes().as_slice().into();
    let output = StoredOutput {
        digest: Digest::of(&inline),
        size: 8,
        inline: Some(inline),
        encoding: None,
    };
    ProductRecord {
        recipe: recipe(number),
        content: None,
        operation: "bench/nothing".into(),
        version: "1".into(),
        parameters: vec![
            ("first".into(), Scalar::Int(number.cast_signed())),
            ("second".into(), Scalar::Float(0.5)),
            ("third".into(), Scalar::Text("text".into())),
        ],
        inputs: vec![("in".into(), format!("{}:out", recipe(number / 4)))],
        outputs: vec![("out".into(), output)],
        wall: 1000 + number,
        cpu: 900,
        peak_memory: 0,
        run: "20260101-000000-0000".into(),
        time: 1_767_225_600,
    }
}

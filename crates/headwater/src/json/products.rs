//! What is remembered, and whether it is sound.
//!
//! Law: a product in a list has the same fields as one that is shown alone.

use headwater_graph::{Digest, ProductRecord, Verified};
use headwater_report::json::{
    AffectedJson, CollectedJson, InputSourceJson, OriginJson, ProductFileJson, ProductInputJson,
    ProductJson, ProductListJson, ProductOutputJson, ProductRecordJson, VerifiedJson,
    VersionPartJson, path_text, scalar_value,
};

use super::seconds;
use crate::products::{
    Affected, Collected, Held, InputSource, Origin, Product, ProductInput, ProductOutput,
};

fn record_json(record: &ProductRecord, held: Held) -> ProductRecordJson {
    let parameters = record.parameters.iter();
    ProductRecordJson {
        recipe: record.recipe.hex(),
        operation: record.operation.to_string(),
        version: record.version.to_string(),
        parameters: parameters
            .map(|(name, value)| (name.to_string(), scalar_value(value)))
            .collect(),
        bytes: record.outputs.iter().map(|(_, output)| output.size).sum(),
        seconds: seconds(record.wall),
        time: record.time,
        run: record.run.to_string(),
        held: held.name(),
    }
}

/// What `headwater products ls --json` prints; `count` says how many there are.
pub fn product_list_json(products: &[(ProductRecord, Held)], count: u64) -> ProductListJson {
    let products = products.iter();
    ProductListJson {
        products: products
            .map(|(record, held)| record_json(record, *held))
            .collect(),
        count,
    }
}

fn source_json(source: &InputSource) -> InputSourceJson {
    let origin = match &source.origin {
        Origin::Product {
            recipe,
            port,
            operation,
        } => OriginJson::Product {
            recipe: recipe.hex(),
            port: port.clone(),
            operation: operation.as_deref().map(str::to_owned),
        },
        Origin::External(named) => OriginJson::External(named.json()),
        Origin::Other(text) => OriginJson::Other { text: text.clone() },
    };
    InputSourceJson {
        origin,
        position: source.position,
    }
}

fn input_json(input: &ProductInput) -> ProductInputJson {
    ProductInputJson {
        port: input.port.to_string(),
        count: input.count,
        sources: input.sources.iter().map(source_json).collect(),
    }
}

fn output_json(output: &ProductOutput) -> ProductOutputJson {
    let files = output.files.iter().map(|file| ProductFileJson {
        digest: file.digest.hex(),
        bytes: file.size,
        path: file.path.as_deref().map(path_text),
    });
    ProductOutputJson {
        port: output.port.to_string(),
        digest: output.digest.hex(),
        bytes: output.size,
        kind: output.kind.clone(),
        value: output.value.as_ref().map(scalar_value),
        held: output.held.name(),
        files: files.collect(),
    }
}

impl Product {
    /// What `headwater products show --json` prints.
    pub fn json(&self) -> ProductJson {
        let part = |(part, text): &(String, String)| VersionPartJson {
            part: part.clone(),
            text: text.clone(),
        };
        let parts = self.version.as_ref();
        ProductJson {
            record: record_json(&self.record, self.held()),
            equal_to: self.equal_to.map(|recipe| recipe.hex()),
            content: self.record.content.map(|content| content.hex()),
            made: self.made.json(),
            cpu_seconds: seconds(self.record.cpu),
            peak_bytes: self.record.peak_memory,
            version_parts: parts.map(|parts| parts.iter().map(part).collect()),
            inputs: self.inputs.iter().map(input_json).collect(),
            outputs: self.outputs.iter().map(output_json).collect(),
        }
    }
}

/// What `headwater products verify --json` prints; `database` is what else is wrong there, in words.
pub fn verified_json(
    verified: &Verified,
    affected: &[Affected],
    database: &[String],
) -> VerifiedJson {
    let hex = |digests: &[Digest]| digests.iter().map(Digest::hex).collect::<Vec<_>>();
    let products = affected.iter().map(|affected| AffectedJson {
        object: affected.digest.hex(),
        port: affected.port.to_string(),
        operation: affected.operation.to_string(),
        made: affected.made.json(),
    });
    VerifiedJson {
        objects: verified.objects,
        bytes: verified.bytes,
        records: verified.records,
        damaged: hex(&verified.damaged),
        missing: hex(&verified.missing),
        products: products.collect(),
        damaged_records: verified.damaged_records,
        database: database.to_vec(),
        sound: verified.damaged.is_empty()
            && verified.missing.is_empty()
            && verified.damaged_records == 0
            && database.is_empty(),
    }
}

impl Collected {
    /// What `headwater products gc --json` prints.
    pub fn json(&self, dry_run: bool) -> CollectedJson {
        CollectedJson {
            objects: self.objects,
            bytes: self.bytes,
            log_bytes: self.log_bytes,
            left_bytes: self.left,
            protected_bytes: self.protected,
            dry_run,
        }
    }
}

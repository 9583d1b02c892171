//! The table of operations in the guide is the one that is registered.

use std::path::Path;

use headwater_graph::{Operation, Port, Signature};
use headwater_imaging::{LIBRARY, operations};

const BEGIN: &str = "<!-- operations: begin -->\n";
const END: &str = "<!-- operations: end -->";

fn ports(ports: &[Port]) -> String {
    let words = ports
        .iter()
        .map(|port| format!("`{}` {}", port.name, port.port_type));
    words.collect::<Vec<_>>().join(", ")
}

fn parameters(signature: &Signature) -> String {
    let words = signature.parameters.iter().map(|parameter| {
        let default = parameter.default.as_ref();
        let default = default.map_or("required".to_owned(), ToString::to_string);
        format!("`{}` {default}", parameter.name)
    });
    words.collect::<Vec<_>>().join(", ")
}

fn row(operation: &Operation) -> String {
    let signature = &operation.signature;
    format!(
        "| `{LIBRARY}/{}` | {} | {} | {} |\n",
        signature.name,
        ports(&signature.inputs),
        parameters(signature),
        ports(&signature.outputs)
    )
}

#[test]
fn the_guide_lists_every_operation_as_it_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/nuclei.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut table =
        "| operation | reads | parameters and defaults | gives |\n| --- | --- | --- | --- |\n"
            .to_owned();
    table.extend(operations().iter().map(row));
    let (before, rest) = text.split_once(BEGIN).expect("where the table begins");
    let (found, after) = rest.split_once(END).expect("where the table ends");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(found, table, "run it again with UPDATE_DOCS=1");
}

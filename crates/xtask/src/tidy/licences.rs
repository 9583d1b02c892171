//! What others have written and we build in: under which terms, and what runs while it is built.
//!
//! Law: each crate of others is from the registry, under terms that are listed here, and with a build script only if
//! somebody has looked through it: a build script may do anything, and none of ours downloads.

use super::Problem;
use crate::workspace::Workspace;

/// The terms that are accepted, as the crates write them. All allow use, change and redistribution in a program under
/// any licence, and ask at most for their text to go with it.
const ACCEPTED: [&str; 27] = [
    "(MIT OR Apache-2.0) AND Unicode-3.0",
    "0BSD OR MIT OR Apache-2.0",
    "Apache-2.0",
    "Apache-2.0 / MIT",
    "Apache-2.0 AND ISC",
    "Apache-2.0 OR BSL-1.0",
    "Apache-2.0 OR BSL-1.0 OR MIT",
    "Apache-2.0 OR ISC OR MIT",
    "Apache-2.0 OR MIT",
    "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
    "BSD-2-Clause OR Apache-2.0 OR MIT",
    "BSD-3-Clause",
    "BSD-3-Clause OR Apache-2.0",
    "CC0-1.0",
    "CC0-1.0 OR Apache-2.0 OR Apache-2.0 WITH LLVM-exception",
    "CC0-1.0 OR MIT-0 OR Apache-2.0",
    "ISC",
    "MIT",
    "MIT OR Apache-2.0",
    "MIT OR Apache-2.0 OR Zlib",
    "MIT OR Zlib OR Apache-2.0",
    "MIT/Apache-2.0",
    "Unicode-3.0",
    "Unlicense OR MIT",
    "Unlicense/MIT",
    "Zlib",
    "Zlib OR Apache-2.0 OR MIT",
];

/// The crates whose build scripts were looked through for connections and for programs that they start. They ask the compiler what it can do, or compile sources that come with
/// the crate (`blake3`, `libsqlite3-sys`, `ring`, `zstd-sys`); none opens a connection.
const READ: [&str; 35] = [
    "ahash",
    "blake3",
    "crc32c",
    "crc32fast",
    "crunchy",
    "generic-array",
    "getrandom",
    "httparse",
    "icu_normalizer_data",
    "icu_properties_data",
    "libc",
    "libm",
    "libsqlite3-sys",
    "matrixmultiply",
    "num-traits",
    "oid-registry",
    "parking_lot_core",
    "portable-atomic",
    "proc-macro2",
    "proc-macro2-diagnostics",
    "quote",
    "ring",
    "rustix",
    "rustls",
    "rustversion",
    "serde",
    "serde_core",
    "serde_json",
    "snap",
    "thiserror",
    "tiny-keccak",
    "zerocopy",
    "zmij",
    "zstd-safe",
    "zstd-sys",
];

/// Where they are listed.
const LIST: &str = "crates/xtask/src/tidy/licences.rs";

/// The crates that break one of the three.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for other in &workspace.others {
        let mut problem = |what: String, fix: &str| {
            problems.push(Problem::new("Cargo.lock", other.line, what, fix));
        };
        let name = format!("`{} {}`", other.name, other.version);
        match other.licence.as_deref() {
            Some(licence) if ACCEPTED.contains(&licence) => {}
            Some(licence) => problem(
                format!("{name} is under `{licence}`"),
                &format!("take another crate, or add the terms to `{LIST}` after reading them"),
            ),
            None => problem(
                format!("{name} does not say under which terms it is"),
                "take another crate",
            ),
        }
        if other.has_build_script && !READ.contains(&other.name.as_str()) {
            problem(
                format!("{name} runs a build script that nobody has read"),
                &format!("read it: it must not download anything; then add the crate to `{LIST}`"),
            );
        }
        if !other.is_from_registry {
            problem(
                format!("{name} is not from the registry"),
                "name a published version in `Cargo.toml`",
            );
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::example::expect;
    use super::check;
    use crate::workspace::{Other, Workspace};

    fn other(name: &str, licence: Option<&str>) -> Other {
        Other {
            name: name.to_owned(),
            version: "1.2.3".to_owned(),
            line: 7,
            licence: licence.map(str::to_owned),
            has_build_script: false,
            is_from_registry: true,
        }
    }

    #[test]
    fn terms_build_scripts_and_sources_are_looked_at() {
        let others = vec![
            other("good", Some("MIT OR Apache-2.0")),
            other("strict", Some("AGPL-3.0")),
            other("silent", None),
            Other {
                has_build_script: true,
                ..other("builder", Some("MIT"))
            },
            Other {
                has_build_script: true,
                ..other("libc", Some("MIT"))
            },
            Other {
                is_from_registry: false,
                ..other("patched", Some("MIT"))
            },
        ];
        let workspace = Workspace {
            others,
            ..Workspace::default()
        };
        expect(
            &check(&workspace),
            &[
                "Cargo.lock:7: `strict 1.2.3` is under `AGPL-3.0`; take another crate",
                "Cargo.lock:7: `silent 1.2.3` does not say under which terms it is",
                "Cargo.lock:7: `builder 1.2.3` runs a build script that nobody has read",
                "Cargo.lock:7: `patched 1.2.3` is not from the registry",
            ],
        );
    }
}

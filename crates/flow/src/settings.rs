//! Settings files, `headwater.yaml`: which store is used, and how.
//!
//! Law: what a settings file does not say has its usual value. Paths and URLs are handed on as they are written. A
//! workflow or a study that happens to have the name is no settings file.

use core::time::Duration;
use std::sync::Arc;

use headwater_graph::Registry;

use crate::formats::{PUBLISH_WORDS, SETTINGS, SETTINGS_SHAPE, STORE};
use crate::leaf::{self, Scope};
use crate::parse::parse;
use crate::report::{Read, Report};
use crate::shape::Fields;
use crate::source::Source;
use crate::tree::Node;
use crate::validate::validate;

/// What a settings file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsFile {
    /// The store.
    pub store: StoreSettings,
}

/// What a settings file says of the store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreSettings {
    /// The folder of one's own store.
    pub own: Option<Arc<str>>,
    /// The URL of the store of a group.
    pub group: Option<Arc<str>>,
    /// Where this machine finds the objects of the group, if the store does not say it rightly.
    pub objects: Option<Arc<str>>,
    /// Whether products are given to the group at once.
    pub publish: Option<bool>,
    /// Whose products of the group are reused.
    pub trust: Option<Vec<Arc<str>>>,
    /// How long to wait for a group that cannot be reached.
    pub wait: Option<Duration>,
    /// The bytes of products that may wait for it.
    pub spool: Option<u64>,
}

/// Whether a file is meant as settings: it has `store`, and nothing of a workflow or a study.
pub fn is_settings(text: &str) -> bool {
    let tree = parse(&Source::new(text), &mut Report::default());
    tree.root.is_some_and(|root| {
        let has = |name: &str| root.get(name).is_some();
        has("store")
            && !["workflow", "stages", "study", "operations"]
                .into_iter()
                .any(has)
    })
}

/// Reads a settings file, YAML or JSON.
pub fn read_settings(text: &str) -> Read<SettingsFile> {
    let source = Source::new(text);
    let mut report = Report::default();
    let tree = parse(&source, &mut report);
    let Some(root) = tree.root.as_ref().filter(|root| !root.is_nothing()) else {
        if !tree.damaged {
            let hint = "a settings file begins with `headwater: 1`";
            report.error_with(source.end(), "this file is empty", hint);
        }
        return report.finish(None);
    };
    let registry = Registry::new();
    let scope = Scope {
        source: &source,
        registry: &registry,
    };
    let parsed = report.len();
    validate(root, &SETTINGS_SHAPE, scope, tree.damaged, &mut report);
    let store = Fields::of(root, &SETTINGS).get("store").map(store);
    let file = store.map(|store| SettingsFile { store });
    report.forget_patched(parsed, &tree.patches);
    report.finish(file.filter(|_| !tree.damaged))
}

/// Reads what is said of the store. What has the wrong kind has been reported.
fn store(node: &Node) -> StoreSettings {
    if let Some(url) = leaf::text(node) {
        return StoreSettings {
            group: Some(url),
            ..StoreSettings::default()
        };
    }
    let fields = Fields::of(node, &STORE);
    let text = |name| fields.get(name).and_then(leaf::text);
    let publish = fields
        .get("publish")
        .and_then(|node| leaf::word(node, PUBLISH_WORDS).ok());
    let trust = fields.get("trust").and_then(|node| {
        let names = node.items()?.iter().filter_map(leaf::text);
        Some(names.collect())
    });
    StoreSettings {
        own: text("own"),
        group: text("group"),
        objects: text("objects"),
        publish: publish.map(|word| word == PUBLISH_WORDS[0]),
        trust,
        wait: fields
            .get("wait")
            .and_then(|node| leaf::duration(node).ok()),
        spool: fields.get("spool").and_then(|node| leaf::size(node).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_described() {
        let text = "
headwater: 1
store:
  own: kept
  group: postgresql://ann@db.example/lab
  objects: /mnt/lab
  publish: asked
  trust: [ann, bob]
  wait: 2m
  spool: 1GiB
";
        assert!(is_settings(text));
        let read = read_settings(text);
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        let expected = StoreSettings {
            own: Some("kept".into()),
            group: Some("postgresql://ann@db.example/lab".into()),
            objects: Some("/mnt/lab".into()),
            publish: Some(false),
            trust: Some(vec!["ann".into(), "bob".into()]),
            wait: Some(Duration::from_secs(120)),
            spool: Some(1 << 30),
        };
        assert_eq!(read.value, Some(SettingsFile { store: expected }));
    }

    #[test]
    fn one_line_names_the_group() {
        let read = read_settings("headwater: 1\nstore: postgresql://db/lab\n");
        let store = read.value.map(|file| file.store).unwrap_or_default();
        assert_eq!(store.group.as_deref(), Some("postgresql://db/lab"));
    }

    #[test]
    fn mistakes_are_reported_and_nothing_panics() {
        for (text, expected) in [
            ("headwater: 1\nstore: {gruop: x}\n", "gruop"),
            ("headwater: 1\nstore: {publish: sometimes}\n", "always"),
            ("headwater: 1\nstore: {trust: ann}\n", "list"),
            ("headwater: 1\nstore: {wait: soon}\n", "a time"),
            ("store: x\n", "headwater"),
            ("", "empty"),
            ("headwater: 1\nstore: {\n", ""),
        ] {
            let read = read_settings(text);
            let told = format!("{:?}", read.diagnostics);
            assert!(!read.diagnostics.is_empty(), "{text}");
            assert!(told.contains(expected), "{text}: {told}");
        }
        assert!(!is_settings("headwater: 1\nworkflow: w\nstages: {}\n"));
    }
}

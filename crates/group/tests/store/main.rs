//! Tests of the store of a group, on a real PostgreSQL and with a real server for buckets.

mod bucket;
#[path = "../../../remember/tests/store/common.rs"]
#[expect(dead_code, reason = "the tests of other stores use more of it")]
mod common;
mod hostile;
mod kills;
#[path = "../../../remember/tests/store/laws.rs"]
mod laws;
mod layers;
#[expect(dead_code, reason = "the tests of the bucket itself use more of it")]
mod s3;
mod server;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use headwater_graph::{Mode, Store};

/// Opens the store of a group for a role, behind a store in a folder.
fn open(front: &std::path::Path, url: &str) -> Arc<dyn Store> {
    let front = headwater_remember::open(front, Mode::ReadWrite).unwrap();
    let options = headwater_group::Options {
        recent: Duration::ZERO,
        wait: Duration::from_secs(5),
        ..headwater_group::Options::new(url)
    };
    headwater_group::open(front, &options).unwrap()
}

/// The name of a kind of store, one of it, and what goes with it.
type Kind = (&'static str, Arc<dyn Store>, Box<dyn std::any::Any>);

/// A store of each kind, empty.
fn stores() -> Vec<Kind> {
    let Some(server) = server::shared() else {
        return Vec::new();
    };
    let in_bucket = s3::shared().bucket();
    let kinds = [
        ("group", server.database()),
        (
            "group with a bucket",
            server.database_with(Some(&in_bucket.url())),
        ),
    ];
    let stores = kinds.into_iter().map(|(kind, database)| {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder.path().join("store"), &database.url("olga"));
        (kind, store, Box::new((database, folder)) as Box<_>)
    });
    stores.collect()
}

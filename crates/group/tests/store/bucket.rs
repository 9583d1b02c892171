//! A group whose objects are in a bucket, over connections that misbehave.
//!
//! Law: whatever the bucket does, no wrong product is served, nothing is lost, and people learn what is the matter.

use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_graph::{Digest, Store};

use crate::common::{bytes, keep_in, pending, recipe, record};
use crate::s3::{Fault, TestBucket};
use crate::{open, s3, server};

/// Nothing here takes as long.
const LONG: Duration = Duration::from_secs(120);

/// A database whose objects are in a bucket of its own.
fn group(server: &server::Server) -> (server::Database, TestBucket) {
    let bucket = s3::shared().bucket();
    let database = server.database_with(Some(&bucket.url()));
    (database, bucket)
}

fn someone(database: &server::Database, role: &str) -> (Arc<dyn Store>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (open(folder.path(), &database.url(role)), folder)
}

fn digest(number: u64) -> Digest {
    Digest::of(&bytes(number))
}

/// What one has made, another finds, with its bytes, and the owner can take it away.
#[test]
fn what_one_makes_the_others_find_in_the_bucket() {
    let Some(server) = server::shared() else {
        return;
    };
    let (database, bucket) = group(server);
    let (ann, _ann) = someone(&database, "ann");
    keep_in(&ann, (0..20).map(pending)).1.unwrap();
    assert!(bucket.file(&digest(7).hex()).is_file());
    let (rea, _rea) = someone(&database, "rea");
    for number in 0..20 {
        let found = rea.fetch(&[recipe(number)]).unwrap().pop().unwrap();
        assert_eq!(found, Some(record(number)));
        assert_eq!(rea.read(&digest(number)).unwrap(), bytes(number));
    }
}

/// While the bucket is away work goes on; what was made is given when it is back.
#[test]
fn what_is_made_while_the_bucket_is_away_is_given_later() {
    let Some(server) = server::shared() else {
        return;
    };
    for fault in [Fault::Closed, Fault::Silent, Fault::Status(503)] {
        let (database, bucket) = group(server);
        let (ann, _ann) = someone(&database, "ann");
        keep_in(&ann, [pending(1)]).1.unwrap();
        bucket.proxy.set(fault);
        let begun = Instant::now();
        keep_in(&ann, (10..20).map(pending)).1.unwrap();
        assert!(begun.elapsed() < LONG, "{fault:?}");
        let found = ann.fetch(&[recipe(12)]).unwrap().pop().unwrap();
        assert_eq!(found, Some(record(12)));
        let notices = ann.take_notices().join("\n");
        assert!(notices.contains("could not be reached"), "{notices}");
        assert!(notices.contains(&bucket.name), "{notices}");
        let behind = ann.behind().unwrap();
        assert_eq!(behind.settle(Duration::ZERO).products, 10, "{fault:?}");
        // Others know nothing of them as long as their bytes are not there.
        let (bob, _bob) = someone(&database, "bob");
        assert_eq!(bob.fetch(&[recipe(12)]).unwrap(), [None]);
        // One that is there cannot be read now, and is not struck off for that.
        assert!(bob.read(&digest(1)).is_err());
        bucket.proxy.set(Fault::None);
        assert_eq!(behind.settle(LONG).products, 0, "{fault:?}");
        let end = Instant::now() + LONG;
        for number in [1].into_iter().chain(10..20) {
            while bob.read(&digest(number)).is_err() {
                assert!(Instant::now() < end, "{fault:?}: {number}");
                std::thread::sleep(Duration::from_millis(100));
            }
            assert_eq!(bob.read(&digest(number)).unwrap(), bytes(number));
        }
        assert_eq!(bob.take_damage(), [] as [String; 0]);
    }
}

/// An object that does not arrive as it should is never given out; it is made again by whoever needs it.
#[test]
fn damage_on_the_way_is_found_and_made_good() {
    let Some(server) = server::shared() else {
        return;
    };
    for fault in [Fault::Corrupted, Fault::Shortened] {
        let (database, bucket) = group(server);
        let (ann, _ann) = someone(&database, "ann");
        keep_in(&ann, [pending(1), pending(20)]).1.unwrap();
        bucket.proxy.set(fault);
        let (bob, _bob) = someone(&database, "bob");
        assert!(bob.read(&digest(1)).is_err(), "{fault:?}");
        assert_eq!(bob.has(&[digest(1)]), [false]);
        let damage = bob.take_damage().join("\n");
        assert!(damage.contains("is not what its name says"), "{damage}");
        bucket.proxy.set(Fault::NoConditions);
        keep_in(&bob, [pending(1)]).1.unwrap();
        let (rea, _rea) = someone(&database, "rea");
        assert_eq!(rea.read(&digest(1)).unwrap(), bytes(1));
    }
}

/// The same where the bucket itself has something else under a name.
#[test]
fn damage_in_the_bucket_is_found_and_made_good() {
    let Some(server) = server::shared() else {
        return;
    };
    let (database, bucket) = group(server);
    let (ann, _ann) = someone(&database, "ann");
    keep_in(&ann, [pending(1), pending(20)]).1.unwrap();
    std::fs::write(bucket.file(&digest(1).hex()), "something else").unwrap();
    std::fs::remove_file(bucket.file(&digest(20).hex())).unwrap();
    let (bob, _bob) = someone(&database, "bob");
    for number in [1, 20] {
        assert!(bob.read(&digest(number)).is_err());
        assert_eq!(bob.has(&[digest(number)]), [false]);
    }
    assert_eq!(bob.take_damage().len(), 2);
    keep_in(&bob, [pending(1), pending(20)]).1.unwrap();
    let (rea, _rea) = someone(&database, "rea");
    for number in [1, 20] {
        assert_eq!(rea.read(&digest(number)).unwrap(), bytes(number));
    }
}

/// A body that ends early is no object, and no reason to strike it off.
#[test]
fn a_body_that_ends_early_is_not_an_object() {
    let Some(server) = server::shared() else {
        return;
    };
    let (database, bucket) = group(server);
    let (ann, _ann) = someone(&database, "ann");
    keep_in(&ann, [pending(1)]).1.unwrap();
    bucket.proxy.set(Fault::Truncated);
    let (bob, _bob) = someone(&database, "bob");
    if let Ok(found) = bob.read(&digest(1)) {
        assert_eq!(found, bytes(1));
    }
    assert_eq!(bob.take_damage(), [] as [String; 0]);
    bucket.proxy.set(Fault::None);
    let end = Instant::now() + LONG;
    while bob.read(&digest(1)).is_err() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(bob.read(&digest(1)).unwrap(), bytes(1));
}

/// A slow bucket is waited for; one that changes what is sent to it keeps nothing of it.
#[test]
fn slow_and_spoiled_uploads_come_to_a_good_end() {
    let Some(server) = server::shared() else {
        return;
    };
    let (database, bucket) = group(server);
    let (ann, _ann) = someone(&database, "ann");
    bucket.proxy.set(Fault::Slow);
    keep_in(&ann, [pending(1)]).1.unwrap();
    bucket.proxy.set(Fault::CorruptedUpload);
    keep_in(&ann, [pending(20)]).1.unwrap();
    assert!(!bucket.file(&digest(20).hex()).exists());
    let notices = ann.take_notices().join("\n");
    assert!(notices.contains(&bucket.name), "{notices}");
    bucket.proxy.set(Fault::None);
    assert_eq!(ann.behind().unwrap().settle(LONG).products, 0);
    let (rea, _rea) = someone(&database, "rea");
    for number in [1, 20] {
        assert_eq!(rea.read(&digest(number)).unwrap(), bytes(number));
    }
}

/// A store is not made with a bucket that cannot be used, and the reason is said without any key.
#[test]
fn a_bucket_that_cannot_be_used_is_refused_at_once() {
    let Some(server) = server::shared() else {
        return;
    };
    let (database, bucket) = group(server);
    let cases = [
        (bucket.url_with_wrong_keys(), "Refused"),
        (bucket.url_of_none(), "does not exist"),
        ("s3://key:hush@lab/x".to_owned(), "has a key in it"),
        ("s3://lab/x?secret=hush".to_owned(), "has a key in it"),
        ("gs://lab/x".to_owned(), "s3://BUCKET"),
    ];
    for (url, words) in cases {
        let error = headwater_group::init(&database.url("postgres"), Some(&url)).unwrap_err();
        let said = format!("{error:?}");
        assert!(said.contains(words), "{said}");
        assert!(!said.contains("hush"), "{said}");
    }
}

//! What a bucket promises, on a real server and over connections that misbehave.
//!
//! Law: whatever happens on the way, no object with wrong bytes is written, and who reads gets all bytes or an error.

#[path = "../../tests/store/s3.rs"]
mod s3;

use std::io::{Seek as _, Write as _};

use super::*;
use s3::{Fault, TestBucket};

fn open(bucket: &TestBucket) -> Bucket {
    Bucket::open(&bucket.url()).expect("a bucket")
}

/// A file with these bytes.
fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("bytes");
    file.rewind().expect("a beginning");
    file
}

/// Bytes that no two parts of have in common.
fn many(length: usize) -> Vec<u8> {
    let words = (0..length.div_ceil(8) as u64)
        .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    words.take(length).collect()
}

fn read(bucket: &Bucket, digest: &Digest) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut from = bucket
        .get(digest)
        .map_err(|trouble| io::Error::other(trouble.into_error()))?;
    from.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[test]
fn objects_of_all_sizes_come_back() {
    all_sizes(&open(&s3::shared().bucket()));
}

/// The same on a server of somebody else: `HEADWATER_TEST_BUCKET` is the URL of an empty bucket.
#[test]
#[ignore = "needs a server"]
fn objects_of_all_sizes_come_back_from_elsewhere() {
    let url = std::env::var("HEADWATER_TEST_BUCKET").expect("HEADWATER_TEST_BUCKET");
    let bucket = Bucket::open(&url).expect("a bucket");
    all_sizes(&bucket);
    let digest = Digest::of(b"x");
    let refused = bucket.put(&digest, file(b"y")).err();
    assert!(
        matches!(refused, Some(Trouble::Other(StoreError::Damaged { .. }))),
        "{refused:?}"
    );
    // An upload that somebody stopped.
    let begun = bucket.0.name(&digest);
    let begun = bucket.0.store.create_multipart(&begun);
    bucket.0.wait(ANSWER, "begin", begun).expect("begun");
    let left = || {
        let runtime = bucket.0.runtime().expect("a runtime");
        let text = runtime.block_on(bucket.0.begun());
        text.map(|text| words::begun(&text, 0).len())
    };
    eprintln!("begun: {:?}", left());
    bucket.sweep(3600).expect("swept");
    eprintln!("begun, after those of an hour ago went: {:?}", left());
    bucket.sweep(0).expect("swept");
    eprintln!("begun, after all went: {:?}", left());
    let none = url.replacen("s3://", "s3://no-such-", 1);
    let none = Bucket::open(&none).expect("a bucket");
    eprintln!("no such bucket: {:?}", none.reach().err());
    eprintln!("no such bucket: {:?}", none.get(&digest).err());
}

/// A large object goes there and back, and never is in memory as a whole.
#[test]
#[ignore = "needs a server"]
fn a_large_object_needs_little_memory() {
    let url = std::env::var("HEADWATER_TEST_BUCKET").expect("HEADWATER_TEST_BUCKET");
    let bucket = Bucket::open(&url).expect("a bucket");
    let file = tempfile::tempfile().expect("a file");
    file.set_len(1 << 30).expect("a length");
    let same = file.try_clone().expect("a file");
    let digest = crate::bytes::copy(&mut &file, |_| Ok(())).expect("a digest");
    (&file).rewind().expect("a beginning");
    let begun = Instant::now();
    bucket.put(&digest, same).expect("written");
    let written = begun.elapsed();
    let mut from = bucket.get(&digest).expect("a beginning");
    let found = crate::bytes::copy(&mut from, |_| Ok(())).expect("bytes");
    assert_eq!(found, digest);
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    let peak = peak.and_then(|line| line.split_whitespace().nth(1));
    let peak: u64 = peak.and_then(|text| text.parse().ok()).expect("a peak");
    eprintln!(
        "written in {written:?}, with reading {:?}, {peak} KiB",
        begun.elapsed()
    );
    assert!(peak < 200 << 10, "{peak} KiB");
    bucket.remove(&[digest]).expect("removed");
}

fn all_sizes(bucket: &Bucket) {
    let part = PART as usize;
    let first = FIRST as usize;
    let sizes = [
        0,
        1,
        first,
        first + 1,
        part - 1,
        part,
        part + 1,
        3 * part + 7,
    ];
    let mut digests = Vec::new();
    for size in sizes {
        let bytes = many(size);
        let digest = Digest::of(&bytes);
        bucket.put(&digest, file(&bytes)).expect("written");
        // Once more changes nothing.
        bucket.put(&digest, file(&bytes)).expect("written");
        assert!(read(bucket, &digest).expect("bytes") == bytes, "{size}");
        digests.push(digest);
    }
    let listed = bucket.list().expect("a list");
    let mut found: Vec<Digest> = listed.iter().map(|(digest, _)| *digest).collect();
    found.sort_unstable();
    let mut wanted = digests.clone();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    assert!(listed.iter().all(|(_, age)| *age < 600), "{listed:?}");
    bucket.remove(&digests).expect("removed");
    bucket
        .remove(&digests)
        .expect("that they are gone is no error");
    assert_eq!(bucket.list().expect("a list"), []);
    let gone = bucket.get(&digests[0]).err();
    assert!(
        matches!(gone, Some(Trouble::Other(StoreError::Missing(_)))),
        "{gone:?}"
    );
}

#[test]
fn a_file_that_has_changed_leaves_nothing() {
    let place = s3::shared().bucket();
    let bucket = open(&place);
    for size in [100, PART as usize + 5] {
        let mut bytes = many(size);
        let digest = Digest::of(&bytes);
        bytes[size - 1] ^= 1;
        let refused = bucket.put(&digest, file(&bytes)).err();
        assert!(
            matches!(refused, Some(Trouble::Other(StoreError::Damaged { .. }))),
            "{refused:?}"
        );
        assert!(!place.file(&digest.hex()).exists());
        let gone = bucket.get(&digest).err();
        assert!(
            matches!(gone, Some(Trouble::Other(StoreError::Missing(_)))),
            "{gone:?}"
        );
    }
}

#[test]
fn what_was_damaged_is_made_good() {
    let place = s3::shared().bucket();
    let bucket = open(&place);
    let bytes = many(1000);
    let digest = Digest::of(&bytes);
    bucket.put(&digest, file(&bytes)).expect("written");
    for fault in [Fault::None, Fault::NoConditions] {
        place.proxy.set(fault);
        std::fs::write(place.file(&digest.hex()), "something else").expect("damage");
        bucket.put(&digest, file(&bytes)).expect("written");
        assert_eq!(read(&bucket, &digest).expect("bytes"), bytes);
    }
}

/// An object that is empty and should not be is a wrong object and no reason to fail otherwise.
#[test]
fn an_object_that_became_empty_is_read_as_such() {
    let place = s3::shared().bucket();
    let bucket = open(&place);
    let digest = Digest::of(b"full");
    bucket.put(&digest, file(b"full")).expect("written");
    std::fs::write(place.file(&digest.hex()), "").expect("damage");
    assert_eq!(read(&bucket, &digest).expect("bytes"), b"");
}

#[test]
fn bytes_that_changed_on_the_way_to_the_server_are_not_kept() {
    let place = s3::shared().bucket();
    let bucket = open(&place);
    place.proxy.set(Fault::CorruptedUpload);
    for size in [100, PART as usize + 5] {
        let bytes = many(size);
        let digest = Digest::of(&bytes);
        bucket.put(&digest, file(&bytes)).expect_err("refused");
        assert!(!place.file(&digest.hex()).exists());
    }
}

/// Objects of one piece and of several.
const SIZES: [usize; 2] = [5_000, 3_000_000];

#[test]
fn an_object_that_ends_early_is_an_error() {
    let place = s3::shared().bucket();
    let bucket = open(&place);
    for size in SIZES {
        let bytes = many(size);
        let digest = Digest::of(&bytes);
        bucket.put(&digest, file(&bytes)).expect("written");
        place.proxy.set(Fault::None);
        let mut from = bucket.get(&digest).expect("a beginning");
        place.proxy.set(Fault::Truncated);
        let mut found = Vec::new();
        match from.read_to_end(&mut found) {
            // What was in memory by then.
            Ok(_) => assert!(found == bytes),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        // Each connection brings half of what is left; whoever goes on gets all of it, or an error.
        if let Ok(found) = read(&bucket, &digest) {
            assert!(found == bytes);
        }
        place.proxy.set(Fault::None);
        std::thread::sleep(PAUSE);
        assert!(read(&bucket, &digest).expect("bytes") == bytes);
    }
}

/// Nobody but the digest can see those; so what comes is not what its name says, and nothing else happens.
#[test]
fn wrong_bytes_have_the_wrong_digest() {
    let place = s3::shared().bucket();
    let bucket = open(&place);
    let bytes = many(5_000);
    let digest = Digest::of(&bytes);
    bucket.put(&digest, file(&bytes)).expect("written");
    for fault in [Fault::Corrupted, Fault::Shortened] {
        place.proxy.set(fault);
        let found = read(&bucket, &digest).expect("bytes");
        assert_ne!(Digest::of(&found), digest, "{fault:?}");
    }
}

#[test]
fn a_slow_server_is_waited_for() {
    let place = s3::shared().bucket();
    let bucket = open(&place);
    place.proxy.set(Fault::Slow);
    for size in SIZES {
        let bytes = many(size);
        let digest = Digest::of(&bytes);
        bucket.put(&digest, file(&bytes)).expect("written");
        assert!(read(&bucket, &digest).expect("bytes") == bytes);
    }
}

#[test]
fn a_server_that_does_not_answer_is_away_and_nobody_waits_twice() {
    let place = s3::shared().bucket();
    let bucket = open(&place);
    let bytes = many(1_000);
    let digest = Digest::of(&bytes);
    bucket.put(&digest, file(&bytes)).expect("written");
    let faults = [
        Fault::Closed,
        Fault::Silent,
        Fault::Status(500),
        Fault::Status(503),
    ];
    for fault in faults {
        place.proxy.set(fault);
        let begun = Instant::now();
        let away = bucket.get(&digest).err();
        assert!(
            matches!(away, Some(Trouble::Away(_))),
            "{fault:?}: {away:?}"
        );
        assert!(begun.elapsed() < Duration::from_secs(40), "{fault:?}");
        let asked = place.proxy.requests();
        let words = format!("{:?}", bucket.put(&digest, file(&bytes)).err());
        assert!(
            words.contains("Away") && words.contains(&place.name),
            "{words}"
        );
        // The second one did not even call, unless this machine is so slow that it was time to.
        assert!(place.proxy.requests() <= asked + 1);
        place.proxy.set(Fault::None);
        let end = Instant::now() + Duration::from_secs(60);
        while bucket.get(&digest).is_err() {
            assert!(Instant::now() < end, "{fault:?}: it is back");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    // Where nobody listens.
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let port = port.expect("a port").port();
    let nowhere = nobody(&format!("http://127.0.0.1:{port}")).reach().err();
    let words = format!("{nowhere:?}");
    assert!(
        words.contains("Away") && words.contains("refused"),
        "{words}"
    );
}

/// A server with a certificate that nobody has vouched for is there, and waiting for it does not help.
#[test]
fn a_server_that_is_not_trusted_is_not_away() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .expect("a certificate");
    let config = Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            if let Ok(mut server) = rustls::ServerConnection::new(Arc::clone(&config)) {
                while server.is_handshaking() && server.complete_io(&mut client).is_ok() {}
            }
        }
    });
    let distrusted = nobody(&format!("https://localhost:{port}")).reach().err();
    let words = format!("{distrusted:?}");
    assert!(words.contains("SSL_CERT_FILE"), "{words}");
    assert!(!words.contains("Away"), "{words}");
}

/// A bucket of which only the server matters.
fn nobody(endpoint: &str) -> Bucket {
    let set = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")];
    let set = set.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let place = Place::read(&format!("s3://lab?endpoint={endpoint}"), &set.into());
    Bucket::at(&place.expect("a place")).expect("a bucket")
}

#[test]
fn what_is_not_allowed_or_not_there_is_said() {
    let place = s3::shared().bucket();
    let digest = Digest::of(b"x");
    let wrong = Bucket::open(&place.url_with_wrong_keys()).expect("a bucket");
    for refused in [
        wrong.reach().err(),
        wrong.get(&digest).err(),
        wrong.put(&digest, file(b"x")).err(),
    ] {
        let words = format!("{refused:?}");
        assert!(
            words.contains("Refused") && words.contains(&place.name),
            "{words}"
        );
        assert!(!words.contains("something else"), "{words}");
    }
    let none = Bucket::open(&place.url_of_none()).expect("a bucket");
    for missing in [none.reach().err(), none.get(&digest).err()] {
        let words = format!("{missing:?}");
        assert!(words.contains("does not exist"), "{words}");
        assert!(!words.contains("Missing"), "{words}");
    }
    assert!(!format!("{none:?}").contains("hush"));
}

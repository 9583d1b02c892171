//! Encrypted connections to PostgreSQL, with certificates that are made here.
//!
//! Law: each `sslmode` accepts and refuses what PostgreSQL's own programs accept and refuse, and says why.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::server;

/// A certificate for a server, and those who may be asked about it.
struct Certificates {
    folder: tempfile::TempDir,
    server: String,
    key: String,
}

impl Certificates {
    /// One of an authority, for the name `localhost`, and an authority that has nothing to do with it.
    fn new() -> Certificates {
        let folder = tempfile::tempdir().expect("a folder");
        let authority = || {
            let mut params = CertificateParams::new([]).expect("parameters");
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = KeyPair::generate().expect("a key");
            let certificate = params.self_signed(&key).expect("a certificate");
            (Issuer::new(params, key), certificate.pem())
        };
        let (issuer, right) = authority();
        fs::write(folder.path().join("right.crt"), right).expect("a file");
        fs::write(folder.path().join("wrong.crt"), authority().1).expect("a file");
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(["localhost".to_owned()]).expect("parameters");
        let certificate = params.signed_by(&key, &issuer).expect("a certificate");
        Certificates {
            folder,
            server: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// One that a server has signed itself, as an authority.
    fn own() -> Certificates {
        let folder = tempfile::tempdir().expect("a folder");
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(["localhost".to_owned()]).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let server = params.self_signed(&key).expect("a certificate").pem();
        fs::write(folder.path().join("right.crt"), &server).expect("a file");
        Certificates {
            folder,
            server,
            key: key.serialize_pem(),
        }
    }

    /// A server that has it, and wants encryption from all but its own user.
    fn server(&self) -> Option<server::Server> {
        server::Server::start_with(|data| {
            place(data, "server.crt", &self.server);
            place(data, "server.key", &self.key);
            let rules = "host all postgres 127.0.0.1/32 trust\n\
                         hostssl all bob 127.0.0.1/32 scram-sha-256\n\
                         hostssl all all 127.0.0.1/32 trust\n";
            place(data, "pg_hba.conf", rules);
            vec!["-c".to_owned(), "ssl=on".to_owned()]
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Writes a file for the user of the server.
fn place(data: &Path, name: &str, text: &str) {
    let file = data.join(name);
    fs::write(&file, text).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    let owner = data.metadata().expect("a folder");
    chown(&file, Some(owner.uid()), Some(owner.gid())).expect("an owner");
}

/// Opens the store; the error in words.
fn opened(url: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let front = headwater_remember::open(folder.path(), headwater_graph::Mode::ReadWrite).unwrap();
    let options = headwater_group::Options {
        wait: Duration::ZERO,
        ..headwater_group::Options::new(url)
    };
    match headwater_group::open(front, &options) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{error:?}")),
    }
}

#[test]
fn each_mode_accepts_and_refuses_what_it_should() {
    let certificates = Certificates::new();
    let Some(server) = certificates.server() else {
        return;
    };
    let database = server.database();
    let by_address = database.url("ann");
    let by_name = by_address.replace("127.0.0.1", "localhost");
    let (right, wrong) = (
        certificates.file("right.crt"),
        certificates.file("wrong.crt"),
    );
    let open = |base: &str, mode: &str, roots: Option<&PathBuf>| {
        let roots = roots.map(|file| format!("&sslrootcert={}", file.display()));
        opened(&format!(
            "{base}?sslmode={mode}{}",
            roots.unwrap_or_default()
        ))
    };
    let refused = |answer: Result<(), String>, words: &str| {
        let error = answer.expect_err("refused");
        assert!(error.contains(words), "{error}");
        assert!(!error.contains("Away"), "{error}");
    };
    open(&by_name, "verify-full", Some(&right)).unwrap();
    open(&by_name, "verify-ca", Some(&right)).unwrap();
    open(&by_address, "verify-ca", Some(&right)).unwrap();
    open(&by_address, "require", None).unwrap();
    open(&by_address, "require", Some(&right)).unwrap();
    open(&by_address, "prefer", None).unwrap();
    open(&by_address, "allow", None).unwrap();
    refused(
        open(&by_address, "verify-full", Some(&right)),
        "for another name",
    );
    refused(open(&by_name, "verify-full", Some(&wrong)), "authority");
    refused(open(&by_name, "verify-ca", Some(&wrong)), "authority");
    refused(open(&by_name, "require", Some(&wrong)), "authority");
    refused(open(&by_name, "disable", None), "sslmode=require");
    refused(open(&by_name, "verify-full", None), "sslrootcert");
    let none = certificates.file("none.crt");
    refused(open(&by_name, "verify-full", Some(&none)), "none.crt");
    let system = PathBuf::from("system");
    refused(open(&by_name, "verify-full", Some(&system)), "authority");
    refused(open(&by_name, "require", Some(&system)), "verify-full");
}

#[test]
fn connections_are_encrypted_also_with_a_password() {
    let certificates = Certificates::new();
    let Some(server) = certificates.server() else {
        return;
    };
    let database = server.database();
    let mut client = server.client("postgres", "postgres").expect("a connection");
    client
        .batch_execute("ALTER ROLE bob PASSWORD 'hush'")
        .expect("a password");
    let passwords = certificates.file("passwords");
    fs::write(&passwords, "*:*:*:bob:hush\n").expect("a file");
    fs::set_permissions(&passwords, fs::Permissions::from_mode(0o600)).expect("a mode");
    let url = database.url("bob").replace("127.0.0.1", "localhost");
    let url = format!(
        "{url}?sslmode=verify-full&sslrootcert={}&passfile={}",
        certificates.file("right.crt").display(),
        passwords.display(),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let store = crate::open(folder.path(), &url);
    let question = "SELECT count(*), count(*) FILTER (WHERE ssl) FROM pg_stat_ssl \
                    JOIN pg_stat_activity USING (pid) WHERE usename = 'bob'";
    let row = client.query_one(question, &[]).expect("an answer");
    let (all, encrypted): (i64, i64) = (row.get(0), row.get(1));
    assert!(all > 0);
    assert_eq!(all, encrypted);
    drop(store);
}

/// A certificate that is its own authority, as people make them by hand.
#[test]
fn a_server_that_signed_its_own_certificate_is_trusted_by_it() {
    let certificates = Certificates::own();
    let Some(server) = certificates.server() else {
        return;
    };
    let database = server.database();
    let by_name = database.url("ann").replace("127.0.0.1", "localhost");
    let right = certificates.file("right.crt");
    let with = |base: &str, mode: &str| {
        opened(&format!(
            "{base}?sslmode={mode}&sslrootcert={}",
            right.display()
        ))
    };
    with(&by_name, "verify-full").unwrap();
    with(&database.url("ann"), "verify-ca").unwrap();
    let error = with(&database.url("ann"), "verify-full").expect_err("another name");
    assert!(error.contains("for another name"), "{error}");
    let other = Certificates::own();
    let error = opened(&format!(
        "{by_name}?sslmode=verify-ca&sslrootcert={}",
        other.file("right.crt").display()
    ));
    assert!(error.is_err());
}

/// A server that does not encrypt is used as it is where that is allowed.
#[test]
fn a_server_without_encryption_is_refused_where_it_is_required() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let url = database.url("ann");
    opened(&format!("{url}?sslmode=prefer")).unwrap();
    opened(&format!("{url}?sslmode=disable")).unwrap();
    let error = opened(&format!("{url}?sslmode=require")).expect_err("refused");
    assert!(error.contains("does not encrypt"), "{error}");
}

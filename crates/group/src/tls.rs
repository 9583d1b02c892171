//! Whether and how a connection to the server is encrypted.
//!
//! Law: `sslmode` in the URL says it, with the meaning that PostgreSQL's own programs give it. `require` encrypts and
//! proves nothing about who answers, unless there are certificates of authorities: then it checks like `verify-ca`. From
//! `verify-ca` on the certificate of the server is checked against them; `verify-full` also checks its name. What was
//! asked for is never weakened: a file of certificates that cannot be read is an error.

use std::path::Path;
use std::sync::Arc;

use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore,
    SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::{Address, AddressError, Encryption};

/// In place of a file: the authorities that this machine trusts.
const SYSTEM: &str = "system";

/// How connections are made.
#[derive(Clone)]
pub(crate) enum Tls {
    /// In the clear.
    Off,
    /// Encrypted, and in the clear where that fails.
    Preferred(MakeRustlsConnect),
    /// Encrypted, or not at all.
    Always(MakeRustlsConnect),
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Tls::Off => "Off",
            Tls::Preferred(_) => "Preferred",
            Tls::Always(_) => "Always",
        })
    }
}

fn wrong(message: String, hint: &str) -> AddressError {
    AddressError {
        message,
        hint: Some(hint.to_owned()),
    }
}

impl Tls {
    /// As the address says.
    pub(crate) fn of(address: &Address) -> Result<Tls, AddressError> {
        let authorities = address.authorities.as_deref();
        let is_system = authorities.is_some_and(|path| path == Path::new(SYSTEM));
        // As in PostgreSQL: what everybody may get a certificate from says nothing without the name.
        if is_system
            && !matches!(
                address.encryption,
                Encryption::Name | Encryption::Off | Encryption::Preferred
            )
        {
            return Err(wrong(
                "`sslrootcert=system` is too weak without the name of the server".to_owned(),
                "write sslmode=verify-full",
            ));
        }
        let check = match (address.encryption, authorities) {
            (Encryption::Off, _) => return Ok(Tls::Off),
            (Encryption::Preferred, _) | (Encryption::Required, None) => Check::Nothing,
            (Encryption::Required | Encryption::Authority, Some(path)) => {
                Check::authority(path, false)?
            }
            (Encryption::Name, Some(path)) => Check::authority(path, true)?,
            (Encryption::Authority | Encryption::Name, None) => {
                return Err(wrong(
                    "sslmode `verify-ca` and `verify-full` need the certificate of an authority"
                        .to_owned(),
                    "put it into ~/.postgresql/root.crt, name the file in sslrootcert, or write sslrootcert=system",
                ));
            }
        };
        let connector = MakeRustlsConnect::new(configured(Arc::new(Verifier {
            provider: Arc::new(ring::default_provider()),
            check,
        }))?);
        Ok(match address.encryption {
            Encryption::Preferred => Tls::Preferred(connector),
            _ => Tls::Always(connector),
        })
    }

    /// Connects.
    pub(crate) fn connect(&self, config: &Config) -> Result<Client, postgres::Error> {
        let with = |mode| {
            let mut config = config.clone();
            config.ssl_mode(mode);
            config
        };
        match self {
            Tls::Off => with(SslMode::Disable).connect(NoTls),
            Tls::Always(connector) => with(SslMode::Require).connect(connector.clone()),
            Tls::Preferred(connector) => match with(SslMode::Prefer).connect(connector.clone()) {
                Err(error) if is_about_encryption(&error) => {
                    with(SslMode::Disable).connect(NoTls).map_err(|_| error)
                }
                connected => connected,
            },
        }
    }
}

/// Whether it makes sense to try in the clear: the two could not agree, or the server wants no encryption from us.
fn is_about_encryption(error: &postgres::Error) -> bool {
    match error.code() {
        Some(code) => *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        None => is_handshake(error),
    }
}

/// Whether two could not agree on how to encrypt, or one does not trust the other.
pub(crate) fn is_handshake(error: &postgres::Error) -> bool {
    error.to_string().contains("TLS handshake")
}

/// What an error of a connection that could not be encrypted means.
pub(crate) fn hint(words: &str) -> Option<&'static str> {
    let hints = [
        (
            "UnknownIssuer",
            "its certificate is from an authority that is not in sslrootcert",
        ),
        (
            "BadSignature",
            "its certificate is not from the authority in sslrootcert",
        ),
        (
            "not valid for name",
            "its certificate is for another name; connect by that name, or check less with sslmode=verify-ca",
        ),
        ("Expired", "its certificate is no longer valid"),
        ("NotValidYet", "its certificate is not valid yet"),
        (
            "server does not support TLS",
            "it does not encrypt; turn ssl on there, or write sslmode=disable",
        ),
        (
            "no encryption",
            "it may want an encrypted connection; write sslmode=require, or better verify-full",
        ),
    ];
    let found = hints.iter().find(|(part, _)| words.contains(part));
    found.map(|(_, hint)| *hint)
}

fn configured(verifier: Arc<Verifier>) -> Result<ClientConfig, AddressError> {
    let builder = ClientConfig::builder_with_provider(Arc::clone(&verifier.provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(format!("connections cannot be encrypted: {error}"), ""))?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

/// The authorities that this machine trusts.
pub(crate) fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// The certificates in a file.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, AddressError> {
    let hint =
        "sslrootcert names a file with certificates that begin with -----BEGIN CERTIFICATE-----";
    let shown = path.display();
    let cannot = |why: String| {
        wrong(
            format!("cannot read certificates from `{shown}`: {why}"),
            hint,
        )
    };
    let text = std::fs::read(path).map_err(|error| cannot(error.to_string()))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| cannot(error.to_string()))?;
    if found.is_empty() {
        return Err(cannot("there are none".to_owned()));
    }
    Ok(found)
}

/// What is checked of the certificate of a server.
#[derive(Debug)]
enum Check {
    /// Nothing.
    Nothing,
    /// That it is of an authority.
    Authority {
        chain: Arc<WebPkiServerVerifier>,
        /// Certificates that are trusted as they are: that of a server that has signed its own.
        own: Vec<CertificateDer<'static>>,
        /// Whether it has to be for the name of the server.
        name: bool,
    },
}

impl Check {
    fn authority(path: &Path, name: bool) -> Result<Check, AddressError> {
        let mut roots = RootCertStore::empty();
        let mut own = Vec::new();
        if path == Path::new(SYSTEM) {
            roots = system_roots();
        } else {
            own = certificates(path)?;
            roots.add_parsable_certificates(own.iter().cloned());
        }
        let builder = WebPkiServerVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::new(ring::default_provider()),
        );
        let chain = builder.build().map_err(|error| {
            wrong(
                format!(
                    "the certificates in `{}` cannot be used: {error}",
                    path.display()
                ),
                "name another file in sslrootcert",
            )
        })?;
        Ok(Check::Authority { chain, own, name })
    }
}

/// Checks servers.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    check: Check,
}

/// Whether a certificate was refused only since it may also sign others, which is usual for those that were made by
/// hand. Its dates have been looked at by then.
fn is_signer(error: &rustls::Error) -> bool {
    matches!(error, rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(cause)))
        if cause.to_string().contains("CaUsedAsEndEntity"))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Check::Authority { chain, own, name } = &self.check else {
            return Ok(ServerCertVerified::assertion());
        };
        match chain.verify_server_cert(certificate, between, server, ocsp, now) {
            // The name is what is looked at last.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !name => Ok(ServerCertVerified::assertion()),
            Err(error) if is_signer(&error) && own.iter().any(|own| own == certificate) => {
                if *name {
                    verify_server_name(&ParsedCertificate::try_from(certificate)?, server)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

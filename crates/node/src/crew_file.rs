//! The crew file: where the manager is, and the keys with which nodes and manager know each other.
//!
//! Law: whoever can read the file is of the crew, so only its owner can. It is written as a whole or not at all. Keys are made
//! for one crew and go with it; they are in no argument, environment or log.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde::{Deserialize, Serialize};

use crate::NodeError;

/// The name under which manager and nodes prove who they are.
pub(crate) const NAME: &str = "headwater-crew";

/// What nodes have to know of their crew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrewFile {
    /// The format of the file.
    pub headwater_crew: u32,
    /// The run whose crew it is.
    pub run: String,
    /// Where the manager listens, as `ADDRESS:PORT`.
    pub addresses: Vec<String>,
    /// A folder that the manager writes to, for nodes that can see it.
    pub folder: PathBuf,
    /// What is in a file `seen` in that folder, if it is the same folder.
    pub token: String,
    /// Where tasks run, for nodes that can see it.
    pub work: PathBuf,
    /// Where what they say is kept.
    pub logs: PathBuf,
    /// The certificate of the authority of the crew, as hexadecimal digits.
    authority: String,
    /// The certificate of its members.
    certificate: String,
    /// The key of that.
    key: String,
}

/// The present format.
const FORMAT: u32 = 1;

/// Certificates and the key, as bytes.
pub(crate) struct Keys {
    pub(crate) authority: Vec<u8>,
    pub(crate) certificate: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let pair = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    };
    digits.chunks(2).map(pair).collect()
}

impl CrewFile {
    /// A new crew with keys of its own. Nodes may have folders below `folder`.
    pub fn new(
        run: &str,
        addresses: Vec<String>,
        folder: &Path,
        token: String,
    ) -> Result<CrewFile, NodeError> {
        let keys = make_keys().map_err(|error| NodeError::Keys(error.to_string()))?;
        Ok(CrewFile {
            headwater_crew: FORMAT,
            run: run.to_owned(),
            addresses,
            folder: folder.to_path_buf(),
            token,
            work: folder.join("work"),
            logs: folder.join("logs"),
            authority: hex(&keys.authority),
            certificate: hex(&keys.certificate),
            key: hex(&keys.key),
        })
    }

    pub(crate) fn keys(&self) -> Result<Keys, NodeError> {
        let bytes =
            |text: &str| unhex(text).ok_or_else(|| NodeError::Keys("not hexadecimal".to_owned()));
        Ok(Keys {
            authority: bytes(&self.authority)?,
            certificate: bytes(&self.certificate)?,
            key: bytes(&self.key)?,
        })
    }

    /// Writes it, for its owner alone.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let new = path.with_extension("new");
        let _ = fs::remove_file(&new);
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()?;
        fs::rename(&new, path)
    }

    /// Reads it. One that others may read or write is refused: they could be anybody.
    pub fn read(path: &Path) -> Result<CrewFile, NodeError> {
        let failed = |error: io::Error| NodeError::CrewFile {
            path: path.to_path_buf(),
            reason: error.to_string(),
        };
        let wrong = |reason: &str| NodeError::CrewFile {
            path: path.to_path_buf(),
            reason: reason.to_owned(),
        };
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)
            .map_err(failed)?;
        let found = file.metadata().map_err(failed)?;
        if !found.is_file() {
            return Err(wrong("it is no file"));
        }
        if found.permissions().mode() & 0o077 != 0 {
            return Err(wrong(
                "others than its owner may read or write it, so its keys are no secret; `chmod 600` does not help \
                 once somebody has read them: start the command anew",
            ));
        }
        let own = fs::metadata("/proc/self").map_err(failed)?.uid();
        if found.uid() != own && own != 0 {
            return Err(wrong("it belongs to somebody else"));
        }
        let mut text = String::new();
        file.take(1 << 20)
            .read_to_string(&mut text)
            .map_err(failed)?;
        let file: CrewFile = serde_json::from_str(&text)
            .map_err(|error| wrong(&format!("it is no crew file: {error}")))?;
        if file.headwater_crew != FORMAT {
            return Err(wrong(&format!(
                "it has format {}, and this program reads format {FORMAT}",
                file.headwater_crew
            )));
        }
        Ok(file)
    }
}

/// An authority, and a certificate of it for everybody in the crew. The key of the authority is thrown away.
fn make_keys() -> Result<Keys, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let member = CertificateParams::new(vec![NAME.to_owned()])?;
    let certificate = member.signed_by(&key, &authority)?;
    Ok(Keys {
        authority: authority.der().to_vec(),
        certificate: certificate.der().to_vec(),
        key: key.serialize_der(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crew_file_is_read_by_its_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("crew.json");
        let crew = CrewFile::new(
            "run",
            vec!["127.0.0.1:1".into()],
            folder.path(),
            "token".into(),
        );
        let crew = crew.expect("keys");
        crew.write(&path).expect("it is written");
        assert_eq!(CrewFile::read(&path).expect("it is there"), crew);
        let mode = fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        for mode in [0o640, 0o604, 0o622, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
            let error = CrewFile::read(&path).expect_err("it is no secret");
            assert!(
                error.to_string().contains("others than its owner"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_no_crew_file_is_refused_in_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("crew.json");
        let read = || CrewFile::read(&path).expect_err("it is wrong").to_string();
        assert!(read().contains("No such file"));
        let write = |text: &str| {
            let _ = fs::remove_file(&path);
            let mut options = fs::OpenOptions::new();
            let file = options.write(true).create_new(true).mode(0o600).open(&path);
            file.and_then(|mut file| file.write_all(text.as_bytes()))
                .expect("written");
        };
        write("{}");
        assert!(read().contains("it is no crew file"));
        let crew = CrewFile::new("run", Vec::new(), folder.path(), String::new()).expect("keys");
        let other = CrewFile {
            headwater_crew: 9,
            ..crew
        };
        write(&serde_json::to_string(&other).expect("text"));
        assert!(read().contains("format 9"));
        fs::remove_file(&path).expect("gone");
        fs::create_dir(&path).expect("a folder");
        assert!(read().contains("it is no file"));
    }
}

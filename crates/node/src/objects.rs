//! Bytes from one process of the crew to another, by digest.
//!
//! Law: who takes bytes compares them with their digest, so it does not matter who gave them. A question is answered, or the
//! connection ends; nobody waits for ever.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headwater_graph::wire::{WireReader, WireWriter};
use headwater_graph::{Aligned, ContentHasher, Digest, Owner};

use crate::message::OBJECTS;
use crate::secure::{Stream, Tls};
use crate::shelf::{Bytes, Shelf};

/// So long is waited for bytes of another process.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a file that are read at a time.
const PIECE: usize = 256 << 10;
/// At most this many connections to one process are kept for later.
const SPARE: usize = 4;

const FIND: u8 = 1;
const GET: u8 = 2;

/// Where bytes are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// A file, for those who can see it.
    pub(crate) path: Option<PathBuf>,
    /// Processes that have them.
    pub(crate) peers: Vec<String>,
    /// Whoever was asked has them, too.
    pub(crate) here: bool,
}

/// Who gives bytes to others.
pub(crate) trait Provider: Send + Sync {
    /// The bytes.
    fn open(&self, digest: &Digest) -> Option<Bytes>;

    /// Where they are.
    fn find(&self, digest: &Digest) -> Found;
}

impl Provider for Shelf {
    fn open(&self, digest: &Digest) -> Option<Bytes> {
        Shelf::open(self, digest)
    }

    fn find(&self, digest: &Digest) -> Found {
        Found {
            here: self.has(digest),
            ..Found::default()
        }
    }
}

/// Answers questions until the other side has none any more. Adds the bytes that it sends to `sent`.
pub(crate) fn serve(
    mut stream: Stream,
    provider: &dyn Provider,
    sent: &AtomicU64,
) -> io::Result<()> {
    loop {
        let mut question = [0; 33];
        match stream.read_exact(&mut question) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let mut digest = Digest([0; 32]);
        digest.0.copy_from_slice(&question[1..]);
        match question[0] {
            FIND => {
                let Found { path, peers, here } = provider.find(&digest);
                let mut writer = WireWriter::new();
                writer.option(path, |writer, path| {
                    use std::os::unix::ffi::OsStrExt as _;
                    writer.bytes(path.as_os_str().as_bytes());
                });
                writer.count(peers.len());
                peers.iter().for_each(|peer| writer.text(peer));
                writer.flag(here);
                let length = u32::try_from(writer.bytes.len()).map_err(io::Error::other)?;
                stream.write_all(&length.to_le_bytes())?;
                stream.write_all(&writer.bytes)?;
            }
            GET => match provider.open(&digest) {
                None => stream.write_all(&u64::MAX.to_le_bytes())?,
                Some(Bytes::Memory(owner)) => {
                    let bytes = (*owner).as_ref();
                    stream.write_all(&(bytes.len() as u64).to_le_bytes())?;
                    for piece in bytes.chunks(PIECE) {
                        stream.write_all(piece)?;
                    }
                    sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                }
                Some(Bytes::File(mut file, length)) => {
                    stream.write_all(&length.to_le_bytes())?;
                    let copied = io::copy(&mut (&mut file).take(length), &mut stream)?;
                    sent.fetch_add(copied, Ordering::Relaxed);
                    if copied < length {
                        // Nobody may take what comes next for its rest.
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            },
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "an unknown question",
                ));
            }
        }
        stream.flush()?;
    }
}

/// Gets bytes from others.
pub(crate) struct Puller {
    tls: Tls,
    /// The manager, who knows where bytes are.
    manager: Vec<String>,
    spare: Mutex<HashMap<String, Vec<Stream>>>,
    /// Whether paths of the manager mean the same here.
    sees_files: bool,
    /// Bytes that came over a connection.
    pub(crate) pulled: AtomicU64,
}

impl Puller {
    pub(crate) fn new(tls: Tls, manager: Vec<String>, sees_files: bool) -> Puller {
        Puller {
            tls,
            manager,
            spare: Mutex::default(),
            sees_files,
            pulled: AtomicU64::new(0),
        }
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<Stream>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a process. One that has ended a connection meanwhile is connected to anew.
    fn ask<T>(
        &self,
        addresses: &[String],
        ask: impl Fn(&mut Stream) -> io::Result<T>,
    ) -> io::Result<T> {
        let key = addresses.join(" ");
        loop {
            let kept = self.spare().get_mut(&key).and_then(Vec::pop);
            let is_kept = kept.is_some();
            let mut stream = match kept {
                Some(stream) => stream,
                None => {
                    let mut stream = self.tls.connect(addresses)?.stream();
                    stream.set_timeout(Some(PATIENCE))?;
                    stream.write_all(&[OBJECTS])?;
                    stream
                }
            };
            match ask(&mut stream) {
                Ok(answer) => {
                    let mut spare = self.spare();
                    let streams = spare.entry(key).or_default();
                    if streams.len() < SPARE {
                        streams.push(stream);
                    }
                    return Ok(answer);
                }
                Err(_) if is_kept => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn find(&self, digest: &Digest) -> io::Result<Found> {
        self.ask(&self.manager, |stream| {
            question(stream, FIND, digest)?;
            let mut length = [0; 4];
            stream.read_exact(&mut length)?;
            let mut answer = vec![0; (u32::from_le_bytes(length) as usize).min(1 << 20)];
            stream.read_exact(&mut answer)?;
            let mut reader = WireReader::new(&answer);
            let wrong = |error| io::Error::new(io::ErrorKind::InvalidData, error);
            let path = reader.option(|reader| {
                use std::os::unix::ffi::OsStrExt as _;
                Ok(PathBuf::from(std::ffi::OsStr::from_bytes(reader.bytes()?)))
            });
            Ok(Found {
                path: path.map_err(wrong)?,
                peers: reader
                    .list(|reader| reader.text().map(str::to_owned))
                    .map_err(wrong)?,
                here: reader.flag().map_err(wrong)?,
            })
        })
    }

    fn get(&self, addresses: &[String], digest: &Digest) -> io::Result<Option<Owner>> {
        let bytes = self.ask(addresses, |stream| {
            question(stream, GET, digest)?;
            let mut length = [0; 8];
            stream.read_exact(&mut length)?;
            let length = u64::from_le_bytes(length);
            if length == u64::MAX {
                return Ok(None);
            }
            let mut hashing = Hashing {
                from: stream.take(length),
                hasher: ContentHasher::new(),
            };
            let bytes = Aligned::read(&mut hashing, length)?;
            if bytes.length() < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let is_right = hashing.hasher.finish() == *digest;
            self.pulled.fetch_add(length, Ordering::Relaxed);
            Ok(Some((bytes, is_right)))
        })?;
        Ok(match bytes {
            Some((bytes, true)) => Some(Arc::new(bytes)),
            _ => None,
        })
    }

    /// Has bytes come to a shelf from wherever they are; says whether they are there now.
    pub(crate) fn bring(&self, digest: &Digest, shelf: &Shelf) -> bool {
        if shelf.has(digest) {
            return true;
        }
        let Ok(found) = self.find(digest) else {
            return false;
        };
        if let Some(path) = found.path.filter(|_| self.sees_files)
            && is_right(&path, digest).unwrap_or(false)
        {
            shelf.adopt(*digest, &path);
            return true;
        }
        for peer in found.peers {
            if let Ok(Some(bytes)) = self.get(&[peer], digest) {
                shelf.put(*digest, bytes);
                return true;
            }
        }
        if found.here
            && let Ok(Some(bytes)) = self.get(&self.manager, digest)
        {
            shelf.put(*digest, bytes);
            return true;
        }
        shelf.has(digest)
    }

    /// Has bytes come from these processes.
    pub(crate) fn bring_from(&self, peers: &[String], digest: &Digest, shelf: &Shelf) -> bool {
        if shelf.has(digest) {
            return true;
        }
        peers.iter().any(|peer| {
            let bytes = self.get(std::slice::from_ref(peer), digest);
            let Ok(Some(bytes)) = bytes else {
                return false;
            };
            shelf.put(*digest, bytes);
            true
        })
    }
}

fn question(stream: &mut Stream, kind: u8, digest: &Digest) -> io::Result<()> {
    let mut question = [kind; 33];
    question[1..].copy_from_slice(&digest.0);
    stream.write_all(&question)?;
    stream.flush()
}

/// Whether a file has this digest.
fn is_right(path: &Path, digest: &Digest) -> io::Result<bool> {
    let mut hasher = ContentHasher::new();
    hasher.update_from(&mut fs::File::open(path)?, &mut vec![0; PIECE], |_| ())?;
    Ok(hasher.finish() == *digest)
}

/// Digests what it reads.
struct Hashing<R> {
    from: R,
    hasher: ContentHasher,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::crew_file::CrewFile;

    /// Says that bytes are with others, and gives wrong ones itself.
    struct Liar(Vec<String>);

    impl Provider for Liar {
        fn open(&self, _: &Digest) -> Option<Bytes> {
            Some(Bytes::Memory(Arc::new(b"something else".to_vec())))
        }

        fn find(&self, _: &Digest) -> Found {
            Found {
                path: Some("/proc/self/cmdline".into()),
                peers: self.0.clone(),
                here: true,
            }
        }
    }

    /// A process that answers for ever.
    fn process(tls: &Tls, provider: Arc<dyn Provider>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let tls = tls.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (tls, provider) = (tls.clone(), Arc::clone(&provider));
                std::thread::spawn(move || {
                    let mut stream = tls.accept(socket).expect("of the crew").stream();
                    let mut kind = [0];
                    stream.read_exact(&mut kind).expect("a byte");
                    assert_eq!(kind, [OBJECTS]);
                    let _ = serve(stream, &*provider, &AtomicU64::new(0));
                });
            }
        });
        address
    }

    #[test]
    fn wrong_bytes_are_never_taken_and_right_ones_are_found_elsewhere() {
        let crew = CrewFile::new("run", Vec::new(), Path::new("x"), String::new()).expect("keys");
        let tls = Tls::of(&crew).expect("they are good");
        let folder = tempfile::tempdir().expect("a folder");
        let (small, large) = (vec![1; 10], vec![2; 5_000_000]);
        let peer = Arc::new(Shelf::new(folder.path().join("peer"), 100));
        let digests = [Digest::of(&small), Digest::of(&large)];
        peer.put(digests[0], Arc::new(small.clone()));
        peer.put(digests[1], Arc::new(large.clone()));
        // What is in memory, and what is in a file.
        let _ = peer.path(&digests[0]);
        let liar = process(&tls, Arc::new(Liar(Vec::new())));
        let honest = process(&tls, peer);
        let manager = process(&tls, Arc::new(Liar(vec![liar.clone(), honest])));
        let shelf = Shelf::new(folder.path().join("shelf"), 1 << 30);
        let puller = Puller::new(tls.clone(), vec![manager], true);
        for (digest, bytes) in digests.iter().zip([small, large]) {
            assert!(puller.bring(digest, &shelf));
            let found = shelf.owner(digest).expect("it is there");
            assert_eq!((*found).as_ref(), bytes);
        }
        let alone = Puller::new(
            tls,
            vec![process(
                &Tls::of(&crew).expect("good"),
                Arc::new(Liar(vec![liar])),
            )],
            true,
        );
        let unknown = Digest::of(b"unknown");
        assert!(!alone.bring(&unknown, &shelf) && !shelf.has(&unknown));
    }

    #[test]
    fn a_process_that_is_gone_is_no_error_but_no_bytes() {
        let crew = CrewFile::new("run", Vec::new(), Path::new("x"), String::new()).expect("keys");
        let tls = Tls::of(&crew).expect("they are good");
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = Shelf::new(folder.path().join("shelf"), 1 << 30);
        let puller = Puller::new(tls, vec!["127.0.0.1:1".to_owned()], false);
        assert!(!puller.bring(&Digest::of(b"x"), &shelf));
    }
}

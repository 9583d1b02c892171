//! Objects in a bucket that speaks the protocol of S3.
//!
//! Law: an object is there as a whole or not at all, as `PREFIX/ab/cdef…`. What is sent was digested from the same
//! memory: a file that has changed leaves nothing behind under the name. An object that already exists is written
//! again, so that one that was damaged becomes good; no condition is asked of the server, and none is relied on. No
//! object is in memory as a whole, unless it is small. A server that does not answer is found out once: while it is away
//! one caller at a time tries, and the others are refused at once. Nobody outside of this file waits for a future.

mod place;
#[cfg(test)]
mod tests;
mod words;

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::future::Future;
use std::io::{self, Read};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use ::bytes::Bytes as Piece;
use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, iter};
use headwater_graph::{ContentHasher, Digest, StoreError};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{HttpClient, HttpConnector};
use object_store::multipart::{MultipartStore as _, PartId};
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer as _};
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, ObjectStore as _, ObjectStoreExt as _,
    PutPayload, RetryConfig,
};
use reqwest::Method;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::address::AddressError;
use crate::bytes::{Bytes, Lying, changed};
use crate::link::Trouble;
use crate::lock::locked;
use place::Place;
use words::Meaning;

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(4);
/// How long it may take to answer, further tries included, and how long it may be silent within an answer.
const ANSWER: Duration = Duration::from_secs(10);
/// The same for putting the parts of a large object together.
const COMPLETE: Duration = Duration::from_secs(60);
/// Bytes per second that a connection carries at least.
const SLOWEST: u64 = 128 << 10;
/// After this time a server that is away is called again.
const PAUSE: Duration = Duration::from_secs(1);
/// Files up to this size are sent at once; larger ones in parts of at least this size.
const PART: u64 = 8 << 20;
/// No object has more parts than that; the protocol allows 10,000.
const MOST_PARTS: u64 = 9_000;
/// Parts that are on their way at once.
const SENDING: usize = 3;
/// What is asked for at first of an object; of most that is all.
const FIRST: u64 = 256 << 10;
/// How often reading goes on after a connection broke before it had brought anything.
const TRIES: usize = 3;

/// Bytes as they come.
type Pieces = BoxStream<'static, object_store::Result<Piece>>;

/// A bucket.
pub(crate) struct Bucket(Arc<Inner>);

impl fmt::Debug for Bucket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Bucket")
            .field(&self.0.shown)
            .finish()
    }
}

struct Inner {
    store: AmazonS3,
    /// For what the store has no call for.
    client: reqwest::Client,
    /// What names of objects begin with.
    prefix: Path,
    shown: String,
    /// Always there until the end.
    runtime: Option<Runtime>,
    away: Mutex<Option<Away>>,
}

/// That the server did not answer.
struct Away {
    why: String,
    /// Who calls before that is refused.
    until: Instant,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The search for the address of a server may hang, and nobody needs it any more.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Connections that end when they have to.
#[derive(Debug)]
struct Connector(reqwest::Client);

impl Connector {
    fn to(place: &Place) -> Result<Connector, Box<dyn std::error::Error>> {
        let endpoint = place.endpoint.as_deref().unwrap_or("https://");
        let (scheme, rest) = endpoint.split_once("://").unwrap_or_default();
        let is_encrypted = scheme != "http";
        let is_here = ["127.", "localhost", "[::1]"]
            .iter()
            .any(|name| rest.starts_with(name));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = if is_encrypted {
            crate::tls::system_roots()
        } else {
            rustls::RootCertStore::empty()
        };
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(is_encrypted)
            .http1_only()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .tcp_keepalive(ANSWER)
            .tcp_user_timeout(ANSWER)
            .pool_idle_timeout(Duration::from_secs(30))
            .user_agent("headwater");
        if is_here {
            builder = builder.no_proxy();
        }
        Ok(Connector(builder.build()?))
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

impl Bucket {
    /// A bucket; nobody is asked yet whether it is there.
    pub(crate) fn open(url: &str) -> Result<Bucket, AddressError> {
        Bucket::at(&Place::read(url, &place::environment())?)
    }

    fn at(place: &Place) -> Result<Bucket, AddressError> {
        let wrong = |why: String| AddressError {
            message: format!("{} cannot be used: {why}", place.shown()),
            hint: Some(
                "write s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION".to_owned(),
            ),
        };
        let connector = Connector::to(place).map_err(|error| wrong(error.to_string()))?;
        let client = connector.0.clone();
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&place.bucket)
            .with_region(&place.region)
            .with_access_key_id(&place.keys.id)
            .with_secret_access_key(&place.keys.secret)
            .with_virtual_hosted_style_request(false)
            .with_disable_bulk_delete(true)
            .with_retry(RetryConfig {
                backoff: BackoffConfig {
                    init_backoff: Duration::from_millis(100),
                    max_backoff: Duration::from_secs(1),
                    base: 2.0,
                },
                max_retries: 4,
                retry_timeout: ANSWER,
            })
            .with_http_connector(connector);
        if let Some(endpoint) = &place.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        if let Some(token) = &place.keys.token {
            builder = builder.with_token(token);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("headwater-bucket")
            .enable_all()
            .build();
        Ok(Bucket(Arc::new(Inner {
            store: builder
                .build()
                .map_err(|error| wrong(words::read(&error).1))?,
            client,
            prefix: Path::from(place.prefix.as_str()),
            shown: place.shown(),
            runtime: Some(runtime.map_err(|error| wrong(error.to_string()))?),
            away: Mutex::default(),
        })))
    }
}

impl Inner {
    /// `PREFIX/ab/cdef…`.
    fn name(&self, digest: &Digest) -> Path {
        let hex = digest.hex();
        let (folder, rest) = hex.split_at(2);
        self.prefix.clone().join(folder).join(rest)
    }

    /// The other way round.
    fn digest(&self, name: &Path) -> Option<Digest> {
        let parts: Vec<String> = name
            .prefix_match(&self.prefix)?
            .map(|part| part.as_ref().to_owned())
            .collect();
        let [folder, rest] = parts.as_slice() else {
            return None;
        };
        let digest = format!("{folder}{rest}").parse().ok()?;
        (folder.len() == 2).then_some(digest)
    }

    fn trouble(&self, what: &str, error: &object_store::Error) -> Trouble {
        words::trouble(&self.shown, what, error)
    }

    fn runtime(&self) -> Result<&Runtime, Trouble> {
        let ended = || Trouble::Away(format!("{}: this program ends", self.shown));
        self.runtime.as_ref().ok_or_else(ended)
    }

    /// An error while the server is away, unless it is time to call it again.
    fn gate(&self) -> Result<(), Trouble> {
        let mut away = locked(&self.away);
        match &mut *away {
            Some(away) if Instant::now() < away.until => Err(Trouble::Away(away.why.clone())),
            Some(away) => {
                // The others wait for what this one finds.
                away.until = Instant::now() + ANSWER;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Remembers whether the server answers.
    fn heard<T>(&self, answer: Result<T, Trouble>) -> Result<T, Trouble> {
        *locked(&self.away) = match &answer {
            Err(Trouble::Away(why)) => Some(Away {
                why: why.clone(),
                until: Instant::now() + PAUSE,
            }),
            _ => None,
        };
        answer
    }

    /// Waits for an answer, for a limited time.
    fn wait<T>(
        &self,
        patience: Duration,
        what: &str,
        answer: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Trouble> {
        let runtime = self.runtime()?;
        let answer = runtime.block_on(async { tokio::time::timeout(patience, answer).await });
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.trouble(what, &error)),
            Err(_) => Err(words::silent(&self.shown)),
        }
    }

    /// Writes an object that is in memory.
    fn put_small(&self, digest: &Digest, bytes: Vec<u8>) -> Result<(), Trouble> {
        let size = bytes.len() as u64;
        let name = self.name(digest);
        let put = self.store.put(&name, PutPayload::from(bytes));
        self.wait(time_for(size), "write an object", put)?;
        Ok(())
    }

    /// Writes an object in parts, which become one only when all of them are what they should be.
    fn put_large(
        &self,
        digest: &Digest,
        first: Vec<u8>,
        file: File,
        size: u64,
    ) -> Result<(), Trouble> {
        let name = self.name(digest);
        let begin = self.store.create_multipart(&name);
        let upload = self.wait(ANSWER, "begin an object", begin)?;
        let put = self.send_parts(digest, &name, &upload, first, file, size);
        if put.is_err() {
            let abort = self.store.abort_multipart(&name, &upload);
            let _ = self.wait(ANSWER, "give up an object", abort);
        }
        put
    }

    fn send_parts(
        &self,
        digest: &Digest,
        name: &Path,
        upload: &str,
        first: Vec<u8>,
        mut file: File,
        size: u64,
    ) -> Result<(), Trouble> {
        let length = PART.max(size.div_ceil(MOST_PARTS));
        let mut hasher = ContentHasher::new();
        let mut sending: VecDeque<Part> = VecDeque::new();
        let mut sent: Vec<PartId> = Vec::new();
        let mut part = first;
        loop {
            fill(&mut part, length, &mut file).map_err(unreadable)?;
            if part.is_empty() {
                break;
            }
            hasher.update(&part);
            let is_last = (part.len() as u64) < length;
            if sending.len() == SENDING {
                sent.extend(self.finish(sending.pop_front())?);
            }
            let number = sent.len() + sending.len();
            sending.push_back(self.send(name, upload, number, std::mem::take(&mut part))?);
            if is_last {
                break;
            }
        }
        while !sending.is_empty() {
            sent.extend(self.finish(sending.pop_front())?);
        }
        if hasher.finish() != *digest {
            return Err(changed(digest));
        }
        let patience = COMPLETE + time_for(size / 512);
        let upload = upload.to_owned();
        let complete = self.store.complete_multipart(name, &upload, sent);
        self.wait(patience, "complete an object", complete)?;
        Ok(())
    }

    fn send(
        &self,
        name: &Path,
        upload: &str,
        number: usize,
        bytes: Vec<u8>,
    ) -> Result<Part, Trouble> {
        let (store, name, upload) = (self.store.clone(), name.clone(), upload.to_owned());
        let patience = time_for(bytes.len() as u64 * SENDING as u64);
        Ok(Part(self.runtime()?.spawn(async move {
            let put = store.put_part(&name, &upload, number, PutPayload::from(bytes));
            tokio::time::timeout(patience, put).await.ok()
        })))
    }

    fn finish(&self, part: Option<Part>) -> Result<Option<PartId>, Trouble> {
        let Some(mut part) = part else {
            return Ok(None);
        };
        match self.runtime()?.block_on(&mut part.0) {
            Ok(Some(Ok(part))) => Ok(Some(part)),
            Ok(Some(Err(error))) => Err(self.trouble("write a part of an object", &error)),
            Ok(None) | Err(_) => Err(words::silent(&self.shown)),
        }
    }

    fn put(&self, digest: &Digest, mut file: File) -> Result<(), Trouble> {
        let size = file.metadata().map_err(unreadable)?.len();
        let mut first = Vec::new();
        fill(&mut first, PART, &mut file).map_err(unreadable)?;
        if first.len() as u64 == PART {
            return self.put_large(digest, first, file, size);
        }
        if Digest::of(&first) != *digest {
            return Err(changed(digest));
        }
        self.put_small(digest, first)
    }

    /// Asks for bytes of an object, from one on.
    fn ask(
        &self,
        name: &Path,
        range: Option<GetRange>,
    ) -> Result<(Pieces, u64), (Meaning, Trouble)> {
        let options = GetOptions {
            range,
            ..GetOptions::default()
        };
        let runtime = self.runtime().map_err(|trouble| (Meaning::Away, trouble))?;
        let ask = async { tokio::time::timeout(ANSWER, self.store.get_opts(name, options)).await };
        match runtime.block_on(ask) {
            Ok(Ok(found)) => {
                let size = found.meta.size;
                Ok((found.into_stream(), size))
            }
            Ok(Err(error)) => Err((
                words::read(&error).0,
                self.trouble("read an object", &error),
            )),
            Err(_) => Err((Meaning::Away, words::silent(&self.shown))),
        }
    }

    /// That the bucket is there: what a server says that has no such object may also be said by one that has no such
    /// bucket, or is something else.
    fn reach(&self) -> Result<(), Trouble> {
        let mut listed = self.store.list(Some(&self.prefix));
        let first = async { listed.next().await.transpose() };
        self.wait(ANSWER, "list objects", first).map(drop)
    }

    fn missing(&self, digest: &Digest) -> Trouble {
        match self.reach() {
            // Who may read and not list has no other way to find out.
            Ok(()) | Err(Trouble::Other(StoreError::Refused(_))) => {
                Trouble::Other(StoreError::Missing(*digest))
            }
            Err(trouble) => trouble,
        }
    }

    fn get(self: &Arc<Inner>, digest: &Digest) -> Result<Arriving, Trouble> {
        let name = self.name(digest);
        // Of nothing there is no part.
        let is_empty = *digest == Digest::of(&[]);
        let range = (!is_empty).then_some(GetRange::Bounded(0..FIRST));
        let asked = match self.ask(&name, range) {
            // A server that knows no parts, or an object that is empty and should not be.
            Err((Meaning::Range, _)) => self.ask(&name, None),
            asked => asked,
        };
        let (stream, size) = match asked {
            Ok(asked) => asked,
            Err((Meaning::NoObject, _)) => return Err(self.missing(digest)),
            Err((_, trouble)) => return Err(trouble),
        };
        let mut arriving = Arriving {
            inner: Arc::clone(self),
            name,
            size,
            arrived: 0,
            pieces: VecDeque::new(),
            stream: Some(stream),
        };
        arriving.begin()?;
        Ok(arriving)
    }

    fn list(&self) -> Result<Vec<Lying>, Trouble> {
        let mut listed = self.store.list(Some(&self.prefix));
        let now = SystemTime::now();
        let mut found = Vec::new();
        let mut next = async || listed.next().await.transpose();
        while let Some(object) = self.wait(ANSWER, "list objects", next())? {
            let Some(digest) = self.digest(&object.location) else {
                continue;
            };
            let age = now.duration_since(object.last_modified.into());
            found.push((digest, age.map_or(0, |age| age.as_secs())));
        }
        Ok(found)
    }

    /// What the server says about objects that were begun.
    async fn begun(&self) -> Option<String> {
        let prefix = format!("{}/", self.prefix);
        let query = [("uploads", ""), ("prefix", prefix.trim_start_matches('/'))];
        let query = SignedUrlOptions::default().with_query(query);
        let root = Path::default();
        let url = self
            .store
            .signed_url_opts(Method::GET, &root, COMPLETE, &query);
        let answer = self.client.get(url.await.ok()?).send().await.ok()?;
        if answer.status().is_success() {
            answer.text().await.ok()
        } else {
            None
        }
    }

    fn sweep(&self, seconds: u64) -> Result<(), Trouble> {
        let begun = async { Ok(self.begun().await) };
        let Some(text) = self.wait(ANSWER, "list objects that were begun", begun)? else {
            return Ok(());
        };
        for (name, upload) in words::begun(&text, seconds) {
            let name = Path::from(name);
            let is_ours = self.digest(&name).is_some();
            if is_ours {
                let abort = self.store.abort_multipart(&name, &upload);
                // That somebody else did it is no error.
                let _ = self.wait(ANSWER, "give up an object", abort);
            }
        }
        Ok(())
    }

    fn remove(&self, digests: &[Digest]) -> Result<(), Trouble> {
        let names: Vec<_> = digests.iter().map(|digest| Ok(self.name(digest))).collect();
        let mut removed = self.store.delete_stream(iter(names).boxed());
        loop {
            let next = async { Ok(removed.next().await) };
            match self.wait(ANSWER, "remove objects", next)? {
                None => return Ok(()),
                Some(Ok(_)) => {}
                Some(Err(error)) if words::read(&error).0 == Meaning::NoObject => {}
                Some(Err(error)) => return Err(self.trouble("remove an object", &error)),
            }
        }
    }
}

/// A part that is being sent; it is not sent any further when nobody waits for it.
struct Part(JoinHandle<Option<object_store::Result<PartId>>>);

impl Drop for Part {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How long sending may take.
fn time_for(bytes: u64) -> Duration {
    ANSWER + Duration::from_secs(bytes / SLOWEST)
}

fn unreadable(source: io::Error) -> Trouble {
    Trouble::Other(StoreError::Io {
        what: "cannot read the file of an object".to_owned(),
        source,
    })
}

/// Reads until there are as many bytes, or no more.
fn fill(part: &mut Vec<u8>, length: u64, file: &mut File) -> io::Result<()> {
    let open = length.saturating_sub(part.len() as u64);
    file.take(open).read_to_end(part).map(drop)
}

/// An object that is being read. Only its beginning was asked for when this was made; the rest is, when somebody reads
/// it, so that many can be made without a connection for each.
struct Arriving {
    /// Before what it runs on.
    stream: Option<Pieces>,
    inner: Arc<Inner>,
    name: Path,
    size: u64,
    /// Bytes that have come, read or not.
    arrived: u64,
    /// Those that nobody has read yet.
    pieces: VecDeque<Piece>,
}

impl Arriving {
    /// Takes what was asked for at first.
    fn begin(&mut self) -> Result<(), Trouble> {
        while self.arrived < self.size.min(FIRST) {
            let piece = self.next()?;
            self.pieces.push_back(piece);
        }
        if self.arrived <= FIRST {
            self.stream = None;
        }
        Ok(())
    }

    /// The next bytes. After a connection broke, the next one goes on where it was.
    fn next(&mut self) -> Result<Piece, Trouble> {
        let inner = Arc::clone(&self.inner);
        let mut tries = 0;
        loop {
            let stream = match &mut self.stream {
                Some(stream) => stream,
                None => {
                    let range = GetRange::Bounded(self.arrived..self.size);
                    let asked = inner.ask(&self.name, Some(range));
                    let (stream, _) = asked.map_err(|(_, trouble)| trouble)?;
                    self.stream.insert(stream)
                }
            };
            let next = async { tokio::time::timeout(ANSWER, stream.next()).await };
            let trouble = match inner.runtime()?.block_on(next) {
                Ok(Some(Ok(mut piece))) => {
                    let open = self.size - self.arrived;
                    piece.truncate(usize::try_from(open).unwrap_or(usize::MAX));
                    self.arrived += piece.len() as u64;
                    if piece.is_empty() {
                        continue;
                    }
                    return Ok(piece);
                }
                Ok(Some(Err(error))) => inner.trouble("read an object", &error),
                Ok(None) => Trouble::Away(format!(
                    "{}: an object ended after {} of {} bytes",
                    inner.shown, self.arrived, self.size
                )),
                Err(_) => return Err(words::silent(&inner.shown)),
            };
            self.stream = None;
            tries += 1;
            if tries > TRIES {
                return Err(trouble);
            }
        }
    }
}

impl Read for Arriving {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.pieces.is_empty() {
            if self.arrived == self.size {
                return Ok(0);
            }
            let next = self.next();
            let piece = match &next {
                Err(Trouble::Away(_)) => self.inner.clone().heard(next),
                _ => next,
            };
            let piece = piece.map_err(|trouble| io::Error::other(trouble.into_error()))?;
            self.pieces.push_back(piece);
        }
        let Some(piece) = self.pieces.front_mut() else {
            return Ok(0);
        };
        let count = piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&piece.split_to(count));
        if piece.is_empty() {
            self.pieces.pop_front();
        }
        Ok(count)
    }
}

impl Bytes for Bucket {
    fn put(&self, digest: &Digest, file: File) -> Result<(), Trouble> {
        self.0.gate()?;
        self.0.heard(self.0.put(digest, file))
    }

    fn get(&self, digest: &Digest) -> Result<Box<dyn Read + Send>, Trouble> {
        self.0.gate()?;
        let arriving = self.0.heard(self.0.get(digest))?;
        Ok(Box::new(arriving))
    }

    fn remove(&self, digests: &[Digest]) -> Result<(), Trouble> {
        self.0.gate()?;
        self.0.heard(self.0.remove(digests))
    }

    fn list(&self) -> Result<Vec<Lying>, Trouble> {
        self.0.gate()?;
        self.0.heard(self.0.list())
    }

    /// Parts that never became an object cost money and are no objects. Not each server lists them; then its owner lets
    /// it remove them after some time (`AbortIncompleteMultipartUpload`).
    fn sweep(&self, seconds: u64) -> Result<(), Trouble> {
        self.0.gate()?;
        self.0.heard(self.0.sweep(seconds))
    }

    fn reach(&self) -> Result<(), Trouble> {
        self.0.heard(self.0.reach())
    }
}

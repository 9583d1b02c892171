//! A real S3 server for tests, and a connection to it that misbehaves.
//!
//! Law: both are in this process, on loopback, and end with it. The server honours conditions and ranges and checks
//! signatures. What stands between misbehaves only as long as it is asked to.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;

const ID: &str = "the-key-of-tests";
const SECRET: &str = "hush-hush-hush";

/// A server with one folder per bucket.
pub(crate) struct Buckets {
    folder: tempfile::TempDir,
    address: SocketAddr,
    next: AtomicU64,
}

/// The server that all tests of this process share.
pub(crate) fn shared() -> &'static Buckets {
    static SERVER: OnceLock<Buckets> = OnceLock::new();
    SERVER.get_or_init(Buckets::start)
}

impl Buckets {
    fn start() -> Buckets {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("buckets");
        fs::create_dir(&root).expect("a folder");
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let files = s3s_fs::FileSystem::new(root).expect("a folder");
                let mut service = S3ServiceBuilder::new(files);
                service.set_auth(SimpleAuth::from_single(ID, SECRET));
                let service = service.build();
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
                    .await
                    .expect("a port");
                sender
                    .send(listener.local_addr().expect("an address"))
                    .expect("somebody waits");
                loop {
                    let Ok((socket, _)) = listener.accept().await else {
                        continue;
                    };
                    let service = service.clone();
                    tokio::spawn(async move {
                        let server =
                            hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                        let _ = server.serve_connection(TokioIo::new(socket), service).await;
                    });
                }
            });
        });
        for (name, secret) in [("right", SECRET), ("wrong", "something else")] {
            let file = folder.path().join(name);
            let text =
                format!("[default]\naws_access_key_id = {ID}\naws_secret_access_key = {secret}\n");
            fs::write(&file, text).expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
        }
        Buckets {
            folder,
            address: receiver.recv().expect("the server starts"),
            next: AtomicU64::new(0),
        }
    }

    /// A new bucket.
    pub(crate) fn bucket(&'static self) -> TestBucket {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("bucket-{number}");
        fs::create_dir(self.folder.path().join("buckets").join(&name)).expect("a folder");
        TestBucket {
            server: self,
            name,
            proxy: Proxy::start(self.address),
        }
    }
}

/// A bucket, and the connection to it that can misbehave.
pub(crate) struct TestBucket {
    server: &'static Buckets,
    pub(crate) name: String,
    pub(crate) proxy: Proxy,
}

impl TestBucket {
    fn url_with(&self, bucket: &str, address: SocketAddr, keys: &str) -> String {
        let keys = self.server.folder.path().join(keys);
        format!(
            "s3://{bucket}/group/one?endpoint=http://{address}&credentials={}",
            keys.display()
        )
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        self.url_with(&self.name, self.proxy.address, "right")
    }

    /// Its URL with keys that are not right.
    pub(crate) fn url_with_wrong_keys(&self) -> String {
        self.url_with(&self.name, self.proxy.address, "wrong")
    }

    /// The URL of a bucket that does not exist.
    pub(crate) fn url_of_none(&self) -> String {
        self.url_with("no-such-bucket", self.proxy.address, "right")
    }

    /// Where the server keeps an object.
    pub(crate) fn file(&self, hex: &str) -> PathBuf {
        let root = self.server.folder.path().join("buckets").join(&self.name);
        root.join("group/one").join(&hex[..2]).join(&hex[2..])
    }
}

/// How a connection misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not at all.
    None,
    /// It is closed as soon as it is made.
    Closed,
    /// It is open, and nothing comes.
    Silent,
    /// What comes comes late and in small pieces.
    Slow,
    /// Each answer is an error of the server with this status.
    Status(u16),
    /// Objects end in the middle.
    Truncated,
    /// Objects end in the middle, and the length that is announced is that of what comes.
    Shortened,
    /// A byte of each object that is read is another.
    Corrupted,
    /// A byte of each object that is written is another.
    CorruptedUpload,
    /// Conditions do not reach the server.
    NoConditions,
}

/// A connection that misbehaves.
pub(crate) struct Proxy {
    address: SocketAddr,
    fault: Arc<Mutex<Fault>>,
    requests: Arc<AtomicU64>,
}

impl Proxy {
    fn start(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let fault = Arc::new(Mutex::new(Fault::None));
        let requests = Arc::new(AtomicU64::new(0));
        let (now, count) = (Arc::clone(&fault), Arc::clone(&requests));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (now, count) = (Arc::clone(&now), Arc::clone(&count));
                std::thread::spawn(move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    let fault = *now.lock().unwrap_or_else(PoisonError::into_inner);
                    let _ = pass(client, server, fault, &now);
                });
            }
        });
        Proxy {
            address,
            fault,
            requests,
        }
    }

    /// How it is from now on.
    pub(crate) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    /// How many connections were made.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

/// A request or an answer.
struct Message {
    lines: Vec<String>,
    body: Vec<u8>,
}

impl Message {
    /// Reads one: as much as it announces, or all there is.
    fn read(from: &mut TcpStream, is_request: bool) -> io::Result<Message> {
        let mut all = Vec::new();
        let mut piece = [0; 65536];
        let mut head = None;
        loop {
            if head.is_none() {
                head = all.windows(4).position(|four| four == b"\r\n\r\n");
            }
            if let Some(end) = head {
                let text = String::from_utf8_lossy(&all[..end]).into_owned();
                let lines: Vec<String> = text.split("\r\n").map(str::to_owned).collect();
                let message = Message {
                    lines,
                    body: Vec::new(),
                };
                let length = message.header("content-length");
                let length = length.and_then(|text| text.parse::<usize>().ok());
                let wanted = length.or(is_request.then_some(0));
                if wanted.is_some_and(|wanted| all.len() >= end + 4 + wanted) {
                    let body = all[end + 4..].to_vec();
                    return Ok(Message { body, ..message });
                }
            }
            match from.read(&mut piece)? {
                0 => break,
                count => all.extend_from_slice(&piece[..count]),
            }
        }
        let end = head.ok_or(io::ErrorKind::UnexpectedEof)?;
        let text = String::from_utf8_lossy(&all[..end]).into_owned();
        Ok(Message {
            lines: text.split("\r\n").map(str::to_owned).collect(),
            body: all[end + 4..].to_vec(),
        })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.lines[1..].iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    fn remove(&mut self, name: &str) {
        let is_other = |line: &String| {
            line.split_once(':')
                .is_none_or(|(key, _)| !key.eq_ignore_ascii_case(name))
        };
        self.lines.retain(is_other);
    }

    fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.lines.push(format!("{name}: {value}"));
    }

    fn head(&self) -> Vec<u8> {
        (self.lines.join("\r\n") + "\r\n\r\n").into_bytes()
    }
}

/// Passes one request on, and its answer back.
fn pass(
    mut client: TcpStream,
    server: SocketAddr,
    fault: Fault,
    now: &Mutex<Fault>,
) -> io::Result<()> {
    if fault == Fault::Closed {
        return Ok(());
    }
    let mut request = Message::read(&mut client, true)?;
    if fault == Fault::Silent {
        while *now.lock().unwrap_or_else(PoisonError::into_inner) == Fault::Silent {
            std::thread::sleep(Duration::from_millis(50));
        }
        return Ok(());
    }
    if let Fault::Status(status) = fault {
        let body = "<Error><Code>InternalError</Code><Message>not now</Message></Error>";
        let length = body.len();
        return write!(
            client,
            "HTTP/1.1 {status} Trouble\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
    }
    if fault == Fault::NoConditions {
        request.remove("if-none-match");
        request.remove("if-match");
    }
    let is_put = request.lines[0].starts_with("PUT");
    if fault == Fault::CorruptedUpload && is_put && !request.body.is_empty() {
        request.body[0] ^= 1;
    }
    request.set("connection", "close");
    let mut upstream = TcpStream::connect(server)?;
    upstream.write_all(&request.head())?;
    upstream.write_all(&request.body)?;
    let mut answer = Message::read(&mut upstream, false)?;
    answer.set("connection", "close");
    let is_object = request.lines[0].starts_with("GET") && !request.lines[0].contains('?');
    if is_object && !answer.body.is_empty() {
        spoil(&mut answer, fault);
    }
    if fault == Fault::Slow {
        std::thread::sleep(Duration::from_millis(300));
    }
    client.write_all(&answer.head())?;
    match fault {
        Fault::Slow => {
            for piece in answer.body.chunks(answer.body.len().div_ceil(4).max(1)) {
                std::thread::sleep(Duration::from_millis(50));
                client.write_all(piece)?;
            }
            Ok(())
        }
        _ => client.write_all(&answer.body),
    }
}

/// Changes the body of an object.
fn spoil(answer: &mut Message, fault: Fault) {
    let half = answer.body.len() / 2;
    match fault {
        Fault::Truncated => answer.body.truncate(half),
        Fault::Shortened => {
            answer.body.truncate(half);
            answer.set("content-length", &half.to_string());
            if answer.header("content-range").is_some() {
                let range = format!("bytes 0-{}/{half}", half - 1);
                answer.set("content-range", &range);
            }
        }
        Fault::Corrupted => answer.body[half] ^= 1,
        _ => {}
    }
}

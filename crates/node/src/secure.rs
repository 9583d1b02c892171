//! Encrypted connections between members of a crew.
//!
//! Law: both sides prove that they have the key of the crew before a byte of a message is read. What was sent arrives whole,
//! or the connection ends. One thread reads a channel and any number write to it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection,
    StreamOwned,
};

use crate::NodeError;
use crate::crew_file::{CrewFile, NAME};

/// A message is not longer than this: bytes of objects travel in pieces, by another way.
pub(crate) const LONGEST: usize = 256 << 20;
/// So long is waited for a connection and for the proof of who is there.
const GREETING: Duration = Duration::from_secs(10);
/// Plaintext that is encrypted at a time.
const PIECE: usize = 256 << 10;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The keys of a crew, ready to be used.
#[derive(Clone)]
pub(crate) struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
}

impl Tls {
    pub(crate) fn of(crew: &CrewFile) -> Result<Tls, NodeError> {
        let wrong = |error: &dyn std::fmt::Display| NodeError::Keys(error.to_string());
        let keys = crew.keys()?;
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from(keys.authority))
            .map_err(|error| wrong(&error))?;
        let roots = Arc::new(roots);
        let chain = vec![CertificateDer::from(keys.certificate)];
        let key = || PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(keys.key.clone()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let newest = &[&rustls::version::TLS13];
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(newest)
            .map_err(|error| wrong(&error))?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(chain.clone(), key())
            .map_err(|error| wrong(&error))?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| wrong(&error))?;
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(newest)
            .map_err(|error| wrong(&error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key())
            .map_err(|error| wrong(&error))?;
        Ok(Tls {
            client: Arc::new(client),
            server: Arc::new(server),
            name: ServerName::try_from(NAME).map_err(|error| wrong(&error))?,
        })
    }

    /// Connects to the first of these addresses that answers.
    pub(crate) fn connect(&self, addresses: &[String]) -> io::Result<Secure> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "no address is known");
        for address in addresses {
            match self.connect_to(address) {
                Ok(secure) => return Ok(secure),
                Err(error) => last = io::Error::new(error.kind(), format!("{address}: {error}")),
            }
        }
        Err(last)
    }

    fn connect_to(&self, address: &str) -> io::Result<Secure> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "it names no machine");
        for address in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, GREETING) {
                Ok(socket) => {
                    let connection =
                        ClientConnection::new(Arc::clone(&self.client), self.name.clone());
                    return Secure::greet(connection.map_err(io::Error::other)?.into(), socket);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Takes in somebody who has connected.
    pub(crate) fn accept(&self, socket: TcpStream) -> io::Result<Secure> {
        let connection =
            ServerConnection::new(Arc::clone(&self.server)).map_err(io::Error::other)?;
        Secure::greet(connection.into(), socket)
    }
}

/// A connection to a member of the crew.
pub(crate) struct Secure {
    connection: Connection,
    socket: TcpStream,
}

impl Secure {
    fn greet(mut connection: Connection, mut socket: TcpStream) -> io::Result<Secure> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(GREETING))?;
        socket.set_write_timeout(Some(GREETING))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        // The one side has ended its greeting when the other one may still refuse it.
        while connection.wants_write() {
            connection.write_tls(&mut socket)?;
        }
        socket.set_read_timeout(None)?;
        socket.set_write_timeout(None)?;
        connection.set_buffer_limit(None);
        Ok(Secure { connection, socket })
    }

    /// Where the other side is.
    pub(crate) fn peer(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// Where this side is.
    pub(crate) fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// As a stream, for one thread.
    pub(crate) fn stream(self) -> Stream {
        match self.connection {
            Connection::Client(connection) => {
                Stream::Client(Box::new(StreamOwned::new(connection, self.socket)))
            }
            Connection::Server(connection) => {
                Stream::Server(Box::new(StreamOwned::new(connection, self.socket)))
            }
        }
    }

    /// So long is waited for bytes.
    pub(crate) fn set_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(time)?;
        self.socket.set_write_timeout(time)
    }

    /// As a channel of messages.
    pub(crate) fn channel(mut self) -> io::Result<(Sender, Receiver)> {
        // What came with the last bytes of the greeting, or was read with what is before the channel.
        let mut plain = Vec::new();
        let state = self
            .connection
            .process_new_packets()
            .map_err(io::Error::other)?;
        plain.resize(state.plaintext_bytes_to_read(), 0);
        self.connection.reader().read_exact(&mut plain)?;
        let shared = Arc::new(Shared {
            connection: Mutex::new(self.connection),
            out: Mutex::new((self.socket.try_clone()?, Vec::new())),
        });
        let sender = Sender {
            shared: Arc::clone(&shared),
        };
        let receiver = Receiver {
            shared,
            socket: self.socket,
            raw: vec![0; 128 << 10],
            plain,
            read: 0,
        };
        Ok((sender, receiver))
    }
}

/// Both directions of a connection, for one thread.
pub(crate) enum Stream {
    Client(Box<StreamOwned<ClientConnection, TcpStream>>),
    Server(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Stream {
    /// The rest as a channel of messages.
    pub(crate) fn channel(self) -> io::Result<(Sender, Receiver)> {
        let secure = match self {
            Stream::Client(stream) => {
                let (connection, socket) = stream.into_parts();
                Secure {
                    connection: connection.into(),
                    socket,
                }
            }
            Stream::Server(stream) => {
                let (connection, socket) = stream.into_parts();
                Secure {
                    connection: connection.into(),
                    socket,
                }
            }
        };
        secure.channel()
    }

    /// So long is waited for bytes.
    pub(crate) fn set_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        let socket = match self {
            Stream::Client(stream) => &stream.sock,
            Stream::Server(stream) => &stream.sock,
        };
        socket.set_read_timeout(time)?;
        socket.set_write_timeout(time)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Client(stream) => stream.read(buffer),
            Stream::Server(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Client(stream) => stream.write(bytes),
            Stream::Server(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Client(stream) => stream.flush(),
            Stream::Server(stream) => stream.flush(),
        }
    }
}

struct Shared {
    connection: Mutex<Connection>,
    /// Whoever writes has this first, so that what was encrypted first is sent first.
    out: Mutex<(TcpStream, Vec<u8>)>,
}

impl Shared {
    /// Sends what has been encrypted.
    fn flush(&self, out: &mut (TcpStream, Vec<u8>)) -> io::Result<()> {
        let (socket, bytes) = out;
        bytes.clear();
        {
            let mut connection = locked(&self.connection);
            while connection.wants_write() {
                connection.write_tls(bytes)?;
            }
        }
        socket.write_all(bytes)
    }
}

/// Sends messages.
#[derive(Clone)]
pub(crate) struct Sender {
    shared: Arc<Shared>,
}

impl Sender {
    /// Sends a message.
    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        let length = u32::try_from(message.len()).map_err(io::Error::other)?;
        let mut out = locked(&self.shared.out);
        let mut head = Some(length.to_le_bytes());
        let mut pieces = message.chunks(PIECE);
        loop {
            let piece = pieces.next();
            if head.is_none() && piece.is_none() {
                return Ok(());
            }
            {
                let mut connection = locked(&self.shared.connection);
                if let Some(head) = head.take() {
                    connection.writer().write_all(&head)?;
                }
                if let Some(piece) = piece {
                    connection.writer().write_all(piece)?;
                }
            }
            self.shared.flush(&mut out)?;
        }
    }

    /// Ends the connection; whoever reads it hears of that.
    pub(crate) fn close(&self) {
        let out = locked(&self.shared.out);
        let _ = out.0.shutdown(std::net::Shutdown::Both);
    }
}

/// Receives messages.
pub(crate) struct Receiver {
    shared: Arc<Shared>,
    socket: TcpStream,
    raw: Vec<u8>,
    plain: Vec<u8>,
    /// So much of `plain` has been given out.
    read: usize,
}

impl Receiver {
    /// So long is waited for a message.
    pub(crate) fn set_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(time)
    }

    /// Waits for a message; `None` when the other side has ended the connection.
    pub(crate) fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let rest = &self.plain[self.read..];
            if let Some((head, rest)) = rest.split_first_chunk::<4>() {
                let length = u32::from_le_bytes(*head) as usize;
                if length > LONGEST {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "a message is too long",
                    ));
                }
                if let Some(message) = rest.get(..length) {
                    let message = message.to_vec();
                    self.read += 4 + length;
                    if self.read == self.plain.len() {
                        self.plain.clear();
                        self.read = 0;
                    }
                    return Ok(Some(message));
                }
            }
            if self.read > 0 {
                self.plain.drain(..self.read);
                self.read = 0;
            }
            let count = match self.socket.read(&mut self.raw) {
                Ok(0) => return Ok(None),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.decrypt(count)?;
        }
    }

    fn decrypt(&mut self, count: usize) -> io::Result<()> {
        let mut raw = &self.raw[..count];
        let mut answers = false;
        {
            let mut connection = locked(&self.shared.connection);
            while !raw.is_empty() {
                connection.read_tls(&mut raw)?;
                let state = connection
                    .process_new_packets()
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                let length = state.plaintext_bytes_to_read();
                let before = self.plain.len();
                self.plain.resize(before + length, 0);
                connection.reader().read_exact(&mut self.plain[before..])?;
            }
            answers |= connection.wants_write();
        }
        if answers {
            let mut out = locked(&self.shared.out);
            self.shared.flush(&mut out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::path::Path;

    use super::*;

    fn crew() -> Tls {
        let file = CrewFile::new("run", Vec::new(), Path::new("x"), String::new()).expect("keys");
        Tls::of(&file).expect("they are good")
    }

    /// Two ends of a connection.
    fn connected(one: &Tls, other: &Tls) -> (io::Result<Secure>, io::Result<Secure>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        std::thread::scope(|scope| {
            let accepted = scope.spawn(|| {
                let (socket, _) = listener.accept()?;
                one.accept(socket)
            });
            let connected = other.connect(&[address]);
            (accepted.join().expect("no panic"), connected)
        })
    }

    #[test]
    fn messages_arrive_whole_and_in_order_both_ways() {
        let crew = crew();
        let (one, other) = connected(&crew, &crew);
        let (sender, mut receiver) = one.expect("accepted").channel().expect("a channel");
        let (back, mut echo) = other.expect("connected").channel().expect("a channel");
        let lengths = [0, 1, 4, 100, 70_000, 3_000_000, 5];
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while let Some(message) = echo.receive().expect("a message") {
                    back.send(&message).expect("sent");
                }
            });
            let writers = sender.clone();
            scope.spawn(move || {
                for (number, length) in lengths.iter().enumerate() {
                    writers.send(&vec![number as u8; *length]).expect("sent");
                }
            });
            for (number, length) in lengths.iter().enumerate() {
                let message = receiver.receive().expect("a message").expect("not the end");
                assert_eq!(message, vec![number as u8; *length]);
            }
            sender.close();
        });
    }

    #[test]
    fn who_is_of_another_crew_is_refused() {
        let (accepted, connected) = connected(&crew(), &crew());
        assert!(accepted.is_err());
        // The one that connects may hear of it only when it reads.
        if let Ok(secure) = connected {
            let (_, mut receiver) = secure.channel().expect("a channel");
            assert!(!matches!(receiver.receive(), Ok(Some(_))));
        }
    }

    #[test]
    fn who_speaks_in_the_clear_is_refused() {
        let crew = crew();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::scope(|scope| {
            let accepted = scope.spawn(|| {
                let (socket, _) = listener.accept().expect("somebody");
                crew.accept(socket).map(drop)
            });
            let mut socket = TcpStream::connect(address).expect("connected");
            socket
                .write_all(b"GET / HTTP/1.1\r\n\r\n")
                .expect("written");
            assert!(accepted.join().expect("no panic").is_err());
        });
    }
}

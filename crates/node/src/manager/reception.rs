//! The door of the manager: nodes come in here, and what they say is passed on.
//!
//! Law: nobody comes in without the key of the crew. Who is of another build hears so and goes. What a node says is read on a
//! thread of its own, and what is said to it is sent on another: one that stands still keeps nobody waiting.

use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::manager::directory::Directory;
use crate::message::{Hello, MESSAGES, OBJECTS, ToManager, ToNode};
use crate::objects::serve;
use crate::secure::{Receiver, Secure, Sender, Tls};

/// So long a new node may take to say who it is.
const GREETING: Duration = Duration::from_secs(10);

/// What happens at the door.
pub(crate) enum Event {
    /// A node has come.
    Came(u64, Box<Hello>, Guest),
    /// It said something.
    Said(u64, Vec<ToManager>),
    /// It is gone.
    Went(u64, String),
    /// A task that ran in this process has ended.
    Own(Box<super::own::OwnEnd>),
}

/// A node at the other end of a connection.
pub(crate) struct Guest {
    out: mpsc::Sender<ToNode>,
    sender: Sender,
}

impl Guest {
    /// Says something to it; it is sent when it can be.
    pub(crate) fn say(&self, message: ToNode) {
        // One that is gone is reported by whoever reads.
        let _ = self.out.send(message);
    }

    /// Ends the connection.
    pub(crate) fn close(&self) {
        self.sender.close();
    }
}

/// Lets nodes in, on threads of its own, until it is dropped.
pub(crate) struct Reception {
    pub(crate) address: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Reception {
    /// Listens at this address.
    pub(crate) fn bind(ip: IpAddr) -> io::Result<(TcpListener, SocketAddr)> {
        let listener = TcpListener::bind((ip, 0))?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    }

    pub(crate) fn open(
        listener: TcpListener,
        tls: Tls,
        directory: Arc<Directory>,
        events: mpsc::Sender<Event>,
    ) -> io::Result<Reception> {
        let address = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let accept = move || {
            let numbers = Arc::new(AtomicU64::new(0));
            for socket in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(socket) = socket else {
                    continue;
                };
                let (tls, directory, events) =
                    (tls.clone(), Arc::clone(&directory), events.clone());
                let numbers = Arc::clone(&numbers);
                // Without a thread it is not let in, and tries again.
                let _ = std::thread::Builder::new()
                    .name("headwater-guest".to_owned())
                    .spawn(move || {
                        let number = numbers.fetch_add(1, Ordering::Relaxed);
                        let _ = receive(socket, &tls, &directory, &events, number);
                    });
            }
        };
        std::thread::Builder::new()
            .name("headwater-door".to_owned())
            .spawn(accept)?;
        Ok(Reception { address, over })
    }
}

impl Drop for Reception {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // So that the thread looks up.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(100));
    }
}

fn receive(
    socket: TcpStream,
    tls: &Tls,
    directory: &Directory,
    events: &mpsc::Sender<Event>,
    number: u64,
) -> io::Result<()> {
    let secure = tls.accept(socket)?;
    let _ = secure.peer()?;
    secure.set_timeout(Some(GREETING))?;
    let (secure, purpose) = purpose(secure)?;
    match purpose {
        Purpose::Objects(stream) => {
            stream.set_timeout(None)?;
            serve(*stream, directory, &directory.sent)
        }
        Purpose::Messages(receiver) => talk(secure, *receiver, events, number),
    }
}

enum Purpose {
    Objects(Box<crate::secure::Stream>),
    Messages(Box<Receiver>),
}

/// Finds out what a connection is for. The first byte of a channel is a message of its own.
fn purpose(secure: Secure) -> io::Result<(Option<Sender>, Purpose)> {
    let mut stream = secure.stream();
    let mut first = [0];
    stream.read_exact(&mut first)?;
    match first[0] {
        OBJECTS => Ok((None, Purpose::Objects(Box::new(stream)))),
        MESSAGES => {
            let (sender, receiver) = stream.channel()?;
            Ok((Some(sender), Purpose::Messages(Box::new(receiver))))
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn talk(
    sender: Option<Sender>,
    mut receiver: Receiver,
    events: &mpsc::Sender<Event>,
    number: u64,
) -> io::Result<()> {
    let Some(sender) = sender else {
        return Ok(());
    };
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let first = receiver.receive()?.ok_or_else(invalid)?;
    let mut said = ToManager::read(&first).map_err(|_| invalid())?.into_iter();
    let Some(ToManager::Hello(hello)) = said.next() else {
        return Err(invalid());
    };
    if let Some(reason) = hello.refusal() {
        return sender.send(&ToNode::Refused(reason).write());
    }
    receiver.set_timeout(None)?;
    let (out, messages) = mpsc::channel::<ToNode>();
    let writer = sender.clone();
    std::thread::Builder::new()
        .name("headwater-to-node".to_owned())
        .spawn(move || {
            for message in messages {
                if writer.send(&message.write()).is_err() {
                    return;
                }
            }
        })?;
    let guest = Guest { out, sender };
    let over = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    events
        .send(Event::Came(number, hello, guest))
        .map_err(over)?;
    let reason = loop {
        match receiver.receive() {
            Ok(Some(message)) => match ToManager::read(&message) {
                Ok(said) => events.send(Event::Said(number, said)).map_err(over)?,
                Err(error) => break error.to_string(),
            },
            Ok(None) => break "it has ended the connection".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    events.send(Event::Went(number, reason)).map_err(over)
}

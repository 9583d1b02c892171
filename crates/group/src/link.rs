//! Connections to the server of a group's store, and whether it can be reached.
//!
//! Law: a server that cannot be reached is found out once, and from then on nobody waits for it: whoever asks is told at
//! once that it is away, until the thread of the session has reached it again. What the server refuses is an error of
//! its own, in its words, and does not count as being away.

use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_graph::StoreError;
use postgres::error::SqlState;
use postgres::{Client, Config};

use crate::address::words;
use crate::lock::locked;

/// Connections that are open at once, besides that of the session.
const MOST: usize = 4;
/// How long the server may take to answer a call for a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a server may be silent before its connection counts as broken.
const SILENCE: Duration = Duration::from_secs(15);

/// How often something is tried that got in the way of others, who went on.
const TRIES: usize = 8;
/// Who has no session calls a server that is away again after this time.
const PAUSE: Duration = Duration::from_secs(1);

/// Everything is looked up by keys that have an index. A planner that does not know how many rows there are, or how many
/// keys, would read whole tables instead; and no question runs long enough for compiling it.
const BY_INDEX: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// Why a question was not answered.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Two were in each other's way, and the other one went on: it is worth another try.
    Collided(String),
    /// The server, or where the objects are, cannot be reached: nothing was wrong with the question.
    Away(String),
    /// Where the objects are cannot be reached; the server can.
    ObjectsAway(String),
    /// Anything else.
    Other(StoreError),
}

impl Trouble {
    /// As an error for those who cannot go on without an answer.
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Trouble::Away(why) | Trouble::ObjectsAway(why) => StoreError::Away(why),
            Trouble::Collided(why) => StoreError::Database(why),
            Trouble::Other(error) => error,
        }
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        Trouble::Other(error)
    }
}

impl From<postgres::Error> for Trouble {
    fn from(error: postgres::Error) -> Trouble {
        let words = with_hint(words(&error));
        if is_away(&error) {
            return Trouble::Away(words);
        }
        if error
            .code()
            .is_some_and(|code| code.code().starts_with("40"))
        {
            return Trouble::Collided(words);
        }
        if words.contains("password missing") {
            // The server asks for one, and nobody has said it.
            return Trouble::Other(StoreError::Refused(
                "it asks for a password, and none is in PGPASSWORD, ~/.pgpass or a service file"
                    .to_owned(),
            ));
        }
        let refusals = [
            SqlState::INSUFFICIENT_PRIVILEGE,
            SqlState::INVALID_PASSWORD,
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        ];
        if error.code().is_some_and(|code| refusals.contains(code)) {
            return Trouble::Other(StoreError::Refused(words));
        }
        Trouble::Other(StoreError::Database(words))
    }
}

/// What the server said, with what to do where encryption is the matter.
fn with_hint(words: String) -> String {
    match crate::tls::hint(&words) {
        Some(hint) => format!("{words}: {hint}"),
        None => words,
    }
}

/// Whether an error says that the server is not there, is going, or is coming.
fn is_away(error: &postgres::Error) -> bool {
    let Some(code) = error.code() else {
        // No answer at all: a broken connection, or none. What is wrong with our own question has other causes.
        let is_io = |error: &postgres::Error| {
            let cause = error.source().and_then(|cause| cause.downcast_ref());
            // A server that is not trusted is there.
            let is_distrust = |cause: &std::io::Error| {
                crate::tls::is_handshake(error) && cause.kind() == std::io::ErrorKind::InvalidData
            };
            cause.is_some_and(|cause| !is_distrust(cause))
        };
        return error.is_closed() || is_io(error) || error.to_string().contains("connect");
    };
    let class = code.code().get(..2).unwrap_or_default();
    // 08: connections; 57P: the server is being stopped or started; 53: it has no memory, disk or connections left.
    class == "08" || class == "53" || code.code().starts_with("57P")
}

#[derive(Debug, Default)]
struct Idle {
    clients: Vec<OpaqueClient>,
    out: usize,
}

/// A client, which says nothing of itself.
struct OpaqueClient(Client);

impl std::fmt::Debug for OpaqueClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Client")
    }
}

/// How to reach a server.
pub(crate) struct Link {
    config: Config,
    tls: super::tls::Tls,
    idle: Mutex<Idle>,
    free: Condvar,
    is_away: AtomicBool,
    /// When a server that is away was last called by somebody who has no session.
    called: Mutex<Option<Instant>>,
    has_session: AtomicBool,
}

impl std::fmt::Debug for Link {
    /// Without the password.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Link").finish_non_exhaustive()
    }
}

impl Link {
    /// To a server; nothing is connected yet.
    pub(crate) fn new(mut config: Config, tls: super::tls::Tls) -> Link {
        config
            .application_name("headwater")
            .connect_timeout(PATIENCE)
            .tcp_user_timeout(SILENCE)
            .keepalives_idle(SILENCE);
        Link {
            config,
            tls,
            idle: Mutex::default(),
            free: Condvar::new(),
            is_away: AtomicBool::new(false),
            called: Mutex::default(),
            has_session: AtomicBool::new(false),
        }
    }

    /// A connection of one's own.
    pub(crate) fn connect(&self) -> Result<Client, Trouble> {
        let mut client = self.tls.connect(&self.config)?;
        client.batch_execute(BY_INDEX)?;
        Ok(client)
    }

    /// Whether the server could not be reached at the last try.
    pub(crate) fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Acquire)
    }

    /// The server was reached, or could not be; says whether that is news.
    pub(crate) fn set_away(&self, away: bool) -> bool {
        if away {
            locked(&self.idle).clients.clear();
        }
        self.is_away.swap(away, Ordering::AcqRel) != away
    }

    /// A session looks whether the server is back; nobody else has to.
    pub(crate) fn set_session(&self) {
        self.has_session.store(true, Ordering::Release);
    }

    /// Whether it makes no sense to ask.
    fn is_silent(&self) -> bool {
        if !self.is_away() {
            return false;
        }
        if self.has_session.load(Ordering::Acquire) {
            return true;
        }
        let mut called = locked(&self.called);
        if called.is_some_and(|at| at.elapsed() < PAUSE) {
            return true;
        }
        *called = Some(Instant::now());
        false
    }

    /// Asks the server. An answer that did not come because a connection broke is asked for once more, on a new one, so
    /// what is asked must bear being asked twice.
    pub(crate) fn ask<T>(
        &self,
        mut ask: impl FnMut(&mut Client) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if self.is_silent() {
            return Err(Trouble::Away("it could not be reached".to_owned()));
        }
        let mut tries = 0;
        loop {
            tries += 1;
            match self.ask_once(&mut ask) {
                Err(Trouble::Collided(_)) if tries < TRIES => {
                    std::thread::sleep(Duration::from_millis(5 << tries));
                }
                Err(Trouble::Away(why)) => {
                    self.set_away(true);
                    return Err(Trouble::Away(why));
                }
                Ok(answer) => {
                    if !self.has_session.load(Ordering::Acquire) {
                        self.set_away(false);
                    }
                    return Ok(answer);
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    fn ask_once<T>(
        &self,
        ask: &mut impl FnMut(&mut Client) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let (mut client, was_used) = self.take()?;
        let mut answer = ask(&mut client.0);
        if matches!(answer, Err(Trouble::Away(_))) && was_used && client.0.is_closed() {
            // The server may have been restarted since the connection was last used.
            locked(&self.idle).clients.clear();
            answer = self.connect().and_then(|fresh| {
                client = OpaqueClient(fresh);
                ask(&mut client.0)
            });
        }
        self.give_back(client);
        answer
    }

    fn take(&self) -> Result<(OpaqueClient, bool), Trouble> {
        let mut idle = locked(&self.idle);
        loop {
            if let Some(client) = idle.clients.pop() {
                idle.out += 1;
                return Ok((client, true));
            }
            if idle.out < MOST {
                idle.out += 1;
                drop(idle);
                let client = self.connect().inspect_err(|_| {
                    locked(&self.idle).out -= 1;
                    self.free.notify_one();
                });
                return client.map(|client| (OpaqueClient(client), false));
            }
            idle = self.free.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, client: OpaqueClient) {
        let mut idle = locked(&self.idle);
        idle.out -= 1;
        if !client.0.is_closed() && !self.is_away() {
            idle.clients.push(client);
        }
        drop(idle);
        self.free.notify_one();
    }
}

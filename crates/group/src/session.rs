//! The session of a process in a group's store, and the leases that point to it.
//!
//! Law: a session is one row, renewed by the clock of the server while the process lives, however many leases point to
//! it. A lease belongs to whoever made its row first; it can be taken over only from a session that is dead, which the
//! server decides (`is_dead`). Without the server leases are given to everybody: at worst a product is made twice, and the
//! first one that is registered is the one that counts.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use headwater_graph::{Lease, Leases, Recipe, StoreError};
use postgres::Client;

use crate::link::{Link, Trouble};
use crate::lock::locked;

/// How often a session is renewed, and a server that is away called again.
const RENEWED_EVERY: Duration = Duration::from_secs(1);
/// Sessions that were last renewed so long ago are removed with all that points to them.
const FORGOTTEN: &str =
    "DELETE FROM headwater.sessions WHERE renewed < clock_timestamp() - interval '1 day'";
const BEGIN: &str = "INSERT INTO headwater.sessions (host, process, backend) VALUES ($1, $2, pg_backend_pid()) RETURNING id";
const RENEW: &str = "
UPDATE headwater.sessions SET renewed = clock_timestamp(), backend = pg_backend_pid(),
    working = CASE WHEN $2 THEN coalesce(working, clock_timestamp()) END
WHERE id = $1";
/// The connection of the session stays the one that the server looks at.
const WORK: &str = "
UPDATE headwater.sessions SET working = CASE WHEN $2 THEN coalesce(working, clock_timestamp()) END WHERE id = $1";
const END: &str = "DELETE FROM headwater.sessions WHERE id = $1";
const TAKE: &str = "INSERT INTO headwater.leases (key, session) SELECT key, $2 FROM unnest($1::bytea[]) AS wanted (key)
     ON CONFLICT (key) DO UPDATE SET session = excluded.session WHERE headwater.is_dead(leases.session)
     RETURNING 1";
const RELEASE: &str = "DELETE FROM headwater.leases WHERE key = ANY ($1) AND session = $2";

/// What the thread is told.
#[derive(Debug, Default)]
struct Orders {
    released: Vec<Recipe>,
    closing: bool,
}

#[derive(Debug)]
struct Shared {
    link: Arc<Link>,
    /// The session; others look at it too.
    id: Arc<AtomicI64>,
    /// Whether runs of this process are alive.
    is_working: AtomicBool,
    orders: Mutex<Orders>,
    wake: Condvar,
    /// Held while leases are released: who takes one meanwhile would find it held.
    releasing: Mutex<()>,
}

/// A session, until it is dropped.
#[derive(Debug)]
pub(crate) struct Session {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Session {
    /// Begins one, whose number `id` has from now on. `is_reached` is called on its thread each time that the server was reached.
    pub(crate) fn begin(
        link: &Arc<Link>,
        id: Arc<AtomicI64>,
        is_reached: Box<dyn Fn() + Send>,
    ) -> Result<Session, Trouble> {
        let mut client = link.connect()?;
        client.execute(FORGOTTEN, &[])?;
        id.store(insert(&mut client)?, Ordering::Release);
        link.set_session();
        let shared = Arc::new(Shared {
            link: Arc::clone(link),
            id,
            is_working: AtomicBool::new(false),
            orders: Mutex::default(),
            wake: Condvar::new(),
            releasing: Mutex::default(),
        });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("headwater-session".to_owned())
            .spawn(move || own.keep_alive(client, &*is_reached))
            .map_err(|error| {
                StoreError::Database(format!("its session could not be started: {error}"))
            })?;
        Ok(Session {
            shared,
            thread: Some(thread),
        })
    }

    /// Whether runs of this process are alive: what they use stays from now on. While the server is away that is said
    /// when it is back.
    pub(crate) fn set_working(&self, is_working: bool) -> Result<(), Trouble> {
        self.shared.is_working.store(is_working, Ordering::Release);
        let id = self.shared.id.load(Ordering::Acquire);
        self.shared
            .link
            .ask(|client| Ok(client.execute(WORK, &[&id, &is_working]).map(drop)?))
    }

    /// Leases of this session.
    pub(crate) fn leases(&self) -> GroupLeases {
        GroupLeases(Arc::clone(&self.shared))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        locked(&self.shared.orders).closing = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn insert(client: &mut Client) -> Result<i64, Trouble> {
    let host = host_name();
    let process = i32::try_from(std::process::id()).unwrap_or_default();
    Ok(client.query_one(BEGIN, &[&host, &process])?.get(0))
}

/// What this machine is called.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.map_or_else(|_| "?".to_owned(), |name| name.trim().to_owned())
}

impl Shared {
    /// What the thread does until the session ends.
    fn keep_alive(&self, client: Client, is_reached: &(dyn Fn() + Send)) {
        let mut client = Some(client);
        let mut closing = false;
        while !closing {
            closing = self.wait();
            if client.as_ref().is_none_or(Client::is_closed) {
                client = self.link.connect().ok();
            }
            let done = match &mut client {
                Some(client) => self.renew(client, closing),
                None => Err(Trouble::Away(String::new())),
            };
            match done {
                Ok(()) => {
                    self.link.set_away(false);
                    if !closing {
                        is_reached();
                    }
                }
                Err(_) => {
                    client = None;
                    self.link.set_away(true);
                }
            }
        }
    }

    /// Waits until there is something to do; says whether the session ends.
    fn wait(&self) -> bool {
        let mut orders = locked(&self.orders);
        let is_idle = orders.released.is_empty() || self.link.is_away();
        if is_idle && !orders.closing {
            orders = self
                .wake
                .wait_timeout(orders, RENEWED_EVERY)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        orders.closing
    }

    fn renew(&self, client: &mut Client, closing: bool) -> Result<(), Trouble> {
        let id = self.id.load(Ordering::Acquire);
        if closing {
            client.execute(END, &[&id])?;
            return Ok(());
        }
        self.release(client)?;
        let is_working = self.is_working.load(Ordering::Acquire);
        if client.execute(RENEW, &[&id, &is_working])? == 0 {
            // It was taken for dead, and forgotten.
            let id = insert(client)?;
            self.id.store(id, Ordering::Release);
            client.execute(RENEW, &[&id, &is_working])?;
        }
        Ok(())
    }

    /// Removes the rows of leases that have ended. Those of which that cannot be said stay on the list.
    fn release(&self, client: &mut Client) -> Result<(), Trouble> {
        let _gate = locked(&self.releasing);
        let released = std::mem::take(&mut locked(&self.orders).released);
        if released.is_empty() {
            return Ok(());
        }
        let id = self.id.load(Ordering::Acquire);
        let keys: Vec<&[u8]> = released.iter().map(|key| &key.0[..]).collect();
        if let Err(error) = client.execute(RELEASE, &[&keys, &id]) {
            locked(&self.orders).released.extend(released);
            return Err(error.into());
        }
        Ok(())
    }

    fn take(&self, keys: &[Recipe]) -> Result<bool, Trouble> {
        let id = self.id.load(Ordering::Acquire);
        let mut wanted: Vec<&[u8]> = keys.iter().map(|key| &key.0[..]).collect();
        // In one order for all, so that no two wait for each other.
        wanted.sort_unstable();
        wanted.dedup();
        self.link.ask(|client| {
            self.release(client)?;
            if let [_] = wanted.as_slice() {
                return Ok(client.execute(TAKE, &[&wanted, &id])? == 1);
            }
            let mut transaction = client.transaction()?;
            let taken = transaction.execute(TAKE, &[&wanted, &id])?;
            if taken as usize == wanted.len() {
                transaction.commit()?;
                return Ok(true);
            }
            Ok(false)
        })
    }
}

/// Leases of a session.
#[derive(Debug)]
pub(crate) struct GroupLeases(Arc<Shared>);

/// Keys that are held.
struct Held {
    shared: Arc<Shared>,
    keys: Vec<Recipe>,
}

impl Drop for Held {
    fn drop(&mut self) {
        locked(&self.shared.orders).released.append(&mut self.keys);
        self.shared.wake.notify_one();
    }
}

impl Leases for GroupLeases {
    fn take(&self, keys: &[Recipe]) -> Option<Lease> {
        // Who cannot ask does not exclude anybody, and is not excluded.
        let taken = self.0.take(keys).unwrap_or(true);
        taken.then(|| -> Lease {
            Box::new(Held {
                shared: Arc::clone(&self.0),
                keys: keys.to_vec(),
            })
        })
    }

    fn undisturbed(&self) -> bool {
        false
    }
}

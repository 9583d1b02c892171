//! What is behind: the server, the bytes, and what this process knows of them.
//!
//! Law: what goes wrong is noted for people, once for each time that the group goes away, and is never a reason for work
//! to fail.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use postgres::Client;

use crate::bytes::Bytes;
use crate::link::{Link, Trouble};
use crate::lock::locked;
use crate::pins::Pins;
use crate::rows::Trust;

/// What is behind.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) link: Arc<Link>,
    pub(crate) bytes: Box<dyn Bytes>,
    pub(crate) shown: String,
    pub(crate) objects_at: String,
    pub(crate) role: String,
    pub(crate) role_may_write: bool,
    /// Whether anything is written: the role may, and one's own store is not opened for looking only.
    pub(crate) may_write: bool,
    pub(crate) is_owner: bool,
    pub(crate) trust: Trust,
    /// The session of this process, which changes when it was forgotten and began anew; 0 while there is none.
    pub(crate) session: Arc<AtomicI64>,
    pub(crate) pins: Mutex<Pins>,
    pub(crate) damage: Mutex<Vec<String>>,
    pub(crate) notices: Mutex<BTreeSet<String>>,
    /// Whether people know that it is away.
    pub(crate) has_told: AtomicBool,
}

impl Group {
    pub(crate) fn tell(&self, notice: String) {
        locked(&self.notices).insert(notice);
    }

    /// Remembers for people what went wrong.
    pub(crate) fn note(&self, trouble: Trouble) {
        match trouble {
            Trouble::Away(why) | Trouble::ObjectsAway(why) => {
                if !self.has_told.swap(true, Ordering::AcqRel) {
                    self.tell(format!(
                        "the store of the group `{}` could not be reached ({why}); work went on without it",
                        self.shown
                    ));
                }
            }
            other => self.tell(format!("the store of the group: {}", other.into_error())),
        }
    }

    /// Asks the server; what cannot be answered is noted.
    pub(crate) fn asked<T>(&self, ask: impl FnMut(&mut Client) -> Result<T, Trouble>) -> Option<T> {
        match self.link.ask(ask) {
            Ok(answer) => Some(answer),
            Err(trouble) => {
                self.note(trouble);
                None
            }
        }
    }
}

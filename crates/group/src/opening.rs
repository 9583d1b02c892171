//! Opening the store of a group, and making one.
//!
//! Law: nothing is written before it is known that the database is a store of this version, that the role may look into
//! it, and where its objects are. A server that cannot be reached is waited for as long as was asked for.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use headwater_graph::{Mode, Store, StoreError};
use postgres::Client;

use crate::Group;
use crate::address::{Address, AddressError, Surroundings};
use crate::bytes::{Bytes, SharedFolder};
use crate::layers::{Layers, MOMENT};
use crate::link::{Link, Trouble};
use crate::options::Options;
use crate::schema::{self, Refusal};
use crate::session::Session;
use crate::spool::Spool;
use crate::store::GroupStore;
use crate::tls::Tls;

/// Why a store of a group cannot be opened or made.
#[derive(Debug)]
pub enum OpenError {
    /// The URL, or what belongs to it.
    Address(AddressError),
    /// Anything else.
    Store(StoreError),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> OpenError {
        OpenError::Store(error)
    }
}

impl From<AddressError> for OpenError {
    fn from(error: AddressError) -> OpenError {
        OpenError::Address(error)
    }
}

impl From<Trouble> for OpenError {
    fn from(trouble: Trouble) -> OpenError {
        OpenError::Store(trouble.into_error())
    }
}

fn wrong(message: String, hint: &str) -> OpenError {
    OpenError::Address(AddressError {
        message,
        hint: Some(hint.to_owned()),
    })
}

/// What [`init`] has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The version of the tables that was there; 0 where there were none.
    pub from: i32,
    /// The version that is there now.
    pub to: i32,
    /// Where the objects are.
    pub objects: String,
}

/// What makes the tables, as a script for `psql`: for administrators who run nothing that they have not read.
pub fn script(objects: &str) -> String {
    schema::script(objects)
}

/// Makes the tables of a group's store, or brings them to the version of this program. `objects` says where the bytes
/// are: a folder that all machines see, or a bucket.
pub fn init(url: &str, objects: Option<&str>) -> Result<Made, OpenError> {
    let address = Address::read(url, &Surroundings::here())?;
    let shown = address.shown.clone();
    if let Some(objects) = objects {
        // Before anything is written down.
        open_bytes(objects)?.reach()?;
    }
    let mut client = link(address)?.connect()?;
    let brought = schema::bring_up(&mut client, objects).map_err(|refusal| match refusal {
        Refusal::Newer(found) => OpenError::Store(StoreError::Format {
            path: shown.clone().into(),
            found: found.into(),
            wanted: schema::FORMAT.into(),
        }),
        Refusal::NoObjects => wrong(
            format!("nobody has said where the objects of `{shown}` are"),
            "say --objects with a folder that all machines see, or s3://BUCKET/PREFIX",
        ),
        Refusal::Server(error) => Trouble::from(error).into(),
    })?;
    Ok(Made {
        from: brought.from,
        to: schema::FORMAT,
        objects: brought.objects,
    })
}

fn link(address: Address) -> Result<Link, OpenError> {
    let tls = Tls::of(&address)?;
    Ok(Link::new(address.config, tls))
}

fn open_bytes(url: &str) -> Result<Box<dyn Bytes>, OpenError> {
    let path = match url.split_once("://") {
        None => url,
        Some(("file", path)) => path,
        Some(("s3", _)) => return open_bucket(url),
        Some((scheme, _)) => {
            return Err(wrong(
                format!("objects in `{scheme}` are not known"),
                "name a folder that all machines see, or s3://BUCKET/PREFIX",
            ));
        }
    };
    if !Path::new(path).is_absolute() {
        return Err(wrong(
            format!("the folder of objects `{path}` has to be the same on all machines"),
            "give its whole path, from the root on",
        ));
    }
    if !Path::new(path).is_dir() {
        return Err(not_mounted(format!(
            "the shared folder {path} is not there"
        )));
    }
    Ok(Box::new(SharedFolder::open(Path::new(path))?))
}

#[cfg(feature = "bucket")]
fn open_bucket(url: &str) -> Result<Box<dyn Bytes>, OpenError> {
    Ok(Box::new(crate::bucket::Bucket::open(url)?))
}

#[cfg(not(feature = "bucket"))]
fn open_bucket(_: &str) -> Result<Box<dyn Bytes>, OpenError> {
    Err(wrong(
        "this program was built without objects in a bucket".to_owned(),
        "build it with the feature `bucket`",
    ))
}

/// Opens the store of a group behind one's own.
pub fn open(front: Arc<dyn Store>, options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    let address = Address::read(&options.url, &Surroundings::here())?;
    let shown = address.shown.clone();
    let link = Arc::new(link(address)?);
    let mut client = reach(&link, options.wait)?;
    let refused = |trouble: Trouble| OpenError::Store(trouble.into_error());
    let about = schema::about(&mut client).map_err(|error| refused(error.into()))?;
    let Some(about) = about else {
        return Err(wrong(
            format!("the database `{shown}` is not a store of Headwater"),
            "its owner makes it one: headwater store init URL --objects FOLDER",
        ));
    };
    schema::check(about.format, &shown)?;
    let rights = Rights::of(&mut client).map_err(|error| refused(error.into()))?;
    if !rights.may_read {
        return Err(StoreError::Refused(format!(
            "the role `{}` may not look into `{shown}`",
            rights.role
        ))
        .into());
    }
    let objects_at = options.objects.clone().unwrap_or(about.objects);
    let bytes = open_bytes(&objects_at)?;
    if bytes.is_empty().unwrap_or(false)
        && has_objects(&mut client).map_err(|error| refused(error.into()))?
    {
        return Err(not_mounted(format!(
            "nothing is in the shared folder {objects_at}, but the store of the group has objects there"
        )));
    }
    drop(client);
    let group = Group {
        link: Arc::clone(&link),
        bytes,
        shown,
        objects_at,
        role: rights.role.clone(),
        role_may_write: rights.may_write,
        may_write: rights.may_write && front.mode() == Mode::ReadWrite,
        is_owner: rights.is_owner,
        trust: options.trust.clone(),
        session: Arc::default(),
        pins: Mutex::default(),
        damage: Mutex::default(),
        notices: Mutex::default(),
        has_told: AtomicBool::new(false),
    };
    let spool = Spool::open(&front.place()).ok();
    let layers = Arc::new(Layers {
        front,
        publishes: options.publish && group.may_write,
        group,
        spool,
        options: options.clone(),
    });
    if options.publish && !layers.publishes && layers.front.mode() == Mode::ReadWrite {
        layers.group.tell(format!(
            "the role `{}` may not write to `{}`: what is made stays in `{}`",
            rights.role,
            layers.group.shown,
            layers.front.place().display(),
        ));
    }
    let session = if layers.group.may_write {
        Some(begin_session(&link, &layers)?)
    } else {
        None
    };
    layers.catch_up();
    Ok(Arc::new(GroupStore { session, layers }))
}

/// A shared folder that cannot be the one, and what to do about it.
fn not_mounted(what: String) -> OpenError {
    StoreError::Away(format!(
        "{what}: mount it; if it is elsewhere on this machine, say where with `objects` in a settings file"
    ))
    .into()
}

/// Whether the group lists any objects.
fn has_objects(client: &mut Client) -> Result<bool, postgres::Error> {
    let row = client.query_one("SELECT EXISTS (SELECT FROM headwater.objects)", &[])?;
    Ok(row.get(0))
}

fn begin_session(link: &Arc<Link>, layers: &Arc<Layers>) -> Result<Session, OpenError> {
    let weak: Weak<Layers> = Arc::downgrade(layers);
    let is_busy = Arc::new(AtomicBool::new(false));
    let reached = move || {
        let waits = weak.upgrade().is_some_and(|layers| layers.has_waiting());
        if !waits || is_busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let (weak, busy) = (weak.clone(), Arc::clone(&is_busy));
        // On a thread of its own: a session that is not renewed counts as dead.
        let catching_up = std::thread::Builder::new().spawn(move || {
            if let Some(layers) = weak.upgrade() {
                layers.catch_up();
            }
            busy.store(false, Ordering::Release);
        });
        if catching_up.is_err() {
            is_busy.store(false, Ordering::Release);
        }
    };
    let number = Arc::clone(&layers.group.session);
    Ok(Session::begin(link, number, Box::new(reached))?)
}

/// A connection, once the server can be reached.
fn reach(link: &Link, wait: Duration) -> Result<Client, OpenError> {
    let end = Instant::now() + wait;
    loop {
        match link.connect() {
            Err(Trouble::Away(_)) if Instant::now() < end => std::thread::sleep(MOMENT),
            Err(trouble) => return Err(trouble.into()),
            Ok(client) => return Ok(client),
        }
    }
}

/// What the role that has logged in may do.
#[derive(Debug)]
struct Rights {
    role: String,
    may_read: bool,
    may_write: bool,
    is_owner: bool,
}

impl Rights {
    fn of(client: &mut Client) -> Result<Rights, postgres::Error> {
        let row = client.query_one(
            "SELECT session_user::text,
                    has_table_privilege('headwater.products', 'SELECT'),
                    has_any_column_privilege('headwater.products', 'INSERT'),
                    has_table_privilege('headwater.objects', 'DELETE')",
            &[],
        )?;
        Ok(Rights {
            role: row.try_get(0)?,
            may_read: row.try_get(1)?,
            may_write: row.try_get(2)?,
            is_owner: row.try_get(3)?,
        })
    }
}

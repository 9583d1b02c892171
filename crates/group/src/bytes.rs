//! Where a group keeps bytes: the seam, and the shared folder.
//!
//! Law: an object is there as a whole or not at all, under its digest; nobody ever writes to it. What comes out may be
//! anything: whoever reads compares it with the digest. Nothing there is state: an object that no row lists is rubbish
//! of somebody who was killed. In a shared folder no locks are used, and no name leads out of it.

use std::fmt;
use std::fs::{File, Permissions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use headwater_graph::{ContentHasher, Digest, StoreError};
use headwater_remember::{Access, Kind, Root, is_planted};

use crate::link::Trouble;

/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;
/// How often something is tried again while others make the same folder.
const TRIES: usize = 16;
/// Where files are that are being written.
const INCOMING: &str = "incoming";

/// An object that is there, with the time since it was written, in seconds.
pub(crate) type Lying = (Digest, u64);

/// Keeps bytes by digest, for many machines.
pub(crate) trait Bytes: Send + Sync + fmt::Debug {
    /// Makes an object durable, from a file that has its bytes. A file that has others is refused as damaged.
    fn put(&self, digest: &Digest, file: File) -> Result<(), Trouble>;

    /// The bytes of an object, as they are there.
    fn get(&self, digest: &Digest) -> Result<Box<dyn Read + Send>, Trouble>;

    /// How many bytes an object has, where that can be seen at once; an error if it cannot be read.
    fn size(&self, _digest: &Digest) -> Result<Option<u64>, Trouble> {
        Ok(None)
    }

    /// Removes objects; that one is not there is no error.
    fn remove(&self, digests: &[Digest]) -> Result<(), Trouble>;

    /// Whether nothing is there at all.
    fn is_empty(&self) -> Result<bool, Trouble> {
        Ok(false)
    }

    /// All objects that are there.
    fn list(&self) -> Result<Vec<Lying>, Trouble>;

    /// Removes the beginnings of objects that somebody stopped writing at least so many seconds ago.
    fn sweep(&self, seconds: u64) -> Result<(), Trouble>;

    /// An error if objects cannot be had from there now. Opening does not ask: work goes on without.
    fn reach(&self) -> Result<(), Trouble> {
        Ok(())
    }
}

/// What a failure of a shared folder or a bucket means to those who wait.
pub(crate) fn trouble(what: String, error: io::Error) -> Trouble {
    let gone = [
        libc::ESTALE,
        libc::EIO,
        libc::EHOSTDOWN,
        libc::EHOSTUNREACH,
        libc::ETIMEDOUT,
        libc::ENOTCONN,
        libc::ENETUNREACH,
        libc::ENODEV,
    ];
    if error
        .raw_os_error()
        .is_some_and(|code| gone.contains(&code))
    {
        return Trouble::Away(format!("{what}: {error}"));
    }
    Trouble::Other(StoreError::Io {
        what,
        source: error,
    })
}

/// Copies and digests.
pub(crate) fn copy(
    from: &mut dyn Read,
    mut to: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Digest> {
    let mut hasher = ContentHasher::new();
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(count) => {
                hasher.update(&piece[..count]);
                to(&piece[..count])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A file whose bytes are not those of the object that it is to become.
pub(crate) fn changed(digest: &Digest) -> Trouble {
    Trouble::Other(StoreError::Damaged {
        what: format!("object {digest}"),
    })
}

/// A folder that all machines of a group see.
#[derive(Debug)]
pub(crate) struct SharedFolder {
    root: Root,
    /// Which folder it was when it was opened.
    identity: (u64, u64),
    next: AtomicU64,
    /// What names of files that are being written begin with: no two processes have the same.
    stem: String,
}

/// `ab/cdef…`, as in a store of one's own.
fn name(digest: &Digest) -> PathBuf {
    let hex = digest.hex();
    let (folder, rest) = hex.split_at(2);
    Path::new(folder).join(rest)
}

impl SharedFolder {
    /// Opens one, which has to be there: a folder that is not mounted must not be taken for an empty one.
    pub(crate) fn open(path: &Path) -> Result<SharedFolder, StoreError> {
        let cannot = |source| StoreError::Io {
            what: format!("cannot open the shared folder {}", path.display()),
            source,
        };
        if !path.is_dir() {
            return Err(cannot(io::ErrorKind::NotFound.into()));
        }
        let random = {
            let mut bytes = [0; 8];
            let mut source = File::open("/dev/urandom").map_err(cannot)?;
            source.read_exact(&mut bytes).map_err(cannot)?;
            u64::from_le_bytes(bytes)
        };
        let found = path.metadata().map_err(cannot)?;
        Ok(SharedFolder {
            root: Root::open(path).map_err(cannot)?,
            identity: (found.dev(), found.ino()),
            next: AtomicU64::new(0),
            stem: format!("{random:016x}"),
        })
    }

    fn trouble(&self, verb: &str, name: &Path) -> impl Fn(io::Error) -> Trouble {
        let what = format!("cannot {verb} {}", self.root.at(name).display());
        move |error| trouble(what.clone(), error)
    }

    fn write(&self, incoming: &Path, digest: &Digest, mut from: File) -> Result<(), Trouble> {
        let failed = self.trouble("write", incoming);
        let made = self.in_folder(Path::new(INCOMING), || {
            self.root.file(incoming, Access::New)
        });
        let mut file = made.map_err(&failed)?;
        let found = copy(&mut from, |piece| file.write_all(piece)).map_err(&failed)?;
        if found != *digest {
            return Err(changed(digest));
        }
        file.set_permissions(Permissions::from_mode(0o444))
            .map_err(&failed)?;
        file.sync_all().map_err(&failed)
    }
}

impl SharedFolder {
    /// Does something in a folder, which is made where it is not there. Somebody else who makes it at the same moment may
    /// put theirs in the place of ours while nothing is in it; then it is done again.
    fn in_folder<T>(&self, folder: &Path, mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        for _ in 0..TRIES {
            match act() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.make_folder(folder)?;
                    self.root.sync_folder("")?;
                }
                done => return done,
            }
        }
        act()
    }

    /// Makes a folder that everybody may use who may use the shared one: whoever makes it first has an umask of their own.
    /// It has its name only when it has its mode.
    fn make_folder(&self, name: &Path) -> io::Result<()> {
        let mode = self.root.path().metadata()?.permissions().mode() & 0o7777;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let new = PathBuf::from(format!("new-{}-{number}", self.stem));
        self.root.new_folder(&new)?;
        let made = self.root.set_folder_mode(&new, mode);
        match made.and_then(|()| self.root.rename(&new, name)) {
            Ok(()) => Ok(()),
            Err(error) => {
                let _ = self.root.remove_all(&new);
                // Somebody else was quicker.
                if self
                    .root
                    .list("")?
                    .iter()
                    .any(|(entry, kind)| *kind == Kind::Folder && Path::new(entry) == name)
                {
                    return Ok(());
                }
                Err(error)
            }
        }
    }
}

impl Bytes for SharedFolder {
    fn put(&self, digest: &Digest, file: File) -> Result<(), Trouble> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let incoming = Path::new(INCOMING).join(format!("{}-{number}", self.stem));
        let name = name(digest);
        let folder = name.parent().unwrap_or(Path::new(""));
        let placed = self.write(&incoming, digest, file).and_then(|()| {
            let failed = self.trouble("make", &name);
            let rename = || self.in_folder(folder, || self.root.rename(&incoming, &name));
            let renamed = rename().or_else(|error| {
                if error.kind() != io::ErrorKind::IsADirectory {
                    return Err(error);
                }
                // Nobody of ours makes a folder there: it is put aside, and swept away some day.
                let aside = Path::new(INCOMING).join(format!("{}-{number}-aside", self.stem));
                self.root.rename(&name, &aside)?;
                rename()
            });
            renamed.map_err(&failed)?;
            self.root.sync_folder(folder).map_err(&failed)
        });
        if placed.is_err() {
            let _ = self.root.remove_file(&incoming);
        }
        placed
    }

    fn get(&self, digest: &Digest) -> Result<Box<dyn Read + Send>, Trouble> {
        let name = name(digest);
        Ok(Box::new(self.opened(digest, &name)?))
    }

    fn size(&self, digest: &Digest) -> Result<Option<u64>, Trouble> {
        let name = name(digest);
        let found = self.opened(digest, &name)?.metadata();
        let found = found.map_err(self.trouble("read", &name))?;
        Ok(Some(found.len()))
    }

    fn remove(&self, digests: &[Digest]) -> Result<(), Trouble> {
        for digest in digests {
            let name = name(digest);
            let removed = self.root.remove_file(&name);
            removed.map_err(self.trouble("remove", &name))?;
        }
        Ok(())
    }

    fn is_empty(&self) -> Result<bool, Trouble> {
        let entries = self.root.list("");
        Ok(entries
            .map_err(self.trouble("list", Path::new("")))?
            .is_empty())
    }

    fn list(&self) -> Result<Vec<Lying>, Trouble> {
        let mut found = Vec::new();
        let listed = |name: &Path| self.root.list(name).map_err(self.trouble("list", name));
        for (folder, kind) in listed(Path::new(""))? {
            if kind != Kind::Folder || folder.len() != 2 {
                continue;
            }
            for (rest, kind) in listed(Path::new(&folder))? {
                let whole = format!("{}{}", folder.to_string_lossy(), rest.to_string_lossy());
                let Ok(digest) = whole.parse::<Digest>() else {
                    continue;
                };
                if kind == Kind::File {
                    found.push((digest, self.age(&Path::new(&folder).join(rest))));
                }
            }
        }
        Ok(found)
    }

    fn sweep(&self, seconds: u64) -> Result<(), Trouble> {
        let folder = Path::new(INCOMING);
        let entries = self
            .root
            .list(folder)
            .map_err(self.trouble("list", folder))?;
        for (entry, kind) in entries {
            let name = folder.join(entry);
            if kind == Kind::File && self.age(&name) >= seconds {
                let removed = self.root.remove_file(&name);
                removed.map_err(self.trouble("remove", &name))?;
            }
        }
        Ok(())
    }
}

impl SharedFolder {
    /// An object, to be read.
    fn opened(&self, digest: &Digest, name: &Path) -> Result<File, Trouble> {
        match self.root.file(name, Access::Read) {
            Ok(file) => Ok(file),
            // What is gone is made again; so is what somebody has put something else in the place of.
            Err(error)
                if is_planted(&error)
                    || matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::IsADirectory
                    ) =>
            {
                self.is_there()?;
                Err(Trouble::Other(StoreError::Missing(*digest)))
            }
            Err(error) => Err(self.trouble("read", name)(error)),
        }
    }

    /// An error if the folder itself is not there any more, or another one is in its place: then it is not mounted.
    fn is_there(&self) -> Result<(), Trouble> {
        let path = self.root.path();
        match path.metadata() {
            Ok(found) if found.is_dir() && (found.dev(), found.ino()) == self.identity => Ok(()),
            _ => Err(Trouble::Away(format!(
                "the shared folder {} is not there",
                path.display()
            ))),
        }
    }

    /// Seconds since a file was last written to; 0 where nobody knows.
    fn age(&self, name: &Path) -> u64 {
        let written = self.root.metadata(name).and_then(|found| found.modified());
        let age = written.map(|written| SystemTime::now().duration_since(written));
        age.map_or(0, |age| age.map_or(0, |age| age.as_secs()))
    }
}

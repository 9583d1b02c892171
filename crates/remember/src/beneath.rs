//! The folder of a store, and everything in it by names that never lead out of it.
//!
//! Law: whatever was put into the folder, nothing outside of it is opened, changed or removed. A name is resolved
//! beneath the folder and follows no link at any step, by `openat2` where the kernel has it, else folder by folder;
//! what is opened is a regular file, and opening waits for nobody, as it would at a pipe. What is found in the place
//! of a file or folder of ours and is none, is [planted](is_planted): an error, which [`cannot`](crate::disk::cannot)
//! tells with its path. The folder itself may be reached by links: the user has named it.
//!
//! Names are relative to the folder. A folder that is not there is one in which nothing is found.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// What stands in the place of a file or a folder of the store's own and is neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is a link, a pipe or another thing that the store did not make")]
struct Planted;

fn planted() -> io::Error {
    io::Error::other(Planted)
}

/// Whether a name could not be used because of what was put there, or on the way to it.
pub fn is_planted(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Planted>())
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// For reading.
    Read,
    /// For adding to its end.
    Append,
    /// For reading and writing, made if it is not there: a file to be locked. What is in it stays.
    Lock,
    /// For writing. It must not be there yet.
    New,
}

impl Access {
    fn flags(self) -> libc::c_int {
        match self {
            Access::Read => libc::O_RDONLY,
            Access::Append => libc::O_WRONLY | libc::O_APPEND,
            Access::Lock => libc::O_RDWR | libc::O_CREAT,
            Access::New => libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL,
        }
    }
}

/// What is under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link, a pipe, a socket or a device.
    Other,
}

impl Kind {
    fn of(mode: libc::mode_t) -> Kind {
        match mode & libc::S_IFMT {
            libc::S_IFREG => Kind::File,
            libc::S_IFDIR => Kind::Folder,
            _ => Kind::Other,
        }
    }
}

/// The folder of a store.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    /// `None` where there is none.
    folder: Option<File>,
    /// Whether the kernel can resolve names of several parts by itself.
    resolves: bool,
}

/// The folder that a name is in.
enum Parent<'a> {
    Root(BorrowedFd<'a>),
    Below(OwnedFd),
}

impl Parent<'_> {
    fn number(&self) -> libc::c_int {
        match self {
            Parent::Root(folder) => folder.as_raw_fd(),
            Parent::Below(folder) => folder.as_raw_fd(),
        }
    }
}

impl Root {
    /// Opens the folder that the user has named; all is as if it were empty where it is not there.
    pub fn open(path: &Path) -> io::Result<Root> {
        let name = c_string(path.as_os_str())?;
        let flags = libc::O_DIRECTORY | libc::O_CLOEXEC;
        let opened = match open_at(libc::AT_FDCWD, &name, libc::O_RDONLY | flags) {
            // Who may not list a folder may still find what is in it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                open_at(libc::AT_FDCWD, &name, libc::O_PATH | flags)
            }
            opened => opened,
        };
        let folder = match opened {
            Ok(folder) => Some(File::from(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let resolves = folder.as_ref().is_some_and(|folder| {
            resolve(folder.as_fd(), c".", libc::O_PATH | libc::O_DIRECTORY).is_ok()
        });
        Ok(Root {
            path: path.to_owned(),
            folder,
            resolves,
        })
    }

    /// Its path, as the user has named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of what has this name, for messages and for those who cannot do without.
    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Opens a regular file.
    pub fn file(&self, name: impl AsRef<Path>, access: Access) -> io::Result<File> {
        let name = name.as_ref();
        // A pipe is not waited for; for a file the flag says nothing.
        let flags = access.flags() | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
        // Where nothing can be found out, or nothing is there, the right to do it is all that is missing.
        let is_foreign = || matches!(self.kind(name), Ok(Some(Kind::Folder | Kind::Other)));
        let opened = match access {
            Access::Read => self.open_below(name, flags),
            _ => {
                let (parent, last) = self.parent(name)?;
                open_at(parent.number(), &last, flags)
            }
        };
        let file = File::from(opened.map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP | libc::ENXIO | libc::EISDIR) => planted(),
            Some(libc::EACCES | libc::EEXIST) if is_foreign() => planted(),
            _ => error,
        })?);
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(planted())
        }
    }

    /// What is under a name; of a link, the link itself.
    pub fn metadata(&self, name: impl AsRef<Path>) -> io::Result<Metadata> {
        let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        File::from(self.open_below(name.as_ref(), flags)?).metadata()
    }

    /// Opens what is there already. With one call where the kernel resolves names: look-ups are many.
    fn open_below(&self, name: &Path, flags: libc::c_int) -> io::Result<OwnedFd> {
        if self.resolves && is_plain(name) {
            return resolve(self.own()?, &c_string(name.as_os_str())?, flags).map_err(not_below);
        }
        let (parent, last) = self.parent(name)?;
        open_at(parent.number(), &last, flags)
    }

    /// What is under a name; `None` where there is nothing.
    pub fn kind(&self, name: impl AsRef<Path>) -> io::Result<Option<Kind>> {
        match self.parent(name.as_ref()) {
            Ok((parent, last)) => absent(kind_at(parent.number(), &last)),
            Err(error) => absent(Err(error)),
        }
    }

    /// Whether a regular file has this name.
    pub fn is_file(&self, name: impl AsRef<Path>) -> bool {
        matches!(self.kind(name), Ok(Some(Kind::File)))
    }

    /// All bytes of a regular file that has at most `most`.
    pub fn read(&self, name: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
        let file = self.file(name, Access::Read)?;
        if file.metadata()?.len() > most {
            return Err(io::Error::other("it is too large"));
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes a file in the place of what was there, which is never written to: it may have other names.
    pub fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let name = name.as_ref();
        let mut fresh = name.as_os_str().to_owned();
        fresh.push(".new");
        let written = self.fresh_file(&fresh).and_then(|mut file| {
            file.write_all(bytes)?;
            drop(file);
            self.rename(&fresh, name)
        });
        if written.is_err() {
            let _ = self.remove_file(&fresh);
        }
        written
    }

    /// A new file, in the place of what was there.
    pub fn fresh_file(&self, name: impl AsRef<Path>) -> io::Result<File> {
        let name = name.as_ref();
        self.remove_file(name)?;
        self.file(name, Access::New)
    }

    /// Makes a folder; that it is there already is no error.
    pub fn make_folder(&self, name: impl AsRef<Path>) -> io::Result<()> {
        match self.new_folder(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match self.kind(name)? {
                Some(Kind::Folder) => Ok(()),
                Some(Kind::File | Kind::Other) => Err(planted()),
                None => Err(error),
            },
            made => made,
        }
    }

    /// Makes a folder and those that it is in.
    pub fn make_folders(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let name = name.as_ref();
        let mut way = PathBuf::new();
        for part in name.components() {
            way.push(part);
            self.make_folder(&way)?;
        }
        Ok(())
    }

    /// Makes a folder that is not there yet.
    pub fn new_folder(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let (parent, last) = self.parent(name.as_ref())?;
        // SAFETY: the descriptor is open and the name is a C string; both live until the call is over.
        answered(unsafe { libc::mkdirat(parent.number(), last.as_ptr(), 0o777) })
    }

    /// Gives a folder this mode, whatever the umask is.
    pub fn set_folder_mode(&self, name: impl AsRef<Path>, mode: u32) -> io::Result<()> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let folder = File::from(self.folder(name.as_ref(), flags)?);
        folder.set_permissions(std::fs::Permissions::from_mode(mode))
    }

    /// Gives something another name, in the place of what had that name.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let (parent, last) = self.parent(from.as_ref())?;
        let (other, other_last) = self.parent(to.as_ref())?;
        // SAFETY: the descriptors are open and the names are C strings; all live until the call is over.
        answered(unsafe {
            libc::renameat(
                parent.number(),
                last.as_ptr(),
                other.number(),
                other_last.as_ptr(),
            )
        })
    }

    /// Gives a file a further name.
    pub fn link(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let (parent, last) = self.parent(from.as_ref())?;
        self.link_at(parent.number(), &last, to.as_ref())
    }

    /// Gives a file that may lie elsewhere a name in here.
    pub fn link_from(&self, path: &Path, to: impl AsRef<Path>) -> io::Result<()> {
        self.link_at(libc::AT_FDCWD, &c_string(path.as_os_str())?, to.as_ref())
    }

    fn link_at(&self, folder: libc::c_int, name: &CStr, to: &Path) -> io::Result<()> {
        let (other, last) = self.parent(to)?;
        // SAFETY: the descriptors are open and the names are C strings; all live until the call is over.
        answered(unsafe { libc::linkat(folder, name.as_ptr(), other.number(), last.as_ptr(), 0) })
    }

    /// Removes a name that is not one of a folder; that there is none is no error.
    pub fn remove_file(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let unlinked = self
            .parent(name.as_ref())
            .and_then(|(parent, last)| unlink_at(parent.number(), &last, 0));
        absent(unlinked).map(|_| ())
    }

    /// Removes whatever has this name, a folder with all that is in it; that there is nothing is no error.
    pub fn remove_all(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let removed = self
            .parent(name.as_ref())
            .and_then(|(parent, last)| remove_at(parent.number(), &last));
        absent(removed).map(|_| ())
    }

    /// What is in a folder, in no order; nothing where it is not there. The empty name is the store's own folder.
    pub fn list(&self, name: impl AsRef<Path>) -> io::Result<Vec<(OsString, Kind)>> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let name = name.as_ref();
        let opened = if name.as_os_str().is_empty() {
            self.own()
                .and_then(|folder| open_at(folder.as_raw_fd(), c".", flags))
        } else {
            self.folder(name, flags)
        };
        absent(opened)?.map_or_else(|| Ok(Vec::new()), list_folder)
    }

    /// Makes the names in a folder durable; the empty name is the store's own folder.
    pub fn sync_folder(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let name = name.as_ref();
        if name.as_os_str().is_empty() {
            return File::from(open_at(
                self.own()?.as_raw_fd(),
                c".",
                libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC,
            )?)
            .sync_all();
        }
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        File::from(self.folder(name, flags)?).sync_all()
    }

    /// Makes everything durable that was written to the file system of this folder, names included.
    pub fn sync_file_system(&self) -> io::Result<()> {
        let folder = self.own()?;
        // SAFETY: the descriptor is open for the whole call, and the call takes nothing else.
        answered(unsafe { libc::syncfs(folder.as_raw_fd()) })
    }

    fn own(&self) -> io::Result<BorrowedFd<'_>> {
        let folder = self.folder.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok(folder.as_fd())
    }

    /// The folder that a name is in, and its last part.
    fn parent(&self, name: &Path) -> io::Result<(Parent<'_>, CString)> {
        let own = self.own()?;
        let (true, Some(last)) = (is_plain(name), name.file_name()) else {
            // Only a mistake of ours, or a record whose paths were not checked, leads here.
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let above = name.parent().filter(|above| !above.as_os_str().is_empty());
        let parent = match above {
            None => Parent::Root(own),
            Some(above) => {
                let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
                Parent::Below(self.folder(above, flags)?)
            }
        };
        Ok((parent, c_string(last)?))
    }

    /// Opens a folder below.
    fn folder(&self, name: &Path, flags: libc::c_int) -> io::Result<OwnedFd> {
        let own = self.own()?;
        if self.resolves {
            return resolve(own, &c_string(name.as_os_str())?, flags).map_err(not_below);
        }
        self.walk(own, name, flags)
    }

    /// Opens a folder below, one part after the other.
    fn walk(&self, own: BorrowedFd<'_>, name: &Path, flags: libc::c_int) -> io::Result<OwnedFd> {
        let mut folder: Option<OwnedFd> = None;
        let mut parts = name.components().peekable();
        let step = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        while let Some(part) = parts.next() {
            let flags = if parts.peek().is_none() { flags } else { step };
            let at = folder.as_ref().map_or(own.as_raw_fd(), AsRawFd::as_raw_fd);
            let opened = open_at(at, &c_string(part.as_os_str())?, flags);
            folder = Some(opened.map_err(|error| match error.raw_os_error() {
                Some(libc::ELOOP | libc::ENOTDIR) => planted(),
                _ => error,
            })?);
        }
        folder.ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

/// Whether a name leads down and nowhere else.
fn is_plain(name: &Path) -> bool {
    let mut parts = name.components();
    let leads_down = |part| matches!(part, Component::Normal(_));
    name.file_name().is_some() && parts.all(leads_down)
}

/// What the kernel says when a name leads through a link, or through what should be a folder.
fn not_below(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        // In the place of a folder may stand a link, of which it says only that it is no folder.
        Some(libc::ELOOP | libc::EXDEV | libc::ENOTDIR) => planted(),
        _ => error,
    }
}

/// `None` where there is nothing.
fn absent<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn answered(answer: libc::c_int) -> io::Result<()> {
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Does something until no signal comes in between.
fn again(mut call: impl FnMut() -> libc::c_long) -> io::Result<libc::c_int> {
    loop {
        let answer = call();
        if answer >= 0 {
            // A descriptor.
            return Ok(answer as libc::c_int);
        }
        let error = io::Error::last_os_error();
        // The second is what `openat2` says when somebody moves folders about at that moment.
        if ![Some(libc::EINTR), Some(libc::EAGAIN)].contains(&error.raw_os_error()) {
            return Err(error);
        }
    }
}

/// Opens what has a name of one part in an open folder, or has this path.
fn open_at(folder: libc::c_int, name: &CStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is open and the name is a C string; both live until the call is over.
    let file = again(|| unsafe { libc::openat(folder, name.as_ptr(), flags, 0o666) }.into())?;
    // SAFETY: the kernel has just given the descriptor to us, and to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// Opens what has a name of any number of parts beneath an open folder.
fn resolve(folder: BorrowedFd<'_>, name: &CStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: the structure is plain numbers, for all of which zero is a value.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
    // SAFETY: the descriptor is open, the name is a C string and the structure is as long as is said; all of them live
    // until the call is over.
    let file = again(|| unsafe {
        libc::syscall(
            libc::SYS_openat2,
            folder.as_raw_fd(),
            name.as_ptr(),
            &raw const how,
            size_of::<libc::open_how>(),
        )
    })?;
    // SAFETY: the kernel has just given the descriptor to us, and to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// What has a name of one part in an open folder; a link is not followed.
fn kind_at(folder: libc::c_int, name: &CStr) -> io::Result<Kind> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the descriptor is open, the name is a C string, and the answer has room for what the call writes.
    answered(unsafe {
        libc::fstatat(
            folder,
            name.as_ptr(),
            found.as_mut_ptr(),
            libc::AT_SYMLINK_NOFOLLOW,
        )
    })?;
    // SAFETY: the call succeeded, so it has filled the answer.
    Ok(Kind::of(unsafe { found.assume_init() }.st_mode))
}

fn unlink_at(folder: libc::c_int, name: &CStr, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open and the name is a C string; both live until the call is over.
    answered(unsafe { libc::unlinkat(folder, name.as_ptr(), flags) })
}

/// How deep a folder is gone into that is removed; each step needs a descriptor.
const DEEP: usize = 64;

/// Removes a name in an open folder, with all that is below it.
fn remove_at(folder: libc::c_int, name: &CStr) -> io::Result<()> {
    let Some(top) = unlink_or_open(folder, name)? else {
        return Ok(());
    };
    let mut moved = 0;
    loop {
        let before = moved;
        empty(&top, &top, &mut moved, 0)?;
        match unlink_at(folder, name, libc::AT_REMOVEDIR) {
            // What lay too deep was brought up.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty && moved > before => {}
            removed => return removed,
        }
    }
}

/// Removes a name, unless it is that of a folder, which is opened.
fn unlink_or_open(folder: libc::c_int, name: &CStr) -> io::Result<Option<OwnedFd>> {
    let error = match unlink_at(folder, name, 0) {
        Ok(()) => return Ok(None),
        Err(error) => error,
    };
    // Some file systems say of a folder that it may not be removed like this.
    if kind_at(folder, name)? != Kind::Folder {
        return Err(error);
    }
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let opened = match open_at(folder, name, flags) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let shut = open_at(folder, name, flags | libc::O_PATH)?;
            let shut = format!("/proc/self/fd/{}", shut.as_raw_fd());
            std::fs::set_permissions(shut, std::fs::Permissions::from_mode(0o700))?;
            open_at(folder, name, flags)?
        }
        opened => opened?,
    };
    // What a program has mounted there and forgotten is somebody's.
    if mount_of(opened.as_raw_fd())? != mount_of(folder)? {
        return Err(io::ErrorKind::CrossesDevices.into());
    }
    Ok(Some(opened))
}

/// Which mount an open folder belongs to; where the kernel does not number mounts, which file system.
fn mount_of(folder: libc::c_int) -> io::Result<u64> {
    // SAFETY: the structure is plain numbers, for all of which zero is a value.
    let mut answer: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, the empty name is a C string, and the answer outlives the call.
    answered(unsafe {
        libc::statx(
            folder,
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_MNT_ID,
            &raw mut answer,
        )
    })?;
    if answer.stx_mask & libc::STATX_MNT_ID != 0 {
        return Ok(answer.stx_mnt_id);
    }
    Ok(u64::from(answer.stx_dev_major) << 32 | u64::from(answer.stx_dev_minor))
}

/// Removes everything in a folder; what lies too deep is moved to the topmost one instead, and counted.
fn empty(folder: &OwnedFd, top: &OwnedFd, moved: &mut u64, depth: usize) -> io::Result<()> {
    let at = folder.as_raw_fd();
    // A program may have taken away the right to remove anything from it; if it is not ours, that is said below.
    let file = File::from(folder.try_clone()?);
    if file.metadata()?.permissions().mode() & 0o700 != 0o700 {
        let _ = file.set_permissions(std::fs::Permissions::from_mode(0o700));
    }
    // Opened once more: a folder that was read to its end stays there.
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    for (entry, kind) in list_folder(open_at(at, c".", flags)?)? {
        let name = c_string(&entry)?;
        if depth == DEEP && kind == Kind::Folder {
            absent(bring_up(at, &name, top.as_raw_fd(), moved))?;
        } else if let Some(Some(below)) = absent(unlink_or_open(at, &name))? {
            empty(&below, top, moved, depth + 1)?;
            absent(unlink_at(at, &name, libc::AT_REMOVEDIR))?;
        }
    }
    Ok(())
}

/// Moves a folder to the topmost one, under a name that is free there.
fn bring_up(folder: libc::c_int, name: &CStr, top: libc::c_int, moved: &mut u64) -> io::Result<()> {
    loop {
        let new = c_string(OsStr::new(&format!("deep-{moved}")))?;
        *moved += 1;
        match kind_at(top, &new) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => continue,
        }
        // SAFETY: the descriptors are open and the names are C strings; all live until the call is over.
        return answered(unsafe { libc::renameat(folder, name.as_ptr(), top, new.as_ptr()) });
    }
}

/// What is in an open folder.
fn list_folder(folder: OwnedFd) -> io::Result<Vec<(OsString, Kind)>> {
    let number = folder.as_raw_fd();
    // SAFETY: the descriptor is open and is that of a folder; from here on it belongs to the stream.
    let stream = unsafe { libc::fdopendir(number) };
    if stream.is_null() {
        return Err(io::Error::last_os_error());
    }
    std::mem::forget(folder);
    let mut found = Vec::new();
    let listed = loop {
        // SAFETY: this is where the C library keeps the error of this thread; it is there for as long as the thread.
        unsafe { *libc::__errno_location() = 0 };
        // SAFETY: the stream is open, and nobody else reads from it.
        let entry = unsafe { libc::readdir(stream) };
        if entry.is_null() {
            let error = io::Error::last_os_error();
            break match error.raw_os_error() {
                Some(0) | None => Ok(()),
                Some(_) => Err(error),
            };
        }
        // SAFETY: the entry is valid until the next one is read, and its name is a C string.
        let (name, hint) = unsafe { (CStr::from_ptr((*entry).d_name.as_ptr()), (*entry).d_type) };
        if [c".", c".."].contains(&name) {
            continue;
        }
        let kind = match hint {
            libc::DT_REG => Kind::File,
            libc::DT_DIR => Kind::Folder,
            libc::DT_UNKNOWN => match absent(kind_at(number, name)) {
                Ok(Some(kind)) => kind,
                Ok(None) => continue,
                Err(error) => break Err(error),
            },
            _ => Kind::Other,
        };
        found.push((OsString::from_vec(name.to_bytes().to_vec()), kind));
    };
    // SAFETY: the stream is open and is not used again; its descriptor goes with it.
    unsafe { libc::closedir(stream) };
    listed.map(|()| found)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder, and one beside it that has a file and a folder with one.
    struct Case {
        _folder: tempfile::TempDir,
        outside: PathBuf,
        root: Root,
    }

    impl Case {
        /// With the kernel's way of resolving names, or folder by folder.
        fn both() -> [Case; 2] {
            [true, false].map(|resolves| {
                let folder = tempfile::tempdir().unwrap();
                let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
                fs::create_dir(&inside).unwrap();
                fs::create_dir_all(outside.join("below")).unwrap();
                fs::write(outside.join("file"), "precious").unwrap();
                fs::write(outside.join("below/file"), "precious").unwrap();
                let mut root = Root::open(&inside).unwrap();
                // Where the kernel cannot, both are the same.
                root.resolves &= resolves;
                Case {
                    _folder: folder,
                    outside,
                    root,
                }
            })
        }

        #[track_caller]
        fn is_untouched(&self) {
            for name in ["file", "below/file"] {
                let text = fs::read_to_string(self.outside.join(name)).unwrap();
                assert_eq!(text, "precious", "{name}");
            }
            assert_eq!(fs::read_dir(&self.outside).unwrap().count(), 2);
            let below = fs::read_dir(self.outside.join("below")).unwrap();
            assert_eq!(below.count(), 1);
        }
    }

    fn pipe(path: &Path) {
        let name = c_string(path.as_os_str()).unwrap();
        // SAFETY: the name is a C string that lives until the call is over.
        answered(unsafe { libc::mkfifo(name.as_ptr(), 0o666) }).unwrap();
    }

    #[test]
    fn files_and_folders_are_made_read_renamed_and_removed() {
        for case in Case::both() {
            let root = &case.root;
            root.make_folders("a/b/c").unwrap();
            root.make_folders("a/b/c").unwrap();
            root.write("a/b/file", b"one").unwrap();
            root.write("a/b/file", b"two").unwrap();
            let mut file = root.file("a/b/file", Access::Append).unwrap();
            file.write_all(b" and three").unwrap();
            assert_eq!(root.read("a/b/file", 13).unwrap(), b"two and three");
            assert_eq!(root.metadata("a/b/file").unwrap().len(), 13);
            root.read("a/b/file", 12).unwrap_err();
            root.rename("a/b/file", "a/file").unwrap();
            root.link("a/file", "a/b/other").unwrap();
            let mut listed = root.list("a/b").unwrap();
            listed.sort_by(|one, other| one.0.cmp(&other.0));
            let expected = [("c".into(), Kind::Folder), ("other".into(), Kind::File)];
            assert_eq!(listed, expected);
            root.sync_folder("a/b").unwrap();
            root.sync_folder("").unwrap();
            root.sync_file_system().unwrap();
            root.remove_file("a/file").unwrap();
            root.remove_file("a/file").unwrap();
            assert_eq!(root.kind("a/file").unwrap(), None);
            assert!(root.is_file("a/b/other") && !root.is_file("a/b"));
            root.remove_all("a").unwrap();
            root.remove_all("a").unwrap();
            assert_eq!(root.list("").unwrap(), []);
            assert_eq!(root.list("a/b").unwrap(), []);
            case.is_untouched();
        }
    }

    #[test]
    fn a_link_is_followed_nowhere() {
        for case in Case::both() {
            let (root, outside) = (&case.root, &case.outside);
            symlink(outside, root.at("folder")).unwrap();
            symlink(outside.join("file"), root.at("link")).unwrap();
            symlink("nowhere", root.at("broken")).unwrap();
            fs::create_dir(root.at("own")).unwrap();
            symlink("own", root.at("near")).unwrap();
            let refused = |answer: io::Result<()>| {
                let error = answer.unwrap_err();
                assert!(is_planted(&error), "{error:?}");
            };
            for access in [Access::Read, Access::Append, Access::Lock] {
                for name in ["link", "broken", "folder", "folder/file", "near/file"] {
                    refused(root.file(name, access).map(drop));
                }
            }
            refused(root.file("link", Access::New).map(drop));
            refused(root.file("folder/new", Access::New).map(drop));
            refused(root.metadata("folder/file").map(drop));
            refused(root.kind("folder/file").map(drop));
            refused(root.make_folder("folder"));
            refused(root.make_folders("folder/below/new"));
            refused(root.make_folder("link"));
            refused(root.write("folder/file", b"wrong"));
            refused(root.list("folder").map(drop));
            refused(root.list("folder/below").map(drop));
            refused(root.sync_folder("folder"));
            refused(root.remove_file("folder/file"));
            refused(root.remove_all("folder/below"));
            refused(root.rename("folder/file", "mine"));
            fs::write(root.at("mine"), "mine").unwrap();
            refused(root.rename("mine", "folder/file"));
            refused(root.link("mine", "folder/mine"));
            assert!(!root.is_file("link"));
            assert!(root.metadata("link").unwrap().is_symlink());
            case.is_untouched();
            // What replaces a link, or removes it, has to do with the link alone.
            root.write("link", b"mine").unwrap();
            assert_eq!(root.read("link", 9).unwrap(), b"mine");
            fs::create_dir(root.at("own/deep")).unwrap();
            symlink(outside, root.at("own/deep/link")).unwrap();
            for name in ["folder", "broken", "near", "own"] {
                root.remove_all(name).unwrap();
                assert_eq!(root.kind(name).unwrap(), None);
            }
            case.is_untouched();
        }
    }

    #[test]
    fn what_is_no_regular_file_is_not_waited_for() {
        for case in Case::both() {
            let root = &case.root;
            pipe(&root.at("pipe"));
            let socket = std::os::unix::net::UnixListener::bind(root.at("socket")).unwrap();
            fs::create_dir(root.at("folder")).unwrap();
            for access in [Access::Read, Access::Append, Access::Lock, Access::New] {
                for name in ["pipe", "socket", "folder"] {
                    let error = root.file(name, access).unwrap_err();
                    assert!(is_planted(&error), "{name} {access:?}: {error:?}");
                }
            }
            drop(socket);
        }
    }

    #[test]
    fn a_name_that_leads_up_is_none() {
        for case in Case::both() {
            for name in [
                "../out/file",
                "/etc/passwd",
                "a/../../out/file",
                "",
                ".",
                "..",
            ] {
                let error = case.root.file(name, Access::Read).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}");
            }
        }
    }

    #[test]
    fn a_folder_is_removed_however_deep_it_is() {
        for case in Case::both() {
            let root = &case.root;
            root.make_folder("deep").unwrap();
            // Deeper than it is gone into at once, and than a path can say.
            let mut folder = root.folder(Path::new("deep"), libc::O_PATH).unwrap();
            for _ in 0..300 {
                for name in [c"a-rather-long-name-of-a-folder", c"deep-0"] {
                    // SAFETY: the descriptor is open and the name is a C string.
                    let made = unsafe { libc::mkdirat(folder.as_raw_fd(), name.as_ptr(), 0o777) };
                    answered(made).unwrap();
                }
                let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
                folder =
                    open_at(folder.as_raw_fd(), c"a-rather-long-name-of-a-folder", flags).unwrap();
            }
            root.remove_all("deep").unwrap();
            assert_eq!(root.kind("deep").unwrap(), None);
        }
    }

    #[test]
    fn in_a_folder_that_is_not_there_nothing_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(&folder.path().join("absent")).unwrap();
        assert_eq!(root.kind("file").unwrap(), None);
        assert_eq!(root.list("").unwrap(), []);
        let error = root.file("file", Access::Lock).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}

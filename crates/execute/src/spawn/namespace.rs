//! A mount namespace of one program, in which what it is given is read-only.
//!
//! Law: everybody else sees what they saw, and the program sees the same files under the same names; only writing to
//! what is listed fails, for root too. Root needs nothing for it. Any other user needs a user namespace besides, in
//! which the own user and group are what they are and all others are nobody; a program that gains rights by the owner
//! of its file (`sudo`, `ping`) does not gain them there. What somebody mounts later elsewhere shows inside; the
//! namespace ends with its last process.
//!
//! All of it happens between `fork` and `exec`, where a process may only make system calls: every name is made a C
//! string before.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use super::Request;

/// What is added to the number of an error in here, so that it can be told from one of `exec`, which comes the same
/// way. No error of the kernel is so large.
const OWN: i32 = 1 << 20;

const OPEN_TREE_CLONE: libc::c_ulong = 1;
const OPEN_TREE_CLOEXEC: libc::c_ulong = libc::O_CLOEXEC as libc::c_ulong;
const AT_RECURSIVE: libc::c_ulong = 0x8000;
const AT_EMPTY_PATH: libc::c_ulong = libc::AT_EMPTY_PATH as libc::c_ulong;
const MOUNT_ATTR_RDONLY: u64 = 1;
const MOVE_MOUNT_F_EMPTY_PATH: libc::c_ulong = 4;
const MOVE_MOUNT_T_SYMLINKS: libc::c_ulong = 0x10;
const EMPTY: &CStr = c"";

/// As the kernel has it.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

const READ_ONLY: MountAttributes = MountAttributes {
    set: MOUNT_ATTR_RDONLY,
    clear: 0,
    propagation: 0,
    user_namespace: 0,
};

/// Everything that is needed to make a namespace.
#[derive(Debug)]
pub(super) struct Prepared {
    /// How the own user and group are called in a user namespace; `None` for root, who needs none.
    own: Option<(CString, CString)>,
    /// What is mounted where.
    steps: Vec<Step>,
    /// Opened again inside: by an open file of everybody's mounts the program could write.
    stdin: Option<CString>,
}

/// Something to be mounted.
#[derive(Debug)]
struct Step {
    path: CString,
    at: CString,
    /// Its device and inode, where they have to be these; otherwise it may be missing.
    identity: Option<(u64, u64)>,
}

/// Whether a program was not started because it has not got its namespace.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| number >= OWN)
}

/// What the system said then.
pub(super) fn reason(error: &io::Error) -> io::Error {
    let number = error.raw_os_error().unwrap_or(OWN + libc::EINVAL);
    io::Error::from_raw_os_error(number - OWN)
}

fn name(path: &Path) -> CString {
    // `Request::check` has seen to it that there is no zero byte.
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

impl Prepared {
    pub(super) fn new(request: &Request) -> Prepared {
        // SAFETY: these calls take nothing and cannot fail.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let own = (user != 0).then(|| {
            let line = |number: u32| CString::new(format!("{number} {number} 1"));
            (
                line(user).unwrap_or_default(),
                line(group).unwrap_or_default(),
            )
        });
        let read_only = request.namespace.read_only.iter();
        let over = request.namespace.over.iter();
        Prepared {
            own,
            steps: read_only
                .map(|path| Step {
                    path: name(path),
                    at: name(path),
                    identity: None,
                })
                .chain(over.map(|over| Step {
                    path: name(&over.file),
                    at: name(&over.at),
                    identity: Some(over.identity),
                }))
                .collect(),
            stdin: request.stdin.as_deref().map(name),
        }
    }

    /// Makes this process see what it should. It has one thread and is about to become another program.
    pub(super) fn enter(&self) -> io::Result<()> {
        self.make().map_err(|error| {
            let number = error.raw_os_error().unwrap_or(libc::EINVAL);
            io::Error::from_raw_os_error(OWN + number)
        })
    }

    fn make(&self) -> io::Result<()> {
        let mut parts = libc::CLONE_NEWNS;
        if self.own.is_some() {
            parts |= libc::CLONE_NEWUSER;
        }
        // SAFETY: a plain system call that takes numbers.
        done(unsafe { libc::unshare(parts) }.into())?;
        if let Some((user, group)) = &self.own {
            // Without this nobody may say how groups are called.
            write(c"/proc/self/setgroups", c"deny")?;
            write(c"/proc/self/uid_map", user)?;
            write(c"/proc/self/gid_map", group)?;
        }
        // Nothing that is mounted here shows elsewhere.
        // SAFETY: the one name ends with a zero byte; the other pointers may be null.
        let private = unsafe {
            libc::mount(
                ptr::null(),
                c"/".as_ptr(),
                ptr::null(),
                libc::MS_REC | libc::MS_SLAVE,
                ptr::null(),
            )
        };
        done(private.into())?;
        for step in &self.steps {
            match mount_read_only(step) {
                Err(error)
                    if step.identity.is_none() && error.raw_os_error() == Some(libc::ENOENT) => {}
                mounted => mounted?,
            }
        }
        match &self.stdin {
            Some(path) => open_stdin(path),
            None => Ok(()),
        }
    }
}

fn done(answer: i64) -> io::Result<i64> {
    match answer {
        0.. => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}

fn write(path: &CStr, text: &CStr) -> io::Result<()> {
    // SAFETY: the name ends with a zero byte, the text is as long as is said, and the descriptor is this function's.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        done(file.into())?;
        let written = libc::write(file, text.as_ptr().cast(), text.count_bytes());
        let written = done(written as i64);
        libc::close(file);
        written.map(drop)
    }
}

/// Shows what is at one place at another, read-only.
fn mount_read_only(step: &Step) -> io::Result<()> {
    // SAFETY: all names end with a zero byte, the attributes are as long as is said, and the descriptor is this
    // function's.
    unsafe {
        let tree = done(libc::syscall(
            libc::SYS_open_tree,
            libc::AT_FDCWD,
            step.path.as_ptr(),
            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE,
        ))?;
        let attributes = READ_ONLY;
        let mounted = done(libc::syscall(
            libc::SYS_mount_setattr,
            tree,
            EMPTY.as_ptr(),
            AT_EMPTY_PATH | AT_RECURSIVE,
            &raw const attributes,
            size_of::<MountAttributes>(),
        ))
        .and_then(|_| match step.identity {
            Some(expected) if identity(tree as libc::c_int)? != expected => {
                Err(io::Error::from_raw_os_error(libc::ESTALE))
            }
            _ => Ok(()),
        })
        .and_then(|()| {
            done(libc::syscall(
                libc::SYS_move_mount,
                tree,
                EMPTY.as_ptr(),
                libc::AT_FDCWD,
                step.at.as_ptr(),
                MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS,
            ))
        });
        libc::close(tree as libc::c_int);
        mounted.map(drop)
    }
}

/// The device and the inode of an open file.
fn identity(file: libc::c_int) -> io::Result<(u64, u64)> {
    // SAFETY: all zeros are a value of this type, which the call fills in.
    unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        done(libc::fstat(file, &raw mut found).into())?;
        Ok((found.st_dev, found.st_ino))
    }
}

fn open_stdin(path: &CStr) -> io::Result<()> {
    // SAFETY: the name ends with a zero byte; the descriptor is this function's, and nobody owns that of the standard
    // input between `fork` and `exec`.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        done(file.into())?;
        let copied = done(libc::dup2(file, libc::STDIN_FILENO).into());
        libc::close(file);
        copied.map(drop)
    }
}

//! What is asked of the kernel about files that the standard library does not offer.
//!
//! Law: a question that a kernel or a file system does not know is answered as if the thing could not be done.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Chooses the signal that tells of a lease.
const F_SETSIG: libc::c_int = 10;

/// Makes `to`, which is empty, share the blocks of `from` until one of them is written to. Says whether that was done;
/// most file systems cannot.
pub(crate) fn share_blocks(from: &File, to: &File) -> bool {
    // SAFETY: both descriptors are open for the whole call, and the call takes nothing else.
    unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONE, from.as_raw_fd()) == 0 }
}

/// Opens a regular file to be read; whatever else somebody has put there is an error. Nobody waits for the other end of a
/// pipe, or for something to be read.
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let file = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Copies a regular file to a new one, with its mode.
pub(crate) fn copy_regular(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = open_to_read(from)?;
    let mut made = File::options().write(true).create_new(true).open(to)?;
    // Between two files this has the kernel copy, which clones blocks where the file system can.
    io::copy(&mut source, &mut made)?;
    made.set_permissions(source.metadata()?.permissions())
}

/// Which mount a file or folder itself belongs to; a link is not followed. Where the kernel does not number mounts it is
/// the file system.
pub(crate) fn mount_of(path: &Path) -> io::Result<u64> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let mut answer = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the name is a C string and the answer is as large as the kernel takes it to be; both outlive the call.
    let asked = unsafe {
        libc::statx(
            libc::AT_FDCWD,
            name.as_ptr(),
            libc::AT_SYMLINK_NOFOLLOW,
            libc::STATX_MNT_ID,
            answer.as_mut_ptr(),
        )
    };
    if asked != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is plain numbers, zeroed before the kernel wrote to it.
    let answer = unsafe { answer.assume_init() };
    if answer.stx_mask & libc::STATX_MNT_ID != 0 {
        return Ok(answer.stx_mnt_id);
    }
    Ok(u64::from(answer.stx_dev_major) << 32 | u64::from(answer.stx_dev_minor))
}

/// Whether a file lies on a file system that keeps everything in memory.
pub(crate) fn is_in_memory(path: &Path) -> bool {
    const TMPFS: u32 = 0x0102_1994;
    const RAMFS: u32 = 0x8584_58F6;
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    let mut answer = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the name is a C string and the answer has room for what the call writes.
    if unsafe { libc::statfs(name.as_ptr(), answer.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: the call succeeded, so it has filled the answer.
    let answer = unsafe { answer.assume_init() };
    // The numbers have 32 bits; the field is wider on some machines, and signed.
    matches!(answer.f_type as u32, TMPFS | RAMFS)
}

/// Whether somebody has this file, which is open for reading here, open for writing or mapped so.
pub(crate) fn is_open_for_writing(file: &File) -> bool {
    let file = file.as_raw_fd();
    // A lease for reading is given only for a file that nobody has open for writing. Who opens it so while there is a
    // lease is told of by a signal; this one does nothing by default, as the usual one would not.
    // SAFETY: plain calls on an open descriptor, which take numbers only.
    unsafe {
        if libc::fcntl(file, F_SETSIG, libc::SIGURG) != 0 {
            return false;
        }
        if libc::fcntl(file, libc::F_SETLEASE, libc::F_RDLCK) == 0 {
            libc::fcntl(file, libc::F_SETLEASE, libc::F_UNLCK);
            return false;
        }
    }
    io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
}

/// Maps the beginning of a file, reads it, and writes its first byte after something was done.
#[cfg(test)]
pub(crate) fn write_mapped(file: &File, byte: u8, before: impl FnOnce()) {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let (shared, file) = (libc::MAP_SHARED, file.as_raw_fd());
    // SAFETY: the mapping is one byte of an open file that is not empty, and nobody else uses it.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), 1, rights, shared, file, 0);
        assert_ne!(at, libc::MAP_FAILED);
        let first = at.cast::<u8>();
        assert_ne!(first.read_volatile(), byte);
        before();
        first.write_volatile(byte);
        libc::munmap(at, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_shows_until_it_closes_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let writer = File::create(&path).expect("a file");
        let reader = File::open(&path).expect("a file");
        assert!(is_open_for_writing(&reader));
        drop(writer);
        assert!(!is_open_for_writing(&reader));
    }
}

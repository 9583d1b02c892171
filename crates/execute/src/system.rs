//! What is asked of the kernel about files that the standard library does not offer.
//!
//! Law: a question that a kernel or a file system does not know is answered as if the thing could not be done.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Chooses the signal that tells of a lease.
const F_SETSIG: libc::c_int = 10;

/// Makes `to`, which is empty, share the blocks of `from` until one of them is written to. Says whether that was done;
/// most file systems cannot.
pub(crate) fn share_blocks(from: &File, to: &File) -> bool {
    // SAFETY: both descriptors are open for the whole call, and the call takes nothing else.
    unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONE, from.as_raw_fd()) == 0 }
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
    std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
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

//! The few things a store asks of the file system that the standard library does not offer.
//!
//! Law: every failure names what was being done and the path; "durable" here means that the kernel has said so.

use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use headwater_graph::StoreError;

use crate::beneath::is_planted;

/// Turns an I/O error into one that says what could not be done, or what stands in the way.
pub(crate) fn cannot<'a>(
    what: &'a str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| {
        if is_planted(&source) {
            StoreError::NotOwn {
                path: path.to_owned(),
            }
        } else {
            StoreError::Io {
                what: format!("cannot {what} `{}`", path.display()),
                source,
            }
        }
    }
}

/// Waits for a lock for as long as it takes, whatever signals come meanwhile.
pub(crate) fn wait_for(file: &File, lock: impl Fn(&File) -> io::Result<()>) -> io::Result<()> {
    loop {
        match lock(file) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}

/// Makes the names in a folder durable.
pub fn sync_names(folder: &Path) -> io::Result<()> {
    File::open(folder).and_then(|opened| opened.sync_all())
}

/// The user whose rights this process has.
pub(crate) fn user() -> u32 {
    // SAFETY: a plain system call that takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Where the next byte is, from `at` on, that is not in a hole of the file; `None` where there is none. Where the file
/// system knows of no holes it is `at`.
pub(crate) fn next_data(file: &File, at: u64) -> io::Result<Option<u64>> {
    seek(file, at, libc::SEEK_DATA)
}

fn seek(file: &File, at: u64, whence: libc::c_int) -> io::Result<Option<u64>> {
    let from =
        libc::off_t::try_from(at).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the call takes numbers alone, and the descriptor is open as long as the file is.
    let found = unsafe { libc::lseek(file.as_raw_fd(), from, whence) };
    match u64::try_from(found) {
        Ok(found) => Ok(Some(found)),
        Err(_) => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            error if error.raw_os_error() == Some(libc::EINVAL) => Ok(Some(at)),
            error => Err(error),
        },
    }
}

/// Copies a file into an empty one. Its holes stay holes: whatever length a file has, a copy takes no more room than
/// the file.
pub(crate) fn copy_data(from: &mut File, to: &mut File) -> io::Result<()> {
    let length = from.metadata()?.len();
    let mut at = 0;
    while at < length
        && let Some(start) = next_data(from, at)?
    {
        // A file system that knows of no holes has one right behind the last byte.
        let end = seek(from, start, libc::SEEK_HOLE)?.unwrap_or(length);
        at = if end > start { end } else { length };
        from.seek(SeekFrom::Start(start))?;
        to.seek(SeekFrom::Start(start))?;
        io::copy(&mut (&mut *from).take(at - start), to)?;
    }
    to.set_len(length)
}

/// Whether more of a file is holes than anything that is made here would leave.
pub(crate) fn is_hollow(found: &Metadata) -> bool {
    const MOST: u64 = 1 << 30;
    found
        .len()
        .saturating_sub(found.blocks().saturating_mul(512))
        > MOST
}

/// Whether a file may be written to. It is not opened: closing it would take away the locks that SQLite has on it.
pub(crate) fn is_writable(path: &Path) -> bool {
    CString::new(path.as_os_str().as_bytes()).is_ok_and(|name| {
        // SAFETY: the name is a C string that lives until the call is over.
        unsafe { libc::access(name.as_ptr(), libc::W_OK) == 0 }
    })
}

/// The name of the network file system that the folder, or the nearest parent that exists, is on; `None` on a local
/// one.
pub(crate) fn network_file_system(folder: &Path) -> Result<Option<&'static str>, StoreError> {
    let mut nearest = folder;
    while !nearest.exists() {
        match nearest.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => nearest = parent,
            _ => {
                nearest = Path::new(".");
                break;
            }
        }
    }
    let answer = file_system(nearest).map_err(cannot("examine the file system of", nearest))?;
    // The kernel's magic numbers have 32 bits; the field is wider on some machines, and signed.
    Ok(network_name(answer.f_type as u32))
}

/// What the system says of the file system that something lies on.
fn file_system(path: &Path) -> io::Result<libc::statfs> {
    let name =
        CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut answer = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the name is a C string and the answer has room for what the call writes.
    if unsafe { libc::statfs(name.as_ptr(), answer.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it has filled the answer.
    Ok(unsafe { answer.assume_init() })
}

/// Whether next to nothing can be written to the folder that a file is in.
pub(crate) fn is_full_at(path: &Path) -> bool {
    /// As many bytes as the smallest of the files that SQLite makes.
    const LITTLE: u64 = 64 << 10;
    let folder = path.parent().unwrap_or(path);
    file_system(folder).is_ok_and(|found| {
        let block = u64::try_from(found.f_bsize).unwrap_or(0);
        found.f_bavail.saturating_mul(block) < LITTLE
    })
}

/// The file systems that several machines may write to at once. SQLite's shared index lies in mapped memory, which
/// machines do not share, so two of them would destroy each other's records.
fn network_name(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x0000_6969 => "NFS",
        0x0000_517B | 0xFE53_4D42 | 0xFF53_4D42 => "SMB",
        0x5346_414F => "AFS",
        0x7375_7245 => "Coda",
        0x0102_1997 => "9P",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x1983_0326 => "BeeGFS",
        0xAAD7_AAEA => "PanFS",
        0x7461_636F => "OCFS2",
        0x0116_1970 => "GFS2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        let cases = [
            (0x6969, Some("NFS")),
            (0xFF53_4D42, Some("SMB")),
            (0xEF53, None),
            (0x0102_1994, None),
        ];
        for (magic, expected) in cases {
            assert_eq!(network_name(magic), expected, "{magic:#x}");
        }
    }

    #[test]
    fn a_folder_to_come_is_judged_by_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            network_file_system(&folder.path().join("a/b/c")).unwrap(),
            None
        );
        assert_eq!(
            network_file_system(Path::new("relative/and/absent")).unwrap(),
            None
        );
    }

    #[test]
    fn what_is_not_there_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        assert!(is_writable(folder.path()));
        assert!(!is_writable(&folder.path().join("absent")));
        assert!(!is_writable(Path::new("a\0b")));
    }

    #[test]
    fn failures_name_the_path() {
        let error =
            sync_names(Path::new("absent")).map_err(cannot("synchronise", Path::new("absent")));
        let error = error.unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("cannot synchronise `absent`: "),
            "{error}"
        );
    }
}

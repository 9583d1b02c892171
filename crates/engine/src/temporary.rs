//! Folders that are there as long as somebody needs them.
//!
//! Law: the folder goes with its owner, whatever is in it. Nobody can know its name beforehand: the folder of
//! temporary files is open to all users of a machine, and one of them could have made it first.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder that goes with this.
#[derive(Debug)]
pub struct Temporary(pub PathBuf);

/// A folder for the files of this process under this name; it is not made. The same name gives the same folder.
pub fn folder(name: &str) -> PathBuf {
    // The standard library seeds its hashers from the system's random numbers.
    static SECRET: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
    std::env::temp_dir().join(format!("headwater-{name}-{:016x}", *SECRET))
}

/// A folder that nobody else in this process has; it is not made.
pub fn fresh() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    folder(&format!("{}-{number}", std::process::id()))
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // It is there only if something was written.
        let _ = headwater_execute::remove_tree(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_folder_ends_in_what_nobody_knows_and_is_not_made() {
        let one = folder("a");
        assert_eq!(one, folder("a"), "a run finds its folder again");
        assert_ne!(one, folder("b"));
        assert_ne!(fresh(), fresh());
        for path in [one, fresh()] {
            let name = path.file_name().expect("a name").to_string_lossy();
            let (_, secret) = name.rsplit_once('-').expect("a secret");
            let is_hexadecimal = secret.chars().all(|sign| sign.is_ascii_hexdigit());
            assert!(secret.len() == 16 && is_hexadecimal, "{name}");
            assert!(!path.exists());
        }
    }
}

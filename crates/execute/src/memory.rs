//! What becomes of memory that was let go.
//!
//! Law: what is here changes how soon memory goes back to the system, and nothing else.

/// Blocks at least this large go back as soon as they are let go.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 1 << 20;

/// Has large blocks of memory go back to the system as soon as they are let go, for the rest of this process. The
/// allocator of glibc keeps blocks of up to 32 MiB, per thread, once it has seen one let go: quick to be had again,
/// but a limit on memory means what the process takes, not what it uses of that. Elsewhere nothing is done.
pub fn give_back_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` may be called at any time from any thread; it takes two numbers, and a refusal does no harm.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

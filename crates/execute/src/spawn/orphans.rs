//! The processes that a program leaves behind.
//!
//! Law: a process that adopts orphans becomes the parent of every descendant whose own parent ends. So nothing that
//! descends from it can get away, whatever it does to its group, its session or its environment: when all children
//! have been killed and reaped, and that again until there are none, no descendant is left.
//!
//! Only children of this process are signalled, and only before they are reaped. Until then the kernel does not give
//! their numbers to anybody else, so a signal can never reach a stranger. This module is for processes with one
//! thread that have no other children than the ones they know.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use super::start::Group;

/// How often the kernel may say that there are children and list none before we believe the list.
const EMPTY_LISTS: u32 = 1000;
/// How long to wait between two such lists.
const PAUSE: Duration = Duration::from_millis(1);

/// Makes this process the parent of its descendants whose own parents end. Kernels without this are older than any
/// that the rest of the spawner runs on; there, only groups are ended.
pub(super) fn adopt() {
    // SAFETY: a plain system call without memory access.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Waits for the end of a child, whatever it was.
pub(super) fn wait_for(child: libc::pid_t) {
    while reap(child, 0) == -1
        && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
    {}
}

/// Frees the numbers of orphans that have ended while the group still runs, so that a long job that leaves many does
/// not fill the table of processes.
pub(super) fn reap_ended(group: &Group) {
    while let Children::Ended(child) = look() {
        // The leader is reaped with its usage, later; what waits behind it is found then.
        if child == group.leader() {
            return;
        }
        reap(child, libc::WNOHANG);
    }
}

/// Kills all children but the ones given, and what they leave behind, and waits for their end.
pub(super) fn end_all_but(spared: &[libc::pid_t]) {
    // The usual case costs one system call.
    if spared.is_empty() && look() == Children::None {
        return;
    }
    let mut killed = BTreeSet::new();
    // Processes of other users, which may not be killed. They stay as they are.
    let mut immortal = BTreeSet::new();
    let mut empty_lists = 0;
    loop {
        let runs = |&child: &libc::pid_t| reap(child, libc::WNOHANG) == 0;
        killed.retain(runs);
        immortal.retain(runs);
        let mut found = false;
        // The youngest first: what runs away by starting itself anew stands at the end.
        for child in children().into_iter().rev() {
            if spared.contains(&child) || killed.contains(&child) || immortal.contains(&child) {
                continue;
            }
            found = true;
            if kill(child) {
                killed.insert(child);
            } else {
                immortal.insert(child);
            }
        }
        if found {
            // At once, before what was started in the meantime gets far.
            continue;
        }
        if let Some(child) = killed.pop_first() {
            wait_for(child);
            continue;
        }
        if !spared.is_empty() || !immortal.is_empty() || look() == Children::None {
            return;
        }
        // A list may leave out a child if another one ends while it is made.
        empty_lists += 1;
        if empty_lists == EMPTY_LISTS {
            return;
        }
        thread::sleep(PAUSE);
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Children {
    None,
    Running,
    /// This one has ended and is not reaped.
    Ended(libc::pid_t),
}

fn look() -> Children {
    // SAFETY: all-zero bytes are a valid `siginfo_t`; `waitid` writes to it only.
    unsafe {
        let mut information: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
        match libc::waitid(libc::P_ALL, 0, &raw mut information, options) {
            0 if information.si_pid() == 0 => Children::Running,
            0 => Children::Ended(information.si_pid()),
            _ => Children::None,
        }
    }
}

/// The number of the child if it was reaped, 0 if it still runs.
fn reap(child: libc::pid_t, options: libc::c_int) -> libc::pid_t {
    // A child need not tell its parent of its end in the usual way; `__WALL` finds it all the same.
    // SAFETY: a null pointer stands for a status that nobody wants.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), options | libc::__WALL) }
}

/// Whether a child could be killed.
fn kill(child: libc::pid_t) -> bool {
    // SAFETY: plain system calls without memory access; the child is unreaped, so its number is its own.
    unsafe {
        let killed = libc::kill(child, libc::SIGKILL) == 0;
        // Whatever is in another session than this process descends from it. A group is killed as a whole, so a
        // program that forks without end does not win. Groups of this session may have strangers in them.
        let (session, group) = (libc::getsid(child), libc::getpgid(child));
        if session > 0 && session != libc::getsid(0) && group > 1 {
            libc::kill(-group, libc::SIGKILL);
        }
        killed
    }
}

/// The children of this process, ended ones included, the youngest last.
fn children() -> Vec<libc::pid_t> {
    match fs::read_to_string("/proc/thread-self/children") {
        Ok(list) => list
            .split_ascii_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect(),
        // Some kernels are built without this list.
        Err(_) => children_by_search(),
    }
}

fn children_by_search() -> Vec<libc::pid_t> {
    let parent = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let child = entry.file_name().to_str()?.parse().ok()?;
            let text = fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name of the program, in brackets, may hold anything.
            let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
            (fields.nth(1)?.parse() == Ok(parent)).then_some(child)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_search_finds_the_children_that_the_list_has() {
        let mut child = Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let number = child.id().cast_signed();
        let (listed, searched) = (children(), children_by_search());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(listed.contains(&number));
        assert!(searched.contains(&number));
    }
}

//! The processes that a program leaves behind.
//!
//! Law: a process that adopts orphans becomes the parent of every descendant whose own parent ends. So nothing that
//! descends from it can get away, whatever it does to its group, its session or its environment: when all children
//! have been killed and reaped, and that again until there are none, no descendant is left.
//!
//! A signal can never reach a stranger. Children of this process are signalled before they are reaped, and until then
//! the kernel does not give their numbers to anybody else; processes further down are signalled through a descriptor
//! that holds on to the process. This module is for processes with one thread that know their other children.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use super::start::{Group, open_process};

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

/// Kills all children but the ones given, and whatever descends from them, and waits for their end.
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
        let mut listed = children(Of::ThisProcess);
        listed.retain(|child| !spared.contains(child));
        let mut found = false;
        // The youngest first: what runs away by starting itself anew stands at the end.
        for &child in listed.iter().rev() {
            if killed.contains(&child) || immortal.contains(&child) {
                continue;
            }
            found = true;
            if !kill(child) {
                immortal.insert(child);
            } else if reap(child, libc::WNOHANG) == 0 {
                killed.insert(child);
                kill_below(child, &mut killed);
            }
        }
        if found {
            // Again, before anything that was killed is reaped: it forks no more, and until it is reaped it holds its
            // place in the table of processes, so a program that forks without end runs out of places.
            continue;
        }
        // A number further down may have been given anew since it was killed. Here all of them are children.
        let stays = |&child: &libc::pid_t| immortal.contains(&child) || !kill(child);
        let (staying, ending): (Vec<_>, Vec<_>) = listed.into_iter().partition(stays);
        immortal.extend(staying);
        if let Some(&first) = ending.first() {
            wait_for(first);
            for child in ending {
                reap(child, libc::WNOHANG);
            }
            killed.clear();
            continue;
        }
        immortal.retain(|&child| reap(child, libc::WNOHANG) == 0);
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

/// Kills what descends from a child of this process. It would be enough to kill children, since those of a killed
/// process become ours; but what forks faster than its parents die has to be killed where it is.
fn kill_below(child: libc::pid_t, killed: &mut BTreeSet<libc::pid_t>) {
    let mut seen = BTreeSet::from([child]);
    let mut parents = vec![child];
    while let Some(parent) = parents.pop() {
        for below in children(Of::Process(parent)) {
            // A parent may reap its child at any time, and the number is then free for somebody else. So the process
            // is held on to first, and its parent is asked for after that.
            let Some(process) = open_process(below) else {
                continue;
            };
            let is_ours = parent_of(below).is_some_and(|parent| seen.contains(&parent));
            if is_ours && seen.insert(below) {
                kill_process(&process);
                killed.insert(below);
                parents.push(below);
            }
        }
    }
}

/// Kills a process that is held by a descriptor, if it has not ended.
fn kill_process(process: &OwnedFd) {
    // SAFETY: a plain system call; a null pointer stands for a signal without more to say.
    unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            libc::SIGKILL,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    };
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

/// Whose children are wanted.
#[derive(Clone, Copy)]
enum Of {
    ThisProcess,
    Process(libc::pid_t),
}

/// The children of a process, ended ones included, the youngest of a thread last.
fn children(of: Of) -> Vec<libc::pid_t> {
    let numbers = |list: &str| -> Vec<libc::pid_t> {
        let numbers = list.split_ascii_whitespace();
        numbers.filter_map(|number| number.parse().ok()).collect()
    };
    match of {
        Of::ThisProcess => match fs::read_to_string("/proc/thread-self/children") {
            Ok(list) => numbers(&list),
            // Some kernels are built without this list.
            Err(_) => children_by_search(),
        },
        Of::Process(process) => {
            let threads = fs::read_dir(format!("/proc/{process}/task"));
            let threads = threads.into_iter().flatten().flatten();
            let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
            lists.flatten().flat_map(|list| numbers(&list)).collect()
        }
    }
}

fn children_by_search() -> Vec<libc::pid_t> {
    let parent = std::process::id().cast_signed();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|child| parent_of(*child) == Some(parent))
        .collect()
}

fn parent_of(process: libc::pid_t) -> Option<libc::pid_t> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in brackets, may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    fields.nth(1)?.parse().ok()
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
        let (listed, searched) = (children(Of::ThisProcess), children_by_search());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(listed.contains(&number));
        assert!(searched.contains(&number));
    }
}

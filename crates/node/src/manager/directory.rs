//! Where bytes are: the manager's answer to whoever needs them.
//!
//! Law: the manager carries no bytes that a node can get elsewhere. It has what comes from outside, and what the store has;
//! of everything else it knows who has it.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_enact::crew::NodeId;
use headwater_execute::Fetch;
use headwater_graph::{Digest, FileValue, Handle, StoredOutput, Value};

use crate::objects::{Found, Provider};
use crate::shelf::{Bytes, Shelf};

#[derive(Default)]
struct State {
    /// Nodes that have bytes, and where they give them.
    nodes: HashMap<Digest, Vec<(NodeId, Arc<str>)>>,
    /// Files of this machine, of the user and of nodes.
    files: HashMap<Digest, PathBuf>,
    /// Gets at what the store has.
    store: Option<Arc<dyn Fetch>>,
}

/// Where bytes are.
pub(crate) struct Directory {
    state: Mutex<State>,
    /// What comes from outside and is in no file; what the manager itself has made or fetched.
    pub(crate) shelf: Arc<Shelf>,
    /// Bytes that were sent to nodes.
    pub(crate) sent: AtomicU64,
}

impl Directory {
    pub(crate) fn new(shelf: Arc<Shelf>) -> Directory {
        Directory {
            state: Mutex::default(),
            shelf,
            sent: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store from which products come, as long as there is one.
    pub(crate) fn set_store(&self, store: Option<Arc<dyn Fetch>>) {
        self.state().store = store;
    }

    /// A file of this machine has these bytes.
    pub(crate) fn file(&self, digest: Digest, path: &Path) {
        self.state().files.insert(digest, path.to_path_buf());
    }

    /// Whether a file of the user, or of a node, has them.
    pub(crate) fn has_file(&self, digest: &Digest) -> bool {
        self.state().files.contains_key(digest)
    }

    /// The modes of files of the user in something from outside.
    pub(crate) fn modes_of(&self, output: &StoredOutput, modes: &mut Vec<(Digest, u32)>) {
        if let Some(value) = self.shelf.value(output) {
            let state = self.state();
            value.for_each_file(&mut |file| {
                let path = state.files.get(&file.digest);
                if let Some(found) = path.and_then(|path| path.metadata().ok()) {
                    modes.push((file.digest, found.permissions().mode() & 0o777));
                }
            });
        }
    }

    /// A node has these bytes.
    pub(crate) fn has(&self, digest: Digest, node: NodeId, address: &Arc<str>) {
        let mut state = self.state();
        let holders = state.nodes.entry(digest).or_default();
        if !holders.iter().any(|(holder, _)| *holder == node) {
            holders.push((node, Arc::clone(address)));
        }
    }

    /// A node is gone.
    pub(crate) fn lost(&self, node: NodeId) {
        self.state().nodes.retain(|_, holders| {
            holders.retain(|(holder, _)| *holder != node);
            !holders.is_empty()
        });
    }

    /// Nobody wants these bytes any more.
    pub(crate) fn forget(&self, digests: &[Digest]) {
        let mut state = self.state();
        for digest in digests {
            state.nodes.remove(digest);
        }
    }

    /// Nothing is known any more of what nodes have.
    pub(crate) fn clear(&self) {
        let mut state = self.state();
        state.nodes.clear();
        state.files.clear();
        drop(state);
        self.shelf.clear();
    }

    /// Where the nodes are that have these bytes.
    pub(crate) fn peers(&self, digest: &Digest) -> Vec<String> {
        let state = self.state();
        let holders = state.nodes.get(digest).into_iter().flatten();
        holders.map(|(_, address)| address.to_string()).collect()
    }

    /// A file with these bytes: of the user, of a node in the shared folder, or of the store.
    pub(crate) fn path(&self, digest: &Digest) -> Option<PathBuf> {
        let (path, store) = {
            let state = self.state();
            (state.files.get(digest).cloned(), state.store.clone())
        };
        if let Some(path) = path.filter(|path| path.exists()) {
            return Some(path);
        }
        // Any object of the store is a file that it can be asked for.
        let file = Value::File(Arc::new(FileValue {
            digest: *digest,
            size: 0,
            name: None,
            executable: false,
            handle: Handle::Stored,
        }));
        match store?.brought(file)? {
            Value::File(file) => file.handle.path().map(|path| path.to_path_buf()),
            _ => None,
        }
    }
}

impl Provider for Directory {
    fn open(&self, digest: &Digest) -> Option<Bytes> {
        if let Some(bytes) = self.shelf.open(digest) {
            return Some(bytes);
        }
        let file = fs::File::open(self.path(digest)?).ok()?;
        let length = file.metadata().ok()?.len();
        Some(Bytes::File(file, length))
    }

    fn find(&self, digest: &Digest) -> Found {
        let path = self.path(digest);
        Found {
            here: path.is_some() || self.shelf.has(digest),
            path,
            peers: self.peers(digest),
        }
    }
}

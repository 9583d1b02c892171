//! Products that wait for a group that cannot be reached.
//!
//! Law: what waits is durable in one's own store; a list of it lies beside, so that it is given later whatever happens
//! to this process. A list belongs to the process that holds its lock; lists of the dead are taken over. There is a
//! limit on the bytes that wait: who makes more waits.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use headwater_graph::{Recipe, Waiting};
use headwater_remember::{Access, Kind, Root};

use crate::lock::locked;

/// The folder of lists, in one's own store.
const FOLDER: &str = "spool";

/// What waits, and where that is written down.
#[derive(Debug)]
pub(crate) struct Spool {
    root: Root,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The list of this process, locked.
    list: Option<(PathBuf, File)>,
    /// Lists of processes that are dead, locked.
    inherited: Vec<(PathBuf, File)>,
    recipes: Vec<Recipe>,
    bytes: u64,
    /// What is being given: it waits until that has worked.
    on_its_way: Waiting,
    next: u64,
}

/// A line of a list: a recipe, and bytes that wait.
fn read(line: &str) -> Option<(Recipe, u64)> {
    let (recipe, bytes) = line.split_once(' ')?;
    Some((recipe.parse().ok()?, bytes.parse().ok()?))
}

impl Spool {
    /// The spool of the store in this folder, with what others have left there.
    pub(crate) fn open(store: &Path) -> io::Result<Spool> {
        let spool = Spool {
            root: Root::open(store)?,
            state: Mutex::default(),
        };
        spool.inherit()?;
        Ok(spool)
    }

    /// Takes over the lists of the dead.
    pub(crate) fn inherit(&self) -> io::Result<()> {
        let mut state = locked(&self.state);
        for (name, kind) in self.root.list(FOLDER)? {
            let name = Path::new(FOLDER).join(name);
            let is_own = |(own, _): &(PathBuf, File)| *own == name;
            if kind != Kind::File || state.list.iter().chain(&state.inherited).any(is_own) {
                continue;
            }
            let Ok(file) = self.root.file(&name, Access::Read) else {
                continue;
            };
            if file.try_lock().is_err() || !self.root.is_file(&name) {
                continue;
            }
            for line in BufReader::new(&file).lines().map_while(Result::ok) {
                // The last line may be cut off: nothing was acknowledged on its account.
                if let Some((recipe, bytes)) = read(&line) {
                    state.recipes.push(recipe);
                    state.bytes += bytes;
                }
            }
            state.inherited.push((name, file));
        }
        Ok(())
    }

    /// Adds products with the bytes of their outputs. The list is durable when this returns.
    pub(crate) fn add(&self, recipes: &[Recipe], bytes: u64) -> io::Result<()> {
        let mut state = locked(&self.state);
        if state.list.is_none() {
            self.root.make_folder(FOLDER)?;
            let name = Path::new(FOLDER).join(format!("{}-{}", std::process::id(), state.next));
            state.next += 1;
            let file = match self.root.file(&name, Access::New) {
                // Of a process that had our number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    drop(state);
                    return self.add(recipes, bytes);
                }
                file => file?,
            };
            file.lock()?;
            self.root.sync_folder(FOLDER)?;
            state.list = Some((name, file));
        }
        // The bytes of all stand with the last one.
        let last = recipes.len().saturating_sub(1);
        let sized = |place| if place == last { bytes } else { 0 };
        let line =
            |(place, recipe): (usize, &Recipe)| format!("{} {}\n", recipe.hex(), sized(place));
        let lines: String = recipes.iter().enumerate().map(line).collect();
        if let Some((_, file)) = &mut state.list {
            file.write_all(lines.as_bytes())?;
            file.sync_data()?;
        }
        state.recipes.extend(recipes);
        state.bytes += bytes;
        Ok(())
    }

    /// What waits.
    pub(crate) fn waiting(&self) -> Waiting {
        let state = locked(&self.state);
        Waiting {
            products: state.recipes.len() as u64 + state.on_its_way.products,
            bytes: state.bytes + state.on_its_way.bytes,
        }
    }

    /// Gives everything that waits; the lists go when that has worked.
    pub(crate) fn empty<E>(&self, give: impl FnOnce(&[Recipe]) -> Result<(), E>) -> Result<(), E> {
        let (recipes, bytes, lists) = {
            let mut state = locked(&self.state);
            let own = state.list.take();
            let mut lists = std::mem::take(&mut state.inherited);
            lists.extend(own);
            let recipes = std::mem::take(&mut state.recipes);
            let bytes = std::mem::take(&mut state.bytes);
            state.on_its_way.products += recipes.len() as u64;
            state.on_its_way.bytes += bytes;
            (recipes, bytes, lists)
        };
        if recipes.is_empty() && lists.is_empty() {
            return Ok(());
        }
        let given = give(&recipes);
        let mut state = locked(&self.state);
        state.on_its_way.products -= recipes.len() as u64;
        state.on_its_way.bytes -= bytes;
        match given {
            Ok(()) => {
                for (name, _) in &lists {
                    // One that stays is given once more, which changes nothing.
                    let _ = self.root.remove_file(name);
                }
                Ok(())
            }
            Err(error) => {
                state.recipes.extend(recipes);
                state.bytes += bytes;
                state.inherited.extend(lists);
                Err(error)
            }
        }
    }
}

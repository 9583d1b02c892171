//! Both stores, one behind the other.
//!
//! Law: what one's own store has is never asked of the group. Records of the group are not copied here; its bytes are,
//! when somebody needs them. What the group cannot be asked counts as not remembered; what it cannot be given waits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use headwater_graph::{Alias, Digest, ProductRecord, Pushed, Recipe, Store, StoreError};
use postgres::Client;

use crate::Group;
use crate::link::Trouble;
use crate::options::Options;
use crate::publish::{Giving, Occasion, objects_of};
use crate::rows::Trust;
use crate::spool::Spool;

/// How often somebody who waits looks again.
pub(crate) const MOMENT: Duration = Duration::from_millis(100);

/// Both stores.
#[derive(Debug)]
pub(crate) struct Layers {
    pub(crate) front: Arc<dyn Store>,
    pub(crate) group: Group,
    /// Whether what is made is given to the group at once.
    pub(crate) publishes: bool,
    pub(crate) spool: Option<Spool>,
    pub(crate) options: Options,
}

impl Layers {
    /// Completes answers of one's own store by those of the group.
    pub(crate) fn complete<T>(
        &self,
        mut answers: Vec<Option<T>>,
        recipes: &[Recipe],
        mut ask: impl FnMut(&mut Client, &[Recipe], &Trust) -> Result<Vec<Option<T>>, Trouble>,
    ) -> Vec<Option<T>> {
        let open: Vec<usize> = (0..answers.len())
            .filter(|place| answers[*place].is_none())
            .collect();
        if open.is_empty() {
            return answers;
        }
        let wanted: Vec<Recipe> = open.iter().map(|place| recipes[*place]).collect();
        let trust = &self.group.trust;
        if let Some(found) = self.group.asked(|client| ask(client, &wanted, trust)) {
            for (place, found) in open.into_iter().zip(found) {
                answers[place] = found;
            }
        }
        answers
    }

    /// Gives a batch that is in one's own store to the group, or lets it wait.
    pub(crate) fn give(
        &self,
        giving: &[Giving<'_>],
        aliases: &[&Alias],
        occasion: Occasion,
    ) -> Result<(), StoreError> {
        if giving.is_empty() && aliases.is_empty() {
            return Ok(());
        }
        let given = self.group.publish(&*self.front, giving, aliases, occasion);
        let Err(trouble) = given else {
            return Ok(());
        };
        self.group.note(trouble);
        let Some(spool) = &self.spool else {
            return Ok(());
        };
        let products = giving.iter().map(|giving| giving.record.recipe);
        let recipes: Vec<Recipe> = products
            .chain(aliases.iter().map(|alias| alias.recipe))
            .collect();
        let sizes = giving.iter().flat_map(|giving| &giving.record.outputs);
        let bytes = sizes.map(|(_, output)| output.size).sum();
        spool
            .add(&recipes, bytes)
            .map_err(|source| StoreError::Io {
                what: "cannot write down what waits for the group".to_owned(),
                source,
            })?;
        self.wait_for_room(spool)
    }

    /// Waits where too much waits.
    fn wait_for_room(&self, spool: &Spool) -> Result<(), StoreError> {
        let end = Instant::now() + self.options.wait;
        loop {
            let waiting = spool.waiting();
            if waiting.bytes <= self.options.spool {
                return Ok(());
            }
            if Instant::now() >= end {
                return Err(StoreError::Away(format!(
                    "{} products with {} bytes wait for it, and no more than {} may",
                    waiting.products, waiting.bytes, self.options.spool
                )));
            }
            std::thread::sleep(MOMENT);
            self.catch_up();
        }
    }

    /// Whether there is something that can be given.
    pub(crate) fn has_waiting(&self) -> bool {
        let waiting = self.spool.as_ref().map(Spool::waiting);
        self.publishes && waiting.is_some_and(|waiting| waiting.products > 0)
    }

    /// Gives what waits, if the group can be reached.
    pub(crate) fn catch_up(&self) {
        self.group.has_told.store(false, Ordering::Release);
        let Some(spool) = self.spool.as_ref().filter(|_| self.publishes) else {
            return;
        };
        if self.group.link.is_away() {
            return;
        }
        let given = spool.empty(|recipes| self.push(recipes).map(|_| ()));
        if let Err(trouble) = given {
            self.group.note(trouble);
        }
    }

    /// Gives products of one's own store to the group.
    pub(crate) fn push(&self, recipes: &[Recipe]) -> Result<Pushed, Trouble> {
        let mut pushed = Pushed::default();
        for chunk in recipes.chunks(1_000) {
            let records = self.front.fetch_shared(chunk)?;
            let aliases: Vec<Alias> = self.front.aliases(chunk)?.into_iter().flatten().collect();
            let mut products: Vec<(Arc<ProductRecord>, Vec<Digest>)> = Vec::new();
            for record in records.into_iter().flatten() {
                match objects_of(&record, &*self.front) {
                    Some(objects) => products.push((record, objects)),
                    None => pushed.left_out += 1,
                }
            }
            let giving: Vec<Giving<'_>> = products
                .iter()
                .map(|(record, objects)| Giving { record, objects })
                .collect();
            let aliases: Vec<&Alias> = aliases.iter().collect();
            pushed.add(
                self.group
                    .publish(&*self.front, &giving, &aliases, Occasion::Asked)?,
            );
        }
        Ok(pushed)
    }

    /// Brings those of these objects here that the group has.
    pub(crate) fn bring(&self, digests: &[Digest]) {
        let listed = self.group.lists(digests);
        let there = digests.iter().zip(listed).filter(|(_, listed)| *listed);
        let mut there: Vec<Digest> = there.map(|(digest, _)| *digest).collect();
        there.sort_unstable();
        there.dedup();
        if !there.is_empty() {
            self.group.bring(&*self.front, &there);
        }
    }

    /// Reads an object from one's own store, where it is brought if it has to be.
    pub(crate) fn here<T>(
        &self,
        digest: &Digest,
        read: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match read() {
            Err(StoreError::Missing(_) | StoreError::Damaged { .. }) => {
                self.bring(std::slice::from_ref(digest));
                read()
            }
            answer => answer,
        }
    }

    /// What people ask is about the group, if it is the store that they have named and can be reached.
    pub(crate) fn of_group<T>(&self, ask: impl FnOnce(&Group) -> Result<T, Trouble>) -> Option<T> {
        if !self.options.publish {
            return None;
        }
        match ask(&self.group) {
            Ok(answer) => Some(answer),
            Err(trouble) => {
                self.group.note(trouble);
                None
            }
        }
    }
}

//! The store of a group: making one, giving products to it, and what can be said of it.
//!
//! Law: who makes the store of a group is its owner, and nobody else changes its tables. Products are given with all that
//! they consist of, or not at all.

use std::path::{Path, PathBuf};

use headwater_engine::runs::find_run;
use headwater_engine::{Error, StorePlace};
use headwater_graph::{Behind, FoundProduct, ProductFilter, Recipe, Store};
use headwater_report::json::{GroupJson, PushedJson, StoreJson};

pub use headwater_graph::{GroupFacts, Pushed, Waiting};
#[cfg(feature = "group")]
pub use headwater_group::{Made, script};

/// Makes the store of a group in a database, or brings its tables to the version of this program. `objects` says where
/// its bytes are: a folder that all machines see, or a bucket.
#[cfg(feature = "group")]
pub fn init(url: &str, objects: Option<&str>) -> Result<Made, Error> {
    Ok(headwater_group::init(url, objects)?)
}

/// Which products are to be given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PushRequest {
    /// Those with these recipes, or beginnings of recipes.
    pub recipes: Vec<String>,
    /// Those of the tasks of this run: an id, the beginning of one, or `last`.
    pub run: Option<String>,
}

fn behind(store: &dyn Store) -> Result<&dyn Behind, Error> {
    store.behind().ok_or_else(|| {
        Error::usage(
            "there is no store of a group here",
            Some(
                "name one: --store postgresql://USER@HOST/DATABASE, or `group` in headwater.yaml"
                    .to_owned(),
            ),
        )
    })
}

/// Gives products of one's own store to the group; all of them where the request names none.
pub fn push(store: &dyn Store, request: &PushRequest) -> Result<Pushed, Error> {
    let behind = behind(store)?;
    let own = behind.front();
    let mut recipes: Vec<Recipe> = Vec::new();
    for digits in &request.recipes {
        match own.find_product(digits)? {
            FoundProduct::One { asked, record } => recipes.extend([asked, record.recipe]),
            FoundProduct::None => {
                return Err(Error::usage(
                    format!(
                        "no product of your own store has a recipe that begins with `{digits}`"
                    ),
                    Some("`headwater products ls` lists products".to_owned()),
                ));
            }
            FoundProduct::Several(several) => {
                let names: Vec<String> = several.iter().map(Recipe::short).collect();
                return Err(Error::usage(
                    format!(
                        "several products have recipes that begin with `{digits}`: {}",
                        names.join(", ")
                    ),
                    Some("give more digits".to_owned()),
                ));
            }
        }
    }
    if let Some(run) = &request.run {
        let run = find_run(own, run)?;
        recipes.extend(own.run_tasks(&run.id)?.iter().map(|task| task.recipe));
    }
    if request.recipes.is_empty() && request.run.is_none() {
        let all = ProductFilter {
            operation: None,
            run: None,
            limit: usize::MAX >> 1,
        };
        recipes.extend(own.products(&all)?.iter().map(|record| record.recipe));
    }
    recipes.sort_unstable();
    recipes.dedup();
    Ok(behind.push(&recipes)?)
}

/// What `headwater products push --json` prints.
pub fn pushed_json(store: &dyn Store, pushed: &Pushed) -> PushedJson {
    PushedJson {
        group: store
            .behind()
            .map(|behind| behind.facts().place)
            .unwrap_or_default(),
        products: pushed.products,
        present: pushed.present,
        different: pushed.different,
        left_out: pushed.left_out,
        objects: pushed.objects,
        bytes: pushed.bytes,
    }
}

/// The settings file that counts in a folder.
pub fn settings_file(place: &StorePlace, current: &Path) -> Result<Option<PathBuf>, Error> {
    place.settings_file(current)
}

/// What `headwater store show --json` prints.
pub fn store_json(store: &dyn Store, settings: Option<&Path>) -> StoreJson {
    let group = store.behind().map(|behind| {
        let (facts, waiting) = (behind.facts(), behind.settle(std::time::Duration::ZERO));
        GroupJson {
            place: facts.place,
            objects: facts.objects,
            role: facts.role,
            may_write: facts.may_write,
            is_owner: facts.is_owner,
            publishes: facts.publishes,
            trust: facts.trust,
            waiting_products: waiting.products,
            waiting_bytes: waiting.bytes,
        }
    });
    StoreJson {
        own: store.place().to_string_lossy().into_owned(),
        settings: settings.map(|path| path.to_string_lossy().into_owned()),
        group,
    }
}

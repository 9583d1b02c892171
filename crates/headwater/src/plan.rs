//! From a request to a planned run, and what a plan says when it is all that is wanted.
//!
//! Law: planning executes no task and writes nothing to the store; everything that can be wrong with the
//! files, the data or the machine is found here.

use std::path::PathBuf;
use std::sync::Arc;

use headwater_enact::{Enactment, Expander, OpenError, Options, State};
use headwater_engine::data::ReadData;
use headwater_engine::keep::StoreKeeper;
use headwater_engine::limits::machine_cores;
use headwater_engine::load::Loaded;
use headwater_engine::lost::{
    read_products, recompute_lost, recompute_lost_inputs, wanted_products,
};
use headwater_engine::{Error, Run, Surroundings};
use headwater_execute::{Keeper, Watched};
use headwater_graph::{Diagnostic, Recipe, Store, StoredOutput, decode};

use crate::RunRequest;
use crate::told::Given;

/// What a stage would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagePlan {
    /// Its name.
    pub name: Arc<str>,
    /// Its tasks.
    pub tasks: usize,
    /// Those that would run.
    pub execute: usize,
}

/// What a run would do.
#[derive(Debug)]
pub struct DryRun {
    /// The name of the workflow.
    pub workflow: Arc<str>,
    /// All tasks that are known before anything runs.
    pub tasks: usize,
    /// Those that would run.
    pub execute: usize,
    /// By stage.
    pub stages: Vec<StagePlan>,
    /// The tasks that would run: address and recipe.
    pub to_run: Vec<(String, Recipe)>,
    /// Tasks that are new, but equal to something that is remembered.
    pub cut_off: usize,
    /// Products that would be brought back, for tasks that would run or because they are wanted.
    pub restore: usize,
    /// Their bytes.
    pub restore_bytes: u64,
    /// Stages whose tasks depend on what others make; more may come.
    pub open: Vec<Arc<str>>,
    /// Notes.
    pub notes: Vec<String>,
    /// Warnings about the files.
    pub diagnostics: Vec<(PathBuf, String, Vec<Diagnostic>)>,
}

pub(crate) struct Prepared {
    pub(crate) loaded: Loaded,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) enactment: Enactment,
    pub(crate) saved: String,
    pub(crate) diagnostics: Vec<(PathBuf, String, Vec<Diagnostic>)>,
    pub(crate) cores: usize,
    /// Where the user stands.
    pub(crate) current: PathBuf,
    /// Inputs and parameters, as they are told.
    pub(crate) given: Given,
    /// The files of the user, as they were when they were digested.
    pub(crate) watched: Arc<Watched>,
}

impl Prepared {
    /// Where the workflow is.
    pub(crate) fn file(&self) -> PathBuf {
        let file = &self.loaded.file;
        std::path::absolute(file).unwrap_or_else(|_| file.clone())
    }
}

/// Plans a run, or one that nobody means to start.
pub(crate) fn prepare(
    request: &RunRequest,
    site: &Surroundings,
    run: Option<&mut Run>,
) -> Result<Prepared, Error> {
    let (libraries, current) = (&*site.libraries, site.folder.as_path());
    // Mistakes in the files are told before a store is made.
    let mut parsed = headwater_engine::load::parse(&request.flow, current, libraries)?;
    if run.is_some() {
        parsed.runnable()?;
    }
    let read = request.inputs.as_ref();
    let read = read
        .map(|source| ReadData::read(source, current))
        .transpose()?;
    let data_file = read.as_ref().map(|read| read.path.clone());
    let data = headwater_engine::data::bind(&parsed.workflow, libraries, read, &request.settings)?;
    parsed.forget_unread(data.table_inputs());
    let store = match run {
        Some(_) => site.open_store()?,
        None => site.open_to_read()?,
    };
    let copies = run.map(|run| {
        run.live_in(&store, site.is_read_only());
        run.uses()
    });
    let loaded = parsed.with_versions(libraries, &*store, copies.as_deref())?;
    let data = data.identify(&*store, machine_cores())?;
    let cores = site.limits.cores_here();
    let open = |error| OpenError::Shape(error);
    let expander = Expander::new(
        &loaded.workflow,
        &loaded.registry,
        &data.data_set,
        &data.parameters,
    )
    .map_err(|errors| loaded.mistakes(&errors.into_iter().map(open).collect::<Vec<_>>()))?;
    let options = Options {
        parallelism: request.parallelism,
        remembers: true,
        compares: true,
        ..site.limits.options()
    };
    let enactment = Enactment::of_workflow(expander, options);
    let given = Given::of(&loaded.workflow, &data, &request.settings);
    let mut diagnostics = vec![(
        loaded.file.clone(),
        loaded.text.clone(),
        loaded.diagnostics.clone(),
    )];
    if let Some(file) = data_file {
        diagnostics.push((file, data.text, data.diagnostics));
    }
    Ok(Prepared {
        loaded,
        store,
        enactment,
        saved: data.saved,
        diagnostics,
        cores,
        current: current.to_owned(),
        given,
        watched: Arc::new(data.watched),
    })
}

/// What `request` would do.
pub(crate) fn dry_run(request: &RunRequest, site: &Surroundings) -> Result<DryRun, Error> {
    let mut prepared = prepare(request, site, None)?;
    let mut keeper = StoreKeeper::new(Arc::clone(&prepared.store), "", None);
    let opened = prepared
        .enactment
        .open(&mut keeper)
        .map_err(|error| prepared.loaded.mistakes(&[error]));
    let opened = opened.and_then(|()| {
        while compare(&mut prepared.enactment, &mut keeper)?
            || recompute_lost(&mut prepared.enactment, &mut keeper)?
            || recompute_lost_inputs(&mut prepared.enactment, &mut keeper)?
        {}
        Ok(())
    });
    let restored = to_restore(&prepared.enactment, &*prepared.store);
    let closed = keeper.close();
    opened?;
    closed.map_err(|error| Error::Pool(error.into()))?;
    let (restore, restore_bytes) = restored?;
    let enactment = &mut prepared.enactment;
    let damage = headwater_engine::places::take_damage(&*prepared.store);
    let notes = damage.chain(enactment.take_notes()).collect();
    let counts = enactment.counts();
    let workflow = &prepared.loaded.workflow;
    let mut stages: Vec<StagePlan> = workflow
        .stages
        .iter()
        .map(|stage| StagePlan {
            name: Arc::clone(&stage.name),
            tasks: 0,
            execute: 0,
        })
        .collect();
    let mut to_run = Vec::new();
    // Of equal tasks one would run.
    let following = enactment.coordinator().following();
    for task in enactment.graph().ids() {
        // Helpers of the engine are not counted.
        let implicit = enactment.graph().operation_at(task).signature.implicit;
        if let Some(stage) = enactment.coordinator().stage(task).filter(|_| !implicit) {
            stages[stage].tasks += 1;
            if !matches!(
                enactment.coordinator().state(task),
                State::Known | State::Idle
            ) && following.binary_search(&task).is_err()
            {
                stages[stage].execute += 1;
                let address = enactment
                    .address(task)
                    .map(|address| address.text)
                    .unwrap_or_default();
                to_run.push((address, enactment.graph().recipe(task)));
            }
        }
    }
    let open = enactment
        .expander()
        .map(|expander| expander.open_stages())
        .unwrap_or_default();
    let name = |stage: &usize| Arc::clone(&workflow.stages[*stage].name);
    Ok(DryRun {
        workflow: Arc::clone(&workflow.name),
        tasks: counts.tasks,
        execute: counts.left() - following.len(),
        cut_off: counts.cut_off + following.len(),
        restore,
        restore_bytes,
        open: open.iter().map(name).collect(),
        stages,
        to_run,
        notes,
        diagnostics: prepared.diagnostics,
    })
}

/// Compares tasks that are new with what is remembered, as far as that can be told before anything has run.
/// Tells whether there were any to compare.
fn compare(enactment: &mut Enactment, keeper: &mut StoreKeeper) -> Result<bool, Error> {
    let mut tasks = Vec::new();
    enactment.take_comparisons(&mut tasks);
    let fetcher = keeper.fetcher();
    let unidentified = enactment.unidentified(&tasks);
    let recipes: Vec<Recipe> = unidentified
        .iter()
        .map(|task| enactment.stored_as(*task))
        .collect();
    for (task, contents) in unidentified.into_iter().zip(fetcher.contents(&recipes)) {
        if let Some(contents) = contents {
            enactment.identify(task, contents);
        }
    }
    let keys: Vec<Option<Recipe>> = tasks
        .iter()
        .map(|task| enactment.content_key(*task))
        .collect();
    let asked: Vec<Recipe> = keys.iter().flatten().copied().collect();
    let mut answers = fetcher.equal(&asked).into_iter();
    for (task, key) in tasks.iter().zip(keys) {
        let found = key.and_then(|_| answers.next().flatten());
        enactment
            .compared(*task, key, found, keeper)
            .map_err(|error| Error::Open(vec![error]))?;
    }
    Ok(!tasks.is_empty())
}

/// How many remembered products are needed, and how many bytes they have.
fn to_restore(enactment: &Enactment, store: &dyn Store) -> Result<(usize, u64), Error> {
    let mut products = wanted_products(enactment);
    products.append(&mut read_products(enactment));
    products.retain(|task, _| enactment.coordinator().state(*task) == State::Known);
    let recipes: Vec<Recipe> = products
        .keys()
        .map(|task| enactment.stored_as(*task))
        .collect();
    let records = store.fetch(&recipes)?;
    let sizes = products.values().zip(records).flat_map(|(ports, record)| {
        let outputs = record.map(|record| record.outputs).unwrap_or_default();
        let needed = outputs.into_iter().enumerate().filter(|(position, _)| {
            u16::try_from(*position).is_ok_and(|position| ports.contains(&position))
        });
        needed
            .map(|(_, (_, output))| bytes_of(&output))
            .collect::<Vec<u64>>()
    });
    let sizes: Vec<u64> = sizes.collect();
    Ok((sizes.len(), sizes.iter().sum()))
}

/// The bytes that an output consists of: of a list of files, those of the files.
fn bytes_of(output: &StoredOutput) -> u64 {
    let value = output.inline.as_ref().and_then(|bytes| decode(bytes).ok());
    let mut files = 0;
    if let Some(value) = value {
        value.for_each_file(&mut |file| files += file.size);
    }
    files.max(output.size)
}

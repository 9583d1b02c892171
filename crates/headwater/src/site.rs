//! A place to work at, and what can be done there.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use headwater_engine::{Error, Limits, Progress, StorePlace, Surroundings};
use headwater_execute::Stop;
use headwater_graph::{Operation, Registry, Store};
use headwater_sequence::SequenceOptions;

use crate::dag::{Diagram, DiagramRequest};
use crate::files::Checked;
use crate::sequence::Mode;
use crate::study::{
    StudyPlan, StudyPlanRequest, StudyReportRequest, StudyRun, StudyRunRequest, StudySummary,
    TuneReport, TuneRequest,
};
use crate::{DryRun, RunReport, RunRequest};

/// A folder to work in, a store, libraries of operations, limits, and who watches and stops the work. What can be done is
/// methods.
///
/// A workflow given as a value, over an array that the program owns, with its progress, a stop, and an array as result:
///
/// ```
/// use headwater::graph::{Array, Context, Operation, OperationError, Outputs, Registry, Scalar, Signature, Type, Value};
/// use headwater::runs::Delivered;
/// use headwater::{Data, Destination, Progress, RunRequest, Site, Stop, WorkflowSource};
///
/// fn half(inputs: &[Value], _: &[Scalar], _: &mut Context) -> Result<Outputs, OperationError> {
///     let [Value::Array(array)] = inputs else { return Err(OperationError::Failed("no array".to_owned())) };
///     let halves: Vec<f32> = array.elements::<f32>().unwrap_or_default().iter().map(|x| x / 2.0).collect();
///     let halves = Array::of_vec(array.shape(), halves).expect("as many as before");
///     Ok(vec![Value::Array(halves)])
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let signature = Signature::new("half", "1").input("all", Type::Array).output("half", Type::Array);
/// let mut libraries = Registry::new();
/// libraries.register(Some("example"), Operation::native(signature, half))?;
///
/// let (progress, stop) = (Progress::default(), Stop::default()); // another thread may have clones of these
/// let site = Site::new(folder).with_libraries(libraries).with_progress(&progress).with_stop(&stop);
/// let request = RunRequest {
///     flow: WorkflowSource::text("
///         headwater: 1
///         workflow: halves
///         inputs: {numbers: array}
///         stages: {half: {tasks: [{op: example/half, in: {all: numbers}, out: {half: halves}}]}}
///         outputs: {halves: halves}"),
///     inputs: Some(Data::new().item("numbers", Array::of_vec(&[3], vec![1.0_f32, 2.0, 3.0]).unwrap()).into()),
///     outputs: Destination::Values,
///     ..RunRequest::default()
/// };
/// let report = site.run(&request)?;
/// let Delivered::Value(Value::Array(halves)) = &report.outputs["halves"][0].what else { panic!("no array") };
/// assert_eq!(halves.elements::<f32>(), Some(&[0.5, 1.0, 1.5][..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Site(Surroundings);

/// The libraries of this program, see [`init_with`](crate::init_with).
static LIBRARIES: OnceLock<Arc<Registry>> = OnceLock::new();

/// Sets the libraries that every site has; the first time counts.
pub(crate) fn set_libraries(libraries: Registry) {
    LIBRARIES.get_or_init(|| Arc::new(libraries));
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site")
            .field("folder", &self.0.folder)
            .field("store", &self.0.store)
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}

impl Site {
    /// In this folder: paths are relative to it, results go to `outputs` there, and the store is the nearest `.headwater`
    /// in it or its parents. The libraries are those of [`init_with`](crate::init_with).
    pub fn new(folder: impl Into<PathBuf>) -> Site {
        let folder = folder.into();
        Site(Surroundings {
            folder: std::path::absolute(&folder).unwrap_or(folder),
            libraries: LIBRARIES.get().cloned().unwrap_or_default(),
            ..Surroundings::default()
        })
    }

    /// Where commands would work that are given here: in the current folder, with the store that `HEADWATER_STORE` names.
    pub fn here() -> Result<Site, Error> {
        let folder = std::env::current_dir()
            .map_err(|source| Error::io("cannot find the current folder", ".", source))?;
        let url = std::env::var("HEADWATER_STORE").ok();
        Ok(Site::new(folder).with_store(StorePlace {
            url: url.filter(|url| !url.is_empty()),
            read_only: false,
            ..StorePlace::default()
        }))
    }

    /// With this store. One in memory (`memory:`) is a new one for each thing that is done; see
    /// [`with_open_store`](Self::with_open_store).
    #[must_use]
    pub fn with_store(mut self, place: StorePlace) -> Site {
        (self.0.store, self.0.opened) = (place, None);
        self
    }

    /// With a store that is open, and stays so: one in memory remembers as long as somebody has it.
    #[must_use]
    pub fn with_open_store(mut self, store: Arc<dyn Store>) -> Site {
        self.0.opened = Some(store);
        self
    }

    /// With these operations, which workflows may use besides their own.
    #[must_use]
    pub fn with_libraries(mut self, libraries: impl Into<Arc<Registry>>) -> Site {
        self.0.libraries = libraries.into();
        self
    }

    /// Within these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Site {
        self.0.limits = limits;
        self
    }

    /// Who has a clone of this sees how far the work is.
    #[must_use]
    pub fn with_progress(mut self, progress: &Progress) -> Site {
        self.0.progress = progress.clone();
        self
    }

    /// Who has a clone of this can end the work; what was finished is kept. Where it was ended, nothing more is begun.
    #[must_use]
    pub fn with_stop(mut self, stop: &Stop) -> Site {
        self.0.stop = stop.clone();
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Opens the store, to work with or to ask.
    pub fn open_store(&self) -> Result<Arc<dyn Store>, Error> {
        self.0.open_store()
    }

    /// Reads a file of any kind that Headwater has, a study with the files that it names, and says everything there is to
    /// say.
    ///
    /// ```
    /// use headwater::Site;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// std::fs::write(folder.join("flow.yaml"), "headwater: 1\nworkflow: wrong\nstagse: {}\n")?;
    /// let checked = Site::new(folder).check("flow.yaml")?;
    /// assert!(checked.summary.is_none()); // it cannot be used
    /// for file in &checked.files {
    ///     let told = headwater::render(&file.diagnostics, "flow.yaml", &file.text, false);
    ///     assert!(told.contains("did you mean `stages`?"), "{told}");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self, file: impl AsRef<Path>) -> Result<Checked, Error> {
        crate::check::check(file.as_ref(), &self.0)
    }

    /// What `request` would do; nothing is executed and nothing is written.
    ///
    /// ```no_run
    /// use headwater::{RunRequest, Site};
    ///
    /// let request = RunRequest { flow: "words.yaml".into(), ..RunRequest::default() };
    /// let plan = Site::here()?.dry_run(&request)?;
    /// println!("{} of {} tasks would run", plan.execute, plan.tasks);
    /// # Ok::<(), headwater::Error>(())
    /// ```
    pub fn dry_run(&self, request: &RunRequest) -> Result<DryRun, Error> {
        crate::plan::dry_run(request, &self.0)
    }

    /// Runs `request` until everything has ended or a stop is asked for; what was finished is kept.
    ///
    /// ```
    /// use headwater::runs::Delivered;
    /// use headwater::{RunRequest, Site};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// std::fs::write(folder.join("greet.yaml"), r#"
    /// headwater: 1
    /// workflow: greet
    /// parameters: {name: {type: text, default: world}}
    /// stages:
    ///   greet:
    ///     tasks: [{op: say, params: {name: $name}, out: {line: line}}]
    /// outputs: {greeting: line}
    /// operations:
    ///   say:
    ///     shell: printf 'hello %s' {param.name} > {out.line}
    ///     params: {name: text}
    ///     outputs: {line: {type: file, path: line.txt}}
    /// "#)?;
    /// let request = RunRequest {
    ///     flow: "greet.yaml".into(),
    ///     settings: vec!["name=you".into()],
    ///     ..RunRequest::default()
    /// };
    /// let report = Site::new(folder).run(&request)?;
    ///
    /// // Reading the report: what failed, what came out, and how much had to be done.
    /// for failed in &report.failures {
    ///     eprintln!("{}", failed.description());
    /// }
    /// let greeting = &report.outputs["greeting"][0];
    /// let Delivered::Path(path) = &greeting.what else { panic!("a file") };
    /// assert_eq!(std::fs::read_to_string(path)?, "hello you");
    /// assert_eq!((report.counts.executed, report.counts.reused), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(&self, request: &RunRequest) -> Result<RunReport, Error> {
        crate::run::run(request, &self.0)
    }

    /// Says what a study would compute; nothing is executed, and no store is made or written to.
    pub fn plan_study(&self, request: &StudyPlanRequest) -> Result<StudyPlan, Error> {
        headwater_study::plan_study(request, &self.0)
    }

    /// Runs one instance of a study at the default parameters, on its first item, so that a plan knows what tasks cost;
    /// `heard` is called with each task that ended well.
    pub fn tune_study(
        &self,
        request: &TuneRequest,
        heard: &(dyn Fn(&Arc<Operation>, Duration) + Send + Sync),
    ) -> Result<TuneReport, Error> {
        headwater_study::tune_study(request, &self.0, heard)
    }

    /// Runs a study until its answer is there or a stop is asked for; what was finished is kept.
    ///
    /// ```
    /// use headwater::graph::{
    ///     Context, Operation, OperationError, Outputs, Registry, Scalar, ScalarType, Signature, Type, Value,
    /// };
    /// use headwater::study::Indices;
    /// use headwater::{Site, StudyRunRequest};
    ///
    /// fn line(_: &[Value], parameters: &[Scalar], _: &mut Context) -> Result<Outputs, OperationError> {
    ///     match parameters {
    ///         [Scalar::Float(a), Scalar::Float(b)] => Ok(vec![Value::Float(4.0 * a - b)]),
    ///         _ => Err(OperationError::Failed("not two numbers".to_owned())),
    ///     }
    /// }
    ///
    /// let signature = Signature::new("line", "1")
    ///     .parameter("a", ScalarType::Float, None)
    ///     .parameter("b", ScalarType::Float, None)
    ///     .output("y", Type::Float);
    /// let mut libraries = Registry::new();
    /// libraries.register(Some("example"), Operation::native(signature, line))?;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// std::fs::write(folder.join("line.yaml"), "
    /// headwater: 1
    /// workflow: line
    /// parameters:
    ///   a: {type: float, range: [0, 1], step: 0.25, default: 0}
    ///   b: {type: float, range: [0, 1], step: 0.25, default: 0}
    /// stages:
    ///   line:
    ///     tasks: [{op: example/line, params: {a: $a, b: $b}, out: {y: y}}]
    /// outputs: {y: y}
    /// ")?;
    /// std::fs::write(folder.join("study.yaml"), "
    /// headwater: 1
    /// study: which-matters
    /// workflow: line.yaml
    /// objective: y
    /// method: {moat: {trajectories: 4, levels: 4}}
    /// ")?;
    /// let request = StudyRunRequest { study: "study.yaml".into(), ..StudyRunRequest::default() };
    /// let done = Site::new(folder).with_libraries(libraries).run_study(&request)?;
    ///
    /// let phase = &done.summary.phases[0];
    /// let most = phase.pooled.ranking()[0];
    /// assert_eq!(&*phase.parameters[most].name, "a");
    /// let Indices::Moat(rows) = &phase.pooled else { panic!("another method") };
    /// assert!(rows[most].mu_star > rows[1 - most].mu_star);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_study(&self, request: &StudyRunRequest) -> Result<StudyRun, Error> {
        headwater_study::run_study(request, &self.0)
    }

    /// Writes the report of a study that has run; gives what the run came to, and the file.
    pub fn report_study(
        &self,
        request: &StudyReportRequest,
    ) -> Result<(StudySummary, PathBuf), Error> {
        headwater_study::report_study(request, &self.0)
    }

    /// The diagram of a file or of a run.
    ///
    /// ```no_run
    /// use headwater::dag::DiagramFormat;
    /// use headwater::{DiagramRequest, Site};
    ///
    /// let request = DiagramRequest { what: "words.yaml".into(), ..DiagramRequest::default() };
    /// let diagram = Site::here()?.diagram(&request)?;
    /// std::fs::write("words.svg", DiagramFormat::Svg.text(&diagram))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn diagram(&self, request: &DiagramRequest) -> Result<Diagram, Error> {
        crate::dag::diagram(request, &self.0)
    }

    /// What a [`Sequence`](crate::Sequence) of calls is begun with here.
    pub fn sequence(&self, mode: Mode) -> Result<SequenceOptions, Error> {
        let options = SequenceOptions::new(mode)
            .kept_in(self.open_store()?)
            .on(self.0.executor()?)
            .stop(self.0.stop.clone())
            .retries(self.0.limits.retries);
        Ok(match self.0.limits.memory {
            Some(bytes) => options.memory(bytes),
            None => options,
        })
    }
}

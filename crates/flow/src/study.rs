//! Study files: which workflow is studied, over which parameters, and how.
//!
//! Law: reading needs the text alone. What a name stands for is told by [`resolve`], once the workflow is there;
//! every part keeps its place for that.

pub(crate) mod ancestry;
mod graft;
mod method;
pub(crate) mod resolve;
mod studied;
mod text;
mod until;

use std::sync::Arc;

use headwater_graph::{Diagnostic, Registry, Scalar, Span};

use crate::data::{DataShape, DataValue, LIST_OF_INPUTS, rows, value};
use crate::formats::{MOAT, OVERRIDE, REFERENCE, REFERENCE_SHAPE, STUDY, STUDY_SHAPE, VBD};
use crate::leaf::{self, Scope};
use crate::parse::parse;
use crate::report::{Read, Report};
use crate::scalar::shown;
use crate::shape::{Fields, Table};
use crate::source::Source;
use crate::tree::Node;
use crate::validate::validate;
use crate::workflow::parameter::range_ends;

pub use method::{Levels, Method, MoatMethod, Sampler, StepLength, VbdMethod, Walk};
pub use resolve::{MOST_SET_VALUES, MOST_SETS, ResolvedStudy, resolve};
pub use studied::{StudiedParameter, StudiedValues};
pub use text::{PartDiagnostics, StudyText};
pub use until::Until;

/// The seed of a study that names none.
pub const DEFAULT_SEED: u64 = 42;

/// Something and its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed<T> {
    /// What stands there.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

/// What a study file says.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyFile {
    /// Its name.
    pub name: Placed<Arc<str>>,
    /// The path of the workflow file, as it is written.
    pub workflow: Placed<Arc<str>>,
    /// The path of a data file, as it is written: `data: FILE`, or `inputs: FILE`.
    pub data: Option<Placed<Arc<str>>>,
    /// The inputs that the study names itself, in the order of the file.
    pub inputs: Vec<StudyInput>,
    /// Values that belong together, as in a data file; the inputs that they are for are among `inputs`.
    pub rows: Option<DataShape>,
    /// Where `inputs` stands, or the path of the workflow where it is left out.
    pub inputs_span: Span,
    /// Which parameters are varied.
    pub parameters: StudyParameters,
    /// Where `parameters` stands, or the path of the workflow where it is left out.
    pub parameters_span: Span,
    /// The output that is studied.
    pub objective: Placed<Arc<str>>,
    /// How samples are drawn.
    pub method: Method,
    /// Where the method stands: its name, such as `moat`.
    pub method_span: Span,
    /// What random choices start from.
    pub seed: u64,
    /// When the study has seen enough; `None`: when everything is evaluated.
    pub until: Option<Until>,
}

/// An input that a study names.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyInput {
    /// The input.
    pub name: Placed<Arc<str>>,
    /// What it gets.
    pub value: StudyValue,
}

/// What an input gets.
#[derive(Debug, Clone, PartialEq)]
pub enum StudyValue {
    /// Values, as in a data file.
    Data(DataValue),
    /// As the rows of the study say.
    Rows,
    /// `{output: NAME, at: default}`: this output at the default parameters, per item of the inputs that it
    /// descends from. Values that the study fixes count as the defaults of their parameters.
    Reference(Placed<Arc<str>>),
}

/// Which parameters are varied.
///
/// A list names the parameters that are varied. A map says something about each of its parameters; if all of its
/// entries only fix a `value`, all other parameters that have a range or values are varied, else the named ones
/// without `value` are. `NAME:` and `NAME: {}` mean: varied as the workflow declares it. Whatever is not varied and
/// has no `value` stays at its default.
#[derive(Debug, Clone, PartialEq)]
pub enum StudyParameters {
    /// All that have a range or values.
    All,
    /// Those that a list names, or what a map says.
    Listed(Vec<Override>),
}

impl StudyParameters {
    /// What is said about parameters one by one.
    pub fn overrides(&self) -> &[Override] {
        match self {
            StudyParameters::All => &[],
            StudyParameters::Listed(overrides) => overrides,
        }
    }

    /// Whether the parameters that are varied are named, rather than being all that have a range or values.
    pub fn names_studied(&self) -> bool {
        let fixed = |found: &Override| matches!(found.setting, Setting::Fixed(_));
        !self.overrides().iter().all(fixed)
    }
}

/// What a study says about a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// The parameter.
    pub name: Placed<Arc<str>>,
    /// What is said.
    pub setting: Setting,
}

/// What is said about a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// It has this value throughout the study.
    Fixed(Placed<Scalar>),
    /// It is varied over these values. Which of them are the same is known once they have a type.
    Values(Placed<Vec<Placed<Scalar>>>),
    /// It is varied; what is not said here is as the workflow declares it.
    Range {
        /// Lower and upper end; the lower is below the upper.
        range: Option<Placed<(f64, f64)>>,
        /// The distance between values.
        step: Step,
    },
}

/// The distance between the values of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// As the workflow declares it.
    Declared,
    /// `none`: every number in the range. An int is then sampled as a real number, which its operations truncate.
    Without(Span),
    /// This, above 0.
    Of(Placed<f64>),
}

/// Whether a file is meant as a study: it has `study` at its top level.
pub fn is_study(text: &str) -> bool {
    let tree = parse(&Source::new(text), &mut Report::default());
    tree.root.is_some_and(|root| root.get("study").is_some())
}

/// Reads a study file, YAML or JSON.
pub fn read_study(text: &str) -> Read<StudyFile> {
    const NO_SETTINGS: &[&str] = &[];
    read_study_with(&StudyText::new(text, NO_SETTINGS))
}

/// Reads a study file as its settings change it. Places of what is read, and of what there is to say, are places in
/// [`StudyText::whole`]; [`StudyText::sort`] sorts them to the file and the settings.
pub fn read_study_with(text: &StudyText) -> Read<StudyFile> {
    let source = Source::new(text.file());
    let mut report = Report::default();
    let tree = parse(&source, &mut report);
    let Some(mut root) = tree.root.filter(|root| !root.is_nothing()) else {
        if !tree.damaged {
            let hint = "a study file begins with `headwater: 1`";
            report.error_with(source.end(), "this file is empty", hint);
        }
        return report.finish(None);
    };
    if let Some(foreign) = foreign(&root) {
        report.push(foreign);
        return report.finish(None);
    }
    let whole = Source::new(text.whole());
    let sound = graft::graft(&mut root, text, &whole, &mut report);
    let damaged = tree.damaged || !sound;
    let registry = Registry::new();
    let scope = Scope {
        source: &whole,
        registry: &registry,
    };
    let parsed = report.len();
    validate(&root, &STUDY_SHAPE, scope, damaged, &mut report);
    if let Some((_, node)) = root.get("inputs")
        && node.items().is_some()
    {
        report.help(node.span, LIST_OF_INPUTS);
    }
    displaced(&root, &mut report);
    let file = study(&root, scope, &mut report).filter(|_| !damaged);
    report.forget_patched(parsed, &tree.patches);
    report.finish(file)
}

/// Fields of a method at the top level, where a setting such as `trajectories=40` puts them.
fn displaced(root: &Node, report: &mut Report) {
    let method = root.get("method").and_then(|(_, node)| {
        let (key, _) = node.entries()?.first()?;
        key.text().cloned()
    });
    let has = |table: &Table, name: &str| table.fields.iter().any(|field| field.name == name);
    for (key, ..) in &Fields::of(root, &STUDY).unknown {
        let Some(name) = key.text() else {
            continue;
        };
        let of = |(kind, table): &(&str, &Table)| {
            has(table, name) && method.as_ref().is_none_or(|method| **method == **kind)
        };
        if let Some((kind, _)) = [("moat", &MOAT), ("vbd", &VBD)].iter().find(|one| of(one)) {
            let hint = format!(
                "it is a field of `{kind}`: write `method: {{{kind}: {{{name}: …}}}}`, or as a setting `method.{kind}.{name}=…`"
            );
            report.instead(key.span, &hint);
        }
    }
}

/// Other files of Headwater, which would only give a heap of unknown fields.
fn foreign(root: &Node) -> Option<Diagnostic> {
    if root.get("study").is_some() || root.get("method").is_some() {
        return None;
    }
    for (name, message) in [
        ("stages", "this is a workflow file, not a study file"),
        ("tasks", "this is a stage descriptor, not a study file"),
        ("rows", "this is a data file, not a study file"),
    ] {
        if let Some((key, _)) = root.get(name) {
            let hint = "a study file has `study:`, `workflow:`, `objective:` and `method:`";
            return Some(Diagnostic::error(key.span, message).with_hint(hint));
        }
    }
    None
}

fn study(root: &Node, scope: Scope<'_>, report: &mut Report) -> Option<StudyFile> {
    let fields = Fields::of(root, &STUDY);
    let place = |name: &str| fields.get(name).and_then(placed);
    let mut data = place("data");
    let mut named = Vec::new();
    if let Some(node) = fields.get("inputs") {
        match placed(node) {
            Some(path) => {
                if let Some((key, _)) = fields.entry("data") {
                    let message = "the data file is named twice, here and by `inputs`";
                    let hint = "keep one of them";
                    report.error_with(key.span, message, hint);
                }
                data = Some(path);
            }
            None => named = inputs(node, scope, report),
        }
    }
    let rows = fields.get("rows").map(|node| rows(node, report));
    if let Some(DataShape::Rows { names, .. }) = &rows {
        for (name, span) in names {
            if let Some(twice) = named.iter().find(|input| input.name.value == *name) {
                let message = format!("input `{name}` is given here and in the rows");
                report.error_with(twice.name.span, message, "keep one of them");
                continue;
            }
            let name = Placed {
                value: Arc::clone(name),
                span: *span,
            };
            let value = StudyValue::Rows;
            named.push(StudyInput { name, value });
        }
    }
    for path in [place("workflow"), data.clone()].into_iter().flatten() {
        check_path(&path, report);
    }
    let parameters = match fields.get("parameters") {
        Some(node) => parameters(node, report),
        None => StudyParameters::All,
    };
    let method = fields
        .get("method")
        .and_then(|node| method::method(node, report));
    let until = fields.entry("until").and_then(|(key, node)| {
        let method = method.as_ref().map(|(method, _)| method);
        until::until(key, node, method, report)
    });
    let seed = match fields.get("seed") {
        Some(node) => leaf::whole(node, 0).ok()?,
        None => DEFAULT_SEED,
    };
    let (method, method_span) = method?;
    let workflow = place("workflow")?;
    let key = |name: &str| {
        fields
            .entry(name)
            .map_or(workflow.span, |(key, _)| key.span)
    };
    let (inputs_span, parameters_span) = (key("inputs"), key("parameters"));
    Some(StudyFile {
        name: place("study")?,
        workflow,
        data,
        inputs: named,
        rows,
        inputs_span,
        parameters,
        parameters_span,
        objective: place("objective")?,
        method,
        method_span,
        seed,
        until,
    })
}

/// A text and its place.
pub(crate) fn placed(node: &Node) -> Option<Placed<Arc<str>>> {
    let value = leaf::text(node)?;
    let span = node.span;
    Some(Placed { value, span })
}

/// A path that no system takes.
pub(crate) fn check_path(path: &Placed<Arc<str>>, report: &mut Report) {
    let wrong = if path.value.is_empty() {
        "this path is empty"
    } else if path.value.contains('\0') {
        "this path has a zero byte"
    } else if path.value.contains(['\n', '\r']) {
        "this path has a line break"
    } else {
        return;
    };
    report.error_with(path.span, wrong, "paths are relative to this file");
}

fn inputs(node: &Node, scope: Scope<'_>, report: &mut Report) -> Vec<StudyInput> {
    let mut inputs = Vec::new();
    for (key, node) in node.entries().unwrap_or_default() {
        let refers = node.get("output").is_some() || node.get("at").is_some();
        let found = if refers {
            validate(node, &REFERENCE_SHAPE, scope, false, report);
            let fields = Fields::of(node, &REFERENCE);
            let output = fields.get("output").and_then(placed);
            output.map(StudyValue::Reference)
        } else {
            Some(StudyValue::Data(value(node, report)))
        };
        if let (Some(name), Some(value)) = (placed(key), found) {
            inputs.push(StudyInput { name, value });
        }
    }
    inputs
}

fn parameters(node: &Node, report: &mut Report) -> StudyParameters {
    if node.is_scalar() {
        return StudyParameters::All;
    }
    let mut found = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for item in node.items().unwrap_or_default() {
        let Some(name) = placed(item) else {
            continue;
        };
        if !seen.insert(Arc::clone(&name.value)) {
            let message = format!("parameter `{}` is named twice", name.value);
            report.error(name.span, message);
            continue;
        }
        let setting = Setting::Range {
            range: None,
            step: Step::Declared,
        };
        found.push(Override { name, setting });
    }
    for (key, value) in node.entries().unwrap_or_default() {
        if let (Some(name), Some(setting)) = (placed(key), setting(key, value, report)) {
            found.push(Override { name, setting });
        }
    }
    StudyParameters::Listed(found)
}

/// What is said about one parameter. Kinds have been checked; what does not have the right one is left out.
fn setting(key: &Node, node: &Node, report: &mut Report) -> Option<Setting> {
    let name = leaf::text(key)?;
    let fields = Fields::of(node, &OVERRIDE);
    let exclude = |one: &'static str, others: &[&'static str], report: &mut Report| {
        fields.get(one)?;
        for other in others {
            if let Some((key, _)) = fields.entry(other) {
                let message = format!("`{name}` has `{one}`, so it has no `{other}`");
                let hint = if one == "value" {
                    "`value` keeps it from being varied; keep one of them"
                } else {
                    "the values are listed; keep one of them"
                };
                report.error_with(key.span, message, hint);
            }
        }
        Some(())
    };
    if exclude("value", &["range", "step", "values"], report).is_some() {
        let node = fields.get("value")?;
        let value = leaf::literal(node).ok()?;
        let span = node.span;
        return Some(Setting::Fixed(Placed { value, span }));
    }
    if exclude("values", &["range", "step"], report).is_some() {
        return values(fields.get("values")?).map(Setting::Values);
    }
    let range = match fields.get("range") {
        Some(node) => Some(range(&name, node, report)?),
        None => None,
    };
    let step = match fields.get("step") {
        Some(node) => step(&name, node, report)?,
        None => Step::Declared,
    };
    Some(Setting::Range { range, step })
}

fn values(node: &Node) -> Option<Placed<Vec<Placed<Scalar>>>> {
    let placed = |item: &Node| {
        let (value, span) = (leaf::literal(item).ok()?, item.span);
        Some(Placed { value, span })
    };
    let (value, span) = (
        node.items()?.iter().map(placed).collect::<Option<_>>()?,
        node.span,
    );
    Some(Placed { value, span })
}

fn range(name: &str, node: &Node, report: &mut Report) -> Option<Placed<(f64, f64)>> {
    let (low, high) = range_ends(name, node, report)?;
    if low == high {
        let message = format!("the range of `{name}` has one value alone");
        let value = shown(low);
        let hint = format!("write `{name}: {{value: {value}}}` to keep it from being varied");
        report.error_with(node.span, message, hint);
        return None;
    }
    let span = node.span;
    let value = (low, high);
    Some(Placed { value, span })
}

fn step(name: &str, node: &Node, report: &mut Report) -> Option<Step> {
    let Ok(value) = leaf::number(node) else {
        return leaf::word(node, crate::formats::STEP_WORDS)
            .ok()
            .map(|_| Step::Without(node.span));
    };
    if value <= 0.0 {
        let message = format!("the step of `{name}` is not above 0");
        let hint = "write `step: none` for every number in the range";
        report.error_with(node.span, message, hint);
        return None;
    }
    let span = node.span;
    Some(Step::Of(Placed { value, span }))
}

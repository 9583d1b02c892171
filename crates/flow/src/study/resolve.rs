//! A study and its workflow together: which parameters are varied over which values, and what the others are.
//!
//! Law: every parameter of the workflow ends up either varied or fixed, once; every name of the study is one of the
//! workflow. All mistakes are reported at their places in the study file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_graph::{
    Diagnostic, OutputBinding, Parameter, Scalar, ScalarType, Span, Type, Workflow,
};
use headwater_sensitivity::Domain;

use super::ancestry::Ancestry;
use super::studied::{StudiedParameter, StudiedValues};
use super::{
    Levels, Method, Override, Placed, Setting, Step, StudyFile, StudyInput, StudyValue, Walk,
};
use crate::data::{DataValue, DatumValue};
use crate::distinct::Distinct;
use crate::report::{Read, Report};
use crate::scalar::{Plain, plain, rounded, shown};
use crate::suggest::Suggester;
use crate::workflow::parameter::fit_parameter;

/// The most sets that a design may have: 2²². To plan one takes some 300 bytes, and to run it a few times as much, so
/// that the largest design takes gigabytes and not all the memory there is.
pub const MOST_SETS: u64 = 1 << 22;

/// The most values that the sets of a design may have together: 2²⁶, of a few dozen bytes each.
pub const MOST_SET_VALUES: u64 = 1 << 26;

/// How far from 0 the range of an int may reach: 10¹⁵. Values lie on their grid in 15 digits; beyond 2⁵³ the ends of a
/// range would be other numbers than those in the file.
const FURTHEST_INT: f64 = 1e15;

/// The most values that a grid may have: 2³¹.
const MOST_VALUES: f64 = 2_147_483_648.0;

/// What a study means for its workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedStudy {
    /// The parameters that are varied: in the order in which the study names them or its table has them, else in the
    /// order of the workflow.
    pub studied: Vec<StudiedParameter>,
    /// All other parameters of the workflow, in its order, with the value that the study gives them or their default.
    pub fixed: Vec<(Arc<str>, Scalar)>,
    /// The output that is studied.
    pub objective: OutputBinding,
}

/// Brings a study and its workflow together. `columns` are the parameters that the table of the study has, where its
/// method is a table; otherwise they say nothing.
///
/// With a table, the parameters that the study names have to be among the columns, and the other columns are left
/// alone; if it names none, every column has to be a parameter.
pub fn resolve(
    study: &StudyFile,
    workflow: &Workflow,
    columns: &[Arc<str>],
) -> Read<ResolvedStudy> {
    let mut resolver = Resolver {
        study,
        workflow,
        report: Report::default(),
        suggester: Suggester::default(),
        misspelt: BTreeSet::new(),
    };
    let objective = resolver.objective();
    resolver.inputs(objective.as_ref());
    let overrides = resolver.overrides();
    let studied = match &study.method {
        Method::Table(path) => resolver.columns(path, columns, &overrides),
        _ => resolver.studied(&overrides),
    };
    let fixed = resolver.fixed(&studied, &overrides);
    resolver.method(&studied);
    if let Some(objective) = &objective {
        resolver.reach(&studied, objective);
    }
    let resolved = objective.map(|objective| ResolvedStudy {
        studied,
        fixed,
        objective,
    });
    resolver.report.finish(resolved)
}

struct Resolver<'a> {
    study: &'a StudyFile,
    workflow: &'a Workflow,
    report: Report,
    suggester: Suggester,
    /// Parameters that a name of the study was probably meant for: a diagnostic speaks of them already.
    misspelt: BTreeSet<&'a str>,
}

impl<'a> Resolver<'a> {
    fn objective(&mut self) -> Option<OutputBinding> {
        self.output(&self.study.objective)
    }

    /// The output of that name.
    fn output(&mut self, name: &Placed<Arc<str>>) -> Option<OutputBinding> {
        let wanted = self.workflow.wanted();
        if let Some(found) = wanted.iter().find(|output| output.name == name.value) {
            return Some(found.clone());
        }
        let message = format!("the workflow has no output `{}`", name.value);
        let made = self.workflow.origins().contains_key(&name.value);
        let hint = if made {
            let name = &name.value;
            Some(format!("add `{name}` to the `outputs` of the workflow"))
        } else {
            let names = wanted.iter().map(|output| &*output.name);
            self.suggester.hint(&name.value, names)
        };
        self.unknown(name.span, message, hint);
        None
    }

    fn unknown(&mut self, span: Span, message: String, hint: Option<String>) {
        let found = Diagnostic::error(span, message);
        self.report.push(match hint {
            Some(hint) => found.with_hint(hint),
            None => found,
        });
    }

    /// Inputs that are unknown, missing, or bound to what depends on them.
    fn inputs(&mut self, objective: Option<&OutputBinding>) {
        let declared = || self.workflow.inputs.iter().map(|input| &*input.name);
        let known: BTreeSet<&str> = declared().collect();
        let named: BTreeSet<&str> = self
            .study
            .inputs
            .iter()
            .map(|input| &*input.name.value)
            .collect();
        let mut given: BTreeMap<&str, &StudyInput> = BTreeMap::new();
        // Inputs that are named, and have no value.
        let mut open: BTreeMap<&str, Span> = BTreeMap::new();
        // Inputs that an unknown name was probably meant for; that they are missing is no second mistake.
        let mut misspelt: BTreeSet<&str> = BTreeSet::new();
        for input in &self.study.inputs {
            let name = &input.name.value;
            if known.contains(&**name) {
                if is_null(&input.value) {
                    open.insert(name, input.name.span);
                } else {
                    given.insert(name, input);
                }
                continue;
            }
            let message = format!("the workflow has no input `{name}`");
            let missing = declared().filter(|name| !named.contains(name));
            let hint = match self.suggester.nearest(name, missing) {
                Some(meant) => {
                    misspelt.insert(meant);
                    Some(format!("did you mean `{meant}`?"))
                }
                None => self.suggester.hint(name, declared()),
            };
            self.unknown(input.name.span, message, hint);
        }
        let mut references: BTreeMap<Arc<str>, OutputBinding> = BTreeMap::new();
        for (name, input) in &given {
            if let StudyValue::Reference(output) = &input.value
                && let Some(output) = self.output(output)
            {
                references.insert(Arc::from(*name), output);
            }
        }
        let ancestry = Ancestry::new(self.workflow, &references);
        let mut wanted: Vec<(&OutputBinding, Span)> = Vec::new();
        for (name, output) in &references {
            let Some(StudyValue::Reference(written)) = given.get(&**name).map(|input| &input.value)
            else {
                continue;
            };
            if ancestry.inputs_behind(&output.data).contains(name) {
                let message = format!(
                    "output `{}` depends on input `{name}`, so it cannot be the value of that input",
                    output.name
                );
                let hint = format!("name an output that is made without `{name}`");
                self.report.error_with(written.span, message, hint);
            } else {
                wanted.push((output, written.span));
            }
        }
        if self.study.data.is_some() {
            // Whoever reads the data file knows what it gives.
            return;
        }
        for input in &self.workflow.inputs {
            let name = &input.name;
            if input.optional || given.contains_key(&**name) || misspelt.contains(&**name) {
                continue;
            }
            if let Some(span) = open.get(&**name) {
                let message = format!("input `{name}` has no value, and the workflow needs one");
                let hint = format!("write {} after `{name}:`", wanted_for(&input.input_type));
                self.report.error_with(*span, message, hint);
            } else {
                let message =
                    format!("the workflow needs input `{name}`, and the study gives none");
                let hint =
                    format!("add `{name}: …` under `inputs:`, or name a data file with `data:`");
                self.report
                    .error_with(self.study.inputs_span, message, hint);
            }
        }
        wanted.extend(objective.map(|output| (output, self.study.objective.span)));
        for (output, span) in wanted {
            let behind = ancestry.inputs_behind(&output.data);
            let missing = self.workflow.inputs.iter().find(|input| {
                input.optional
                    && behind.contains(&input.name)
                    && !given.contains_key(&*input.name)
                    && !misspelt.contains(&*input.name)
            });
            if let Some(name) = missing.map(|input| &input.name) {
                let message = format!(
                    "output `{}` needs input `{name}`, which the study does not give",
                    output.name
                );
                let hint = format!("add `{name}: …` under `inputs:`");
                self.report.error_with(span, message, hint);
            }
        }
    }

    /// What is said about each parameter that the workflow has.
    fn overrides(&mut self) -> Vec<(&'a Override, &'a Parameter)> {
        let mut found = Vec::new();
        let workflow = self.workflow;
        let declared = || workflow.parameters.iter().map(|known| &*known.name);
        let overrides = self.study.parameters.overrides();
        let named: BTreeSet<&str> = overrides.iter().map(|given| &*given.name.value).collect();
        for given in overrides {
            let name = &given.name.value;
            if let Some(parameter) = self.parameter(name) {
                found.push((given, parameter));
                continue;
            }
            let message = format!("the workflow has no parameter `{name}`");
            let missing = declared().filter(|name| !named.contains(name));
            let hint = match self.suggester.nearest(name, missing) {
                Some(meant) => {
                    self.misspelt.insert(meant);
                    Some(format!("did you mean `{meant}`?"))
                }
                None => self.suggester.hint(name, declared()),
            };
            self.unknown(given.name.span, message, hint);
        }
        found
    }

    fn parameter(&self, name: &str) -> Option<&'a Parameter> {
        let mut known = self.workflow.parameters.iter();
        known.find(|known| *known.name == *name)
    }

    /// The parameters that a design varies.
    fn studied(&mut self, overrides: &[(&Override, &'a Parameter)]) -> Vec<StudiedParameter> {
        let mut studied = Vec::new();
        if self.study.parameters.names_studied() {
            for (given, parameter) in overrides {
                if matches!(given.setting, Setting::Fixed(_)) {
                    continue;
                }
                let span = given.name.span;
                if let Some(values) = self.varied_values(span, parameter, Some(&given.setting)) {
                    studied.push(self.entry(parameter, values, span));
                }
            }
            return studied;
        }
        let fixed: BTreeSet<&str> = overrides
            .iter()
            .map(|(given, _)| &*given.name.value)
            .collect();
        let mut any = false;
        for parameter in &self.workflow.parameters {
            if fixed.contains(&*parameter.name) || !is_varied(parameter) {
                continue;
            }
            any = true;
            let span = self.study.parameters_span;
            if let Some(values) = self.varied_values(span, parameter, None) {
                studied.push(self.entry(parameter, values, span));
            }
        }
        if !any {
            let message = "no parameter is varied: none has a range or values";
            let hint = "say which, and over which values: `parameters: {NAME: {range: [a, b]}}`";
            self.report
                .error_with(self.study.parameters_span, message, hint);
        }
        studied
    }

    /// The parameters that a table varies.
    fn columns(
        &mut self,
        path: &Placed<Arc<str>>,
        columns: &[Arc<str>],
        overrides: &[(&Override, &'a Parameter)],
    ) -> Vec<StudiedParameter> {
        let named: BTreeMap<&str, &Override> = overrides
            .iter()
            .map(|(given, _)| (&*given.name.value, *given))
            .collect();
        let chosen = self.study.parameters.names_studied();
        let mut studied = Vec::new();
        let mut seen = BTreeSet::new();
        for column in columns {
            let given = named.get(&**column).copied();
            if !seen.insert(column) {
                let message = format!("the table has two columns `{column}`");
                self.report.error(path.span, message);
                continue;
            }
            if let Some(Setting::Fixed(value)) = given.map(|given| &given.setting) {
                let message = format!("`{column}` has a value here and a column in the table");
                let hint = "leave one of them out";
                self.report.error_with(value.span, message, hint);
                continue;
            }
            let Some(parameter) = self.parameter(column) else {
                if !chosen {
                    let message = format!(
                        "the table has a column `{column}`, and the workflow no such parameter"
                    );
                    let names = self.workflow.parameters.iter().map(|known| &*known.name);
                    let hint = self.suggester.hint(column, names);
                    self.unknown(path.span, message, hint);
                }
                continue;
            };
            if chosen && given.is_none() {
                continue;
            }
            let span = given.map_or(path.span, |given| given.name.span);
            let setting = given.map(|given| &given.setting);
            let ranged = |setting: &Setting| match setting {
                Setting::Range { range, .. } => range.is_some(),
                Setting::Values(_) | Setting::Fixed(_) => true,
            };
            let known = is_varied(parameter)
                || setting.is_some_and(ranged)
                || parameter.scalar_type == ScalarType::Bool;
            let values = if known {
                self.varied_values(span, parameter, setting)
            } else {
                Some(StudiedValues::open(parameter.scalar_type))
            };
            if let Some(values) = values {
                studied.push(self.entry(parameter, values, span));
            }
        }
        for (given, _) in overrides {
            let name = &given.name.value;
            if !matches!(given.setting, Setting::Fixed(_)) && !columns.contains(name) {
                let message = format!("the table has no column `{name}`");
                let hint = self
                    .suggester
                    .hint(name, columns.iter().map(|column| &**column));
                self.unknown(given.name.span, message, hint);
            }
        }
        if seen.is_empty() {
            let hint = "its first line names the parameters";
            self.report
                .error_with(path.span, "the table has no columns", hint);
        }
        studied
    }

    fn entry(
        &mut self,
        parameter: &Parameter,
        values: StudiedValues,
        span: Span,
    ) -> StudiedParameter {
        let refers = |input: &&StudyInput| matches!(input.value, StudyValue::Reference(_));
        if parameter.default.is_none()
            && let Some(input) = self.study.inputs.iter().find(refers)
        {
            let message = format!(
                "`{}` has no default, and input `{}` asks for an output at the default parameters",
                parameter.name, input.name.value
            );
            let hint = "give it a `default` in the workflow";
            self.report.error_with(span, message, hint);
        }
        StudiedParameter {
            name: Arc::clone(&parameter.name),
            values,
            default: parameter.default.clone(),
            span,
        }
    }

    /// The values of a parameter that is varied.
    fn varied_values(
        &mut self,
        span: Span,
        parameter: &Parameter,
        setting: Option<&Setting>,
    ) -> Option<StudiedValues> {
        let name = &parameter.name;
        let none = Step::Declared;
        let (range, step) = match setting {
            Some(Setting::Values(values)) => return self.listed(parameter, values),
            Some(Setting::Range { range, step }) => (range.as_ref(), step),
            Some(Setting::Fixed(_)) | None => (None, &none),
        };
        let numeric = matches!(parameter.scalar_type, ScalarType::Int | ScalarType::Float);
        if !numeric || !parameter.values.is_empty() {
            let wrong = match (range, step) {
                (Some(range), _) => Some(("range", range.span)),
                (None, Step::Of(step)) => Some(("step", step.span)),
                (None, Step::Without(span)) => Some(("step", *span)),
                (None, Step::Declared) => None,
            };
            if let Some((field, span)) = wrong {
                let kind = match parameter.values.as_slice() {
                    [] => parameter.scalar_type.name(),
                    _ => "choice",
                };
                let message = format!("`{name}` is a {kind}, which has no `{field}`");
                let hint = format!("list its values: `{name}: {{values: [a, b]}}`");
                self.report.error_with(span, message, hint);
                return None;
            }
            let listed = |values| Some(StudiedValues::listed(parameter.scalar_type, values));
            return match parameter.values.as_slice() {
                [] if parameter.scalar_type == ScalarType::Bool => {
                    listed(vec![Scalar::Bool(false), Scalar::Bool(true)])
                }
                [] => {
                    let message = format!(
                        "`{name}` is a text, and the study does not say which values to try"
                    );
                    let hint = format!("write `{name}: {{values: [a, b]}}`");
                    self.report.error_with(span, message, hint);
                    None
                }
                [_] => {
                    self.lonely(span, name);
                    None
                }
                values => listed(values.to_vec()),
            };
        }
        let domain = self.numbers(span, parameter, range, step)?;
        Some(StudiedValues::numbers(parameter.scalar_type, domain))
    }

    /// The interval or grid of a number that is varied; a grid has at least 2 values.
    fn numbers(
        &mut self,
        span: Span,
        parameter: &Parameter,
        range: Option<&Placed<(f64, f64)>>,
        step: &Step,
    ) -> Option<Domain> {
        let name = &parameter.name;
        let whole = parameter.scalar_type == ScalarType::Int;
        let Some((low, high)) = range.map(|range| range.value).or(parameter.range) else {
            let message = format!("`{name}` has no range");
            let hint = format!(
                "write `{name}: {{range: [a, b]}}`, or `{name}: {{value: V}}` if it is not varied"
            );
            self.report.error_with(span, message, hint);
            return None;
        };
        let range_span = range.map_or(span, |range| range.span);
        let written = format!("[{}, {}]", shown(low), shown(high));
        if whole && (low.fract() != 0.0 || high.fract() != 0.0) {
            let message = format!("`{name}` is an int, and its range is {written}");
            let hint = "give whole numbers";
            self.report.error_with(range_span, message, hint);
            return None;
        }
        if whole && low.abs().max(high.abs()) > FURTHEST_INT {
            let message = format!(
                "`{name}` is an int, and its range has numbers that are too large to be distinguished"
            );
            let hint = "stay between -1000000000000000 and 1000000000000000 (10¹⁵)";
            self.report.error_with(range_span, message, hint);
            return None;
        }
        if low >= high {
            self.lonely(range_span, name);
            return None;
        }
        let (distance, step_span) = match step {
            Step::Without(_) => (None, span),
            Step::Of(step) => (Some(step.value), step.span),
            Step::Declared => (parameter.step.or(whole.then_some(1.0)), range_span),
        };
        let Some(distance) = distance else {
            return Some(Domain::Interval { low, high });
        };
        let written_step = shown(distance);
        if whole && distance.fract() != 0.0 {
            let message = format!("`{name}` is an int, and its step is {written_step}");
            let hint = "give a whole number, or `step: none`";
            self.report.error_with(step_span, message, hint);
            return None;
        }
        let steps = (high - low) / distance;
        if steps + 1.0 > MOST_VALUES {
            let message = format!("`{name}` would have more than 2147483648 values");
            let hint = "give a larger step, or `step: none` for every number in the range";
            self.report.error_with(step_span, message, hint);
            return None;
        }
        let nearest = steps.round();
        let divides = (steps - nearest).abs() <= 1e-6 * steps.max(1.0);
        let last = if divides { nearest } else { steps.floor() };
        if last < 1.0 {
            let message = format!("the step of `{name}`, {written_step}, is larger than its range");
            let hint = format!("{written} holds one value then; give a smaller step");
            self.report.error_with(step_span, message, hint);
            return None;
        }
        if !divides {
            let end = shown(rounded(low + last * distance));
            let message = format!(
                "steps of {written_step} do not divide the range of `{name}`; its largest value is {end}"
            );
            self.report.push(Diagnostic::note(step_span, message));
        }
        Some(Domain::Grid {
            low,
            step: distance,
            count: last as u32 + 1,
        })
    }

    fn lonely(&mut self, span: Span, name: &str) {
        let message = format!("`{name}` has one value alone, so it cannot be varied");
        let hint = format!("leave it out, or write `{name}: {{value: V}}`");
        self.report.error_with(span, message, hint);
    }

    /// The values of a list, as the type of the parameter has them: `1` and `1.0` are one float.
    fn listed(
        &mut self,
        parameter: &Parameter,
        values: &Placed<Vec<Placed<Scalar>>>,
    ) -> Option<StudiedValues> {
        let name = &parameter.name;
        let offered: Distinct = parameter.values.iter().collect();
        let mut seen = Distinct::default();
        let mut fitted = Vec::with_capacity(values.value.len());
        let mut wrong = false;
        for Placed { value, span } in &values.value {
            let fitting = value
                .coerce(parameter.scalar_type, false)
                .filter(|value| parameter.values.is_empty() || offered.contains(value));
            let Some(value) = fitting.or_else(|| self.fit(parameter, value, *span)) else {
                wrong = true;
                continue;
            };
            if !seen.insert(&value) {
                let message = format!("`{value}` is among the values of `{name}` twice");
                self.report.error_with(*span, message, "keep one of them");
                wrong = true;
            }
            fitted.push(value);
        }
        if wrong {
            return None;
        }
        if fitted.len() < 2 {
            self.lonely(values.span, name);
            return None;
        }
        Some(StudiedValues::listed(parameter.scalar_type, fitted))
    }

    fn fit(&mut self, parameter: &Parameter, value: &Scalar, span: Span) -> Option<Scalar> {
        match fit_parameter(&parameter.name, value, std::slice::from_ref(parameter)) {
            Ok(value) => Some(value),
            Err(error) => {
                let hint =
                    quoted(parameter, value).map(|value| format!("write `{value}` without quotes"));
                self.unknown(span, error.to_string(), hint);
                None
            }
        }
    }

    /// The values of all parameters that are not varied.
    fn fixed(
        &mut self,
        studied: &[StudiedParameter],
        overrides: &[(&Override, &'a Parameter)],
    ) -> Vec<(Arc<str>, Scalar)> {
        let varied: BTreeSet<&str> = studied.iter().map(|studied| &*studied.name).collect();
        let named: BTreeMap<&str, &Setting> = overrides
            .iter()
            .map(|(given, _)| (&*given.name.value, &given.setting))
            .collect();
        let mut fixed = Vec::new();
        for parameter in &self.workflow.parameters {
            let name = &parameter.name;
            if varied.contains(&**name) {
                continue;
            }
            let value = match named.get(&**name) {
                Some(Setting::Fixed(value)) => self.fit(parameter, &value.value, value.span),
                // It should have been varied, and a diagnostic says why it is not.
                Some(_) => continue,
                None => match (&parameter.default, parameter.values.as_slice()) {
                    (Some(default), _) => Some(default.clone()),
                    (None, [only]) => Some(only.clone()),
                    (None, _) if is_varied(parameter) && !self.study.parameters.names_studied() => {
                        continue;
                    }
                    (None, _) if self.misspelt.contains(&**name) => continue,
                    (None, _) => {
                        let message = format!("`{name}` is not varied, and it has no default");
                        let hint =
                            format!("give it a value under `parameters:`: `{name}: {{value: V}}`");
                        let span = self.study.parameters_span;
                        self.report.error_with(span, message, hint);
                        None
                    }
                },
            };
            fixed.extend(value.map(|value| (Arc::clone(name), value)));
        }
        fixed
    }

    /// What the method asks of the parameters that are varied.
    fn method(&mut self, studied: &[StudiedParameter]) {
        self.size(studied.len());
        let moat = match &self.study.method {
            Method::Moat(moat) => Some(moat),
            Method::TwoPhase { screen, keep, .. } => {
                if keep.value as usize > studied.len() && !studied.is_empty() {
                    let count = studied.len();
                    let message = format!(
                        "{} parameters are to be kept, and {count} varied",
                        keep.value
                    );
                    let hint = format!("write `keep: {count}`, or less");
                    self.report.error_with(keep.span, message, hint);
                }
                Some(screen)
            }
            Method::Vbd(_) | Method::Table(_) => None,
        };
        if let Some(moat) =
            moat.filter(|moat| moat.levels == Levels::Grid && moat.walk != Walk::Radial)
        {
            let continuous = studied
                .iter()
                .find(|studied| matches!(studied.values.domain(), Some(Domain::Interval { .. })));
            if let Some(continuous) = continuous {
                let name = &continuous.name;
                let message = format!("`{name}` has no step, and so no grid to take levels from");
                let hint = format!("write `{name}: {{step: S}}`, or a number of levels");
                self.report.error_with(moat.levels_span, message, hint);
            }
        }
    }

    /// Designs that no memory holds.
    fn size(&mut self, varied: usize) {
        let (moat, vbd) = match &self.study.method {
            Method::Moat(moat) => (Some(moat), None),
            Method::Vbd(vbd) => (None, Some((vbd, varied))),
            Method::TwoPhase { screen, keep, then } => {
                (Some(screen), Some((then, varied.min(keep.value as usize))))
            }
            Method::Table(_) => (None, None),
        };
        let moat = moat.map(|moat| {
            let (count, span) = (moat.trajectories, moat.trajectories_span);
            (
                count,
                "trajectories",
                span,
                moat.evaluations(varied),
                varied,
            )
        });
        let vbd = vbd.map(|(vbd, varied)| {
            let (count, span) = (vbd.samples, vbd.samples_span);
            (count, "samples", span, vbd.evaluations(varied), varied)
        });
        for (count, noun, span, sets, varied) in [moat, vbd].into_iter().flatten() {
            let values = u128::from(sets) * varied as u128;
            if sets <= MOST_SETS && values <= u128::from(MOST_SET_VALUES) {
                continue;
            }
            let message = format!(
                "{count} {noun} are {sets} sets, which hold {values} values; a design has at most {MOST_SETS} sets and \
                 {MOST_SET_VALUES} values"
            );
            // What each of them costs; there is at least one set too many.
            let each = |all: u128| (all / u128::from(count.max(1))).max(1);
            let most = (u128::from(MOST_SETS) / each(sets.into()))
                .min(u128::from(MOST_SET_VALUES) / each(values));
            let hint = match most {
                0 => "vary fewer parameters".to_owned(),
                most => format!("at most {most} {noun} will do, or vary fewer parameters"),
            };
            self.report.error_with(span, message, hint);
        }
    }

    /// Parameters that are varied for nothing.
    fn reach(&mut self, studied: &[StudiedParameter], objective: &OutputBinding) {
        let references = BTreeMap::new();
        let reached = Ancestry::new(self.workflow, &references).parameters_behind(&objective.data);
        for parameter in studied {
            if !reached.contains(&*parameter.name) {
                let message = format!(
                    "`{}` does not reach `{}`: its effect is 0 whatever its value",
                    parameter.name, objective.name
                );
                let found = Diagnostic::warning(parameter.span, message);
                self.report
                    .push(found.with_hint("leave it out to save evaluations"));
            }
        }
    }
}

/// What a text would be without its quotes, if the parameter takes that.
fn quoted<'v>(parameter: &Parameter, value: &'v Scalar) -> Option<&'v str> {
    let Scalar::Text(text) = value else {
        return None;
    };
    match plain(text) {
        Plain::Value(value) => value.coerce(parameter.scalar_type, false).map(|_| &**text),
        Plain::Null | Plain::Refused(..) => None,
    }
}

/// Whether a workflow declares more than one value to try.
pub(crate) fn is_varied(parameter: &Parameter) -> bool {
    parameter.range.is_some_and(|(low, high)| low < high) || parameter.values.len() > 1
}

/// What an input may get.
fn wanted_for(input_type: &Type) -> String {
    match input_type {
        Type::List(element) => {
            let one = wanted_for(element);
            format!("a list in brackets, each member {one},")
        }
        Type::Bool | Type::Int | Type::Float | Type::Text => {
            format!("a value of type {input_type}, or a list of them,")
        }
        Type::Directory => "a folder, a list of them or a pattern such as `data/*`".to_owned(),
        _ => "a file, a list of them or a pattern such as `\"data/*\"`".to_owned(),
    }
}

fn is_null(value: &StudyValue) -> bool {
    matches!(value, StudyValue::Data(DataValue::Single(datum)) if datum.value == DatumValue::Null)
}

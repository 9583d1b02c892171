//! Parameters of workflows, and values given for them.
//!
//! Law: a default is never changed to fit a range or a grid; where it does not fit, a note says so. A value
//! from a command line or a data file is checked against the declaration and nothing else.

use std::sync::Arc;

use headwater_graph::{Diagnostic, Fault, Parameter, Scalar, ScalarType};

use crate::distinct::Distinct;
use crate::formats::{PARAMETER, PARAMETER_TYPES, SCALAR_TYPES};
use crate::leaf;
use crate::report::Report;
use crate::scalar::shown;
use crate::shape::Fields;
use crate::suggest::{Suggester, listed};
use crate::tree::Node;

/// Reads the parameters of a workflow. The names of those whose type could not be told are in the second
/// list.
pub(crate) fn parameters(node: &Node, report: &mut Report) -> (Vec<Parameter>, Vec<Arc<str>>) {
    let mut found = Vec::new();
    let mut doubtful = Vec::new();
    for (key, value) in node.entries().unwrap_or_default() {
        let Some(name) = leaf::text(key) else {
            continue;
        };
        match parameter(&name, value, report) {
            Some(parameter) => found.push(parameter),
            None => {
                doubtful.push(Arc::clone(&name));
                found.push(bare(name, ScalarType::Text));
            }
        }
    }
    (found, doubtful)
}

fn bare(name: Arc<str>, scalar_type: ScalarType) -> Parameter {
    Parameter {
        name,
        scalar_type,
        default: None,
        range: None,
        step: None,
        values: Vec::new(),
    }
}

/// The scalar type of that name.
pub(crate) fn scalar_type(word: &str) -> Option<ScalarType> {
    match word {
        "int" => Some(ScalarType::Int),
        "float" => Some(ScalarType::Float),
        "bool" => Some(ScalarType::Bool),
        "text" => Some(ScalarType::Text),
        _ => None,
    }
}

fn parameter(name: &Arc<str>, node: &Node, report: &mut Report) -> Option<Parameter> {
    if node.is_scalar() {
        let word = leaf::word(node, SCALAR_TYPES).ok()?;
        return Some(bare(Arc::clone(name), scalar_type(word)?));
    }
    let fields = Fields::of(node, &PARAMETER);
    let word = leaf::word(fields.get("type")?, PARAMETER_TYPES).ok()?;
    if word == "choice" {
        return choice(name, node, &fields, report);
    }
    let mut parameter = bare(Arc::clone(name), scalar_type(word)?);
    if let Some((key, _)) = fields.entry("values") {
        let message = format!("`{name}` is {}, and only a choice has `values`", a(word));
        report.error_with(key.span, message, "write `type: choice`");
    }
    let numeric = matches!(parameter.scalar_type, ScalarType::Int | ScalarType::Float);
    for field in ["range", "step"] {
        if let Some((key, _)) = fields.entry(field).filter(|_| !numeric) {
            let message = format!("`{name}` is {}, which has no `{field}`", a(word));
            report.error_with(
                key.span,
                message,
                "`range` and `step` belong to `int` and `float`",
            );
        }
    }
    if numeric {
        parameter.range = fields
            .get("range")
            .and_then(|node| range(name, node, &parameter, report));
        parameter.step = fields
            .get("step")
            .and_then(|node| step(name, node, &parameter, report));
    }
    if let Some(node) = fields.get("default")
        && let Ok(value) = leaf::literal(node)
    {
        match value.coerce(parameter.scalar_type, false) {
            Some(value) => {
                if let Some(message) = misfit(&parameter, &value) {
                    report.push(Diagnostic::note(node.span, message));
                }
                parameter.default = Some(value);
            }
            None => {
                let message = format!(
                    "`{name}` is {}, and its default {} is {}",
                    a(word),
                    node.found(),
                    a(value.scalar_type().name())
                );
                report.error(node.span, message);
            }
        }
    }
    Some(parameter)
}

/// The ends of a range, in a workflow as in a study.
pub(crate) fn range_ends(name: &str, node: &Node, report: &mut Report) -> Option<(f64, f64)> {
    let [lower, upper] = node.items()? else {
        return None;
    };
    let (low, high) = (leaf::number(lower).ok()?, leaf::number(upper).ok()?);
    if low > high {
        let message = format!("the range of `{name}` ends before it begins");
        let hint = format!("write `[{}, {}]`", shown(high), shown(low));
        report.error_with(node.span, message, hint);
        return None;
    }
    // Values in it are its beginning and a part of its width.
    if !(high - low).is_finite() {
        let message = format!("the range of `{name}` is wider than the largest number");
        let hint = "stay between -8e307 and 8e307";
        report.error_with(node.span, message, hint);
        return None;
    }
    Some((low, high))
}

fn range(
    name: &str,
    node: &Node,
    parameter: &Parameter,
    report: &mut Report,
) -> Option<(f64, f64)> {
    let (low, high) = range_ends(name, node, report)?;
    let [lower, upper] = node.items()? else {
        return None;
    };
    let broken = [(lower, low), (upper, high)]
        .into_iter()
        .find(|(_, end)| end.fract() != 0.0);
    if let Some((end, _)) = broken.filter(|_| parameter.scalar_type == ScalarType::Int) {
        report.error(
            end.span,
            format!("`{name}` is an int, and its range has {}", end.found()),
        );
        return None;
    }
    Some((low, high))
}

fn step(name: &str, node: &Node, parameter: &Parameter, report: &mut Report) -> Option<f64> {
    let step = leaf::number(node).ok()?;
    if step <= 0.0 {
        let message = format!("the step of `{name}` is not above 0");
        report.error_with(
            node.span,
            message,
            "write `step: none` for every value in the range",
        );
        return None;
    }
    if parameter.scalar_type == ScalarType::Int && step.fract() != 0.0 {
        report.error(
            node.span,
            format!("`{name}` is an int, and its step is {}", node.found()),
        );
        return None;
    }
    Some(step)
}

/// Why a default is not among the values that a study would use.
fn misfit(parameter: &Parameter, value: &Scalar) -> Option<String> {
    let number = match value {
        Scalar::Int(number) => *number as f64,
        Scalar::Float(number) => *number,
        _ => return None,
    };
    let (low, high) = parameter.range?;
    let name = &parameter.name;
    if number < low || number > high {
        return Some(format!(
            "the default of `{name}`, {value}, is outside its range; it is used as it is"
        ));
    }
    let steps = (number - low) / parameter.step?;
    let off = (steps - steps.round()).abs() > 1e-6 * steps.abs().max(1.0);
    off.then(|| format!("the default of `{name}`, {value}, is not on the grid of its range and step; it is used as it is"))
}

fn choice(
    name: &Arc<str>,
    node: &Node,
    fields: &Fields<'_>,
    report: &mut Report,
) -> Option<Parameter> {
    for field in ["range", "step"] {
        if let Some((key, _)) = fields.entry(field) {
            let message = format!("`{name}` is a choice, which has no `{field}`");
            report.error_with(key.span, message, "list the values under `values`");
        }
    }
    let Some(list) = fields.get("values") else {
        let message = format!("`{name}` is a choice and needs `values`");
        report.error_with(node.span, message, "add `values: [a, b]`");
        return None;
    };
    let items = list.items().filter(|items| !items.is_empty())?;
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        values.push(leaf::literal(item).ok()?);
    }
    let first = values[0].scalar_type();
    let all = |wanted| {
        values
            .iter()
            .all(|value: &Scalar| value.coerce(wanted, false).is_some())
    };
    let shared = if all(first) && values.iter().all(|value| value.scalar_type() == first) {
        first
    } else if all(ScalarType::Float) {
        ScalarType::Float
    } else {
        let other = values
            .iter()
            .position(|value| value.scalar_type() != first)
            .unwrap_or(0);
        let message = format!(
            "the values of `{name}` have different types: {} is {}, {} is {}",
            items[0].found(),
            a(first.name()),
            items[other].found(),
            a(values[other].scalar_type().name()),
        );
        report.error_with(
            items[other].span,
            message,
            "put all of them in quotes to make them texts",
        );
        return None;
    };
    let values: Vec<Scalar> = values
        .iter()
        .filter_map(|value| value.coerce(shared, false))
        .collect();
    let mut seen = Distinct::default();
    for (value, item) in values.iter().zip(items) {
        if !seen.insert(value) {
            report.error(
                item.span,
                format!("`{value}` is among the values of `{name}` twice"),
            );
        }
    }
    let mut parameter = bare(Arc::clone(name), shared);
    if let Some(node) = fields.get("default")
        && let Ok(value) = leaf::literal(node)
    {
        match value
            .coerce(shared, false)
            .filter(|value| values.contains(value))
        {
            Some(value) => parameter.default = Some(value),
            None => {
                let message = format!("the default of `{name}` is not among its values");
                report.error_with(node.span, message, few(&values));
            }
        }
    }
    parameter.values = values;
    Some(parameter)
}

fn few(values: &[Scalar]) -> String {
    let words: Vec<String> = values.iter().take(10).map(Scalar::to_string).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match values.len() {
        0..=10 => format!("its values are {}", listed(&words)),
        more => format!(
            "its values are {} and {} more",
            listed(&words),
            more - words.len()
        ),
    }
}

fn a(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {word}")
}

/// Why a value cannot be given to a parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// There is no `=`.
    #[error("`{0}` is not of the form NAME=VALUE")]
    Form(String),
    /// There is no parameter of that name.
    #[error("there is no workflow parameter `{name}`{}", hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default())]
    Unknown {
        /// The name that was given.
        name: String,
        /// What may have been meant.
        hint: Option<String>,
    },
    /// The value has another type.
    #[error("parameter `{name}` is {}, and `{value}` is not", a(scalar_type.name()))]
    Type {
        /// The parameter.
        name: Arc<str>,
        /// The value that was given.
        value: String,
        /// What was expected.
        scalar_type: ScalarType,
    },
    /// The value is not one of those to choose from.
    #[error("`{value}` is not among the values of parameter `{name}`; {values}")]
    Choice {
        /// The parameter.
        name: Arc<str>,
        /// The value that was given.
        value: String,
        /// Those that there are, in words.
        values: String,
    },
}

impl SettingError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        Fault::User
    }
}

/// Reads `NAME=VALUE`, as given on a command line, for one of the parameters of a workflow.
pub fn read_scalar_setting(
    setting: &str,
    parameters: &[Parameter],
) -> Result<(Arc<str>, Scalar), SettingError> {
    let (name, text) = setting
        .split_once('=')
        .ok_or_else(|| SettingError::Form(setting.to_owned()))?;
    let parameter = find(name.trim(), parameters)?;
    let value = Scalar::parse(text, parameter.scalar_type).ok_or_else(|| SettingError::Type {
        name: Arc::clone(&parameter.name),
        value: text.to_owned(),
        scalar_type: parameter.scalar_type,
    })?;
    Ok((Arc::clone(&parameter.name), choose(parameter, value)?))
}

/// Fits a value, as given in a data file, to one of the parameters of a workflow.
pub fn fit_parameter(
    name: &str,
    value: &Scalar,
    parameters: &[Parameter],
) -> Result<Scalar, SettingError> {
    let parameter = find(name, parameters)?;
    let fitted = value
        .coerce(parameter.scalar_type, false)
        .ok_or_else(|| SettingError::Type {
            name: Arc::clone(&parameter.name),
            value: value.to_string(),
            scalar_type: parameter.scalar_type,
        })?;
    choose(parameter, fitted)
}

fn find<'p>(name: &str, parameters: &'p [Parameter]) -> Result<&'p Parameter, SettingError> {
    let mut found = parameters
        .iter()
        .filter(|parameter| *parameter.name == *name);
    found.next().ok_or_else(|| SettingError::Unknown {
        name: name.to_owned(),
        hint: Suggester::default().hint(name, parameters.iter().map(|parameter| &*parameter.name)),
    })
}

fn choose(parameter: &Parameter, value: Scalar) -> Result<Scalar, SettingError> {
    let value = value.coerce(parameter.scalar_type, false).unwrap_or(value);
    if parameter.values.is_empty() || parameter.values.contains(&value) {
        return Ok(value);
    }
    Err(SettingError::Choice {
        name: Arc::clone(&parameter.name),
        value: value.to_string(),
        values: few(&parameter.values),
    })
}

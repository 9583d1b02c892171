//! The parameter sets of a study.
//!
//! Law: the same study file gives the same sets, and the same bytes where they are written down.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_engine::{Error, whole};
use headwater_flow::{Method, MoatMethod, StudiedParameter, VbdMethod};
use headwater_graph::Scalar;
use headwater_report::study::EffectStep;
use headwater_sensitivity::sample::{self, MoatDesign, VbdDesign};
use headwater_sensitivity::{Domain, Parameter, Space};

use crate::instances::Varied;
use crate::load::Study;
use crate::tables::{self, Table, TableColumn, TableError};
use crate::words;

/// The points that are evaluated, and what is behind them.
#[derive(Debug, Clone)]
pub(crate) enum Design {
    /// Trajectories.
    Moat(MoatDesign),
    /// Base points and what is made of them.
    Vbd(VbdDesign),
    /// The user's own.
    Table(Varied),
}

impl Design {
    /// Draws the sets of a study, or takes those that it brings. Of two phases it is the first.
    pub(crate) fn new(study: &mut Study) -> Result<Design, Error> {
        let seed = study.study.seed;
        Ok(match &study.study.method {
            Method::Moat(moat) | Method::TwoPhase { screen: moat, .. } => {
                let space = space(&study.resolved.studied);
                let drawn = sample::moat::design(&space, &as_moat(moat), seed);
                Design::Moat(drawn.map_err(|error| refused(study, &error))?)
            }
            Method::Vbd(vbd) => Design::vbd(study, &study.resolved.studied, vbd)?,
            Method::Table(_) => Design::Table(study.samples.take().unwrap_or_default()),
        })
    }

    /// Base points for some of the parameters of a study.
    pub(crate) fn vbd(
        study: &Study,
        studied: &[StudiedParameter],
        vbd: &VbdMethod,
    ) -> Result<Design, Error> {
        let drawn = sample::vbd::design(&space(studied), &as_vbd(vbd), study.study.seed);
        drawn
            .map(Design::Vbd)
            .map_err(|error| refused(study, &error))
    }

    /// How many sets there are.
    pub(crate) fn sets(&self) -> usize {
        match self {
            Design::Moat(design) => design.points.len(),
            Design::Vbd(design) => design.points.len(),
            Design::Table(varied) => varied.sets,
        }
    }

    /// How many trajectories, base points or single sets there are.
    pub(crate) fn groups(&self) -> usize {
        match self {
            Design::Moat(design) => design.points.len() / design.group().max(1),
            Design::Vbd(design) => design.samples as usize,
            Design::Table(varied) => varied.sets,
        }
    }

    /// With how many groups a rule may end a phase at the earliest.
    pub(crate) fn fewest_to_decide(&self) -> usize {
        match self {
            Design::Moat(_) => headwater_sensitivity::analyze::moat::FEWEST_EFFECTS,
            Design::Vbd(_) => headwater_sensitivity::analyze::vbd::FEWEST_SAMPLES,
            Design::Table(_) => 0,
        }
    }

    /// The first so many groups.
    pub(crate) fn prefix(&self, groups: usize) -> Design {
        let number = u32::try_from(groups).unwrap_or(u32::MAX);
        match self {
            Design::Moat(design) => Design::Moat(design.prefix(number)),
            Design::Vbd(design) => Design::Vbd(design.prefix(number)),
            Design::Table(varied) => {
                let sets = groups.min(varied.sets);
                let mut varied = varied.clone();
                varied.cells.truncate(sets * varied.names.len());
                varied.sets = sets;
                Design::Table(varied)
            }
        }
    }

    /// The sets, as values of the workflow's parameters.
    pub(crate) fn varied(&self, studied: &[StudiedParameter]) -> Varied {
        let points = match self {
            Design::Table(varied) => return varied.clone(),
            Design::Moat(design) => &design.points,
            Design::Vbd(design) => &design.points,
        };
        let width = studied.len();
        let mut varied = Varied {
            names: studied
                .iter()
                .map(|known| Arc::clone(&known.name))
                .collect(),
            values: vec![Vec::new(); width],
            cells: vec![0; width * points.len()],
            sets: points.len(),
        };
        for (column, studied) in studied.iter().enumerate() {
            let mut numbers: HashMap<u64, u32> = HashMap::new();
            let values = &mut varied.values[column];
            for (set, row) in points.rows().enumerate() {
                let number = numbers.entry(row[column].to_bits()).or_insert_with(|| {
                    values.push(studied.values.value_at(row[column]));
                    values.len() as u32 - 1
                });
                varied.cells[set * width + column] = *number;
            }
        }
        varied
    }

    /// Things worth telling about the design.
    pub(crate) fn notes(&self) -> Vec<String> {
        let Design::Moat(design) = self else {
            return Vec::new();
        };
        let stuck: u32 = design.stuck().iter().sum();
        let told = |stuck| {
            format!(
                "{stuck} of {} steps land on the value that they started from, since the range of the parameter has fewer \
                 numbers than the design has levels",
                design.moves.len()
            )
        };
        (stuck > 0).then(|| told(stuck)).into_iter().collect()
    }
}

/// A design that cannot be drawn.
fn refused(study: &Study, error: &sample::SampleError) -> Error {
    let hint = "change the method, or the parameters that the study names";
    study.mistake_at_method(error.to_string(), hint)
}

/// A phase whose parameters are known only when the first one has run.
#[derive(Debug, Clone, PartialEq)]
pub struct LaterPhase {
    /// What it is.
    pub method: String,
    /// How many parameters it keeps.
    pub parameters: usize,
    /// How many parameter sets it has.
    pub sets: usize,
    /// At most so many tasks.
    pub tasks_at_most: usize,
}

/// The second phase of a study, as far as it is known.
pub(crate) fn later(study: &Study, tasks_per_set: usize) -> Option<LaterPhase> {
    let Method::TwoPhase { keep, then, .. } = &study.study.method else {
        return None;
    };
    let parameters = study.resolved.studied.len().min(keep.value as usize);
    let sets = then.evaluations(parameters) as usize;
    Some(LaterPhase {
        method: words::vbd_in_words(then, study.study.until.is_some()),
        parameters,
        sets,
        tasks_at_most: sets.saturating_mul(tasks_per_set),
    })
}

/// What the effects of a screening are divided by.
pub(crate) fn step(method: &Method) -> EffectStep {
    match method {
        Method::Moat(moat) | Method::TwoPhase { screen: moat, .. }
            if moat.step == headwater_flow::StepLength::Nominal =>
        {
            EffectStep::Nominal
        }
        _ => EffectStep::Actual,
    }
}

/// How many levels all parameters of a screening have: none where each has its own.
pub(crate) fn levels(method: &Method) -> Option<u32> {
    let (Method::Moat(moat) | Method::TwoPhase { screen: moat, .. }) = method else {
        return None;
    };
    match (moat.walk, moat.levels) {
        (headwater_flow::Walk::Radial, _) | (_, headwater_flow::Levels::Grid) => None,
        (_, headwater_flow::Levels::Each(levels)) => Some(levels),
    }
}

fn as_moat(moat: &MoatMethod) -> sample::Moat {
    sample::Moat {
        trajectories: moat.trajectories,
        levels: match moat.levels {
            headwater_flow::Levels::Each(levels) => sample::Levels::Each(levels),
            headwater_flow::Levels::Grid => sample::Levels::Grid,
        },
        walk: match moat.walk {
            headwater_flow::Walk::Random => sample::Walk::Random,
            headwater_flow::Walk::Spread => sample::Walk::Spread,
            headwater_flow::Walk::Radial => sample::Walk::Radial,
        },
        length: match moat.step {
            headwater_flow::StepLength::Actual => sample::StepLength::Actual,
            headwater_flow::StepLength::Nominal => sample::StepLength::Nominal,
        },
    }
}

fn as_vbd(vbd: &VbdMethod) -> sample::Vbd {
    sample::Vbd {
        samples: vbd.samples,
        sampler: match vbd.sampler {
            headwater_flow::Sampler::Mc => sample::Sampler::Mc,
            headwater_flow::Sampler::Lhs => sample::Sampler::Lhs,
            headwater_flow::Sampler::Halton => sample::Sampler::Halton,
            headwater_flow::Sampler::Sobol => sample::Sampler::Sobol,
        },
        second_order: vbd.second_order,
    }
}

/// The space that a design is drawn in.
fn space(studied: &[StudiedParameter]) -> Space {
    let parameter = |studied: &StudiedParameter| {
        let domain = studied.values.domain().cloned();
        Parameter {
            name: Arc::clone(&studied.name),
            // Only a table leaves values open, and of a table nothing is drawn.
            domain: domain.unwrap_or(Domain::Choice { count: 1 }),
        }
    };
    Space {
        parameters: studied.iter().map(parameter).collect(),
    }
}

/// The sets as columns, one per parameter.
pub(crate) fn columns(varied: &Varied) -> Vec<TableColumn> {
    let width = varied.names.len();
    let column = |column: usize| {
        let cells = (0..varied.sets).map(|set| varied.cells[set * width + column] as usize);
        let values = &varied.values[column];
        let name = Arc::clone(&varied.names[column]);
        let scalars = cells.map(|cell| &values[cell]);
        as_column(name, values, scalars)
    };
    (0..width).map(column).collect()
}

/// Writes the sets as `samples.csv`, `samples.parquet` and `samples.dat` (Dakota) into a folder.
pub(crate) fn write(varied: &Varied, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let table =
        Table::new(columns(varied)).map_err(|error| Error::usage(error.to_string(), None))?;
    if folder.exists() && !folder.is_dir() {
        return Err(Error::usage(
            format!(
                "`{}` is a file, and the samples need a folder",
                folder.display()
            ),
            Some("name a folder with -o".to_owned()),
        ));
    }
    std::fs::create_dir_all(folder)
        .map_err(|source| Error::io("cannot make folder", folder, source))?;
    let mut files = Vec::new();
    for name in ["samples.csv", "samples.parquet", "samples.dat"] {
        let path = folder.join(name);
        let mut bytes = Vec::new();
        let made = match name {
            "samples.csv" => tables::write_csv(&table, &mut bytes).map_err(TableError::from),
            "samples.parquet" => tables::write_parquet(&table, &mut bytes),
            _ => tables::write_dakota(&table, &mut bytes),
        };
        made.map_err(|error| tables::unwritten(&path, error))?;
        // What somebody made is not overwritten; what is there already need not be written again.
        if path.exists() && !(path.is_file() && std::fs::read(&path).ok().as_ref() == Some(&bytes))
        {
            return Err(Error::usage(
                format!("`{}` already exists and has other contents", path.display()),
                Some("name another folder with -o, or move the file away".to_owned()),
            ));
        }
        files.push((path, bytes));
    }
    let mut written = Vec::new();
    for (path, bytes) in files {
        whole::write(&path, &bytes)?;
        written.push(path);
    }
    Ok(written)
}

/// The values of a parameter as a column: of the type that all of them have, else of texts.
fn as_column<'a>(
    name: Arc<str>,
    values: &[Scalar],
    scalars: impl Iterator<Item = &'a Scalar>,
) -> TableColumn {
    let all = |fits: fn(&Scalar) -> bool| values.iter().all(fits);
    if all(|value| matches!(value, Scalar::Int(_))) {
        let whole = |scalar: &Scalar| match scalar {
            Scalar::Int(number) => *number,
            _ => 0,
        };
        return TableColumn::new(name, scalars.map(whole).collect::<Vec<i64>>());
    }
    if all(|value| matches!(value, Scalar::Int(_) | Scalar::Float(_))) {
        let number = |scalar: &Scalar| match scalar {
            Scalar::Int(number) => *number as f64,
            Scalar::Float(number) => *number,
            _ => 0.0,
        };
        return TableColumn::new(name, scalars.map(number).collect::<Vec<f64>>());
    }
    if all(|value| matches!(value, Scalar::Bool(_))) {
        let truth = |scalar: &Scalar| matches!(scalar, Scalar::Bool(true));
        return TableColumn::new(name, scalars.map(truth).collect::<Vec<bool>>());
    }
    let text = |scalar: &Scalar| scalar.to_string();
    TableColumn::new(name, scalars.map(text).collect::<Vec<String>>())
}

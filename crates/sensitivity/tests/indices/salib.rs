//! The same numbers as SALib 1.6, on the same samples and outputs.
//!
//! Law: equal to 1e-9. The tables were made by `salib.py`; where `cargo xtask test` could install SALib, larger ones
//! are made on the spot, else those are skipped with a message.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use headwater_sensitivity::Points;
use headwater_sensitivity::analyze::{Bootstrap, moat, vbd};
use headwater_sensitivity::functions::{Ishigami, Morris, SobolG};
use headwater_sensitivity::sample::{MoatDesign, Move, VbdDesign};

use crate::support::{self, evaluate, near};

const TOLERANCE: f64 = 1e-9;

/// An index by its name in SALib, and the positions of its parameters.
type Named = (String, usize, usize, f64);

type Function<'a> = &'a dyn Fn(&[f64]) -> f64;

/// A design of either kind.
enum Design {
    Vbd(VbdDesign),
    Moat { design: MoatDesign, levels: u32 },
}

impl Design {
    fn points(&self) -> &Points {
        match self {
            Design::Vbd(design) => &design.points,
            Design::Moat { design, .. } => &design.points,
        }
    }

    /// The first line of a table.
    fn head(&self) -> String {
        match self {
            Design::Vbd(design) => {
                let kind = if design.second_order {
                    "sobol2"
                } else {
                    "sobol"
                };
                format!("# {kind} {}", design.points.width())
            }
            Design::Moat { design, levels } => {
                format!("# morris {} {levels}", design.points.width())
            }
        }
    }

    /// The design that a table is of.
    fn read(head: &str, points: Points) -> Design {
        let words: Vec<&str> = head.trim_start_matches('#').split_whitespace().collect();
        match words[..] {
            ["morris", _, levels] => {
                let levels = levels.parse().expect("a number of levels");
                let design = steps(points, levels);
                Design::Moat { design, levels }
            }
            [kind, _] => {
                let second_order = kind == "sobol2";
                let parameters = points.width();
                let rows = if second_order {
                    2 * parameters + 2
                } else {
                    parameters + 2
                };
                Design::Vbd(VbdDesign {
                    samples: (points.len() / rows) as u32,
                    points,
                    second_order,
                })
            }
            _ => panic!("not a head: {head}"),
        }
    }

    /// Our indices.
    fn indices(&self, outputs: &[Option<f64>]) -> Vec<Named> {
        let bootstrap = Bootstrap {
            resamples: 0,
            ..Bootstrap::default()
        };
        let mut found = Vec::new();
        let mut add =
            |name: &str, one, other, value| found.push((name.to_owned(), one, other, value));
        match self {
            Design::Vbd(design) => {
                let indices = vbd::indices(design, outputs, &bootstrap).expect("indices");
                for (place, share) in indices.parameters.iter().enumerate() {
                    add("S1", place, place, share.first.value);
                    add("ST", place, place, share.total.value);
                }
                for pair in indices.pairs {
                    let (one, other) = pair.parameters;
                    add("S2", one, other, pair.share.value);
                }
            }
            Design::Moat { design, .. } => {
                let indices = moat::indices(design, outputs, &bootstrap).expect("indices");
                for (place, effect) in indices.parameters.iter().enumerate() {
                    add("mu", place, place, effect.mu);
                    add("mu_star", place, place, effect.mu_star.value);
                    add("sigma", place, place, effect.sigma);
                }
            }
        }
        found
    }
}

/// The steps of trajectories in the unit cube, from what changes between rows.
fn steps(points: Points, levels: u32) -> MoatDesign {
    let delta = f64::from(levels) / (2.0 * f64::from(levels - 1));
    let trajectory = points.width() + 1;
    let mut moves = Vec::new();
    for from in (0..points.len()).filter(|row| (row + 1) % trajectory != 0) {
        let (before, after) = (points.row(from), points.row(from + 1));
        let parameter = (0..points.width())
            .find(|&place| before[place] != after[place])
            .expect("each step changes a parameter");
        moves.push(Move {
            from: from as u32,
            to: from as u32 + 1,
            parameter: parameter as u32,
            delta: delta.copysign(after[parameter] - before[parameter]),
        });
    }
    MoatDesign {
        trajectories: (points.len() / trajectory) as u32,
        points,
        moves,
        unordered: Vec::new(),
    }
}

fn named(line: &str) -> Named {
    let words: Vec<&str> = line.split(',').collect();
    let [_, name, one, other, value] = words[..] else {
        panic!("not an index: {line}");
    };
    let number = |text: &str| text.parse().expect("a position");
    let value = value.parse().expect("a value");
    (name.to_owned(), number(one), number(other), value)
}

#[track_caller]
fn compare(case: &str, mut ours: Vec<Named>, mut theirs: Vec<Named>) {
    let key = |one: &Named| (one.0.clone(), one.1, one.2);
    ours.sort_by_key(key);
    theirs.sort_by_key(key);
    assert_eq!(ours.len(), theirs.len(), "{case}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(key(ours), key(theirs), "{case}");
        near(
            ours.3,
            theirs.3,
            TOLERANCE,
            &format!("{case}: {:?}", key(ours)),
        );
    }
}

#[track_caller]
fn carried(case: &str, table: &str, indices: usize) {
    let mut lines = table.lines();
    let head = lines.next().expect("a head");
    let (results, rows): (Vec<&str>, Vec<&str>) =
        lines.partition(|line| line.starts_with("index,"));
    assert_eq!(results.len(), indices, "{case}");
    let rows: Vec<Vec<f64>> = rows
        .iter()
        .map(|line| {
            line.split(',')
                .map(|word| word.parse().expect("a number"))
                .collect()
        })
        .collect();
    let mut points = Points::new(rows[0].len() - 1);
    let mut outputs = Vec::new();
    for row in &rows {
        let (output, point) = row.split_last().expect("an output");
        points.push(point);
        outputs.push(Some(*output));
    }
    let ours = Design::read(head, points).indices(&outputs);
    compare(case, ours, results.into_iter().map(named).collect());
}

#[test]
fn carried_tables_agree() {
    carried("first order", include_str!("tables/sobol.csv"), 6);
    carried("second order", include_str!("tables/sobol2.csv"), 8 + 6);
    carried("one at a time", include_str!("tables/morris.csv"), 18);
}

/// The Python that has SALib, in the folder of the build.
fn python() -> Option<PathBuf> {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let python = build.join("bench/salib/bin/python");
    python.is_file().then_some(python)
}

#[test]
fn salib_itself_agrees() {
    let Some(python) = python() else {
        println!(
            "skipped: there is no SALib; `cargo xtask test` installs it where there is a Python"
        );
        return;
    };
    let shifted = |point: &[f64]| 50.0 - 1e3 * Ishigami::default().at(point);
    let product = SobolG {
        a: vec![0.0, 0.5, 3.0, 9.0, 99.0],
    };
    let turn = core::f64::consts::PI;
    let cases: [(Design, Function<'_>); 3] = [
        (
            Design::Vbd(support::vbd(3, 1000, false, (-turn, turn), 1)),
            &shifted,
        ),
        (
            Design::Vbd(support::vbd(5, 300, true, (0.0, 1.0), 2)),
            &|point| product.at(point),
        ),
        (
            Design::Moat {
                design: support::moat(20, 30, 20, 3),
                levels: 20,
            },
            &|point| Morris.at(point),
        ),
    ];
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/indices/salib.py");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    for (design, function) in cases {
        let outputs = evaluate(design.points(), function);
        let mut table = format!("{}\n", design.head());
        for (row, output) in design.points().rows().zip(&outputs) {
            for value in row {
                write!(table, "{value},").expect("a string grows");
            }
            writeln!(table, "{}", output.expect("an output")).expect("a string grows");
        }
        let file = folder.path().join("table.csv");
        std::fs::write(&file, table).expect("a table");
        let mut command = Command::new(&python);
        let run = command.arg(&script).arg("indices").arg(&file).output();
        let run = run.expect("Python runs");
        let complaint = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{complaint}");
        let text = String::from_utf8(run.stdout).expect("text");
        compare(
            &design.head(),
            design.indices(&outputs),
            text.lines().map(named).collect(),
        );
    }
}

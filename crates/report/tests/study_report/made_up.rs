//! Summaries that no run made, of the kinds that a page has to cope with.
//!
//! Law: they are the same each time.

use headwater_graph::Tally;
use headwater_report::study::{
    CoursePoint, EffectStep, ExampleImage, Extreme, Extremes, FailedEvaluation, FixedValue,
    ForecastFacts, Indices, MoatRow, PhaseKind, PhaseSummary, PrefixSummary, StopRule,
    StudyExample, StudyFacts, StudyItem, StudyParameter, StudySummary, TaskFacts, Timeline,
    VbdPair, VbdRow, VbdRows,
};

/// The parameters of the nuclei workflow: name, values, default, size of the effects, how much they vary.
const NUCLEI: [(&str, &str, &str, f64, f64); 15] = [
    ("B", "210 to 240 by 10", "220", 0.0061, 1.9),
    ("G", "210 to 240 by 10", "220", 0.0103, 2.1),
    ("R", "210 to 240 by 10", "220", 0.0088, 1.8),
    ("T1", "2.5 to 7.5 by 0.5", "5.0", 0.0004, 3.0),
    ("T2", "2.5 to 7.5 by 0.5", "4.0", 0.0312, 1.6),
    ("G1", "5 to 80 by 5", "80", 0.382, 0.72),
    ("G2", "2 to 40 by 2", "45", 0.517, 0.55),
    ("MinSize", "2 to 40 by 2", "11", 0.0479, 1.2),
    ("MaxSize", "900 to 1500 by 50", "1000", 0.0112, 2.4),
    ("MinSizePl", "5 to 80 by 5", "30", 0.0721, 0.9),
    ("MinSizeSeg", "2 to 40 by 2", "21", 0.0398, 0.8),
    ("MaxSizeSeg", "900 to 1500 by 50", "1000", 0.0021, 1.4),
    ("FillHolesConn", "4, 8", "4", 0.0, 0.0),
    ("ReconConn", "4, 8", "8", 0.0533, 1.1),
    ("WatershedConn", "4, 8", "8", 0.0187, 0.7),
];

/// Numbers between 0 and 1 that look random.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }
}

fn parameter(position: usize) -> StudyParameter {
    let (name, range, default, _, _) = NUCLEI[position];
    StudyParameter {
        name: name.to_owned(),
        range: range.to_owned(),
        default: Some(default.to_owned()),
        default_outside: name == "G2",
        values: if range.contains(',') {
            Some(2)
        } else {
            Some(20)
        },
        stuck: if range.contains(',') { 0 } else { position % 3 },
        unordered: false,
        course: course(position),
    }
}

/// How dice goes along a parameter: down, the more it matters.
fn course(position: usize) -> Vec<CoursePoint> {
    let (_, range, _, size, _) = NUCLEI[position];
    let values: Vec<f64> = if range.contains(',') {
        vec![4.0, 8.0]
    } else {
        (1..=10).map(|step| f64::from(step) * 5.0).collect()
    };
    let many = values.len() as f64;
    let point = |(place, value): (usize, f64)| {
        let mean = 0.9 - size * place as f64 / many;
        CoursePoint {
            value: value.to_string(),
            at: value,
            evaluations: 64,
            mean,
            quartiles: (mean - 0.1, mean + 0.05),
        }
    };
    values.into_iter().enumerate().map(point).collect()
}

fn moat_rows(groups: usize, seed: u64) -> Indices {
    let mut numbers = Numbers(seed);
    let rows = NUCLEI.iter().map(|(_, _, _, size, ratio)| {
        let noise = 1.0 + (numbers.next() - 0.5) * 2.0 / (groups as f64).sqrt();
        let mu_star = size * noise;
        MoatRow {
            mu: Some(-mu_star * 0.8),
            mu_star: Some(mu_star),
            mu_star_conf: Some(size * 1.6 * ratio / (groups as f64).sqrt()),
            sigma: Some(mu_star * ratio),
            used: groups,
            lost: 0,
            no_step: 0,
            steps: None,
        }
    });
    Indices::Moat(rows.collect())
}

fn values(items: usize, sets: usize) -> Vec<Vec<Option<f64>>> {
    let mut numbers = Numbers(7);
    let mut value = || {
        let (one, other) = (numbers.next(), numbers.next());
        Some((0.95 - 0.7 * one * one - 0.15 * other).max(0.0))
    };
    (0..items)
        .map(|_| (0..sets).map(|_| value()).collect())
        .collect()
}

fn moat_phase(items: usize) -> PhaseSummary {
    let prefixes = [8, 12, 16, 24, 32, 40];
    let each = if items > 1 {
        (0..items)
            .map(|item| moat_rows(40, 100 + item as u64))
            .collect()
    } else {
        Vec::new()
    };
    PhaseSummary {
        kind: PhaseKind::Moat,
        method: "MOAT, 40 random trajectories, 20 levels".to_owned(),
        confidence: Some(0.95),
        parameters: (0..NUCLEI.len()).map(parameter).collect(),
        fixed: vec![("Normalize".to_owned(), FixedValue::Bool(true))],
        levels: Some(20),
        step: EffectStep::Actual,
        groups: 40,
        groups_planned: 40,
        first_set: 0,
        sets: 640,
        sets_planned: 640,
        rule: None,
        failed: Vec::new(),
        pooled: moat_rows(40, 3),
        each,
        convergence: prefixes
            .iter()
            .map(|groups| PrefixSummary {
                groups: *groups,
                sets: groups * 16,
                indices: moat_rows(*groups, 3 + if *groups == 40 { 0 } else { *groups as u64 }),
            })
            .collect(),
        values: values(items, 640),
    }
}

const KEPT: [usize; 8] = [4, 5, 6, 7, 9, 10, 13, 14];

fn vbd_rows(groups: usize, seed: u64) -> Indices {
    let mut numbers = Numbers(seed);
    let shares = [0.004, 0.262, 0.471, 0.012, 0.021, 0.009, 0.016, -0.002];
    let rows = shares.iter().map(|share| {
        let spread = 1.2 / (groups as f64).sqrt();
        VbdRow {
            s1: Some(share + (numbers.next() - 0.5) * spread * 0.3),
            s1_conf: Some(spread * (0.4 + share)),
            st: Some((share * 1.35 + 0.012 + (numbers.next() - 0.5) * spread * 0.2).abs()),
            st_conf: Some(spread * (0.2 + share)),
        }
    });
    let rows = rows.collect();
    let mut pairs = Vec::new();
    for one in 0..8 {
        for other in one + 1..8 {
            let strong = (one, other) == (1, 2);
            pairs.push(VbdPair {
                parameters: (one, other),
                s2: Some(if strong {
                    0.081
                } else {
                    (numbers.next() - 0.4) * 0.02
                }),
                s2_conf: Some(0.02),
            });
        }
    }
    Indices::Vbd(VbdRows {
        rows,
        pairs,
        used: groups,
        lost: 0,
        constant: false,
        drawn: None,
    })
}

fn vbd_phase() -> PhaseSummary {
    PhaseSummary {
        kind: PhaseKind::Vbd,
        method: "VBD, 200 base points (Sobol'), second order".to_owned(),
        parameters: KEPT
            .iter()
            .map(|position| StudyParameter {
                stuck: 0,
                unordered: false,
                ..parameter(*position)
            })
            .collect(),
        fixed: (0..15)
            .filter(|position| !KEPT.contains(position))
            .map(|position| {
                let (name, _, default, ..) = NUCLEI[position];
                (name.to_owned(), FixedValue::Text(default.to_owned()))
            })
            .collect(),
        groups: 200,
        groups_planned: 200,
        sets: 3600,
        sets_planned: 3600,
        rule: Some(StopRule {
            ci: 0.05,
            reached: Some(0.061),
            held: false,
        }),
        pooled: vbd_rows(200, 11),
        each: Vec::new(),
        convergence: [8_usize, 12, 16, 24, 32, 48, 64, 96, 128, 192, 200]
            .iter()
            .map(|groups| PrefixSummary {
                groups: *groups,
                sets: groups * 18,
                indices: vbd_rows(*groups, 11 + 200 - *groups as u64),
            })
            .collect(),
        values: values(1, 3600),
        ..moat_phase(1)
    }
}

/// A picture of 2 by 2 pixels.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGP8z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg==";

fn extreme(set: usize, value: f64) -> Extreme {
    Extreme {
        set,
        value,
        items: 1,
        parameters: vec![
            ("G1".to_owned(), FixedValue::Int(40)),
            ("T1".to_owned(), FixedValue::Float(2.5)),
        ],
    }
}

fn example(name: &str, set: Option<usize>, value: f64) -> StudyExample {
    let parameters = NUCLEI
        .iter()
        .enumerate()
        .map(|(position, (parameter, _, default, _, _))| {
            let moved = name != "default" && (position + name.len()).is_multiple_of(3);
            (
                parameter.to_string(),
                if moved {
                    "10".to_owned()
                } else {
                    default.to_string()
                },
            )
        });
    StudyExample {
        name: name.to_owned(),
        set,
        item: 0,
        value: Some(value),
        mean: None,
        parameters: parameters.collect(),
        images: vec![ExampleImage {
            output: "overlay".to_owned(),
            width: 320,
            height: 320,
            png: PICTURE.to_owned(),
        }],
    }
}

fn task(stage: &str, task: &str, counts: [usize; 5], mean: f64) -> TaskFacts {
    let [planned, distinct, executed, cut_off, remembered] = counts;
    TaskFacts {
        stage: stage.to_owned(),
        task: task.to_owned(),
        planned,
        tally: Tally {
            tasks: distinct,
            planned: distinct - remembered,
            executed,
            cut_off,
            reused: remembered,
            ..Tally::default()
        },
        unmet: 0,
        seconds: executed as f64 * mean,
        cpu_seconds: executed as f64 * mean,
        saved_seconds: Some((planned - executed) as f64 * mean),
    }
}

fn facts() -> StudyFacts {
    let tasks = vec![
        task("normalize", "normalize", [640, 1, 1, 0, 0], 0.184),
        task("segment", "split", [640, 1, 1, 0, 0], 0.0042),
        task("segment", "red-blood-cells", [640, 398, 398, 0, 0], 0.031),
        task(
            "segment",
            "reconstruct-background",
            [640, 2, 0, 0, 2],
            0.0871,
        ),
        task("segment", "threshold", [640, 58, 58, 0, 0], 0.0116),
        task(
            "segment",
            "filter-candidates",
            [640, 480, 401, 79, 0],
            0.0089,
        ),
        task("segment", "candidates", [640, 622, 540, 82, 0], 0.0472),
        task("segment", "separate", [640, 635, 489, 146, 0], 0.102),
        task("segment", "final-filter", [640, 639, 470, 169, 0], 0.0113),
        task("compare", "dice", [640, 639, 402, 237, 0], 0.0011),
    ];
    let slices = (0..90).map(|slice| {
        let share = f64::from(slice) / 90.0;
        let mut at_work = vec![
            (2, 0.6 * (1.0 - share)),
            (6, 0.5),
            (7, 0.3 + 0.6 * share),
            (8, 0.1),
        ];
        if slice < 4 {
            at_work.insert(0, (0, 0.4));
        }
        if slice > 86 {
            at_work.truncate(2);
        }
        at_work
    });
    StudyFacts {
        run: "20260304-101530-1a2b".to_owned(),
        started: 1_772_619_330,
        seconds: 61.4,
        running_seconds: 58.3,
        cores: 2,
        sharing: "equal tasks of all sets, and equal contents".to_owned(),
        stopped: false,
        timeline: Timeline {
            slice: 0.65,
            slices: slices.collect(),
        },
        tasks,
        recomputed: 0,
        forecast: Some(ForecastFacts {
            from: "3 runs of these operations on this machine".to_owned(),
            tasks: 3475,
            work_seconds: 131.0,
            seconds: 66.2,
            fact: (2712, 110.0, 58.3),
        }),
        failures: Vec::new(),
        causes: Vec::new(),
        notes: vec!["The reference is the mask at the default parameters.".to_owned()],
    }
}

/// A screening of 15 parameters by 640 sets.
pub(crate) fn moat() -> StudySummary {
    StudySummary {
        study: "nuclei-moat".to_owned(),
        workflow: "nuclei".to_owned(),
        objective: "dice".to_owned(),
        method: "MOAT, 40 random trajectories, 20 levels".to_owned(),
        seed: 42,
        inputs: vec![
            ("tile".to_owned(), "tissue.png".to_owned()),
            (
                "reference".to_owned(),
                "output mask at the default parameters".to_owned(),
            ),
        ],
        doubts: Vec::new(),
        items: vec![StudyItem {
            index: String::new(),
            inputs: vec![("tile".to_owned(), "tissue.png".to_owned())],
        }],
        phases: vec![moat_phase(1)],
        phases_planned: 1,
        examples: vec![
            example("best", Some(411), 0.948),
            example("worst", Some(37), 0.104),
            example("default", None, 1.0),
        ],
        extremes: Some(Extremes {
            best: extreme(411, 0.948),
            worst: extreme(37, 0.104),
        }),
        facts: facts(),
    }
}

/// A decomposition of 8, with pairs.
pub(crate) fn vbd() -> StudySummary {
    StudySummary {
        study: "nuclei-vbd".to_owned(),
        method: "VBD, 200 base points (Sobol'), second order".to_owned(),
        phases: vec![vbd_phase()],
        ..moat()
    }
}

/// A screening and a decomposition of what it keeps.
pub(crate) fn two_phase() -> StudySummary {
    let mut summary = moat();
    summary.study = "nuclei-two-phase".to_owned();
    summary.method = "MOAT, 40 random trajectories, 20 levels, then VBD, 200 base points (Sobol'), second order of the 8 parameters with the largest effects".to_owned();
    summary.phases = vec![moat_phase(1), vbd_phase()];
    summary.phases_planned = 2;
    summary.phases[1].first_set = 640;
    summary.examples[0].set = Some(640 + 2411);
    summary
}

/// Five tiles.
pub(crate) fn several() -> StudySummary {
    let item = |number: usize| StudyItem {
        index: number.to_string(),
        inputs: vec![("tile".to_owned(), format!("tile-{number}.png"))],
    };
    StudySummary {
        items: (0..5).map(item).collect(),
        phases: vec![moat_phase(5)],
        ..moat()
    }
}

/// Thirty evaluations fail, on three tiles; the rule ends the phase half-way; the run had failures.
pub(crate) fn failing() -> StudySummary {
    let mut summary = several();
    let phase = &mut summary.phases[0];
    phase.groups = 24;
    phase.sets = 384;
    phase.rule = Some(StopRule {
        ci: 0.2,
        reached: Some(0.174),
        held: true,
    });
    phase
        .values
        .iter_mut()
        .for_each(|values| values.truncate(384));
    for number in 0..30 {
        let (set, item) = (number * 12, number % 3);
        phase.values[item][set] = None;
        phase.failed.push(FailedEvaluation {
            set,
            item,
            why: "segment.separate failed: the program ended with status 1 and said \"out of <memory> & patience\"".to_owned(),
        });
    }
    if let Indices::Moat(rows) = &mut phase.pooled {
        rows.iter_mut()
            .for_each(|row| (row.used, row.lost) = (113, 7));
        rows[3] = MoatRow {
            mu: None,
            mu_star: None,
            mu_star_conf: None,
            sigma: None,
            used: 0,
            lost: 120,
            no_step: 0,
            steps: None,
        };
    }
    let facts = &mut summary.facts;
    facts.tasks[7].tally.failed = 30;
    facts.tasks[7].unmet = 30;
    facts.tasks[8].tally.blocked = 30;
    facts.tasks[8].unmet = 30;
    facts.tasks[9].tally.tasks += 12;
    facts.tasks[9].unmet = 12;
    facts.tasks[3].saved_seconds = None;
    facts.stopped = true;
    facts.forecast = None;
    facts.failures = vec!["segment.separate[3]: the program ended with status 1\n  it said: out of <memory>\n  try: more of it".to_owned()];
    summary
}

/// The objective never changes.
pub(crate) fn constant() -> StudySummary {
    let mut summary = vbd();
    let phase = &mut summary.phases[0];
    phase.values = vec![vec![Some(0.5); 3600]];
    let none = VbdRow {
        s1: None,
        s1_conf: None,
        st: None,
        st_conf: None,
    };
    let indices = Indices::Vbd(VbdRows {
        rows: vec![none; 8],
        pairs: Vec::new(),
        used: 200,
        lost: 0,
        constant: true,
        drawn: None,
    });
    phase
        .convergence
        .iter_mut()
        .for_each(|prefix| prefix.indices = indices.clone());
    phase.pooled = indices;
    phase.rule = Some(StopRule {
        ci: 0.05,
        reached: None,
        held: false,
    });
    summary
}

/// The user's own sets; nothing ran, all was remembered.
pub(crate) fn table() -> StudySummary {
    let mut summary = moat();
    summary.method = "samples of samples.csv".to_owned();
    let phase = &mut summary.phases[0];
    phase.kind = PhaseKind::Table;
    phase.method = summary.method.clone();
    phase.confidence = None;
    phase
        .parameters
        .iter_mut()
        .for_each(|parameter| parameter.stuck = 0);
    (
        phase.groups,
        phase.groups_planned,
        phase.sets,
        phase.sets_planned,
    ) = (50, 50, 50, 50);
    (phase.pooled, phase.convergence) = (Indices::None, Vec::new());
    phase.values = values(1, 50);
    summary.examples.clear();
    for task in &mut summary.facts.tasks {
        task.saved_seconds = task.saved_seconds.map(|saved| saved + task.cpu_seconds);
        (task.tally.reused, task.tally.executed, task.tally.cut_off) = (task.tally.tasks, 0, 0);
        (task.seconds, task.cpu_seconds) = (0.0, 0.0);
    }
    summary.facts.timeline = Timeline::default();
    summary.facts.running_seconds = 0.0;
    summary
}

/// One set, nothing known of it.
pub(crate) fn single() -> StudySummary {
    let mut summary = table();
    let phase = &mut summary.phases[0];
    (
        phase.groups,
        phase.groups_planned,
        phase.sets,
        phase.sets_planned,
    ) = (1, 1, 1, 1);
    phase.values = vec![vec![None]];
    phase.parameters.truncate(1);
    phase.fixed.clear();
    summary.facts.tasks.clear();
    summary
}

/// A screening of forty parameters that matter alike, with an objective in the millions.
pub(crate) fn many() -> StudySummary {
    let mut summary = moat();
    let mut numbers = Numbers(5);
    let phase = &mut summary.phases[0];
    phase.parameters = (0..40)
        .map(|number| StudyParameter {
            name: format!("parameter_{number}"),
            ..parameter(number % 15)
        })
        .collect();
    let rows: Vec<MoatRow> = (0..40)
        .map(|number| {
            let size = 4e6 * (1.0 - f64::from(number) * 0.02);
            MoatRow {
                mu: Some(-size),
                mu_star: Some(size),
                mu_star_conf: Some(size * 0.1),
                sigma: Some(size * numbers.next()),
                used: 40,
                lost: 0,
                no_step: 0,
                steps: None,
            }
        })
        .collect();
    phase.pooled = Indices::Moat(rows);
    phase
        .convergence
        .iter_mut()
        .for_each(|prefix| prefix.indices = phase.pooled.clone());
    phase
        .values
        .iter_mut()
        .flatten()
        .flatten()
        .for_each(|value| *value = 4e7 + *value * 1e6);
    summary.examples.clear();
    summary
}

/// A name that wants out of its place.
pub(crate) const HOSTILE: &str = "</title><script src='http://x'>&\"'\u{1}";

/// Names from someone who does not mean well.
pub(crate) fn hostile() -> StudySummary {
    let mut summary = failing();
    let hostile = || HOSTILE.to_owned();
    (
        summary.study,
        summary.workflow,
        summary.objective,
        summary.method,
    ) = (hostile(), hostile(), hostile(), hostile());
    for item in &mut summary.items {
        (item.index, item.inputs) = (hostile(), vec![(hostile(), hostile())]);
    }
    let phase = &mut summary.phases[0];
    phase.method = hostile();
    phase.fixed = vec![(hostile(), FixedValue::Text(hostile()))];
    for (position, parameter) in phase.parameters.iter_mut().enumerate() {
        parameter.name = format!("{position}{HOSTILE}");
        (parameter.range, parameter.default) = (hostile(), Some(hostile()));
    }
    phase
        .failed
        .iter_mut()
        .for_each(|failed| failed.why = hostile());
    for example in &mut summary.examples {
        example
            .parameters
            .iter_mut()
            .for_each(|entry| *entry = (hostile(), hostile()));
        example.images[0].output = hostile();
        example.name = hostile();
    }
    let facts = &mut summary.facts;
    (facts.run, facts.sharing) = (hostile(), hostile());
    (facts.notes, facts.failures) = (vec![hostile()], vec![hostile()]);
    for task in &mut facts.tasks {
        (task.stage, task.task) = (hostile(), hostile());
    }
    summary
}

/// All of them, by name.
pub(crate) fn all() -> Vec<(&'static str, StudySummary)> {
    vec![
        ("moat", moat()),
        ("vbd", vbd()),
        ("two-phase", two_phase()),
        ("several", several()),
        ("failing", failing()),
        ("constant", constant()),
        ("table", table()),
        ("single", single()),
        ("many", many()),
        ("hostile", hostile()),
    ]
}

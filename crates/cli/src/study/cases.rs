//! Made-up summaries of studies, for the tests of what is shown of them.
//!
//! Law: they are as a run could have left them: counts add up, and what has no value is in the list of failures.

use headwater::runs::Tally;
use headwater::study::{
    EffectStep, FailedEvaluation, FixedValue, ForecastFacts, Indices, MoatRow, PhaseKind,
    PhaseSummary, StudyFacts, StudyItem, StudyParameter, StudySummary, TaskFacts, Timeline,
    VbdPair, VbdRow, VbdRows,
};

fn parameter(name: &str, range: &str) -> StudyParameter {
    StudyParameter {
        name: name.to_owned(),
        range: range.to_owned(),
        default: None,
        default_outside: false,
        values: None,
        stuck: 0,
        unordered: false,
        course: Vec::new(),
    }
}

fn task(name: &str, counts: [usize; 5], seconds: f64, saved: f64) -> TaskFacts {
    let [planned, distinct, executed, cut_off, remembered] = counts;
    TaskFacts {
        stage: "segment".to_owned(),
        task: name.to_owned(),
        planned,
        tally: Tally {
            tasks: distinct,
            executed,
            cut_off,
            reused: remembered,
            ..Tally::default()
        },
        unmet: 0,
        seconds,
        cpu_seconds: seconds,
        saved_seconds: Some(saved),
    }
}

fn facts() -> StudyFacts {
    StudyFacts {
        run: "20261116-0830-1b25".to_owned(),
        started: 1_794_817_800,
        seconds: 14.2,
        running_seconds: 13.8,
        cores: 2,
        sharing: "equal tasks are shared, also those that turn out to be equal".to_owned(),
        stopped: false,
        tasks: vec![
            task("find", [2560, 1200, 1000, 200, 0], 10.0, 15.6),
            task("separate", [2560, 1657, 904, 753, 0], 16.0, 33.12),
        ],
        recomputed: 0,
        timeline: Timeline::default(),
        forecast: None,
        failures: Vec::new(),
        causes: Vec::new(),
        notes: Vec::new(),
    }
}

/// Effects of a parameter: μ, μ*, its interval, σ; of 40 trajectories.
pub(crate) fn effects(mu: f64, mu_star: f64, half: f64, sigma: f64) -> MoatRow {
    MoatRow {
        mu: Some(mu),
        mu_star: Some(mu_star),
        mu_star_conf: Some(half),
        sigma: Some(sigma),
        used: 40,
        lost: 0,
        no_step: 0,
        steps: None,
    }
}

/// Shares of a parameter: S1 and ST, with their intervals.
pub(crate) fn shares(s1: (f64, f64), st: (f64, f64)) -> VbdRow {
    VbdRow {
        s1: Some(s1.0),
        s1_conf: Some(s1.1),
        st: Some(st.0),
        st_conf: Some(st.1),
    }
}

pub(crate) fn moat_phase() -> PhaseSummary {
    let rows = vec![
        effects(-0.3, 0.31, 0.06, 0.25),
        effects(0.02, 0.412, 0.05, 0.51),
        effects(0.0, 0.0, 0.0, 0.0),
        effects(0.0012, 0.0231, 0.0117, 0.031),
    ];
    let values = (0..200).map(|set| Some(0.5 + f64::from(set % 2) / 4.0));
    PhaseSummary {
        kind: PhaseKind::Moat,
        method: "MOAT, 40 random trajectories, 20 levels".to_owned(),
        confidence: Some(0.95),
        parameters: vec![
            parameter("G1", "5 to 80 by 5"),
            parameter("G2", "2 to 40 by 2"),
            parameter("ReconConn", "4, 8"),
            parameter("T2", "2.5 to 7.5 by 0.5"),
        ],
        fixed: Vec::new(),
        levels: Some(20),
        step: EffectStep::Actual,
        groups: 40,
        groups_planned: 40,
        first_set: 0,
        sets: 200,
        sets_planned: 200,
        rule: None,
        failed: Vec::new(),
        pooled: Indices::Moat(rows),
        each: Vec::new(),
        convergence: Vec::new(),
        values: vec![values.collect()],
    }
}

pub(crate) fn vbd_phase() -> PhaseSummary {
    let rows = vec![
        shares((0.21, 0.08), (0.34, 0.09)),
        shares((0.55, 0.1), (0.68, 0.11)),
        shares((-0.002, 0.01), (0.011, 0.006)),
    ];
    let values = (0..320).map(|set| Some(f64::from(set) / 319.0));
    PhaseSummary {
        kind: PhaseKind::Vbd,
        method: "VBD, 64 base points (Sobol')".to_owned(),
        parameters: vec![
            parameter("G1", "5 to 80 by 5"),
            parameter("G2", "2 to 40 by 2"),
            parameter("T2", "2.5 to 7.5 by 0.5"),
        ],
        fixed: vec![("ReconConn".to_owned(), FixedValue::Int(8))],
        groups: 64,
        groups_planned: 64,
        first_set: 0,
        sets: 320,
        sets_planned: 320,
        pooled: Indices::Vbd(VbdRows {
            rows,
            pairs: Vec::new(),
            used: 64,
            lost: 0,
            constant: false,
            drawn: None,
        }),
        values: vec![values.collect()],
        ..moat_phase()
    }
}

fn study(name: &str, phases: Vec<PhaseSummary>) -> StudySummary {
    StudySummary {
        study: name.to_owned(),
        workflow: "nuclei".to_owned(),
        objective: "dice".to_owned(),
        method: phases
            .iter()
            .map(|phase| &*phase.method)
            .collect::<Vec<_>>()
            .join(", then "),
        seed: 1,
        inputs: Vec::new(),
        doubts: Vec::new(),
        items: vec![item("")],
        phases_planned: phases.len(),
        phases,
        examples: Vec::new(),
        extremes: None,
        facts: facts(),
    }
}

fn item(index: &str) -> StudyItem {
    StudyItem {
        index: index.to_owned(),
        inputs: vec![("tile".to_owned(), format!("tile{index}.png"))],
    }
}

pub(crate) fn moat() -> StudySummary {
    study("nuclei-moat", vec![moat_phase()])
}

pub(crate) fn vbd() -> StudySummary {
    study("nuclei-vbd", vec![vbd_phase()])
}

/// With what pairs do together: one clear of 0, one not, one unknown.
pub(crate) fn vbd_with_pairs() -> StudySummary {
    let mut phase = vbd_phase();
    if let Indices::Vbd(found) = &mut phase.pooled {
        let pair = |parameters, s2: Option<f64>, s2_conf| VbdPair {
            parameters,
            s2,
            s2_conf,
        };
        found.pairs = vec![
            pair((0, 1), Some(0.12), Some(0.031)),
            pair((0, 2), Some(0.01), Some(0.02)),
            pair((1, 2), None, None),
        ];
    }
    study("nuclei-vbd", vec![phase])
}

pub(crate) fn two_phases() -> StudySummary {
    let mut summary = study("nuclei", vec![moat_phase(), vbd_phase()]);
    summary.facts.forecast = Some(ForecastFacts {
        from: "the tuning run 20261116-0829-77aa".to_owned(),
        tasks: 2857,
        work_seconds: 41.0,
        seconds: 20.5,
        fact: (1904, 26.0, 13.8),
    });
    summary
}

/// Two tiles, of which the second differs in G1.
pub(crate) fn two_items() -> StudySummary {
    let mut phase = moat_phase();
    phase.values = vec![phase.values[0].clone(), phase.values[0].clone()];
    phase.each = vec![
        phase.pooled.clone(),
        Indices::Moat(vec![effects(0.0, 0.1, 0.01, 0.0); 4]),
    ];
    let mut summary = study("nuclei-moat", vec![phase]);
    summary.items = vec![item("0"), item("1")];
    summary
}

/// Three tiles, of which the second has no value and the third a single one.
pub(crate) fn failed_items() -> StudySummary {
    let mut summary = two_items();
    let phase = &mut summary.phases[0];
    let nothing = MoatRow {
        mu: None,
        mu_star: None,
        mu_star_conf: None,
        sigma: None,
        used: 0,
        lost: 40,
        steps: None,
        no_step: 0,
    };
    phase.each[1] = Indices::Moat(vec![nothing; 4]);
    phase.each.push(phase.each[1].clone());
    phase.values = vec![phase.values[0].clone(), vec![None; 200], vec![None; 200]];
    phase.values[2][7] = Some(0.5);
    for (item, set) in [1, 2]
        .into_iter()
        .flat_map(|item| (0..200).map(move |set| (item, set)))
    {
        if phase.values[item][set].is_none() {
            let why = "segment.find: the program exited with code 3".to_owned();
            phase.failed.push(FailedEvaluation { set, item, why });
        }
    }
    summary.items.push(item("2"));
    summary
}

/// Three evaluations failed, which cost G1 five effects; of T2 nothing is known.
pub(crate) fn with_failures() -> StudySummary {
    let mut summary = moat();
    let phase = &mut summary.phases[0];
    for set in [12, 13, 77] {
        phase.values[0][set] = None;
        phase.failed.push(FailedEvaluation {
            set,
            item: 0,
            why: format!("segment.find[{set}]: the program exited with code 3\nand said much more"),
        });
    }
    if let Indices::Moat(rows) = &mut phase.pooled {
        (rows[0].used, rows[0].lost) = (35, 5);
        rows[3] = MoatRow {
            mu: None,
            mu_star: None,
            mu_star_conf: None,
            sigma: None,
            used: 0,
            lost: 40,
            no_step: 0,
            steps: None,
        };
    }
    let find = &mut summary.facts.tasks[0];
    (find.tally.executed, find.tally.failed, find.unmet) = (997, 3, 3);
    let separate = &mut summary.facts.tasks[1];
    (separate.tally.executed, separate.tally.blocked) = (901, 3);
    separate.unmet = 3;
    summary
}

/// Stopped by somebody after 80 of 200 sets.
pub(crate) fn stopped() -> StudySummary {
    let mut summary = moat();
    let phase = &mut summary.phases[0];
    phase.values[0].truncate(80);
    (phase.sets, phase.groups) = (80, 16);
    summary.facts.stopped = true;
    let separate = &mut summary.facts.tasks[1];
    (separate.tally.executed, separate.tally.cut_off) = (300, 157);
    separate.unmet = 1500;
    separate.seconds = 6.0;
    summary
}

//! How far a study is, and its answer so far: a few lines that are drawn anew on a terminal, plain lines elsewhere.
//!
//! Law: what is drawn is a function of a snapshot, an answer and the size of the terminal, and no line of it is wider
//! than the terminal. Answers are computed in at most a tenth of the time, and never hold up what else is shown.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use headwater::Progress;
use headwater::progress::{LiveAnswer, Snapshot, StudySnapshot};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::watching::ProgressKind;
use crate::{events, figures, progress, show};

/// How many parameters are shown at most, drawn and in a plain line.
const SHOWN: (usize, usize) = (5, 3);
/// How often it is looked whether there is a line to be said.
const LOOK: Duration = Duration::from_millis(50);
/// Between two answers, at least.
const PAUSE: Duration = Duration::from_millis(500);
/// For each second that an answer takes, so many are waited until the next.
const REST: u32 = 10;
/// How wide a bar is at most.
const BAR: usize = 24;
/// The size of a terminal that does not say: columns and lines.
const USUAL: (usize, usize) = (80, 24);

/// Shows the progress until the study is over.
pub(crate) fn show(progress: &Progress, kind: ProgressKind) -> Option<JoinHandle<()>> {
    let progress = progress.clone();
    let thread = Builder::new().name("headwater-progress".to_owned());
    let shown = match kind {
        ProgressKind::None => return None,
        ProgressKind::Json => thread.spawn(move || follow(&progress)),
        ProgressKind::Bars if progress::bars() => thread.spawn(move || draw(&progress)),
        ProgressKind::Bars | ProgressKind::Lines => thread.spawn(move || tell(&progress)),
    };
    shown.ok()
}

/// For programs. The last answer is that of all that is there.
fn follow(progress: &Progress) {
    let answers = Answers::begin(progress);
    events::follow(|| {
        let snapshot = progress.snapshot();
        let answer = if snapshot.over {
            answers.over.store(true, Ordering::Relaxed);
            progress.answer()
        } else {
            answers.of(phase(&snapshot))
        };
        events::of(snapshot, answer.as_ref())
    });
}

/// Answers, computed on a thread of their own, so that nothing waits for them.
struct Answers {
    /// The phase that is shown.
    phase: AtomicUsize,
    /// Nobody looks any more.
    over: AtomicBool,
    /// The latest, and the phase that was shown when it was begun.
    latest: Mutex<Option<(usize, LiveAnswer)>>,
}

impl Answers {
    fn begin(progress: &Progress) -> Arc<Answers> {
        let answers = Arc::new(Answers {
            phase: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            latest: Mutex::new(None),
        });
        let (own, progress) = (Arc::clone(&answers), progress.clone());
        // Without the thread there is no answer before the end.
        let _ = Builder::new()
            .name("headwater-answer".to_owned())
            .spawn(move || own.compute(&progress));
        answers
    }

    fn compute(&self, progress: &Progress) {
        let mut next = Instant::now() + PAUSE;
        while !self.over.load(Ordering::Relaxed) {
            if Instant::now() < next {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            }
            let (phase, began) = (self.phase.load(Ordering::Relaxed), Instant::now());
            let answer = progress.answer();
            next = Instant::now() + rest(began.elapsed());
            let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            *latest = answer.map(|answer| (phase, answer));
        }
    }

    /// The latest one, if it is of this phase.
    fn of(&self, phase: usize) -> Option<LiveAnswer> {
        self.phase.store(phase, Ordering::Relaxed);
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, answer) = latest.as_ref()?;
        (*of == phase).then(|| answer.clone())
    }
}

/// How long to wait after an answer that took so long.
fn rest(took: Duration) -> Duration {
    (took * REST).max(PAUSE)
}

fn draw(progress: &Progress) {
    let target = ProgressDrawTarget::stderr_with_hz(10);
    let style = ProgressStyle::with_template("{msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = ProgressBar::with_draw_target(None, target).with_style(style);
    let answers = Answers::begin(progress);
    loop {
        let snapshot = progress.snapshot();
        for line in &snapshot.news {
            bar.println(line.to_string());
        }
        if snapshot.over {
            answers.over.store(true, Ordering::Relaxed);
            bar.finish_and_clear();
            return;
        }
        let answer = answers.of(phase(&snapshot));
        let lines = frame(&snapshot, answer.as_ref(), size());
        bar.set_message(painted(&lines.join("\n"), show::colours()));
        bar.tick();
        std::thread::sleep(Duration::from_millis(80));
    }
}

/// Bars in colour, where colours are wanted.
fn painted(text: &str, colours: bool) -> String {
    let is_bar = |c: char| c == '━' || ('█'..='▏').contains(&c);
    let mut out = String::with_capacity(text.len());
    let mut in_bar = false;
    for c in text.chars() {
        if colours && is_bar(c) != in_bar {
            in_bar = !in_bar;
            out.push_str(if in_bar { "\u{1b}[36m" } else { "\u{1b}[0m" });
        }
        out.push(c);
    }
    if in_bar {
        out.push_str("\u{1b}[0m");
    }
    out
}

/// Columns and lines of the terminal.
fn size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    let size = size.map(|(width, height)| (usize::from(width.0), usize::from(height.0)));
    size.filter(|(width, height)| *width > 0 && *height > 0)
        .unwrap_or(USUAL)
}

/// Which phase goes on; 0 before the first.
fn phase(snapshot: &Snapshot) -> usize {
    snapshot.study.as_ref().map_or(0, |study| study.phase)
}

/// How many tasks end in a second, once that can be said.
fn rate(snapshot: &Snapshot) -> Option<f64> {
    let (ended, seconds) = (snapshot.tally.ended(), snapshot.elapsed.as_secs_f64());
    (ended > 0 && seconds > 0.2).then(|| ended as f64 / seconds)
}

fn rate_text(rate: f64) -> String {
    match rate {
        rate if rate < 10.0 => format!("{rate:.1} tasks/s"),
        rate => format!("{} tasks/s", show::grouped(rate.round() as usize)),
    }
}

/// Rate and time left, as far as known.
fn pace(snapshot: &Snapshot) -> Vec<String> {
    let Some(rate) = rate(snapshot) else {
        return Vec::new();
    };
    let mut parts = vec![rate_text(rate)];
    let left = snapshot.tally.left();
    if left > 0 {
        parts.push(format!("{} left", rough(left as f64 / rate)));
    }
    parts
}

/// A time that is a guess: whole seconds are enough.
fn rough(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1.0 => "1 s".to_owned(),
        seconds if seconds < 59.5 => format!("{seconds:.0} s"),
        seconds => show::duration(seconds),
    }
}

fn evaluated(study: &StudySnapshot) -> String {
    format!(
        "{} of {} evaluated",
        show::grouped(study.evaluated),
        show::grouped(study.evaluations)
    )
}

/// The lines that a terminal of this size shows.
fn frame(
    snapshot: &Snapshot,
    answer: Option<&LiveAnswer>,
    (width, height): (usize, usize),
) -> Vec<String> {
    // What is as wide as the terminal makes some of them begin a new line.
    let width = width.saturating_sub(1);
    let begun = snapshot.study.as_ref().filter(|study| study.phase > 0);
    let Some(study) = begun else {
        return vec![show::shortened("preparing", width)];
    };
    let mut lines = Vec::new();
    if study.phases > 1 {
        let (phase, phases) = (study.phase, study.phases);
        lines.push(format!("phase {phase} of {phases}: {}", study.method));
    }
    lines.push(tasks_line(snapshot, width));
    let mut parts = vec![evaluated(study)];
    if snapshot.running > 0 {
        parts.push(format!("{} running", show::grouped(snapshot.running)));
    }
    if study.failed > 0 {
        parts.push(format!("{} failed", show::grouped(study.failed)));
    }
    lines.push(parts.join(", "));
    if let Some(answer) = answer {
        lines.extend(answer_lines(answer, width));
    }
    lines.truncate(height.saturating_sub(1).max(1));
    let lines = lines.into_iter();
    lines.map(|line| show::shortened(&line, width)).collect()
}

/// A bar that takes the room that figures leave.
fn tasks_line(snapshot: &Snapshot, width: usize) -> String {
    let (ended, planned) = (snapshot.tally.ended(), snapshot.tally.planned);
    let mut parts = vec![format!(
        "{}/{} tasks",
        show::grouped(ended),
        show::grouped(planned)
    )];
    parts.extend(pace(snapshot));
    let wide = |parts: &[String]| show::width(&parts.join(", ")) > width;
    // The time that is left is the last to go.
    while parts.len() > 1 && wide(&parts) {
        parts.remove(1);
    }
    let text = parts.join(", ");
    let room = width.saturating_sub(show::width(&text) + 1).min(BAR);
    if room < 6 || planned == 0 {
        return text;
    }
    let done = room * ended / planned;
    format!("{}{} {text}", "━".repeat(done), "─".repeat(room - done))
}

/// A heading, and the largest parameters.
fn answer_lines(answer: &LiveAnswer, width: usize) -> Vec<String> {
    let heading = format!(
        "so far, {} from {}:",
        answer.index,
        show::count(answer.evaluated, "evaluation")
    );
    let shown = &answer.sizes[..answer.sizes.len().min(SHOWN.0)];
    let values: Vec<_> = shown
        .iter()
        .map(|(_, size, half)| (Some(*size), *half))
        .collect();
    let values = figures::with_intervals(&values);
    let value_width = values.iter().map(|value| show::width(value)).max();
    let value_width = value_width.unwrap_or(0);
    let longest = shown.iter().map(|(name, ..)| show::width(name)).max();
    // A long name makes room for its value.
    let name_width = width.saturating_sub(2 + 2 + value_width).max(4);
    let name_width = longest.unwrap_or(0).min(name_width);
    let room = width
        .saturating_sub(2 + name_width + 2 + value_width + 2)
        .min(BAR);
    let largest = shown.first().map_or(0.0, |(_, size, _)| *size);
    let line = |((name, size, _), value): (&(Arc<str>, f64, Option<f64>), &String)| {
        let name = show::padded(&show::shortened(name, name_width), name_width);
        let bar = match room {
            0..6 => String::new(),
            room => figures::bar(size / largest, room),
        };
        let line = format!("  {name}  {value:value_width$}  {bar}");
        line.trim_end().to_owned()
    };
    let rows = shown.iter().zip(&values).map(line);
    std::iter::once(heading).chain(rows).collect()
}

fn tell(progress: &Progress) {
    let mut last = Instant::now();
    let mut said = None;
    let mut pause = progress::FIRST_PAUSE;
    loop {
        let snapshot = progress.snapshot();
        let news = snapshot.news.iter();
        news.for_each(|news| show::talk(&news.to_string()));
        if snapshot.over {
            return;
        }
        let Some(study) = snapshot.study.as_ref().filter(|study| study.phase > 0) else {
            std::thread::sleep(LOOK);
            continue;
        };
        let now = (study.phase, snapshot.tally.ended(), study.evaluated);
        if last.elapsed() >= pause && said != Some(now) {
            let began = Instant::now();
            let answer = progress.answer();
            let took = began.elapsed();
            show::talk(&line(&snapshot, study, answer.as_ref()));
            (last, said) = (Instant::now(), Some(now));
            pause = progress::longer(pause).max(rest(took));
        }
        std::thread::sleep(LOOK);
    }
}

/// All in one line.
fn line(snapshot: &Snapshot, study: &StudySnapshot, answer: Option<&LiveAnswer>) -> String {
    let mut parts = vec![evaluated(study)];
    if study.failed > 0 {
        parts.push(format!("{} failed", show::grouped(study.failed)));
    }
    parts.extend(pace(snapshot));
    let phase = if study.phases > 1 {
        format!("phase {} of {}: ", study.phase, study.phases)
    } else {
        String::new()
    };
    let mut text = format!("{phase}{}", parts.join(", "));
    if let Some(answer) = answer {
        let shown = answer.sizes.iter().take(SHOWN.1);
        let shown: Vec<String> = shown
            .map(|(name, size, half)| {
                format!(
                    "{name} {} ± {}",
                    figures::significant(*size, 3),
                    figures::perhaps(*half, 2)
                )
            })
            .collect();
        text.push_str(&format!("; so far {}: {}", answer.index, shown.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use headwater::runs::Tally;
    use insta::assert_snapshot;

    use super::*;

    fn tally(planned: usize, ended: usize) -> Tally {
        Tally {
            tasks: planned,
            planned,
            executed: ended,
            ..Tally::default()
        }
    }

    fn study() -> StudySnapshot {
        StudySnapshot {
            phase: 1,
            phases: 1,
            method: "MOAT, 40 random trajectories, 20 levels".to_owned(),
            evaluations: 640,
            evaluated: 312,
            failed: 0,
        }
    }

    fn snapshot(study: StudySnapshot) -> Snapshot {
        Snapshot {
            study: Some(study),
            tally: tally(1968, 1640),
            running: 2,
            elapsed: Duration::from_secs(40),
            ..Snapshot::default()
        }
    }

    fn answer() -> LiveAnswer {
        let size = |name: &str, size: f64, half: Option<f64>| (Arc::from(name), size, half);
        LiveAnswer {
            index: "mu*",
            evaluated: 312,
            sizes: vec![
                size("G2", 0.4123, Some(0.0501)),
                size("G1", 0.31, Some(0.0612)),
                size("T2", 0.0213, Some(0.0099)),
                size("MinSizeSegmented", 0.0021, None),
                size("R", 0.0, Some(0.0)),
                size("B", 0.0, Some(0.0)),
            ],
        }
    }

    fn drawn(snapshot: &Snapshot, size: (usize, usize)) -> String {
        frame(snapshot, Some(&answer()), size).join("\n")
    }

    #[test]
    fn a_frame() {
        assert_snapshot!(drawn(&snapshot(study()), (80, 24)), @"
        ━━━━━━━━━━━━━━━━━━━━──── 1,640/1,968 tasks, 41 tasks/s, 8 s left
        312 of 640 evaluated, 2 running
        so far, mu* from 312 evaluations:
          G2                0.412   ± 0.050   ████████████████████████
          G1                0.310   ± 0.061   ██████████████████
          T2                0.0213  ± 0.0099  █▎
          MinSizeSegmented  0.00210 ± -       ▏
          R                 0       ± 0
        ");
    }

    #[test]
    fn a_frame_of_the_second_phase_with_failures() {
        let snapshot = snapshot(StudySnapshot {
            phase: 2,
            phases: 2,
            method: "VBD, 64 base points (Sobol')".to_owned(),
            failed: 3,
            ..study()
        });
        assert_snapshot!(frame(&snapshot, None, (100, 24)).join("\n"), @"
        phase 2 of 2: VBD, 64 base points (Sobol')
        ━━━━━━━━━━━━━━━━━━━━──── 1,640/1,968 tasks, 41 tasks/s, 8 s left
        312 of 640 evaluated, 2 running, 3 failed
        ");
    }

    #[test]
    fn a_narrow_frame() {
        assert_snapshot!(drawn(&snapshot(study()), (32, 24)), @"
        1,640/1,968 tasks, 8 s left
        312 of 640 evaluated, 2 running
        so far, mu* from 312 evaluatio…
          G2           0.412   ± 0.050
          G1           0.310   ± 0.061
          T2           0.0213  ± 0.0099
          MinSizeSeg…  0.00210 ± -
          R            0       ± 0
        ");
    }

    #[test]
    fn before_anything_has_ended() {
        let begun = Snapshot {
            tally: tally(1968, 0),
            ..snapshot(StudySnapshot {
                evaluated: 0,
                ..study()
            })
        };
        assert_snapshot!(frame(&begun, None, (80, 24)).join("\n"), @"
        ──────────────────────── 0/1,968 tasks
        0 of 640 evaluated, 2 running
        ");
        let nothing = frame(&Snapshot::default(), None, (80, 24));
        assert_eq!(nothing, ["preparing"]);
        let all_known = Snapshot {
            tally: Tally::default(),
            running: 0,
            ..begun
        };
        let lines = frame(&all_known, None, (80, 24));
        assert_eq!(lines, ["0/0 tasks", "0 of 640 evaluated"]);
    }

    #[test]
    fn nothing_wraps_on_a_terminal_of_any_size() {
        let snapshot = snapshot(StudySnapshot {
            phases: 2,
            failed: 12,
            ..study()
        });
        for width in 1..150 {
            for height in [1, 2, 5, 24] {
                let lines = frame(&snapshot, Some(&answer()), (width, height));
                assert!(lines.len() < height.max(2), "{width} x {height}: {lines:?}");
                for line in lines {
                    assert!(line.chars().count() < width.max(2), "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn bars_are_painted_and_nothing_else() {
        let text = "━━── 1\n  G2  0.4  █▌";
        assert_eq!(painted(text, false), text);
        assert_eq!(
            painted(text, true),
            "\u{1b}[36m━━\u{1b}[0m── 1\n  G2  0.4  \u{1b}[36m█▌\u{1b}[0m"
        );
    }

    #[test]
    fn bars_of_tasks_are_never_longer_than_their_room() {
        let all = Snapshot {
            tally: tally(1968, 1968),
            ..snapshot(study())
        };
        let line = tasks_line(&all, 79);
        assert_eq!(
            line,
            format!("{} 1,968/1,968 tasks, 49 tasks/s", "━".repeat(24))
        );
    }

    #[test]
    fn lines() {
        let line = |study: StudySnapshot, ended: usize, answer: Option<&LiveAnswer>| {
            let snapshot = Snapshot {
                tally: tally(1968, ended),
                ..snapshot(study.clone())
            };
            line(&snapshot, &study, answer)
        };
        let second = StudySnapshot {
            phase: 2,
            phases: 2,
            failed: 3,
            ..study()
        };
        let begun = StudySnapshot {
            evaluated: 0,
            ..study()
        };
        let told = [
            line(study(), 1640, Some(&answer())),
            line(second, 20, None),
            line(begun, 0, None),
        ];
        assert_snapshot!(told.join("\n"), @"
        312 of 640 evaluated, 41 tasks/s, 8 s left; so far mu*: G2 0.412 ± 0.050, G1 0.310 ± 0.061, T2 0.0213 ± 0.0099
        phase 2 of 2: 312 of 640 evaluated, 3 failed, 0.5 tasks/s, 1 h 04 min left
        0 of 640 evaluated
        ");
    }

    #[test]
    fn answers_take_a_tenth_of_the_time() {
        assert_eq!(rest(Duration::from_millis(1)), PAUSE);
        assert_eq!(rest(Duration::from_millis(49)), PAUSE);
        assert_eq!(rest(Duration::from_millis(700)), Duration::from_secs(7));
    }

    #[test]
    fn answers_of_another_phase_are_not_shown() {
        let answers = Answers {
            phase: AtomicUsize::new(1),
            over: AtomicBool::new(false),
            latest: Mutex::new(Some((1, answer()))),
        };
        assert_eq!(answers.of(1), Some(answer()));
        assert_eq!(answers.of(2), None);
        assert_eq!(answers.phase.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn showing_ends_with_the_study() {
        let progress = Progress::default();
        assert!(show(&progress, ProgressKind::None).is_none());
        progress.finish();
        for kind in [ProgressKind::Bars, ProgressKind::Lines, ProgressKind::Json] {
            let thread = show(&progress, kind).expect("a thread");
            thread.join().expect("no panic");
        }
    }
}

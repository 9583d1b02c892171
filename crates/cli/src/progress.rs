//! How far a run is: bars on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use headwater::Progress;
use headwater::progress::{Snapshot, StageSnapshot};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::watching::ProgressKind;
use crate::{events, show};

/// Shows the progress until the run is over.
pub(crate) fn show(progress: &Progress, kind: ProgressKind) -> Option<JoinHandle<()>> {
    let progress = progress.clone();
    let thread = std::thread::Builder::new().name("headwater-progress".to_owned());
    let shown = match kind {
        ProgressKind::None => return None,
        ProgressKind::Json => {
            thread.spawn(move || events::follow(|| events::of(progress.snapshot(), None)))
        }
        ProgressKind::Bars if bars() => thread.spawn(move || draw(&progress)),
        ProgressKind::Bars | ProgressKind::Lines => thread.spawn(move || tell(&progress)),
    };
    shown.ok()
}

/// How far a command is that counts its own steps.
pub(crate) struct Steps {
    noun: &'static str,
    count: usize,
    done: usize,
    began: Instant,
    shown: Shown,
}

enum Shown {
    Nothing,
    Bar(ProgressBar),
    /// When the last line was said, and how long to wait until the next.
    Lines(Instant, Duration),
}

impl Steps {
    pub(crate) fn new(name: &str, noun: &'static str, count: usize, quiet: bool) -> Steps {
        let began = Instant::now();
        let shown = if quiet {
            Shown::Nothing
        } else if bars() {
            let target = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(Some(count as u64), target);
            bar.set_style(style(show::colours()));
            bar.set_prefix(name.to_owned());
            bar.tick();
            Shown::Bar(bar)
        } else {
            Shown::Lines(began, FIRST_PAUSE)
        };
        Steps {
            noun,
            count,
            done: 0,
            began,
            shown,
        }
    }

    /// So many more are done.
    pub(crate) fn advance(&mut self, more: usize) {
        self.done += more;
        let rate = self.done as f64 / self.began.elapsed().as_secs_f64().max(0.001);
        let left = show::duration((self.count - self.done.min(self.count)) as f64 / rate);
        match &mut self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => {
                bar.set_message(format!("{rate:.1}/s, {left} left"));
                bar.set_position(self.done as u64);
            }
            Shown::Lines(last, pause) => {
                if last.elapsed() >= *pause && self.done < self.count {
                    show::talk(&format!(
                        "{} of {} done, {rate:.1}/s, {left} left",
                        show::grouped(self.done),
                        show::count(self.count, self.noun)
                    ));
                    *last = Instant::now();
                    *pause = longer(*pause);
                }
            }
        }
    }

    /// All are done.
    pub(crate) fn finish(self) {
        if let Shown::Bar(bar) = self.shown {
            bar.finish_and_clear();
        }
    }
}

/// How long the first plain line is waited for.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(2);

/// A log of a long run stays readable.
pub(crate) fn longer(pause: Duration) -> Duration {
    (pause * 2).min(Duration::from_secs(60))
}

/// Whether stderr takes bars.
pub(crate) fn bars() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn style(colours: bool) -> ProgressStyle {
    let template = if colours {
        "{prefix:.bold} {bar:24.cyan/blue} {pos:>6}/{len:<6} {msg}"
    } else {
        "{prefix} {bar:24} {pos:>6}/{len:<6} {msg}"
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━╸─")
}

fn draw(progress: &Progress) {
    let group = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    let mut bars: Vec<ProgressBar> = Vec::new();
    loop {
        let snapshot = progress.snapshot();
        let width = snapshot
            .stages
            .iter()
            .map(|stage| show::width(&stage.name))
            .max()
            .unwrap_or(0);
        for stage in snapshot.stages.iter().skip(bars.len()) {
            let bar = group.add(ProgressBar::new(0).with_style(style(show::colours())));
            bar.set_prefix(show::padded(&stage.name, width));
            bars.push(bar);
        }
        for line in &snapshot.news {
            let _ = group.println(line.to_string());
        }
        for (bar, stage) in bars.iter().zip(&snapshot.stages) {
            bar.set_length(stage.tally.planned as u64);
            bar.set_position(stage.tally.ended() as u64);
            bar.set_message(message(stage, snapshot.elapsed));
        }
        if snapshot.over {
            bars.iter().for_each(ProgressBar::abandon);
            return;
        }
        std::thread::sleep(Duration::from_millis(80));
    }
}

fn message(stage: &StageSnapshot, elapsed: Duration) -> String {
    let mut parts = Vec::new();
    let tally = &stage.tally;
    if tally.planned == 0 {
        return "nothing to do".to_owned();
    }
    let (ended, left) = (tally.ended(), tally.left());
    let seconds = elapsed.as_secs_f64();
    if ended > 0 && left > 0 && seconds > 0.2 {
        let rate = ended as f64 / seconds;
        parts.push(format!("{rate:.1}/s"));
        parts.push(format!("{} left", show::duration(left as f64 / rate)));
    }
    if stage.running > 0 {
        parts.push(format!("{} running", stage.running));
    }
    if tally.blocked > 0 {
        parts.push(format!("{} cannot run", tally.blocked));
    }
    if tally.failed > 0 {
        parts.push(show::paint(&format!("{} failed", tally.failed), "31"));
    }
    parts.join(", ")
}

fn tell(progress: &Progress) {
    let mut last = Instant::now();
    let mut said = usize::MAX;
    let mut pause = FIRST_PAUSE;
    loop {
        let snapshot = progress.snapshot();
        let news = snapshot.news.iter();
        news.for_each(|news| show::talk(&news.to_string()));
        let ended = snapshot.tally.ended();
        if snapshot.over {
            return;
        }
        if last.elapsed() >= pause && ended != said {
            show::talk(&line(&snapshot));
            last = Instant::now();
            said = ended;
            pause = longer(pause);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn line(snapshot: &Snapshot) -> String {
    let tally = &snapshot.tally;
    let (ended, planned, failed) = (tally.ended(), tally.planned, tally.failed);
    let seconds = snapshot.elapsed.as_secs_f64();
    let rate = ended as f64 / seconds.max(0.001);
    let mut text = format!(
        "{} of {} done, {rate:.1}/s",
        show::grouped(ended),
        show::count(planned, "task")
    );
    if rate > 0.0 && ended < planned {
        text.push_str(&format!(
            ", {} left",
            show::duration((planned - ended) as f64 / rate)
        ));
    }
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    text
}

//! `headwater run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use headwater::graph::Registry;
use headwater::json::output_value;
use headwater::runs::{Delivered, FailedTask, OutputItem, Parallelism, alike};
use headwater::{
    DataSource, Destination, DryRun, Error, RunReport, RunRequest, Setting, Site, StorePlace,
};
use serde_json::json;

use crate::arguments::Common;
use crate::arguments::run::Run;
use crate::arguments::watching::ProgressKind;
use crate::watching::watched;
use crate::{progress, show};

pub(crate) fn run(options: &Run, common: &Common, libraries: &Registry) -> Result<ExitCode, Error> {
    let site = site(common, libraries)?.with_limits(options.work.limits());
    let request = request(options);
    if options.dry_run {
        if options.watching.kind(common.json) == ProgressKind::Json {
            show::as_events();
        }
        let plan = site.dry_run(&request)?;
        show_plan(&plan, common.json);
        let code = show::settled(0);
        if show::events() {
            show::event(&json!({"event": "end", "status": "done", "exit": code}));
        }
        return Ok(ExitCode::from(code));
    }
    tell_new_store(&options.flow, common, site.folder());
    let (report, _) = watched(
        &options.watching,
        common.json,
        progress::show,
        |progress, stop| {
            let site = site.with_progress(progress).with_stop(stop);
            site.run(&request)
        },
        RunReport::status,
    )?;
    let code = u8::from(!report.succeeded());
    if !show::events() && !common.json {
        tell_report(&report);
    }
    if common.json {
        show::object(&report.json());
    } else {
        show_report(&report);
    }
    let code = show::settled(code);
    if show::events() {
        tell_end(&report, code);
    }
    Ok(ExitCode::from(code))
}

pub(crate) fn current_folder() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(|source| Error::Io {
        what: "cannot find the current folder",
        path: ".".into(),
        source,
    })
}

/// Tells where a store is to be made, if that may surprise: nobody named it, and the file lies in another folder, from
/// where another store may be in use.
pub(crate) fn tell_new_store(file: &Path, common: &Common, current: &Path) {
    let place = place(common);
    if place.url.is_some() || place.read_only {
        return;
    }
    let Ok(folder) = place.folder(current) else {
        return;
    };
    let file = current.join(file);
    let beside = file.parent().unwrap_or(current);
    let is_here = beside.canonicalize().ok() == current.canonicalize().ok();
    if folder.exists() || !file.is_file() || is_here {
        return;
    }
    let other = place.folder(beside).ok().filter(|other| other.exists());
    let other = other.map_or_else(String::new, |other| {
        let other = other.canonicalize().unwrap_or(other);
        format!(
            "; what `{}` remembers is not used from here, unless --store names it",
            other.display()
        )
    });
    show::talk(&format!("new store: {}{other}", folder.display()));
}

pub(crate) fn place(common: &Common) -> StorePlace {
    StorePlace {
        url: common.store.clone(),
        read_only: common.read_only,
        trust: common.trust.clone(),
        wait: common.wait_for_store,
        ..StorePlace::default()
    }
}

/// Where a command is given, with its store and libraries.
pub(crate) fn site(common: &Common, libraries: &Registry) -> Result<Site, Error> {
    let site = Site::new(current_folder()?).with_store(place(common));
    Ok(site.with_libraries(libraries.clone()))
}

/// What `--set` said.
pub(crate) fn settings(written: &[String]) -> Vec<Setting> {
    written.iter().cloned().map(Setting::Written).collect()
}

fn request(options: &Run) -> RunRequest {
    RunRequest {
        flow: options.flow.clone().into(),
        inputs: options.inputs.clone().map(DataSource::from),
        settings: settings(&options.set),
        parallelism: Parallelism {
            workflow: !options.no_workflow_parallelism,
            data: !options.no_data_parallelism,
            pipelining: !options.no_pipelining,
        },
        outputs: (options.output.clone()).map_or(Destination::Outputs, Destination::Folder),
        command: show::command(),
        holds_folder: true,
    }
}

fn show_plan(plan: &DryRun, as_json: bool) {
    if as_json {
        show::object(&plan.json());
        return;
    }
    for (file, text, diagnostics) in &plan.diagnostics {
        show::diagnostics(file, text, diagnostics);
    }
    plan.notes.iter().for_each(|note| show::note(note));
    let head = ["stage", "tasks", "to run", "reused", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for stage in &plan.stages {
        let more = if plan.open.contains(&stage.name) {
            "more once the stages before have run"
        } else {
            ""
        };
        rows.push(vec![
            stage.name.to_string(),
            show::grouped(stage.tasks),
            show::grouped(stage.execute),
            show::grouped(stage.tasks - stage.execute),
            more.to_owned(),
        ]);
    }
    rows.push(vec![
        "all".to_owned(),
        show::grouped(plan.tasks),
        show::grouped(plan.execute),
        show::grouped(plan.tasks - plan.execute),
    ]);
    for line in show::columns(&rows, &[1, 2, 3]) {
        show::line(&line);
    }
    if plan.cut_off > 0 {
        show::line(&format!(
            "of these {} are new, but read the same contents as before",
            show::grouped(plan.cut_off)
        ));
    }
    if plan.execute > 0 && plan.tasks > 0 {
        show::talk(
            "\"to run\" is an upper limit: a task whose inputs turn out to be unchanged is not run",
        );
    }
    if plan.restore > 0 {
        show::line(&format!(
            "{} ({}) to bring back from the store",
            show::count(plan.restore, "product"),
            show::size(plan.restore_bytes)
        ));
    }
    show::talk("nothing was executed (--dry-run)");
}

/// The last events of a run. Failures have been told, and all of them are in `failures.txt`.
fn tell_end(report: &RunReport, code: u8) {
    for (file, text, diagnostics) in &report.diagnostics {
        show::diagnostics(file, text, diagnostics);
    }
    report.notes.iter().for_each(|note| show::note(note));
    report.errors.iter().for_each(|error| show::trouble(error));
    show::event(&report.end_json(code));
}

/// What a person is told on stderr.
fn tell_report(report: &RunReport) {
    for (file, text, diagnostics) in &report.diagnostics {
        show::diagnostics(file, text, diagnostics);
    }
    report.notes.iter().for_each(|note| show::note(note));
    let kinds = alike(&report.failures);
    for kind in kinds.iter().take(5) {
        show_failure(kind[0]);
        if kind.len() > 1 {
            let tasks = show::count(kind.len() - 1, "more task");
            show::talk(&format!("  … and {tasks} failed alike"));
        }
    }
    let shown: usize = kinds.iter().take(5).map(Vec::len).sum();
    let untold = report.failures.len() - shown;
    let all = report.folder.join("failures.txt");
    if untold > 0 {
        show::talk(&format!(
            "… and {}; all of them are in {}",
            show::count(untold, "more failure"),
            all.display()
        ));
    } else if kinds.len() < report.failures.len() {
        show::talk(&format!("all failures are in {}", all.display()));
    }
    report.errors.iter().for_each(|error| show::trouble(error));
}

/// What a person is told on stdout.
fn show_report(report: &RunReport) {
    let counts = &report.counts;
    let mut line = format!(
        "run {}: {}, {} executed, {} reused",
        report.run,
        show::count(counts.tasks, "task"),
        show::grouped(counts.executed),
        show::grouped(counts.reused)
    );
    if counts.cut_off > 0 {
        line.push_str(&format!(
            ", {} cut off (same contents as before)",
            show::grouped(counts.cut_off)
        ));
    }
    if counts.failed > 0 {
        line.push_str(&format!(", {} failed", show::grouped(counts.failed)));
    }
    if counts.blocked > 0 {
        line.push_str(&format!(
            ", {} not run because of that",
            show::grouped(counts.blocked)
        ));
    }
    if report.left > 0 {
        line.push_str(&format!(", {} not reached", show::grouped(report.left)));
    }
    if counts.recomputed > 0 {
        line.push_str(&format!(
            ", {} run again to restore what was gone",
            show::grouped(counts.recomputed)
        ));
    }
    line.push_str(&format!(", {}", show::duration(report.seconds)));
    if report.stopped {
        line.push_str("; stopped before it was done: the same command continues it");
    }
    show::prose(&line);
    for (name, items) in &report.outputs {
        show::line(&format!("  {}", output_line(name, items, report)));
    }
    if let Some(page) = &report.report {
        show::line(&format!("report: {}", shortened(page, report)));
    }
}

/// A path below the folder of the outputs, from where the user stands.
fn shortened(path: &Path, report: &RunReport) -> String {
    let current = std::env::current_dir().ok();
    let folder = current.and_then(|current| report.folder.strip_prefix(current).ok());
    let folder = folder.unwrap_or(&report.folder);
    let inside = path.strip_prefix(&report.folder).unwrap_or(path);
    folder.join(inside).display().to_string()
}

fn output_line(name: &str, items: &[OutputItem], report: &RunReport) -> String {
    let short = |path: &Path| shortened(path, report);
    match items {
        [] => format!("{name}: nothing"),
        [
            OutputItem {
                what: Delivered::Value(given),
                ..
            },
        ] => format!("{name} = {}", cut(&output_value(given).to_string(), 200)),
        [
            OutputItem {
                what: Delivered::Path(path),
                ..
            },
        ] => format!("{name}: {}", short(path)),
        several => match &several[0].what {
            Delivered::Path(path) => {
                let parent = path.parent().unwrap_or(path);
                format!(
                    "{name}: {} in {}/",
                    show::count(several.len(), "file"),
                    short(parent)
                )
            }
            Delivered::Value(_) => {
                format!(
                    "{name}: {} in {}",
                    show::count(several.len(), "value"),
                    short(&report.folder.join("outputs.csv"))
                )
            }
        },
    }
}

pub(crate) fn show_failure(failed: &FailedTask) {
    let description = failed.description();
    let description = headwater::text::printable(&description);
    let (head, rest) = description.split_once('\n').unwrap_or((&description, ""));
    show::talk(&format!("{} {head}", show::paint("failed:", "1;31")));
    for line in rest.lines() {
        show::talk(&cut(line, 2000));
    }
}

/// The beginning of a text that may be far too long for a terminal; all of it is in the task's folder.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!(
            "{}… ({} bytes in all)",
            &text[..end],
            show::grouped(text.len())
        ),
        None => text.to_owned(),
    }
}

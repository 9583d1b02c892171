//! `headwater study run` and `headwater study report`.
//!
//! Law: the exit code is 0 if every evaluation has a value, and 1 if some have none or the run was stopped.

use std::process::ExitCode;

use headwater::graph::Registry;
use headwater::json::{StudyPageJson, path_text};
use headwater::study::{Bucketing, StudyReuse};
use headwater::{Document, Error, StudyReportRequest, StudyRun, StudyRunRequest};

use crate::arguments::Common;
use crate::arguments::study::{self, BucketKind, RunReuse, StudyReport};
use crate::run::{site, tell_new_store};
use crate::show;
use crate::study::plan::source;
use crate::study::{live, show as study_show};
use crate::watching::watched;

pub(crate) fn run(
    options: &study::StudyRun,
    common: &Common,
    libraries: &Registry,
) -> Result<ExitCode, Error> {
    let site = site(common, libraries)?.with_limits(options.work.limits());
    let current = site.folder().to_owned();
    tell_new_store(&options.study.file, common, &current);
    let request = request(options);
    let (done, _) = watched(
        &options.watching,
        common.json,
        live::show,
        |progress, stop| {
            let site = site.with_progress(progress).with_stop(stop);
            site.run_study(&request)
        },
        StudyRun::status,
    )?;
    let code = u8::from(!done.succeeded());
    if show::events() || !common.json {
        for file in &done.said {
            show::diagnostics(&file.file, &file.text, &file.diagnostics);
        }
    }
    if common.json {
        show::object(&done.json());
    } else {
        let folder = done.folder.strip_prefix(&current).unwrap_or(&done.folder);
        study_show::show_summary(&done.summary, folder);
    }
    if show::events() && common.json {
        let notes = done.summary.doubts.iter();
        let notes = notes.chain(&done.summary.facts.notes);
        notes.for_each(|note| show::note(note));
    }
    if show::events() || !common.json {
        done.errors.iter().for_each(|error| show::trouble(error));
    }
    let code = show::settled(code);
    if show::events() {
        show::event(&done.end_json(code));
    }
    Ok(ExitCode::from(code))
}

fn request(options: &study::StudyRun) -> StudyRunRequest {
    StudyRunRequest {
        study: source(&options.study),
        reuse: match options.reuse {
            RunReuse::None => StudyReuse::None,
            RunReuse::Stage => StudyReuse::Stage,
            RunReuse::Chain => StudyReuse::Chain,
            RunReuse::Graph => StudyReuse::Graph,
            RunReuse::Content => StudyReuse::Content,
        },
        buckets: options.buckets.map(|kind| match kind {
            BucketKind::Naive => Bucketing::Naive,
            BucketKind::Rtma => Bucketing::Rtma,
            BucketKind::Trtma => Bucketing::Trtma,
            BucketKind::Cost => Bucketing::Cost,
        }),
        max_bucket_size: options.bucket_size.map(|most| most as usize),
        max_buckets: options.max_buckets.map(|most| most as usize),
        deliver: options.deliver.clone(),
        outputs: options.output.clone(),
        command: show::command(),
        holds_folder: true,
    }
}

pub(crate) fn report(options: &StudyReport, common: &Common) -> Result<ExitCode, Error> {
    let site = site(common, &Registry::new())?;
    let current = site.folder();
    let request = StudyReportRequest {
        study: Document::File(options.study.clone()),
        run: (options.run != "last").then(|| options.run.clone()),
        output: options.output.clone(),
    };
    let (summary, path) = site.report_study(&request)?;
    if common.json {
        show::object(&StudyPageJson {
            study: summary.study,
            run: summary.facts.run,
            report: path_text(&path),
        });
    } else {
        let path = path.strip_prefix(current).unwrap_or(&path);
        show::line(&format!(
            "report of run {}: {}",
            summary.facts.run,
            path.display()
        ));
        let results = path.with_file_name("results.json");
        if options.output.is_none() && !results.is_file() {
            show::talk(
                "the report alone: `headwater study run` writes the other files again, from what is remembered",
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

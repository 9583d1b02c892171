//! Runs that people name.

use headwater_graph::{FoundRun, RunRecord, Store};

use crate::Error;

/// The runs of the same workflow that began before this one, the last one first.
pub fn runs_before(store: &dyn Store, run: &RunRecord) -> Result<Vec<RunRecord>, Error> {
    let runs = store.runs(usize::MAX)?;
    let earlier = runs.into_iter().skip_while(|other| other.id != run.id);
    Ok(earlier
        .skip(1)
        .filter(|other| other.workflow == run.workflow)
        .collect())
}

/// The run that a person means: `last`, an id, or the beginning of one; with `~1` the one before it of the same
/// workflow, and so on.
pub fn find_run(store: &dyn Store, text: &str) -> Result<RunRecord, Error> {
    if let Some((base, back)) = text.rsplit_once('~')
        && let Ok(back @ 1..) = back.parse::<usize>()
    {
        let run = find_run(store, base)?;
        let earlier = runs_before(store, &run)?.into_iter().nth(back - 1);
        return earlier.ok_or_else(|| {
            let place = match back {
                1 => "the first",
                _ => "one of the first",
            };
            let (id, workflow) = (&run.id, &run.workflow);
            Error::usage(
                format!(
                    "there is no run `{text}`: `{id}` is {place} of workflow `{workflow}` here"
                ),
                "`headwater runs ls` lists them".to_owned(),
            )
        });
    }
    match store.find_run(text)? {
        FoundRun::One(run) => Ok(*run),
        FoundRun::None => Err(Error::usage(
            format!("there is no run `{text}`"),
            "`headwater runs ls` lists them".to_owned(),
        )),
        FoundRun::Several(names) => Err(Error::usage(
            format!("`{text}` could be any of {}", names.join(", ")),
            "give more of its name".to_owned(),
        )),
    }
}

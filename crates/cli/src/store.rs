//! `headwater store`: which store is used, and making the store of a group.

use std::process::ExitCode;

use headwater::group::store_json;
use headwater::json::{GroupJson, StoreJson};
use headwater::{Error, StorePlace};

use crate::arguments::Common;
use crate::arguments::store::StoreCommand;
use crate::{run, show};

pub(crate) fn store(command: &StoreCommand, common: &Common) -> Result<ExitCode, Error> {
    match command {
        StoreCommand::Show => shown(common)?,
        StoreCommand::Init {
            url,
            objects,
            print,
        } => init(url, objects.as_deref(), *print)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(common: &Common) -> Result<(), Error> {
    let current = run::current_folder()?;
    let place = run::place(common);
    let settings = headwater::group::settings_file(&place, &current)?;
    let place = StorePlace {
        read_only: true,
        ..place
    };
    let store = headwater::open_store(&place, &current)?;
    let facts = store_json(&*store, settings.as_deref());
    if common.json {
        show::object(&facts);
    } else {
        lines(&facts);
    }
    show::damage(&*store);
    Ok(())
}

fn lines(facts: &StoreJson) {
    let line = |label: &str, text: &str| show::line(&format!("{label:9} {text}"));
    line("own", &facts.own);
    if let Some(settings) = &facts.settings {
        line("settings", settings);
    }
    match &facts.group {
        Some(group) => group_lines(group),
        None => line("group", "none"),
    }
}

fn group_lines(group: &GroupJson) {
    let line = |label: &str, text: &str| show::line(&format!("{label:9} {text}"));
    line("group", &group.place);
    line("objects", &group.objects);
    let may = match (group.is_owner, group.may_write) {
        (true, _) => "may look up, give and throw away",
        (false, true) => "may look up and give",
        (false, false) => "may look up",
    };
    line("role", &format!("{}, which {may}", group.role));
    let when = if group.publishes {
        "at once"
    } else {
        "by `headwater products push`"
    };
    line("given", when);
    let whom = match &group.trust {
        Some(roles) => roles.join(", "),
        None => "everybody".to_owned(),
    };
    line("trusted", &whom);
    if group.waiting_products > 0 {
        line(
            "waiting",
            &format!(
                "{}, {}",
                show::count(group.waiting_products as usize, "product"),
                show::size(group.waiting_bytes)
            ),
        );
    }
}

#[cfg(feature = "group")]
fn init(url: &str, objects: Option<&str>, print: bool) -> Result<(), Error> {
    if print {
        let Some(objects) = objects else {
            return Err(Error::usage(
                "the script needs to know where the objects are",
                Some(
                    "give --objects with a folder that all machines see, or s3://BUCKET/PREFIX"
                        .to_owned(),
                ),
            ));
        };
        show::line(headwater::group::script(objects).trim_end());
        return Ok(());
    }
    let made = headwater::group::init(url, objects)?;
    let what = match made.from {
        0 => "made".to_owned(),
        from if from == made.to => "the store was there already".to_owned(),
        from => format!("brought from version {from} to version {}", made.to),
    };
    show::line(&format!("{what}; objects are in {}", made.objects));
    show::talk(
        "let people use it with: GRANT headwater_writer TO name (or headwater_reader, headwater_owner)",
    );
    Ok(())
}

#[cfg(not(feature = "group"))]
fn init(_url: &str, _objects: Option<&str>, _print: bool) -> Result<(), Error> {
    Err(Error::usage(
        "this program was built without stores of groups",
        Some("build it with the cargo feature `group`".to_owned()),
    ))
}

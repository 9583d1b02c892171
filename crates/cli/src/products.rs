//! `headwater products`: what is remembered, and whether it is sound.

use std::io::IsTerminal;
use std::process::ExitCode;

use headwater::graph::{Digest, ProductRecord, Scalar};
use headwater::group::{PushRequest, Pushed, pushed_json};
use headwater::json::{product_list_json, verified_json};
use headwater::products::{Affected, Collected, Held, Origin, Product, ProductRequest, Verified};
use headwater::{Error, Store, StorePlace};
use indicatif::{ProgressBar, ProgressStyle};

use crate::arguments::Common;
use crate::arguments::products::ProductsCommand;
use crate::{run, show};

pub(crate) fn products(command: &ProductsCommand, common: &Common) -> Result<ExitCode, Error> {
    let only_looks = match command {
        ProductsCommand::Ls { .. } | ProductsCommand::Show { .. } => true,
        ProductsCommand::Gc { dry_run, .. } => *dry_run,
        ProductsCommand::Verify | ProductsCommand::Push { .. } => false,
    };
    let also_recent = matches!(
        command,
        ProductsCommand::Gc {
            also_recent: true,
            ..
        }
    );
    let (place, current) = (run::place(common), run::current_folder()?);
    // Where there is no store, none is made.
    let is_there = place.has_store(&current)?;
    let place = StorePlace {
        read_only: place.read_only || only_looks || !is_there,
        also_recent,
        ..place
    };
    let store = headwater::open_store(&place, &current)?;
    if !matches!(command, ProductsCommand::Verify) {
        show::damage(&*store);
    }
    match command {
        ProductsCommand::Ls {
            operation,
            run,
            limit,
        } => {
            let request = ProductRequest {
                operation: operation.clone(),
                run: run.clone(),
                limit: limit.limit,
            };
            let products = headwater::products::list(&*store, &request)?;
            let all = headwater::products::count(&*store, &request)?;
            list(&products, all, common.json);
        }
        ProductsCommand::Show { recipe } => {
            let product = headwater::products::show(&*store, recipe)?;
            if common.json {
                show::object(&product.json());
            } else {
                one(&product);
            }
        }
        ProductsCommand::Verify => {
            let verified = verify(&*store, common.json)?;
            // Objects and records are listed one by one already.
            let listed = |what: &String| {
                what.starts_with("object ") || what.starts_with("the record of recipe ")
            };
            let mut database = store.take_damage();
            database.retain(|what| !listed(what));
            let mut objects = verified.damaged.clone();
            objects.extend(&verified.missing);
            let affected = headwater::products::of_objects(&*store, &objects)?;
            return Ok(show_verified(
                &verified,
                &affected,
                &database,
                place.read_only,
                common.json,
            ));
        }
        ProductsCommand::Gc { max, dry_run, .. } => {
            let collected = headwater::products::collect(&*store, *max, *dry_run)?;
            show_collected(&collected, *max, *dry_run, common.json);
        }
        ProductsCommand::Push { recipes, run } => {
            let request = PushRequest {
                recipes: recipes.clone(),
                run: run.clone(),
            };
            let pushed = headwater::group::push(&*store, &request)?;
            show_pushed(&*store, &pushed, common.json);
            show::damage(&*store);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show_pushed(store: &dyn Store, pushed: &Pushed, as_json: bool) {
    if as_json {
        show::object(&pushed_json(store, pushed));
        return;
    }
    let number = |number: u64, noun: &str| show::count(number as usize, noun);
    show::line(&format!(
        "{} given to the group ({}, {}), {} there already",
        number(pushed.products, "product"),
        number(pushed.objects, "object"),
        show::size(pushed.bytes),
        show::grouped(pushed.present as usize),
    ));
    if pushed.left_out > 0 {
        show::line(&format!(
            "{} left out, because some of their bytes are gone",
            number(pushed.left_out, "product")
        ));
    }
}

fn size(record: &ProductRecord) -> u64 {
    record.outputs.iter().map(|(_, output)| output.size).sum()
}

fn parameters(record: &ProductRecord) -> String {
    let pair = |(name, value): &(_, Scalar)| format!("{name}={value}");
    let pairs: Vec<String> = record.parameters.iter().map(pair).collect();
    pairs.join(" ").replace(['\n', '\t'], " ")
}

fn list(products: &[(ProductRecord, Held)], all: u64, as_json: bool) {
    if as_json {
        show::object(&product_list_json(products, all));
        return;
    }
    if products.is_empty() {
        show::talk("no such products");
        return;
    }
    let head = [
        "recipe",
        "operation",
        "parameters",
        "size",
        "took",
        "bytes",
        "run",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (record, held) in products {
        rows.push(vec![
            record.recipe.short(),
            show::shortened(&record.operation, 24),
            show::shortened(&parameters(record), 32),
            show::size(size(record)),
            show::duration(record.wall as f64 / 1e9),
            held.name().to_owned(),
            // Its name says when.
            record.run.to_string(),
        ]);
    }
    for line in show::columns(&rows, &[3, 4]) {
        show::line(&line);
    }
    let more = all.saturating_sub(products.len() as u64);
    if more > 0 {
        show::talk(&format!(
            "{} more; -n N lists more",
            show::grouped(more as usize)
        ));
    }
}

fn one(product: &Product) {
    let record = &product.record;
    let line = |label: &str, text: &str| show::line(&format!("{label:10} {text}"));
    line("recipe", &record.recipe.hex());
    line("operation", &record.operation);
    if let Some(equal) = &product.equal_to {
        line(
            "found",
            &format!(
                "by run {} on {} to be equal to product {}",
                record.run,
                headwater::text::date(record.time),
                equal.short()
            ),
        );
    } else {
        made(product);
    }
    for (number, (name, value)) in record.parameters.iter().enumerate() {
        let label = if number == 0 { "parameters" } else { "" };
        line(label, &format!("{name} = {value}"));
    }
    match &product.version {
        Some(parts) => {
            for (number, (label, text)) in parts.iter().enumerate() {
                let text = match label.strip_prefix("uses ") {
                    Some(_) => match text.split_once(", ") {
                        Some((digest, mode)) => format!("{digest:.12}, {mode}"),
                        None => format!("{text:.12}"),
                    },
                    None => text.trim_end().replace('\n', "\n             "),
                };
                let head = if number == 0 { "version" } else { "" };
                line(head, &format!("{label}: {text}"));
            }
        }
        None => line("version", &record.version),
    }
    if !product.is_known {
        show::line("");
        show::line("what it reads was not noted");
    }
    inputs(product);
    if let Some(equal) = &product.equal_to {
        show::line("");
        show::line(&format!(
            "Everything that it reads has the contents that product {} read; its bytes are those of that one.",
            equal.short()
        ));
        made(product);
    }
    outputs(product);
}

/// Who made the bytes of a product, when, and what that took.
fn made(product: &Product) {
    let (record, made) = (&product.record, &product.made);
    let line = |label: &str, text: &str| show::line(&format!("{label:10} {text}"));
    let task = match &made.task {
        Some(task) => format!(", as `{task}`"),
        None => String::new(),
    };
    line("made", &format!("by run {}{task}", made.run));
    if let Some(giver) = &made.giver {
        line("given", &format!("to the group by the role {giver}"));
    }
    line("when", &headwater::text::date(made.time));
    let mut cost = show::duration(made.wall as f64 / 1e9);
    cost.push_str(&format!(
        " ({} of processor time",
        show::duration(record.cpu as f64 / 1e9)
    ));
    if record.peak_memory > 0 {
        cost.push_str(&format!(
            ", at most {} of memory",
            show::size(record.peak_memory)
        ));
    }
    line("took", &(cost + ")"));
}

fn inputs(product: &Product) {
    for input in &product.inputs {
        show::line("");
        let several = match input.sources.as_slice() {
            [only] if only.position.is_none() => String::new(),
            _ => format!(", {}", show::count(input.count, "item")),
        };
        show::line(&format!("input {}{several}", input.port));
        for source in &input.sources {
            let origin = match &source.origin {
                Origin::Product {
                    recipe,
                    port,
                    operation,
                } => {
                    let operation = match operation {
                        Some(operation) => format!(" ({operation})"),
                        None => String::new(),
                    };
                    format!("output `{port}` of product {}{operation}", recipe.short())
                }
                Origin::External(named) => named.to_string(),
                Origin::Other(text) => text.clone(),
            };
            let position = source
                .position
                .map_or(String::new(), |number| format!("{number}: "));
            show::line(&format!("  {position}{origin}"));
        }
        if input.count > input.sources.len() {
            let more = input.count - input.sources.len();
            show::line(&format!("  … and {more} more"));
        }
    }
}

fn outputs(product: &Product) {
    for output in &product.outputs {
        show::line("");
        let kind = output
            .kind
            .as_deref()
            .map_or(String::new(), |kind| format!(", {kind}"));
        show::line(&format!(
            "output {}{kind}, {}, {}",
            output.port,
            show::size(output.size),
            output.held.name()
        ));
        if let Some(value) = &output.value {
            show::line(&format!(
                "  value   {}",
                show::shortened(&value.to_string(), 200)
            ));
        }
        show::line(&format!("  digest  {}", output.digest));
        for file in output.files.iter().take(20) {
            match &file.path {
                Some(path) => show::line(&format!("  file    {}", show::path(path))),
                None => show::line(&format!(
                    "  gone    {} ({})",
                    file.digest,
                    show::size(file.size)
                )),
            }
        }
        if output.files.len() > 20 {
            show::line(&format!("  … and {} more files", output.files.len() - 20));
        }
    }
}

/// Verifies, with a bar where somebody watches.
fn verify(store: &dyn Store, quiet: bool) -> Result<Verified, Error> {
    if quiet || !std::io::stderr().is_terminal() {
        return headwater::products::verify(store, &|_, _| {});
    }
    let style =
        ProgressStyle::with_template("{bar:32} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("━╸─");
    let bar = ProgressBar::new(0).with_style(style);
    let verified = headwater::products::verify(store, &|read, all| {
        bar.set_length(all);
        bar.set_position(read);
    });
    bar.finish_and_clear();
    verified
}

fn show_verified(
    verified: &Verified,
    affected: &[Affected],
    database: &[String],
    read_only: bool,
    as_json: bool,
) -> ExitCode {
    let found = verified_json(verified, affected, database);
    let sound = found.sound;
    let code = ExitCode::from(u8::from(!sound));
    if as_json {
        show::object(&found);
        return code;
    }
    let count = |number: u64, noun: &str| show::count(number as usize, noun);
    show::line(&format!(
        "{} ({}) and {} were read",
        count(verified.objects, "object"),
        show::size(verified.bytes),
        count(verified.records, "record")
    ));
    if sound {
        show::line("all of them are what was written");
        return code;
    }
    for what in database {
        show::line(&format!("damaged  {what}"));
    }
    let whose = |digest: &Digest| {
        let affected = affected.iter().find(|affected| affected.digest == *digest);
        affected.map_or(String::new(), |affected| {
            let task = match &affected.made.task {
                Some(task) => format!(" as `{task}`"),
                None => String::new(),
            };
            format!(
                ": output `{}` of product {} ({}), made by run {}{task}",
                affected.port,
                affected.made.recipe.short(),
                affected.operation,
                affected.made.run
            )
        })
    };
    for digest in &verified.damaged {
        show::line(&format!("damaged  object {digest}{}", whose(digest)));
    }
    for digest in &verified.missing {
        show::line(&format!("missing  object {digest}{}", whose(digest)));
    }
    if verified.damaged_records > 0 {
        show::line(&format!(
            "damaged  {}",
            count(verified.damaged_records, "record")
        ));
    }
    show::talk(match (read_only, verified.damaged.is_empty()) {
        (true, _) => "nothing was changed (--read-only)",
        (false, true) => "what is missing is made again when a run needs it",
        (false, false) => {
            "damaged objects were set aside in objects/damaged of the store; they are made again when a run needs them"
        }
    });
    code
}

fn show_collected(collected: &Collected, max: u64, dry_run: bool, as_json: bool) {
    if as_json {
        show::object(&collected.json(dry_run));
        return;
    }
    let objects = show::count(collected.objects as usize, "object");
    let bytes = show::size(collected.bytes);
    let logs = match collected.log_bytes {
        0 => String::new(),
        bytes => format!(" and {} of logs", show::size(bytes)),
    };
    let verb = match (dry_run, collected.objects, collected.log_bytes) {
        (true, ..) => "would go",
        (false, 1, 0) => "is gone",
        (false, ..) => "are gone",
    };
    show::line(&format!(
        "{objects} ({bytes}){logs} {verb}, {} stay; records stay",
        show::size(collected.left)
    ));
    if collected.left > max {
        show::talk(&format!(
            "{} may not go now: runs that are under way may need them",
            show::size(collected.protected)
        ));
    }
    if dry_run {
        show::talk("nothing was thrown away (--dry-run)");
    }
}

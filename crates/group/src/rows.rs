//! Records in tables: looking them up, and putting rows together.
//!
//! Law: a row is a record only if its seal says so; a row of somebody who is not trusted is as good as none. Every
//! question takes a whole batch, and costs one or two journeys to the server.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;

use headwater_graph::{Alias, Digest, ProductRecord, Recipe, Times};
use headwater_remember::{Columns, pack, unpack};
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::ToSql;
use postgres::{GenericClient, Row};

use crate::link::Trouble;

/// Whose rows count; `None` is everybody's.
pub(crate) type Trust = Option<Vec<String>>;

/// Keys in one question. Answers are read as they come, so that the server looks for the next ones meanwhile.
const CHUNK: usize = 200_000;

/// By recipe. The columns are those that [`record`] reads, after the position of the key.
const BY_RECIPE: &str = "
SELECT wanted.position, product.recipe, product.operation, product.version, product.run, product.wall, product.cpu,
       product.peak_memory, product.time, product.details
FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted (key, position)
JOIN headwater.products AS product ON product.recipe = wanted.key
WHERE $2::text[] IS NULL OR product.maker = ANY ($2)";

/// By alias, for keys that have no product of their own.
const BY_ALIAS: &str = "
SELECT wanted.position, product.recipe, product.operation, product.version, product.run, product.wall, product.cpu,
       product.peak_memory, product.time, product.details
FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted (key, position)
JOIN headwater.aliases AS alias ON alias.recipe = wanted.key
JOIN headwater.products AS product ON product.recipe = alias.target
WHERE $2::text[] IS NULL OR product.maker = ANY ($2) AND alias.maker = ANY ($2)";

/// By content key: of several products the first.
const BY_CONTENT: &str = "
SELECT DISTINCT ON (wanted.position)
       wanted.position, product.recipe, product.operation, product.version, product.run, product.wall, product.cpu,
       product.peak_memory, product.time, product.details
FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted (key, position)
JOIN headwater.products AS product ON product.content = wanted.key
WHERE $2::text[] IS NULL OR product.maker = ANY ($2)
ORDER BY wanted.position, product.number";

const TIMES: &str = "
SELECT wanted.position, product.recipe, product.wall, product.cpu, product.run
FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted (key, position)
JOIN headwater.products AS product ON product.recipe = wanted.key
WHERE $2::text[] IS NULL OR product.maker = ANY ($2)";

const TIMES_BY_ALIAS: &str = "
SELECT wanted.position, product.recipe, product.wall, product.cpu, product.run
FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted (key, position)
JOIN headwater.aliases AS alias ON alias.recipe = wanted.key
JOIN headwater.products AS product ON product.recipe = alias.target
WHERE $2::text[] IS NULL OR product.maker = ANY ($2) AND alias.maker = ANY ($2)";

const ALIASES: &str = "
SELECT wanted.position, alias.target, alias.run, alias.time
FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted (key, position)
JOIN headwater.aliases AS alias ON alias.recipe = wanted.key
WHERE ($2::text[] IS NULL OR alias.maker = ANY ($2)) AND NOT EXISTS (
    SELECT FROM headwater.products AS product
    WHERE product.recipe = wanted.key AND ($2::text[] IS NULL OR product.maker = ANY ($2)))";

/// Texts that many rows share, each once.
#[derive(Debug, Default)]
pub(crate) struct Texts(HashMap<String, Arc<str>>);

impl Texts {
    fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = text.into();
        self.0.insert(text.to_owned(), Arc::clone(&shared));
        shared
    }
}

/// A recipe or digest in a column.
pub(crate) fn key(row: &Row, column: usize) -> Option<[u8; 32]> {
    row.try_get::<_, &[u8]>(column).ok()?.try_into().ok()
}

/// Puts together a row whose columns begin at an offset; `None` where it is damaged.
pub(crate) fn record(texts: &mut Texts, row: &Row, offset: usize) -> Option<ProductRecord> {
    let number = |column: usize| row.try_get::<_, i64>(offset + column).ok();
    let mut text = |column: usize| {
        let text = row.try_get::<_, &str>(offset + column).ok()?;
        Some(texts.shared(text))
    };
    let columns = Columns {
        recipe: Recipe(key(row, offset)?),
        operation: text(1)?,
        version: text(2)?,
        run: text(3)?,
        wall: number(4)?.cast_unsigned(),
        cpu: number(5)?.cast_unsigned(),
        peak_memory: number(6)?.cast_unsigned(),
        time: number(7)?,
    };
    unpack(columns, row.try_get(offset + 8).ok()?)
}

/// What a question says of the keys that have an answer, each by its place in the batch.
fn each(
    client: &mut impl GenericClient,
    question: &str,
    keys: &[(usize, Recipe)],
    trust: &Trust,
    mut found: impl FnMut(usize, &Row),
) -> Result<(), Trouble> {
    let prepared = client.prepare(question)?;
    // Neighbours in the index are looked for one after the other.
    let mut keys = keys.to_vec();
    keys.sort_unstable_by_key(|(_, key)| *key);
    for chunk in keys.chunks(CHUNK) {
        let wanted: Vec<&[u8]> = chunk.iter().map(|(_, key)| &key.0[..]).collect();
        let arguments: [&(dyn ToSql + Sync); 2] = [&wanted, trust];
        let mut rows = client.query_raw(&prepared, arguments)?;
        while let Some(row) = rows.next()? {
            let position = row.try_get::<_, i64>(0)?;
            let place = usize::try_from(position - 1).unwrap_or(usize::MAX);
            if let Some((place, _)) = chunk.get(place) {
                found(*place, &row);
            }
        }
    }
    Ok(())
}

/// The keys that have no answer yet, with their places.
fn open<T>(keys: &[Recipe], answers: &[Option<T>]) -> Vec<(usize, Recipe)> {
    let pairs = keys.iter().zip(answers).enumerate();
    let open = pairs.filter(|(_, (_, answer))| answer.is_none());
    open.map(|(place, (key, _))| (place, *key)).collect()
}

/// Asks by recipe, and then by alias for those that are left.
fn by_recipe<T: Clone>(
    client: &mut impl GenericClient,
    questions: [&str; 2],
    keys: &[Recipe],
    trust: &Trust,
    mut read: impl FnMut(&Row) -> Option<T>,
) -> Result<Vec<Option<T>>, Trouble> {
    let mut answers = vec![None; keys.len()];
    for question in questions {
        let left = open(keys, &answers);
        if left.is_empty() {
            break;
        }
        each(client, question, &left, trust, |place, row| {
            answers[place] = read(row);
        })?;
    }
    Ok(answers)
}

/// The records of recipes, or of the products that they were found to be equal to.
pub(crate) fn fetch(
    client: &mut impl GenericClient,
    recipes: &[Recipe],
    trust: &Trust,
) -> Result<Vec<Option<Arc<ProductRecord>>>, Trouble> {
    let mut texts = Texts::default();
    by_recipe(client, [BY_RECIPE, BY_ALIAS], recipes, trust, |row| {
        record(&mut texts, row, 1).map(Arc::new)
    })
}

/// For each content key the record of a product made under it.
pub(crate) fn equal(
    client: &mut impl GenericClient,
    keys: &[Recipe],
    trust: &Trust,
) -> Result<Vec<Option<ProductRecord>>, Trouble> {
    let mut texts = Texts::default();
    by_recipe(client, [BY_RECIPE, BY_CONTENT], keys, trust, |row| {
        record(&mut texts, row, 1)
    })
}

/// What is known of a product without its lists: recipe, times, run.
pub(crate) type Known = (Recipe, Times, Arc<str>);

/// What is known of the products of recipes.
pub(crate) fn known(
    client: &mut impl GenericClient,
    recipes: &[Recipe],
    trust: &Trust,
) -> Result<Vec<Option<Known>>, Trouble> {
    let mut texts = Texts::default();
    by_recipe(client, [TIMES, TIMES_BY_ALIAS], recipes, trust, |row| {
        let number = |column| row.try_get::<_, i64>(column).ok().map(i64::cast_unsigned);
        let times = Times {
            wall: number(2)?,
            cpu: number(3)?,
        };
        let run = texts.shared(row.try_get(4).ok()?);
        Some((Recipe(key(row, 1)?), times, run))
    })
}

/// For each recipe the product that it was found to be equal to.
pub(crate) fn aliases(
    client: &mut impl GenericClient,
    recipes: &[Recipe],
    trust: &Trust,
) -> Result<Vec<Option<Alias>>, Trouble> {
    let mut texts = Texts::default();
    let mut answers = vec![None; recipes.len()];
    let all: Vec<(usize, Recipe)> = recipes.iter().copied().enumerate().collect();
    each(client, ALIASES, &all, trust, |place, row| {
        answers[place] = key(row, 1).and_then(|target| {
            Some(Alias {
                recipe: recipes[place],
                target: Recipe(target),
                run: texts.shared(row.try_get(2).ok()?),
                time: row.try_get(3).ok()?,
            })
        });
    })?;
    Ok(answers)
}

const GIVER: &str = "SELECT maker FROM headwater.products WHERE recipe = $1 AND run = $2";

/// The role that gave the product that a run made.
pub(crate) fn giver(
    client: &mut impl GenericClient,
    recipe: &Recipe,
    run: &str,
) -> Result<Option<String>, Trouble> {
    let row = client.query_opt(GIVER, &[&&recipe.0[..], &run])?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// A product on its way, with the digests of all objects that it consists of.
pub(crate) type NewRow<'a> = (&'a ProductRecord, &'a [Digest]);

/// Fails as a whole if one of the rows is there.
const COPY: &str = "
COPY headwater.products
    (recipe, content, operation, version, run, wall, cpu, peak_memory, time, details, objects)
FROM STDIN (FORMAT BINARY)";
/// First wins: whoever comes later gets no row back.
const ADD: &str = "
INSERT INTO headwater.products
    (recipe, content, operation, version, run, wall, cpu, peak_memory, time, details, objects)
SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
    $8::bigint[], $9::bigint[], $10::bytea[], $11::bytea[])
ON CONFLICT (recipe) DO NOTHING RETURNING recipe";

/// Adds rows of which most are new: they are copied, which is the quickest way. If one of them is there, they are added one
/// by one. Gives the recipes that had none before.
pub(crate) fn add_new(
    client: &mut impl GenericClient,
    records: &[NewRow<'_>],
) -> Result<Vec<Recipe>, Trouble> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let mut attempt = client.transaction()?;
    match copy(&mut attempt, records) {
        Ok(()) => {
            attempt.commit()?;
            Ok(records.iter().map(|(record, _)| record.recipe).collect())
        }
        Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
            attempt.rollback()?;
            add(client, records)
        }
        Err(error) => Err(error.into()),
    }
}

/// Bytes of rows that are sent at once.
const SENT: usize = 1 << 16;

/// Copies rows in the binary form of the server: each has the number of its columns, each column its length.
fn copy(client: &mut impl GenericClient, records: &[NewRow<'_>]) -> Result<(), postgres::Error> {
    let mut writer = client.copy_in(COPY)?;
    let mut rows: Vec<u8> = Vec::with_capacity(2 * SENT);
    rows.extend(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
    for (record, objects) in records {
        rows.extend(11_i16.to_be_bytes());
        column(&mut rows, &record.recipe.0);
        match &record.content {
            Some(content) => column(&mut rows, &content.0),
            None => rows.extend((-1_i32).to_be_bytes()),
        }
        for text in [&record.operation, &record.version, &record.run] {
            column(&mut rows, text.as_bytes());
        }
        for number in [record.wall, record.cpu, record.peak_memory] {
            column(&mut rows, &number.to_be_bytes());
        }
        column(&mut rows, &record.time.to_be_bytes());
        column(&mut rows, &pack(record));
        column(
            &mut rows,
            objects
                .iter()
                .map(|digest| digest.0)
                .collect::<Vec<_>>()
                .as_flattened(),
        );
        if rows.len() >= SENT {
            if writer.write_all(&rows).is_err() {
                // What was wrong is said at the end.
                break;
            }
            rows.clear();
        }
    }
    rows.extend((-1_i16).to_be_bytes());
    let _ = writer.write_all(&rows);
    writer.finish().map(drop)
}

fn column(rows: &mut Vec<u8>, bytes: &[u8]) {
    // No column is larger than what the server takes in one message, which it says itself.
    let length = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
    rows.extend(length.to_be_bytes());
    rows.extend(bytes);
}

/// Adds rows; gives the recipes that had none before.
pub(crate) fn add(
    client: &mut impl GenericClient,
    records: &[NewRow<'_>],
) -> Result<Vec<Recipe>, Trouble> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let each = || records.iter().map(|(record, _)| *record);
    let recipes: Vec<&[u8]> = each().map(|record| &record.recipe.0[..]).collect();
    let contents: Vec<Option<&[u8]>> = each()
        .map(|record| record.content.as_ref().map(|content| &content.0[..]))
        .collect();
    let operations: Vec<&str> = each().map(|record| &*record.operation).collect();
    let versions: Vec<&str> = each().map(|record| &*record.version).collect();
    let runs: Vec<&str> = each().map(|record| &*record.run).collect();
    let numbers = |number: fn(&ProductRecord) -> i64| each().map(number).collect::<Vec<i64>>();
    let walls = numbers(|record| record.wall.cast_signed());
    let cpus = numbers(|record| record.cpu.cast_signed());
    let peaks = numbers(|record| record.peak_memory.cast_signed());
    let times = numbers(|record| record.time);
    let details: Vec<Vec<u8>> = each().map(pack).collect();
    let joined = |digests: &[Digest]| digests.iter().flat_map(|digest| digest.0).collect();
    let objects: Vec<Vec<u8>> = records.iter().map(|(_, digests)| joined(digests)).collect();
    let prepared = client.prepare(ADD)?;
    let added = client.query(
        &prepared,
        &[
            &recipes,
            &contents,
            &operations,
            &versions,
            &runs,
            &walls,
            &cpus,
            &peaks,
            &times,
            &details,
            &objects,
        ],
    )?;
    Ok(added
        .iter()
        .filter_map(|row| key(row, 0).map(Recipe))
        .collect())
}

/// An alias of something that has a product stays without effect; one whose target is an alias leads to its product.
const ADD_ALIASES: &str = "
INSERT INTO headwater.aliases (recipe, target, run, time)
SELECT wanted.recipe, product.recipe, wanted.run, wanted.time
FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::bigint[]) AS wanted (recipe, target, run, time)
LEFT JOIN headwater.aliases AS other ON other.recipe = wanted.target
    AND NOT EXISTS (SELECT FROM headwater.products WHERE products.recipe = wanted.target)
JOIN headwater.products AS product ON product.recipe = coalesce(other.target, wanted.target)
WHERE wanted.recipe <> product.recipe
ON CONFLICT (recipe) DO NOTHING";

/// Adds aliases; those of products that are not there are left out.
pub(crate) fn add_aliases(
    client: &mut impl GenericClient,
    aliases: &[&Alias],
) -> Result<(), Trouble> {
    if aliases.is_empty() {
        return Ok(());
    }
    let recipes: Vec<&[u8]> = aliases.iter().map(|alias| &alias.recipe.0[..]).collect();
    let targets: Vec<&[u8]> = aliases.iter().map(|alias| &alias.target.0[..]).collect();
    let runs: Vec<&str> = aliases.iter().map(|alias| &*alias.run).collect();
    let times: Vec<i64> = aliases.iter().map(|alias| alias.time).collect();
    client.execute(ADD_ALIASES, &[&recipes, &targets, &runs, &times])?;
    Ok(())
}

//! Records in tables: look-ups beside a COPY of the keys and a join, registrations beside a COPY of the rows.
//!
//! Law: the other program asks for the same columns of the same products and gives the same rows in the same order to a
//! table with the same indexes. What Python takes to start and to connect does not count, nor do reading and making the
//! keys; a bare COPY gets rows that are encoded already.

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use headwater_bench::python::Packages;
use headwater_bench::records::{recipe, record};
use headwater_bench::{Bar, Claims, median, timed};
use headwater_graph::{ProductRecord, Recipe, Store};

use crate::server::{Database, Server};

/// How many recipes the plan of a large run asks for.
const ASKED: u64 = 100_000;
/// How many products a run registers at once.
const BATCH: u64 = 10_000;
/// A store that has grown.
const MANY: u64 = 1_000_000;
/// How often each is measured by turns.
const TURNS: u64 = 7;

/// What look-ups are compared with.
const PSYCOPG: Packages = Packages {
    folder: "psycopg",
    wanted: &["psycopg[binary]==3.3.9"],
    check: "import psycopg; assert psycopg.__version__ == '3.3.9' and psycopg.pq.__impl__ == 'binary'",
};

/// Copies keys to a table, joins it with the products, reads everything that comes back; prints the seconds.
const JOIN: &str = r#"
import sys, time, psycopg
url, columns, path = sys.argv[1:4]
data = open(path, 'rb').read()
keys = [data[place:place + 32] for place in range(0, len(data), 32)]
with psycopg.connect(url) as connection, connection.cursor(binary=True) as cursor:
    cursor.execute("SELECT 1")
    began = time.perf_counter()
    cursor.execute("CREATE TEMPORARY TABLE wanted (key bytea) ON COMMIT DROP")
    with cursor.copy("COPY wanted (key) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["bytea"])
        for key in keys:
            copy.write_row((key,))
    cursor.execute("ANALYZE wanted")
    cursor.execute(f"SELECT {columns} FROM wanted JOIN headwater.products AS product ON product.recipe = wanted.key")
    rows = cursor.fetchall()
    print(time.perf_counter() - began)
    assert len(rows) == len(keys), len(rows)
"#;

/// Everything that a record is made of, and what a plan asks for.
const RECORD: &str = "product.recipe, product.operation, product.version, product.run, product.wall, product.cpu, \
                      product.peak_memory, product.time, product.details";
const TIMES: &str = "product.recipe, product.wall, product.cpu, product.run";

/// The columns that are registered.
const GIVEN: &str =
    "recipe, content, operation, version, run, wall, cpu, peak_memory, time, details, objects";

/// Seconds of one look-up and of one registration, the middle of the turns.
#[derive(Clone, Copy)]
struct Took {
    records: f64,
    times: f64,
    registration: f64,
}

/// The claims on rows.
pub(crate) fn measure(
    claims: &mut Claims,
    server: &Server,
    quick: bool,
) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let database = server.database();
    let open = |role: &str| {
        let front = headwater_remember::in_memory(&folder.path().join(role));
        let options = headwater_group::Options::new(&database.url(role));
        headwater_group::open(front, &options).map_err(|error| format!("{error:?}"))
    };
    let python = match PSYCOPG.python(|note| eprintln!("{note}")) {
        Ok(python) => Some(python),
        Err(reason) => {
            claims.note(&format!("look-ups are not compared with psycopg: {reason}"));
            None
        }
    };
    if python.is_some() {
        claims.compared_with("psycopg 3.3.9");
    }
    let mut bench = Rows {
        claims,
        server,
        database: &database,
        giving: open("ann")?,
        asking: open("bob")?,
        folder: folder.path(),
        python: python.as_deref(),
        next: 0,
    };
    bench.fill(ASKED)?;
    let small = bench.turns(true)?;
    let many = if quick { MANY / 5 } else { MANY };
    bench.fill(many)?;
    let large = bench.turns(false)?;
    if quick {
        bench.claims.note(&format!(
            "--quick: the grown store has {many} products, the bar is for {MANY}"
        ));
    }
    let grown = [
        ("look-up of records", large.records / small.records),
        ("look-up of times", large.times / small.times),
        ("registration", large.registration / small.registration),
    ];
    for (what, ratio) in grown {
        bench.claims.claim(
            &format!("{what} among {many} products, relative to {ASKED}"),
            ratio,
            "times",
            Bar::AtMost(1.3),
        );
    }
    Ok(())
}

/// What is measured, and on what.
struct Rows<'a> {
    claims: &'a mut Claims,
    server: &'a Server,
    database: &'a Database,
    /// The store of somebody who has made everything.
    giving: Arc<dyn Store>,
    /// The store of somebody who has nothing.
    asking: Arc<dyn Store>,
    folder: &'a Path,
    python: Option<&'a Path>,
    /// Products that are there.
    next: u64,
}

impl Rows<'_> {
    /// Registers the next products in batches; how long that took.
    fn register(&mut self, count: u64) -> Result<f64, Box<dyn Error>> {
        let mut seconds = 0.0;
        let end = self.next + count;
        while self.next < end {
            let batch = self.next..(self.next + BATCH).min(end);
            self.next = batch.end;
            let records: Vec<ProductRecord> = batch.map(record).collect();
            let (registered, took) = timed(|| self.giving.register(&records));
            registered?;
            seconds += took.as_secs_f64();
        }
        let notices = self.giving.take_notices();
        if !notices.is_empty() {
            return Err(notices.join("; ").into());
        }
        Ok(seconds)
    }

    /// Registers products until there are this many, and lets the server put its house in order.
    fn fill(&mut self, count: u64) -> Result<(), Box<dyn Error>> {
        if count > self.next {
            let (given, missing) = (self.next, count - self.next);
            let seconds = self.register(missing)?;
            self.claims.note(&format!(
                "{missing} products after the first {given}: {:.0} a second",
                missing as f64 / seconds
            ));
        }
        let mut owner = self.owner()?;
        owner.batch_execute("VACUUM ANALYZE headwater.products")?;
        owner.batch_execute("CHECKPOINT")?;
        Ok(())
    }

    fn owner(&self) -> Result<postgres::Client, postgres::Error> {
        self.server.client("postgres", &self.database.name)
    }

    fn turns(&mut self, first: bool) -> Result<Took, Box<dyn Error>> {
        let products = self.next;
        let lookups = [("records", RECORD, true), ("times", TIMES, false)];
        let mut middles = [0.0; 2];
        for (middle, (what, columns, whole)) in middles.iter_mut().zip(lookups) {
            let (mut ours, mut others, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for turn in 0..TURNS {
                let step = products / ASKED;
                let keys: Vec<Recipe> = (0..ASKED)
                    .map(|place| recipe(place * step + turn % step))
                    .collect();
                let seconds = self.look_up(&keys, whole)?;
                ours.push(seconds);
                if let Some(theirs) = self.join(&keys, columns)? {
                    others.push(theirs);
                    ratios.push(seconds / theirs);
                }
            }
            *middle = median(ours);
            if self.python.is_some() {
                self.claims.claim(
                    &format!("look-up of {what} of {ASKED} recipes among {products}, relative to COPY and join by psycopg"),
                    median(ratios),
                    "times",
                    Bar::AtMost(1.5),
                );
                self.claims.note(&format!(
                    "the middle of {TURNS} turns: {middle:.3} s and {:.3} s",
                    median(others)
                ));
            }
        }
        let registration = self.registrations(first)?;
        Ok(Took {
            records: middles[0],
            times: middles[1],
            registration,
        })
    }

    /// Asks for records or their times; how long that took.
    fn look_up(&self, keys: &[Recipe], whole: bool) -> Result<f64, Box<dyn Error>> {
        let (found, took) = if whole {
            let (found, took) = timed(|| self.asking.fetch_shared(keys));
            (found?.iter().flatten().count(), took)
        } else {
            let (found, took) = timed(|| self.asking.known(keys));
            (found?.iter().flatten().count(), took)
        };
        if found != keys.len() {
            return Err(format!("{found} of {} records are there", keys.len()).into());
        }
        Ok(took.as_secs_f64())
    }

    fn join(&self, keys: &[Recipe], columns: &str) -> Result<Option<f64>, Box<dyn Error>> {
        let Some(python) = self.python else {
            return Ok(None);
        };
        let path = self.folder.join("keys");
        let bytes: Vec<u8> = keys.iter().flat_map(|key| key.0).collect();
        std::fs::write(&path, bytes)?;
        let mut command = Command::new(python);
        command
            .args(["-c", JOIN, &self.database.url("ann"), columns])
            .arg(&path)
            .stderr(Stdio::inherit());
        let output = command.output()?;
        if !output.status.success() {
            return Err("the program that copies and joins has failed".into());
        }
        Ok(Some(String::from_utf8(output.stdout)?.trim().parse()?))
    }

    /// Registers products, and copies the same rows to a table that has as many; the seconds of ours.
    fn registrations(&mut self, first: bool) -> Result<f64, Box<dyn Error>> {
        let mut owner = self.owner()?;
        if first {
            owner.batch_execute("CREATE TABLE bare (LIKE headwater.products INCLUDING ALL)")?;
        }
        let copied = format!(
            "TRUNCATE bare; INSERT INTO bare ({GIVEN}) SELECT {GIVEN} FROM headwater.products ORDER BY number; \
             ANALYZE bare; CHECKPOINT"
        );
        for statement in copied.split("; ") {
            owner.batch_execute(statement)?;
        }
        let (mut ours, mut ratios) = (Vec::new(), Vec::new());
        let products = self.next;
        for _ in 0..TURNS {
            let before = self.next;
            let seconds = self.register(ASKED / 2)?;
            ours.push(seconds);
            let mut rows = Vec::new();
            let last = format!(
                "COPY (SELECT {GIVEN} FROM (SELECT * FROM headwater.products ORDER BY number DESC LIMIT {}) AS last \
                 ORDER BY number) TO STDOUT (FORMAT BINARY)",
                self.next - before
            );
            owner.copy_out(last.as_str())?.read_to_end(&mut rows)?;
            let into = format!("COPY bare ({GIVEN}) FROM STDIN (FORMAT BINARY)");
            let (copied, took) = timed(|| -> Result<u64, Box<dyn Error>> {
                let mut writer = owner.copy_in(into.as_str())?;
                writer.write_all(&rows)?;
                Ok(writer.finish()?)
            });
            if copied? != self.next - before {
                return Err("rows were lost on the way to the other table".into());
            }
            ratios.push(took.as_secs_f64() / seconds);
        }
        self.claims.claim(
            &format!("rate of registering products among {products}, relative to a bare COPY of the same rows"),
            median(ratios),
            "times",
            Bar::AtLeast(0.6),
        );
        let seconds = median(ours);
        self.claims.note(&format!(
            "the middle of {TURNS} turns of {} products in batches of {BATCH}, into tables with the same indexes; \
             {:.0} products a second",
            ASKED / 2,
            (ASKED / 2) as f64 / seconds
        ));
        Ok(seconds)
    }
}

//! Tables of a group's store, and how one version of them becomes the next.
//!
//! Law: tables are made and changed by their owner, in one transaction per step, and never by those who use them. A
//! program that is older than the tables, or newer, says so and touches nothing. Every statement is a constant.
//!
//! | role | may |
//! | --- | --- |
//! | `headwater_reader` | look up |
//! | `headwater_writer` | also register products, list objects, take leases |
//! | `headwater_owner` | also take objects away, and bring the tables to the next version |
//!
//! Who made a product is the role that logged in: nobody can write that column.

use headwater_graph::StoreError;
use postgres::{Client, GenericClient};

/// What the tables of this program are called among versions.
pub(crate) const FORMAT: i32 = 2;

/// What has to be done, from each version to the next.
const STEPS: [&str; FORMAT as usize] = [FIRST, SECOND];

/// Held while tables are changed, so that of two who begin at once one waits.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7522331108701)";

const FIRST: &str = "
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['headwater_reader', 'headwater_writer', 'headwater_owner'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            -- Roles are those of all databases of the server, and another one may be about to make them.
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
            END;
        END IF;
    END LOOP;
END $$;
GRANT headwater_reader TO headwater_writer;
GRANT headwater_writer TO headwater_owner;

CREATE SCHEMA headwater;
CREATE TABLE headwater.about (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    format integer NOT NULL,
    objects text NOT NULL
);

-- Numbers that no disk holds are refused by nobody: they are those of the records, taken as signed.
CREATE TABLE headwater.products (
    recipe bytea PRIMARY KEY CHECK (length(recipe) = 32),
    number bigint GENERATED ALWAYS AS IDENTITY,
    content bytea,
    operation text NOT NULL,
    version text NOT NULL,
    run text NOT NULL,
    wall bigint NOT NULL,
    cpu bigint NOT NULL,
    peak_memory bigint NOT NULL,
    time bigint NOT NULL,
    details bytea NOT NULL,
    -- The digests of all objects that it consists of, one after the other.
    objects bytea NOT NULL CHECK (length(objects) % 32 = 0),
    maker text NOT NULL DEFAULT session_user
);
CREATE INDEX products_by_operation ON headwater.products (operation, number);
CREATE INDEX products_by_run ON headwater.products (run, number);
CREATE INDEX products_by_content ON headwater.products (content) WHERE content IS NOT NULL;

CREATE TABLE headwater.aliases (
    recipe bytea PRIMARY KEY CHECK (length(recipe) = 32),
    target bytea NOT NULL,
    run text NOT NULL,
    time bigint NOT NULL,
    maker text NOT NULL DEFAULT session_user
);

CREATE TABLE headwater.objects (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    size bigint NOT NULL CHECK (size >= 0),
    wall bigint NOT NULL,
    reads bigint NOT NULL DEFAULT 0,
    placed timestamptz NOT NULL DEFAULT clock_timestamp(),
    used timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE headwater.sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    role text NOT NULL DEFAULT session_user,
    host text NOT NULL,
    process integer NOT NULL,
    backend integer NOT NULL,
    began timestamptz NOT NULL DEFAULT clock_timestamp(),
    renewed timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When the oldest of its runs began that are alive: what was used since then stays.
    working timestamptz
);
CREATE TABLE headwater.leases (
    key bytea PRIMARY KEY,
    session bigint NOT NULL REFERENCES headwater.sessions ON DELETE CASCADE
);
CREATE INDEX leases_by_session ON headwater.leases (session);

CREATE TABLE headwater.versions (
    version text PRIMARY KEY,
    -- Labels and texts by turns.
    parts text[] NOT NULL
);
-- A process that has not renewed its session is dead: after a short while if its connection is gone as well, else
-- after a longer one. After a restart of the server all have the time to come back.
CREATE FUNCTION headwater.is_dead(wanted bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce((
        SELECT silent > interval '20 seconds'
            OR silent > interval '5 seconds' AND NOT EXISTS (
                SELECT FROM pg_stat_activity WHERE pid = backend)
        FROM (
            SELECT clock_timestamp() - greatest(renewed, pg_postmaster_start_time()) AS silent, backend
            FROM headwater.sessions WHERE id = wanted
        ) AS session
    ), true)
$$;

-- Whoever finds that an object is not what its name says takes it off the list.
CREATE FUNCTION headwater.strike(wanted bytea[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    DELETE FROM headwater.objects WHERE digest = ANY (wanted)
$$;

-- A product whose objects are gone makes room for one that was made again and came out differently.
CREATE FUNCTION headwater.forget_lost(wanted bytea[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    DELETE FROM headwater.products AS product WHERE recipe = ANY (wanted) AND EXISTS (
        SELECT FROM generate_series(0, length(product.objects) / 32 - 1) AS place
        WHERE NOT EXISTS (
            SELECT FROM headwater.objects
            WHERE objects.digest = substring(product.objects FROM place * 32 + 1 FOR 32)))
$$;
REVOKE ALL ON FUNCTION headwater.strike(bytea[]), headwater.forget_lost(bytea[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION headwater.strike(bytea[]), headwater.forget_lost(bytea[]) TO headwater_writer;

GRANT USAGE ON SCHEMA headwater TO headwater_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA headwater TO headwater_reader;
GRANT INSERT (recipe, content, operation, version, run, wall, cpu, peak_memory, time, details, objects)
    ON headwater.products TO headwater_writer;
GRANT INSERT (recipe, target, run, time) ON headwater.aliases TO headwater_writer;
GRANT INSERT (digest, size, wall), UPDATE (wall, reads, used) ON headwater.objects TO headwater_writer;
GRANT INSERT (host, process, backend), UPDATE (backend, renewed, working), DELETE
    ON headwater.sessions TO headwater_writer;
GRANT INSERT, UPDATE, DELETE ON headwater.leases TO headwater_writer;
GRANT INSERT ON headwater.versions TO headwater_writer;
GRANT DELETE ON headwater.objects, headwater.products, headwater.aliases TO headwater_owner;
GRANT UPDATE ON headwater.about TO headwater_owner;
";

/// What is given again counts as given then.
const SECOND: &str = "
GRANT UPDATE (placed) ON headwater.objects TO headwater_writer;
";

/// What the tables say of themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct About {
    /// Their version.
    pub(crate) format: i32,
    /// Where the objects are.
    pub(crate) objects: String,
}

/// What the tables say of themselves; `None` where there are none.
pub(crate) fn about(client: &mut impl GenericClient) -> Result<Option<About>, postgres::Error> {
    let made = client.query_one("SELECT to_regclass('headwater.about') IS NOT NULL", &[])?;
    if !made.get::<_, bool>(0) {
        return Ok(None);
    }
    let row = client.query_opt("SELECT format, objects FROM headwater.about", &[])?;
    Ok(row.map(|row| About {
        format: row.get(0),
        objects: row.get(1),
    }))
}

/// Makes the tables, or brings them to this version. With `objects` it also says where objects are from now on.
pub(crate) fn bring_up(client: &mut Client, objects: Option<&str>) -> Result<Brought, Refusal> {
    let mut transaction = client.transaction()?;
    transaction.batch_execute(LOCK)?;
    let found = about(&mut transaction)?;
    let format = found.as_ref().map_or(0, |about| about.format);
    let from = usize::try_from(format).unwrap_or(usize::MAX);
    let steps = STEPS.get(from..).ok_or(Refusal::Newer(format))?;
    for step in steps {
        transaction.batch_execute(step)?;
    }
    let objects = match (objects, &found) {
        (Some(objects), _) => objects.to_owned(),
        (None, Some(about)) => about.objects.clone(),
        (None, None) => return Err(Refusal::NoObjects),
    };
    transaction.execute(
        "INSERT INTO headwater.about (format, objects) VALUES ($1, $2)
         ON CONFLICT (one) DO UPDATE SET format = excluded.format, objects = excluded.objects",
        &[&FORMAT, &objects],
    )?;
    transaction.commit()?;
    Ok(Brought {
        from: format,
        objects,
    })
}

/// What makes the tables from nothing.
pub(crate) fn script(objects: &str) -> String {
    let objects = objects.replace('\'', "''");
    let steps = STEPS.concat();
    format!(
        "BEGIN;\n{LOCK};\n{steps}\nINSERT INTO headwater.about (format, objects) VALUES ({FORMAT}, '{objects}');\nCOMMIT;\n\n\
         -- Who may do what. For each person one line:\n\
         -- GRANT headwater_writer TO ann;\n\
         -- GRANT headwater_reader TO guest;\n\
         -- GRANT headwater_owner TO olga;\n"
    )
}

/// What [`bring_up`] has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Brought {
    /// The version that was there; 0 where there was nothing.
    pub(crate) from: i32,
    /// Where the objects are.
    pub(crate) objects: String,
}

/// Why tables could not be made or changed.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// They are of a later version.
    Newer(i32),
    /// Nobody has said where the objects are.
    NoObjects,
    /// The server refused.
    Server(postgres::Error),
}

impl From<postgres::Error> for Refusal {
    fn from(error: postgres::Error) -> Refusal {
        Refusal::Server(error)
    }
}

/// An error if tables of this version cannot be used by this program.
pub(crate) fn check(found: i32, place: &str) -> Result<(), StoreError> {
    if found == FORMAT {
        return Ok(());
    }
    Err(StoreError::Format {
        path: place.into(),
        found: found.into(),
        wanted: FORMAT.into(),
    })
}

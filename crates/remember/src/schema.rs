//! The tables, and the number of their format.
//!
//! Law: a database is used only when its format number is exactly [`FORMAT`]; an empty one is given the tables.
//!
//! Rows of products are appended in the order in which they come, because a table ordered by recipe would have each
//! small group of new records touch as many pages as it has records. Only the index has that trouble, and it is kept
//! small by holding eight bytes of each recipe; the row has all 32, and they are compared on each look-up.

/// The number in `user_version`. Any change of the tables or of `details` needs another.
pub(crate) const FORMAT: i64 = 2;

/// `HdWt`: tells the file apart from other SQLite databases.
pub(crate) const APPLICATION: i64 = 0x4864_5774;

/// Pages of the log before it is copied into the database: 64 MiB. Copying costs two more synchronisations and
/// rewrites pages that the next group may touch again, so it should be rare.
pub(crate) const CHECKPOINT_PAGES: i64 = 16_384;

/// The tables of a new store.
pub(crate) const TABLES: &str = "
CREATE TABLE names (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
);
CREATE TABLE products (
    id          INTEGER PRIMARY KEY,
    prefix      INTEGER NOT NULL,  -- the first eight bytes of the recipe, big-endian
    recipe      BLOB NOT NULL,
    content     INTEGER,           -- the first eight bytes of the content key, where that is not the recipe
    operation   INTEGER NOT NULL REFERENCES names,
    version     INTEGER NOT NULL REFERENCES names,
    run         INTEGER NOT NULL REFERENCES names,
    wall        INTEGER NOT NULL,  -- nanoseconds
    cpu         INTEGER NOT NULL,  -- nanoseconds
    peak_memory INTEGER NOT NULL,  -- bytes
    time        INTEGER NOT NULL,  -- seconds since 1970
    details     BLOB NOT NULL      -- parameters, inputs, outputs
);
CREATE INDEX products_by_prefix ON products (prefix);
CREATE INDEX products_by_content ON products (content) WHERE content IS NOT NULL;
CREATE INDEX products_by_operation ON products (operation);
CREATE TABLE aliases (
    prefix INTEGER NOT NULL,       -- of the recipe
    recipe BLOB NOT NULL,          -- a task that was found to be equal
    target BLOB NOT NULL,          -- the recipe of the product that it is equal to
    run    INTEGER NOT NULL REFERENCES names,
    time   INTEGER NOT NULL        -- seconds since 1970
);
CREATE INDEX aliases_by_prefix ON aliases (prefix);
CREATE TABLE versions (
    version INTEGER PRIMARY KEY REFERENCES names,
    parts   TEXT NOT NULL          -- what the version stands for: label, U+0000, value, U+0000, …
);
CREATE TABLE objects (
    digest   BLOB PRIMARY KEY,
    size     INTEGER NOT NULL,
    inode    INTEGER NOT NULL,     -- of the file that was last seen to be right
    modified INTEGER NOT NULL,     -- its time of modification, nanoseconds since 1970
    wall     INTEGER NOT NULL,     -- nanoseconds that making it took, with all else that its task made
    reads    INTEGER NOT NULL,     -- how often it was brought back
    used     INTEGER NOT NULL      -- when last, or when it was made; seconds since 1970
) WITHOUT ROWID;
CREATE TABLE state (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE digests (
    path     BLOB PRIMARY KEY,
    size     INTEGER NOT NULL,
    inode    INTEGER NOT NULL,
    modified INTEGER NOT NULL,     -- nanoseconds since 1970
    changed  INTEGER NOT NULL,     -- nanoseconds since 1970
    digest   BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE runs (
    number   INTEGER PRIMARY KEY,
    id       TEXT NOT NULL UNIQUE,
    workflow TEXT NOT NULL,
    file     BLOB NOT NULL,
    started  INTEGER NOT NULL,     -- seconds since 1970
    ended    INTEGER,              -- seconds since 1970
    status   TEXT NOT NULL,
    tasks    INTEGER NOT NULL,
    executed INTEGER NOT NULL,
    reused   INTEGER NOT NULL,
    failed   INTEGER NOT NULL,
    outputs  BLOB NOT NULL,
    command  TEXT NOT NULL         -- arguments, each followed by U+0000
);
CREATE TABLE run_tasks (
    run      INTEGER NOT NULL REFERENCES runs,
    position INTEGER NOT NULL,
    address  TEXT NOT NULL,
    recipe   BLOB NOT NULL,
    state    INTEGER NOT NULL,
    started  INTEGER NOT NULL,     -- nanoseconds since the start of the run
    wall     INTEGER NOT NULL,     -- nanoseconds
    PRIMARY KEY (run, position)
) WITHOUT ROWID;
";

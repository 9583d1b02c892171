//! A store for a group, behind the store of one's own: what one person computed, nobody in the group computes again.
//!
//! **What comes in:** a store of one's own, and the URL of a database. **What goes out:** an `Arc<dyn Store>` that looks
//! first here and then there, and gives what is made to the group: at once, or when it is asked to.
//!
//! ```text
//!              ┌───────────────── GroupStore ─────────────────┐
//!  look up ──> │ front (one's own: folder) ──> rows ──> PostgreSQL
//!  bytes   ──> │ front <── bring ── bytes: shared folder, bucket
//!  keep    ──> │ front ──> publish: bytes first, then rows    │
//!              │   └──> spool, while the group is away        │
//!              └──────────────────────────────────────────────┘
//! ```
//!
//! | file | noun |
//! | --- | --- |
//! | `opening`, `options` | [`open`] and [`init`] |
//! | `layers`, `store` | the store in two layers: **read `layers` first** |
//! | `group` | what is behind |
//! | `rows` | records in tables: batches of questions |
//! | `publish` | giving products: bytes, then rows, the first one wins |
//! | `objects`, `bytes` | which objects a group has, and where; the shared folder |
//! | `bucket` | objects in a bucket of S3 (feature `bucket`) |
//! | `spool` | what waits for a group that is away |
//! | `session` | one row per process that is alive, and the leases that point to it |
//! | `collect`, `pins` | taking objects away, and what stays because runs are alive |
//! | `questions` | what people ask |
//! | `schema` | tables, roles, versions |
//! | `address`, `tls`, `link` | where the server is, how the connection is protected, connections and whether it can be reached |
//!
//! **Invariants:** a row speaks only of bytes that are durable where the group has them. Bytes are compared with their
//! digest before they are used. Runs, notes, logs, work folders and limits on disk are one's own and never leave the
//! machine. While the group cannot be reached nothing fails and nothing is lost: work goes on as if there were no group.

mod address;
#[cfg(feature = "bucket")]
mod bucket;
mod bytes;
mod collect;
mod group;
mod layers;
mod link;
mod lock;
mod objects;
mod opening;
mod options;
mod pins;
mod publish;
mod questions;
mod rows;
mod schema;
mod session;
mod spool;
mod store;
mod tls;

pub use address::AddressError;
pub use opening::{Made, OpenError, init, open, script};
pub use options::Options;

use group::Group;

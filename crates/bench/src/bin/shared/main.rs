//! What the store of a group costs: look-ups and registrations beside a bare COPY, and the study of somebody else.
//!
//! Law: the server is a real PostgreSQL on loopback that synchronises what it commits, with memory for its tables, as its
//! manual advises for a server that does nothing else; it puts its tables in order when it is told to, not in the middle of
//! a measurement. What is compared is measured by
//! turns, on the same keys and rows; the middle of the ratios counts. One's own store is in memory where the group is
//! measured, so that nothing of SQLite is in the figures. Without PostgreSQL there is nothing to measure.

mod again;
mod rows;
#[path = "../../../../group/tests/store/server.rs"]
#[expect(dead_code, reason = "tests kill the server, and share one")]
mod server;

use std::error::Error;
use std::process::ExitCode;

use headwater_bench::{Claims, exit_code};

fn main() -> ExitCode {
    headwater::init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, wanted @ ..] = arguments.as_slice()
        && flag == again::CHILD
    {
        return again::child(wanted);
    }
    let quick = arguments.iter().any(|word| word == "--quick");
    let mut claims = Claims::new("shared");
    exit_code(measure(&mut claims, quick), |()| claims.finish())
}

fn measure(claims: &mut Claims, quick: bool) -> Result<(), Box<dyn Error>> {
    let settings = ["fsync=on", "shared_buffers=2GB", "autovacuum=off"];
    let settings = || {
        let each = settings
            .iter()
            .flat_map(|setting| ["-c", setting].map(str::to_owned));
        each.collect()
    };
    let Some(server) = server::Server::start_with(|_| settings()) else {
        claims.note(
            "PostgreSQL is not installed, so nothing was measured; install the package postgresql",
        );
        return Ok(());
    };
    rows::measure(claims, &server, quick)?;
    again::measure(claims, &server, quick)
}

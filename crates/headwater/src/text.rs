//! Text for people: dates, large numbers, and text of others made fit for a terminal or a shell.

pub use headwater_flow::read_duration;
pub use headwater_graph::text::{date, grouped, printable, shell_quote};

//! The arguments of `headwater products`.
//!
//! Law: what a flag means is said here, once, as help.

use clap::Subcommand;

use super::common::Limit;
use super::values::size;

#[derive(Debug, Subcommand)]
pub(crate) enum ProductsCommand {
    /// List products, newest first
    #[command(after_help = "\
Example:
  headwater products ls --operation blur --run last")]
    Ls {
        /// Only those of this operation
        #[arg(long, value_name = "NAME")]
        operation: Option<String>,
        /// Only those that this run made: its name, the beginning of it, or `last`
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show one product: how it was made, from what, and where its bytes are
    #[command(after_help = "\
Example:
  headwater products show 3fa94c")]
    Show {
        /// The beginning of its recipe, the address of a task of the latest run, or a file among the outputs of a run
        #[arg(value_name = "PRODUCT")]
        recipe: String,
    },
    /// Read everything that is kept and compare it with what was written
    ///
    /// Bytes that are not what they were are set aside, and made again when a run needs them. Ends with exit code 1 if
    /// anything is damaged.
    #[command(after_help = "\
Example:
  headwater products verify && echo all is well")]
    Verify,
    /// Throw bytes away until what is kept is no larger than a given size
    ///
    /// What was cheap to make, large and seldom used goes first. Records stay: a product whose bytes are gone is still
    /// known, and is made again only when something that has to run needs it. Logs of runs that have ended go too, the
    /// oldest first.
    #[command(after_help = "\
Example:
  headwater products gc --max 50GiB --dry-run")]
    Gc {
        /// How much may stay, such as 50GiB
        #[arg(long, value_name = "SIZE", value_parser = size)]
        max: u64,
        /// Only say what would go
        #[arg(long)]
        dry_run: bool,
        /// Of the store of a group, also throw away what was given to it in the last 24 hours
        #[arg(long)]
        also_recent: bool,
    },
    /// Give products of your own store to the store of your group
    ///
    /// Without arguments all products are given. What the group has already stays as it is.
    #[command(after_help = "\
Examples:
  headwater products push --run last
  headwater products push 3fa94c --store postgresql://ann@db.example/lab")]
    Push {
        /// The beginnings of recipes
        #[arg(value_name = "PRODUCT")]
        recipes: Vec<String>,
        /// All products of the tasks of this run: its name, the beginning of it, or `last`
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
    },
}

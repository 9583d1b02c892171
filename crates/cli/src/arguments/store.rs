//! The arguments of `headwater store`.
//!
//! Law: what a flag means is said here, once, as help.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Show which store is used here, and what you may do with it
    #[command(after_help = "\
Example:
  headwater store show")]
    Show,
    /// Make the store of a group in a PostgreSQL database, or bring it to the version of this program
    ///
    /// Who does this owns the store. Everybody else needs the role headwater_writer, or headwater_reader to only use what
    /// others have made: GRANT headwater_writer TO ann.
    #[command(after_help = "\
Examples:
  headwater store init postgresql://olga@db.example/lab --objects /mnt/lab/objects
  headwater store init postgresql://olga@db.example/lab --objects s3://lab-objects/headwater
  headwater store init postgresql://olga@db.example/lab --objects /mnt/lab/objects --print | less")]
    Init {
        /// The database: postgresql://USER@HOST:PORT/DATABASE
        #[arg(value_name = "URL")]
        url: String,
        /// Where the bytes are: the whole path of a folder that all machines see, or s3://BUCKET/PREFIX
        #[arg(long, value_name = "PLACE")]
        objects: Option<String>,
        /// Print the script for psql that would make the store, and change nothing
        #[arg(long)]
        print: bool,
    },
}

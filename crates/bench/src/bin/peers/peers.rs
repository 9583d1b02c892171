//! Who is measured.
//!
//! Law: the order of this list is the order of every table; Headwater comes first.

use crate::venv::Needs;

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peer {
    /// This project.
    Headwater,
    /// Dask with `distributed`.
    Dask,
    /// Parsl.
    Parsl,
    /// Ray.
    Ray,
    /// HyperQueue's Python package.
    Hyperqueue,
    /// Snakemake.
    Snakemake,
    /// The reference runner of the Common Workflow Language.
    Cwltool,
}

/// All of them.
pub(crate) const PEERS: [Peer; 7] = [
    Peer::Headwater,
    Peer::Dask,
    Peer::Parsl,
    Peer::Ray,
    Peer::Hyperqueue,
    Peer::Snakemake,
    Peer::Cwltool,
];

impl Peer {
    /// What `--only` calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Headwater => "headwater",
            Peer::Dask => "dask",
            Peer::Parsl => "parsl",
            Peer::Ray => "ray",
            Peer::Hyperqueue => "hyperqueue",
            Peer::Snakemake => "snakemake",
            Peer::Cwltool => "cwltool",
        }
    }

    /// The packages that it takes; none for Headwater.
    pub(crate) fn needs(self) -> Option<Needs> {
        let packages: &[&str] = match self {
            Peer::Headwater => return None,
            Peer::Dask => &["dask", "distributed"],
            Peer::Parsl => &["parsl"],
            Peer::Ray => &["ray"],
            Peer::Hyperqueue => &["hyperqueue"],
            Peer::Snakemake => &["snakemake"],
            Peer::Cwltool => &["cwltool"],
        };
        Some(Needs {
            name: self.name(),
            packages,
        })
    }
}

/// The packages of all that take any.
#[cfg(test)]
pub(crate) fn needs() -> impl Iterator<Item = (&'static str, Needs)> {
    let peers = PEERS
        .iter()
        .filter_map(|peer| Some((peer.name(), peer.needs()?)));
    peers.chain([("study", crate::study::NEEDS)])
}

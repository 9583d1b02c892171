//! `headwater study` and `headwater tune`.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod json;
mod live;
mod plan;
mod run;
mod show;

pub(crate) use plan::{study, tune};

//! Spaces that several tests use.
//!
//! Law: numbers only; no test depends on another.

use headwater_sensitivity::{Domain, Parameter, Space};
use proptest::prelude::*;

/// Values from `low` to `high` by `step`.
pub(crate) fn grid(low: f64, step: f64, high: f64) -> Domain {
    Domain::Grid {
        low,
        step,
        count: ((high - low) / step).round() as u32 + 1,
    }
}

/// All numbers from `low` to `high`.
pub(crate) fn interval(low: f64, high: f64) -> Domain {
    Domain::Interval { low, high }
}

/// A space of these domains, in which parameters are called by their position.
pub(crate) fn space(domains: impl IntoIterator<Item = Domain>) -> Space {
    let named = |(position, domain)| Parameter {
        name: format!("p{position}").into(),
        domain,
    };
    Space {
        parameters: domains.into_iter().enumerate().map(named).collect(),
    }
}

/// The parameters of the nuclei workflow and their values.
pub(crate) fn nuclei() -> Space {
    let domains = [
        ("B", grid(210.0, 10.0, 240.0)),
        ("G", grid(210.0, 10.0, 240.0)),
        ("R", grid(210.0, 10.0, 240.0)),
        ("T1", grid(2.5, 0.5, 7.5)),
        ("T2", grid(2.5, 0.5, 7.5)),
        ("G1", grid(5.0, 5.0, 80.0)),
        ("G2", grid(2.0, 2.0, 40.0)),
        ("MinSize", grid(2.0, 2.0, 40.0)),
        ("MaxSize", grid(900.0, 50.0, 1500.0)),
        ("MinSizePl", grid(5.0, 5.0, 80.0)),
        ("MinSizeSeg", grid(2.0, 2.0, 40.0)),
        ("MaxSizeSeg", grid(900.0, 50.0, 1500.0)),
        ("FillHolesConn", Domain::Choice { count: 2 }),
        ("ReconConn", Domain::Choice { count: 2 }),
        ("WatershedConn", Domain::Choice { count: 2 }),
    ];
    let parameter = |(name, domain): (&str, Domain)| Parameter {
        name: name.into(),
        domain,
    };
    Space {
        parameters: domains.into_iter().map(parameter).collect(),
    }
}

/// The eight parameters that matter most, all of them intervals but the two connectivities.
pub(crate) fn influential() -> Space {
    let kept = [
        "T2",
        "G1",
        "G2",
        "MinSize",
        "MaxSize",
        "MinSizePl",
        "ReconConn",
        "WatershedConn",
    ];
    let all = nuclei();
    let parameter = |name: &&str| {
        let found = all
            .parameters
            .iter()
            .find(|one| &*one.name == *name)
            .unwrap();
        let (low, high) = found.domain.bounds();
        let domain = match found.domain {
            Domain::Choice { .. } => found.domain.clone(),
            _ => interval(low, high),
        };
        Parameter {
            name: found.name.clone(),
            domain,
        }
    };
    Space {
        parameters: kept.iter().map(parameter).collect(),
    }
}

/// Whether a value is one of the domain's own, bit for bit, or lies in its interval.
pub(crate) fn belongs(domain: &Domain, value: f64) -> bool {
    match domain {
        Domain::Interval { low, high } => (*low..=*high).contains(&value),
        Domain::Grid { .. } | Domain::Choice { .. } | Domain::Listed { .. } => {
            let count = domain.count().unwrap_or(0);
            (0..count).any(|position| domain.value(position).to_bits() == value.to_bits())
        }
    }
}

/// Different numbers in any order, at least `fewest`.
fn listed(fewest: u32) -> impl Strategy<Value = Domain> {
    let numbers = prop::collection::hash_set(-1000_i32..1000, fewest as usize..9);
    numbers.prop_map(|numbers| Domain::Listed {
        numbers: numbers
            .into_iter()
            .map(|number| f64::from(number) / 7.0)
            .collect(),
    })
}

/// Spaces of up to `most` parameters of at least `fewest` values.
pub(crate) fn any_space(fewest: u32, most: usize) -> impl Strategy<Value = Space> {
    let low = -50_i32..50;
    let step = prop::sample::select(vec![0.1, 0.05, 0.5, 1.0, 10.0, 1.0 / 3.0]);
    let domain = prop_oneof![
        (low.clone(), 1_u32..100).prop_map(|(low, width)| {
            let low = f64::from(low) / 10.0;
            interval(low, low + f64::from(width) / 10.0)
        }),
        (low, step, fewest..30).prop_map(|(low, step, count)| Domain::Grid {
            low: f64::from(low) / 10.0,
            step,
            count,
        }),
        (fewest..6).prop_map(|count| Domain::Choice { count }),
        listed(fewest),
    ];
    prop::collection::vec(domain, 1..=most).prop_map(space)
}

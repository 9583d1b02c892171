//! The time model of the paper (section IV): the enactor reproduces it exactly.

use std::time::Duration;

use headwater_enact::{NothingRemembered, Options, simulate};
use headwater_graph::{Index, Wait};
use proptest::prelude::*;

use crate::support::{Flow, SECOND, parallelism};

/// T[i][j]: the time of item j in service i.
type Times = Vec<Vec<u64>>;

fn sequential(times: &Times) -> u64 {
    times.iter().flatten().sum()
}

fn data_parallel(times: &Times) -> u64 {
    times
        .iter()
        .map(|service| service.iter().max().unwrap())
        .sum()
}

fn pipelined(times: &Times) -> u64 {
    let (services, items) = (times.len(), times[0].len());
    let mut m = vec![vec![0; items]; services];
    for i in 0..services {
        for j in 0..items {
            m[i][j] = match (i, j) {
                (0, j) => times[0][..j].iter().sum(),
                (i, 0) => (0..i).map(|k| times[k][0]).sum(),
                (i, j) => (times[i - 1][j] + m[i - 1][j]).max(times[i][j - 1] + m[i][j - 1]),
            };
        }
    }
    times[services - 1][items - 1] + m[services - 1][items - 1]
}

fn both(times: &Times) -> u64 {
    let items = 0..times[0].len();
    items
        .map(|item| times.iter().map(|service| service[item]).sum())
        .max()
        .unwrap()
}

/// A chain of services, each on every item.
fn chain(services: usize, items: usize) -> Flow {
    let flow = Flow::new().items("d0", items);
    (0..services).fold(flow, |flow, service| {
        flow.stage(&format!("P{service}(d{service}) -> d{}", service + 1))
    })
}

fn makespan(flow: &Flow, options: &Options, times: &Times) -> u64 {
    let mut enactment = flow.opened(options);
    let mut world = |stage: &str, index: &Index| {
        let service: usize = stage[1..].parse().unwrap();
        let item = index.0.first().map_or(0, |position| *position as usize);
        Duration::from_secs(times[service][item])
    };
    let trace = simulate(&mut enactment, &mut world, &mut NothingRemembered).unwrap();
    let executed: usize = times.iter().map(Vec::len).sum();
    assert_eq!(enactment.counts().executed, executed);
    assert_eq!(trace.makespan.0 % SECOND, 0);
    trace.makespan.0 / SECOND
}

fn times() -> impl Strategy<Value = Times> {
    (1usize..6, 1usize..8).prop_flat_map(|(services, items)| {
        proptest::collection::vec(proptest::collection::vec(0u64..50, items), services)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_four_formulas_hold_for_any_times(times in times()) {
        let flow = chain(times.len(), times[0].len());
        let run = |data, pipelining| makespan(&flow, &parallelism(data, pipelining), &times);
        prop_assert_eq!(run(false, false), sequential(&times), "S");
        prop_assert_eq!(run(true, false), data_parallel(&times), "M");
        prop_assert_eq!(run(false, true), pipelined(&times), "P");
        prop_assert_eq!(run(true, true), both(&times), "PM");
    }

    #[test]
    fn workflow_parallelism_does_not_matter_in_a_chain(times in times()) {
        let flow = chain(times.len(), times[0].len());
        for (data, pipelining) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut options = parallelism(data, pipelining);
            let with = makespan(&flow, &options, &times);
            options.parallelism.workflow = false;
            prop_assert_eq!(makespan(&flow, &options, &times), with);
        }
    }

    #[test]
    fn constant_times_give_the_speed_ups_of_the_paper(services in 1u64..6, items in 1u64..8, time in 1u64..9) {
        let times = vec![vec![time; items as usize]; services as usize];
        let flow = chain(services as usize, items as usize);
        let run = |data, pipelining| makespan(&flow, &parallelism(data, pipelining), &times);
        prop_assert_eq!(run(false, false), items * services * time);
        prop_assert_eq!(run(true, false), services * time);
        prop_assert_eq!(run(true, true), services * time);
        prop_assert_eq!(run(false, true), (items + services - 1) * time);
    }

    /// The part before a synchronisation and the part after it add up.
    #[test]
    fn a_synchronisation_takes_the_sum_of_its_parts(times in times(), mean in 0u64..9, last in 0u64..9) {
        let (services, items) = (times.len(), times[0].len());
        let flow = chain(services, items)
            .stage(&format!("P{services}(d{services}*) -> mean"))
            .wait(Wait::All)
            .stage(&format!("P{}(mean) -> end", services + 1));
        let mut all = times.clone();
        all.push(vec![mean]);
        all.push(vec![last]);
        let run = |data, pipelining| makespan(&flow, &parallelism(data, pipelining), &all);
        prop_assert_eq!(run(false, false), sequential(&times) + mean + last);
        prop_assert_eq!(run(true, false), data_parallel(&times) + mean + last);
        prop_assert_eq!(run(false, true), pipelined(&times) + mean + last);
        prop_assert_eq!(run(true, true), both(&times) + mean + last);
    }
}

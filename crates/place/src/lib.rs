//! Placement: which machine runs what.
//!
//! What comes in: what is known of a machine ([`Machine`]) and of a piece of work ([`Work`]). What goes out: when the work
//! would have ended there ([`finish`]). Whoever has several machines takes the one with the smallest estimate. The cost
//! models of filter streams come here too, when there are filters.
//!
//! **Invariant:** numbers only. No sockets, no clock; all times are seconds from one moment that the caller chooses.

/// What is known of a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// Its cores.
    pub cores: f64,
    /// How much faster a core is than the one that costs are measured on.
    pub power: f64,
    /// The core seconds, at power 1, of what was given to it and has not ended.
    pub queued: f64,
    /// Bytes per second that it takes from others.
    pub bandwidth: f64,
    /// Seconds until the first of these bytes comes.
    pub latency: f64,
}

/// What is known of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// The seconds that it takes at power 1.
    pub cost: f64,
    /// The cores that it takes.
    pub cores: f64,
    /// The bytes that it reads and that the machine does not have.
    pub missing: u64,
}

/// The estimated finish of a piece of work on a machine, in seconds from now: bytes come while what was given before is
/// still under way, and then it runs. Data that is already there counts, since it need not come.
///
/// ```
/// use headwater_place::{Machine, Work, finish};
///
/// let idle = Machine { cores: 2.0, power: 1.0, queued: 0.0, bandwidth: 1e8, latency: 0.0 };
/// let busy = Machine { queued: 6.0, ..idle };
/// let work = Work { cost: 1.0, cores: 1.0, missing: 0 };
/// assert_eq!(finish(&idle, &work), 1.0);
/// assert_eq!(finish(&busy, &work), 4.0);
/// // One gigabyte has to come first, or meanwhile.
/// let far = Work { missing: 1_000_000_000, ..work };
/// assert_eq!(finish(&idle, &far), 11.0);
/// assert_eq!(finish(&busy, &far), 11.0);
/// ```
pub fn finish(machine: &Machine, work: &Work) -> f64 {
    let speed = machine.cores * machine.power;
    let free = if speed > 0.0 {
        machine.queued / speed
    } else {
        f64::INFINITY
    };
    let coming = if work.missing == 0 {
        0.0
    } else {
        machine.latency + work.missing as f64 / machine.bandwidth
    };
    free.max(coming) + work.cost / machine.power
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Machine = Machine {
        cores: 4.0,
        power: 1.0,
        queued: 0.0,
        bandwidth: 1e6,
        latency: 0.5,
    };
    const WORK: Work = Work {
        cost: 2.0,
        cores: 1.0,
        missing: 0,
    };

    #[test]
    fn more_to_do_or_to_bring_is_never_sooner() {
        let mut before = 0.0;
        for queued in [0.0, 1.0, 10.0, 100.0] {
            let machine = Machine { queued, ..IDLE };
            let mut last = finish(&machine, &WORK);
            assert!(last >= before, "{queued}");
            before = last;
            for missing in [1, 1_000_000, 100_000_000] {
                let now = finish(&machine, &Work { missing, ..WORK });
                assert!(now >= last, "{queued} {missing}");
                last = now;
            }
        }
    }

    #[test]
    fn a_machine_without_cores_never_ends_anything() {
        let none = Machine { cores: 0.0, ..IDLE };
        assert_eq!(finish(&none, &WORK), f64::INFINITY);
    }

    #[test]
    fn data_that_is_there_is_worth_waiting_for_as_long_as_bringing_it_takes() {
        let work = Work {
            missing: 3_000_000,
            ..WORK
        };
        // Bringing it takes 3.5 s; who has it may have 14 core seconds on four cores before.
        let far = finish(&IDLE, &work);
        let near = |queued| finish(&Machine { queued, ..IDLE }, &WORK);
        assert!(near(13.9) < far && near(14.1) > far);
    }
}

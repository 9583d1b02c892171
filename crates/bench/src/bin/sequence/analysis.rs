//! How long the analysis of a program takes, and how that grows with the program.
//!
//! Law: a program is made before the clock starts; what is measured is all of its calls, from arguments to dependences
//! and ranks. A run is a process of its own with one thread, and its time is the processor's, since others may use the
//! machine too. Short and long programs take turns, and the middle of several runs counts, of ratios too.

use std::error::Error;
use std::process::{Command, ExitCode};

use headwater_bench::{Bar, Claims, median, processor_seconds, resident};
use headwater_derive::{Access, Argument, ItemId, Mode, Object, Tracker};
use headwater_graph::ScalarType;

/// The flag of a run.
pub(crate) const CHILD: &str = "--one-analysis";

/// The arguments of a call.
type Call = [Argument; 4];

/// A kind of programs.
struct Kind {
    name: &'static str,
    mode: Mode,
    /// The call at a place in a program of so many calls, with a source of random numbers.
    call: fn(usize, usize, &mut Random) -> Call,
}

const KINDS: [Kind; 7] = [
    // One array that every call updates.
    Kind {
        name: "chain",
        mode: Mode::Restrictive,
        call: |_, _, _| {
            let inputs = [1, 2, 3].map(|item| whole(Access::In, item));
            [whole(Access::InOut, 0), inputs[0], inputs[1], inputs[2]]
        },
    },
    // Every call reads what all read, and writes what nobody else does.
    Kind {
        name: "wide",
        mode: Mode::Restrictive,
        call: |place, _, _| {
            let own = 2 + 2 * place;
            [
                whole(Access::In, 0),
                whole(Access::In, 1),
                whole(Access::Out, own),
                whole(Access::Out, own + 1),
            ]
        },
    },
    // Anything with any of many items.
    Kind {
        name: "random items",
        mode: Mode::Restrictive,
        call: |_, _, random| anything(10_000, random),
    },
    // As many items as calls: those of the shorter program fit into a cache that those of the longer one do not fit
    // into, and this is seen in its growth.
    Kind {
        name: "as many random items as calls",
        mode: Mode::Restrictive,
        call: |_, calls, random| anything(calls, random),
    },
    // A few temporaries that are written again and again.
    Kind {
        name: "temporaries",
        mode: Mode::Restrictive,
        call: |_, _, random| {
            [Access::In, Access::In, Access::In, Access::Out]
                .map(|access| whole(access, random.below(64)))
        },
    },
    // Scalars of two types, given and taken in no order, and two items.
    Kind {
        name: "conservative scalars",
        mode: Mode::Conservative,
        call: |_, _, random| {
            let accesses = [Access::In, Access::Out, Access::InOut];
            [
                scalar(accesses[random.below(3)], ScalarType::Int),
                scalar(accesses[random.below(2)], ScalarType::Float),
                whole(Access::In, random.below(10_000)),
                whole(Access::Out, random.below(10_000)),
            ]
        },
    },
    // The first half gives scalars, the second takes them: as many dependences as the square of that.
    Kind {
        name: "conservative halves",
        mode: Mode::Conservative,
        call: |place, calls, _| {
            let gives = place < calls / 2;
            let access = if gives { Access::Out } else { Access::In };
            let types = [
                ScalarType::Bool,
                ScalarType::Int,
                ScalarType::Float,
                ScalarType::Text,
            ];
            types.map(|of| scalar(access, of))
        },
    },
];

/// A call that reads two, updates one and writes one of so many items.
fn anything(items: usize, random: &mut Random) -> Call {
    [Access::In, Access::In, Access::InOut, Access::Out]
        .map(|access| whole(access, random.below(items)))
}

fn whole(access: Access, item: usize) -> Argument {
    Argument::whole(access, ItemId(item as u32))
}

/// A scalar that is passed by value.
fn scalar(access: Access, of: ScalarType) -> Argument {
    Argument {
        access,
        object: Object::Scalar(of),
        reference: None,
    }
}

/// Random numbers: the SplitMix64 sequence.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % limit.max(1) as u64) as usize
    }
}

/// Analyses one program; prints seconds, bytes, how much is written down, and the highest rank.
pub(crate) fn child(kind: &str, calls: &str) -> ExitCode {
    let kind = KINDS.iter().find(|known| known.name == kind);
    let (Some(kind), Ok(calls)) = (kind, calls.parse::<usize>()) else {
        return ExitCode::from(2);
    };
    let mut random = Random(1);
    let program: Vec<Call> = (0..calls)
        .map(|place| (kind.call)(place, calls, &mut random))
        .collect();
    let before = resident().0;
    let began = processor_seconds();
    let mut tracker = Tracker::new(kind.mode);
    let mut highest = 0;
    for call in &program {
        let call = tracker.call(call);
        highest = highest.max(tracker.rank(call));
    }
    let seconds = processor_seconds() - began;
    let bytes = resident().1.saturating_sub(before);
    println!("{seconds} {bytes} {} {highest}", tracker.stored());
    ExitCode::SUCCESS
}

/// What `child` prints.
fn analysis(kind: &Kind, calls: usize) -> Result<[f64; 4], Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command
        .args([CHILD, kind.name, &calls.to_string()])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let numbers = numbers?.try_into();
    Ok(numbers.map_err(|_| format!("an analysis of {calls} calls said `{text}`"))?)
}

/// Claims on time and its growth.
pub(crate) fn measure(claims: &mut Claims) -> Result<(), Box<dyn Error>> {
    const SHORT: usize = 100_000;
    const LONG: usize = 1_000_000;
    const TIMES: usize = 7;
    for kind in &KINDS {
        let (mut short, mut long, mut growth) = (Vec::new(), Vec::new(), Vec::new());
        let mut figures = [0.0; 3];
        for _ in 0..TIMES {
            let [one, ..] = analysis(kind, SHORT)?;
            let [other, bytes, stored, highest] = analysis(kind, LONG)?;
            short.push(one / SHORT as f64);
            long.push(other / LONG as f64);
            growth.push(other / LONG as f64 / (one / SHORT as f64));
            figures = [bytes, stored, highest];
        }
        let (short, long) = (median(short), median(long));
        let [bytes, stored, highest] = figures;
        let name = kind.name;
        let what = format!("1,000,000 calls with 4 arguments each, {name}");
        claims.claim(&what, long * LONG as f64, "s", Bar::AtMost(3.0));
        let what = format!("time for a call among 1,000,000, among 100,000 = 1, {name}");
        claims.claim(&what, median(growth), "times", Bar::AtMost(2.0));
        claims.note(&format!(
            "{:.0} and {:.0} ns for a call, {:.0} MiB, {:.2} entries for an argument, highest rank {highest}",
            1e9 * short,
            1e9 * long,
            bytes / 1_048_576.0,
            stored / LONG as f64 / 4.0,
        ));
    }
    Ok(())
}

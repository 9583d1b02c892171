//! What the operations need while they run, against what they say, by an allocator that counts.
//!
//! Law: an operation never needs more than it says, nor so much less that a limit on memory would keep cores idle for
//! nothing. It has a program of its own, since everything that is allocated counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_graph::{
    Context, Kind, Operation, Outputs, Registry, Scalar, Signature, Type, Value,
};

struct Counting;

static NOW: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

fn add(bytes: usize) {
    let now = NOW.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

fn take(bytes: usize) {
    NOW.fetch_sub(bytes as u64, Ordering::Relaxed);
}

// SAFETY: all the work is done by the system's allocator; counting touches nothing of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        take(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may be there for a moment.
        add(size);
        take(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Pixels along each side.
const SIDE: i64 = 2048;

/// Bytes per pixel that an operation may say it needs, and not need.
const SPARE: f64 = 1.5;

/// An operation, its parameters, what goes into which input, and what becomes of which output.
type Names = &'static [(&'static str, &'static str)];
type Step = (
    &'static str,
    &'static [(&'static str, Scalar)],
    Names,
    Names,
);

const STEPS: &[Step] = &[
    (
        "synth",
        &[("width", Scalar::Int(SIDE)), ("height", Scalar::Int(SIDE))],
        &[],
        &[("image", "tile"), ("mask", "truth")],
    ),
    (
        "normalize",
        &[],
        &[("image", "tile")],
        &[("image", "tissue")],
    ),
    (
        "split",
        &[],
        &[("image", "tissue")],
        &[("red", "red"), ("green", "green"), ("blue", "blue")],
    ),
    (
        "red-blood-cells",
        &[],
        &[("red", "red"), ("green", "green"), ("blue", "blue")],
        &[("mask", "blood"), ("status", "background-status")],
    ),
    (
        "reconstruct-background",
        &[],
        &[("red", "red")],
        &[("inverted", "inverted"), ("background", "background")],
    ),
    (
        "threshold",
        &[("threshold", Scalar::Int(20))],
        &[("inverted", "inverted"), ("background", "background")],
        &[("difference", "difference"), ("mask", "cores")],
    ),
    (
        "filter-candidates",
        &[],
        &[("mask", "cores")],
        &[("mask", "seeds"), ("status", "seeds-status")],
    ),
    (
        "candidates",
        &[("threshold", Scalar::Int(10))],
        &[
            ("difference", "difference"),
            ("seeds", "seeds"),
            ("red-blood-cells", "blood"),
            ("background-status", "background-status"),
            ("seeds-status", "seeds-status"),
        ],
        &[("mask", "found"), ("status", "found-status")],
    ),
    (
        "separate",
        &[],
        &[
            ("image", "tissue"),
            ("mask", "found"),
            ("status", "found-status"),
        ],
        &[("mask", "separated"), ("status", "separated-status")],
    ),
    (
        "final-filter",
        &[],
        &[("mask", "separated"), ("status", "separated-status")],
        &[("mask", "mask"), ("status", "status")],
    ),
    (
        "overlay",
        &[],
        &[("image", "tile"), ("mask", "mask")],
        &[("image", "overlay")],
    ),
    ("dice", &[], &[("a", "mask"), ("b", "truth")], &[]),
    (
        "compare-objects",
        &[],
        &[("mask", "mask"), ("reference", "truth")],
        &[],
    ),
    ("save", &[], &[("image", "tile")], &[("file", "file")]),
    (
        "partition",
        &[],
        &[("slide", "file")],
        &[("boxes", "boxes")],
    ),
    ("tile", &[], &[("slide", "file"), ("box", "boxes")], &[]),
];

fn arguments(signature: &Signature, inputs: Names, values: &BTreeMap<&str, Value>) -> Vec<Value> {
    let mut arguments = vec![Value::Null; signature.inputs.len()];
    for (port, name) in inputs {
        let value = match &values[name] {
            Value::List(items) => &items[0],
            value => value,
        };
        arguments[signature.input_index(port).unwrap()] = value.clone();
    }
    arguments
}

fn parameters(signature: &Signature, given: &[(&str, Scalar)]) -> Vec<Scalar> {
    let declared = signature.parameters.iter();
    let value = |name: &str| given.iter().find(|(given, _)| *given == name);
    declared
        .map(|declared| match value(&declared.name) {
            Some((_, value)) => value.clone(),
            None => declared.default.clone().expect("a default"),
        })
        .collect()
}

/// What it makes, and the most bytes that there were meanwhile besides that and what was there before.
fn measured<T>(make: impl FnOnce() -> T, memory: impl Fn(&T) -> u64) -> (T, u64) {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let made = make();
    let peak = PEAK.load(Ordering::Relaxed);
    let working = peak.saturating_sub(before + memory(&made));
    (made, working)
}

fn memory(values: &Outputs) -> u64 {
    values.iter().map(Value::memory).sum()
}

/// Holds what was measured against what the signature says.
fn check(signature: &Signature, inputs: &[Value], outputs: &Outputs, working: u64) {
    let share = |percent: u32, of: u64| of / 100 * u64::from(percent);
    let ports = signature.inputs.iter().zip(inputs);
    let on_inputs: u64 = ports
        .map(|(port, value)| share(port.working, value.size()))
        .sum();
    let on_outputs: u32 = signature.outputs.iter().map(|port| port.working).sum();
    let said = on_inputs + share(on_outputs, memory(outputs));
    let per_pixel = |bytes: u64| bytes as f64 / (SIDE * SIDE) as f64;
    let (said, working) = (per_pixel(said), per_pixel(working));
    println!(
        "{:30} needs {working:5.2}, says {said:5.2} bytes per pixel",
        signature.name
    );
    assert!(
        working <= said + 0.05,
        "{} needs {working:.2} bytes per pixel and says {said:.2}",
        signature.name
    );
    assert!(
        said <= working + SPARE,
        "{} needs {working:.2} bytes per pixel and says {said:.2}",
        signature.name
    );
}

#[test]
fn operations_need_what_they_say() {
    let all: BTreeMap<String, Operation> = headwater_imaging::operations()
        .into_iter()
        .map(|operation| (operation.signature.name.to_string(), operation))
        .collect();
    let mut values: BTreeMap<&str, Value> = BTreeMap::new();
    for (name, given, inputs, outputs) in STEPS {
        let operation = &all[*name];
        let signature = &operation.signature;
        let Kind::Native(body) = &operation.kind else {
            panic!("{name} is not native");
        };
        let inputs = arguments(signature, inputs, &values);
        let parameters = parameters(signature, given);
        let run = || {
            let made = body.run(&inputs, &parameters, &mut Context::default());
            made.unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let (made, working) = measured(run, memory);
        check(signature, &inputs, &made, working);
        for (port, value) in *outputs {
            values.insert(value, made[signature.output_index(port).unwrap()].clone());
        }
    }
    // Files are read by the codec.
    let mut registry = Registry::new();
    headwater_imaging::register(&mut registry).unwrap();
    let codec = registry.codec(&Type::Image).unwrap();
    let file = &values["file"];
    let read = || {
        let bytes = Context::default().read(file).unwrap();
        vec![(codec.decode)(&bytes).unwrap()]
    };
    let (made, working) = measured(read, memory);
    check(
        &codec.read_signature(),
        std::slice::from_ref(file),
        &made,
        working,
    );
}

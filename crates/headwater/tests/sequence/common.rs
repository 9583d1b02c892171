//! Procedures and options that the tests share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use headwater::StorePlace;
use headwater::sequence::{
    In, InOut, Mode, Numbers, Out, Procedure, SequenceOptions, Threads, procedure,
};

pub(crate) type Vector = Numbers<i64>;

pub(crate) fn vector(numbers: &[i64]) -> Vector {
    Vector::new(&[numbers.len() as u64], numbers).unwrap()
}

pub(crate) fn numbers(vector: &Vector) -> Vec<i64> {
    vector.as_slice().to_vec()
}

pub(crate) fn forgetting(mode: Mode) -> SequenceOptions {
    SequenceOptions::new(mode).forgetting().on(Threads::new(2))
}

pub(crate) fn remembering(folder: &std::path::Path) -> SequenceOptions {
    let place = StorePlace {
        url: Some(folder.join("store").display().to_string()),
        read_only: false,
        ..StorePlace::default()
    };
    SequenceOptions::new(Mode::Restrictive)
        .store(place)
        .on(Threads::new(2))
        .called("test")
}

/// Counts how often each body ran.
#[derive(Clone, Default)]
pub(crate) struct Runs(pub(crate) Arc<Mutex<Vec<String>>>);

impl Runs {
    pub(crate) fn note(&self, what: &str) {
        self.0.lock().unwrap().push(what.to_owned());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        let mut runs = std::mem::take(&mut *self.0.lock().unwrap());
        runs.sort();
        runs
    }
}

pub(crate) type Change = Procedure<(In<Vector>, Out<Vector>)>;
pub(crate) type Update = Procedure<(InOut<Vector>,)>;

/// Adds a number to all elements, and is called `test/plus-N`.
pub(crate) fn plus(number: i64, runs: &Runs) -> Change {
    let (name, runs) = (format!("plus-{number}"), runs.clone());
    procedure(&format!("test/{name}"), "1")
        .reads::<Vector>("from")
        .writes::<Vector>("to")
        .run(move |(mut from,): (Vector,), _| {
            runs.note(&name);
            from.as_mut_slice()
                .iter_mut()
                .for_each(|element| *element += number);
            Ok((from,))
        })
}

/// Doubles all elements where they lie.
pub(crate) fn double(runs: &Runs) -> Update {
    let runs = runs.clone();
    procedure("test/double", "1")
        .updates::<Vector>("vector")
        .run(move |(mut vector,): (Vector,), _| {
            runs.note("double");
            vector
                .as_mut_slice()
                .iter_mut()
                .for_each(|element| *element *= 2);
            Ok((vector,))
        })
}

pub(crate) fn failing(name: &str) -> Change {
    procedure(name, "1")
        .reads::<Vector>("from")
        .writes::<Vector>("to")
        .run(|(_,): (Vector,), _| Err::<(Vector,), _>("there is no more paper".into()))
}

/// A body that tells another number each time.
pub(crate) fn counting(counter: &Arc<AtomicUsize>) -> Procedure<(Out<i64>,)> {
    let counter = Arc::clone(counter);
    procedure("test/measure", "1")
        .writes::<i64>("number")
        .impure()
        .run(move |(), _| Ok((counter.fetch_add(1, Ordering::Relaxed) as i64,)))
}

/// Halves a number.
pub(crate) fn halve(runs: &Runs) -> Procedure<(In<i64>, Out<i64>)> {
    let runs = runs.clone();
    procedure("test/halve", "1")
        .reads::<i64>("whole")
        .writes::<i64>("half")
        .run(move |(whole,): (i64,), _| {
            runs.note("halve");
            Ok((whole / 2,))
        })
}

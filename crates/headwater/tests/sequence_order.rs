//! Whatever runs when, a sequence gives what its calls give one after the other.
//!
//! Law: each random program is run by a plain interpreter, call by call, and as a sequence on several threads, with
//! bodies that take their time at random. All values in the middle and at the end are the same, failures included.

use std::time::Duration;

use headwater::graph::OperationError;
use headwater::sequence::{
    ByValue, CallError, CallState, In, InList, InOut, Item, Mode, Numbers, Out, Procedure,
    Sequence, SequenceError, SequenceOptions, Threads, procedure,
};
use proptest::prelude::*;

type Vector = Numbers<i64>;

const LENGTH: usize = 4;
const VECTORS: usize = 4;
const SCALARS: usize = 2;

/// Items by number; scalars and vectors are numbered apart.
#[derive(Debug, Clone)]
enum Step {
    Mix {
        a: usize,
        b: usize,
        to: usize,
    },
    Update {
        x: usize,
        by: usize,
    },
    Scale {
        x: usize,
        by: usize,
    },
    Add {
        x: usize,
        number: i64,
    },
    Split {
        from: usize,
        low: usize,
        high: usize,
    },
    Fold {
        from: Vec<usize>,
        to: usize,
    },
    /// Fails if the first element is a multiple of three.
    Frail {
        x: usize,
    },
    Sum {
        of: usize,
        to: usize,
    },
    Bump {
        x: usize,
    },
    /// The program asks for a value.
    AskVector(usize),
    AskScalar(usize),
    /// The variable becomes a new item that has the given value.
    Renew {
        x: usize,
        value: i64,
    },
}

impl Step {
    fn gives_scalars(&self) -> bool {
        matches!(self, Step::Sum { .. } | Step::Bump { .. })
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let vector = 0..VECTORS;
    let scalar = 0..SCALARS;
    let step = prop_oneof![
        4 => (vector.clone(), vector.clone(), vector.clone())
            .prop_map(|(a, b, to)| Step::Mix { a, b, to }),
        3 => (vector.clone(), vector.clone()).prop_map(|(x, by)| Step::Update { x, by }),
        2 => (vector.clone(), scalar.clone()).prop_map(|(x, by)| Step::Scale { x, by }),
        2 => (vector.clone(), -3..4_i64).prop_map(|(x, number)| Step::Add { x, number }),
        2 => (vector.clone(), vector.clone(), vector.clone())
            .prop_map(|(from, low, high)| Step::Split { from, low, high }),
        1 => (prop::collection::vec(vector.clone(), 0..6), vector.clone())
            .prop_map(|(from, to)| Step::Fold { from, to }),
        1 => vector.clone().prop_map(|x| Step::Frail { x }),
        2 => (vector.clone(), scalar.clone()).prop_map(|(of, to)| Step::Sum { of, to }),
        1 => scalar.clone().prop_map(|x| Step::Bump { x }),
        1 => vector.clone().prop_map(Step::AskVector),
        1 => scalar.prop_map(Step::AskScalar),
        1 => (vector, -9..10_i64).prop_map(|(x, value)| Step::Renew { x, value }),
    ];
    prop::collection::vec(step, 0..30)
}

// What the calls compute, for the interpreter and for the bodies alike.

fn mix(a: &[i64], b: &[i64]) -> Vec<i64> {
    let pairs = a.iter().zip(b.iter().rev());
    pairs.map(|(a, b)| (3 * a - b) % 1009).collect()
}

fn update(x: &mut [i64], by: &[i64]) {
    x.iter_mut()
        .zip(by)
        .for_each(|(x, by)| *x = (*x * 2 + by) % 1013);
}

fn scale(x: &mut [i64], by: i64) {
    x.iter_mut().for_each(|x| *x = (*x * by + 1) % 1019);
}

fn add(x: &mut [i64], number: i64) {
    x.iter_mut().for_each(|x| *x += number);
}

fn split(from: &[i64]) -> (Vec<i64>, Vec<i64>) {
    let low = from.iter().map(|number| number % 10).collect();
    (low, from.iter().map(|number| number / 10).collect())
}

fn fold<'a>(from: impl IntoIterator<Item = &'a [i64]>) -> Vec<i64> {
    from.into_iter().fold(vec![1; LENGTH], |mut sum, next| {
        update(&mut sum, next);
        sum
    })
}

fn sum(of: &[i64]) -> i64 {
    of.iter().sum::<i64>() % 997
}

fn bump(x: i64) -> i64 {
    (5 * x + 3) % 991
}

fn is_frail(x: &[i64]) -> bool {
    x[0] % 3 == 0
}

/// A pause that depends on the data, so that tasks end in all orders.
fn dawdle(salt: i64) {
    match salt.rem_euclid(7) {
        0 => std::thread::sleep(Duration::from_micros(300)),
        1 | 2 => std::thread::sleep(Duration::from_micros(50)),
        3 => std::thread::yield_now(),
        _ => {}
    }
}

fn vector(numbers: &[i64]) -> Vector {
    Vector::new(&[numbers.len() as u64], numbers).unwrap()
}

struct Procedures {
    mix: Procedure<(In<Vector>, In<Vector>, Out<Vector>)>,
    update: Procedure<(InOut<Vector>, In<Vector>)>,
    scale: Procedure<(InOut<Vector>, In<i64>)>,
    add: Procedure<(InOut<Vector>, ByValue<i64>)>,
    split: Procedure<(In<Vector>, Out<Vector>, Out<Vector>)>,
    fold: Procedure<(InList<Vector>, Out<Vector>)>,
    frail: Procedure<(InOut<Vector>,)>,
    sum: Procedure<(In<Vector>, Out<i64>)>,
    bump: Procedure<(InOut<i64>,)>,
}

impl Procedures {
    fn new() -> Procedures {
        Procedures {
            mix: procedure("order/mix", "1")
                .reads::<Vector>("a")
                .reads::<Vector>("b")
                .writes::<Vector>("to")
                .run(|(a, b): (Vector, Vector), _| {
                    dawdle(a.as_slice()[0]);
                    Ok((vector(&mix(a.as_slice(), b.as_slice())),))
                }),
            update: procedure("order/update", "1")
                .updates::<Vector>("x")
                .reads::<Vector>("by")
                .run(|(mut x, by): (Vector, Vector), _| {
                    dawdle(x.as_slice()[1]);
                    update(x.as_mut_slice(), by.as_slice());
                    Ok((x,))
                }),
            scale: procedure("order/scale", "1")
                .updates::<Vector>("x")
                .reads::<i64>("by")
                .run(|(mut x, by): (Vector, i64), _| {
                    dawdle(by);
                    scale(x.as_mut_slice(), by);
                    Ok((x,))
                }),
            add: procedure("order/add", "1")
                .updates::<Vector>("x")
                .takes::<i64>("number")
                .run(|(mut x, number): (Vector, i64), _| {
                    add(x.as_mut_slice(), number);
                    dawdle(x.as_slice()[2]);
                    Ok((x,))
                }),
            split: procedure("order/split", "1")
                .reads::<Vector>("from")
                .writes::<Vector>("low")
                .writes::<Vector>("high")
                .run(|(from,): (Vector,), _| {
                    let (low, high) = split(from.as_slice());
                    dawdle(low[0]);
                    Ok((vector(&low), vector(&high)))
                }),
            fold: procedure("order/fold", "1")
                .reads_list::<Vector>("from")
                .writes::<Vector>("to")
                .run(|(from,): (Vec<Vector>,), _| {
                    Ok((vector(&fold(from.iter().map(Vector::as_slice))),))
                }),
            frail: procedure("order/frail", "1").updates::<Vector>("x").run(
                |(mut x,): (Vector,), _| {
                    if is_frail(x.as_slice()) {
                        return Err(OperationError::Failed("it broke".to_owned()));
                    }
                    add(x.as_mut_slice(), 1);
                    Ok((x,))
                },
            ),
            sum: procedure("order/sum", "1")
                .reads::<Vector>("of")
                .writes::<i64>("sum")
                .run(|(of,): (Vector,), _| {
                    dawdle(of.as_slice()[3]);
                    Ok((sum(of.as_slice()),))
                }),
            bump: procedure("order/bump", "1")
                .updates::<i64>("x")
                .run(|(x,): (i64,), _| Ok((bump(x),))),
        }
    }
}

/// Variables as they stand after some calls, one after the other; `None` where a call failed before.
struct Plain {
    vectors: Vec<Option<Vec<i64>>>,
    scalars: Vec<Option<i64>>,
    /// How many calls fail, or cannot run.
    unmade: usize,
}

fn first(vector: usize) -> Vec<i64> {
    (0..LENGTH)
        .map(|place| (vector * 5 + place * 3) as i64)
        .collect()
}

impl Plain {
    fn new() -> Plain {
        Plain {
            vectors: (0..VECTORS).map(|x| Some(first(x))).collect(),
            scalars: (0..SCALARS).map(|x| Some(x as i64 + 2)).collect(),
            unmade: 0,
        }
    }

    /// What a call gives, if all that it reads is there.
    fn made<T>(&mut self, result: Option<T>) -> Option<T> {
        self.unmade += usize::from(result.is_none());
        result
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Mix { a, b, to } => {
                let (a, b) = (self.vectors[*a].clone(), self.vectors[*b].clone());
                let result = a.zip(b).map(|(a, b)| mix(&a, &b));
                self.vectors[*to] = self.made(result);
            }
            Step::Update { x, by } => {
                let by = self.vectors[*by].clone();
                let result = self.vectors[*x].clone().zip(by).map(|(mut x, by)| {
                    update(&mut x, &by);
                    x
                });
                self.vectors[*x] = self.made(result);
            }
            Step::Scale { x, by } => {
                let by = self.scalars[*by];
                let result = self.vectors[*x].clone().zip(by).map(|(mut x, by)| {
                    scale(&mut x, by);
                    x
                });
                self.vectors[*x] = self.made(result);
            }
            Step::Add { x, number } => {
                let result = self.vectors[*x].clone().map(|mut x| {
                    add(&mut x, *number);
                    x
                });
                self.vectors[*x] = self.made(result);
            }
            Step::Split { from, low, high } => {
                let result = self.vectors[*from].clone().map(|from| split(&from));
                let result = self.made(result);
                let (lower, higher) = result.unzip();
                self.vectors[*low] = lower;
                self.vectors[*high] = higher;
            }
            Step::Fold { from, to } => {
                let from: Option<Vec<Vec<i64>>> =
                    from.iter().map(|x| self.vectors[*x].clone()).collect();
                let result = from.map(|from| fold(from.iter().map(Vec::as_slice)));
                self.vectors[*to] = self.made(result);
            }
            Step::Frail { x } => {
                let x_now = self.vectors[*x].clone().filter(|x| !is_frail(x));
                let result = x_now.map(|mut x| {
                    add(&mut x, 1);
                    x
                });
                self.vectors[*x] = self.made(result);
            }
            Step::Sum { of, to } => {
                let result = self.vectors[*of].as_deref().map(sum);
                self.scalars[*to] = self.made(result);
            }
            Step::Bump { x } => {
                let result = self.scalars[*x].map(bump);
                self.scalars[*x] = self.made(result);
            }
            Step::Renew { x, value } => self.vectors[*x] = Some(vec![*value; LENGTH]),
            Step::AskVector(_) | Step::AskScalar(_) => {}
        }
    }
}

/// The same variables as items.
struct Items {
    vectors: Vec<Item<Vector>>,
    scalars: Vec<Item<i64>>,
}

/// A value of the sequence beside that of the interpreter.
fn same<T: PartialEq + std::fmt::Debug>(
    found: Result<T, SequenceError>,
    expected: Option<T>,
) -> Result<(), TestCaseError> {
    match (found, expected) {
        (Ok(found), Some(expected)) => prop_assert_eq!(found, expected),
        (Err(SequenceError::Unavailable(why)), None) => {
            prop_assert_eq!(&why.cause.failure.message, "it broke");
        }
        (found, expected) => prop_assert!(false, "{found:?} for {expected:?}"),
    }
    Ok(())
}

fn numbers(found: Result<Vector, SequenceError>) -> Result<Vec<i64>, SequenceError> {
    found.map(|vector| vector.as_slice().to_vec())
}

fn submit(
    sequence: &mut Sequence,
    procedures: &Procedures,
    items: &mut Items,
    step: &Step,
) -> Result<(), SequenceError> {
    let Items { vectors, scalars } = items;
    match step {
        Step::Mix { a, b, to } => {
            let (a, b) = (vectors[*a].clone(), vectors[*b].clone());
            sequence.submit(&procedures.mix, (&a, &b, &mut vectors[*to]))?;
        }
        Step::Update { x, by } => {
            let by = vectors[*by].clone();
            sequence.submit(&procedures.update, (&mut vectors[*x], &by))?;
        }
        Step::Scale { x, by } => {
            sequence.submit(&procedures.scale, (&mut vectors[*x], &scalars[*by]))?;
        }
        Step::Add { x, number } => {
            sequence.submit(&procedures.add, (&mut vectors[*x], *number))?;
        }
        Step::Split { from, low, high } => {
            let from = vectors[*from].clone();
            let (mut low, mut high) = (vectors[*low].clone(), vectors[*high].clone());
            sequence.submit(&procedures.split, (&from, &mut low, &mut high))?;
        }
        Step::Fold { from, to } => {
            let from: Vec<Item<Vector>> = from.iter().map(|x| vectors[*x].clone()).collect();
            sequence.submit(&procedures.fold, (&from, &mut vectors[*to]))?;
        }
        Step::Frail { x } => {
            sequence.submit(&procedures.frail, (&mut vectors[*x],))?;
        }
        Step::Sum { of, to } => {
            sequence.submit(&procedures.sum, (&vectors[*of], &mut scalars[*to]))?;
        }
        Step::Bump { x } => {
            sequence.submit(&procedures.bump, (&mut scalars[*x],))?;
        }
        Step::Renew { x, value } => vectors[*x] = sequence.give(vector(&[*value; LENGTH])),
        Step::AskVector(_) | Step::AskScalar(_) => {}
    }
    Ok(())
}

fn check(
    steps: &[Step],
    options: SequenceOptions,
    procedures: &Procedures,
) -> Result<usize, TestCaseError> {
    let mut plain = Plain::new();
    let mut sequence = Sequence::with(options);
    let mut items = Items {
        vectors: (0..VECTORS)
            .map(|x| sequence.give(vector(&first(x))))
            .collect(),
        scalars: (0..SCALARS).map(|x| sequence.give(x as i64 + 2)).collect(),
    };
    for step in steps {
        plain.step(step);
        let made = submit(&mut sequence, procedures, &mut items, step);
        prop_assert!(made.is_ok(), "{step:?}: {made:?}");
        match step {
            Step::AskVector(x) => {
                let found = sequence.value(&items.vectors[*x]);
                same(numbers(found), plain.vectors[*x].clone())?;
            }
            Step::AskScalar(x) => same(sequence.value(&items.scalars[*x]), plain.scalars[*x])?,
            _ => {}
        }
    }
    let report = sequence.end();
    prop_assert!(report.is_ok(), "{report:?}");
    let Ok(report) = report else {
        return Ok(0);
    };
    for (item, expected) in items.vectors.iter().zip(&plain.vectors) {
        same(numbers(report.value(item)), expected.clone())?;
    }
    for (item, expected) in items.scalars.iter().zip(&plain.scalars) {
        same(report.value(item), *expected)?;
    }
    let all = plain.vectors.iter().filter(|vector| vector.is_none());
    let missing = all.count() + plain.scalars.iter().filter(|x| x.is_none()).count();
    prop_assert_eq!(report.unavailable.len(), missing);
    // Calls that nobody needs do not run, so they do not fail either.
    let unmade = report.count(CallState::Failed) + report.count(CallState::Blocked);
    prop_assert!(unmade <= plain.unmade);
    Ok(report.count(CallState::Executed))
}

fn options(mode: Mode, workers: usize) -> SequenceOptions {
    SequenceOptions::new(mode)
        .forgetting()
        .on(Threads::new(workers))
}

/// Two sequential outputs of one call into one item are refused, so they are not asked for.
fn is_call(step: &Step) -> bool {
    !matches!(step, Step::Split { low, high, .. } if low == high)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_order_gives_the_result_of_program_order(
        mut steps in steps(),
        workers in 1..5_usize,
        memory in proptest::option::weighted(0.2, 64..400_u64),
    ) {
        steps.retain(is_call);
        let procedures = Procedures::new();
        // Some have room for a few vectors only, so that items are written out and brought back.
        let restrictive = options(Mode::Restrictive, workers);
        let restrictive = match memory {
            Some(memory) => restrictive.memory(memory),
            None => restrictive,
        };
        check(&steps, restrictive, &procedures)?;
        check(&steps, options(Mode::Conservative, workers), &procedures)?;
        steps.retain(|step| !step.gives_scalars());
        check(&steps, options(Mode::Optimistic, workers), &procedures)?;
    }

    /// In optimistic mode a scalar that is still to be made is not passed; nothing else is refused.
    #[test]
    fn a_scalar_is_not_passed_by_value_before_it_is_there(mut steps in steps()) {
        steps.retain(is_call);
        let procedures = Procedures::new();
        let mut sequence = Sequence::with(options(Mode::Optimistic, 2));
        let mut items = Items {
            vectors: (0..VECTORS).map(|x| sequence.give(vector(&first(x)))).collect(),
            scalars: (0..SCALARS).map(|x| sequence.give(x as i64 + 2)).collect(),
        };
        let mut pending = [false; SCALARS];
        for step in &steps {
            let refused = match submit(&mut sequence, &procedures, &mut items, step) {
                Ok(()) => false,
                Err(SequenceError::Call(CallError::NotYet { .. })) => true,
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            };
            let expected = match step {
                Step::Scale { by, .. } => pending[*by],
                Step::Bump { x } => pending[*x],
                _ => false,
            };
            prop_assert_eq!(refused, expected, "{:?}", step);
            match step {
                Step::Sum { to, .. } => pending[*to] = true,
                Step::Bump { x } => pending[*x] = true,
                Step::AskScalar(x) => {
                    pending[*x] &= sequence.value(&items.scalars[*x]).is_err();
                }
                _ => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// With a store, the second time nothing is executed but what failed.
    #[test]
    fn invariant_3_a_sequence_given_again_executes_nothing(mut steps in steps()) {
        steps.retain(is_call);
        let folder = tempfile::tempdir().unwrap();
        let procedures = Procedures::new();
        let place = headwater::StorePlace {
            url: Some(folder.path().join("store").display().to_string()),
            read_only: false, ..headwater::StorePlace::default() };
        for turn in 0..2 {
            let options = options(Mode::Restrictive, 2).store(place.clone());
            let executed = check(&steps, options, &procedures)?;
            prop_assert!(turn == 0 || executed == 0, "{} calls ran again", executed);
        }
    }
}

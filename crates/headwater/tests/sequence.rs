//! Sequences as programs use them: calls in order, values in the middle, failures, what is remembered.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headwater::graph::{OperationError, Value};
use headwater::sequence::{
    Argument, CallError, CallState, Datum, File, In, InOut, Item, Mode, Numbers, Out, Procedure,
    Sequence, SequenceError, SequenceOptions, Threads, Whereabouts, procedure,
};
use headwater::{NodeKind, RunStatus, Stop, StorePlace, open_store};

type Vector = Numbers<i64>;

fn vector(numbers: &[i64]) -> Vector {
    Vector::new(&[numbers.len() as u64], numbers).unwrap()
}

fn numbers(vector: &Vector) -> Vec<i64> {
    vector.as_slice().to_vec()
}

fn forgetting(mode: Mode) -> SequenceOptions {
    SequenceOptions::new(mode).forgetting().on(Threads::new(2))
}

fn remembering(folder: &std::path::Path) -> SequenceOptions {
    let place = StorePlace {
        url: Some(folder.join("store").display().to_string()),
        read_only: false,
    };
    SequenceOptions::new(Mode::Restrictive)
        .store(place)
        .on(Threads::new(2))
        .called("test")
}

/// Counts how often each body ran.
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<Vec<String>>>);

impl Runs {
    fn note(&self, what: &str) {
        self.0.lock().unwrap().push(what.to_owned());
    }

    fn take(&self) -> Vec<String> {
        let mut runs = std::mem::take(&mut *self.0.lock().unwrap());
        runs.sort();
        runs
    }
}

type Change = Procedure<(In<Vector>, Out<Vector>)>;
type Update = Procedure<(InOut<Vector>,)>;

/// Adds a number to all elements, and is called `test/plus-N`.
fn plus(number: i64, runs: &Runs) -> Change {
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
fn double(runs: &Runs) -> Update {
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

fn failing(name: &str) -> Change {
    procedure(name, "1")
        .reads::<Vector>("from")
        .writes::<Vector>("to")
        .run(|(_,): (Vector,), _| Err::<(Vector,), _>("there is no more paper".into()))
}

#[test]
fn the_paper_s_four_calls_run_in_order_and_give_what_they_would_one_after_the_other() {
    let copy = procedure("paper/return_int_vector", "1")
        .reads::<Vector>("ivec")
        .takes::<i64>("n")
        .writes::<Vector>("ovec")
        .run(|(ivec, _): (Vector, i64), _| Ok((ivec,)));
    let pass = procedure("paper/vpass_int", "1")
        .updates::<Vector>("vec")
        .takes::<i64>("n")
        .run(|(vec, _): (Vector, i64), _| Ok((vec,)));
    let sort = procedure("paper/iqsort", "1")
        .updates::<Vector>("vec")
        .takes::<i64>("n")
        .run(|(mut vec, _): (Vector, i64), _| {
            vec.as_mut_slice().sort_unstable();
            Ok((vec,))
        });
    let add = procedure("paper/int_vector_add5", "1")
        .takes::<i64>("n")
        .reads::<Vector>("vec")
        .writes::<Vector>("sum")
        .run(|(_, mut vec): (i64, Vector), _| {
            vec.as_mut_slice().iter_mut().for_each(|one| *one += 5);
            Ok((vec,))
        });
    let mut sequence = Sequence::with(forgetting(Mode::Optimistic));
    let ivec = sequence.give(vector(&[3, 1, 2]));
    let (mut ovec, mut ovec2) = (sequence.item(), sequence.item());
    sequence.submit(&copy, (&ivec, 3, &mut ovec)).unwrap();
    sequence.submit(&pass, (&mut ovec, 3)).unwrap();
    sequence.submit(&sort, (&mut ovec, 3)).unwrap();
    sequence.submit(&add, (3, &ovec, &mut ovec2)).unwrap();
    let report = sequence.end().unwrap();
    assert_eq!(numbers(&report.value(&ovec).unwrap()), [1, 2, 3]);
    assert_eq!(numbers(&report.value(&ovec2).unwrap()), [6, 7, 8]);
    let ranks: Vec<u32> = report.calls.iter().map(|call| call.rank).collect();
    assert_eq!(ranks, [0, 1, 2, 3]);
    assert_eq!(report.dependences.read_after_write, 3);
    assert_eq!(report.dependences.write_after_read, 0);
    assert_eq!(report.dependences.write_after_write, 0);
    assert_eq!(report.count(CallState::Executed), 4);
    assert_eq!(report.calls[2].address, "iqsort[2]");
    // The program gave one vector and holds two; two went from call to call as they are.
    assert_eq!(report.traffic.given, 24);
    assert_eq!(report.traffic.taken, 48);
    assert_eq!(report.traffic.between, 72);
}

#[test]
fn a_value_in_the_middle_runs_just_what_it_needs_and_nothing_twice() {
    let runs = Runs::default();
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let a = sequence.give(vector(&[1]));
    let (mut b, mut c, mut d) = (sequence.item(), sequence.item(), sequence.item());
    sequence.submit(&plus(1, &runs), (&a, &mut b)).unwrap();
    sequence.submit(&plus(10, &runs), (&b, &mut c)).unwrap();
    sequence.submit(&plus(100, &runs), (&b, &mut d)).unwrap();
    assert_eq!(
        runs.take(),
        Vec::<String>::new(),
        "nothing runs when it is submitted"
    );
    assert_eq!(numbers(&sequence.value(&c).unwrap()), [12]);
    assert_eq!(runs.take(), ["plus-1", "plus-10"]);
    assert_eq!(numbers(&sequence.value(&c).unwrap()), [12]);
    assert_eq!(runs.take(), Vec::<String>::new());
    // What the pending call reads was kept for it, although its handle is gone.
    drop(b);
    let report = sequence.end().unwrap();
    assert_eq!(runs.take(), ["plus-100"]);
    assert_eq!(numbers(&report.value(&d).unwrap()), [102]);
    assert_eq!(numbers(&report.value(&c).unwrap()), [12]);
}

#[test]
fn conditions_and_loops_are_those_of_the_language() {
    let halve = procedure("collatz/halve", "1")
        .updates::<i64>("number")
        .run(|(number,): (i64,), _| Ok((number / 2,)));
    let climb = procedure("collatz/climb", "1")
        .updates::<i64>("number")
        .run(|(number,): (i64,), _| Ok((3 * number + 1,)));
    for mode in [Mode::Optimistic, Mode::Conservative, Mode::Restrictive] {
        let mut sequence = Sequence::with(forgetting(mode));
        let mut number = sequence.give(27);
        let mut steps = 0;
        loop {
            let now = sequence.value(&number).unwrap();
            if now == 1 {
                break;
            }
            let step = if now % 2 == 0 { &halve } else { &climb };
            sequence.submit(step, (&mut number,)).unwrap();
            steps += 1;
        }
        assert_eq!(steps, 111);
        let report = sequence.end().unwrap();
        assert_eq!(report.count(CallState::Executed), 111);
        assert_eq!(report.value(&number).unwrap(), 1);
    }
}

#[test]
fn equal_calls_are_one_task_and_writing_over_an_item_makes_no_cycle() {
    let runs = Runs::default();
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let a = sequence.give(vector(&[1]));
    let (mut x, mut y) = (sequence.item(), sequence.item());
    let (f, g) = (plus(1, &runs), plus(10, &runs));
    sequence.submit(&f, (&a, &mut x)).unwrap();
    sequence.submit(&g, (&x, &mut y)).unwrap();
    sequence.submit(&f, (&a, &mut x)).unwrap();
    let report = sequence.end().unwrap();
    assert_eq!(numbers(&report.value(&x).unwrap()), [2]);
    assert_eq!(numbers(&report.value(&y).unwrap()), [12]);
    assert_eq!(runs.take(), ["plus-1", "plus-10"]);
    assert_eq!(report.calls[2].state, CallState::Shared);
    // They are facts all the same: the third call writes over what the first wrote and the second read.
    assert_eq!(report.dependences.write_after_write, 1);
    assert_eq!(report.dependences.write_after_read, 1);
}

#[test]
fn an_update_in_place_never_reaches_who_shares_the_version_before() {
    let runs = Runs::default();
    for _ in 0..50 {
        let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
        let a = sequence.give(vector(&[1, 2]));
        let (mut x, mut y, mut z) = (sequence.item(), sequence.item(), sequence.item());
        let (f, g, update) = (plus(1, &runs), plus(10, &runs), double(&runs));
        sequence.submit(&f, (&a, &mut x)).unwrap();
        // The same task under another name, which stays as it is.
        sequence.submit(&f, (&a, &mut y)).unwrap();
        sequence.submit(&update, (&mut x,)).unwrap();
        sequence.submit(&g, (&y, &mut z)).unwrap();
        // Neither does what the program gave change.
        let mut given = a.clone();
        sequence.submit(&update, (&mut given,)).unwrap();
        let report = sequence.end().unwrap();
        assert_eq!(numbers(&report.value(&x).unwrap()), [4, 6]);
        assert_eq!(numbers(&report.value(&y).unwrap()), [2, 3]);
        assert_eq!(numbers(&report.value(&z).unwrap()), [12, 13]);
        assert_eq!(
            numbers(&report.value(&a).unwrap()),
            [2, 4],
            "clones are one item"
        );
    }
}

#[test]
fn an_item_that_nobody_else_has_is_changed_where_it_lies() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let update = procedure("test/update", "1")
        .updates::<Vector>("vector")
        .run(move |(mut vector,): (Vector,), _| {
            noted.lock().unwrap().push(vector.is_alone());
            vector.as_mut_slice()[0] += 1;
            Ok((vector,))
        });
    let runs = Runs::default();
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let a = sequence.give(vector(&[1]));
    let mut x = sequence.item();
    sequence.submit(&plus(1, &runs), (&a, &mut x)).unwrap();
    sequence.submit(&update, (&mut x,)).unwrap();
    sequence.submit(&update, (&mut x,)).unwrap();
    assert_eq!(numbers(&sequence.value(&x).unwrap()), [4]);
    assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), [true, true]);
    // The program has been shown this version and might ask again; the one after it is read by another call as well.
    sequence.submit(&update, (&mut x,)).unwrap();
    let mut y = sequence.item();
    sequence.submit(&plus(1, &runs), (&x, &mut y)).unwrap();
    sequence.submit(&update, (&mut x,)).unwrap();
    let report = sequence.end().unwrap();
    assert_eq!(numbers(&report.value(&x).unwrap()), [6]);
    assert_eq!(numbers(&report.value(&y).unwrap()), [6]);
}

#[test]
fn a_failed_call_stops_what_depends_on_it_and_nothing_else() {
    let runs = Runs::default();
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let a = sequence.give(vector(&[1]));
    let (mut bad, mut after, mut good) = (sequence.item(), sequence.item(), sequence.item());
    sequence.name(&bad, "bad");
    sequence.name(&after, "after");
    sequence
        .submit(&failing("test/print"), (&a, &mut bad))
        .unwrap();
    sequence
        .submit(&plus(1, &runs), (&bad, &mut after))
        .unwrap();
    sequence.submit(&plus(2, &runs), (&a, &mut good)).unwrap();
    let error = sequence.value(&after).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`after` is not available: call plus-1[1], which writes it, needs call print[0] of `test/print`, which \
         failed: there is no more paper"
    );
    // It goes on; asking again gives the same.
    assert_eq!(numbers(&sequence.value(&good).unwrap()), [3]);
    let again = sequence.value(&after).unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
    // A call made after the failure that needs it cannot run either.
    let mut late = sequence.item();
    sequence.name(&late, "late");
    sequence.submit(&plus(3, &runs), (&bad, &mut late)).unwrap();
    let report = sequence.end().unwrap();
    let states: Vec<CallState> = report.calls.iter().map(|call| call.state).collect();
    assert_eq!(
        states,
        [
            CallState::Failed,
            CallState::Blocked,
            CallState::Executed,
            CallState::Blocked
        ]
    );
    let missing: Vec<&str> = report.unavailable.iter().map(|why| &*why.item).collect();
    assert_eq!(missing, ["bad", "after", "late"]);
    assert!(matches!(
        report.value(&late),
        Err(SequenceError::Unavailable(_))
    ));
    assert_eq!(numbers(&report.value(&good).unwrap()), [3]);
    let told = report.to_string();
    assert!(
        told.contains(
            "failed: task `print[0]`: there is no more paper\n  2 tasks could not run because of it"
        ),
        "{told}"
    );
    assert!(
        told.contains("not available because of it: `bad`, `after`, `late`"),
        "{told}"
    );
    let failed = report.check().unwrap_err();
    assert!(matches!(failed, SequenceError::Failed(ref calls) if calls.len() == 1));
    assert!(
        failed.to_string().contains("there is no more paper"),
        "{failed}"
    );
    assert_eq!(runs.take(), ["plus-2"]);
}

#[test]
fn a_slow_call_of_a_level_does_not_hold_up_others() {
    // The slow call ends when the other chain has come to its end, which is three levels further down. With a barrier
    // after each level, neither would.
    let (done, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let slow = procedure("test/slow", "1")
        .reads::<i64>("from")
        .writes::<i64>("to")
        .run(move |(from,): (i64,), _| {
            let waited = wait.lock().unwrap().recv_timeout(Duration::from_secs(120));
            waited.map_err(|_| OperationError::Failed("nobody went on".to_owned()))?;
            Ok((from,))
        });
    let step = procedure("test/step", "1")
        .updates::<i64>("number")
        .run(|(number,): (i64,), _| Ok((number + 1,)));
    let last =
        procedure("test/last", "1")
            .updates::<i64>("number")
            .run(move |(number,): (i64,), _| {
                let _ = done.send(());
                Ok((number,))
            });
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let from = sequence.give(1);
    let (mut held_up, mut chain) = (sequence.item(), sequence.give(1));
    sequence.submit(&slow, (&from, &mut held_up)).unwrap();
    for _ in 0..3 {
        sequence.submit(&step, (&mut chain,)).unwrap();
    }
    sequence.submit(&last, (&mut chain,)).unwrap();
    let report = sequence.end().unwrap();
    assert_eq!(report.value(&held_up).unwrap(), 1);
    assert_eq!(report.value(&chain).unwrap(), 4);
}

#[test]
fn what_nobody_can_ask_for_is_not_computed_unless_it_does_something() {
    let runs = Runs::default();
    let counter = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&counter);
    let announce = procedure("test/announce", "1")
        .reads::<Vector>("vector")
        .writes::<i64>("told")
        .impure()
        .run(move |(_,): (Vector,), _| Ok((count.fetch_add(1, Ordering::Relaxed) as i64,)));
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let a = sequence.give(vector(&[1]));
    let (mut unread, mut kept) = (sequence.item(), sequence.item());
    sequence.submit(&plus(1, &runs), (&a, &mut unread)).unwrap();
    sequence.submit(&plus(2, &runs), (&a, &mut kept)).unwrap();
    // Twice the same, and both are made for what they do.
    for _ in 0..2 {
        let mut told: Item<i64> = sequence.item();
        sequence.submit(&announce, (&kept, &mut told)).unwrap();
    }
    drop(unread);
    assert_eq!(numbers(&sequence.value(&kept).unwrap()), [3]);
    assert_eq!(
        counter.load(Ordering::Relaxed),
        0,
        "a value needs what it needs"
    );
    let report = sequence.end().unwrap();
    assert_eq!(counter.load(Ordering::Relaxed), 2);
    assert_eq!(runs.take(), ["plus-2"]);
    assert_eq!(report.calls[0].state, CallState::Unneeded);
}

#[test]
fn what_was_computed_once_is_never_computed_again() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs::default();
    let program = |first: i64| {
        let mut sequence = Sequence::with(remembering(folder.path()));
        let a = sequence.give(vector(&[first; 5000]));
        let (mut b, mut c) = (sequence.item(), sequence.item());
        sequence.submit(&plus(1, &runs), (&a, &mut b)).unwrap();
        sequence.submit(&plus(10, &runs), (&b, &mut c)).unwrap();
        sequence.submit(&double(&runs), (&mut b,)).unwrap();
        let report = sequence.end().unwrap();
        let values = (report.value(&b).unwrap(), report.value(&c).unwrap());
        assert_eq!(values.0.as_slice()[0], 2 * (first + 1));
        assert_eq!(values.1.as_slice()[4999], first + 11);
        report
    };
    let first = program(1);
    assert_eq!(runs.take(), ["double", "plus-1", "plus-10"]);
    let second = program(1);
    assert_eq!(runs.take(), Vec::<String>::new());
    assert_eq!(
        second.count(CallState::Reused) + second.count(CallState::Unneeded),
        3
    );
    assert_ne!(first.run, second.run);
    program(2);
    assert_eq!(runs.take(), ["double", "plus-1", "plus-10"]);
    // The runs are listed like any others, with what became of their tasks.
    let place = StorePlace {
        url: Some(folder.path().join("store").display().to_string()),
        read_only: false,
    };
    let store = open_store(&place, folder.path()).unwrap();
    let listed = store.runs(10).unwrap();
    assert_eq!(listed.len(), 3);
    assert!(
        listed
            .iter()
            .all(|run| run.status == RunStatus::Done && run.workflow == "test")
    );
    let tasks = store.run_tasks(first.run.as_deref().unwrap()).unwrap();
    let mut addresses: Vec<&str> = tasks.iter().map(|task| &*task.address).collect();
    addresses.sort_unstable();
    assert_eq!(addresses, ["double[2]", "plus-10[1]", "plus-1[0]"]);
}

#[test]
fn a_product_whose_bytes_are_gone_is_made_again_from_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs::default();
    let program = || {
        let mut sequence = Sequence::with(remembering(folder.path()));
        let a = sequence.give(vector(&[7; 5000]));
        let (mut b, mut c) = (sequence.item(), sequence.item());
        sequence.submit(&plus(1, &runs), (&a, &mut b)).unwrap();
        sequence.submit(&plus(10, &runs), (&b, &mut c)).unwrap();
        let middle = sequence.value(&c).unwrap();
        let report = sequence.end().unwrap();
        assert_eq!(numbers(&report.value(&c).unwrap()), numbers(&middle));
        assert_eq!(middle.as_slice()[17], 18);
    };
    program();
    assert_eq!(runs.take(), ["plus-1", "plus-10"]);
    for entry in std::fs::read_dir(folder.path().join("store/objects")).unwrap() {
        std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    program();
    assert_eq!(runs.take(), ["plus-1", "plus-10"]);
    program();
    assert_eq!(runs.take(), Vec::<String>::new());
}

#[test]
fn what_is_made_on_the_way_to_a_value_is_kept_if_it_can_be_asked_for_later() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs::default();
    let program = || {
        let mut sequence = Sequence::with(remembering(folder.path()));
        // Large and quickly made: as an intermediate it would not be worth its place.
        let a = sequence.give(vector(&vec![7; 1 << 20]));
        let (mut b, mut c) = (sequence.item(), sequence.item());
        sequence.submit(&plus(1, &runs), (&a, &mut b)).unwrap();
        sequence.submit(&plus(10, &runs), (&b, &mut c)).unwrap();
        assert_eq!(sequence.value(&c).unwrap().as_slice()[0], 18);
        let report = sequence.end().unwrap();
        assert_eq!(report.value(&b).unwrap().as_slice()[0], 8);
    };
    program();
    assert_eq!(runs.take(), ["plus-1", "plus-10"]);
    program();
    assert_eq!(runs.take(), Vec::<String>::new());
}

#[test]
fn files_are_items_and_stay_where_they_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("words.txt"), "one two\nthree\n").unwrap();
    let count = procedure("test/count", "1")
        .reads::<File>("text")
        .writes::<i64>("words")
        .writes::<File>("upper")
        .run(|(text,): (File,), context| {
            let bytes = text.read_with(context)?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let words = text.split_whitespace().count() as i64;
            Ok((words, File::of_bytes(text.to_uppercase().into_bytes())))
        });
    for remembers in [false, true, true] {
        let options = match remembers {
            true => remembering(folder.path()),
            false => forgetting(Mode::Restrictive),
        };
        let mut sequence = Sequence::with(options);
        let text = sequence.file(folder.path().join("words.txt")).unwrap();
        let (mut words, mut upper) = (sequence.item(), sequence.item());
        sequence
            .submit(&count, (&text, &mut words, &mut upper))
            .unwrap();
        assert_eq!(sequence.value(&words).unwrap(), 3);
        let in_the_middle = sequence.value(&upper).unwrap();
        assert_eq!(in_the_middle.read().unwrap(), b"ONE TWO\nTHREE\n");
        let report = sequence.end().unwrap();
        assert_eq!(
            report.value(&upper).unwrap().read().unwrap(),
            b"ONE TWO\nTHREE\n"
        );
        assert!(report.value(&text).unwrap().path().is_some());
    }
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let error = sequence.file(folder.path().join("wrods.txt")).unwrap_err();
    assert!(error.to_string().contains("wrods.txt"), "{error}");
}

#[test]
fn calls_that_make_no_sense_are_refused_and_leave_no_trace() {
    let runs = Runs::default();
    let f = plus(1, &runs);
    let mut sequence = Sequence::with(forgetting(Mode::Optimistic));
    let mut other = Sequence::with(forgetting(Mode::Optimistic));
    let a = sequence.give(vector(&[1]));
    let mut b = sequence.item();
    sequence.name(&b, "b");
    let mut foreign = other.item();
    assert!(matches!(
        sequence.submit(&f, (&a, &mut foreign)),
        Err(SequenceError::Foreign)
    ));
    let error = sequence.submit(&f, (&b.clone(), &mut b)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`test/plus-1` reads `b`, which has no value yet"
    );
    assert!(error.hint().is_some());
    assert!(matches!(
        sequence.value(&b),
        Err(SequenceError::NoValue { .. })
    ));
    let list = |input: &str, item: &Item<Vector>| {
        vec![
            Argument::In {
                input: input.into(),
                item: a.reference().clone(),
            },
            Argument::Out {
                output: "to".into(),
                item: item.reference().clone(),
            },
        ]
    };
    let error = sequence
        .submit_list(f.operation(), list("form", &b))
        .unwrap_err();
    assert_eq!(error.to_string(), "`test/plus-1` has no input `form`");
    assert_eq!(error.hint().unwrap(), "there is `from`");
    // An untyped item of another type.
    let text = sequence.give_value(Value::Text("x".into()));
    let wrong = vec![
        Argument::In {
            input: "from".into(),
            item: text,
        },
        Argument::Out {
            output: "to".into(),
            item: b.reference().clone(),
        },
    ];
    let error = sequence.submit_list(f.operation(), wrong).unwrap_err();
    assert!(
        matches!(error, SequenceError::Call(CallError::Types { .. })),
        "{error}"
    );
    // Scalars are passed by value in this mode, and this one is still to come.
    let length = procedure("test/length", "1")
        .reads::<Vector>("of")
        .writes::<i64>("length")
        .run(|(of,): (Vector,), _| Ok((of.as_slice().len() as i64,)));
    let next = procedure("test/next", "1")
        .updates::<i64>("number")
        .run(|(number,): (i64,), _| Ok((number + 1,)));
    let mut n = sequence.item();
    sequence.name(&n, "n");
    sequence.submit(&length, (&a, &mut n)).unwrap();
    let error = sequence.submit(&next, (&mut n,)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the scalar `n`, which call 0 has yet to give"),
        "{error}"
    );
    assert_eq!(sequence.value(&n).unwrap(), 1);
    sequence.submit(&next, (&mut n,)).unwrap();
    let report = sequence.end().unwrap();
    assert_eq!(report.calls.len(), 2);
    assert_eq!(report.value(&n).unwrap(), 2);
    assert!(matches!(
        report.value(&foreign),
        Err(SequenceError::Foreign)
    ));
}

#[test]
fn one_item_may_be_read_and_written_by_one_call_under_two_names() {
    let runs = Runs::default();
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let mut x = sequence.give(vector(&[1]));
    for _ in 0..3 {
        let before = x.clone();
        sequence.submit(&plus(1, &runs), (&before, &mut x)).unwrap();
    }
    let report = sequence.end().unwrap();
    assert_eq!(numbers(&report.value(&x).unwrap()), [4]);
    let ranks: Vec<u32> = report.calls.iter().map(|call| call.rank).collect();
    assert_eq!(ranks, [0, 1, 2]);
}

#[test]
fn handles_say_where_things_are() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs::default();
    for second in [false, true] {
        let mut sequence = Sequence::with(remembering(folder.path()));
        let a = sequence.give(vector(&[1, 2, 3]));
        let mut b: Item<Vector> = sequence.item();
        sequence.name(&b, "b");
        let given = sequence.handle(&a).unwrap();
        assert_eq!(given.whereabouts, Whereabouts::Program);
        assert_eq!((given.shape, given.size), (vec![3], Some(24)));
        let call = sequence.submit(&plus(1, &runs), (&a, &mut b)).unwrap();
        let pending = sequence.handle(&b).unwrap();
        assert_eq!(pending.whereabouts, Whereabouts::Nowhere);
        assert_eq!((pending.writer, &*pending.item), (Some(call), "b"));
        sequence.value(&b).unwrap();
        let made = sequence.handle(&b).unwrap();
        let expected = match second {
            false => Whereabouts::Memory,
            true => Whereabouts::Stored,
        };
        assert_eq!(made.whereabouts, expected);
        assert_eq!(made.product, pending.product);
        assert_eq!(made.product.unwrap().1, "to");
        sequence.end().unwrap();
    }
}

#[test]
fn a_sequence_that_is_stopped_or_dropped_keeps_what_it_has_made() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs::default();
    let stop = Stop::default();
    let halt = {
        let stop = stop.clone();
        procedure("test/halt", "1")
            .reads::<Vector>("from")
            .writes::<Vector>("to")
            .run(move |(from,): (Vector,), _| {
                stop.gently();
                Ok((from,))
            })
    };
    let mut sequence = Sequence::with(remembering(folder.path()).stop(stop));
    let a = sequence.give(vector(&[1; 5000]));
    let (mut b, mut c) = (sequence.item(), sequence.item());
    sequence.name(&c, "c");
    sequence.submit(&halt, (&a, &mut b)).unwrap();
    sequence.submit(&plus(5, &runs), (&b, &mut c)).unwrap();
    let report = sequence.end().unwrap();
    assert!(report.stopped);
    assert_eq!(report.calls[1].state, CallState::Left);
    assert!(matches!(
        report.value(&c),
        Err(SequenceError::Stopped { .. })
    ));
    assert_eq!(report.value(&b).unwrap().as_slice()[0], 1);
    assert_eq!(runs.take(), Vec::<String>::new());

    let again = |drops: bool| {
        let mut sequence = Sequence::with(remembering(folder.path()));
        let a = sequence.give(vector(&[1; 5000]));
        let (mut b, mut c) = (sequence.item(), sequence.item());
        sequence.submit(&halt, (&a, &mut b)).unwrap();
        sequence.submit(&plus(5, &runs), (&b, &mut c)).unwrap();
        let value = sequence.value(&c).unwrap().as_slice()[0];
        assert_eq!(value, 6);
        if drops {
            return;
        }
        sequence.end().unwrap();
    };
    again(true);
    assert_eq!(runs.take(), ["plus-5"]);
    again(false);
    assert_eq!(runs.take(), Vec::<String>::new());
}

#[test]
fn retries_get_what_the_first_attempt_got() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&attempts);
    let shaky = procedure("test/shaky", "1")
        .updates::<Vector>("vector")
        .run(move |(mut vector,): (Vector,), _| {
            vector.as_mut_slice()[0] += 1;
            match count.fetch_add(1, Ordering::Relaxed) {
                0 => Err("not today".into()),
                _ => Ok((vector,)),
            }
        });
    let runs = Runs::default();
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive).retries(1));
    let a = sequence.give(vector(&[1]));
    let mut x = sequence.item();
    sequence.submit(&plus(1, &runs), (&a, &mut x)).unwrap();
    sequence.submit(&shaky, (&mut x,)).unwrap();
    let report = sequence.end().unwrap();
    assert_eq!(numbers(&report.value(&x).unwrap()), [3]);
    assert_eq!(attempts.load(Ordering::Relaxed), 2);
    assert!(report.failures.is_empty());
}

/// A body that tells another number each time.
fn counting(counter: &Arc<AtomicUsize>) -> Procedure<(Out<i64>,)> {
    let counter = Arc::clone(counter);
    procedure("test/measure", "1")
        .writes::<i64>("number")
        .impure()
        .run(move |(), _| Ok((counter.fetch_add(1, Ordering::Relaxed) as i64,)))
}

/// Halves a number.
fn halve(runs: &Runs) -> Procedure<(In<i64>, Out<i64>)> {
    let runs = runs.clone();
    procedure("test/halve", "1")
        .reads::<i64>("whole")
        .writes::<i64>("half")
        .run(move |(whole,): (i64,), _| {
            runs.note("halve");
            Ok((whole / 2,))
        })
}

#[test]
fn what_is_made_from_an_impure_call_is_never_what_another_run_made_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let (counter, runs) = (Arc::new(AtomicUsize::new(10)), Runs::default());
    let program = || {
        let mut sequence = Sequence::with(remembering(folder.path()));
        let (mut number, mut half) = (sequence.item(), sequence.item());
        sequence
            .submit(&counting(&counter), (&mut number,))
            .unwrap();
        sequence
            .submit(&halve(&runs), (&number, &mut half))
            .unwrap();
        let middle = sequence.value(&half).unwrap();
        let report = sequence.end().unwrap();
        assert_eq!(report.value(&half).unwrap(), middle);
        assert_eq!(report.value(&number).unwrap() / 2, middle);
        middle
    };
    let halves: Vec<i64> = (0..4).map(|_| program()).collect();
    assert_eq!(halves, [5, 5, 6, 6], "once per run, and each run by itself");
    // 11 is another number than 10, and what it gives was not known; that the same number comes again is noticed.
    assert_eq!(runs.take().len(), 4);
    counter.store(12, Ordering::Relaxed);
    assert_eq!(program(), 6);
    assert_eq!(runs.take(), Vec::<String>::new(), "cut off by content");
}

#[test]
fn an_impure_call_runs_once_however_often_values_are_asked_for() {
    let (counter, runs) = (Arc::new(AtomicUsize::new(0)), Runs::default());
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let mut halves = Vec::new();
    for round in 1..=5 {
        let (mut number, mut half) = (sequence.item(), sequence.item());
        sequence
            .submit(&counting(&counter), (&mut number,))
            .unwrap();
        sequence
            .submit(&halve(&runs), (&number, &mut half))
            .unwrap();
        drop(number);
        sequence.value(&half).unwrap();
        assert_eq!(counter.load(Ordering::Relaxed), round);
        halves.push(half);
    }
    let mut unread: Item<i64> = sequence.item();
    sequence
        .submit(&counting(&counter), (&mut unread,))
        .unwrap();
    drop(unread);
    sequence.end().unwrap();
    assert_eq!(counter.load(Ordering::Relaxed), 6);
}

#[test]
fn what_an_impure_call_wrote_can_be_read_after_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let now = procedure("test/now", "1")
        .writes::<File>("file")
        .impure()
        .run(|(), context| {
            let scratch = context.scratch.clone().ok_or("no folder")?;
            std::fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
            std::fs::write(scratch.join("now"), "12:00").map_err(|error| error.to_string())?;
            let file = File::from_value(context.give_file("now")?);
            Ok((file.map_err(|_| "no file")?,))
        });
    for options in [remembering(folder.path()), forgetting(Mode::Restrictive)] {
        let mut sequence = Sequence::with(options);
        let mut file = sequence.item();
        sequence.submit(&now, (&mut file,)).unwrap();
        let report = sequence.end().unwrap();
        assert_eq!(report.value(&file).unwrap().read().unwrap(), b"12:00");
    }
}

#[test]
fn an_operation_that_asks_for_too_much_is_refused_and_nothing_hangs() {
    let runs = Runs::default();
    let large = procedure("test/large", "1")
        .reads::<Vector>("from")
        .writes::<Vector>("to")
        .cores(64)
        .run(|(from,): (Vector,), _| Ok((from,)));
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let a = sequence.give(vector(&[1]));
    let (mut x, mut y) = (sequence.item(), sequence.item());
    let error = sequence.submit(&large, (&a, &mut x)).unwrap_err();
    assert!(matches!(error, SequenceError::TooLarge { .. }), "{error}");
    assert!(error.to_string().contains("`test/large`") && error.hint().is_some());
    sequence.submit(&plus(1, &runs), (&a, &mut y)).unwrap();
    assert_eq!(numbers(&sequence.value(&y).unwrap()), [2]);
    assert_eq!(sequence.end().unwrap().calls.len(), 1);
}

#[test]
fn a_product_that_was_let_go_is_made_again_when_an_equal_call_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    for options in [remembering(folder.path()), forgetting(Mode::Restrictive)] {
        let runs = Runs::default();
        let mut sequence = Sequence::with(options);
        // Large and quickly made, so that nobody keeps the bytes of it as an intermediate.
        let a = sequence.give(vector(&vec![1; 1 << 20]));
        let (mut x, mut y, mut z) = (sequence.item(), sequence.item(), sequence.item());
        let f = plus(1, &runs);
        sequence.submit(&f, (&a, &mut x)).unwrap();
        sequence.submit(&plus(10, &runs), (&x, &mut y)).unwrap();
        sequence.submit(&plus(5, &runs), (&a, &mut x)).unwrap();
        assert_eq!(sequence.value(&y).unwrap().as_slice()[0], 12);
        drop(y);
        // Another round, so that what nobody needs is gone.
        assert_eq!(sequence.value(&x).unwrap().as_slice()[0], 6);
        sequence.submit(&f, (&a, &mut z)).unwrap();
        assert_eq!(sequence.value(&z).unwrap().as_slice()[0], 2);
        let report = sequence.end().unwrap();
        assert_eq!(report.value(&z).unwrap().as_slice()[0], 2);
        assert!(report.unavailable.is_empty());
    }
}

#[test]
fn a_limit_on_memory_costs_time_and_no_item() {
    let folder = tempfile::tempdir().unwrap();
    for options in [remembering(folder.path()), forgetting(Mode::Restrictive)] {
        let runs = Runs::default();
        // There is no room for all items at once.
        let mut sequence = Sequence::with(options.memory(48 << 20));
        let a = sequence.give(vector(&vec![1; 1 << 20]));
        let mut made: Vec<Item<Vector>> = Vec::new();
        for number in 0..8 {
            let mut item = sequence.item();
            let call = (made.last().unwrap_or(&a), &mut item);
            sequence.submit(&plus(1 << number, &runs), call).unwrap();
            made.push(item);
        }
        assert_eq!(sequence.value(&made[7]).unwrap().as_slice()[0], 256);
        let report = sequence.end().unwrap();
        for (number, item) in made.iter().enumerate() {
            let value = report.value(item).unwrap();
            assert_eq!(value.as_slice()[77], 1 << (number + 1));
        }
        assert_eq!(runs.take().len(), 8, "each was made once");
    }
}

#[test]
fn a_file_that_changes_between_two_rounds_is_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("number.txt");
    let parse = procedure("test/parse", "1")
        .reads::<File>("text")
        .writes::<i64>("number")
        .run(|(text,): (File,), context| {
            let text = String::from_utf8_lossy(&text.read_with(context)?).into_owned();
            let number = text.trim().parse();
            Ok((number.map_err(|_| format!("`{text}` is no number"))?,))
        });
    let mut sequence = Sequence::with(remembering(folder.path()));
    for number in 0..4_i64 {
        std::fs::write(&path, format!("{number}{number}")).unwrap();
        let text = sequence.file(&path).unwrap();
        let mut parsed = sequence.item();
        sequence.submit(&parse, (&text, &mut parsed)).unwrap();
        assert_eq!(sequence.value(&parsed).unwrap(), 11 * number);
    }
    // Who wants what was there before is told that it is gone.
    let text = sequence.file(&path).unwrap();
    let mut parsed = sequence.item();
    let halve = procedure("test/parse-and-halve", "1")
        .reads::<File>("text")
        .writes::<i64>("number")
        .run(|(text,): (File,), context| Ok((text.read_with(context)?.len() as i64,)));
    sequence.submit(&halve, (&text, &mut parsed)).unwrap();
    std::fs::write(&path, "something else").unwrap();
    let error = sequence.value(&parsed).unwrap_err();
    assert!(error.to_string().contains("changed since"), "{error}");
    sequence.file(&path).unwrap();
    let error = sequence.value(&parsed).unwrap_err();
    assert!(error.to_string().contains("changed since"), "{error}");
}

#[test]
fn calls_that_nobody_can_need_hold_nothing() {
    // `preview` is never asked for: the versions of `field` that it would read can be changed where they lie.
    let alone = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&alone);
    let step = procedure("test/step", "1").updates::<Vector>("field").run(
        move |(mut field,): (Vector,), _| {
            noted.lock().unwrap().push(field.is_alone());
            field.as_mut_slice()[0] += 1;
            Ok((field,))
        },
    );
    let runs = Runs::default();
    let preview = plus(1000, &runs);
    let first = procedure("test/first", "1")
        .reads::<Vector>("field")
        .writes::<i64>("first")
        .run(|(field,): (Vector,), _| Ok((field.as_slice()[0],)));
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let a = sequence.give(vector(&[0; 100]));
    let (mut field, mut picture) = (sequence.item(), sequence.item());
    sequence.submit(&plus(0, &runs), (&a, &mut field)).unwrap();
    for round in 1..=20 {
        sequence.submit(&step, (&mut field,)).unwrap();
        sequence.submit(&preview, (&field, &mut picture)).unwrap();
        let mut now = sequence.item();
        sequence.submit(&first, (&field, &mut now)).unwrap();
        // The next turn of the loop writes over the picture, so this one is needed by nobody.
        if round > 1 {
            assert_eq!(sequence.value(&now).unwrap(), round);
        }
    }
    let report = sequence.end().unwrap();
    assert_eq!(report.value(&picture).unwrap().as_slice()[0], 1020);
    assert_eq!(report.count(CallState::Unneeded), 19 + 1);
    let alone = std::mem::take(&mut *alone.lock().unwrap());
    assert_eq!(alone, [true; 20]);
    assert_eq!(runs.take(), ["plus-0", "plus-1000"]);
}

#[test]
fn operations_of_one_name_are_told_apart_or_refused() {
    let one = procedure("first/make", "1")
        .writes::<i64>("number")
        .run(|(), _| Ok((1,)));
    let two = procedure("second/make", "1")
        .writes::<i64>("number")
        .run(|(), _| Ok((2,)));
    let clash = procedure("first/make", "1")
        .writes::<i64>("number")
        .writes::<i64>("more")
        .run(|(), _| Ok((1, 2)));
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let (mut x, mut y, mut z) = (sequence.item(), sequence.item(), sequence.item());
    sequence.submit(&one, (&mut x,)).unwrap();
    sequence.submit(&two, (&mut y,)).unwrap();
    let error = sequence.submit(&clash, (&mut x, &mut z)).unwrap_err();
    assert!(
        matches!(error, SequenceError::Call(CallError::Clash { .. })),
        "{error}"
    );
    let report = sequence.end().unwrap();
    let addresses: Vec<&str> = report.calls.iter().map(|call| &*call.address).collect();
    assert_eq!(addresses, ["make[0]", "second/make[1]"]);
    assert_eq!(report.value(&y).unwrap(), 2);
}

#[test]
fn drawings_leave_out_what_was_dropped() {
    let runs = Runs::default();
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let a = sequence.give(vector(&[1]));
    let (mut x, mut y) = (sequence.item(), sequence.item());
    sequence.submit(&plus(1, &runs), (&a, &mut x)).unwrap();
    sequence.submit(&plus(2, &runs), (&x, &mut y)).unwrap();
    let outputs = |sequence: &Sequence| {
        let nodes = sequence.dag().nodes;
        let outputs = nodes.iter().filter(|node| node.kind == NodeKind::Output);
        outputs.count()
    };
    assert_eq!(outputs(&sequence), 2);
    drop(x);
    assert_eq!(outputs(&sequence), 1);
}

#[test]
fn zero_has_no_sign() {
    let invert = procedure("test/invert", "1")
        .takes::<f64>("parameter")
        .reads::<f64>("item")
        .writes::<f64>("a")
        .writes::<f64>("b")
        .run(|(parameter, item): (f64, f64), _| Ok((1.0 / parameter, 1.0 / item)));
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    for zero in [-0.0, 0.0] {
        let item = sequence.give(zero);
        let (mut a, mut b) = (sequence.item(), sequence.item());
        sequence
            .submit(&invert, (zero, &item, &mut a, &mut b))
            .unwrap();
        assert_eq!(sequence.value(&a).unwrap(), f64::INFINITY);
        assert_eq!(sequence.value(&b).unwrap(), f64::INFINITY);
    }
    sequence.end().unwrap();
}

#[test]
fn what_main_gives_back_is_told_with_what_would_help() {
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let nothing: Item<i64> = sequence.item();
    sequence.name(&nothing, "nothing");
    let error = sequence.value(&nothing).unwrap_err();
    assert_eq!(
        format!("{error:?}"),
        "`nothing` has no value\n  help: give it a value, or call something that writes it first"
    );
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools.yaml");
    std::fs::write(&tools, "headwater: 1\noperations:\n  one: {comand: [ls]}\n").unwrap();
    let error = headwater::sequence::programs(&tools, None).unwrap_err();
    let told = format!("{error:?}");
    assert!(
        told.contains("tools.yaml:3") && told.contains("`command`"),
        "{told}"
    );
}

#[test]
fn files_and_folders_can_be_copied_out() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("in/deep")).unwrap();
    std::fs::write(folder.path().join("in/deep/a.txt"), "a").unwrap();
    let write = procedure("test/write", "1")
        .takes::<String>("text")
        .writes::<File>("file")
        .run(|(text,): (String,), _| Ok((File::of_bytes(text.into_bytes()),)));
    let mut sequence = Sequence::with(forgetting(Mode::Restrictive));
    let input = sequence.directory(folder.path().join("in")).unwrap();
    let mut file = sequence.item();
    sequence.submit(&write, ("hello", &mut file)).unwrap();
    let report = sequence.end().unwrap();
    let to = folder.path().join("out.txt");
    report.value(&file).unwrap().copy_to(&to).unwrap();
    assert_eq!(std::fs::read(to).unwrap(), b"hello");
    let to = folder.path().join("copy");
    report.value(&input).unwrap().copy_to(&to).unwrap();
    assert_eq!(std::fs::read(to.join("deep/a.txt")).unwrap(), b"a");
}

#[test]
fn a_store_that_may_only_be_read_gives_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs::default();
    let program = |options: SequenceOptions| {
        let mut sequence = Sequence::with(options);
        let a = sequence.give(vector(&[1; 5000]));
        let (mut b, mut c) = (sequence.item(), sequence.item());
        sequence.submit(&plus(1, &runs), (&a, &mut b)).unwrap();
        sequence
            .submit(
                &plus(runs.0.lock().unwrap().len() as i64 + 5, &runs),
                (&b, &mut c),
            )
            .unwrap();
        let report = sequence.end().unwrap();
        assert_eq!(report.value(&b).unwrap().as_slice()[0], 2);
        assert!(report.value(&c).unwrap().as_slice()[0] > 6);
        report.run
    };
    assert!(program(remembering(folder.path())).is_some());
    let place = StorePlace {
        url: Some(folder.path().join("store").display().to_string()),
        read_only: true,
    };
    let run = program(remembering(folder.path()).store(place));
    assert_eq!(run, None, "it is in no list");
    assert_eq!(runs.take(), ["plus-1", "plus-5", "plus-7"]);
}

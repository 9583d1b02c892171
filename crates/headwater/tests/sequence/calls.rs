//! Calls in order, values in the middle, failures: without a store.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headwater::dag::NodeKind;
use headwater::graph::{OperationError, Value};
use headwater::sequence::{
    Argument, CallError, CallState, File, Item, Mode, Sequence, SequenceError, procedure,
};

use crate::common::{
    Runs, Vector, counting, double, failing, forgetting, halve, numbers, plus, vector,
};

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

//! What is remembered, and what is in files.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use headwater::runs::RunStatus;
use headwater::sequence::{
    CallState, Datum, File, Item, Mode, Sequence, SequenceError, SequenceOptions, Whereabouts,
    procedure,
};
use headwater::{Stop, StorePlace, open_store};

use crate::common::{
    Runs, Vector, counting, double, forgetting, halve, numbers, plus, remembering, vector,
};

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
        ..StorePlace::default()
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
        let options = if remembers {
            remembering(folder.path())
        } else {
            forgetting(Mode::Restrictive)
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

/// On a store that has no files, a procedure reads what another one wrote without any file being made of it.
#[test]
fn sequences_share_a_store_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let place = StorePlace {
        url: Some("memory:".to_owned()),
        read_only: false,
        ..StorePlace::default()
    };
    let store = open_store(&place, folder.path()).unwrap();
    let runs = Runs::default();
    let noted = runs.clone();
    let write = procedure("test/write", "1")
        .reads::<i64>("number")
        .writes::<File>("text")
        .run(move |(number,): (i64,), _| {
            noted.note("write");
            // More than a record holds itself.
            let text = format!("{number} ").repeat(20_000);
            Ok((File::of_bytes(text.into_bytes()),))
        });
    let noted = runs.clone();
    let count = procedure("test/count", "1")
        .reads::<File>("text")
        .reads::<i64>("factor")
        .writes::<i64>("words")
        .run(move |(text, factor): (File, i64), context| {
            noted.note("count");
            let text = String::from_utf8_lossy(&text.read_with(context)?).into_owned();
            Ok((factor * text.split_whitespace().count() as i64,))
        });
    for (factor, expected) in [
        (1, vec!["count", "write"]),
        (1, vec![]),
        // The text is remembered, and given to a procedure that has not read it before.
        (2, vec!["count"]),
    ] {
        let options = SequenceOptions::new(Mode::Restrictive).kept_in(Arc::clone(&store));
        let mut sequence = Sequence::with(options);
        let (number, factor_item) = (sequence.give(7), sequence.give(factor));
        let (mut text, mut words) = (sequence.item(), sequence.item());
        sequence.submit(&write, (&number, &mut text)).unwrap();
        sequence
            .submit(&count, (&text, &factor_item, &mut words))
            .unwrap();
        assert_eq!(sequence.value(&words).unwrap(), factor * 20_000);
        let report = sequence.end().unwrap();
        assert_eq!(runs.take(), expected);
        // Whoever asks for the file gets one.
        let text = report.value(&text).unwrap();
        assert_eq!(text.read().unwrap().len(), 40_000);
    }
    assert_eq!(store.runs(10).unwrap().len(), 3);
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
        let expected = if second {
            Whereabouts::Stored
        } else {
            Whereabouts::Memory
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
        ..StorePlace::default()
    };
    let run = program(remembering(folder.path()).store(place));
    assert_eq!(run, None, "it is in no list");
    assert_eq!(runs.take(), ["plus-1", "plus-5", "plus-7"]);
}

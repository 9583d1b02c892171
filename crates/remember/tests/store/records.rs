//! Records: what is registered is found again, once, by everybody.

use std::sync::Arc;

use crate::common::{Case, pending, recipe, record, staged};
use headwater_graph::{
    Digest, Mode, ProductRecord, Recipe, Scalar, Store, StoreError, StoredOutput,
};
use proptest::prelude::*;

fn any_record() -> impl Strategy<Value = ProductRecord> {
    let name = || ".{0,6}".prop_map(Arc::<str>::from);
    let scalar = prop_oneof![
        any::<bool>().prop_map(Scalar::Bool),
        any::<i64>().prop_map(Scalar::Int),
        (-1e9..1e9).prop_map(Scalar::Float),
        name().prop_map(Scalar::Text),
    ];
    let inline = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..20));
    let output = (
        any::<[u8; 32]>(),
        any::<u64>(),
        inline,
        proptest::option::of(any::<[u8; 32]>()),
    )
        .prop_map(|(digest, size, inline, encoding)| StoredOutput {
            digest: Digest(digest),
            size,
            inline: inline.map(Into::into),
            encoding: encoding.map(Digest),
        });
    (
        // Few recipes with few prefixes, so that equal ones and equal beginnings do happen.
        (0u8..4, 0u8..4),
        (name(), name(), name()),
        proptest::collection::vec((name(), scalar), 0..4),
        proptest::collection::vec((name(), ".{0,80}"), 0..3),
        proptest::collection::vec((name(), output), 0..3),
        (any::<u64>(), any::<u64>(), any::<u64>(), any::<i64>()),
    )
        .prop_map(
            |((first, last), names, parameters, inputs, outputs, numbers)| {
                let mut recipe = [first; 32];
                recipe[31] = last;
                ProductRecord {
                    recipe: Recipe(recipe),
                    content: (last % 2 == 0).then_some(Recipe([last; 32])),
                    operation: names.0,
                    version: names.1,
                    run: names.2,
                    parameters,
                    inputs,
                    outputs,
                    wall: numbers.0,
                    cpu: numbers.1,
                    peak_memory: numbers.2,
                    time: numbers.3,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn a_store_is_a_map_from_recipes_to_records(batches in proptest::collection::vec(proptest::collection::vec(any_record(), 0..6), 1..4)) {
        let case = Case::new();
        let mut model: Vec<ProductRecord> = Vec::new();
        for batch in &batches {
            case.store.register(batch).unwrap();
            for record in batch {
                let lists = |record: &ProductRecord| {
                    (record.parameters.clone(), record.inputs.clone(), record.outputs.clone())
                };
                match model.iter_mut().find(|known| known.recipe == record.recipe) {
                    Some(known) if lists(known) == lists(record) => {}
                    Some(known) => *known = record.clone(),
                    None => model.push(record.clone()),
                }
            }
        }
        let recipes: Vec<Recipe> =
            (0u8..5).flat_map(|first| (0u8..5).map(move |last| { let mut recipe = [first; 32]; recipe[31] = last; Recipe(recipe) })).collect();
        let expected: Vec<Option<ProductRecord>> =
            recipes.iter().map(|recipe| model.iter().find(|record| record.recipe == *recipe).cloned()).collect();
        for store in [&*case.store, &*case.open(Mode::ReadOnly)] {
            prop_assert_eq!(&store.fetch(&recipes).unwrap(), &expected);
            let walls: Vec<Option<u64>> = expected.iter().map(|record| record.as_ref().map(|record| record.wall)).collect();
            prop_assert_eq!(store.known(&recipes).unwrap(), walls);
        }
    }
}

#[test]
fn the_same_recipe_twice_in_a_question_is_answered_twice() {
    let case = Case::new();
    case.keep([pending(1)]);
    assert_eq!(
        case.store
            .known(&[recipe(1), recipe(2), recipe(1)])
            .unwrap(),
        [Some(1), None, Some(1)]
    );
}

#[test]
fn tickets_count_from_zero_and_are_acknowledged_once() {
    let case = Case::new();
    let mut tickets = case.keep((0..40_000).map(|number| {
        let mut pending = pending(number % 10);
        pending.record.recipe = recipe(number);
        pending
    }));
    tickets.sort_unstable();
    assert_eq!(tickets, (0..40_000).collect::<Vec<u64>>());
    let recipes: Vec<Recipe> = (0..40_000).map(recipe).collect();
    assert!(
        case.store
            .known(&recipes)
            .unwrap()
            .iter()
            .all(Option::is_some)
    );
}

#[test]
fn nothing_is_visible_before_its_acknowledgement_is_due() {
    let case = Case::new();
    let store = Arc::clone(&case.store);
    let acknowledged = move |tickets: &[u64]| {
        for ticket in tickets {
            assert!(store.fetch(&[recipe(*ticket)]).unwrap()[0].is_some());
            assert!(store.path(&record(*ticket).outputs[0].1.digest).is_some());
        }
    };
    let writer = headwater_remember::Writer::start(Arc::clone(&case.store), Box::new(acknowledged));
    for number in 0..100 {
        assert_eq!(writer.submit(pending(number)), number);
    }
    writer.flush().unwrap();
    assert_eq!(writer.failed(), None);
    writer.close().unwrap();
}

#[test]
fn one_lost_file_costs_one_record() {
    let case = Case::new();
    case.store.begin_run(&crate::common::run("run")).unwrap();
    let batch: Vec<_> = (0..20)
        .map(|number| staged(&*case.store, "run", 2 * number))
        .collect();
    std::fs::remove_file(case.store.run_folders("run").staging.join("6")).unwrap();
    let (tickets, closed) = case.try_keep(batch);
    assert_eq!(
        tickets,
        (0..20).filter(|ticket| *ticket != 3).collect::<Vec<u64>>()
    );
    let message = closed.unwrap_err().to_string();
    assert!(
        message.contains("cannot store `") && message.contains("run/6`: "),
        "{message}"
    );
    assert_eq!(
        case.store.known(&[recipe(6), recipe(8)]).unwrap(),
        [None, Some(8)]
    );
}

#[test]
fn a_writer_whose_callback_panics_says_so() {
    let case = Case::new();
    let writer = headwater_remember::Writer::start(
        Arc::clone(&case.store),
        Box::new(|_| panic!("on purpose")),
    );
    writer.submit(pending(1));
    assert!(
        matches!(writer.flush(), Err(StoreError::Database(message)) if message.contains("stopped"))
    );
    // And nobody waits for ever.
    for number in 0..100_000 {
        writer.submit(pending(number % 10));
    }
}

#[test]
fn other_outputs_for_a_recipe_replace_the_old_ones() {
    let case = Case::new();
    case.keep([pending(4)]);
    let mut other = pending(8);
    other.record.recipe = recipe(4);
    case.keep([other.clone()]);
    assert_eq!(
        case.store.fetch(&[recipe(4)]).unwrap(),
        [Some(other.record)]
    );
}

#[test]
fn a_damaged_record_is_taken_from_the_journal_and_told() {
    let columns = [
        "details = zeroblob(length(details))",
        "wall = wall + 1",
        "cpu = 0",
        "peak_memory = 7",
        "time = 7",
        "operation = operation + 1",
        "version = 1",
        "run = 99",
    ];
    for change in columns {
        for has_journal in [true, false] {
            let case = Case::new();
            case.keep([pending(1), pending(2)]);
            let connection =
                rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
            connection
                .execute_batch("PRAGMA foreign_keys = OFF")
                .unwrap();
            let changed = connection
                .execute(&format!("UPDATE products SET {change} WHERE wall = 1"), [])
                .unwrap();
            assert_eq!(changed, 1);
            let told = format!("the record of recipe {}", recipe(1));
            let reader = case.open(Mode::ReadOnly);
            assert_eq!(
                reader.fetch(&[recipe(1), recipe(2)]).unwrap(),
                [None, Some(record(2))],
                "{change}"
            );
            assert_eq!(reader.take_damage(), std::slice::from_ref(&told));
            let (expected, told) = if has_journal {
                let told = format!("{told}; it was taken from the journal");
                (Some(record(1)), told)
            } else {
                std::fs::remove_file(case.root().join("records.journal")).unwrap();
                (None, told)
            };
            assert_eq!(
                case.store
                    .fetch(&[recipe(1), recipe(2), recipe(1)])
                    .unwrap(),
                [expected.clone(), Some(record(2)), expected.clone()],
                "{change}"
            );
            assert_eq!(case.store.take_damage(), [told]);
            assert_eq!(case.store.take_damage(), [""; 0]);
            let wall = expected.map(|record| record.wall);
            assert_eq!(case.store.known(&[recipe(1)]).unwrap(), [wall]);
            case.keep([pending(1)]);
            assert_eq!(case.store.fetch(&[recipe(1)]).unwrap(), [Some(record(1))]);
        }
    }
}

#[test]
fn threads_with_stores_of_their_own_may_write_the_same_recipes() {
    let case = Case::new();
    std::thread::scope(|scope| {
        for offset in 0..4 {
            let case = &case;
            scope.spawn(move || {
                let own = Case {
                    folder: tempfile::tempdir().unwrap(),
                    store: case.open(Mode::ReadWrite),
                };
                for start in (offset..offset + 3).map(|part| part * 40) {
                    own.keep((start..start + 80).map(pending));
                }
            });
        }
    });
    let recipes: Vec<Recipe> = (0..280).map(recipe).collect();
    let expected: Vec<_> = (0..280).map(|number| Some(record(number))).collect();
    assert_eq!(case.store.fetch(&recipes).unwrap(), expected);
    let connection = rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
    let rows: i64 = connection
        .query_row("SELECT count(*) FROM products", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 280, "each recipe has one row");
}

#[test]
fn a_store_may_be_shared_between_threads() {
    fn check<T: Send + Sync + ?Sized>() {}
    check::<dyn Store>();
    check::<headwater_remember::Writer>();
}

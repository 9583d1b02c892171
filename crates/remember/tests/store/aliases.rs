//! Aliases and content keys: a task that is equal to a product counts as that product.

use std::sync::{Arc, Mutex};

use crate::common::{Case, pending, recipe, record};
use headwater_graph::{Alias, Mode, Pending, ProductRecord, Recipe, StoreError};
use headwater_remember::Writer;
use proptest::prelude::*;

fn alias(number: u64, target: u64) -> Alias {
    Alias {
        recipe: recipe(number),
        target: recipe(target),
        run: "run".into(),
        time: 7,
    }
}

/// Something to submit.
enum Step {
    Product(Pending),
    Alias(Alias),
}

/// Submits steps to one writer; returns the tickets acknowledged and how it closed.
fn submit(
    case: &Case,
    steps: impl IntoIterator<Item = Step>,
) -> (Vec<u64>, Result<(), StoreError>) {
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&acknowledged);
    let writer = Writer::start(
        Arc::clone(&case.store),
        Box::new(move |tickets| seen.lock().unwrap().extend_from_slice(tickets)),
    );
    for (expected, step) in steps.into_iter().enumerate() {
        let ticket = match step {
            Step::Product(pending) => writer.submit(pending),
            Step::Alias(alias) => writer.alias(alias),
        };
        assert_eq!(ticket, expected as u64);
    }
    let closed = writer.close();
    let tickets = acknowledged.lock().unwrap().clone();
    (tickets, closed)
}

fn with_content(number: u64, content: Recipe) -> ProductRecord {
    ProductRecord {
        content: Some(content),
        ..record(number)
    }
}

fn rows(case: &Case, question: &str) -> i64 {
    rusqlite::Connection::open(case.root().join("records.sqlite"))
        .unwrap()
        .query_row(question, [], |row| row.get(0))
        .unwrap()
}

#[test]
fn an_alias_is_found_as_its_target_by_everybody() {
    let case = Case::new();
    // The product is on its way, in the same batch.
    let (tickets, closed) = submit(
        &case,
        [
            Step::Product(pending(3)),
            Step::Alias(alias(100, 3)),
            Step::Product(pending(4)),
            Step::Alias(alias(101, 3)),
        ],
    );
    closed.unwrap();
    assert_eq!(tickets, [0, 1, 2, 3]);
    let asked = [
        recipe(101),
        recipe(5),
        recipe(100),
        recipe(3),
        recipe(100),
        recipe(4),
    ];
    for store in [&*case.store, &*case.open(Mode::ReadOnly)] {
        assert_eq!(
            store.known(&asked).unwrap(),
            [Some(3), None, Some(3), Some(3), Some(3), Some(4)]
        );
        let three = Some(record(3));
        assert_eq!(
            store.fetch(&asked).unwrap(),
            [
                three.clone(),
                None,
                three.clone(),
                three.clone(),
                three,
                Some(record(4))
            ]
        );
    }
}

#[test]
fn aliases_of_aliases_lead_to_the_product_at_once() {
    let case = Case::new();
    let steps = [
        Step::Product(pending(3)),
        Step::Alias(alias(100, 3)),
        Step::Alias(alias(101, 100)),
        Step::Alias(alias(102, 101)),
    ];
    submit(&case, steps).1.unwrap();
    assert_eq!(case.store.known(&[recipe(102)]).unwrap(), [Some(3)]);
    let question = "SELECT count(*) FROM aliases WHERE target IN (SELECT recipe FROM products)";
    assert_eq!(rows(&case, question), 3);
}

#[test]
fn an_alias_is_written_once() {
    let case = Case::new();
    for _ in 0..2 {
        let steps = [
            Step::Product(pending(3)),
            Step::Alias(alias(100, 3)),
            Step::Alias(alias(100, 3)),
            // One that is a product itself needs none.
            Step::Alias(alias(3, 3)),
            Step::Alias(alias(3, 100)),
        ];
        let (tickets, closed) = submit(&case, steps);
        closed.unwrap();
        assert_eq!(tickets, [0, 1, 2, 3, 4]);
    }
    assert_eq!(rows(&case, "SELECT count(*) FROM aliases"), 1);
    // Another product takes the place of the first.
    let steps = [Step::Product(pending(4)), Step::Alias(alias(100, 4))];
    submit(&case, steps).1.unwrap();
    assert_eq!(rows(&case, "SELECT count(*) FROM aliases"), 1);
    assert_eq!(case.store.known(&[recipe(100)]).unwrap(), [Some(4)]);
}

#[test]
fn an_alias_of_nothing_is_left_out_and_told() {
    let case = Case::new();
    let steps = [
        Step::Alias(alias(100, 50)),
        Step::Product(pending(3)),
        Step::Alias(alias(101, 3)),
    ];
    let (tickets, closed) = submit(&case, steps);
    assert_eq!(tickets, [1, 2]);
    assert_eq!(
        closed.unwrap_err().to_string(),
        format!(
            "the record of recipe {}, to which recipe {} is equal, is damaged",
            recipe(50),
            recipe(100)
        )
    );
    assert_eq!(
        case.store.known(&[recipe(100), recipe(101)]).unwrap(),
        [None, Some(3)]
    );
}

#[test]
fn an_alias_whose_target_is_gone_counts_as_not_there_until_it_is_back() {
    let case = Case::new();
    let steps = [Step::Product(pending(3)), Step::Alias(alias(100, 3))];
    submit(&case, steps).1.unwrap();
    let connection = rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
    case.forget_journal();
    let zeros = "UPDATE products SET details = zeroblob(length(details))";
    assert_eq!(connection.execute(zeros, []).unwrap(), 1);
    // The damage is found by way of the alias.
    assert_eq!(case.store.fetch(&[recipe(100)]).unwrap(), [None]);
    assert_eq!(
        case.store.take_damage(),
        [format!("the record of recipe {}", recipe(3))]
    );
    assert_eq!(
        case.store.known(&[recipe(3), recipe(100)]).unwrap(),
        [None, None]
    );
    // A new alias of what is gone is refused, also when it names the old one.
    let (tickets, closed) = submit(&case, [Step::Alias(alias(101, 100))]);
    assert!(tickets.is_empty() && closed.is_err());
    case.keep([pending(3)]);
    assert_eq!(case.store.fetch(&[recipe(100)]).unwrap(), [Some(record(3))]);
}

#[test]
fn products_are_found_by_their_content_key_and_by_their_recipe() {
    let case = Case::new();
    let key = recipe(1000);
    // The same first eight bytes, and another key.
    let mut near = key;
    near.0[31] ^= 1;
    let records = [
        with_content(1, key),
        with_content(2, near),
        with_content(3, recipe(2)),
        record(4),
    ];
    case.store.register(&records).unwrap();
    let absent = recipe(1001);
    let asked = [recipe(4), near, absent, key, recipe(3), recipe(2)];
    let expected = [
        Some(record(4)),
        Some(records[1].clone()),
        None,
        Some(records[0].clone()),
        Some(records[2].clone()),
        // Both its own recipe and the content key of another: the product itself comes first.
        Some(records[1].clone()),
    ];
    for store in [&*case.store, &*case.open(Mode::ReadOnly)] {
        assert_eq!(store.equal(&asked).unwrap(), expected);
    }
    let nothing = headwater_remember::open(&case.root().join("none"), Mode::ReadOnly);
    assert_eq!(nothing.unwrap().equal(&[key]).unwrap(), [None]);
}

#[test]
fn of_several_equal_products_a_whole_one_is_given() {
    let case = Case::new();
    let key = recipe(1000);
    let records = [with_content(1, key), with_content(2, key)];
    for record in &records {
        case.store.register(std::slice::from_ref(record)).unwrap();
    }
    assert_eq!(
        case.store.equal(&[key]).unwrap(),
        [Some(records[1].clone())]
    );
    let connection = rusqlite::Connection::open(case.root().join("records.sqlite")).unwrap();
    case.forget_journal();
    let zeros = "UPDATE products SET details = zeroblob(length(details)) WHERE wall = 2";
    assert_eq!(connection.execute(zeros, []).unwrap(), 1);
    assert_eq!(
        case.store.equal(&[key, key]).unwrap(),
        [Some(records[0].clone()), Some(records[0].clone())]
    );
    assert_eq!(
        case.store.take_damage(),
        [format!("the record of recipe {}", recipe(2))]
    );
    assert_eq!(
        case.store.known(&[recipe(1), recipe(2)]).unwrap(),
        [Some(1), None]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Against a map in memory: products and aliases in any order, in any batches.
    #[test]
    fn aliases_are_pointers_of_one_step(batches in proptest::collection::vec(
        proptest::collection::vec((any::<bool>(), 0u64..8, 0u64..8), 1..8), 1..4)) {
        let case = Case::new();
        let mut products = std::collections::BTreeSet::new();
        let mut pointers = std::collections::BTreeMap::new();
        for batch in batches {
            let steps = batch.iter().map(|(is_alias, number, target)| {
                if *is_alias { Step::Alias(alias(*number, *target)) } else { Step::Product(pending(*number)) }
            });
            // Some of them may be about nothing.
            let _ = submit(&case, steps);
            // A batch may be split, but not here: it is submitted within the time that its first one waits. If it
            // is split all the same, only aliases that come before their products can tell, and they are left out.
            let (mut in_order, mut grouped) = ((products.clone(), pointers.clone()), (products.clone(), pointers.clone()));
            for (model, products_first) in [(&mut in_order, false), (&mut grouped, true)] {
                if products_first {
                    model.0.extend(batch.iter().filter(|step| !step.0).map(|step| step.1));
                }
                for (is_alias, number, target) in &batch {
                    if !is_alias {
                        model.0.insert(*number);
                        continue;
                    }
                    let product = if model.0.contains(target) { Some(*target) } else { model.1.get(target).copied() };
                    let product = product.filter(|product| model.0.contains(product));
                    if let Some(product) = product && !model.0.contains(number) {
                        model.1.insert(*number, product);
                    }
                }
            }
            let asked: Vec<Recipe> = (0..8).map(recipe).collect();
            let expect = |model: &(std::collections::BTreeSet<u64>, std::collections::BTreeMap<u64, u64>)| -> Vec<Option<u64>> {
                (0..8).map(|number| if model.0.contains(&number) { Some(number) } else { model.1.get(&number).copied() }).collect()
            };
            let known = case.store.known(&asked).unwrap();
            prop_assert!(known == expect(&grouped) || known == expect(&in_order), "{:?}", known);
            (products, pointers) = if known == expect(&grouped) { grouped } else { in_order };
        }
    }
}

//! What people of a group rely on: one makes, the others find; who may do what.

use headwater_graph::{Digest, ObjectPlace, Recipe, Store};

use crate::common::{bytes, keep_in, pending, recipe, record};
use crate::{open, server};

fn fetch(store: &dyn Store, number: u64) -> Option<headwater_graph::ProductRecord> {
    store.fetch(&[recipe(number)]).unwrap().pop().unwrap()
}

/// What one has made, another finds, with its bytes, in a store that has never seen it.
#[test]
fn what_one_makes_the_others_find() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ann = open(first.path(), &database.url("ann"));
    keep_in(&ann, (0..20).map(pending)).1.unwrap();
    let bob = open(second.path(), &database.url("bob"));
    assert_eq!(fetch(&*bob, 7), Some(record(7)));
    let digest = Digest::of(&bytes(7));
    assert_eq!(bob.places(&[digest]), [ObjectPlace::Elsewhere]);
    assert_eq!(bob.read(&digest).unwrap(), bytes(7));
    assert!(matches!(bob.places(&[digest])[0], ObjectPlace::Here(_)));
    let recipes: Vec<Recipe> = (0..22).map(recipe).collect();
    assert_eq!(bob.known(&recipes).unwrap().iter().flatten().count(), 20);
    // Who may only look finds the same, and makes nothing known.
    let third = tempfile::tempdir().unwrap();
    let rea = open(third.path(), &database.url("rea"));
    assert_eq!(fetch(&*rea, 3), Some(record(3)));
    assert_eq!(rea.read(&Digest::of(&bytes(3))).unwrap(), bytes(3));
    keep_in(&rea, [pending(30)]).1.unwrap();
    assert_eq!(fetch(&*rea, 30), Some(record(30)));
    assert_eq!(fetch(&*bob, 30), None);
    let notices = rea.take_notices();
    assert!(
        notices
            .iter()
            .any(|notice| notice.contains("may not write")),
        "{notices:?}"
    );
    assert!(rea.behind().unwrap().push(&[recipe(30)]).is_err());
}

/// Who is in no role of the group is refused in words, also who asks for a database that is no store.
#[test]
fn who_may_not_is_told() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let folder = tempfile::tempdir().unwrap();
    let front =
        || headwater_remember::open(folder.path(), headwater_graph::Mode::ReadWrite).unwrap();
    let refused = |url: &str| {
        let options = headwater_group::Options::new(url);
        format!(
            "{:?}",
            headwater_group::open(front(), &options).unwrap_err()
        )
    };
    assert!(
        refused(&database.url("eve")).contains("Refused"),
        "{}",
        refused(&database.url("eve"))
    );
    let other = database.url("olga").rsplit_once('/').unwrap().0.to_owned() + "/postgres";
    assert!(
        refused(&other).contains("not a store"),
        "{}",
        refused(&other)
    );
}

/// Whose products are not trusted are not reused.
#[test]
fn trust_is_by_the_role_of_the_database() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    keep_in(&open(folders[0].path(), &database.url("ann")), [pending(1)])
        .1
        .unwrap();
    keep_in(&open(folders[1].path(), &database.url("bob")), [pending(2)])
        .1
        .unwrap();
    let front =
        headwater_remember::open(folders[2].path(), headwater_graph::Mode::ReadWrite).unwrap();
    let options = headwater_group::Options {
        trust: Some(vec!["bob".to_owned()]),
        ..headwater_group::Options::new(&database.url("olga"))
    };
    let store = headwater_group::open(front, &options).unwrap();
    assert_eq!(fetch(&*store, 1), None);
    assert_eq!(fetch(&*store, 2), Some(record(2)));
    // Nobody can write that somebody else has made something.
    let mut client = server
        .client("ann", database.url("ann").rsplit_once('/').unwrap().1)
        .unwrap();
    let forged = client.execute("UPDATE headwater.products SET maker = 'bob'", &[]);
    assert!(forged.is_err());
}

/// The first one stays; who came out with something else is told.
#[test]
fn the_first_registration_wins() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ann = open(first.path(), &database.url("ann"));
    let bob = open(second.path(), &database.url("bob"));
    keep_in(&ann, [pending(1)]).1.unwrap();
    let mut other = pending(8);
    other.record.recipe = recipe(1);
    keep_in(&bob, [other]).1.unwrap();
    let notices = bob.take_notices().join("\n");
    assert!(notices.contains("gave another result"), "{notices}");
    let third = tempfile::tempdir().unwrap();
    assert_eq!(
        fetch(&*open(third.path(), &database.url("rea")), 1),
        Some(record(1))
    );
}

/// An object that is not what its name says is never given out, and is made again by whoever needs it.
#[test]
fn damage_in_the_shared_folder_is_found_and_made_good() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ann = open(first.path(), &database.url("ann"));
    keep_in(&ann, [pending(1), pending(20)]).1.unwrap();
    let digest = Digest::of(&bytes(1));
    let hex = digest.hex();
    let file = database.objects.path().join(&hex[..2]).join(&hex[2..]);
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "something else").unwrap();
    let bob = open(second.path(), &database.url("bob"));
    assert!(bob.read(&digest).is_err());
    assert_eq!(bob.has(&[digest]), [false]);
    assert!(!bob.take_damage().is_empty());
    keep_in(&bob, [pending(1)]).1.unwrap();
    let third = tempfile::tempdir().unwrap();
    assert_eq!(
        open(third.path(), &database.url("rea"))
            .read(&digest)
            .unwrap(),
        bytes(1)
    );
}

/// What can be seen not to be the object does not count as there, for who may only look as well, so that it is made again.
#[test]
fn what_is_in_the_place_of_an_object_does_not_count_as_it() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let first = tempfile::tempdir().unwrap();
    let ann = open(first.path(), &database.url("ann"));
    // Neighbours have the same bytes.
    let numbers = [1, 3, 5, 7, 9];
    keep_in(&ann, numbers.map(pending)).1.unwrap();
    let digest = |number| Digest::of(&bytes(number));
    let file = |number| {
        let hex = digest(number).hex();
        database.objects.path().join(&hex[..2]).join(&hex[2..])
    };
    for number in &numbers[..4] {
        std::fs::remove_file(file(*number)).unwrap();
    }
    std::fs::write(file(3), "x").unwrap();
    std::fs::create_dir(file(5)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", file(7)).unwrap();
    let digests = numbers.map(digest);
    let seen = [false, false, false, false, true];
    let second = tempfile::tempdir().unwrap();
    let rea = open(second.path(), &database.url("rea"));
    assert_eq!(rea.has(&digests), seen);
    let third = tempfile::tempdir().unwrap();
    let bob = open(third.path(), &database.url("bob"));
    assert_eq!(bob.has(&digests), seen);
    // Who makes them again puts them in their places, whatever is there.
    keep_in(&bob, numbers.map(pending)).1.unwrap();
    assert_eq!(rea.has(&digests), [true; 5]);
    assert_eq!(rea.read(&digest(5)).unwrap(), bytes(5));
    let notices = bob.take_notices().join("\n");
    assert!(!notices.contains("gave another result"), "{notices}");
}

/// A folder that is not mounted is not taken for the shared one, and nothing is struck from the list because of it.
#[test]
fn an_empty_folder_is_not_taken_for_the_shared_one() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ann = open(first.path(), &database.url("ann"));
    keep_in(&ann, [pending(1), pending(2)]).1.unwrap();
    let away = database.objects.path().with_extension("away");
    std::fs::rename(database.objects.path(), &away).unwrap();
    std::fs::create_dir(database.objects.path()).unwrap();
    let front = || headwater_remember::open(second.path(), headwater_graph::Mode::ReadWrite);
    let options = headwater_group::Options::new(&database.url("bob"));
    let refused = headwater_group::open(front().unwrap(), &options);
    let refused = format!("{:?}", refused.unwrap_err());
    assert!(
        refused.contains("nothing is in the shared folder"),
        "{refused}"
    );
    // One that was opened before sees that it is another folder.
    let digest = Digest::of(&bytes(1));
    let third = tempfile::tempdir().unwrap();
    std::fs::remove_dir(database.objects.path()).unwrap();
    std::fs::rename(&away, database.objects.path()).unwrap();
    let bob = open(third.path(), &database.url("bob"));
    assert_eq!(bob.read(&digest).unwrap(), bytes(1));
}

/// What is given again counts as given then: collection leaves it alone for as long as what is new.
#[test]
fn what_is_given_again_is_as_if_it_were_new() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ann = open(first.path(), &database.url("ann"));
    keep_in(&ann, [pending(1)]).1.unwrap();
    let mut root = server.client("postgres", &database.name).unwrap();
    root.batch_execute(
        "UPDATE headwater.objects SET placed = placed - interval '3 days', used = used - interval '3 days'",
    )
    .unwrap();
    let mut same = pending(1);
    same.record.recipe = recipe(40);
    keep_in(&open(second.path(), &database.url("bob")), [same])
        .1
        .unwrap();
    let age = "SELECT extract(epoch FROM clock_timestamp() - least(placed, used))::float8 FROM headwater.objects";
    let age: f64 = root.query_one(age, &[]).unwrap().get(0);
    assert!(age < 3600.0, "{age}");
}

/// While the server is away everything goes on; what was made is given when it is back, also by another process.
#[test]
fn what_is_made_while_the_group_is_away_is_given_later() {
    let Some(server) = server::Server::start() else {
        return;
    };
    let database = server.database();
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ann = open(first.path(), &database.url("ann"));
    keep_in(&ann, [pending(1)]).1.unwrap();
    server.kill();
    keep_in(&ann, (10..20).map(pending)).1.unwrap();
    assert_eq!(fetch(&*ann, 12), Some(record(12)));
    assert_eq!(fetch(&*ann, 50), None);
    assert!(ann.leases().unwrap().take(&[recipe(50)]).is_some());
    let notices = ann.take_notices().join("\n");
    assert!(notices.contains("could not be reached"), "{notices}");
    let waiting = ann.behind().unwrap().settle(std::time::Duration::ZERO);
    assert_eq!(waiting.products, 10);
    // This process ends; the list stays.
    drop(ann);
    server.begin();
    let ann = open(first.path(), &database.url("ann"));
    assert_eq!(
        ann.behind()
            .unwrap()
            .settle(std::time::Duration::from_secs(20))
            .products,
        0
    );
    let bob = open(second.path(), &database.url("bob"));
    for number in 10..20 {
        assert_eq!(fetch(&*bob, number), Some(record(number)));
        assert_eq!(
            bob.read(&Digest::of(&bytes(number))).unwrap(),
            bytes(number)
        );
    }
    assert_eq!(
        std::fs::read_dir(first.path().join("spool"))
            .unwrap()
            .count(),
        0
    );
}

/// What waits for a server that is away is bounded: who makes more waits, and is refused if it does not come back.
#[test]
fn what_waits_is_bounded() {
    let Some(server) = server::Server::start() else {
        return;
    };
    let database = server.database();
    let folder = tempfile::tempdir().unwrap();
    let front = headwater_remember::open(folder.path(), headwater_graph::Mode::ReadWrite).unwrap();
    let options = headwater_group::Options {
        wait: std::time::Duration::from_millis(500),
        spool: 10_000,
        ..headwater_group::Options::new(&database.url("ann"))
    };
    let ann = headwater_group::open(front, &options).unwrap();
    server.kill();
    let error = keep_in(&ann, (10..20).map(pending)).1.unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    assert!(error.to_string().contains("10000"), "{error}");
    // Nothing is lost: everything is in one's own store, and on the list.
    assert_eq!(fetch(&*ann, 12), Some(record(12)));
    server.begin();
    let waiting = ann
        .behind()
        .unwrap()
        .settle(std::time::Duration::from_secs(30));
    assert_eq!(waiting.products, 0);
    let second = tempfile::tempdir().unwrap();
    assert_eq!(
        fetch(&*open(second.path(), &database.url("rea")), 12),
        Some(record(12))
    );
}

/// A store of another version is refused with both numbers, and nothing is written to it.
#[test]
fn a_store_of_another_version_is_refused() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let mut root = server.client("postgres", &database.name).unwrap();
    root.batch_execute("UPDATE headwater.about SET format = 7")
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let front = headwater_remember::open(folder.path(), headwater_graph::Mode::ReadWrite).unwrap();
    let options = headwater_group::Options::new(&database.url("ann"));
    let refused = format!("{:?}", headwater_group::open(front, &options).unwrap_err());
    assert!(
        refused.contains("found: 7") && refused.contains("wanted: 2"),
        "{refused}"
    );
    let made = headwater_group::init(&database.url("postgres"), None);
    assert!(format!("{:?}", made.unwrap_err()).contains("found: 7"));
    let sessions = root
        .query_one("SELECT count(*) FROM headwater.sessions", &[])
        .unwrap();
    assert_eq!(sessions.get::<_, i64>(0), 0);
}

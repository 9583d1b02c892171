//! What somebody who may write to the store of a group can and cannot do to others (`docs/security.md`).

use std::os::unix::fs::symlink;

use headwater_graph::Digest;

use crate::common::{bytes, keep_in, pending, recipe, record};
use crate::{open, server};

/// A row whose columns do not belong together gives no record, whoever wrote it.
#[test]
fn a_forged_row_gives_no_record() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let folder = tempfile::tempdir().unwrap();
    let ann = open(&folder.path().join("ann"), &database.url("ann"));
    keep_in(&ann, [pending(1), pending(2)]).1.unwrap();
    // With the rights of the server's own administrator: no writer may change rows.
    let mut root = server.client("postgres", &database.name).unwrap();
    for change in [
        "UPDATE headwater.products SET operation = 'other' WHERE recipe = $1",
        "UPDATE headwater.products SET details = substring(details FROM 2) WHERE recipe = $1",
    ] {
        root.execute(change, &[&&recipe(1).0[..]]).unwrap();
        let bob = open(&folder.path().join("bob"), &database.url("bob"));
        assert_eq!(bob.fetch(&[recipe(1)]).unwrap(), [None]);
        assert_eq!(bob.fetch(&[recipe(2)]).unwrap(), [Some(record(2))]);
    }
}

/// Nobody changes or removes what others have made, or says that they have made something.
#[test]
fn a_writer_changes_nothing_of_others() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let folder = tempfile::tempdir().unwrap();
    let bob = open(&folder.path().join("bob"), &database.url("bob"));
    keep_in(&bob, [pending(1)]).1.unwrap();
    let mut ann = server.client("ann", &database.name).unwrap();
    for statement in [
        "UPDATE headwater.products SET maker = 'ann'",
        "UPDATE headwater.products SET run = 'x'",
        "DELETE FROM headwater.products",
        "INSERT INTO headwater.products (recipe, operation, version, run, wall, cpu, peak_memory, time, details,
            objects, maker) VALUES (decode(repeat('00', 32), 'hex'), 'o', 'v', 'r', 0, 0, 0, 0, '', '', 'bob')",
        "UPDATE headwater.aliases SET target = target",
        "DELETE FROM headwater.aliases",
        "INSERT INTO headwater.aliases (recipe, target, run, time, maker)
            VALUES (decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'), 'r', 0, 'bob')",
        "DELETE FROM headwater.objects",
        "UPDATE headwater.about SET objects = '/tmp'",
        "UPDATE headwater.versions SET parts = '{}'",
        "DROP TABLE headwater.products",
        "CREATE FUNCTION headwater.is_dead(text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "ALTER TABLE headwater.products DISABLE TRIGGER ALL",
    ] {
        assert!(ann.batch_execute(statement).is_err(), "{statement}");
    }
    // A role that only looks writes nothing at all.
    let mut rea = server.client("rea", &database.name).unwrap();
    for statement in [
        "INSERT INTO headwater.sessions (host, process, backend) VALUES ('h', 1, 1)",
        "SELECT headwater.strike('{}')",
        "SELECT headwater.forget_lost('{}')",
        "INSERT INTO headwater.objects (digest, size, wall) VALUES (decode(repeat('00', 32), 'hex'), 1, 1)",
    ] {
        assert!(rea.batch_execute(statement).is_err(), "{statement}");
    }
}

/// A link in the shared folder leads nowhere, and bytes of somebody else are not served under a digest.
#[test]
fn the_shared_folder_leads_nowhere_else() {
    let Some(server) = server::shared() else {
        return;
    };
    let database = server.database();
    let folder = tempfile::tempdir().unwrap();
    let ann = open(&folder.path().join("ann"), &database.url("ann"));
    keep_in(&ann, [pending(1)]).1.unwrap();
    let digest = Digest::of(&bytes(1));
    let hex = digest.hex();
    let object = database.objects.path().join(&hex[..2]).join(&hex[2..]);
    // The right bytes behind a link: a link is still none of ours.
    let outside = folder.path().join("outside");
    std::fs::write(&outside, bytes(1)).unwrap();
    std::fs::remove_file(&object).unwrap();
    symlink(&outside, &object).unwrap();
    let bob = open(&folder.path().join("bob"), &database.url("bob"));
    assert!(bob.read(&digest).is_err());
    // Who has the bytes puts them there again, in the place of the link, and nothing outside is touched.
    keep_in(&bob, [pending(1)]).1.unwrap();
    let third = open(&folder.path().join("third"), &database.url("rea"));
    assert_eq!(third.read(&digest).unwrap(), bytes(1));
    assert!(object.symlink_metadata().unwrap().is_file());
    assert_eq!(std::fs::read(&outside).unwrap(), bytes(1));
}

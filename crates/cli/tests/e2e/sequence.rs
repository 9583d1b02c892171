//! What a sequence of calls in somebody's program leaves for the command line: a run like any other.

use headwater::StorePlace;
use headwater::sequence::{
    Item, Mode, Numbers, Sequence, SequenceOptions, SequenceReport, Threads, procedure,
};

use crate::place::Place;

type Vector = Numbers<i64>;

/// The four calls of the paper, remembered in the store of this place; `fails` has the third one fail.
fn four_calls(place: &Place, fails: bool) -> SequenceReport {
    let copy = procedure("paper/return_int_vector", "1")
        .reads::<Vector>("ivec")
        .takes::<i64>("n")
        .writes::<Vector>("ovec")
        .run(|(ivec, _): (Vector, i64), _| Ok((ivec,)));
    let pass = procedure("paper/vpass_int", "1")
        .updates::<Vector>("vec")
        .takes::<i64>("n")
        .run(|(mut vec, _): (Vector, i64), _| {
            vec.as_mut_slice()[0] += 1;
            Ok((vec,))
        });
    let sort = procedure("paper/iqsort", if fails { "2" } else { "1" })
        .updates::<Vector>("vec")
        .takes::<i64>("n")
        .run(move |(mut vec, _): (Vector, i64), _| {
            vec.as_mut_slice().sort_unstable();
            if fails {
                Err("no room for another pivot".into())
            } else {
                Ok((vec,))
            }
        });
    let add = procedure("paper/int_vector_add5", "1")
        .takes::<i64>("n")
        .reads::<Vector>("vec")
        .writes::<Vector>("sum")
        .run(|(_, vec): (i64, Vector), _| Ok((vec,)));
    let store = StorePlace {
        url: Some(place.path(".headwater").display().to_string()),
        read_only: false,
        ..StorePlace::default()
    };
    let options = SequenceOptions::new(Mode::Optimistic)
        .store(store)
        .on(Threads::new(2))
        .called("four calls");
    let mut sequence = Sequence::with(options);
    let ivec = sequence.give(Vector::new(&[3], [3, 1, 2]).unwrap());
    let (mut ovec, mut ovec2): (Item<Vector>, Item<Vector>) = (sequence.item(), sequence.item());
    sequence.name(&ivec, "ivec");
    sequence.name(&ovec, "ovec");
    sequence.name(&ovec2, "ovec2");
    sequence.submit(&copy, (&ivec, 3, &mut ovec)).unwrap();
    sequence.submit(&pass, (&mut ovec, 3)).unwrap();
    sequence.submit(&sort, (&mut ovec, 3)).unwrap();
    sequence.submit(&add, (3, &ovec, &mut ovec2)).unwrap();
    // With the arrows of what was given and of what is held; before the reduction there are calls alone.
    assert_eq!(sequence.dag().edges.len(), 3 + 3);
    assert_eq!(sequence.unreduced_dag().edges.len(), 6);
    sequence.end().unwrap()
}

/// How many arrows have this mark.
fn marked(text: &str, mark: &str) -> usize {
    text.matches(mark).count()
}

#[test]
fn a_recorded_sequence_is_drawn_before_and_after_the_reduction() {
    let place = Place::new();
    four_calls(&place, false);
    let reduced = place.headwater(&["dag", "last"]).ended(0).stdout;
    assert_eq!(marked(&reduced, "RAW ovec"), 3, "{reduced}");
    let all = place
        .headwater(&["dag", "last", "--unreduced"])
        .ended(0)
        .stdout;
    assert_eq!(marked(&all, "RAW ovec"), 6, "{all}");
    for name in [
        "return_int_vector#91;0#93;",
        "iqsort#91;2#93;",
        "rank 3",
        "executed",
    ] {
        assert!(reduced.contains(name), "{name}: {reduced}");
    }
    place
        .headwater(&["dag", "last", "--unreduced", "-o", "all.svg"])
        .ended(0);
    assert!(place.read("all.svg").contains("RAW ovec"));

    // A run of a workflow has nothing of the kind.
    place.write(
        "flow.yaml",
        "headwater: 1\nworkflow: plain\nstages: {one: [{op: one, out: {text: text}}]}\n\
         outputs: {text: text}\noperations: {one: {shell: 'echo 1 > {out.text}', outputs: {text: text}}}\n",
    );
    place.headwater(&["run", "flow.yaml"]).ended(0);
    let refused = place.headwater(&["dag", "last", "--unreduced"]).ended(2);
    assert!(
        refused.stderr.contains("sequence of calls"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_sequence_is_listed_shown_and_explained_like_any_run() {
    let place = Place::new();
    let first = four_calls(&place, false).run.unwrap();
    let listed = place.headwater(&["runs", "ls"]).ended(0).stdout;
    assert!(
        listed.contains(&first) && listed.contains("four calls"),
        "{listed}"
    );
    let shown = place
        .headwater(&["runs", "show", "last", "--tasks"])
        .ended(0)
        .stdout;
    assert!(
        shown.contains("iqsort[2]") && shown.contains("executed"),
        "{shown}"
    );
    let why = place
        .headwater(&["explain", "last", "iqsort[2]"])
        .ended(0)
        .stdout;
    assert!(why.contains("paper/iqsort"), "{why}");

    // The second time nothing is executed, and `explain` says whose products were taken.
    let second = four_calls(&place, false);
    assert_eq!(second.count(headwater::sequence::CallState::Executed), 0);
    let why = place
        .headwater(&["explain", "last", "iqsort[2]"])
        .ended(0)
        .stdout;
    assert!(why.contains(&first), "{why}");

    // A failure is told, with what it kept from running.
    let failed = four_calls(&place, true).run.unwrap();
    let listed = place.headwater(&["runs", "ls"]).ended(0).stdout;
    assert!(
        listed.contains(&failed) && listed.contains("failed"),
        "{listed}"
    );
    let why = place
        .headwater(&["explain", "last", "int_vector_add5[3]"])
        .ended(0)
        .stdout;
    assert!(why.contains("iqsort[2]"), "{why}");
    assert!(why.contains("no room for another pivot"), "{why}");
    let why = place
        .headwater(&["explain", "last", "iqsort[2]"])
        .ended(0)
        .stdout;
    assert!(why.contains("no room for another pivot"), "{why}");
    let drawn = place.headwater(&["dag", "last"]).ended(0).stdout;
    assert!(
        drawn.contains("failed") && drawn.contains("blocked"),
        "{drawn}"
    );
    let json = place
        .headwater(&["runs", "show", "last", "--json"])
        .ended(0)
        .stdout;
    let told: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(told["status"], "failed", "{json}");
}

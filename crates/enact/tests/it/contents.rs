//! Content keys: a task that is new by its recipe and not by what it reads does not run.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_enact::{
    Action, Capacity, Enactment, Ending, Match, NothingRemembered, Options, State, Time,
};
use headwater_graph::{Digest, Identity, Recipe, TaskId};

use crate::support::{Flow, address};

fn comparing() -> Options {
    Options {
        remembers: true,
        compares: true,
        ..Options::default()
    }
}

/// A store of content keys, and what each address makes.
#[derive(Default)]
struct World {
    store: BTreeMap<Recipe, Match>,
    makes: BTreeMap<&'static str, &'static str>,
    fails: Vec<&'static str>,
    ran: Vec<String>,
}

impl World {
    fn contents(&self, enactment: &Enactment, task: TaskId) -> Vec<Identity> {
        let address = address(enactment, task);
        let made = self.makes.get(address.as_str()).copied();
        let made = made.unwrap_or(&address).to_owned();
        vec![Identity::Value(Digest::of(made.as_bytes()))]
    }

    /// Answers a comparison, and remembers nothing.
    fn compare(&mut self, enactment: &mut Enactment) {
        let mut tasks = Vec::new();
        enactment.take_comparisons(&mut tasks);
        for task in tasks {
            for input in enactment.unidentified(&[task]) {
                let contents = self.contents(enactment, input);
                enactment.identify(input, contents);
            }
            let key = enactment.content_key(task).unwrap();
            let found = self.store.get(&key).cloned();
            enactment
                .compared(task, Some(key), found, &mut NothingRemembered)
                .unwrap();
        }
    }

    /// Drives to the end; what runs ends in the order of its start, or the other way round.
    fn drive(mut self, flow: &Flow, backwards: bool) -> (World, Enactment) {
        let mut enactment = flow.enactment(&Options {
            capacity: Capacity::cores(8),
            ..comparing()
        });
        enactment.open(&mut NothingRemembered).unwrap();
        let mut running = Vec::new();
        loop {
            assert_eq!(
                enactment.coordinator().inspect(enactment.graph()),
                Vec::<String>::new()
            );
            match enactment.next(Time::default()) {
                Action::Start(start) => running.push(start.task),
                Action::Compare => self.compare(&mut enactment),
                Action::Materialise(task) => enactment.materialised(task, 1),
                Action::Spill(task) => enactment.spilled(task, true),
                Action::Finished => return (self, enactment),
                Action::Wait(_) => {
                    let at = if backwards { running.len() - 1 } else { 0 };
                    let task = running.remove(at);
                    let name = address(&enactment, task);
                    let fails = self.fails.contains(&name.as_str());
                    let contents = self.contents(&enactment, task);
                    enactment.identify(task, contents);
                    let outcome = if fails {
                        Ending::Fatal
                    } else {
                        Ending::Success {
                            memory: 1,
                            elapsed: Duration::from_secs(1),
                        }
                    };
                    enactment
                        .finished(task, outcome, &[], Time::default(), &mut NothingRemembered)
                        .unwrap();
                    self.ran.push(name);
                }
            }
        }
    }
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

fn fan() -> Flow {
    Flow::new()
        .items("a", 4)
        .stage("P(a) -> b")
        .stage("Q(b) -> c")
        .stage("R(c) -> d")
}

/// Items 0 and 2 become the same in P: Q runs for one of them, and R follows.
#[test]
fn equal_tasks_run_once_whatever_the_order() {
    for backwards in [false, true] {
        let mut world = World::default();
        world.makes.insert("P[0]", "same");
        world.makes.insert("P[2]", "same");
        // Whichever of the two runs, it makes the same.
        world.makes.insert("Q[0]", "also");
        world.makes.insert("Q[2]", "also");
        let (world, enactment) = world.drive(&fan(), backwards);
        let counts = enactment.counts();
        assert_eq!(
            (counts.planned, counts.executed, counts.cut_off),
            (12, 10, 2)
        );
        let of = |stage: &str| {
            let names = world.ran.iter().filter(|name| name.starts_with(stage));
            names.count()
        };
        assert_eq!((of("P"), of("Q"), of("R")), (4, 3, 3));
    }
}

/// What the plan lists is executed, less what is cut off, and nothing else is; both are counted.
#[test]
fn invariant_5_what_is_planned_is_executed_or_cut_off() {
    for backwards in [false, true] {
        let mut world = World::default();
        for (address, made) in [
            ("P[0]", "same"),
            ("P[2]", "same"),
            ("P[3]", "same"),
            ("Q[0]", "also"),
            ("Q[2]", "also"),
            ("Q[3]", "also"),
        ] {
            world.makes.insert(address, made);
        }
        let mut enactment = fan().enactment(&comparing());
        enactment.open(&mut NothingRemembered).unwrap();
        let addresses = |enactment: &Enactment, of: &dyn Fn(TaskId) -> bool| -> Vec<String> {
            let tasks = enactment.graph().ids().filter(|task| of(*task));
            tasks.map(|task| address(enactment, task)).collect()
        };
        let planned = addresses(&enactment, &|task| {
            !enactment.coordinator().state(task).is_settled()
        });
        assert_eq!(enactment.counts().planned, planned.len());
        let (world, enactment) = world.drive(&fan(), backwards);
        let cut_off = addresses(&enactment, &|task| enactment.coordinator().is_cut_off(task));
        let counts = enactment.counts();
        assert_eq!(
            (counts.executed, counts.cut_off, counts.recomputed),
            (world.ran.len(), cut_off.len(), 0)
        );
        assert_eq!(cut_off.len(), 4, "Q and R of two of the three");
        assert_eq!(sorted([world.ran, cut_off].concat()), sorted(planned));
    }
}

/// The one that runs fails: the other is tried, and each has its own descendants.
#[test]
fn an_equal_task_that_fails_leaves_the_others_to_themselves() {
    let mut world = World {
        fails: vec!["Q[0]", "Q[2]"],
        ..World::default()
    };
    world.makes.insert("P[0]", "same");
    world.makes.insert("P[2]", "same");
    let (world, enactment) = world.drive(&fan(), false);
    let counts = enactment.counts();
    assert_eq!((counts.failed, counts.blocked, counts.cut_off), (2, 2, 0));
    assert!(world.ran.contains(&"Q[0]".to_owned()) && world.ran.contains(&"Q[2]".to_owned()));
}

/// The store has Q under the contents that P makes: neither Q nor what comes after it runs.
#[test]
fn what_the_store_has_by_content_is_taken() {
    let flow = Flow::new()
        .items("a", 1)
        .stage("P(a) -> b")
        .stage("Q(b) -> c")
        .stage("R(c) -> d");
    let (first, enactment) = World::default().drive(&flow, false);
    assert_eq!(first.ran, ["P[0]", "Q[0]", "R[0]"]);
    let mut world = World::default();
    for task in enactment.graph().ids() {
        if let Some(key) = enactment.compared_by(task) {
            let found = Match {
                recipe: enactment.graph().recipe(task),
                outputs: first.contents(&enactment, task),
            };
            world.store.insert(*key, found);
        }
    }
    // Another version of P that makes the same: its recipe and those of Q and R are new.
    let mut changed = flow;
    changed.signatures[0].version = "2".into();
    let (world, enactment) = world.drive(&changed, false);
    assert_eq!(world.ran, ["P[0]"]);
    let counts = enactment.counts();
    assert_eq!((counts.planned, counts.executed, counts.cut_off), (3, 1, 2));
    for task in enactment.graph().ids().skip(1) {
        assert_eq!(enactment.coordinator().state(task), State::Known);
        assert!(enactment.coordinator().is_cut_off(task));
        assert_ne!(enactment.stored_as(task), enactment.graph().recipe(task));
    }
}

/// A task whose inputs all come from outside has its content key as its recipe: that was looked up already.
#[test]
fn what_reads_nothing_but_data_is_not_compared() {
    let mut enactment = Flow::new()
        .items("a", 2)
        .stage("P(a) -> b")
        .enactment(&comparing());
    enactment.open(&mut NothingRemembered).unwrap();
    let Action::Start(start) = enactment.next(Time::default()) else {
        panic!("it starts at once")
    };
    let recipe = enactment.graph().recipe(start.task);
    assert_eq!(enactment.content_key(start.task), Some(recipe));
}

/// Two runs of one workflow with different contents upstream differ in nothing but those.
#[test]
fn a_content_key_depends_on_contents_and_not_on_where_they_come_from() {
    let keys = |made: &'static str| {
        let mut world = World::default();
        world.makes.insert("P[0]", made);
        let flow = Flow::new()
            .items("a", 1)
            .stage("P(a) -> b")
            .stage("Q(b) -> c");
        let (world, enactment) = world.drive(&flow, false);
        assert_eq!(sorted(world.ran), ["P[0]", "Q[0]"]);
        let task = enactment.graph().ids().nth(1).unwrap();
        *enactment.compared_by(task).unwrap()
    };
    assert_eq!(keys("x"), keys("x"));
    assert_ne!(keys("x"), keys("y"));
}

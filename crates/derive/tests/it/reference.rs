//! The paper's comparison of all pairs of calls, written down as it stands there.
//!
//! Law: plain before fast. Loops over calls and arguments, no lists kept on the side.

use std::collections::BTreeSet;

use headwater_derive::{Access, Argument, CallId, Dependence, Kind, Mode, Object, Subject};

/// A program: its calls.
pub(crate) type Calls = Vec<Vec<Argument>>;

/// Which calls come after which: `[later][earlier]`.
pub(crate) type Closure = Vec<Vec<bool>>;

/// Whether the reference of an argument is looked at.
fn counts(mode: Mode, argument: &Argument) -> bool {
    let scalar = matches!(argument.object, Object::Scalar(_));
    argument.reference.is_some() && !(scalar && mode == Mode::Optimistic)
}

/// What a call does with the item of one of its arguments: all that it does with it, under whatever argument.
fn combined(mode: Mode, call: &[Argument], argument: &Argument) -> Access {
    let mut reads = false;
    let mut writes = false;
    for other in call {
        if counts(mode, other) && other.reference == argument.reference {
            reads |= matches!(other.access, Access::In | Access::InOut);
            writes |= matches!(other.access, Access::Out | Access::InOut);
        }
    }
    match (reads, writes) {
        (true, true) => Access::InOut,
        (false, true) => Access::Out,
        _ => Access::In,
    }
}

/// All dependences.
pub(crate) fn all_pairs(mode: Mode, calls: &Calls) -> Vec<Dependence> {
    let mut found = BTreeSet::new();
    for (p, earlier) in calls.iter().enumerate() {
        for (c, later) in calls.iter().enumerate().skip(p + 1) {
            for one in earlier {
                for other in later {
                    let mut insert = |kind, subject| {
                        found.insert(Dependence {
                            from: CallId(p as u32),
                            to: CallId(c as u32),
                            kind,
                            subject,
                        });
                    };
                    if let Some(item) = one.reference
                        && one.reference == other.reference
                        && counts(mode, one)
                        && counts(mode, other)
                    {
                        let p_access = combined(mode, earlier, one);
                        let c_access = combined(mode, later, other);
                        let item = Subject::Item(item);
                        if matches!(p_access, Access::Out | Access::InOut)
                            && matches!(c_access, Access::In | Access::InOut)
                        {
                            insert(Kind::Raw, item);
                        } else if matches!(p_access, Access::In)
                            && matches!(c_access, Access::Out | Access::InOut)
                        {
                            insert(Kind::War, item);
                        } else if matches!(p_access, Access::Out | Access::InOut)
                            && matches!(c_access, Access::Out)
                        {
                            insert(Kind::Waw, item);
                        }
                    }
                    if let (Object::Scalar(one_type), Object::Scalar(other_type)) =
                        (one.object, other.object)
                        && mode == Mode::Conservative
                        && one_type == other_type
                    {
                        let output_input = matches!(one.access, Access::Out | Access::InOut)
                            && matches!(other.access, Access::In | Access::InOut);
                        let input_output = matches!(one.access, Access::In | Access::InOut)
                            && matches!(other.access, Access::Out | Access::InOut);
                        if output_input || input_output {
                            insert(Kind::Scalar, Subject::Scalar(one_type));
                        }
                    }
                }
            }
        }
    }
    found.into_iter().collect()
}

/// Whether a call writes an item.
fn writes(mode: Mode, call: &[Argument], subject: Subject) -> bool {
    let mut arguments = call.iter().filter(|argument| counts(mode, argument));
    arguments.any(|argument| {
        argument.reference.map(Subject::Item) == Some(subject) && argument.access != Access::In
    })
}

/// The RAW dependences whose data nobody overwrites on the way.
pub(crate) fn effective(mode: Mode, calls: &Calls, all: &[Dependence]) -> Vec<Dependence> {
    let raw = all.iter().filter(|one| one.kind == Kind::Raw);
    let effective = raw.filter(|one| {
        let between = &calls[one.from.index() + 1..one.to.index()];
        !between.iter().any(|call| writes(mode, call, one.subject))
    });
    effective.copied().collect()
}

/// Which calls come after which.
pub(crate) fn closure(calls: usize, dependences: &[Dependence]) -> Closure {
    let mut closure = vec![vec![false; calls]; calls];
    for to in 0..calls {
        let mut row = vec![false; calls];
        for one in dependences.iter().filter(|one| one.to.index() == to) {
            assert!(one.from < one.to, "a call depends only on earlier ones");
            row[one.from.index()] = true;
            for (before, is_before) in closure[one.from.index()].iter().enumerate() {
                row[before] |= is_before;
            }
        }
        closure[to] = row;
    }
    closure
}

/// What has to be left after reduction.
pub(crate) fn reduced(mode: Mode, calls: &Calls, all: &[Dependence]) -> Vec<Dependence> {
    let closure = closure(calls.len(), all);
    let effective = effective(mode, calls, all);
    let needed = all.iter().filter(|one| {
        let (from, to) = (one.from.index(), one.to.index());
        let mut between = from + 1..to;
        let implied = between.any(|middle| closure[middle][from] && closure[to][middle]);
        if one.kind == Kind::Raw {
            effective.contains(one)
        } else {
            !implied
        }
    });
    needed.copied().collect()
}

/// The number of calls before each call on the longest path to it.
pub(crate) fn longest_paths(calls: usize, dependences: &[Dependence]) -> Vec<u32> {
    let mut longest = vec![0; calls];
    for to in 0..calls {
        for one in dependences.iter().filter(|one| one.to.index() == to) {
            longest[to] = longest[to].max(longest[one.from.index()] + 1);
        }
    }
    longest
}

//! Iteration strategies: the text and the tree are the same thing.

use headwater_graph::{Strategy as Iteration, StrategyError};
use proptest::prelude::*;

/// A random tree over names that are all different.
fn trees() -> impl Strategy<Value = Iteration> {
    let leaf = Just(Iteration::Name("x".into()));
    let tree = leaf.prop_recursive(4, 24, 4, |inner| {
        (any::<bool>(), proptest::collection::vec(inner, 2..4)).prop_map(|(cross, parts)| {
            if cross {
                Iteration::Cross(parts)
            } else {
                Iteration::Dot(parts)
            }
        })
    });
    tree.prop_map(|mut tree| {
        fn number(tree: &mut Iteration, next: &mut usize) {
            match tree {
                Iteration::Name(name) => {
                    // Names that look like words of the language are names all the same.
                    let words = ["cross", "dot", "données", "a-b.c"];
                    let word = words
                        .get(*next)
                        .map_or_else(|| format!("x{next}"), |word| (*word).to_owned());
                    *name = word.as_str().into();
                    *next += 1;
                }
                Iteration::Cross(parts) | Iteration::Dot(parts) => {
                    parts.iter_mut().for_each(|part| number(part, next));
                }
            }
        }
        number(&mut tree, &mut 0);
        tree
    })
}

proptest! {
    #[test]
    fn text_and_tree_are_inverse(tree in trees()) {
        prop_assert_eq!(Iteration::parse(&tree.to_string()), Ok(tree));
    }

    #[test]
    fn blanks_do_not_matter(tree in trees()) {
        let spaced = tree.to_string().replace('(', " (\n ").replace(',', " ,\t").replace(')', " ) ");
        prop_assert_eq!(Iteration::parse(&spaced), Ok(tree));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[crossdt(),a ]{0,40}|.{0,40}") {
        match Iteration::parse(&text) {
            Ok(tree) => prop_assert_eq!(Iteration::parse(&tree.to_string()), Ok(tree)),
            Err(StrategyError { at, .. }) => prop_assert!(at <= text.len() && text.is_char_boundary(at)),
        }
    }
}

#[test]
fn mistakes_say_where_they_are() {
    let check = |text: &str, at: usize, message: &str| {
        let error = Iteration::parse(text).unwrap_err();
        assert_eq!(
            (error.at, error.to_string().as_str()),
            (at, message),
            "{text}"
        );
    };
    check("", 0, "expected a data name, `cross(…)` or `dot(…)`");
    check(
        "cross(a, )",
        9,
        "expected a data name, `cross(…)` or `dot(…)`",
    );
    check("cross(a b)", 8, "expected `,` or `)`");
    check("cross(a, b", 10, "expected `,` or `)`");
    check("cross(a, b) c", 12, "nothing more is expected here");
    check("zip(a, b)", 0, "`zip` is neither `cross` nor `dot`");
    check("cross(a, dot(b))", 9, "`dot` combines at least two names");
    check("dot(a, a, bar)", 7, "`a` is named twice");
    check(&"cross(".repeat(100), 390, "nested too deeply");
}

#[test]
fn names_come_from_left_to_right() {
    let tree = Iteration::parse("cross(c, dot(a, b))").unwrap();
    let names: Vec<String> = tree.names().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["c", "a", "b"]);
}

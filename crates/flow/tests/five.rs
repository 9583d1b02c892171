//! One file with five different mistakes: all five are shown, each at its place.

use headwater_flow::{mutate, read_workflow, render};

#[test]
fn five_mistakes_in_one_file() {
    let text = include_str!("../fixtures/mistakes.yaml");
    let read = read_workflow(text, &mutate::registry());
    assert!(read.value.is_none());
    assert_eq!(read.diagnostics.len(), 5);
    insta::assert_snapshot!(render(&read.diagnostics, "nuclei.yaml", text, false), @r#"
    error: there is no type `imag`
     --> nuclei.yaml:4:9
      |
    4 |   tile: imag
      |         ^^^^
      = help: did you mean `image`?

    error: `B` is an int, and its default `many` is a text
     --> nuclei.yaml:6:27
      |
    6 |   B: {type: int, default: many}
      |                           ^^^^

    error: there is no operation `imaging/normalise`
      --> nuclei.yaml:10:13
       |
    10 |       - op: imaging/normalise
       |             ^^^^^^^^^^^^^^^^^
       = help: did you mean `imaging/normalize`?

    error: a task has no field `inn`
      --> nuclei.yaml:16:9
       |
    16 |         inn: {image: normalized}
       |         ^^^
       = help: did you mean `in`?

    error: nothing makes data called `nucleus`
      --> nuclei.yaml:19:17
       |
    19 | outputs: {mask: nucleus}
       |                 ^^^^^^^
       = help: did you mean `nuclei`?
    "#);
}

//! Sequences as drawings.
//!
//! Law: the example of four calls is six marked arrows before the reduction, and three after it.

use super::*;
use crate::DiagramFormat;
use crate::dot::diagram_dot;
use crate::face;
use crate::labels::{LABEL_LINE, crosses};
use crate::layout::layout;
use crate::mermaid::diagram_mermaid;
use crate::picture::Rectangle;
use crate::svg::diagram_svg;
use crate::text::width;

fn call(operation: &str, number: usize, rank: u32) -> SequenceCall {
    SequenceCall {
        label: operation.rsplit('/').next().unwrap_or_default().to_owned(),
        operation: operation.to_owned(),
        address: format!("{operation}[{number}]"),
        rank,
        needed: true,
    }
}

fn edge_of(from: usize, to: usize, marks: &[(Kind, &str)]) -> SequenceEdge {
    let marks = marks.iter().map(|(mark, name)| (*mark, (*name).to_owned()));
    SequenceEdge {
        from,
        to,
        marks: marks.collect(),
    }
}

fn item(name: &str, calls: &[usize]) -> SequenceItem {
    SequenceItem {
        name: name.to_owned(),
        item_type: None,
        calls: calls.to_vec(),
    }
}

/// Four calls, of which three change a vector one after the other.
fn calls() -> Vec<SequenceCall> {
    let names = [
        "return_int_vector",
        "vpass_int",
        "iqsort",
        "int_vector_add5",
    ];
    let calls = names.iter().enumerate();
    calls
        .map(|(number, name)| call(name, number, number as u32))
        .collect()
}

/// What is left of their dependences.
fn reduced() -> Vec<SequenceEdge> {
    (0..3)
        .map(|from| edge_of(from, from + 1, &[(Kind::Raw, "ovec")]))
        .collect()
}

/// All pairs of calls, as the table of accesses says it.
fn all_pairs() -> Vec<SequenceEdge> {
    let pairs = (0..4).flat_map(|from| (from + 1..4).map(move |to| (from, to)));
    pairs
        .map(|(from, to)| edge_of(from, to, &[(Kind::Raw, "ovec")]))
        .collect()
}

fn drawn(edges: &[SequenceEdge]) -> Diagram {
    let inputs = [item("ivec", &[0]), item("n", &[0, 1, 2, 3])];
    let outputs = [item("ovec", &[2]), item("ovec2", &[3])];
    sequence_diagram("four calls", &calls(), edges, &inputs, &outputs)
}

/// A sequence with every kind of dependence, and with names that try to leave their places.
fn marked() -> Diagram {
    let calls = [
        call("lib/a", 0, 0),
        call("lib/b", 1, 1),
        call("lib/c", 2, 2),
        call("d", 3, 3),
    ];
    let edges = [
        edge_of(0, 1, &[(Kind::War, "x"), (Kind::Raw, "y<\"]|&")]),
        edge_of(
            1,
            2,
            &[(Kind::Waw, "x"), (Kind::War, "x"), (Kind::War, "x")],
        ),
        edge_of(0, 3, &[(Kind::Scalar, "int")]),
        edge_of(2, 3, &[(Kind::Waw, "y<\"]|&")]),
    ];
    sequence_diagram("marks", &calls, &edges, &[], &[])
}

fn between_calls(diagram: &Diagram) -> Vec<&DiagramEdge> {
    let is_call = |end: DiagramEnd| match end {
        DiagramEnd::Node(node) => diagram.nodes[node].kind == NodeKind::Task,
        DiagramEnd::Group(_) => false,
    };
    let edges = diagram.edges.iter();
    edges
        .filter(|edge| is_call(edge.from) && is_call(edge.to))
        .collect()
}

#[test]
fn four_calls_before_and_after() {
    for (edges, count) in [(all_pairs(), 6), (reduced(), 3)] {
        let diagram = drawn(&edges);
        let arrows = between_calls(&diagram);
        assert_eq!(arrows.len(), count);
        assert!(arrows.iter().all(|arrow| arrow.label() == "RAW ovec"));
        // Every arrow is told in the picture, and no label is left out.
        let svg = diagram_svg(&diagram);
        assert_eq!(svg.matches(">RAW ovec</text>").count(), count, "{svg}");
        let dot = diagram_dot(&diagram);
        assert_eq!(dot.matches("label=\"RAW ovec\"").count(), count);
    }
    let expected = r##"flowchart TB
  %% made by headwater dag
  %% four calls
  %% 4 calls, 3 dependent pairs
  n0(["ivec"])
  n1(["n"])
  n2["return_int_vector#91;0#93;<br>rank 0"]
  n3["vpass_int#91;1#93;<br>rank 1"]
  n4["iqsort#91;2#93;<br>rank 2"]
  n5["int_vector_add5#91;3#93;<br>rank 3"]
  n6(["ovec"])
  n7(["ovec2"])
  n0 --> n2
  n1 --> n2
  n1 --> n3
  n1 --> n4
  n1 --> n5
  n2 -->|"RAW ovec"| n3
  n3 -->|"RAW ovec"| n4
  n4 -->|"RAW ovec"| n5
  n4 --> n6
  n5 --> n7
  classDef input fill:#e4f0fb,stroke:#6ea3d4,color:#1d2733
  class n0,n1 input
  classDef output fill:#e5f4e9,stroke:#6cb182,color:#1d2733
  class n6,n7 output
"##;
    assert_eq!(diagram_mermaid(&drawn(&reduced())), expected);
    let expected = r##"flowchart TB
  %% made by headwater dag
  %% four calls
  %% 4 calls, 6 dependent pairs
  n0(["ivec"])
  n1(["n"])
  n2["return_int_vector#91;0#93;<br>rank 0"]
  n3["vpass_int#91;1#93;<br>rank 1"]
  n4["iqsort#91;2#93;<br>rank 2"]
  n5["int_vector_add5#91;3#93;<br>rank 3"]
  n6(["ovec"])
  n7(["ovec2"])
  n0 --> n2
  n1 --> n2
  n1 --> n3
  n1 --> n4
  n1 --> n5
  n2 -->|"RAW ovec"| n3
  n2 -->|"RAW ovec"| n4
  n2 -->|"RAW ovec"| n5
  n3 -->|"RAW ovec"| n4
  n3 -->|"RAW ovec"| n5
  n4 -->|"RAW ovec"| n5
  n4 --> n6
  n5 --> n7
  classDef input fill:#e4f0fb,stroke:#6ea3d4,color:#1d2733
  class n0,n1 input
  classDef output fill:#e5f4e9,stroke:#6cb182,color:#1d2733
  class n6,n7 output
"##;
    assert_eq!(diagram_mermaid(&drawn(&all_pairs())), expected);
}

#[test]
fn orders_are_told_apart_from_data() {
    let diagram = marked();
    let kinds: Vec<(EdgeKind, String)> = (diagram.edges.iter())
        .map(|edge| (edge.kind, edge.label()))
        .collect();
    let expected = [
        (EdgeKind::Data, "RAW y<\"]|&, WAR x"),
        (EdgeKind::Order, "WAR x, WAW x"),
        (EdgeKind::Order, "scalar int"),
        (EdgeKind::Order, "WAW y<\"]|&"),
    ];
    let expected = expected.map(|(kind, label)| (kind, label.to_owned()));
    assert_eq!(kinds, expected);
    let svg = diagram_svg(&diagram);
    assert_eq!(svg.matches("class=\"hw-arrow hw-later\"").count(), 3);
    for label in [
        "RAW y&lt;&quot;]|&amp;, WAR x",
        "WAR x, WAW x",
        "scalar int",
        "WAW y&lt;&quot;]|&amp;",
    ] {
        let title = format!(": {label}</title>");
        assert!(svg.contains(&title), "{label}\n{svg}");
        // In one line, or each name in a line of its own; in the colour of the arrow.
        let class = if label.starts_with("RAW") {
            "hw-over"
        } else {
            "hw-over hw-later"
        };
        let drawn = |text: &str| {
            let is_text = |part: &str| part.split('"').nth(1) == Some(class);
            let mut parts = svg.split("<text class=").skip(1);
            parts.any(|part| is_text(part) && part.contains(&format!(">{text}</text>")))
        };
        let lines = label.replace(", ", ",\n");
        assert!(drawn(label) || lines.lines().all(drawn), "{label}\n{svg}");
    }
    let expected = r##"flowchart TB
  %% made by headwater dag
  %% marks
  %% 4 calls, 4 dependent pairs
  n0["a#91;0#93;<br>lib/a<br>rank 0"]
  n1["b#91;1#93;<br>lib/b<br>rank 1"]
  n2["c#91;2#93;<br>lib/c<br>rank 2"]
  n3["d#91;3#93;<br>rank 3"]
  n0 -->|"RAW y#60;#34;#93;#124;#38;, WAR x"| n1
  n1 -.->|"WAR x, WAW x"| n2
  n0 -.->|"scalar int"| n3
  n2 -.->|"WAW y#60;#34;#93;#124;#38;"| n3
  linkStyle 1,2,3 stroke:#a8487f,color:#a8487f
"##;
    assert_eq!(diagram_mermaid(&diagram), expected);
    let dot = diagram_dot(&diagram);
    for line in [
        r#"  n0 -> n1 [label="RAW y<\"]|&, WAR x"];"#,
        r##"  n1 -> n2 [label="WAR x, WAW x", style=dashed, color="#a8487f", fontcolor="#a8487f"];"##,
    ] {
        assert!(dot.lines().any(|known| known == line), "{line}\n{dot}");
    }
}

/// Arrows of a program: what is written, what is read, by call.
fn dependent(calls: &[(&[&str], &[&str])]) -> Vec<SequenceEdge> {
    let mut edges = Vec::new();
    for (to, (writes, reads)) in calls.iter().enumerate() {
        for (from, (written, read)) in calls[..to].iter().enumerate() {
            let both = |mark: Kind, earlier: &[&str], later: &[&str]| {
                let shared = earlier.iter().filter(|name| later.contains(name));
                shared
                    .map(|name| (mark, (*name).to_owned()))
                    .collect::<Vec<_>>()
            };
            let mut marks = both(Kind::Raw, written, reads);
            marks.extend(both(Kind::War, read, writes));
            marks.extend(both(Kind::Waw, written, writes));
            if !marks.is_empty() {
                edges.push(SequenceEdge { from, to, marks });
            }
        }
    }
    edges
}

fn numbered(count: usize) -> Vec<SequenceCall> {
    (0..count)
        .map(|number| call("lib/step", number, number as u32))
        .collect()
}

/// Looks whether each arrow that has something to say does so: within the picture, in nobody else's place, and where its
/// own arrow runs.
fn check_labels(diagram: &Diagram) {
    let picture = layout(diagram);
    assert_eq!(picture.flaws.left_out, 0, "{}", diagram.title);
    let mut taken: Vec<Rectangle> = picture.nodes.clone();
    for arrow in &picture.arrows {
        let label = diagram.edges[arrow.edge].label();
        let Some((x, y, lines)) = &arrow.label else {
            assert_eq!(label, "");
            continue;
        };
        assert!(
            lines.join(" ") == label || label.len() > 30,
            "{lines:?} instead of {label}"
        );
        let widths = lines.iter().map(|line| width(line, face::SMALL));
        let place = Rectangle {
            width: widths.fold(0.0, f64::max),
            height: LABEL_LINE * lines.len() as f64,
            ..Rectangle::default()
        };
        let place = Rectangle {
            x: x - place.width / 2.0,
            y: y - place.height / 2.0,
            ..place
        };
        assert!(
            place.x >= 0.0 && place.x + place.width <= picture.width,
            "{label}"
        );
        assert!(!taken.iter().any(|other| other.overlaps(&place)), "{label}");
        taken.push(place);
        let pieces = arrow.corners.windows(2);
        let own = pieces.map(|pair| (pair[0], pair[1]));
        assert!(own.into_iter().any(|piece| crosses(&piece, &place)));
    }
}

#[test]
fn labels_of_small_sequences_are_all_there() {
    // Temporaries that are used again.
    let reused: [(&[&str], &[&str]); 11] = [
        (&["T"], &["A", "D"]),
        (&["U"], &["E", "H"]),
        (&["Q1"], &["T", "U"]),
        (&["T"], &["C", "D"]),
        (&["Q2"], &["T", "E"]),
        (&["U"], &["F", "H"]),
        (&["Q3"], &["A", "U"]),
        (&["U"], &["G", "E"]),
        (&["Q4"], &["D", "U"]),
        (&["T"], &["Q1", "Q4"]),
        (&["W"], &["Q2", "Q4"]),
    ];
    // A result of each kind of dependence, and long names.
    let mixed: [(&[&str], &[&str]); 5] = [
        (&["x", "y"], &["p"]),
        (&["z"], &["x"]),
        (&["w"], &["y", "w"]),
        (&["x"], &["z", "a rather long name of an item"]),
        (&["z", "a rather long name of an item"], &["x", "w"]),
    ];
    for program in [&reused[..], &mixed] {
        let diagram = sequence_diagram(
            "program",
            &numbered(program.len()),
            &dependent(program),
            &[],
            &[],
        );
        check_labels(&diagram);
    }
    // Everything depends on everything before.
    let program: Vec<(&[&str], &[&str])> = vec![(&["x"], &["x"]); 12];
    let chain = dependent(&program);
    assert_eq!(chain.len(), 66);
    check_labels(&sequence_diagram("chain", &numbered(12), &chain, &[], &[]));
    // As many calls as are drawn one by one, each reading what the one before made and something that was given.
    let edges: Vec<SequenceEdge> = (1..40)
        .map(|to| edge_of(to - 1, to, &[(Kind::Raw, "image"), (Kind::Waw, "scratch")]))
        .collect();
    let inputs = [item("given", &(0..40).collect::<Vec<_>>())];
    let outputs = [item("image", &[39])];
    let long = sequence_diagram("long", &numbered(40), &edges, &inputs, &outputs);
    check_labels(&long);
    check_labels(&marked());
    for edges in [all_pairs(), reduced()] {
        check_labels(&drawn(&edges));
    }
}

#[test]
fn thousands_of_arrows_are_drawn_and_told_where_one_points() {
    let pairs = (0..70).flat_map(|from| (from + 1..70).map(move |to| (from, to)));
    let edges: Vec<SequenceEdge> = pairs
        .map(|(from, to)| edge_of(from, to, &[(Kind::Waw, "x")]))
        .collect();
    let svg = diagram_svg(&sequence_diagram("t", &numbered(70), &edges, &[], &[]));
    assert_eq!(svg.matches("hw-tip").count(), 70 * 69 / 2 + 2);
    assert_eq!(svg.matches(": WAW x</title>").count(), 70 * 69 / 2);
    assert!(!svg.contains(">WAW x</text>"));
}

#[test]
fn long_sequences_leave_items_out() {
    let few: Vec<SequenceCall> = (0..40).map(|number| call("f", number, 0)).collect();
    let many: Vec<SequenceCall> = (0..41).map(|number| call("f", number, 0)).collect();
    let items = [item("x", &[0, 1, 1])];
    let diagram = sequence_diagram("few", &few, &[], &items, &items);
    assert_eq!((diagram.nodes.len(), diagram.edges.len()), (42, 4));
    let diagram = sequence_diagram("many", &many, &[], &items, &items);
    assert_eq!((diagram.nodes.len(), diagram.edges.len()), (41, 0));
}

/// A long sequence of two operations in turn.
fn long() -> Diagram {
    let names = ["lib/add", "lib/multiply"];
    let mut calls: Vec<SequenceCall> = (0..2500)
        .map(|number| call(names[number % 2], number, number as u32))
        .collect();
    // The last addition is the first one again, and what the last product is nobody asks.
    calls[2498].address = calls[0].address.clone();
    calls[2499].needed = false;
    let mut edges: Vec<SequenceEdge> = (1..2500)
        .map(|to| edge_of(to - 1, to, &[(Kind::Raw, "x")]))
        .collect();
    edges.push(edge_of(0, 3, &[(Kind::Waw, "y")]));
    edges.push(edge_of(0, 2, &[(Kind::War, "y"), (Kind::Waw, "z")]));
    grouped_sequence_diagram("long", calls, edges)
}

#[test]
fn calls_of_one_operation_as_one() {
    let diagram = long();
    let text = diagram_mermaid(&diagram);
    for line in [
        "  n0[\"add<br>lib/add<br>1,250 calls, ranks 0 to 2498<br>on itself ×1:<br>WAR, WAW<br>1,249 tasks\"]",
        "  n1[\"multiply<br>lib/multiply<br>1,250 calls, ranks 1 to 2499<br>1 not needed<br>1,249 tasks\"]",
        "  n0 -->|\"RAW, WAW ×1,251\"| n1",
        "  n1 -->|\"RAW ×1,249\"| n0",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    let addresses: Vec<Option<&str>> = (diagram.nodes.iter())
        .map(|node| node.address.as_deref())
        .collect();
    assert_eq!(addresses, [Some("lib/add"), Some("lib/multiply")]);
    // Both ways are drawn.
    let svg = diagram_svg(&diagram);
    assert!(
        svg.contains("lib/add → lib/multiply: RAW, WAW ×1,251</title>"),
        "{svg}"
    );
    assert!(
        svg.contains("lib/multiply → lib/add: RAW ×1,249</title>"),
        "{svg}"
    );
}

#[test]
fn what_nobody_asks_for_says_so() {
    let mut calls = calls();
    calls[3].needed = false;
    let diagram = sequence_diagram("t", &calls, &reduced(), &[], &[]);
    assert_eq!(diagram.nodes[3].words, ["rank 3", "not needed"]);
    assert_eq!(diagram.nodes[3].address, None);
    let text = DiagramFormat::Mermaid.text(&diagram);
    assert!(text.contains("<br>rank 3<br>not needed\"]"), "{text}");
}

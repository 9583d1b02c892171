//! Pictures of all kinds of diagrams.
//!
//! Law: nothing covers anything, arrows go down where they close no circle, and no name is anything but text.

#[path = "../../report/tests/support/markup.rs"]
mod markup;

use headwater_graph::Tally;
use proptest::prelude::*;

use super::*;
use crate::dot::diagram_dot;
use crate::layout::layout;
use crate::mermaid::diagram_mermaid;
use crate::picture::{Picture, Rectangle};
use crate::svg::diagram_svg;

fn task(label: &str, group: Option<usize>) -> DiagramNode {
    DiagramNode {
        label: label.to_owned(),
        group,
        operation: Some("an/operation".to_owned()),
        ..DiagramNode::default()
    }
}

fn data(from: usize, to: usize) -> DiagramEdge {
    DiagramEdge {
        from: DiagramEnd::Node(from),
        to: DiagramEnd::Node(to),
        kind: EdgeKind::Data,
        names: vec!["name".to_owned()],
        optional: false,
        count: None,
    }
}

fn diagram_of(groups: usize, nodes: Vec<DiagramNode>, edges: Vec<DiagramEdge>) -> Diagram {
    let group = |number: usize| DiagramGroup {
        name: format!("stage {number}"),
        words: vec!["wait: all".to_owned(); number % 2],
    };
    Diagram {
        title: "title".to_owned(),
        notes: Vec::new(),
        groups: (0..groups).map(group).collect(),
        nodes,
        edges,
    }
}

/// Whether two boxes share more than a line that rounding makes.
fn collide(one: &Rectangle, other: &Rectangle) -> bool {
    let smaller = Rectangle {
        x: one.x + 0.01,
        y: one.y + 0.01,
        width: one.width - 0.02,
        height: one.height - 0.02,
    };
    smaller.overlaps(other)
}

fn holds(outer: &Rectangle, inner: &Rectangle) -> bool {
    inner.x >= outer.x - 0.01
        && inner.y >= outer.y - 0.01
        && inner.x + inner.width <= outer.x + outer.width + 0.01
        && inner.y + inner.height <= outer.y + outer.height + 0.01
}

/// Looks at everything that holds for every picture.
fn check(diagram: &Diagram) -> Picture {
    let picture = layout(diagram);
    for (number, place) in picture.nodes.iter().enumerate() {
        for other in &picture.nodes[number + 1..] {
            assert!(!collide(place, other), "nodes overlap: {place:?} {other:?}");
        }
    }
    let mut boxed = 0;
    for (number, stage) in picture.stages.iter().enumerate() {
        for other in &picture.stages[number + 1..] {
            assert!(!collide(&stage.place, &other.place), "stages overlap");
        }
        for (node, place) in picture.nodes.iter().enumerate() {
            let own = stage.nodes.contains(&node);
            assert!(!own || holds(&stage.place, place), "a node sticks out");
            assert!(own || !collide(&stage.place, place), "a stranger is inside");
        }
        boxed += stage.nodes.len();
    }
    let grouped = diagram
        .nodes
        .iter()
        .filter(|node| node.group.is_some_and(|group| group < diagram.groups.len()));
    assert_eq!(boxed, grouped.count());
    for arrow in &picture.arrows {
        for pair in arrow.corners.windows(2) {
            assert!(
                pair[1].1 >= pair[0].1 - 0.01,
                "an arrow goes up: {:?}",
                arrow.corners
            );
        }
        let edge = &diagram.edges[arrow.edge];
        let (first, last) = (arrow.corners[0], arrow.corners[arrow.corners.len() - 1]);
        // What goes up begins where others end.
        let (upper, lower) = if arrow.turned {
            (edge.to, edge.from)
        } else {
            (edge.from, edge.to)
        };
        if let DiagramEnd::Node(from) = upper {
            let place = &picture.nodes[from];
            assert!(
                (place.y + place.height - first.1).abs() < 0.1,
                "it does not begin below its node"
            );
            assert!((place.x..=place.x + place.width).contains(&first.0));
        }
        if let DiagramEnd::Node(to) = lower {
            let place = &picture.nodes[to];
            assert!(
                (place.y - last.1).abs() < 0.1,
                "it does not end above its node"
            );
            assert!((place.x..=place.x + place.width).contains(&last.0));
        }
        let (wide, high) = (picture.width + 0.1, picture.height + 0.1);
        let inside = |(x, y): &(f64, f64)| (-0.1..=wide).contains(x) && (-0.1..=high).contains(y);
        assert!(
            arrow.corners.iter().all(inside),
            "an arrow leaves the picture"
        );
    }
    picture
}

fn diagrams() -> impl Strategy<Value = Diagram> {
    let node = (0..8_usize, "[a-z]{1,30}");
    let nodes = prop::collection::vec(node, 0..36);
    let edges = prop::collection::vec((0..40_usize, 0..40_usize), 0..60);
    let orders = prop::collection::vec((0..6_usize, 0..6_usize), 0..4);
    (0..6_usize, nodes, edges, orders).prop_map(|(groups, nodes, edges, orders)| {
        // Groups beyond the last one are none.
        let nodes = nodes
            .iter()
            .map(|(group, label)| task(label, Some(*group).filter(|group| *group < 7)));
        let mut edges: Vec<DiagramEdge> = edges.iter().map(|(from, to)| data(*from, *to)).collect();
        edges.extend(orders.iter().map(|(from, to)| DiagramEdge {
            from: DiagramEnd::Group(*from),
            to: DiagramEnd::Group(*to),
            kind: EdgeKind::After,
            ..data(0, 0)
        }));
        diagram_of(groups, nodes.collect(), edges)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_covers_anything_and_arrows_go_down(diagram in diagrams()) {
        check(&diagram);
    }

    #[test]
    fn every_edge_of_a_graph_without_circles_is_drawn_once(diagram in diagrams()) {
        let mut diagram = diagram;
        let count = diagram.nodes.len();
        diagram.edges.retain(|edge| {
            matches!((edge.from, edge.to), (DiagramEnd::Node(from), DiagramEnd::Node(to)) if from < to && to < count)
        });
        let picture = check(&diagram);
        let mut drawn: Vec<usize> = picture.arrows.iter().map(|arrow| arrow.edge).collect();
        drawn.sort_unstable();
        prop_assert_eq!(drawn, (0..diagram.edges.len()).collect::<Vec<_>>());
        prop_assert!(picture.arrows.iter().all(|arrow| !arrow.turned));
        for arrow in &picture.arrows {
            let (DiagramEnd::Node(from), DiagramEnd::Node(to)) = (diagram.edges[arrow.edge].from, diagram.edges[arrow.edge].to) else {
                unreachable!("only such are left");
            };
            prop_assert!(picture.nodes[from].y + picture.nodes[from].height <= picture.nodes[to].y);
        }
    }

    #[test]
    fn the_same_diagram_is_the_same_text_and_reads_back(diagram in diagrams()) {
        let text = serde_json::to_string(&diagram).unwrap();
        let again: Diagram = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&again, &diagram);
        for format in [DiagramFormat::Svg, DiagramFormat::Dot, DiagramFormat::Mermaid] {
            prop_assert_eq!(format.text(&diagram), format.text(&again));
        }
    }

    #[test]
    fn whatever_names_hold_the_picture_is_well_formed(name in any::<String>(), diagram in diagrams()) {
        let mut diagram = diagram;
        diagram.title.clone_from(&name);
        diagram.groups.iter_mut().for_each(|group| group.words.push(name.clone()));
        diagram.nodes.iter_mut().for_each(|node| node.label.clone_from(&name));
        diagram.edges.iter_mut().for_each(|edge| edge.names = vec![name.clone()]);
        well_formed(&diagram);
    }
}

fn well_formed(diagram: &Diagram) -> Vec<markup::Element> {
    let svg = diagram_svg(diagram);
    markup::check(&inline(diagram).into_string()).expect("well-formed");
    markup::check(&svg).unwrap_or_else(|error| panic!("{error}\n{svg}"))
}

#[test]
fn names_stay_text() {
    let hostile =
        "<script>alert(1)</script>\"'`#]]>&amp;\n\u{1b}{}|end🦀".to_owned() + &"x".repeat(300);
    let mut node = task(&hostile, Some(0));
    node.words.push(hostile.clone());
    node.varied.push(hostile.clone());
    node.address = Some(hostile.clone());
    let mut edge = data(0, 1);
    edge.names = vec![hostile.clone()];
    let mut diagram = diagram_of(1, vec![node, task("end", Some(0))], vec![edge]);
    diagram.title.clone_from(&hostile);
    diagram.groups[0].name.clone_from(&hostile);
    diagram.notes.push(hostile);
    check(&diagram);
    let elements = well_formed(&diagram);
    assert!(elements.iter().all(|element| element.name != "script"));
    let known = ["svg", "title", "style", "rect", "text", "g", "path"];
    assert!(
        elements
            .iter()
            .all(|element| known.contains(&&*element.name))
    );
    // Nothing outside of the file, and no id that another picture in the same page could have.
    for element in &elements {
        let has = |name: &str| element.attribute(name).is_some();
        assert!(!has("id") && !has("href"));
        assert!(element.name == "svg" || element.within[0] == "svg");
    }
    let mermaid = diagram_mermaid(&diagram);
    let first = mermaid
        .lines()
        .find(|line| line.trim_start().starts_with("n0["))
        .unwrap();
    assert!(
        first.contains("#60;script#62;alert(1)#60;/script#62;#34;#39;#96;#35;"),
        "{first}"
    );
    assert_eq!(first.matches('"').count(), 2);
    let dot = diagram_dot(&diagram);
    assert!(dot.contains("<script>alert(1)</script>\\\"'`#]]>"), "{dot}");
    assert!(
        dot.lines().all(
            |line| (line.matches('"').count() - line.matches("\\\"").count()).is_multiple_of(2)
        )
    );
}

#[test]
fn texts_fit_into_their_boxes() {
    let long = "W".repeat(300);
    let diagram = diagram_of(1, vec![task(&long, Some(0))], Vec::new());
    let picture = check(&diagram);
    let face = &picture.faces[0];
    for (style, line) in &face.lines {
        let size = if *style == face::Style::Name {
            face::NAME
        } else {
            face::SMALL
        };
        assert!(text::width(line, size) <= face.width);
    }
    assert!(face.title.contains(&long));
}

#[test]
fn a_chain_is_straight() {
    let nodes = (0..12)
        .map(|number| task(&"x".repeat(number), Some(number / 4)))
        .collect();
    let edges = (1..12).map(|number| data(number - 1, number)).collect();
    let picture = check(&diagram_of(3, nodes, edges));
    for arrow in &picture.arrows {
        let first = arrow.corners[0].0;
        assert!(
            arrow
                .corners
                .iter()
                .all(|corner| (corner.0 - first).abs() < 0.1),
            "{:?}",
            arrow.corners
        );
    }
}

#[test]
fn stages_that_need_each_other_are_drawn_in_parts() {
    let nodes = vec![task("a", Some(0)), task("b", Some(1)), task("c", Some(0))];
    let picture = check(&diagram_of(2, nodes, vec![data(0, 1), data(1, 2)]));
    let names: Vec<&str> = picture
        .stages
        .iter()
        .map(|stage| &*stage.heading.name)
        .collect();
    assert_eq!(names, ["stage 0 (1 of 2)", "stage 0 (2 of 2)", "stage 1"]);
    assert_eq!(picture.arrows.len(), 2);
}

#[test]
fn a_fan_of_200_is_neither_a_ribbon_nor_a_tower() {
    let mut nodes: Vec<DiagramNode> = (0..200)
        .map(|number| task(&format!("task[{number}]"), Some(0)))
        .collect();
    nodes.push(task("last", Some(1)));
    let edges = (0..200).map(|number| data(number, 200)).collect();
    let picture = check(&diagram_of(2, nodes, edges));
    let (wide, high) = (picture.width, picture.height);
    assert!(wide < 2000.0 && high < 3000.0, "{wide} x {high}");
}

#[test]
fn a_circle_is_drawn_with_one_arrow_that_goes_up() {
    let nodes = vec![task("a", None), task("b", None), task("c", None)];
    let edges = vec![data(0, 1), data(1, 2), data(2, 0), data(1, 0)];
    let diagram = diagram_of(0, nodes, edges);
    let picture = check(&diagram);
    let mut drawn: Vec<(usize, bool)> = (picture.arrows.iter())
        .map(|arrow| (arrow.edge, arrow.turned))
        .collect();
    drawn.sort_unstable();
    assert_eq!(drawn, [(0, false), (1, false), (2, true), (3, true)]);
    // Down and up between two nodes are two lines.
    let from = |edge: usize| {
        let arrow = picture.arrows.iter().find(|arrow| arrow.edge == edge);
        arrow.unwrap().corners[0].0
    };
    assert!((from(0) - from(3)).abs() > 8.0);
    well_formed(&diagram);
}

#[test]
fn what_points_to_nothing_is_left_out() {
    let mut edges = vec![data(0, 7), data(7, 0), data(0, 0)];
    edges.push(DiagramEdge {
        to: DiagramEnd::Group(9),
        ..data(0, 0)
    });
    let diagram = diagram_of(0, vec![task("only", Some(3))], edges);
    assert!(check(&diagram).arrows.is_empty());
    check(&Diagram::default());
    well_formed(&Diagram::default());
}

/// A small diagram with one of everything.
fn small() -> Diagram {
    let mut diagram = diagram_of(
        2,
        vec![
            DiagramNode {
                kind: NodeKind::Input,
                label: "text".to_owned(),
                operation: Some("file, optional".to_owned()),
                optional: true,
                ..DiagramNode::default()
            },
            DiagramNode {
                tasks: Some(5),
                counts: Some(Tally {
                    executed: 3,
                    failed: 1,
                    ..Tally::default()
                }),
                seconds: Some(1.25),
                ..task("split", Some(0))
            },
            DiagramNode {
                varied: vec!["B".to_owned()],
                ..task("join", Some(1))
            },
            DiagramNode {
                kind: NodeKind::Output,
                label: "joined".to_owned(),
                ..DiagramNode::default()
            },
        ],
        vec![data(1, 2), data(2, 3)],
    );
    diagram.edges.insert(
        0,
        DiagramEdge {
            names: Vec::new(),
            optional: true,
            ..data(0, 1)
        },
    );
    diagram.edges[1].count = Some(5);
    diagram.edges.push(DiagramEdge {
        from: DiagramEnd::Group(0),
        to: DiagramEnd::Group(1),
        kind: EdgeKind::After,
        names: Vec::new(),
        optional: false,
        count: None,
    });
    diagram
}

#[test]
fn a_small_one_for_graphviz() {
    let expected = r##"// made by headwater dag
digraph {
  graph [label="title", labelloc=t, compound=true];
  node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif"];
  edge [fontname="sans-serif", fontsize=10];
  subgraph cluster_0 {
    graph [label="stage 0", style="rounded,filled", fillcolor="#f3f6f8"];
    n1 [label="split\nan/operation\n1 failed, 3 executed, 1 not ended\n1.2 s", color="#d0453d"];
  }
  subgraph cluster_1 {
    graph [label="stage 1\nwait: all", style="rounded,filled", fillcolor="#f3f6f8"];
    n2 [label="join\nan/operation\nvaries B", color="#d8933b"];
  }
  n0 [label="text\nfile, optional", fillcolor="#e4f0fb", color="#6ea3d4", style="rounded,filled,dashed"];
  n3 [label="joined", fillcolor="#e5f4e9", color="#6cb182"];
  n0 -> n1 [style=dashed];
  n1 -> n2 [label="name ×5"];
  n2 -> n3 [label="name"];
  n1 -> n2 [label="after", ltail=cluster_0, lhead=cluster_1, style=dotted];
}
"##;
    assert_eq!(diagram_dot(&small()), expected);
}

#[test]
fn a_small_one_for_mermaid() {
    let expected = r##"flowchart TB
  %% made by headwater dag
  %% title
  subgraph g0["stage 0"]
    n1["split<br>an/operation<br>1 failed, 3 executed, 1 not ended<br>1.2 s"]
  end
  subgraph g1["stage 1<br>wait: all"]
    n2["join<br>an/operation<br>varies B"]
  end
  n0(["text<br>file, optional"])
  n3(["joined"])
  n0 -.-> n1
  n1 -->|"name ×5"| n2
  n2 -->|"name"| n3
  g0 -.->|"after"| g1
  classDef input fill:#e4f0fb,stroke:#6ea3d4,color:#1d2733
  class n0 input
  classDef output fill:#e5f4e9,stroke:#6cb182,color:#1d2733
  class n3 output
  classDef failed stroke:#d0453d,stroke-width:2px
  class n1 failed
  classDef varied stroke:#d8933b,stroke-width:2px
  class n2 varied
"##;
    assert_eq!(diagram_mermaid(&small()), expected);
}

#[test]
fn a_small_one_says_what_it_shows() {
    let svg = diagram_svg(&small());
    let elements = well_formed(&small());
    let of_class = |class: &str| {
        let has = |element: &&markup::Element| {
            let classes = element.attribute("class").unwrap_or_default();
            classes.split(' ').any(|known| known == class)
        };
        elements.iter().filter(has).count()
    };
    assert_eq!(
        (
            of_class("hw-task"),
            of_class("hw-input"),
            of_class("hw-output")
        ),
        (2, 1, 1)
    );
    assert_eq!(
        (
            of_class("hw-arrow"),
            of_class("hw-order"),
            of_class("hw-absent")
        ),
        (4, 1, 1)
    );
    assert_eq!(
        (
            of_class("hw-failing"),
            of_class("hw-varied"),
            of_class("hw-optional")
        ),
        (1, 1, 1)
    );
    for text in [
        "1 failed, 3 executed, 1 not ended",
        "1.2 s",
        "name ×5",
        "varies B",
        "wait: all",
    ] {
        assert!(svg.contains(text), "{text}\n{svg}");
    }
}

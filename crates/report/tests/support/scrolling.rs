//! Tables that are wider than the page.

use crate::markup::{Element, check};

/// Every table stands in a box that a keyboard can scroll and that has a name; where it goes on beyond an edge, a shade
/// stands there, which what scrolls with the table covers at its ends.
pub(crate) fn check_scrolling(name: &str, page: &str) {
    let elements = check(page).expect("well-formed");
    let count = |wanted: &dyn Fn(&Element) -> bool| {
        let found = elements.iter().filter(|element| wanted(element));
        found.count()
    };
    let boxes = count(&|element| {
        element.attribute("class") == Some("wide")
            && element.attribute("role") == Some("region")
            && element.attribute("tabindex") == Some("0")
            && element
                .attribute("aria-label")
                .is_some_and(|label| !label.is_empty())
    });
    assert_eq!(boxes, count(&|element| element.name == "table"), "{name}");
    let style = page.split("</style>").next().unwrap_or_default();
    let rule = style.split("\n.wide {").nth(1).expect("a rule for boxes");
    let rule = rule.split('}').next().unwrap_or_default();
    for side in ["left", "right"] {
        let cover = format!("{side} / 3rem 100% no-repeat local");
        let shade = format!("{side} / .8rem 100% no-repeat scroll");
        assert!(
            rule.contains(&cover) && rule.contains(&shade),
            "{name}: {rule}"
        );
    }
    assert_eq!(
        style.matches("--shade:").count(),
        2,
        "{name}: light and dark"
    );
}

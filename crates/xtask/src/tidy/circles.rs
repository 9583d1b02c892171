//! Which modules of a crate import which.
//!
//! Law: the top-level modules of a crate can be put in an order in which each imports only from those before it, so
//! that a reader can begin at the bottom. Everything inside a folder counts as the module that has the folder. Tests
//! may import what they like. A name that the root of the crate imports (`crate::Name`) counts as the module that it
//! comes from; what the root itself defines belongs to no module.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Problem;
use crate::code::{Token, tokens};
use crate::workspace::{SourceFile, Workspace};

/// The circles of all crates.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut crates: BTreeMap<&str, Vec<Source<'_>>> = BTreeMap::new();
    for file in workspace.rust_files() {
        if let Some((folder, rest)) = file.in_crate()
            && let Some(path) = rest.strip_prefix("src/")
            // Each program there is a crate of its own.
            && !path.starts_with("bin/")
        {
            crates
                .entry(folder)
                .or_default()
                .push(Source::new(file, path));
        }
    }
    let found = |(folder, sources): (&&str, &Vec<Source<'_>>)| circles(folder, sources);
    crates.iter().flat_map(found).collect()
}

/// A source file of a crate.
struct Source<'a> {
    file: &'a SourceFile,
    /// The module that it is; the root of the crate has no names.
    module: Vec<&'a str>,
    /// What is not for tests alone.
    tokens: Vec<Token<'a>>,
    /// The modules below it that are for tests alone.
    tests: Vec<&'a str>,
}

impl<'a> Source<'a> {
    /// Reads a file, whose path begins in `src`.
    fn new(file: &'a SourceFile, path: &'a str) -> Self {
        let mut module: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
        if module.last() == Some(&"mod") || matches!(module[..], ["lib" | "main"]) {
            module.pop();
        }
        let (tokens, tests) = without_tests(&tokens(&file.text));
        Source {
            file,
            module,
            tokens,
            tests,
        }
    }
}

/// The tokens without items under `#[cfg(test)]`, and the names of the modules among these.
fn without_tests<'a>(tokens: &[Token<'a>]) -> (Vec<Token<'a>>, Vec<&'a str>) {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut rest = tokens;
    while let Some((first, after)) = rest.split_first() {
        let is_test = rest.len() >= TEST.len()
            && rest
                .iter()
                .zip(TEST)
                .all(|(token, sign)| token.text == sign);
        if is_test {
            let (item, after) = rest.split_at(end_of_item(rest));
            let words = item.windows(2);
            let declared = words.filter(|words| words[0].text == "mod");
            modules.extend(declared.map(|words| words[1].text).next());
            rest = after;
        } else {
            kept.push(*first);
            rest = after;
        }
    }
    (kept, modules)
}

/// How many tokens an item has, from its first attribute on: it ends with `;` or, unless it is an import, with the
/// brace that closes its body.
fn end_of_item(tokens: &[Token<'_>]) -> usize {
    let (mut depth, mut is_import) = (0_usize, false);
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "use" if depth == 0 => is_import = true,
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_end = match token.text {
            ";" => true,
            "}" => !is_import,
            _ => false,
        };
        if is_end && depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// A place where one module imports from another.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a SourceFile,
    line: usize,
}

/// For each module, those that it imports from, and where it does so first.
type Imports<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Place<'a>>>;

/// One circle for each group of modules that all lead to each other.
fn circles(folder: &str, sources: &[Source<'_>]) -> Vec<Problem> {
    let imports = imports(sources);
    let mut problems = Vec::new();
    let mut told = BTreeSet::new();
    for start in imports.keys() {
        let Some(circle) = way_back(&imports, start) else {
            continue;
        };
        if circle.iter().any(|module| told.contains(module)) {
            continue;
        }
        told.extend(group(&imports, start));
        let place = imports[start][circle[1]];
        let shown: Vec<String> = circle.iter().map(|module| format!("`{module}`")).collect();
        problems.push(Problem::new(
            &place.file.path,
            place.line,
            format!(
                "modules of the crate `{folder}` import each other in a circle: {}",
                shown.join(" → ")
            ),
            "move what two of them share into the lower one or a module of its own, or what uses several of them into one above",
        ));
    }
    problems
}

/// The shortest way from a module back to itself, with it at both ends.
fn way_back<'a>(imports: &Imports<'a>, start: &'a str) -> Option<Vec<&'a str>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(module) = waiting.pop_front() {
        for next in imports.get(module).into_iter().flat_map(BTreeMap::keys) {
            if *next == start {
                let mut way = vec![start, module];
                while let Some(earlier) = way.last().and_then(|module| before.get(module)) {
                    way.push(earlier);
                }
                way.reverse();
                return Some(way);
            }
            if !before.contains_key(next) {
                before.insert(next, module);
                waiting.push_back(next);
            }
        }
    }
    None
}

/// The modules that a module leads to and that lead back to it.
fn group<'a>(imports: &Imports<'a>, start: &'a str) -> BTreeSet<&'a str> {
    let ahead = reached(imports, start);
    let leads_back = |module: &&str| reached(imports, module).contains(start);
    ahead.into_iter().filter(leads_back).collect()
}

/// The modules that a module leads to.
fn reached<'a>(imports: &Imports<'a>, start: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![start];
    while let Some(module) = waiting.pop() {
        for next in imports.get(module).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(*next) {
                waiting.push(next);
            }
        }
    }
    found
}

/// What the modules of a crate import from each other.
fn imports<'a>(sources: &[Source<'a>]) -> Imports<'a> {
    let roots = || sources.iter().filter(|source| source.module.is_empty());
    let modules: BTreeSet<&str> = roots()
        .flat_map(|root| declared(&root.tokens))
        .map(|token| token.text)
        .collect();
    let mut homes: BTreeMap<&str, &str> = modules.iter().map(|name| (*name, *name)).collect();
    for root in roots() {
        for (name, module) in imported(&root.tokens) {
            if modules.contains(module) {
                homes.entry(name).or_insert(module);
            }
        }
    }
    let is_test = |source: &Source<'_>| {
        sources.iter().any(|other| {
            let below = source.module.strip_prefix(&other.module[..]);
            below.is_some_and(|below| below.first().is_some_and(|name| other.tests.contains(name)))
        })
    };
    let mut imports = Imports::new();
    for source in sources {
        let Some(own) = source.module.first().filter(|own| modules.contains(*own)) else {
            continue;
        };
        if is_test(source) {
            continue;
        }
        for name in from_root(source) {
            if let Some(module) = homes.get(name.text).filter(|module| *module != own) {
                let place = Place {
                    file: source.file,
                    line: name.line,
                };
                let of_own = imports.entry(*own).or_default();
                of_own.entry(*module).or_insert(place);
            }
        }
    }
    imports
}

/// The modules that a root declares to be in files of their own.
fn declared<'a>(tokens: &[Token<'a>]) -> impl Iterator<Item = Token<'a>> {
    let three = tokens.windows(3);
    let found = three.filter(|three| three[0].text == "mod" && three[2].text == ";");
    found.map(|three| three[1])
}

/// The names that a root imports from modules, each with the module.
fn imported<'a>(tokens: &[Token<'a>]) -> Vec<(&'a str, &'a str)> {
    let mut names = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.text != "use" {
            continue;
        }
        let mut path = &tokens[index + 1..];
        while let [start, sign, rest @ ..] = path
            && matches!(start.text, "crate" | "self")
            && sign.text == "::"
        {
            path = rest;
        }
        let Some(module) = path.first() else {
            continue;
        };
        let end = path.iter().position(|token| token.text == ";");
        let path = &path[1..end.unwrap_or(path.len())];
        for (index, name) in path.iter().enumerate() {
            let next = path.get(index + 1).map(|token| token.text);
            // The last word of each path is the name that it goes by.
            if matches!(next, None | Some("," | "}")) {
                names.push((name.text, module.text));
            }
        }
    }
    names
}

/// The first names of all paths in a file that begin at the root of the crate: after `crate::`, and after as many
/// `super::` as lead there.
fn from_root<'a>(source: &Source<'a>) -> Vec<Token<'a>> {
    let tokens = &source.tokens;
    let text = |index: usize| tokens.get(index).map(|token| token.text);
    let mut names = Vec::new();
    // Modules inside the file, by how many braces are open around them.
    let (mut inside, mut depth) = (Vec::new(), 0_usize);
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let mut at_root = false;
        match token.text {
            "{" => {
                depth += 1;
                if index >= 2 && text(index - 2) == Some("mod") {
                    inside.push(depth);
                }
            }
            "}" => {
                if inside.last() == Some(&depth) {
                    inside.pop();
                }
                depth = depth.saturating_sub(1);
            }
            "crate" => at_root = text(index + 1) == Some("::"),
            "super" => {
                let mut up = 1;
                while text(index + 1) == Some("::") && text(index + 2) == Some("super") {
                    index += 2;
                    up += 1;
                }
                at_root = text(index + 1) == Some("::") && up == source.module.len() + inside.len();
            }
            _ => {}
        }
        index += 1;
        if at_root {
            names.extend(first_names(&tokens[index + 1..]));
        }
    }
    names
}

/// The name at the beginning, or those of all paths in the group there.
fn first_names<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let Some((first, rest)) = tokens.split_first() else {
        return Vec::new();
    };
    if first.text != "{" {
        return vec![*first];
    }
    let (mut depth, mut at_start) = (1_usize, true);
    let mut names = Vec::new();
    for token in rest {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => at_start = true,
            _ if at_start => {
                at_start = false;
                names.push(*token);
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::example::{self, expect};
    use super::check;

    const ROOT: (&str, &str) = (
        "crates/x/src/lib.rs",
        "mod a;\nmod b;\nmod c;\npub use a::Apple;\npub use b::{Bean as Broad, inner::Berry};\nuse c::Cherry;",
    );

    /// A crate of these three modules.
    #[track_caller]
    fn crate_of(a: &str, b: &str, c: &str, expected: &[&str]) {
        let files = [
            ROOT,
            ("crates/x/src/a.rs", a),
            ("crates/x/src/b.rs", b),
            ("crates/x/src/c.rs", c),
        ];
        expect(&check(&example::files(&files)), expected);
    }

    const BOTH: &str = "crates/x/src/a.rs:1: modules of the crate `x` import each other in a circle: `a` → `b` → `a`; move what";

    #[test]
    fn imports_in_one_direction_are_clean() {
        crate_of("", "use crate::a::Apple;", "use crate::{Broad, a};", &[]);
        crate_of("use std::a; use crate::a::x;", "use crate::{a}", "", &[]);
    }

    #[test]
    fn two_modules_that_import_each_other_are_found_in_every_form() {
        for a in [
            "use crate::b::Bean;",
            "use crate::{c, b};",
            "use crate::{c::{d, e}, b::{f}};",
            "fn f() { crate::b::g(); }",
            "use super::b::Bean;",
            "use super::{c, b};",
            "mod inner { use super::super::b; }",
            "mod inner { mod far { use super::super::super::b; } } fn f() {}",
            "fn f() {} mod inner {} use super::b;",
        ] {
            crate_of(a, "use crate::a::Apple;", "", &[BOTH]);
        }
    }

    #[test]
    fn a_name_of_the_root_counts_as_the_module_it_comes_from() {
        for a in ["use crate::Broad;", "use crate::{Berry, Cherry};"] {
            crate_of(a, "use super::Apple;", "", &[BOTH]);
        }
        crate_of("use crate::Bean;", "use crate::Apple;", "", &[]);
    }

    #[test]
    fn a_circle_of_three_is_shown_once_and_where_it_begins() {
        crate_of(
            "\nuse crate::b;",
            "use crate::Cherry;",
            "use crate::a;",
            &[
                "crates/x/src/a.rs:2: modules of the crate `x` import each other in a circle: `a` → `b` → `c` → `a`",
            ],
        );
        // Two circles that share a module are one knot.
        crate_of(
            "use crate::b;",
            "use crate::{a, c};",
            "use crate::b;",
            &[BOTH],
        );
    }

    #[test]
    fn tests_and_comments_do_not_count() {
        for a in [
            "// use crate::b;\n/// [`crate::b`]\nconst A: &str = \"crate::b\";",
            "#[cfg(test)]\nmod tests {\n    use crate::b;\n    fn f() { g() }\n}",
            "#[cfg(test)]\n#[allow(unused)]\nuse crate::b::{c, d};",
            "#[cfg(test)]\nfn f() { crate::b::g(); }",
        ] {
            crate_of(a, "use crate::a;", "", &[]);
        }
        crate_of(
            "#[cfg(test)] use crate::c; use crate::b;",
            "use crate::a;",
            "",
            &[BOTH],
        );
    }

    #[test]
    fn a_folder_counts_as_its_module_and_files_of_tests_do_not() {
        let with = |a: &str, below: &str, expected: &[&str]| {
            let files = [
                ROOT,
                ("crates/x/src/a.rs", a),
                ("crates/x/src/a/below.rs", below),
                ("crates/x/src/b.rs", "use crate::a;"),
            ];
            expect(&check(&example::files(&files)), expected);
        };
        let found = "crates/x/src/a/below.rs:1: modules of the crate `x`";
        with("mod below;", "use crate::b;", &[found]);
        with("mod below;", "use super::super::b;", &[found]);
        with("mod below;", "use super::b;", &[]);
        with("#[cfg(test)]\nmod below;", "use crate::b;", &[]);
    }

    #[test]
    fn a_module_may_lead_to_a_circle_without_being_in_it() {
        crate_of(
            "use crate::b;",
            "use crate::c;",
            "use crate::b;",
            &[
                "crates/x/src/b.rs:1: modules of the crate `x` import each other in a circle: `b` → `c` → `b`",
            ],
        );
    }

    #[test]
    fn programs_of_a_crate_are_crates_of_their_own() {
        let files = [
            ROOT,
            ("crates/x/src/a.rs", "use crate::b;"),
            ("crates/x/src/b.rs", ""),
            ("crates/x/src/bin/b.rs", "use crate::a;"),
        ];
        expect(&check(&example::files(&files)), &[]);
    }
}

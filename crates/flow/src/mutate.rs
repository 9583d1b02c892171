//! Mutated files, for finding input that breaks the readers.
//!
//! Law: a seed gives the same text on every machine. [`exercise`] panics if a law of this crate is broken,
//! so a loop over seeds is a test of all of them.

use std::sync::Arc;

use headwater_graph::{
    Codec, Diagnostic, Operation, OperationError, Registry, Scalar, ScalarType, Signature, Span,
    Type, Value,
};

use crate::{
    DataFormat, Read, StudyText, read_data, read_descriptor, read_programs, read_study,
    read_study_with, read_workflow, render, resolve, write_data,
};

/// Files that mutation starts from.
pub const CORPUS: [&str; 10] = [
    include_str!("../fixtures/full.yaml"),
    include_str!("../fixtures/text.json"),
    include_str!("../fixtures/anchors.yaml"),
    include_str!("../fixtures/mistakes.yaml"),
    include_str!("../fixtures/columns.yaml"),
    include_str!("../fixtures/rows.yaml"),
    include_str!("../fixtures/rows.csv"),
    include_str!("../fixtures/study.yaml"),
    include_str!("../fixtures/segmentation.json"),
    include_str!("../fixtures/programs.yaml"),
];

/// Pieces of text that mean something somewhere.
const TOKENS: &[&str] = &[
    ":",
    ": ",
    "- ",
    "-",
    "?",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "#",
    " #",
    "&a ",
    "*a",
    "!x ",
    "!!str ",
    "|",
    ">",
    "|2\n",
    "'",
    "\"",
    "%",
    "@",
    "`",
    "---",
    "...",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "  ",
    "\0",
    "\u{feff}",
    "\u{1b}[31m",
    "null",
    "~",
    "true",
    "0x1f",
    ".inf",
    ".nan",
    "1e999",
    "99999999999999999999",
    "-1",
    "0",
    "$B",
    "$$",
    "${x}",
    "{in.image}",
    "{out.",
    "{{",
    "}}",
    "{threads}",
    "cross(",
    "dot(a, b)",
    "list of ",
    "headwater",
    "workflow",
    "inputs",
    "stages",
    "tasks",
    "operations",
    "outputs",
    "parameters",
    "wait",
    "iterate",
    "rows",
    "study",
    "objective",
    "method",
    "moat",
    "vbd",
    "two-phase",
    "table",
    "range",
    "values",
    "step: none",
    "dr_args",
    "intertask_args",
    "forward",
    "output",
    "<<",
    "\\",
    "\\u",
    "\\x",
    "é",
    "𝄞",
    "\u{202e}",
    "e\u{301}",
    "漢字",
    "\u{85}",
    "\u{2028}",
    "../",
    "/",
    "**",
];

/// A small generator of random numbers: SplitMix64.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// The text that belongs to a seed.
pub fn mutated(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = CORPUS[random.below(CORPUS.len())].as_bytes().to_vec();
    for _ in 0..=random.below(6) {
        mutate(&mut text, &mut random);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(text.len() + 1);
    let length = random.below(40).min(text.len() - at);
    match random.below(10) {
        0 => {
            if let Some(byte) = text.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => drop(text.drain(at..at + length)),
        2 => {
            let piece = text[at..at + length].to_vec();
            let to = random.below(text.len() + 1);
            text.splice(to..to, piece);
        }
        3 => {
            let other = CORPUS[random.below(CORPUS.len())].as_bytes();
            let from = random.below(other.len());
            let end = (from + random.below(200)).min(other.len());
            text.splice(at..at + length, other[from..end].iter().copied());
        }
        4 | 5 => {
            let token = TOKENS[random.below(TOKENS.len())];
            text.splice(at..at, token.bytes());
        }
        6 => {
            let token = TOKENS[random.below(TOKENS.len())];
            text.splice(at..at + length, token.bytes());
        }
        7 => swap_words(text, random),
        8 => text.truncate(at),
        _ => {
            let sign = char::from_u32(random.below(0x11_0000) as u32).unwrap_or('\u{fffd}');
            text.splice(at..at, sign.to_string().into_bytes());
        }
    }
}

/// Exchanges two words.
fn swap_words(text: &mut Vec<u8>, random: &mut Random) {
    let mut words = Vec::new();
    let mut start = None;
    for (at, byte) in text.iter().enumerate() {
        match (byte.is_ascii_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(begin)) => {
                words.push((begin, at));
                start = None;
            }
            _ => {}
        }
    }
    if words.len() < 2 {
        return;
    }
    let (one, two) = (random.below(words.len()), random.below(words.len()));
    let (first, second) = (words[one.min(two)], words[one.max(two)]);
    if first == second {
        return;
    }
    let early = text[first.0..first.1].to_vec();
    let late = text[second.0..second.1].to_vec();
    text.splice(second.0..second.1, early);
    text.splice(first.0..first.1, late);
}

/// Gives a text to every reader and holds what comes back against the laws; panics if one is broken.
pub fn exercise(text: &str, registry: &Registry) {
    let workflow = read_workflow(text, registry);
    hold(&workflow, text);
    let descriptor = read_descriptor(text, registry);
    hold(&descriptor, text);
    let programs = read_programs(text, registry);
    hold(&programs, text);
    let study = read_study(text);
    hold(&study, text);
    if let Some(study) = &study.value {
        let known = read_workflow(CORPUS[0], registry);
        let names = study.parameters.overrides();
        let columns: Vec<Arc<str>> = names.iter().map(|one| one.name.value.clone()).collect();
        if let Some(known) = &known.value {
            let resolved = resolve(study, &known.workflow, &columns);
            hold(&resolved, text);
        }
    }
    exercise_settings(text);
    for format in [DataFormat::Yaml, DataFormat::Csv] {
        let data = read_data(text, format);
        hold(&data, text);
        if let Some(file) = &data.value {
            let written = write_data(file);
            let again = read_data(&written, DataFormat::Yaml);
            let Some(read) = &again.value else {
                panic!(
                    "what was written cannot be read: {:?}\n{written}",
                    again.diagnostics
                );
            };
            assert_eq!(write_data(read), written, "written twice, the data differ");
        }
    }
}

/// Settings that a text is changed by.
const SETTINGS: [&str; 6] = [
    "method.vbd.samples=64",
    "until={ci: 0.1}",
    "parameters.B.value=220",
    "inputs.\"a.b\"=[a.png, ä]",
    "seed",
    "a.ü.[=*x",
];

/// A text as a setting, and settings of a text.
fn exercise_settings(text: &str) {
    let line = text.lines().max_by_key(|line| line.len()).unwrap_or("");
    let chosen = SETTINGS[text.len() % SETTINGS.len()];
    for study in [
        StudyText::new(text, &[chosen]),
        StudyText::new(CORPUS[7], &[text, chosen, line]),
    ] {
        let read = read_study_with(&study);
        hold(&read, study.whole());
        let parts = study.sort(read.diagnostics.clone());
        let count: usize = parts.iter().map(|part| part.diagnostics.len()).sum();
        assert_eq!(count, read.diagnostics.len(), "each is in one part");
        for part in parts {
            let errors = part.diagnostics.iter().any(Diagnostic::is_error);
            let alone = Read {
                value: (!errors).then_some(()),
                diagnostics: part.diagnostics,
            };
            hold(&alone, &part.text);
        }
    }
}

fn hold<T>(read: &Read<T>, text: &str) {
    assert_eq!(
        read.value.is_none(),
        read.has_errors(),
        "a value if and only if there are no errors"
    );
    let mut last = Span::default();
    for Diagnostic {
        span,
        message,
        hint,
        ..
    } in &read.diagnostics
    {
        let span = span.unwrap_or(last);
        assert!(last.start <= span.start, "sorted by position");
        assert!(
            text.get(span.start..span.end).is_some(),
            "the span is in the text: {message}"
        );
        assert!(!message.is_empty() && !message.ends_with('.'), "{message}");
        assert!(
            hint.as_ref().is_none_or(|hint| !hint.is_empty()),
            "{message}"
        );
        last = span;
    }
    let shown = render(&read.diagnostics, "file.yaml", text, false);
    assert!(
        shown.chars().all(|sign| sign == '\n' || !sign.is_control()),
        "no control characters"
    );
    assert_eq!(shown.is_empty(), read.diagnostics.is_empty());
}

/// A registry with a few operations and a codec, as the files of [`CORPUS`] use them.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    let normalize = Signature::new("normalize", "1")
        .input("image", Type::Image)
        .output("image", Type::Image);
    let segment = Signature::new("segment", "1")
        .input("image", Type::Image)
        .output("mask", Type::Image)
        .parameter("blue", ScalarType::Int, None)
        .parameter("t1", ScalarType::Float, None)
        .parameter("mode", ScalarType::Text, None)
        .parameter("deep", ScalarType::Bool, Some(Scalar::Bool(false)));
    for signature in [normalize, segment] {
        let run = |_: &[Value], _: &[Scalar], _: &mut headwater_graph::Context| {
            Err(OperationError::Failed(
                "this operation only has a signature".to_owned(),
            ))
        };
        let operation = Operation::native(signature, run);
        let _ = registry.register(Some("imaging"), operation);
    }
    for value_type in [Type::Image, Type::Opaque("mesh".into())] {
        let _ = registry.register_codec(Codec {
            library: "imaging".into(),
            version: "1".into(),
            value_type,
            extensions: vec!["png".into()],
            decode: Arc::new(|_| Ok(Value::Null)),
            encode: Arc::new(|_| Ok(Vec::new())),
        });
    }
    registry
}

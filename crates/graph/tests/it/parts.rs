//! What a version stands for: parts that people can read, and that miss nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{
    Collect, CommandInput, CommandOutput, CommandTemplate, Digest, Invocation, Part, Placeholder,
    Port, Signature, Text, Threads, Type, UsedFile,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

#[derive(Debug, Clone)]
struct Case {
    template: CommandTemplate,
    signature: Signature,
    tool: Option<String>,
}

impl Case {
    fn version(&self) -> Arc<str> {
        self.template
            .version_for(&self.signature, self.tool.as_deref())
    }

    fn parts(&self) -> Vec<(String, String)> {
        self.template
            .version_parts(&self.signature, self.tool.as_deref())
    }
}

/// Few letters, so that different cases often nearly agree.
const LITERAL: &str = r#"[a "{}\n]{1,2}|\{in\.a\}|\{threads\}"#;

fn text() -> impl Strategy<Value = Text> {
    let name = || "[ab]".prop_map(Arc::from);
    let placeholder = prop_oneof![
        name().prop_map(Placeholder::Input),
        name().prop_map(Placeholder::ListFile),
        name().prop_map(Placeholder::Output),
        name().prop_map(Placeholder::Parameter),
        Just(Placeholder::Threads),
    ];
    let part = prop_oneof![
        LITERAL.prop_map(|text| Part::Literal(text.into())),
        placeholder.prop_map(Part::Placeholder),
    ];
    // A text that was read has no two literals beside each other.
    vec(part, 0..4).prop_map(|parts| {
        let mut text: Vec<Part> = Vec::new();
        for part in parts {
            let both = matches!(
                (text.last(), &part),
                (Some(Part::Literal(_)), Part::Literal(_))
            );
            if !both {
                text.push(part);
            }
        }
        Text(text)
    })
}

fn port_type() -> impl Strategy<Value = Type> {
    prop_oneof![Just(Type::File), Just(Type::Int), Just(Type::File.list())]
}

fn name() -> impl Strategy<Value = Arc<str>> {
    "[ab]".prop_map(Arc::from)
}

fn template() -> impl Strategy<Value = CommandTemplate> {
    let invocation = prop_oneof![
        vec(text(), 0..3).prop_map(Invocation::Arguments),
        text().prop_map(Invocation::Shell),
    ];
    let extension = proptest::option::of("[ab]".prop_map(Arc::from));
    let inputs = btree_map(
        name(),
        extension.prop_map(|extension| CommandInput { extension }),
        0..3,
    );
    let collect = prop_oneof![
        text().prop_map(Collect::Path),
        "[a*{]{1,2}".prop_map(|glob| Collect::Glob(glob.into())),
    ];
    let output =
        (collect, port_type(), any::<bool>()).prop_map(|(collect, output_type, optional)| {
            CommandOutput {
                collect,
                output_type,
                optional,
            }
        });
    let used = btree_map("[ab]", (0u8..2, any::<bool>()), 0..3).prop_map(|files| {
        let file = |(name, (contents, executable)): (String, (u8, bool))| UsedFile {
            path: std::path::Path::new(&name).into(),
            name: name.into(),
            digest: Digest::of(&[contents]),
            executable,
        };
        files.into_iter().map(file).collect::<Vec<_>>()
    });
    let maybe = || proptest::option::of(text());
    (
        invocation,
        inputs,
        btree_map(name(), output, 0..3),
        btree_map(name(), text(), 0..3),
        (maybe(), maybe(), maybe()),
        used,
    )
        .prop_map(
            |(invocation, inputs, outputs, environment, (stdin, stdout, stderr), used_files)| {
                CommandTemplate {
                    invocation,
                    inputs,
                    outputs,
                    environment,
                    threads: Threads::Allowance,
                    stdin,
                    stdout,
                    stderr,
                    version: None,
                    uses: Vec::new(),
                    used_files,
                }
            },
        )
}

fn case() -> impl Strategy<Value = Case> {
    let ports = btree_map(name(), (port_type(), any::<bool>(), any::<bool>()), 0..3);
    let tool = proptest::option::of("[ab]{0,2}");
    (template(), ports, tool).prop_map(|(template, ports, tool)| {
        let mut signature = Signature::new("tool", "");
        signature.inputs = ports
            .into_iter()
            .map(|(name, (port_type, optional, keep_name))| Port {
                optional,
                keep_name,
                ..Port::new(&name, port_type)
            })
            .collect();
        Case {
            template,
            signature,
            tool,
        }
    })
}

/// Takes each field from one of two cases, so that the results differ in little.
fn mixed(one: &Case, other: &Case, choice: &[bool]) -> Case {
    let mut case = one.clone();
    let (to, from) = (&mut case.template, &other.template);
    if choice[0] {
        to.invocation.clone_from(&from.invocation);
    }
    if choice[1] {
        to.inputs.clone_from(&from.inputs);
    }
    if choice[2] {
        to.outputs.clone_from(&from.outputs);
    }
    if choice[3] {
        to.environment.clone_from(&from.environment);
    }
    if choice[4] {
        to.stdin.clone_from(&from.stdin);
    }
    if choice[5] {
        to.stdout.clone_from(&from.stdout);
    }
    if choice[6] {
        to.stderr.clone_from(&from.stderr);
    }
    if choice[7] {
        to.used_files.clone_from(&from.used_files);
    }
    if choice[8] {
        case.signature.clone_from(&other.signature);
    }
    if choice[9] {
        case.tool.clone_from(&other.tool);
    }
    case
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn different_versions_differ_in_a_part(
        one in case(),
        other in case(),
        rare in vec(proptest::bool::weighted(0.15), 10),
    ) {
        let changed = mixed(&one, &other, &rare);
        if one.version() == changed.version() {
            prop_assert_eq!(one.parts(), changed.parts());
        } else {
            prop_assert_ne!(one.parts(), changed.parts());
        }
        let labels: std::collections::BTreeSet<_> =
            one.parts().into_iter().map(|(label, _)| label).collect();
        prop_assert_eq!(labels.len(), one.parts().len(), "a label stands once");
    }
}

#[test]
fn parts_are_what_people_wrote() {
    let literal = |text: &str| Part::Literal(text.into());
    let template = CommandTemplate {
        invocation: Invocation::Arguments(vec![
            Text(vec![literal("awk")]),
            Text(vec![literal("{ print }")]),
            Text(vec![
                literal("--by="),
                Part::Placeholder(Placeholder::Parameter("by".into())),
            ]),
            Text(vec![Part::Placeholder(Placeholder::Input("image".into()))]),
        ]),
        inputs: BTreeMap::from([(
            "image".into(),
            CommandInput {
                extension: Some("png".into()),
            },
        )]),
        outputs: BTreeMap::from([(
            "text".into(),
            CommandOutput {
                collect: Collect::Path(Text(vec![literal("out.txt")])),
                output_type: Type::File,
                optional: true,
            },
        )]),
        environment: BTreeMap::from([("LANG".into(), Text(vec![literal("C")]))]),
        threads: Threads::Allowance,
        stdin: None,
        stdout: Some(Text(vec![literal("out.txt")])),
        stderr: None,
        version: None,
        uses: Vec::new(),
        used_files: vec![UsedFile {
            name: "a.sh".into(),
            path: std::path::Path::new("a.sh").into(),
            digest: Digest::of(b""),
            executable: true,
        }],
    };
    let mut signature = Signature::new("tool", "").input("image", Type::File);
    signature.pure = false;
    let parts = template.version_parts(&signature, Some("2.0\n"));
    let parts: Vec<(&str, &str)> = parts
        .iter()
        .map(|(label, text)| (label.as_str(), text.as_str()))
        .collect();
    let program = format!("{}, executable", Digest::of(b"").hex());
    assert_eq!(
        parts,
        [
            ("command", "awk\n{{ print }}\n--by={param.by}\n{in.image}"),
            ("stdout", "out.txt"),
            ("env LANG", "C"),
            ("tool", "2.0\n"),
            ("uses a.sh", &program),
            ("input image", "file, extension png"),
            ("output text", "file, optional, path out.txt"),
            ("pure", "false"),
        ]
    );
}

#[test]
fn a_script_reads_as_it_was_written() {
    let shell = |parts: Vec<Part>| {
        let template = CommandTemplate {
            invocation: Invocation::Shell(Text(parts)),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            environment: BTreeMap::new(),
            threads: Threads::Allowance,
            stdin: None,
            stdout: None,
            stderr: None,
            version: None,
            uses: Vec::new(),
            used_files: Vec::new(),
        };
        template.version_parts(&Signature::new("tool", ""), None)
    };
    let literal = |text: &str| Part::Literal(text.into());
    let input = || Part::Placeholder(Placeholder::Input("a".into()));
    let pair = |label: &str, text: &str| vec![(label.to_owned(), text.to_owned())];
    assert_eq!(
        shell(vec![literal("echo ${X} "), input()]),
        pair("shell", "echo ${X} {in.a}")
    );
    assert_eq!(
        shell(vec![literal("echo {in.a} "), input()]),
        pair("shell (braces doubled)", "echo {{in.a}} {in.a}")
    );
}

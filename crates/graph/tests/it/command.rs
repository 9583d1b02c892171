//! Commands: the version of a program covers everything that may change what it does, and nothing else.

use std::collections::BTreeMap;

use headwater_graph::{
    Collect, CommandInput, CommandOutput, CommandTemplate, Digest, Invocation, Part, Placeholder,
    Signature, Text, Threads, Type, UsedFile, VersionSource,
};

fn literal(text: &str) -> Text {
    Text(vec![Part::Literal(text.into())])
}

fn template() -> CommandTemplate {
    let placeholder = |placeholder| Text(vec![Part::Placeholder(placeholder)]);
    CommandTemplate {
        invocation: Invocation::Arguments(vec![
            literal("tool"),
            placeholder(Placeholder::Input("image".into())),
            placeholder(Placeholder::Threads),
        ]),
        inputs: BTreeMap::from([(
            "image".into(),
            CommandInput {
                extension: Some("png".into()),
            },
        )]),
        outputs: BTreeMap::from([(
            "image".into(),
            CommandOutput {
                collect: Collect::Path(literal("out.png")),
                output_type: Type::File,
                optional: false,
            },
        )]),
        environment: BTreeMap::new(),
        threads: Threads::Allowance,
        stdin: None,
        stdout: None,
        stderr: None,
        version: None,
        uses: Vec::new(),
        used_files: Vec::new(),
    }
}

#[test]
fn what_changes_the_version_of_a_command() {
    let base = template().version(None);
    assert!(base.starts_with("command-"));
    let check = |what: &str, change: &dyn Fn(&mut CommandTemplate)| {
        let mut changed = template();
        change(&mut changed);
        assert_ne!(changed.version(None), base, "{what}");
    };
    check("an argument", &|t| {
        t.invocation = Invocation::Arguments(vec![literal("tool2")]);
    });
    check("a shell", &|t| {
        t.invocation = Invocation::Shell(literal("tool"));
    });
    check("a placeholder of the same name", &|t| {
        let Invocation::Arguments(arguments) = &mut t.invocation else {
            return;
        };
        arguments[1] = Text(vec![Part::Placeholder(Placeholder::Output("image".into()))]);
    });
    check("an extension", &|t| {
        t.inputs.get_mut("image").unwrap().extension = None;
    });
    check("a path", &|t| {
        t.outputs.get_mut("image").unwrap().collect = Collect::Path(literal("b.png"));
    });
    check("a glob", &|t| {
        t.outputs.get_mut("image").unwrap().collect = Collect::Glob("out.png".into());
    });
    check("an output type", &|t| {
        t.outputs.get_mut("image").unwrap().output_type = Type::File.list();
    });
    check("an optional output", &|t| {
        t.outputs.get_mut("image").unwrap().optional = true;
    });
    check("the environment", &|t| {
        t.environment.insert("A".into(), literal("1"));
    });
    check("stdin", &|t| t.stdin = Some(literal("x")));
    check("stdout", &|t| t.stdout = Some(literal("x")));
    check("stderr", &|t| t.stderr = Some(literal("x")));
    let used = |executable| UsedFile {
        name: "s.sh".into(),
        path: std::path::Path::new("s.sh").into(),
        digest: Digest::of(b"x"),
        executable,
    };
    check("a used file", &|t| t.used_files = vec![used(false)]);
    let (mut data, mut program) = (template(), template());
    data.used_files = vec![used(false)];
    program.used_files = vec![used(true)];
    assert_ne!(data.version(None), program.version(None));
    assert_ne!(template().version(Some("2.0")), base);
}

#[test]
fn what_does_not_change_it() {
    let base = template().version(None);
    let mut same = template();
    // Where the version comes from is not the version; patterns count by the files they stand for.
    same.version = Some(VersionSource::Command(vec![
        "tool".into(),
        "--version".into(),
    ]));
    same.uses = vec!["scripts/**".into()];
    // How many threads a program starts is no part of what it computes.
    same.threads = Threads::Inherit;
    assert_eq!(same.version(None), base);
}

/// Where bytes lie is no part of what they are.
#[test]
fn keeping_an_output_changes_no_version() {
    let signature = || {
        Signature::new("tool", "")
            .input("image", Type::File)
            .output("image", Type::File)
    };
    let version = |signature: &Signature| template().version_for(signature, Some("2.0"));
    let base = version(&signature());
    for keep in [true, false] {
        let said = signature().keep("image", keep);
        assert_eq!(said.outputs[0].keep, Some(keep));
        assert_eq!(version(&said), base);
    }
    let mut another = signature();
    another.inputs[0].optional = true;
    assert_ne!(version(&another), base);
}

/// Cutting the same characters into arguments differently is another command.
#[test]
fn arguments_do_not_run_into_each_other() {
    let version = |arguments: &[&str]| {
        let mut changed = template();
        changed.invocation =
            Invocation::Arguments(arguments.iter().map(|text| literal(text)).collect());
        changed.version(None)
    };
    assert_ne!(version(&["a", "bc"]), version(&["ab", "c"]));
    assert_ne!(version(&["a", "b"]), version(&["a", "b", ""]));
}

#[test]
fn a_placeholder_alone() {
    let only = Text(vec![Part::Placeholder(Placeholder::Input("x".into()))]);
    assert_eq!(
        only.only_placeholder(),
        Some(&Placeholder::Input("x".into()))
    );
    let mixed = Text(vec![
        Part::Literal("--x=".into()),
        Part::Placeholder(Placeholder::Input("x".into())),
    ]);
    assert_eq!(mixed.only_placeholder(), None);
    assert_eq!(mixed.placeholders().count(), 1);
}

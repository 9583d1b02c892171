//! Programs are told how many cores they have, in the variables that libraries read.

use std::path::Path;

use crate::place::{Place, Ran, read};

/// One task that tells its allowance, and one that says what it wants itself.
const FLOW: &str = r#"
headwater: 1
workflow: threads
stages:
  all:
    tasks:
      - {op: plain, out: {said: plain}}
      - {op: own, out: {said: own}}
outputs: {plain: plain, own: own}
operations:
  plain:
    shell: |
      for name in OMP_NUM OPENBLAS_NUM MKL_NUM BLIS_NUM NUMEXPR_NUM VECLIB_MAXIMUM RAYON_NUM JULIA_NUM; do
        printenv ${name}_THREADS || echo none
      done > {out.said}
      echo ${GOMAXPROCS-none} ${MAGICK_THREAD_LIMIT-none} >> {out.said}
    resources: {cores: 2}
    version: {command: [sh, -c, 'echo "$OMP_NUM_THREADS" >> "$TMPDIR/versions"']}
    outputs: {said: file}
  own:
    shell: echo "$OMP_NUM_THREADS $MKL_NUM_THREADS" > {out.said}
    env: {OMP_NUM_THREADS: "5", MKL_NUM_THREADS: "{threads}"}
    resources: {cores: 2}
    outputs: {said: file}
"#;

fn run(place: &Place) -> Ran {
    let mut command = place.command(&["run", "flow.yaml", "--json", "-j", "4"]);
    command.env("OMP_NUM_THREADS", "7").env_remove("GOMAXPROCS");
    Ran::from(command.output().expect("it runs"))
}

#[test]
fn a_program_is_told_its_cores_and_no_recipe_knows() {
    let place = Place::with_flow(FLOW);
    let report = run(&place).ended(0).report().counts(2, 2, 0, 0);
    assert_eq!(report.texts("plain"), [format!("{}2 2\n", "2\n".repeat(8))]);
    assert_eq!(report.texts("own"), ["5 2\n"]);
    // What a version command prints is part of the recipe, and how many cores there are is not.
    let asked = place.told("versions");
    assert!(
        !asked.is_empty() && asked.iter().all(|told| told == "1"),
        "{asked:?}"
    );

    place.write("flow.yaml", &FLOW.replace("cores: 2", "cores: 3"));
    run(&place).ended(0).report().counts(2, 0, 2, 0);
    let inheriting = FLOW.replace("    version:", "    threads: inherit\n    version:");
    place.write("flow.yaml", &inheriting);
    run(&place).ended(0).report().counts(2, 0, 2, 0);
    assert_eq!(place.told("versions").last().map(String::as_str), Some("7"));
}

#[test]
fn what_the_user_has_set_is_passed_on_if_the_operation_says_so() {
    let place = Place::with_flow(&FLOW.replace("resources:", "threads: inherit\n    resources:"));
    let report = run(&place).ended(0).report().counts(2, 2, 0, 0);
    let none = "none\n".repeat(7);
    assert_eq!(report.texts("plain"), [format!("7\n{none}none none\n")]);
    assert_eq!(report.texts("own"), ["5 2\n"]);
}

#[test]
fn the_script_that_runs_a_task_again_shows_them() {
    let place = Place::with_flow(&FLOW.replace("echo \"$OMP", "false; echo \"$OMP"));
    let ran = run(&place).ended(1);
    let failures = ran.report().failures();
    let folder = failures["all.own"]["folder"]
        .as_str()
        .expect("a folder")
        .to_owned();
    let script = read(&Path::new(&folder).join(".again.sh"));
    for line in [
        "  OMP_NUM_THREADS=5 ",
        "  OPENBLAS_NUM_THREADS=2 ",
        "  GOMAXPROCS=2 ",
    ] {
        assert!(script.contains(line), "{script}");
    }
}

#[test]
fn another_word_is_refused() {
    let place = Place::with_flow(&FLOW.replace("resources:", "threads: 4\n    resources:"));
    place
        .headwater(&["check", "flow.yaml"])
        .ended(2)
        .says(&["inherit"]);
}

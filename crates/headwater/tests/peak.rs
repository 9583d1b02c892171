//! A program's peak memory is its own, however large the process that asked for it.
//!
//! Run by hand and by `cargo test`; it has no harness, since [`headwater::init`] comes first in `main`.

use std::collections::BTreeMap;
use std::fs;

use headwater::{RunRequest, Site};

const FLOW: &str = "\
headwater: 1
workflow: small
stages:
  only:
    tasks: [{op: nothing, out: {nothing: nothing}}]
outputs: {nothing: nothing}
operations:
  nothing:
    command: [/bin/true]
    outputs: {nothing: {type: file, optional: true}}
";

const LARGE: usize = 300 << 20;
const MOST: u64 = 20 << 20;

/// What the kernel says of this process, in bytes.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("a resident size");
    let number = line
        .split_whitespace()
        .nth(1)
        .and_then(|number| number.parse::<u64>().ok());
    number.expect("a number") * 1024
}

fn main() {
    headwater::init();
    // Every page is written to, so every page is there.
    let mut ballast = vec![0_u8; LARGE];
    ballast.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    assert!(resident() >= LARGE as u64, "this process should be large");

    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("flow.yaml"), FLOW).expect("a workflow");
    let request = RunRequest {
        flow: "flow.yaml".into(),
        ..RunRequest::default()
    };
    let report = Site::new(folder.path())
        .run(&request)
        .expect("the run goes well");
    assert!(
        report.succeeded() && report.counts.executed == 1,
        "{report:?}"
    );
    assert_eq!(std::hint::black_box(&ballast)[LARGE - 4096], 1);

    let trace = fs::read_to_string(report.folder.join("trace.tsv")).expect("a trace");
    let mut lines = trace.lines().map(|line| line.split('\t'));
    let (header, row) = (
        lines.next().expect("a header"),
        lines.next().expect("a row"),
    );
    let row: BTreeMap<&str, &str> = header.zip(row).collect();
    let peak: u64 = row["peak_bytes"].parse().expect("a number");
    println!(
        "peak of /bin/true below a process of {} MiB: {} KiB",
        resident() >> 20,
        peak >> 10
    );
    assert!(peak > 0 && peak < MOST, "{peak} bytes");
}

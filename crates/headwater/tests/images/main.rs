//! Images through the whole engine: decoded from files, passed between native operations, kept, delivered.

mod library;

use std::fs;

use headwater::explain::Why;
use headwater::graph::{ElementType, Value, decode};
use headwater::{Explanation, explain};
use library::{Case, files, read};

const PICTURE: &[u8] = b"image\nabcdef";
const OTHER: &[u8] = b"image\nuvwxyz";

/// Two planes of each picture, brightened and added: a diamond below an implicit operation.
const DIAMOND: &str = "\
headwater: 1
workflow: diamond
inputs: {picture: image}
parameters: {number: {type: int, default: 1}}
stages:
  planes:
    - {op: test/split, in: {image: picture}, out: {red: red, blue: blue}}
  bright:
    - {op: test/brighten, in: {image: red}, params: {number: $number}, out: {image: bright}}
  both:
    - {op: test/add, in: {a: bright, b: blue}, out: {image: both}}
  total:
    - {op: test/sum, in: {image: both}, out: {sum: total}}
outputs: {both: both, total: total}
";

#[test]
fn a_diamond_below_an_implicit_operation() {
    let case = Case::new(DIAMOND, &[PICTURE, OTHER]);
    let first = case.run(&[]);
    assert_eq!((first.counts.tasks, first.counts.executed), (6, 6));
    assert_eq!(files(&first), ["both/0.img", "both/1.img"]);
    let sum = |a: u8, b: u8| a.saturating_add(b).saturating_add(1);
    let both = [sum(b'a', b'c'), sum(b'd', b'f')];
    assert_eq!(read(&first, "both/0.img"), [b"image\n", &both[..]].concat());
    let table = String::from_utf8(read(&first, "outputs.csv")).unwrap();
    assert!(table.contains("both,0,both/0.img,,0"), "{table}");

    let second = case.run(&[]);
    assert_eq!((second.counts.tasks, second.counts.executed), (6, 0));
    for operation in ["split", "brighten", "add", "sum"] {
        assert_eq!(case.calls(operation), 0, "{operation}");
    }
    assert_eq!(files(&second), files(&first));

    let third = case.run(&["number=2"]);
    assert_eq!((third.counts.tasks, third.counts.executed), (6, 6));
    assert_eq!(case.calls("split"), 2);
    let why = |run: &str, task: &str| -> Explanation {
        let store =
            headwater_remember::open(&case.store(), headwater_graph::Mode::ReadOnly).unwrap();
        explain(&*store, run, task).unwrap()
    };
    let bright = why(&third.run, "bright.brighten[0]");
    assert!(matches!(bright.why, Why::Changed { .. }), "{bright:?}");
    let reused = why(&second.run, "total.sum[1]");
    assert!(matches!(reused.why, Why::Reused { .. }), "{reused:?}");
}

/// Each picture as a file that a native operation writes, and as a file that it has in memory.
const FILES: &str = "\
headwater: 1
workflow: files
inputs: {picture: image}
parameters: {number: {type: int, default: 1}, more: {type: int, default: 1}}
stages:
  all:
    - {op: test/export, in: {image: picture}, params: {number: $number}, out: {file: whole}}
    - {op: test/note, in: {image: picture}, out: {file: note}}
    - {op: test/last, in: {file: whole}, out: {byte: byte}}
    - {op: test/brighten, in: {image: whole}, params: {number: $more}, out: {image: bright}}
outputs: {whole: whole, note: note, byte: byte, bright: bright}
";

/// Whether a folder is empty, as soon as the last thread of a run has let go of the store.
fn is_empty(folder: &std::path::Path) -> bool {
    let is_empty = || fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    let pause = || std::thread::sleep(std::time::Duration::from_millis(10));
    (0..500).any(|_| {
        is_empty() || {
            pause();
            false
        }
    })
}

#[test]
fn files_of_native_operations() {
    let case = Case::new(FILES, &[PICTURE]);
    let names = ["bright/0.img", "note/0.txt", "whole/0.pic"];
    let first = case.run(&[]);
    assert_eq!(first.counts.executed, 4);
    let check = |report: &headwater::RunReport| {
        assert_eq!(files(report), names);
        assert_eq!(read(report, "whole/0.pic"), PICTURE);
        assert_eq!(read(report, "note/0.txt"), b"6 pixels\n");
        let table = String::from_utf8(read(report, "outputs.csv")).unwrap();
        assert!(table.contains(&format!("byte,0,,{}", b'f')), "{table}");
    };
    check(&first);
    assert!(is_empty(&case.store().join("staging")), "nothing is left");

    // From the store alone.
    fs::remove_dir_all(case.path().join("outputs")).unwrap();
    let second = case.run(&[]);
    assert_eq!(second.counts.executed, 0);
    check(&second);
    let store = headwater_remember::open(&case.store(), headwater_graph::Mode::ReadWrite).unwrap();
    let verified = headwater::products::verify(&*store, &|_, _| ()).unwrap();
    assert!(verified.damaged.is_empty(), "{verified:?}");
    drop(store);

    // A file of the store, decoded.
    let third = case.run(&["more=2"]);
    assert_eq!((third.counts.executed, case.calls("export")), (1, 0));
    assert_eq!(read(&third, "bright/0.img"), b"image\ncdefgh");
}

#[test]
fn a_file_that_was_not_written_is_told() {
    let case = Case::new(FILES, &[PICTURE]);
    let report = case.try_run(&["number=100"]).unwrap();
    let told: Vec<String> = report
        .failures
        .iter()
        .map(|task| task.description())
        .collect();
    let expected = "task `all.export[0]`: output `file`: the operation wrote no file `whole`";
    assert!(told.len() == 1 && told[0].starts_with(expected), "{told:?}");
    assert!(is_empty(&case.store().join("staging")), "nothing is left");
}

const DELIVERED: &str = "\
headwater: 1
workflow: delivered
inputs: {picture: image}
stages:
  all:
    - {op: test/real, in: {image: picture}, out: {image: real}}
    - {op: test/tiles, in: {image: picture}, out: {tiles: tiles}}
  planes:
    - {op: test/split, in: {image: picture}, out: {red: red, green: green}}
  each:
    - {op: test/brighten, in: {image: tiles}, out: {image: bright}}
outputs: {real: real, tiles: tiles, red: red, bright: bright, again: bright, picture: picture}
";

#[test]
fn images_are_delivered_as_files_that_others_can_read() {
    let case = Case::new(DELIVERED, &[b"image\nabc"]);
    for executed in [5, 0] {
        let report = case.run(&[]);
        assert_eq!(report.counts.executed, executed);
        let names = [
            "again/0-0.img",
            "again/0-1.img",
            "again/0-2.img",
            "bright/0-0.img",
            "bright/0-1.img",
            "bright/0-2.img",
            "picture/0.img",
            "real/0.hwv",
            "red/0.img",
            "tiles/0/0.img",
            "tiles/0/1.img",
            "tiles/0/2.img",
        ];
        assert_eq!(files(&report), names);
        assert_eq!(read(&report, "tiles/0/2.img"), b"image\nc");
        assert_eq!(read(&report, "red/0.img"), b"image\na");
        assert_eq!(read(&report, "picture/0.img"), b"image\nabc");
        let Ok(Value::Image(real)) = decode(&read(&report, "real/0.hwv")) else {
            panic!("it is an image");
        };
        assert_eq!(real.array.element_type(), ElementType::F32);
        assert_eq!(report.notes, [""; 0], "there is no other way to write it");
        assert_eq!(case.calls("encode"), 3 + 3 + 1 + 1, "each product once");
    }
}

#[test]
fn trouble_with_writing_an_image_is_told() {
    let flow = "\
headwater: 1
workflow: trouble
inputs: {picture: image}
stages:
  all:
    - {op: test/brighten, in: {image: picture}, params: {number: 0}, out: {image: same}}
outputs: {same: same}
";
    let case = Case::new(flow, &[b"image\ntrouble"]);
    let report = case.run(&[]);
    assert_eq!(files(&report), ["same/0.hwv"]);
    let said = "output `same`: 1 value written as `.hwv`, because: it is trouble";
    assert_eq!(report.notes, [said]);
}

#[test]
fn a_picture_that_cannot_be_read_is_named() {
    for flow in [
        DIAMOND.to_owned(),
        DIAMOND.replace("picture: image", "picture: file"),
    ] {
        let case = Case::new(&flow, &[PICTURE, b"text", OTHER]);
        let report = case.try_run(&[]).unwrap();
        assert!(!report.succeeded());
        assert_eq!((report.counts.executed, report.counts.blocked), (6, 3));
        let [failed] = &report.failures[..] else {
            panic!("{:?}", report.failures);
        };
        let told = failed.description();
        let path = case.path().join("1.img");
        let expected = format!(
            "task `planes.split[1] (reading)`: {}: not an image: it does not begin with `image`\n  \
             from:    picture=1.img\n  \
             3 tasks could not run because of it",
            path.display()
        );
        assert_eq!(told, expected);
    }
}

#[test]
fn an_implicit_operation_that_fails_is_named() {
    let case = Case::new(DIAMOND, &[PICTURE, b"image\nabcd"]);
    let report = case.try_run(&[]).unwrap();
    let told: Vec<String> = report
        .failures
        .iter()
        .map(|task| task.description())
        .collect();
    let expected = "task `planes.split[1]`: input `image`: 4 pixels are not colours\n  \
                    from:    picture=1.img\n  \
                    3 tasks could not run because of it";
    assert_eq!(told, [expected]);
    assert_eq!((report.counts.executed, report.counts.blocked), (3, 3));
}

/// Brightened beyond white, a picture does not change any more.
const WHITE: &str = "\
headwater: 1
workflow: white
inputs: {picture: image}
parameters: {number: {type: int, default: 250}}
stages:
  bright:
    - {op: test/brighten, in: {image: picture}, params: {number: $number}, out: {image: bright}}
  planes:
    - {op: test/split, in: {image: bright}, out: {red: red, blue: blue}}
  total:
    - {op: test/sum, in: {image: red}, out: {sum: total}}
outputs: {total: total}
";

#[test]
fn contents_are_compared_through_an_implicit_operation() {
    let case = Case::new(WHITE, &[PICTURE]);
    let first = case.run(&[]);
    assert_eq!((first.counts.tasks, first.counts.executed), (2, 2));
    let second = case.run(&["number=251"]);
    assert_eq!(
        (
            second.counts.executed,
            second.counts.cut_off,
            case.calls("sum")
        ),
        (1, 1, 0)
    );
    let third = case.run(&["number=251"]);
    assert_eq!((third.counts.executed, case.calls("split")), (0, 0));
}

#[test]
fn lists_of_pictures_are_read_too() {
    let flow = "\
headwater: 1
workflow: lists
inputs: {picture: list of image}
stages:
  each:
    - {op: test/sum, in: {image: picture}, out: {sum: sum}}
outputs: {sum: sum}
";
    let case = Case::new(flow, &[PICTURE, OTHER]);
    fs::write(
        case.path().join("data.yaml"),
        "inputs: {picture: [[0.img, 1.img]]}\n",
    )
    .unwrap();
    let report = case.run(&[]);
    assert_eq!(
        (report.counts.executed, report.outputs["sum"].len()),
        (2, 2)
    );
}

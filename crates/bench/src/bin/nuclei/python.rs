//! OpenCV and scikit-image in a Python process of their own.
//!
//! Law: Python and its packages live in a folder of the build, made at the first use; arrays go there and back in
//! files, and only the calls themselves are timed. Where there is no Python nothing is compared, and a note says so.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use headwater_bench::Claims;
use headwater_bench::python::{Packages, scratch};
use headwater_imaging::View;

use crate::clock::Taken;

const SCRIPT: &str = include_str!("opencv.py");
const PACKAGES: Packages = Packages {
    folder: "venv",
    wanted: &["numpy", "opencv-python-headless", "scikit-image"],
    check: "import cv2, numpy, skimage",
};

/// The process.
pub(crate) struct Python {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
    /// The packages and their versions.
    pub(crate) versions: String,
}

/// A pixel type that numpy knows.
pub(crate) trait Element: Copy {
    /// numpy's name of its number type.
    const NAME: &'static str;
    /// Numbers to a pixel.
    const CHANNELS: usize;
    fn write(self, to: &mut Vec<u8>);
}

impl Element for u8 {
    const NAME: &'static str = "u1";
    const CHANNELS: usize = 1;
    fn write(self, to: &mut Vec<u8>) {
        to.push(self);
    }
}

impl Element for [u8; 3] {
    const NAME: &'static str = "u1";
    const CHANNELS: usize = 3;
    fn write(self, to: &mut Vec<u8>) {
        to.extend(self);
    }
}

impl Element for i32 {
    const NAME: &'static str = "<i4";
    const CHANNELS: usize = 1;
    fn write(self, to: &mut Vec<u8>) {
        to.extend(self.to_le_bytes());
    }
}

impl Python {
    /// Starts it; `None`, with a note, where it cannot be had.
    pub(crate) fn start(claims: &mut Claims) -> Result<Option<Python>, Box<dyn Error>> {
        let python = match PACKAGES.python(|note| claims.note(note)) {
            Ok(python) => python,
            Err(message) => {
                claims.note(&format!(
                    "skipped: everything that is compared with OpenCV and scikit-image ({message})"
                ));
                return Ok(None);
            }
        };
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let requests = child.stdin.take().ok_or("no stdin")?;
        let answers = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut python = Python {
            child,
            requests,
            answers,
            folder: scratch()?,
            versions: String::new(),
        };
        python.versions = python.answer()?;
        Ok(Some(python))
    }

    fn answer(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.is_empty() {
            return Err("Python ended; what it said stands above".into());
        }
        Ok(line.trim_end().to_owned())
    }

    fn ask(&mut self, request: &str) -> Result<String, Box<dyn Error>> {
        writeln!(self.requests, "{request}")?;
        self.answer()
    }

    /// Gives it an array.
    pub(crate) fn load<T: Element>(
        &mut self,
        name: &str,
        view: View<'_, T>,
    ) -> Result<(), Box<dyn Error>> {
        let mut bytes = Vec::new();
        view.pixels()
            .iter()
            .for_each(|pixel| pixel.write(&mut bytes));
        let path = self.folder.join("array");
        fs::write(&path, bytes)?;
        let (kind, channels) = (T::NAME, T::CHANNELS);
        let (width, height) = (view.width(), view.height());
        self.ask(&format!(
            "load {name} {kind} {width} {height} {channels} {}",
            path.display()
        ))?;
        Ok(fs::remove_file(path)?)
    }

    /// One call: how long it took.
    pub(crate) fn run(&mut self, name: &str) -> Result<Taken, Box<dyn Error>> {
        let answer = self.ask(&format!("run {name}"))?;
        let seconds: Vec<f64> = answer
            .split(' ')
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        match seconds[..] {
            [wall, thread] => Ok(Taken { wall, thread }),
            _ => Err(format!("Python answered `{answer}`").into()),
        }
    }

    /// One call: the bytes it gave, and numpy's name of their type.
    pub(crate) fn result(&mut self, name: &str) -> Result<(Vec<u8>, String), Box<dyn Error>> {
        self.run(name)?;
        let path = self.folder.join("array");
        let kind = self.ask(&format!("save {}", path.display()))?;
        let bytes = fs::read(&path)?;
        fs::remove_file(path)?;
        Ok((bytes, kind))
    }

    /// One call that gives numbers of four bytes.
    pub(crate) fn words(&mut self, name: &str, kind: &str) -> Result<Vec<[u8; 4]>, Box<dyn Error>> {
        let (bytes, found) = self.result(name)?;
        if found != kind {
            return Err(format!("`{name}` gave numbers of type {found}, not {kind}").into());
        }
        Ok(bytes.as_chunks::<4>().0.to_vec())
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

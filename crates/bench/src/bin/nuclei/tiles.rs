//! Two threads over many tiles, beside two processes that share nothing.
//!
//! Law: both sides do the same work on tiles that lie in memory already, by turns; the best of several rounds counts,
//! by the wall clock. The engine gets the graph of the seven tasks for each tile, builds it while the clock runs, and
//! remembers nothing.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use headwater::graph::{External, Identity, NewTask, Registry, Source, TaskGraph, TaskId, Value};
use headwater::run_graph;
use headwater_bench::{Bar, Claims};
use headwater_imaging::nuclei::{self, Parameters};
use headwater_imaging::{Colour, View, colour_value};

use crate::images::Source as Images;

/// Tiles in all, and pixels on a side.
const TILES: usize = 16;
const SIDE: usize = 2048;
/// How many rounds; the best counts.
const ROUNDS: usize = 11;
/// A tile begins so many pixels after the one before.
const STEP: usize = 64;

/// The argument that makes this program one of the two processes.
pub(crate) const ARGUMENT: &str = "--process";

/// Tiles as values of the engine.
struct Tiles(Vec<External>);

impl Tiles {
    fn make(from: usize, to: usize) -> Result<Tiles, Box<dyn Error>> {
        let source = Images::find()?;
        let tiles = (from..to).map(|tile| {
            let image = source.mirrored(SIDE, tile * STEP);
            let value = colour_value(image.view())?;
            let identity = Identity::of(&value);
            Ok(External { identity, value })
        });
        Ok(Tiles(tiles.collect::<Result<_, Box<dyn Error>>>()?))
    }

    fn view(&self, tile: usize) -> Result<View<'_, Colour>, String> {
        if let Value::Image(image) = &self.0[tile].value
            && let Some(view) = View::new(SIDE, SIDE, image.array.bytes().as_chunks::<3>().0)
        {
            return Ok(view);
        }
        Err("a tile is not an image of its size".to_owned())
    }

    /// The nuclei of all tiles, on plain threads that take the next tile each.
    fn on_threads(&self, threads: usize) -> Result<u64, String> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<u64, String> {
            let mut nuclei = 0;
            loop {
                let tile = next.fetch_add(1, Ordering::Relaxed);
                if tile >= self.0.len() {
                    return Ok(nuclei);
                }
                nuclei += nuclei::segment(self.view(tile)?, &Parameters::default(), |_| {}).nuclei;
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let counts = threads.into_iter().map(|thread| {
                let count = thread.join();
                count.map_err(|_| "a thread panicked".to_owned())?
            });
            counts.sum()
        })
    }

    /// The same by the engine.
    fn by_engine(&self, workers: usize) -> Result<u64, Box<dyn Error>> {
        let mut registry = Registry::new();
        headwater_imaging::register(&mut registry)?;
        let mut graph = TaskGraph::new();
        let mut wanted = Vec::new();
        for tile in &self.0 {
            let tile = graph.external(tile.clone());
            wanted.push(segmentation(&mut graph, &registry, &tile)?);
        }
        let run = run_graph(graph, &wanted, workers, None)?;
        let mut nuclei = 0;
        for task in &wanted {
            // The outputs are sorted by name: mask, nuclei, status.
            match run.output(*task).map(Vec::as_slice) {
                Some([_, Value::Int(count), Value::Int(0)]) => nuclei += count.cast_unsigned(),
                _ => return Err(format!("a tile was not segmented: {:?}", run.failures).into()),
            }
        }
        Ok(nuclei)
    }

    fn by(&self, way: Way, threads: usize) -> Result<u64, Box<dyn Error>> {
        match way {
            Way::Plain => Ok(self.on_threads(threads)?),
            Way::Engine => self.by_engine(threads),
        }
    }
}

/// Who goes through the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Plain,
    Engine,
}

impl Way {
    const ALL: [Way; 2] = [Way::Plain, Way::Engine];

    fn name(self) -> &'static str {
        match self {
            Way::Plain => "plain",
            Way::Engine => "engine",
        }
    }
}

/// Adds the tasks of `examples/nuclei/nuclei.yaml` for one tile; gives the last of them.
fn segmentation(
    graph: &mut TaskGraph,
    registry: &Registry,
    tile: &Source,
) -> Result<TaskId, Box<dyn Error>> {
    let mut add = |name: &str, bound: &[(&str, Source)]| -> Result<_, Box<dyn Error>> {
        let operation = registry.operation(&format!("imaging/{name}"));
        let operation = operation.ok_or_else(|| format!("there is no operation `{name}`"))?;
        let signature = &operation.signature;
        let mut inputs = Vec::new();
        for (port, source) in bound {
            let place = signature.input_index(port);
            let place = place.ok_or_else(|| format!("`{name}` has no input `{port}`"))?;
            inputs.push((u16::try_from(place)?, source.clone()));
        }
        inputs.sort_by_key(|(place, _)| *place);
        let parameters: Option<Vec<_>> = signature
            .parameters
            .iter()
            .map(|parameter| parameter.default.clone())
            .collect();
        let operation_place = graph.operation(operation);
        let (task, _) = graph.add(&NewTask {
            operation: operation_place,
            parameters: &parameters.ok_or("a parameter has no default")?,
            inputs: &inputs,
            address: "",
        })?;
        let operation = Arc::clone(operation);
        let output = move |port: &str| {
            let place = operation.signature.output_index(port).unwrap_or(0);
            Source::Product {
                task,
                port: place as u16,
            }
        };
        Ok((task, output))
    };
    let (_, channel) = add("split", &[("image", tile.clone())])?;
    let colours = ["red", "green", "blue"].map(|name| (name, channel(name)));
    let (_, blood) = add("red-blood-cells", &colours)?;
    let (_, background) = add("reconstruct-background", &colours[..1])?;
    let (_, cores) = add(
        "threshold",
        &[
            ("inverted", background("inverted")),
            ("background", background("background")),
        ],
    )?;
    let (_, seeds) = add("filter-candidates", &[("mask", cores("mask"))])?;
    let (_, found) = add(
        "candidates",
        &[
            ("difference", cores("difference")),
            ("seeds", seeds("mask")),
            ("red-blood-cells", blood("mask")),
            ("background-status", blood("status")),
            ("seeds-status", seeds("status")),
        ],
    )?;
    let (_, separated) = add(
        "separate",
        &[
            ("image", tile.clone()),
            ("mask", found("mask")),
            ("status", found("status")),
        ],
    )?;
    let (last, _) = add(
        "final-filter",
        &[("mask", separated("mask")), ("status", separated("status"))],
    )?;
    Ok(last)
}

/// One of the two processes: does its half of the tiles whenever it is told to, and says how many nuclei it found.
pub(crate) fn process(half: &str) -> Result<(), Box<dyn Error>> {
    let half: usize = half.parse()?;
    let tiles = Tiles::make(half * TILES / 2, (half + 1) * TILES / 2)?;
    println!("ready");
    for line in std::io::stdin().lines() {
        let line = line?;
        let way = Way::ALL.into_iter().find(|way| way.name() == line);
        println!("{}", tiles.by(way.ok_or("no such way")?, 1)?);
    }
    Ok(())
}

/// The two processes.
struct Processes(Vec<Child>);

impl Processes {
    fn start() -> Result<Processes, Box<dyn Error>> {
        let program = std::env::current_exe()?;
        let start = |half: &str| {
            let mut command = Command::new(&program);
            command.args([ARGUMENT, half]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            command.spawn()
        };
        let mut processes = Processes(vec![start("0")?]);
        processes.0.push(start("1")?);
        for line in processes.answers()? {
            if line != "ready" {
                return Err("a process did not become ready".into());
            }
        }
        Ok(processes)
    }

    /// A line of each.
    fn answers(&mut self) -> Result<Vec<String>, Box<dyn Error>> {
        let mut answers = Vec::new();
        for child in &mut self.0 {
            let output = child.stdout.as_mut().ok_or("a process has no output")?;
            let mut line = String::new();
            // Nothing is lost with the buffer: there is one line to an answer, and no answer unasked.
            BufReader::new(output).read_line(&mut line)?;
            answers.push(line.trim_end().to_owned());
        }
        Ok(answers)
    }

    /// All tiles, half of them in each.
    fn run(&mut self, way: Way) -> Result<u64, Box<dyn Error>> {
        for child in &mut self.0 {
            let input = child.stdin.as_mut().ok_or("a process has no input")?;
            writeln!(input, "{}", way.name())?;
        }
        let mut nuclei = 0;
        for answer in self.answers()? {
            nuclei += answer.parse::<u64>()?;
        }
        Ok(nuclei)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Measures both.
pub(crate) fn measure(claims: &mut Claims) -> Result<(), Box<dyn Error>> {
    let tiles = Tiles::make(0, TILES)?;
    let mut processes = Processes::start()?;
    let mut found = None;
    let mut timed = |work: &mut dyn FnMut() -> Result<u64, Box<dyn Error>>| {
        let began = Instant::now();
        let nuclei = work()?;
        let seconds = began.elapsed().as_secs_f64();
        if *found.get_or_insert(nuclei) != nuclei {
            return Err("the ways do not give the same number of nuclei".into());
        }
        Ok::<f64, Box<dyn Error>>(seconds)
    };
    let mut threads = [f64::INFINITY; 2];
    let mut apart = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        for (place, way) in Way::ALL.into_iter().enumerate() {
            threads[place] = threads[place].min(timed(&mut || tiles.by(way, 2))?);
            apart[place] = apart[place].min(timed(&mut || processes.run(way))?);
        }
    }
    claims.claim(
        "two workers of the engine over 16 tiles, relative to two processes of one worker",
        apart[1] / threads[1],
        "of the rate",
        Bar::AtLeast(0.95),
    );
    claims.claim(
        "two threads over 16 tiles, relative to two processes of one thread",
        apart[0] / threads[0],
        "of the rate",
        Bar::AtLeast(0.95),
    );
    claims.note(&format!(
        "tiles of {SIDE} × {SIDE}, the best of {ROUNDS} rounds: engine {:.0} ms against {:.0} ms, threads {:.0} ms \
         against {:.0} ms; the engine has {:.3} of the rate of plain threads",
        threads[1] * 1e3,
        apart[1] * 1e3,
        threads[0] * 1e3,
        apart[0] * 1e3,
        threads[0] / threads[1],
    ));
    Ok(())
}

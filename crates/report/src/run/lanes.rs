//! Executions side by side.
//!
//! Law: two executions in one lane never overlap, and there are as many lanes as ran at once at most. However many
//! executions there are, the bars are at most [`MOST`]: what is too short to be seen is joined with its neighbours.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// At most so many bars are drawn.
pub const MOST: usize = 3000;

/// What is narrower than this part of the width is joined with its neighbours.
const NARROW: f64 = 1.0 / 1500.0;

/// One execution, times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// When it began.
    pub start: u64,
    /// How long it took.
    pub wall: u64,
    /// The row of its task.
    pub row: u32,
    /// Whether it came to its end.
    pub well: bool,
    /// What it is known by to whoever asks.
    pub number: u32,
}

/// A bar before it has a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// In which lane.
    pub lane: u32,
    /// When the first execution began.
    pub start: u64,
    /// When the last one ended.
    pub end: u64,
    /// The row of the task that took most of it.
    pub row: u32,
    /// Nanoseconds of its row.
    of_row: u64,
    /// Nanoseconds of all executions.
    pub busy: u64,
    /// Whether some of them are of other tasks.
    pub mixed: bool,
    /// How many there are.
    pub executions: usize,
    /// How many did not end well.
    pub failed: usize,
    /// The number of its first execution.
    pub number: u32,
}

/// Gives every execution the first lane that is free; how many there are.
fn lanes(spans: &[Span]) -> (Vec<u32>, u32) {
    let mut free: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
    let mut busy: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    let mut many = 0;
    let placed = spans.iter().map(|span| {
        while let Some(Reverse((end, lane))) = busy.peek().copied() {
            if end > span.start {
                break;
            }
            busy.pop();
            free.push(Reverse(lane));
        }
        let lane = free.pop().map_or_else(
            || {
                many += 1;
                many - 1
            },
            |Reverse(lane)| lane,
        );
        busy.push(Reverse((span.start.saturating_add(span.wall), lane)));
        lane
    });
    let placed = placed.collect();
    (placed, many)
}

/// Places all executions and joins what cannot be told apart: the bars, how many lanes, and the end of the last one.
pub fn bars(mut spans: Vec<Span>) -> (Vec<Bar>, usize, u64) {
    spans.sort_unstable_by_key(|span| (span.start, span.number));
    let end = |span: &Span| span.start.saturating_add(span.wall);
    let last = spans.iter().map(end).max().unwrap_or(0);
    let (placed, many) = lanes(&spans);
    let mut narrow = last as f64 * NARROW;
    let mut found = Joiner::new(many, narrow as u64);
    for (span, lane) in spans.iter().zip(&placed) {
        found.take(Bar {
            lane: *lane,
            start: span.start,
            end: end(span),
            row: span.row,
            of_row: span.wall,
            busy: span.wall,
            mixed: false,
            executions: 1,
            failed: usize::from(!span.well),
            number: span.number,
        });
    }
    let mut bars = found.done();
    while bars.len() > MOST && narrow < last as f64 {
        narrow *= 2.0;
        let mut coarser = Joiner::new(many, narrow as u64);
        bars.into_iter().for_each(|bar| coarser.take(bar));
        bars = coarser.done();
    }
    (bars, many as usize, last)
}

/// Joins bars that follow each other in their lanes.
struct Joiner {
    narrow: u64,
    /// By lane: the bar that may still grow.
    open: Vec<Option<Bar>>,
    closed: Vec<Bar>,
}

impl Joiner {
    fn new(lanes: u32, narrow: u64) -> Joiner {
        Joiner {
            narrow,
            open: vec![None; lanes as usize],
            closed: Vec::new(),
        }
    }

    fn take(&mut self, bar: Bar) {
        let open = &mut self.open[bar.lane as usize];
        // What can be seen stands for itself.
        if bar.executions == 1 && bar.end - bar.start >= self.narrow {
            self.closed.extend(open.take());
            self.closed.push(bar);
            return;
        }
        if let Some(before) = open {
            let alike =
                before.row == bar.row && bar.start.saturating_sub(before.end) <= self.narrow;
            let tiny = bar.end.saturating_sub(before.start) <= self.narrow;
            if alike || tiny {
                *before = joined(*before, bar);
                return;
            }
        }
        self.closed.extend(open.replace(bar));
    }

    /// All bars, by lane and time.
    fn done(mut self) -> Vec<Bar> {
        self.closed.extend(self.open.into_iter().flatten());
        self.closed
            .sort_unstable_by_key(|bar| (bar.lane, bar.start, bar.number));
        self.closed
    }
}

fn joined(one: Bar, other: Bar) -> Bar {
    // Which task has most of it is decided between the two that had most so far.
    let (row, of_row) = if one.row == other.row {
        (one.row, one.of_row + other.of_row)
    } else if one.of_row >= other.of_row {
        (one.row, one.of_row)
    } else {
        (other.row, other.of_row)
    };
    Bar {
        lane: one.lane,
        start: one.start,
        end: one.end.max(other.end),
        row,
        of_row,
        busy: one.busy + other.busy,
        mixed: one.mixed || other.mixed || one.row != other.row,
        executions: one.executions + other.executions,
        failed: one.failed + other.failed,
        number: one.number,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(number: u32, start: u64, wall: u64, row: u32) -> Span {
        Span {
            start,
            wall,
            row,
            well: true,
            number,
        }
    }

    #[test]
    fn executions_take_the_first_free_lane() {
        let spans = vec![
            span(0, 0, 100, 0),
            span(1, 0, 50, 0),
            span(2, 50, 100, 1),
            span(3, 100, 20, 0),
        ];
        let (bars, lanes, end) = bars(spans);
        assert_eq!((bars.len(), lanes, end), (4, 2, 150));
        let placed: Vec<(u32, u32)> = bars.iter().map(|bar| (bar.lane, bar.number)).collect();
        assert_eq!(placed, [(0, 0), (0, 3), (1, 1), (1, 2)]);
    }

    #[test]
    fn what_is_too_short_is_joined_with_its_neighbours() {
        // A long one, then a thousand short ones of one task, a pause, and short ones of two tasks in turn.
        let mut spans = vec![span(0, 0, 1_500_000, 0)];
        spans.extend((0..1000).map(|turn| span(turn + 1, 1_500_000 + u64::from(turn) * 10, 9, 1)));
        spans.extend((0..10).map(|turn| {
            let start = 2_000_000 + u64::from(turn) * 20;
            span(turn + 2000, start, 19, 2 + turn % 2)
        }));
        spans.push(span(9000, 2_100_000, 900_000, 0));
        let (bars, lanes, end) = bars(spans);
        assert_eq!((lanes, end), (1, 3_000_000));
        let seen: Vec<(u32, usize, bool, u64)> = bars
            .iter()
            .map(|bar| (bar.row, bar.executions, bar.mixed, bar.busy))
            .collect();
        assert_eq!(
            seen,
            [
                (0, 1, false, 1_500_000),
                (1, 1000, false, 9000),
                (2, 10, true, 190),
                (0, 1, false, 900_000)
            ]
        );
    }

    #[test]
    fn a_hundred_thousand_executions_are_few_bars() {
        // Eight side by side, of tasks in turn, each long enough not to join at once.
        let spans = (0..100_000_u32).map(|number| {
            let start = u64::from(number / 8) * 1000;
            span(number, start, 900, number % 5 + number / 8 % 3)
        });
        let (bars, lanes, _) = bars(spans.collect());
        assert_eq!(lanes, 8);
        assert!(bars.len() <= MOST, "{}", bars.len());
        assert_eq!(
            bars.iter().map(|bar| bar.executions).sum::<usize>(),
            100_000
        );
    }

    #[test]
    fn nothing_is_no_lane() {
        assert_eq!(bars(Vec::new()), (Vec::new(), 0, 0));
    }

    proptest! {
        #[test]
        fn bars_of_a_lane_never_overlap_and_nothing_is_lost(
            given in proptest::collection::vec((0_u64..5000, 0_u64..400, 0_u32..4, any::<bool>()), 0..200)
        ) {
            let spans: Vec<Span> = given
                .iter()
                .zip(0..)
                .map(|((start, wall, row, well), number)| Span {
                    start: *start,
                    wall: *wall,
                    row: *row,
                    well: *well,
                    number,
                })
                .collect();
            let busy: u64 = spans.iter().map(|span| span.wall).sum();
            let failed = spans.iter().filter(|span| !span.well).count();
            let (bars, lanes, end) = bars(spans);
            prop_assert_eq!(bars.iter().map(|bar| bar.busy).sum::<u64>(), busy);
            prop_assert_eq!(bars.iter().map(|bar| bar.failed).sum::<usize>(), failed);
            prop_assert_eq!(bars.iter().map(|bar| bar.executions).sum::<usize>(), given.len());
            for pair in bars.windows(2) {
                prop_assert!(pair[0].lane < pair[1].lane || pair[0].end <= pair[1].start);
            }
            prop_assert!(bars.iter().all(|bar| (bar.lane as usize) < lanes && bar.end <= end));
        }
    }
}

//! Which row each node stands in.
//!
//! Law: whatever reads stands below what it reads. A row is not wider than it may be, unless one node alone is.

/// A row for each of `widths.len()` nodes, counted from 0, and whether rows had to be broken. Edges that close a circle
/// have to be gone already; a row takes `most` of width, or a little more, `gap` between two nodes included.
pub(crate) fn ranks(
    widths: &[f64],
    edges: &[(usize, usize)],
    most: f64,
    gap: f64,
) -> (Vec<usize>, bool) {
    let around = Around::new(widths.len(), edges);
    let ranks = longest_paths(&around);
    let mut rows: Vec<f64> = Vec::new();
    for (node, rank) in ranks.iter().enumerate() {
        if rows.len() <= *rank {
            rows.resize(rank + 1, -gap);
        }
        rows[*rank] += widths[node] + gap;
    }
    let widest = rows.into_iter().fold(0.0, f64::max);
    if widest <= most * TOLERANCE {
        return (ranks, false);
    }
    // Rows of about the same width, rather than full ones and a rest.
    let even = (widest + gap) / ((widest + gap) / (most + gap)).ceil();
    (in_rows(&around, widths, even + 1.0, gap), true)
}

/// By how much a row may be too wide before it is broken.
const TOLERANCE: f64 = 1.3;

/// Who comes before whom.
struct Around {
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
    /// An order in which everything comes after what it needs.
    order: Vec<usize>,
}

impl Around {
    fn new(count: usize, edges: &[(usize, usize)]) -> Around {
        let (mut before, mut after) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (from, to) in edges {
            before[*to].push(*from);
            after[*from].push(*to);
        }
        let mut open: Vec<usize> = before.iter().map(Vec::len).collect();
        let mut order: Vec<usize> = (0..count).filter(|node| open[*node] == 0).collect();
        let mut next = 0;
        while let Some(node) = order.get(next).copied() {
            next += 1;
            for reader in &after[node] {
                open[*reader] -= 1;
                if open[*reader] == 0 {
                    order.push(*reader);
                }
            }
        }
        Around {
            before,
            after,
            order,
        }
    }
}

/// As high as possible, and what nobody holds up there as low as possible.
fn longest_paths(around: &Around) -> Vec<usize> {
    let mut ranks = vec![0; around.before.len()];
    for node in &around.order {
        let above = around.before[*node].iter().map(|before| ranks[*before] + 1);
        ranks[*node] = above.max().unwrap_or(0);
    }
    for node in around.order.iter().rev() {
        let (before, after) = (&around.before[*node], &around.after[*node]);
        let lowest = after.iter().map(|reader| ranks[*reader] - 1).min();
        if let Some(lowest) = lowest.filter(|_| after.len() > before.len()) {
            ranks[*node] = lowest;
        }
    }
    ranks
}

/// Rows filled one after the other. What continues something in the row above comes first, so that chains stay short.
fn in_rows(around: &Around, widths: &[f64], most: f64, gap: f64) -> Vec<usize> {
    let count = widths.len();
    let mut ranks = vec![usize::MAX; count];
    let mut open: Vec<usize> = around.before.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..count).filter(|node| open[*node] == 0).collect();
    let mut rank = 0;
    while !ready.is_empty() {
        // Sources wait until there is nothing to be continued.
        let newest = |node: &usize| {
            around.before[*node]
                .iter()
                .map(|before| ranks[*before] + 1)
                .max()
        };
        ready.sort_by_key(|node| (std::cmp::Reverse(newest(node)), *node));
        let (mut taken, mut width) = (0, 0.0);
        for node in &ready {
            if taken > 0 && width + widths[*node] > most {
                break;
            }
            width += widths[*node] + gap;
            taken += 1;
        }
        let row: Vec<usize> = ready.drain(..taken).collect();
        for node in &row {
            ranks[*node] = rank;
        }
        for node in &row {
            for reader in &around.after[*node] {
                open[*reader] -= 1;
                if open[*reader] == 0 {
                    ready.push(*reader);
                }
            }
        }
        rank += 1;
    }
    ranks
}

/// The edges without those that close a circle, found by walking from the first node on. Gives which are kept.
pub(crate) fn acyclic(count: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut after: Vec<Vec<(usize, usize)>> = vec![Vec::new(); count];
    for (edge, (from, to)) in edges.iter().enumerate() {
        after[*from].push((*to, edge));
    }
    let mut kept = vec![true; edges.len()];
    // 0: not seen; 1: on the path; 2: left.
    let mut state = vec![0_u8; count];
    for start in 0..count {
        if state[start] != 0 {
            continue;
        }
        state[start] = 1;
        let mut path = vec![(start, 0)];
        while let Some((node, next)) = path.last_mut() {
            let Some((to, edge)) = after[*node].get(*next).copied() else {
                state[*node] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    path.push((to, 0));
                }
                1 => kept[edge] = false,
                _ => {}
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_stand_below_and_lonely_sources_come_down() {
        let edges = [(0, 1), (1, 2), (3, 2)];
        assert_eq!(
            ranks(&[10.0; 4], &edges, 100.0, 0.0),
            (vec![0, 1, 2, 1], false)
        );
    }

    #[test]
    fn wide_rows_are_broken_and_chains_stay_together() {
        // Six chains of two.
        let edges: Vec<_> = (0..6).map(|chain| (chain, chain + 6)).collect();
        let found = ranks(&[10.0; 12], &edges, 30.0, 0.0);
        assert_eq!(found, (vec![0, 0, 0, 2, 2, 2, 1, 1, 1, 3, 3, 3], true));
    }

    #[test]
    fn a_circle_is_opened() {
        assert_eq!(
            acyclic(3, &[(0, 1), (1, 2), (2, 0), (0, 0)]),
            [true, true, false, false]
        );
    }
}

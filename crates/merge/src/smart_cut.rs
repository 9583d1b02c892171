//! The smart cut algorithm: buckets by cheapest cuts of the graph of what stages share.
//!
//! Law: the graph is complete, its vertices are the stages, and an edge weighs as many tasks as its two stages have
//! as a common beginning. As long as more stages are left than fit into a bucket, they are cut in two where that
//! loses least, then the larger part (of equal ones, that of the earliest stage) is cut in the same way, until a part
//! fits; that is a bucket, and all the rest begins again. Of cuts that lose the same, the one that removes early
//! stages is preferred.
//!
//! The algorithm is that of Barreiros and Teodoro (2017), section 3.3.2. n stages need O(n²) cuts. The paper counts a
//! cut as O(n²), which makes O(n⁴); that is what one phase of a cut costs, and it is reached where one or a few
//! phases meet the lower bound below. At worst a cut has n phases.

use crate::{Buckets, Merge, Stages, Tree, Weight};

/// Takes buckets out of the graph of what stages share by cutting it in two again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmartCut {
    /// How many stages a bucket may have; 0 counts as 1.
    pub max_bucket_size: usize,
}

impl SmartCut {
    /// With more stages than this it should not be asked: it would take longer than some ten seconds.
    pub const PRACTICAL: usize = 500;
}

impl Merge for SmartCut {
    fn name(&self) -> &'static str {
        "smart cut"
    }

    fn merge(&self, stages: &Stages, _: &Tree, _: &[Weight]) -> Buckets {
        let size = self.max_bucket_size.max(1);
        let shared = Shared::new(stages);
        let mut buckets = Vec::new();
        let mut rest: Vec<u32> = (0..stages.len() as u32).collect();
        while rest.len() > size {
            let mut bucket = rest.clone();
            while bucket.len() > size {
                let (one, other) = shared.cut(&bucket);
                bucket = if one.len() >= other.len() { one } else { other };
            }
            // Both are in the order of the stages.
            let mut taken = bucket.iter().peekable();
            rest.retain(|stage| taken.next_if_eq(&stage).is_none());
            buckets.push(bucket);
        }
        if !rest.is_empty() {
            buckets.push(rest);
        }
        Buckets { stages: buckets }
    }
}

/// For each pair of stages, how many tasks they have as a common beginning.
struct Shared {
    count: usize,
    weights: Vec<i64>,
}

impl Shared {
    fn new(stages: &Stages) -> Shared {
        let mut weights = Vec::with_capacity(stages.len() * stages.len());
        for one in stages.rows() {
            weights.extend(stages.rows().map(|other| {
                let pairs = one.iter().zip(other);
                pairs.take_while(|(one, other)| one == other).count() as i64
            }));
        }
        Shared {
            count: stages.len(),
            weights,
        }
    }

    fn between(&self, one: u32, other: u32) -> i64 {
        self.weights[one as usize * self.count + other as usize]
    }

    /// Cuts a part of at least two stages in two where that loses least. The earliest stage is in the first part.
    ///
    /// This is the algorithm of Stoer and Wagner (1997): in each phase vertices are lined up, each time the one that
    /// is attached most to those in line. The last one is a cut that is cheapest among those that part it from the
    /// last but one; the two become one vertex, and the next phase begins. The line begins with the last vertex and
    /// prefers late ones, so that early ones come to its end.
    fn cut(&self, part: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let mut count = part.len();
        let stride = count;
        let mut weights: Vec<i64> = Vec::with_capacity(stride * stride);
        for one in part {
            weights.extend(part.iter().map(|other| self.between(*one, *other)));
        }
        // No cut loses less: it parts at least `count − 1` pairs.
        let least = weights
            .iter()
            .min()
            .map_or(0, |least| least * (count as i64 - 1));
        // The positions in the part that each vertex has come to consist of.
        let mut vertices: Vec<Vec<usize>> = (0..count).map(|position| vec![position]).collect();
        let mut best = (i64::MAX, Vec::new());
        while count > 1 && best.0 > least {
            let ([before, last], loss) = line_up(&weights, stride, count);
            if loss < best.0 {
                best = (loss, vertices[last].clone());
            }
            // The one vertex stands where the earlier of the two stood.
            let (stays, goes) = (before.min(last), before.max(last));
            for other in 0..count {
                let added = weights[goes * stride + other];
                weights[stays * stride + other] += added;
                weights[other * stride + stays] += added;
            }
            weights[stays * stride + stays] = 0;
            for row in 0..count {
                let row = row * stride;
                weights.copy_within(row + goes + 1..row + count, row + goes);
            }
            weights.copy_within((goes + 1) * stride..count * stride, goes * stride);
            let gone = vertices.remove(goes);
            vertices[stays].extend(gone);
            count -= 1;
        }
        let mut removed = vec![false; part.len()];
        for position in best.1 {
            removed[position] = true;
        }
        let side = |side: bool| {
            let stages = part.iter().zip(&removed);
            let stages = stages.filter(|(_, removed)| **removed == side);
            stages.map(|(stage, _)| *stage).collect()
        };
        (side(removed[0]), side(!removed[0]))
    }
}

/// The last two vertices in line, and how much the last one is attached to all others. Rows are `stride` apart.
fn line_up(weights: &[i64], stride: usize, count: usize) -> ([usize; 2], i64) {
    // Far below what any sum of weights could raise it to.
    const IN_LINE: i64 = i64::MIN / 2;
    let mut attached = vec![0; count];
    let mut last_two = [0, count - 1];
    let mut loss = 0;
    for placed in 1..=count {
        let [_, last] = last_two;
        loss = attached[last];
        attached[last] = IN_LINE;
        if placed == count {
            break;
        }
        let row = &weights[last * stride..][..count];
        let mut most = IN_LINE;
        for (attached, weight) in attached.iter_mut().zip(row) {
            *attached += weight;
            most = most.max(*attached);
        }
        let next = attached.iter().rposition(|attached| *attached == most);
        last_two = [last, next.unwrap_or(last)];
    }
    (last_two, loss)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Figure 9 of the paper: a row for each stage, a number for each parameter; task i reads parameter i.
    fn figure_9() -> Stages {
        let parameters = [
            [5, 6, 2, 3, 7, 1],
            [5, 6, 2, 3, 3, 4],
            [5, 9, 3, 1, 3, 8],
            [5, 6, 2, 5, 7, 3],
            [5, 6, 2, 5, 7, 8],
        ];
        let mut tasks: Vec<&[u32]> = Vec::new();
        let mut cells = Vec::new();
        for row in &parameters {
            for end in 1..=row.len() {
                let known = tasks.iter().position(|task| *task == &row[..end]);
                cells.push(known.unwrap_or(tasks.len()) as u32);
                tasks.push(&row[..end]);
            }
        }
        Stages::new(6, cells)
    }

    #[test]
    fn figure_9_weighs_what_is_shared() {
        let shared = Shared::new(&figure_9());
        let [a, b, c, d, e] = [0, 1, 2, 3, 4];
        let pairs = [
            (a, b),
            (a, c),
            (a, d),
            (a, e),
            (b, c),
            (b, d),
            (b, e),
            (c, d),
            (c, e),
            (d, e),
        ];
        let weights = pairs.map(|(one, other)| shared.between(one, other));
        assert_eq!(weights, [4, 1, 3, 3, 1, 3, 3, 1, 1, 5]);
    }

    #[test]
    fn figure_9_removes_c_then_a_then_b() {
        let shared = Shared::new(&figure_9());
        assert_eq!(shared.cut(&[0, 1, 2, 3, 4]), (vec![0, 1, 3, 4], vec![2]));
        // Without a or without b 10 are lost; the earlier one goes.
        assert_eq!(shared.cut(&[0, 1, 3, 4]), (vec![0], vec![1, 3, 4]));
        assert_eq!(shared.cut(&[1, 3, 4]), (vec![1], vec![3, 4]));
        assert_eq!(shared.cut(&[0, 1, 2]), (vec![0, 1], vec![2]));
        let buckets = SmartCut { max_bucket_size: 2 };
        let buckets = buckets.merge(&figure_9(), &Tree::new(&figure_9()), &[]);
        assert_eq!(buckets.stages, [vec![3, 4], vec![0, 1], vec![2]]);
    }

    #[test]
    fn stages_that_share_nothing_leave_in_the_order_given() {
        let stages = Stages::new(1, vec![4, 5, 6, 7, 8]);
        let buckets = SmartCut { max_bucket_size: 2 };
        let buckets = buckets.merge(&stages, &Tree::new(&stages), &[]);
        assert_eq!(buckets.stages, [vec![3, 4], vec![1, 2], vec![0]]);
    }

    /// Three pairs that share two tasks, all share one: without any one stage 6 are lost, without a pair 8.
    #[test]
    fn of_equal_cuts_the_first_stage_leaves() {
        let cells = (0..6).flat_map(|stage| [0, 1 + stage / 2, 4 + stage]);
        let shared = Shared::new(&Stages::new(3, cells.collect()));
        let parts = shared.cut(&[0, 1, 2, 3, 4, 5]);
        assert_eq!(parts, (vec![0], vec![1, 2, 3, 4, 5]));
    }

    fn loss(weights: &[i64], count: usize, inside: impl Fn(usize) -> bool) -> i64 {
        let pairs = (0..count).flat_map(|one| (0..count).map(move |other| (one, other)));
        let parted = pairs.filter(|(one, other)| inside(*one) && !inside(*other));
        parted
            .map(|(one, other)| weights[one * count + other])
            .sum()
    }

    proptest! {
        /// Any symmetric weights, not only those of common beginnings.
        #[test]
        fn no_cut_loses_less(
            count in 2..8_usize,
            least in 0..4_i64,
            values in prop::collection::vec(0..4_i64, 28),
        ) {
            let mut values = values.into_iter();
            // A stage shares at least as much with itself as with any other.
            let mut weights = vec![6; count * count];
            for one in 0..count {
                for other in 0..one {
                    let value = least + values.next().unwrap_or(0);
                    weights[one * count + other] = value;
                    weights[other * count + one] = value;
                }
            }
            let part: Vec<u32> = (0..count as u32).collect();
            let shared = Shared { count, weights };
            let (one, other) = shared.cut(&part);
            let mut both = [one.clone(), other.clone()].concat();
            both.sort_unstable();
            prop_assert_eq!(&both, &part);
            prop_assert!(one[0] == 0 && !other.is_empty());
            let found = loss(&shared.weights, count, |at| one.contains(&(at as u32)));
            let least = (1..1_usize << (count - 1))
                .map(|sides| loss(&shared.weights, count, |at| sides >> at & 1 == 1))
                .min();
            prop_assert_eq!(Some(found), least);
        }
    }
}

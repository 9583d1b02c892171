//! The objective along each parameter: what it is where the parameter has a certain value, whatever the others have.
//!
//! Law: every evaluation with a value counts once for each parameter. A course is a function of the sets and the values
//! of the objective alone; values that are many are put together, neighbour with neighbour.

use headwater_graph::Scalar;

use crate::instances::Varied;
use headwater_report::study::CoursePoint;

/// A course has at most so many points of single values; more are put together.
const POINTS: usize = 24;

/// How many points a course has whose values are put together.
const TOGETHER: usize = 12;

/// The courses of all parameters; `values` is the objective by item, then by set.
pub(crate) fn courses(varied: &Varied, values: &[Vec<Option<f64>>]) -> Vec<Vec<CoursePoint>> {
    let width = varied.names.len();
    let along = |column: usize| {
        let mut found: Vec<Vec<f64>> = vec![Vec::new(); varied.values[column].len()];
        for item in values {
            for (set, value) in item.iter().enumerate().take(varied.sets) {
                if let Some(value) = value.filter(|value| value.is_finite()) {
                    found[varied.cells[set * width + column] as usize].push(value);
                }
            }
        }
        course(&varied.values[column], found)
    };
    (0..width).map(along).collect()
}

/// The number that a value is, where it is one.
fn number(value: &Scalar) -> Option<f64> {
    match value {
        Scalar::Int(number) => Some(*number as f64),
        Scalar::Float(number) => Some(*number),
        Scalar::Bool(_) | Scalar::Text(_) => None,
    }
}

/// Values with what the objective is at each.
fn course(values: &[Scalar], found: Vec<Vec<f64>>) -> Vec<CoursePoint> {
    let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
    let is_numbers = numbers.is_some();
    let mut places = numbers.unwrap_or_default();
    if !is_numbers {
        places = (0..values.len()).map(|place| place as f64).collect();
    }
    // The name of the value, its place, and the objective there.
    let mut rows: Vec<(String, f64, Vec<f64>)> = values
        .iter()
        .zip(places)
        .zip(found)
        .filter(|(_, found)| !found.is_empty())
        .map(|((value, place), found)| (value.to_string(), place, found))
        .collect();
    rows.sort_by(|one, other| one.1.total_cmp(&other.1));
    if rows.len() > POINTS && is_numbers {
        rows = together(rows);
    }
    rows.truncate(POINTS);
    rows.into_iter().map(point).collect()
}

/// Neighbouring numbers as one, in parts of the range that are equally long.
fn together(rows: Vec<(String, f64, Vec<f64>)>) -> Vec<(String, f64, Vec<f64>)> {
    let (low, high) = (rows[0].1, rows[rows.len() - 1].1);
    let part = |place: f64| {
        let part = (place - low) / (high - low) * TOGETHER as f64;
        (part as usize).min(TOGETHER - 1)
    };
    rows.chunk_by(|one, other| part(one.1) == part(other.1))
        .map(|chunk| {
            let (first, last) = (&chunk[0], &chunk[chunk.len() - 1]);
            let name = match chunk {
                [only] => only.0.clone(),
                _ => format!("{} to {}", shortly(first.1), shortly(last.1)),
            };
            let values: Vec<f64> = chunk.iter().flat_map(|row| row.2.iter().copied()).collect();
            (name, (first.1 + last.1) / 2.0, values)
        })
        .collect()
}

/// A number that was drawn, without the digits that say nothing.
fn shortly(number: f64) -> String {
    headwater_report::page::text::short(number)
}

fn point((value, at, mut found): (String, f64, Vec<f64>)) -> CoursePoint {
    found.sort_by(f64::total_cmp);
    let quantile = |part: f64| {
        let place = part * (found.len() - 1) as f64;
        let (below, rest) = (place.floor() as usize, place.fract());
        let above = (below + 1).min(found.len() - 1);
        found[below] + (found[above] - found[below]) * rest
    };
    CoursePoint {
        value,
        at,
        evaluations: found.len(),
        mean: found.iter().sum::<f64>() / found.len() as f64,
        quartiles: (quantile(0.25), quantile(0.75)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varied(values: Vec<Scalar>, cells: &[u32]) -> Varied {
        Varied {
            names: vec!["p".into()],
            values: vec![values],
            cells: cells.to_vec(),
            sets: cells.len(),
        }
    }

    #[test]
    fn each_value_has_the_mean_and_the_middle_half_of_what_was_found_there() {
        let sets = varied(vec![Scalar::Int(8), Scalar::Int(4)], &[0, 1, 0, 1, 0]);
        let one = vec![Some(1.0), Some(5.0), Some(3.0), None, Some(2.0)];
        let other = vec![Some(4.0), Some(7.0), Some(5.0), Some(6.0), None];
        let found = courses(&sets, &[one, other]);
        let shown: Vec<_> = found[0]
            .iter()
            .map(|point| (&*point.value, point.at, point.evaluations, point.mean))
            .collect();
        assert_eq!(shown, [("4", 4.0, 3, 6.0), ("8", 8.0, 5, 3.0)]);
        assert_eq!(found[0][1].quartiles, (2.0, 4.0));
    }

    #[test]
    fn words_keep_their_order_and_many_numbers_are_put_together() {
        let words = vec![Scalar::Text("b".into()), Scalar::Text("a".into())];
        let found = courses(&varied(words, &[1, 0]), &[vec![Some(1.0), Some(2.0)]]);
        assert_eq!(found[0][0].value, "b");
        assert_eq!((found[0][1].at, found[0][1].mean), (1.0, 1.0));
        let numbers: Vec<Scalar> = (0..48).map(|number| Scalar::Float(number.into())).collect();
        let cells: Vec<u32> = (0..48).collect();
        let values = vec![(0..48).map(|set| Some(f64::from(set))).collect()];
        let found = &courses(&varied(numbers, &cells), &values)[0];
        assert_eq!(found.len(), TOGETHER);
        assert_eq!(
            found.iter().map(|point| point.evaluations).sum::<usize>(),
            48
        );
        assert_eq!(
            (&*found[0].value, found[0].at, found[0].mean),
            ("0 to 3", 1.5, 1.5)
        );
    }
}

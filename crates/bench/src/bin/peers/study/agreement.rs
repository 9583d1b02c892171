//! Whether two studies found the same.
//!
//! Law: masks agree by their Dice, values by their correlation, answers by the order of the leading parameters; a
//! figure that could not be had (not a number) agrees with nothing.

use std::error::Error;

use headwater_bench::{Bar, Claims};
use serde_json::Value;

/// The least Dice between two masks of the same parameter set.
const LEAST_DICE: f64 = 0.97;
/// The least correlation of the values.
const LEAST_CORRELATION: f64 = 0.99;
/// How many parameters have to lead in the same order.
const LEADING: usize = 3;

/// How the Python side agrees with Headwater.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Agreement {
    /// The Dice of each pair of masks that was compared.
    dice: Vec<f64>,
    /// The correlation of the values, over all sets.
    correlation: f64,
    /// The largest difference of two values of the same set.
    largest: f64,
    /// How many parameters lead in the same order.
    leading: usize,
    /// The leading parameters of Headwater.
    leaders: Vec<String>,
}

impl Agreement {
    /// From the Dice of masks, the delivered values and the results of Headwater, and the results of Python.
    pub(crate) fn new(
        dice: Vec<f64>,
        values: &str,
        ours: &Value,
        theirs: &Value,
    ) -> Result<Agreement, Box<dyn Error>> {
        let mine: Vec<f64> = values
            .lines()
            .skip(1)
            .map(|line| line.rsplit(',').next().unwrap_or_default().parse())
            .collect::<Result<_, _>>()?;
        let other: Vec<f64> = serde_json::from_value(theirs["values"].clone())?;
        if mine.len() != other.len() {
            return Err(format!(
                "{} values of headwater and {} of Python",
                mine.len(),
                other.len()
            )
            .into());
        }
        let leaders: Vec<String> = serde_json::from_value(ours["ranking"].clone())?;
        let leaders: Vec<String> = leaders.into_iter().take(LEADING).collect();
        let names: Vec<String> = serde_json::from_value(theirs["names"].clone())?;
        let sizes: Vec<f64> = serde_json::from_value(theirs["mu_star"].clone())?;
        let ranked = ranking(&names, &sizes);
        Ok(Agreement {
            dice,
            correlation: correlation(&mine, &other),
            largest: mine
                .iter()
                .zip(&other)
                .map(|(one, two)| (one - two).abs())
                .fold(0.0, f64::max),
            leading: leaders
                .iter()
                .zip(ranked)
                .take_while(|(one, two)| one == two)
                .count(),
            leaders,
        })
    }

    /// The least Dice.
    fn least(&self) -> f64 {
        self.dice.iter().copied().reduce(lesser).unwrap_or(f64::NAN)
    }

    /// Whether the two are comparable; why not.
    pub(crate) fn verdict(&self) -> Result<(), String> {
        if self.least() >= LEAST_DICE
            && self.correlation >= LEAST_CORRELATION
            && self.leading >= LEADING
        {
            return Ok(());
        }
        Err(format!("not comparable: {}", self.text()))
    }

    /// The one that agrees least of several.
    pub(crate) fn worst(all: &[Agreement]) -> Option<Agreement> {
        let mut worst = all.first()?.clone();
        for one in all {
            worst.dice.extend(&one.dice);
            worst.correlation = lesser(worst.correlation, one.correlation);
            worst.largest = worst.largest.max(one.largest);
            worst.leading = worst.leading.min(one.leading);
        }
        Some(worst)
    }

    /// The claims that the two sides are comparable.
    pub(crate) fn claim(&self, claims: &mut Claims) {
        claims.claim(
            "study: masks of both sides",
            self.least(),
            "least Dice",
            Bar::AtLeast(LEAST_DICE),
        );
        let what = "study: values of both sides";
        claims.claim(
            what,
            self.correlation,
            "correlation",
            Bar::AtLeast(LEAST_CORRELATION),
        );
        let what = "study: leading parameters in the same order";
        claims.claim(
            what,
            self.leading as f64,
            "parameters",
            Bar::AtLeast(LEADING as f64),
        );
    }

    /// The figures.
    pub(crate) fn text(&self) -> String {
        format!(
            "Python against headwater: Dice of their masks at least {:.4}, values correlated by {:.6} and at most {:.5} apart, \
             {} of the {LEADING} leading parameters ({}) in the same order",
            self.least(),
            self.correlation,
            self.largest,
            self.leading,
            self.leaders.join(", "),
        )
    }
}

/// The lesser of two; not a number is less than any.
fn lesser(one: f64, two: f64) -> f64 {
    if two < one || two.is_nan() { two } else { one }
}

/// Names by their figures, the largest first; equal ones as they came.
fn ranking<'a>(names: &'a [String], sizes: &[f64]) -> Vec<&'a String> {
    let mut order: Vec<(&String, f64)> = names.iter().zip(sizes.iter().copied()).collect();
    order.sort_by(|one, two| two.1.total_cmp(&one.1));
    order.into_iter().map(|(name, _)| name).collect()
}

/// The correlation of two rows of numbers; not a number where one of them does not vary.
fn correlation(one: &[f64], two: &[f64]) -> f64 {
    let mean = |row: &[f64]| row.iter().sum::<f64>() / row.len() as f64;
    let (first, second) = (mean(one), mean(two));
    let (mut both, mut left, mut right) = (0.0, 0.0, 0.0);
    for (a, b) in one.iter().zip(two) {
        both += (a - first) * (b - second);
        left += (a - first).powi(2);
        right += (b - second).powi(2);
    }
    both / (left * right).sqrt()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Agreement, correlation};

    fn agreement(dice: f64, theirs: [f64; 4], sizes: [f64; 4]) -> Agreement {
        let ours = json!({"ranking": ["G2", "G1", "ReconConn", "B"]});
        let theirs =
            json!({"values": theirs, "names": ["B", "G1", "G2", "ReconConn"], "mu_star": sizes});
        Agreement::new(
            vec![1.0, dice],
            "set,dice\n0,0.1\n1,0.2\n2,0.3\n3,0.7\n",
            &ours,
            &theirs,
        )
        .unwrap()
    }

    const SAME: [f64; 4] = [0.1, 0.2, 0.3, 0.7];
    const ORDER: [f64; 4] = [0.0, 0.3, 0.5, 0.1];

    #[test]
    fn the_same_is_comparable() {
        let same = agreement(0.98, SAME, ORDER);
        assert_eq!(same.verdict(), Ok(()));
        assert_eq!((same.leading, same.largest), (3, 0.0));
        assert!((same.correlation - 1.0).abs() < 1e-12);
    }

    #[test]
    fn each_of_the_three_figures_can_fall_short() {
        for other in [
            agreement(0.96, SAME, ORDER),
            agreement(1.0, [0.1, 0.2, 0.7, 0.3], ORDER),
            agreement(1.0, SAME, [0.0, 0.3, 0.5, 0.4]),
            agreement(1.0, [0.5; 4], ORDER),
            agreement(f64::NAN, SAME, ORDER),
        ] {
            let verdict = other.verdict();
            assert!(
                verdict
                    .as_ref()
                    .is_err_and(|reason| reason.starts_with("not comparable")),
                "{other:?}"
            );
        }
    }

    #[test]
    fn the_worst_of_several_has_the_worst_figure_of_each_kind() {
        let all = [
            agreement(0.98, SAME, ORDER),
            agreement(0.99, SAME, [0.9, 0.3, 0.5, 0.1]),
        ];
        let worst = Agreement::worst(&all).unwrap();
        assert_eq!((worst.least(), worst.leading), (0.98, 0));
        assert_eq!(Agreement::worst(&[]), None);
    }

    #[test]
    fn values_that_are_missing_are_an_error() {
        let ours = json!({"ranking": ["G2"]});
        let theirs = json!({"values": [0.1], "names": ["G2"], "mu_star": [1.0]});
        assert!(Agreement::new(Vec::new(), "set,dice\n0,0.1\n1,\n", &ours, &theirs).is_err());
        assert!(Agreement::new(Vec::new(), "set,dice\n0,0.1\n1,0.2\n", &ours, &theirs).is_err());
    }

    #[test]
    fn correlation_has_a_sign() {
        assert!((correlation(&[1.0, 2.0, 3.0], &[6.0, 4.0, 2.0]) + 1.0).abs() < 1e-12);
        assert!(correlation(&[1.0, 1.0], &[1.0, 2.0]).is_nan());
    }
}

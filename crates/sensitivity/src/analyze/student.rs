//! Quantiles of the normal distribution and of Student's.
//!
//! Law: the same bits on every machine, so that only `libm` and exact operations are used. Both quantiles rise with the
//! probability, and Student's falls with the degrees of freedom towards the normal one.

use core::f64::consts::{FRAC_2_PI, FRAC_PI_2, PI, SQRT_2};

/// Up to so many degrees of freedom the distribution is summed up exactly; beyond, the expansion is exact to 1e-9.
const SUMMED: usize = 200;

/// The t for which a number with Student's distribution lies in ±t with this probability, above 0 and below 1. Not a
/// number without degrees of freedom.
pub(super) fn two_sided(probability: f64, degrees: usize) -> f64 {
    match degrees {
        0 => f64::NAN,
        1..=SUMMED => summed(probability, degrees),
        _ => expanded(normal(probability), degrees as f64),
    }
}

/// Halves the angle whose tangent is t ÷ √degrees until it cannot be told any better.
fn summed(probability: f64, degrees: usize) -> f64 {
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return libm::tan(low) * (degrees as f64).sqrt();
        }
        if within(middle, degrees) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The probability of ±t, where the angle has the tangent t ÷ √degrees (M. Abramowitz and I. A. Stegun, Handbook of
/// mathematical functions, 1964, 26.7.3 and 26.7.4).
fn within(angle: f64, degrees: usize) -> f64 {
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let squared = cosine * cosine;
    let odd = degrees % 2 == 1;
    // Of odd degrees the powers are 1, 3, 5 …, of even ones 0, 2, 4 …, all below degrees − 1.
    let mut term = if odd { cosine } else { 1.0 };
    let mut power = usize::from(odd);
    let mut sum = 0.0;
    while power + 1 < degrees {
        sum += term;
        term *= squared * (power + 1) as f64 / (power + 2) as f64;
        power += 2;
    }
    if odd {
        FRAC_2_PI * (angle + sine * sum)
    } else {
        sine * sum
    }
}

/// From the normal quantile (Abramowitz and Stegun, 26.7.5).
fn expanded(z: f64, degrees: f64) -> f64 {
    let square = z * z;
    let terms = [
        (square + 1.0) / 4.0,
        ((5.0 * square + 16.0) * square + 3.0) / 96.0,
        (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0,
        ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0)
            / 92_160.0,
    ];
    let beyond = terms
        .iter()
        .rev()
        .fold(0.0, |beyond, term| (beyond + term) / degrees);
    z * (1.0 + beyond)
}

/// The z for which a standard normal number lies in ±z with this probability.
///
/// Newton's steps from 0: on this side the tail is a convex function of z, so that they rise to the root and never
/// pass it.
fn normal(probability: f64) -> f64 {
    let tail = 1.0 - probability;
    let mut z = 0.0;
    for _ in 0..200 {
        let excess = libm::erfc(z / SQRT_2) - tail;
        let slope = 2.0 * libm::exp(-0.5 * z * z) / (2.0 * PI).sqrt();
        let next = z + excess / slope;
        if next <= z {
            break;
        }
        z = next;
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        for (probability, z) in [
            (0.5, 0.674_489_750_196_081_7),
            (0.9, 1.644_853_626_951_472_7),
            (0.95, 1.959_963_984_540_054),
            (0.99, 2.575_829_303_548_900_4),
            (0.999_999, 4.891_638_475_698_59),
        ] {
            let found = normal(probability);
            assert!((found - z).abs() < 1e-9, "{probability}: {found} not {z}");
        }
    }

    /// Probability, degrees of freedom, t.
    const QUANTILES: [(f64, usize, f64); 45] = [
        (0.5, 1, 1.000_000_000_000),
        (0.5, 2, 0.816_496_580_927),
        (0.5, 3, 0.764_892_328_404),
        (0.5, 7, 0.711_141_778_081),
        (0.5, 63, 0.678_403_961_057),
        (0.5, 200, 0.675_718_411_404),
        (0.5, 201, 0.675_712_288_830),
        (0.5, 1_000, 0.674_735_164_607),
        (0.5, 16_383, 0.674_504_725_461),
        (0.9, 1, 6.313_751_514_675),
        (0.9, 2, 2.919_985_580_353),
        (0.9, 3, 2.353_363_434_801),
        (0.9, 7, 1.894_578_605_090),
        (0.9, 63, 1.669_402_221_706),
        (0.9, 200, 1.652_508_100_910),
        (0.9, 201, 1.652_469_841_969),
        (0.9, 1_000, 1.646_378_817_285),
        (0.9, 16_383, 1.644_946_641_407),
        (0.95, 1, 12.706_204_736_174),
        (0.95, 2, 4.302_652_729_749),
        (0.95, 3, 3.182_446_305_283),
        (0.95, 7, 2.364_624_251_592),
        (0.95, 63, 1.998_340_542_520),
        (0.95, 200, 1.971_896_223_633),
        (0.95, 201, 1.971_836_506_779),
        (0.95, 1_000, 1.962_339_080_826),
        (0.95, 16_383, 1.960_108_795_839),
        (0.99, 1, 63.656_741_162_871),
        (0.99, 2, 9.924_843_200_918),
        (0.99, 3, 5.840_909_309_733),
        (0.99, 7, 3.499_483_297_350),
        (0.99, 63, 2.656_145_025_099),
        (0.99, 200, 2.600_634_436_191),
        (0.99, 201, 2.600_509_919_083),
        (0.99, 1_000, 2.580_754_698_065),
        (0.99, 16_383, 2.576_129_437_035),
        (0.999_999, 1, 636_619.772_278_072_3),
        (0.999_999, 2, 999.999_249_929_954),
        (0.999_999, 3, 130.154_589_552_292),
        (0.999_999, 7, 15.767_009_437_159),
        (0.999_999, 63, 5.420_029_671_000),
        (0.999_999, 200, 5.048_285_659_822),
        (0.999_999, 201, 5.047_484_992_265),
        (0.999_999, 1_000, 4.922_289_523_401),
        (0.999_999, 16_383, 4.893_499_853_480),
    ];

    /// By `scipy.stats.t.ppf` 1.17.
    #[test]
    fn quantiles_of_student_are_those_of_the_tables() {
        for (probability, degrees, t) in QUANTILES {
            let found = two_sided(probability, degrees);
            assert!(
                (found / t - 1.0).abs() < 1e-8,
                "{probability} of {degrees}: {found} not {t}"
            );
        }
        assert!(two_sided(0.95, 0).is_nan());
    }

    #[test]
    fn quantiles_rise_with_the_probability_and_fall_with_the_degrees() {
        let all = [0.01, 0.5, 0.9, 0.95, 0.99, 0.9999, 1.0 - 1e-12];
        for degrees in [1, 2, 3, 10, 199, 200, 201, 1000, 1_000_000] {
            let rising = all.map(|probability| two_sided(probability, degrees));
            assert!(
                rising.is_sorted_by(|one, other| one < other && other.is_finite()),
                "{degrees}: {rising:?}"
            );
            let fewer = all.map(|probability| two_sided(probability, degrees + 1));
            for (many, few) in fewer.iter().zip(rising) {
                assert!(*many <= few, "{degrees}: {many} then {few}");
            }
        }
    }
}

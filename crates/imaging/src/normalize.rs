//! Colour normalization: the stain of an image brought to a target's mean and spread in the lαβ colour space.
//!
//! Law: the result is a function of the image and the [`Target`] alone, the same bits on every machine. Each step has
//! the precision of the research code (single, with sums in double); logarithms and powers come from `libm`, no
//! multiplication and addition are fused, and the sums run in raster order.
//!
//! After the statistics every step is a function of one pixel's colour. Equal colours repeat in real images, so both
//! passes look up the colour in a small direct-mapped table first. An entry holds what the computation gave for
//! exactly that colour, so the table changes the time and never the result.
//!
//! Two things look odd and are what the reference does. The statistics count a foreground pixel only where
//! `l·α·β > 0`. Where no pixel counts, mean and spread are not numbers, and the foreground becomes black.

use crate::{Colour, Plane, View};

/// The colour statistics that an image is brought to: mean and standard deviation of l, α and β.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// Mean of l, α, β.
    pub mean: [f32; 3],
    /// Standard deviation of l, α, β.
    pub std: [f32; 3],
}

impl Default for Target {
    /// The target of the nuclei workflow.
    fn default() -> Target {
        Target {
            mean: [-0.632_356, -0.051_600_4, 0.037_654_3],
            std: [0.262_35, 0.051_483_1, 0.011_421_7],
        }
    }
}

/// `1/√3`, `1/√6` and `1/√2`, in single precision as the reference has them.
const THIRD: f32 = 0.577_350_26;
const SIXTH: f32 = 0.408_248_3;
const HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;

/// The image with the stain of the target.
pub fn normalize(image: View<Colour>, target: &Target) -> Plane<Colour> {
    let space = Space::new();
    let transfer = Transfer::new(&statistics(image, &space), target);
    let mut memo = Memo::new([0u8; 3], image.pixels().len());
    let pixels = image
        .pixels()
        .iter()
        .map(|&colour| memo.get(colour, || transfer.apply(&space, colour)))
        .collect();
    Plane::new(image.width(), image.height(), pixels)
        .unwrap_or_else(|| unreachable!("as many pixels as in the view"))
}

/// The way from colours to lαβ: the products of each channel's 256 values with their three coefficients.
struct Space {
    products: [Box<[[f64; 3]; 256]>; 3],
}

/// For each of red, green and blue its share in the responses of the long, medium and short cones.
const RESPONSES: [[f64; 3]; 3] = [
    [0.3811, 0.1967, 0.0241],
    [0.5783, 0.7244, 0.1288],
    [0.0402, 0.0782, 0.8444],
];

impl Space {
    fn new() -> Space {
        let products = RESPONSES.map(|shares| {
            let mut table = Box::new([[0.0; 3]; 256]);
            for (value, entry) in table.iter_mut().enumerate() {
                let scaled = f64::from(value as f32 / 255.0);
                *entry = shares.map(|share| share * scaled);
            }
            table
        });
        Space { products }
    }

    /// l, α, β of a colour; of black they are not finite.
    fn lab(&self, colour: Colour) -> [f32; 3] {
        let [red, green, blue] = [0, 1, 2].map(|c| &self.products[c][usize::from(colour[c])]);
        let [long, medium, short] =
            [0, 1, 2].map(|i| libm::log10f((red[i] + green[i] + blue[i]) as f32));
        [
            (long + medium + short) * THIRD,
            (long + medium - 2.0 * short) * SIXTH,
            (long - medium) * HALF,
        ]
    }
}

/// Whether a colour is tissue by the discriminant of the reference.
fn is_foreground([red, green, blue]: Colour) -> bool {
    let [red, green, blue] = [red, green, blue].map(f32::from);
    let first = -0.154 * red + 0.035 * green + 0.549 * blue - 45.718;
    let second = -0.057 * red - 0.817 * green + 1.170 * blue - 49.887;
    first < second
}

/// Mean and standard deviation of l, α, β; not numbers when no pixel counts.
struct Statistics {
    mean: [f64; 3],
    std: [f64; 3],
}

fn statistics(image: View<Colour>, space: &Space) -> Statistics {
    let mut memo = Memo::new(None, image.pixels().len());
    let mut count = 0u64;
    let mut sums = [0.0f64; 3];
    let mut squares = [0.0f64; 3];
    for &colour in image.pixels() {
        let counted = memo.get(colour, || {
            let lab = space.lab(colour);
            (is_foreground(colour) && lab[0] * lab[1] * lab[2] > 0.0).then_some(lab)
        });
        if let Some(lab) = counted {
            count += 1;
            for i in 0..3 {
                sums[i] += f64::from(lab[i]);
                squares[i] += f64::from(lab[i] * lab[i]);
            }
        }
    }
    let mean = sums.map(|sum| sum / count as f64);
    let std = [0, 1, 2].map(|i| (squares[i] / count as f64 - mean[i] * mean[i]).sqrt());
    Statistics { mean, std }
}

/// The change of l, α, β, and the way back to a colour.
struct Transfer {
    from: [f32; 3],
    factor: [f32; 3],
    to: [f32; 3],
}

impl Transfer {
    fn new(statistics: &Statistics, target: &Target) -> Transfer {
        Transfer {
            from: statistics.mean.map(|mean| mean as f32),
            factor: [0, 1, 2].map(|i| target.std[i] / statistics.std[i] as f32),
            to: target.mean,
        }
    }

    fn apply(&self, space: &Space, colour: Colour) -> Colour {
        let mut lab = space.lab(colour);
        if is_foreground(colour) {
            for (i, x) in lab.iter_mut().enumerate() {
                *x = (*x - self.from[i]) * self.factor[i] + self.to[i];
            }
        }
        let [l, alpha, beta] = [lab[0] * THIRD, lab[1] * SIXTH, lab[2] * HALF];
        let [long, medium, short] =
            [l + alpha + beta, l + alpha - beta, l - 2.0 * alpha].map(|x| {
                let power = libm::exp10f(x);
                if power.is_finite() {
                    f64::from(power)
                } else {
                    0.0
                }
            });
        [
            4.4687 * long - 3.5887 * medium + 0.1196 * short,
            -1.2197 * long + 2.3831 * medium - 0.1626 * short,
            0.0585 * long - 0.2611 * medium + 1.2057 * short,
        ]
        // The cast cuts to 0..=255, and so rounds halves up.
        .map(|x| (x * 255.0 + 0.5) as u8)
    }
}

/// What a function gave for the colours seen lately: a direct-mapped table, each entry with the colour it is for.
struct Memo<T> {
    entries: Vec<(u32, T)>,
    shift: u32,
}

/// No colour: those have 24 bits.
const VACANT: u32 = u32::MAX;

impl<T: Copy> Memo<T> {
    /// An empty table for a number of pixels; `value` fills the entries that are vacant.
    fn new(value: T, pixels: usize) -> Memo<T> {
        // Small enough to stay near the processor; larger than the image would be a waste.
        let bits = pixels.max(2).ilog2().min(15);
        Memo {
            entries: vec![(VACANT, value); 1 << bits],
            shift: 32 - bits,
        }
    }

    #[inline]
    fn get(&mut self, [red, green, blue]: Colour, compute: impl FnOnce() -> T) -> T {
        let key = u32::from_le_bytes([red, green, blue, 0]);
        // Multiplicative hashing: near colours go to far entries.
        let entry = &mut self.entries[(key.wrapping_mul(0x9E37_79B1) >> self.shift) as usize];
        if entry.0 != key {
            *entry = (key, compute());
        }
        entry.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The normalization as the specification says it, pixel by pixel with nothing remembered.
    fn naive(image: View<Colour>, target: &Target) -> Vec<Colour> {
        let lab = |[red, green, blue]: Colour| {
            let scaled = [red, green, blue].map(|x| f64::from(f32::from(x) / 255.0));
            let dot = |a: f64, b: f64, c: f64| {
                libm::log10f((a * scaled[0] + b * scaled[1] + c * scaled[2]) as f32)
            };
            let l = dot(0.3811, 0.5783, 0.0402);
            let m = dot(0.1967, 0.7244, 0.0782);
            let s = dot(0.0241, 0.1288, 0.8444);
            [
                (l + m + s) * (1.0 / 3f64.sqrt()) as f32,
                (l + m - 2.0 * s) * (1.0 / 6f64.sqrt()) as f32,
                (l - m) * (1.0 / 2f64.sqrt()) as f32,
            ]
        };
        let counted: Vec<[f32; 3]> = image
            .pixels()
            .iter()
            .filter(|&&colour| is_foreground(colour))
            .map(|&colour| lab(colour))
            .filter(|lab| lab[0] * lab[1] * lab[2] > 0.0)
            .collect();
        let n = counted.len() as f64;
        let mean = [0, 1, 2].map(|i| counted.iter().fold(0.0, |sum, x| sum + f64::from(x[i])) / n);
        let std = [0, 1, 2].map(|i| {
            let square = counted
                .iter()
                .fold(0.0, |sum, x| sum + f64::from(x[i] * x[i]));
            (square / n - mean[i] * mean[i]).sqrt()
        });
        let transfer = Transfer::new(&Statistics { mean, std }, target);
        let space = Space::new();
        image
            .pixels()
            .iter()
            .map(|&colour| transfer.apply(&space, colour))
            .collect()
    }

    #[test]
    fn constants_are_the_nearest_singles() {
        assert_eq!(THIRD, (1.0 / 3f64.sqrt()) as f32);
        assert_eq!(SIXTH, (1.0 / 6f64.sqrt()) as f32);
        assert_eq!(HALF, (1.0 / 2f64.sqrt()) as f32);
    }

    #[test]
    fn an_empty_image_stays_empty() {
        for (width, height) in [(0, 0), (0, 3), (3, 0)] {
            let image = Plane::filled(width, height, [0u8; 3]);
            let normalized = normalize(image.view(), &Target::default());
            assert_eq!((normalized.width(), normalized.height()), (width, height));
        }
    }

    #[test]
    fn foreground_without_statistics_becomes_black_and_background_stays() {
        // White is background; this red is foreground, but l·α·β is negative.
        let red = [200, 10, 20];
        let white = [255, 255, 255];
        assert!(is_foreground(red) && !is_foreground(white));
        let image = Plane::new(3, 1, vec![red, white, red]).unwrap();
        let normalized = normalize(image.view(), &Target::default());
        assert_eq!(normalized.pixels()[0], [0; 3]);
        assert_eq!(normalized.pixels()[2], [0; 3]);
        for (after, before) in normalized.pixels()[1].iter().zip(white) {
            assert!(after.abs_diff(before) <= 1);
        }
    }

    #[test]
    fn black_is_black() {
        let image = Plane::filled(4, 4, [0u8; 3]);
        let normalized = normalize(image.view(), &Target::default());
        assert_eq!(normalized, image);
    }

    proptest! {
        #[test]
        fn remembering_changes_no_bit(
            width in 1usize..40,
            colours in prop::collection::vec(any::<Colour>(), 1..400),
        ) {
            // Each colour twice and far apart, so that the table is hit, and overwritten in between.
            let mut pixels = colours.clone();
            pixels.extend(colours);
            pixels.truncate(pixels.len() / width * width);
            let image = Plane::new(width, pixels.len() / width, pixels).unwrap();
            let target = Target::default();
            let normalized = normalize(image.view(), &target);
            prop_assert_eq!(normalized.pixels(), naive(image.view(), &target));
        }
    }
}

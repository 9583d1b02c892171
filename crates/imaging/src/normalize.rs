//! Colour normalization: the stain of an image brought to a target's mean and spread in the lαβ colour space.
//!
//! Law: the result is a function of the image and the [`Target`] alone, the same bits on every machine. Each step has
//! the precision of the research code (single, with sums in double); logarithms and powers come from `libm`, no
//! multiplication and addition are fused, and the sums run in raster order.
//!
//! After the statistics every step is a function of one pixel's colour, and real images have far fewer colours than
//! pixels. So logarithms and powers are taken once for each colour that occurs; pixels then look theirs up.
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
    let palette = Palette::of(image.pixels());
    let space = Space::new();
    let labs: Vec<Lab> = palette
        .colours
        .iter()
        .map(|&colour| space.lab(colour))
        .collect();
    let statistics = statistics(image.pixels(), &palette, &labs);
    let transfer = Transfer::new(&statistics, target);
    let normalized: Vec<Colour> = palette
        .colours
        .iter()
        .zip(labs)
        .map(|(&colour, lab)| transfer.apply(colour, lab))
        .collect();
    let pixels = image
        .pixels()
        .iter()
        .map(|&colour| normalized[palette.index(colour)])
        .collect();
    Plane::new(image.width(), image.height(), pixels)
        .unwrap_or_else(|| unreachable!("as many pixels as in the view"))
}

/// l, α and β; of black they are not finite.
type Lab = [f32; 3];

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

    fn lab(&self, colour: Colour) -> Lab {
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

fn statistics(pixels: &[Colour], palette: &Palette, labs: &[Lab]) -> Statistics {
    // A colour that does not count adds zeros, which change no sum; the fourth number is how often it counts.
    let terms: Vec<[f32; 4]> = palette
        .colours
        .iter()
        .zip(labs)
        .map(|(&colour, &[l, alpha, beta])| {
            if is_foreground(colour) && l * alpha * beta > 0.0 {
                [l, alpha, beta, 1.0]
            } else {
                [0.0; 4]
            }
        })
        .collect();
    let mut sums = [0.0f64; 4];
    let mut squares = [0.0f64; 4];
    for &colour in pixels {
        let term = terms[palette.index(colour)];
        for i in 0..4 {
            sums[i] += f64::from(term[i]);
            squares[i] += f64::from(term[i] * term[i]);
        }
    }
    let count = sums[3];
    let mean = [0, 1, 2].map(|i| sums[i] / count);
    let std = [0, 1, 2].map(|i| (squares[i] / count - mean[i] * mean[i]).sqrt());
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

    fn apply(&self, colour: Colour, mut lab: Lab) -> Colour {
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

/// The colours that occur, numbered in the order of their red, green and blue.
struct Palette {
    /// One for each red, green and quarter of the blues.
    groups: Vec<Group>,
    colours: Vec<Colour>,
}

/// Which of 64 neighbouring blues occur, and how many colours occur before them.
#[derive(Clone, Copy)]
struct Group {
    present: u64,
    before: u32,
}

impl Palette {
    fn of(pixels: &[Colour]) -> Palette {
        let empty = Group {
            present: 0,
            before: 0,
        };
        let mut groups = vec![empty; 1 << 18];
        for &colour in pixels {
            let (group, blue) = Palette::place(colour);
            groups[group].present |= 1 << blue;
        }
        let mut colours = Vec::new();
        for (first, group) in (0u32..).step_by(64).zip(&mut groups) {
            group.before = colours.len() as u32;
            let mut rest = group.present;
            while rest != 0 {
                let [_, red, green, blue] = (first + rest.trailing_zeros()).to_be_bytes();
                colours.push([red, green, blue]);
                rest &= rest - 1;
            }
        }
        Palette { groups, colours }
    }

    fn place([red, green, blue]: Colour) -> (usize, u32) {
        let key = u32::from_be_bytes([0, red, green, blue]);
        ((key >> 6) as usize, key & 63)
    }

    /// The number of a colour that occurs.
    #[inline]
    fn index(&self, colour: Colour) -> usize {
        let (group, blue) = Palette::place(colour);
        let Group { present, before } = self.groups[group];
        (before + (present & ((1 << blue) - 1)).count_ones()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Synth, SynthOptions};
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
            .map(|&colour| transfer.apply(colour, space.lab(colour)))
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
    fn the_same_bytes_everywhere() {
        let tissue = Synth::new(160, 120, 11, SynthOptions::default()).unwrap();
        let (image, _) = tissue.band(0, 120);
        let normalized = normalize(image.view(), &Target::default());
        let digest = normalized
            .pixels()
            .as_flattened()
            .iter()
            .fold(0xCBF2_9CE4_8422_2325u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
            });
        assert_eq!(digest, 0xE8B3_4D0B_7605_F9F0);
    }

    #[test]
    fn the_target_is_its_own_target() {
        let tissue = Synth::new(160, 120, 11, SynthOptions::default()).unwrap();
        let (image, _) = tissue.band(0, 120);
        let palette = Palette::of(image.pixels());
        let space = Space::new();
        let labs: Vec<Lab> = palette.colours.iter().map(|&c| space.lab(c)).collect();
        let statistics = statistics(image.pixels(), &palette, &labs);
        let target = Target {
            mean: statistics.mean.map(|mean| mean as f32),
            std: statistics.std.map(|std| std as f32),
        };
        let normalized = normalize(image.view(), &target);
        let pairs = normalized.pixels().as_flattened().iter();
        for (after, before) in pairs.zip(image.pixels().as_flattened()) {
            // The matrix back is the inverse of the matrix there to three digits only.
            assert!(after.abs_diff(*before) <= 1, "{after} for {before}");
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
        fn looking_up_changes_no_bit(
            width in 1usize..40,
            colours in prop::collection::vec(any::<Colour>(), 1..400),
        ) {
            // Each colour twice.
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

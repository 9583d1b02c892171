//! Synthetic stained tissue with its exact reference: pictures of any size to try a segmentation on.
//!
//! Law: each pixel of the image and of the reference is a function of (seed, options, x, y) and nothing else. The
//! whole is therefore the same bytes however it is cut into bands, a band needs memory for itself alone, and every
//! machine makes the same picture: numbers come from counters by mixing bits, and arithmetic is +, −, ×, ÷ and √.
//! A larger picture of the same seed begins with the smaller one.
//!
//! From the bottom: pink tissue of a few layers of smooth noise with slanting fibres; white lumen where a noise of
//! large grain is high; red blood cells, which belong to nothing; nuclei; sensor noise. A nucleus is a wobbling
//! ellipse with textured inside. Nuclei sit in the cells of a grid at a random place, so whatever reaches a band is
//! found by looking at the grid around it; some have a neighbour that touches them. The reference holds exactly the
//! pixels whose centre is inside a nucleus. Where two overlap the pixel is of the one whose grid cell, and in it
//! whose turn, comes first.

use crate::{Colour, Plane};

/// What the tissue is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SynthOptions {
    /// Chance of a nucleus in a grid cell, 0 to 1.
    pub density: f32,
    /// Smallest and largest longer half-axis of a nucleus in pixels, 2 to 64. The shorter one has 0.6 to 0.85 of it.
    pub radius: (f32, f32),
    /// Chance that a nucleus has a second one touching it, 0 to 1.
    pub touching: f32,
    /// Share of the area that is white lumen, about, 0 to 1.
    pub lumen: f32,
    /// Chance of a red blood cell in a grid cell, 0 to 1.
    pub blood: f32,
    /// Standard deviation of the sensor noise in grey levels, 0 to 64.
    pub noise: f32,
}

impl Default for SynthOptions {
    fn default() -> SynthOptions {
        SynthOptions {
            density: 0.8,
            radius: (5.5, 10.5),
            touching: 0.2,
            lumen: 0.1,
            blood: 0.05,
            noise: 3.0,
        }
    }
}

/// Why there is no such tissue.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SynthError {
    /// An option lies outside of its range.
    #[error("synthetic tissue: `{name}` is {value}, and must be from {from} to {to}")]
    Option {
        /// Which.
        name: &'static str,
        /// As given.
        value: f32,
        /// The smallest that would do.
        from: f32,
        /// The largest that would do.
        to: f32,
    },
    /// More pixels on a side than nuclei can be numbered for.
    #[error("synthetic tissue: {width} × {height} pixels; a side may have {MAX_SIDE} at most")]
    Size {
        /// As given.
        width: usize,
        /// As given.
        height: usize,
    },
}

/// The longest side: the nuclei of the smallest grid then still have labels of 32 bits.
pub const MAX_SIDE: usize = 300_000;

/// A synthetic picture, made band by band.
#[derive(Debug, Clone)]
pub struct Synth {
    width: usize,
    height: usize,
    seed: u64,
    options: SynthOptions,
    /// The side of a grid cell.
    cell: usize,
    /// How far outside of its grid cell a nucleus can reach.
    reach: usize,
    /// The lumen begins where its noise is above this.
    lumen_from: f32,
}

/// Half the width of the soft edge of lumen, in values of its noise.
const LUMEN_EDGE: f32 = 0.012;
/// How far below the edge the lumen's noise must be at a nucleus.
const LUMEN_MARGIN: f32 = 0.05;
/// The largest share by which a nucleus's edge departs from its ellipse.
const WOBBLE: f32 = 0.12;
/// The largest half-axis of a red blood cell.
const BLOOD_RADIUS: f32 = 7.5;

impl Synth {
    /// A picture of that size and seed.
    pub fn new(
        width: usize,
        height: usize,
        seed: u64,
        options: SynthOptions,
    ) -> Result<Synth, SynthError> {
        for (name, value, from, to) in [
            ("density", options.density, 0.0, 1.0),
            ("smallest radius", options.radius.0, 2.0, 64.0),
            ("largest radius", options.radius.1, options.radius.0, 64.0),
            ("touching", options.touching, 0.0, 1.0),
            ("lumen", options.lumen, 0.0, 1.0),
            ("blood", options.blood, 0.0, 1.0),
            ("noise", options.noise, 0.0, 64.0),
        ] {
            // Not a number is in no range.
            if !(from..=to).contains(&value) {
                return Err(SynthError::Option {
                    name,
                    value,
                    from,
                    to,
                });
            }
        }
        if width > MAX_SIDE || height > MAX_SIDE {
            return Err(SynthError::Size { width, height });
        }
        let largest = options.radius.1;
        Ok(Synth {
            width,
            height,
            seed,
            options,
            cell: (3.0 * largest) as usize + 1,
            // A second nucleus lies within two half-axes of the first, and has one of its own.
            reach: (largest * (3.0 + 3.0 * WOBBLE) + BLOOD_RADIUS) as usize + 3,
            lumen_from: if options.lumen <= 0.5 {
                1.0 + LUMEN_EDGE - (options.lumen / 2.0).sqrt()
            } else {
                ((1.0 - options.lumen) / 2.0).sqrt() - LUMEN_EDGE
            },
        })
    }

    /// Pixels in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The image and the reference mask of `rows` rows from row `from` on, as far as there are any.
    ///
    /// # Panics
    /// When the band has more than [`crate::MAX_PIXELS`].
    pub fn band(&self, from: usize, rows: usize) -> (Plane<Colour>, Plane<u8>) {
        let (image, labels) = self.labelled_band(from, rows);
        let mut mask = Plane::filled(labels.width(), labels.height(), 0);
        for (mask, &label) in mask.pixels_mut().iter_mut().zip(labels.pixels()) {
            *mask = if label == 0 { 0 } else { 255 };
        }
        (image, mask)
    }

    /// As [`Synth::band`], with the pixels of each nucleus under a label of its own, the same in all bands.
    ///
    /// # Panics
    /// When the band has more than [`crate::MAX_PIXELS`].
    pub fn labelled_band(&self, from: usize, rows: usize) -> (Plane<Colour>, Plane<u32>) {
        let from = from.min(self.height);
        let rows = rows.min(self.height - from);
        let mut image = Plane::filled(self.width, rows, [0; 3]);
        let mut labels = Plane::filled(self.width, rows, 0);
        self.tissue(&mut image, from);
        self.blood(&mut image, from);
        self.nuclei(&mut image, &mut labels, from);
        self.sensor(&mut image, from);
        (image, labels)
    }

    /// Tissue and lumen.
    fn tissue(&self, image: &mut Plane<Colour>, from: usize) {
        let mut layers = TISSUE.map(|layer| Row::new(layer, self.width));
        let mut lumen = LUMEN.map(|layer| Row::new(layer, self.width));
        for y in 0..image.height() {
            for row in layers.iter_mut().chain(&mut lumen) {
                row.fill(self.seed, from + y);
            }
            let [coarse, fine, fibres] = layers.each_ref().map(|row| &row.values[..]);
            let [large, edge] = lumen.each_ref().map(|row| &row.values[..]);
            for (x, pixel) in image.row_mut(y).iter_mut().enumerate() {
                let depth = 0.4 * coarse[x] + 0.25 * fine[x] + 0.35 * fibres[x];
                let open = large[x] * LUMEN_SHARES[0] + edge[x] * LUMEN_SHARES[1];
                let open = ((open - self.lumen_from) / LUMEN_EDGE * 0.5 + 0.5).clamp(0.0, 1.0);
                for (c, value) in pixel.iter_mut().enumerate() {
                    let tissue = PALE[c] + (DEEP[c] - PALE[c]) * depth;
                    *value = (tissue + (WHITE[c] - tissue) * open + 0.5) as u8;
                }
            }
        }
    }

    /// The noise that decides about lumen, at one pixel.
    fn openness(&self, x: usize, y: usize) -> f32 {
        let [large, edge] = LUMEN.map(|layer| layer.at(self.seed, x, y));
        large * LUMEN_SHARES[0] + edge * LUMEN_SHARES[1]
    }

    /// The numbers of the grid cells, row by row, from which something can reach the rows.
    fn cells(&self, from: usize, rows: usize) -> impl Iterator<Item = (usize, usize)> {
        // Cells outside of the picture count too: a larger one shows the same nuclei.
        let across = (self.width + self.reach).div_ceil(self.cell);
        let first = from.saturating_sub(self.reach) / self.cell;
        let last = (from + rows + self.reach).div_ceil(self.cell);
        (first..last).flat_map(move |row| (0..across).map(move |column| (column, row)))
    }

    /// Red blood cells: red, pale in the middle, and in no mask.
    fn blood(&self, image: &mut Plane<Colour>, from: usize) {
        for (column, row) in self.cells(from, image.height()) {
            let mut dice = Dice::new(self.seed, Salt::Blood, column, row);
            if dice.unit() >= self.options.blood {
                continue;
            }
            let (x, y) = self.place(&mut dice, column, row);
            let shape = Shape {
                x,
                y,
                long: dice.between(5.5, BLOOD_RADIUS),
                short: dice.between(5.0, 5.5),
                turn: dice.turn(),
                wobble: [0.0; 4],
            };
            let red = [dice.between(184.0, 206.0), 27.0, dice.between(40.0, 58.0)];
            shape.visit(
                image.width(),
                from,
                image.height(),
                |x, y, inside, ratio| {
                    let pale = (1.0 - ratio * ratio).max(0.0) * 5.0;
                    paint(&mut image.row_mut(y)[x], red, pale, inside);
                },
            );
        }
    }

    /// A random place in a grid cell.
    fn place(&self, dice: &mut Dice, column: usize, row: usize) -> (f32, f32) {
        let x = (column * self.cell) as f32 + dice.unit() * self.cell as f32;
        let y = (row * self.cell) as f32 + dice.unit() * self.cell as f32;
        (x, y)
    }

    fn nuclei(&self, image: &mut Plane<Colour>, labels: &mut Plane<u32>, from: usize) {
        let texture = CHROMATIN;
        for (column, row) in self.cells(from, image.height()) {
            for (turn, nucleus) in self.nuclei_of(column, row).into_iter().enumerate() {
                let Some(nucleus) = nucleus else { continue };
                // As if the picture were as wide as can be, so that labels do not depend on its width.
                let across = (MAX_SIDE + self.reach).div_ceil(self.cell);
                let label = ((row * across + column) * 2 + turn + 1) as u32;
                let shape = nucleus.shape;
                shape.visit(
                    image.width(),
                    from,
                    image.height(),
                    |x, y, inside, ratio| {
                        let owner = &mut labels.row_mut(y)[x];
                        if *owner != 0 {
                            return;
                        }
                        if ratio < 1.0 {
                            *owner = label;
                        }
                        let grain = texture.at(self.seed, x, from + y) - 0.5;
                        // The chromatin lies thicker along the membrane.
                        let shade = grain * nucleus.grain - (ratio * ratio - 0.5) * 10.0;
                        paint(&mut image.row_mut(y)[x], nucleus.colour, shade, inside);
                    },
                );
            }
        }
    }

    /// The nuclei of a grid cell: none, one, or one and its neighbour.
    fn nuclei_of(&self, column: usize, row: usize) -> [Option<Nucleus>; 2] {
        let mut dice = Dice::new(self.seed, Salt::Nucleus, column, row);
        if dice.unit() >= self.options.density {
            return [None, None];
        }
        let (x, y) = self.place(&mut dice, column, row);
        let first = self.nucleus(&mut dice, x, y);
        if dice.unit() >= self.options.touching {
            return [self.in_tissue(first), None];
        }
        let mut second = self.nucleus(&mut dice, x, y);
        // Away from the first by a little less than what the two measure in that direction.
        let (cos, sin) = dice.turn();
        let side = if dice.unit() < 0.5 { -1.0 } else { 1.0 };
        let apart = (first.shape.extent(cos, sin) + second.shape.extent(cos, sin)) * 0.94;
        second.shape.x += cos * apart * side;
        second.shape.y += sin * apart * side;
        [self.in_tissue(first), self.in_tissue(second)]
    }

    fn nucleus(&self, dice: &mut Dice, x: f32, y: f32) -> Nucleus {
        let long = dice.between(self.options.radius.0, self.options.radius.1);
        let stain = dice.unit();
        Nucleus {
            shape: Shape {
                x,
                y,
                long,
                short: long * dice.between(0.6, 0.85),
                turn: dice.turn(),
                wobble: [0; 4].map(|_| dice.between(-WOBBLE / 4.0, WOBBLE / 4.0)),
            },
            colour: [0, 1, 2].map(|c| LIGHT[c] + (DARK[c] - LIGHT[c]) * stain),
            grain: dice.between(20.0, 50.0),
        }
    }

    /// Nothing where there is lumen, or no picture.
    fn in_tissue(&self, nucleus: Nucleus) -> Option<Nucleus> {
        // A coordinate left of the picture is cut to 0, which is as near as it gets.
        let (x, y) = (nucleus.shape.x as usize, nucleus.shape.y as usize);
        (self.openness(x, y) < self.lumen_from - LUMEN_MARGIN).then_some(nucleus)
    }

    /// Noise of the sensor: for each channel the sum of two even numbers of ten bits.
    fn sensor(&self, image: &mut Plane<Colour>, from: usize) {
        // The sum of two such has a variance of 2 (1024² − 1)/12.
        let scale =
            (f64::from(self.options.noise) / (1_048_575.0f64 / 6.0).sqrt() * 65536.0) as i32;
        for y in 0..image.height() {
            let key = mix(self.seed ^ Salt::Sensor as u64 ^ mix((from + y) as u64));
            for (x, pixel) in image.row_mut(y).iter_mut().enumerate() {
                let mut bits = mix(key.wrapping_add((x as u64).wrapping_mul(GOLDEN)));
                for value in pixel {
                    let sum = (bits & 1023) as i32 + (bits >> 10 & 1023) as i32 - 1023;
                    bits >>= 20;
                    let noisy = (i32::from(*value) << 16) + sum * scale + (1 << 15);
                    *value = (noisy >> 16).clamp(0, 255) as u8;
                }
            }
        }
    }
}

/// Eosin where it is thin, and where it is thick.
const PALE: [f32; 3] = [242.0, 204.0, 222.0];
const DEEP: [f32; 3] = [208.0, 122.0, 168.0];
/// Glass.
const WHITE: [f32; 3] = [243.0, 241.0, 244.0];
/// Haematoxylin where it is weak, and where it is strong.
const LIGHT: [f32; 3] = [118.0, 94.0, 156.0];
const DARK: [f32; 3] = [62.0, 42.0, 112.0];

/// Covers a share of a pixel with a colour, each channel of which is `shade` brighter.
fn paint(pixel: &mut Colour, colour: [f32; 3], shade: f32, share: f32) {
    for (value, colour) in pixel.iter_mut().zip(colour) {
        let under = f32::from(*value);
        *value = (under + (colour + shade - under) * share + 0.5) as u8;
    }
}

/// A nucleus as it is drawn.
#[derive(Clone, Copy)]
struct Nucleus {
    shape: Shape,
    colour: [f32; 3],
    /// How strong its texture is.
    grain: f32,
}

/// An ellipse whose edge wobbles.
#[derive(Clone, Copy)]
struct Shape {
    x: f32,
    y: f32,
    long: f32,
    short: f32,
    /// Cosine and sine of the long axis' direction.
    turn: (f32, f32),
    /// Cosine and sine of two times and three times the angle, as shares of the radius.
    wobble: [f32; 4],
}

impl Shape {
    /// From the centre to the edge of the ellipse in a direction.
    fn extent(&self, cos: f32, sin: f32) -> f32 {
        let along = (cos * self.turn.0 + sin * self.turn.1) / self.long;
        let across = (sin * self.turn.0 - cos * self.turn.1) / self.short;
        1.0 / (along * along + across * across).sqrt()
    }

    /// Shows each pixel of the rows that the shape covers or grazes: its place in the rows, the share of it that is
    /// covered, and its distance from the centre as a share of the edge's, below 1 inside.
    fn visit(
        &self,
        width: usize,
        from: usize,
        rows: usize,
        mut show: impl FnMut(usize, usize, f32, f32),
    ) {
        let reach = self.long * (1.0 + WOBBLE) + 1.0;
        // Casts cut negative numbers to 0.
        let left = (self.x - reach) as usize;
        let right = ((self.x + reach).max(-1.0) + 1.0) as usize;
        let top = ((self.y - reach) as usize).max(from);
        let bottom = (((self.y + reach).max(-1.0) + 1.0) as usize).min(from + rows);
        let (cos, sin) = self.turn;
        let mean = (self.long * self.short).sqrt();
        for y in top..bottom {
            let dy = y as f32 + 0.5 - self.y;
            for x in left..right.min(width) {
                let dx = x as f32 + 0.5 - self.x;
                let along = (dx * cos + dy * sin) / self.long;
                let across = (dy * cos - dx * sin) / self.short;
                let square = along * along + across * across;
                if square > 2.5 {
                    continue;
                }
                // Cosine and sine of the angle in the ellipse made round, and of its multiples.
                let radius = square.sqrt().max(1e-6);
                let (c, s) = (along / radius, across / radius);
                let (c2, s2) = (c * c - s * s, 2.0 * c * s);
                let (c3, s3) = (c2 * c - s2 * s, s2 * c + c2 * s);
                let [a, b, d, e] = self.wobble;
                let edge = 1.0 + a * c2 + b * s2 + d * c3 + e * s3;
                let inside = (edge - radius) * mean + 0.5;
                if inside > 0.0 {
                    show(x, y - from, inside.min(1.0), radius / edge);
                }
            }
        }
    }
}

/// What a random number is for; different things do not share theirs.
#[derive(Clone, Copy)]
enum Salt {
    Nucleus = 0x6E75_636C,
    Blood = 0x626C_6F6F,
    Sensor = 0x7365_6E73,
    Layer = 0x6C61_7965,
}

/// 2⁶⁴ over the golden ratio: a step that visits all 64-bit numbers evenly.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes 64 bits so that any one of them changes all: the finisher of SplitMix64.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// 24 bits as a number from 0 to below 1.
fn unit(bits: u64) -> f32 {
    (bits >> 40) as f32 / 16_777_216.0
}

/// The random numbers of one grid cell.
struct Dice {
    state: u64,
}

impl Dice {
    fn new(seed: u64, salt: Salt, column: usize, row: usize) -> Dice {
        let place = mix(mix(column as u64 ^ GOLDEN).wrapping_add(row as u64));
        Dice {
            state: mix(seed ^ salt as u64) ^ place,
        }
    }

    fn unit(&mut self) -> f32 {
        self.state = self.state.wrapping_add(GOLDEN);
        unit(mix(self.state))
    }

    fn between(&mut self, from: f32, to: f32) -> f32 {
        from + (to - from) * self.unit()
    }

    /// Cosine and sine of an angle between −90° and 90°, without either function.
    fn turn(&mut self) -> (f32, f32) {
        let half = self.between(-1.0, 1.0);
        let square = half * half;
        ((1.0 - square) / (1.0 + square), 2.0 * half / (1.0 + square))
    }
}

/// Smooth noise from 0 to 1: random values on a lattice, and between them a smooth way from each to the next.
#[derive(Clone, Copy)]
struct Layer {
    /// Apart from other layers.
    number: u64,
    /// Lattice steps along x and y, as powers of two.
    step: (u32, u32),
    /// Rows after which the lattice has moved a pixel to the left, as a power of two; `None` keeps it upright.
    slant: Option<u32>,
}

const TISSUE: [Layer; 3] = [
    Layer {
        number: 1,
        step: (7, 7),
        slant: None,
    },
    Layer {
        number: 2,
        step: (3, 3),
        slant: None,
    },
    Layer {
        number: 3,
        step: (3, 6),
        slant: Some(0),
    },
];
const LUMEN: [Layer; 2] = [
    Layer {
        number: 4,
        step: (8, 8),
        slant: None,
    },
    Layer {
        number: 5,
        step: (5, 5),
        slant: None,
    },
];
/// What each of the two counts in the lumen.
const LUMEN_SHARES: [f32; 2] = [0.85, 0.15];
const CHROMATIN: Layer = Layer {
    number: 6,
    step: (1, 1),
    slant: None,
};

impl Layer {
    /// The value of a lattice point.
    fn point(self, seed: u64, column: usize, row: usize) -> f32 {
        let key = seed ^ Salt::Layer as u64 ^ self.number << 32;
        unit(mix(
            mix(key.wrapping_add((row as u64).wrapping_mul(GOLDEN))).wrapping_add(column as u64),
        ))
    }

    /// The value of a column of the lattice between two of its rows.
    fn column(self, seed: u64, column: usize, y: usize) -> f32 {
        let row = y >> self.step.1;
        let above = self.point(seed, column, row);
        let below = self.point(seed, column, row + 1);
        above + (below - above) * smooth(y, self.step.1)
    }

    /// How far the lattice has moved at a row.
    fn shift(self, y: usize) -> usize {
        self.slant.map_or(0, |slant| y >> slant)
    }

    /// The value of a pixel.
    fn at(self, seed: u64, x: usize, y: usize) -> f32 {
        let x = x + self.shift(y);
        let column = x >> self.step.0;
        let left = self.column(seed, column, y);
        let right = self.column(seed, column + 1, y);
        left + (right - left) * smooth(x, self.step.0)
    }
}

/// How far on its smooth way from one lattice point to the next a coordinate is: 3t² − 2t³.
fn smooth(coordinate: usize, step: u32) -> f32 {
    let size = 1usize << step;
    let part = (coordinate & (size - 1)) as f32 / size as f32;
    part * part * (3.0 - 2.0 * part)
}

/// A layer's values along one row of the picture.
struct Row {
    layer: Layer,
    /// The smooth way of each pixel in a lattice step.
    ways: Vec<f32>,
    values: Vec<f32>,
}

impl Row {
    fn new(layer: Layer, width: usize) -> Row {
        Row {
            layer,
            ways: (0..1 << layer.step.0)
                .map(|x| smooth(x, layer.step.0))
                .collect(),
            values: vec![0.0; width],
        }
    }

    /// Computes what [`Layer::at`] gives for each pixel of the row.
    fn fill(&mut self, seed: u64, y: usize) {
        let shift = self.layer.shift(y);
        let mut column = shift >> self.layer.step.0;
        let mut skip = shift & (self.ways.len() - 1);
        let mut left = self.layer.column(seed, column, y);
        let mut rest = &mut self.values[..];
        while !rest.is_empty() {
            let right = self.layer.column(seed, column + 1, y);
            let ways = &self.ways[skip..];
            let (part, next) = rest.split_at_mut(ways.len().min(rest.len()));
            for (value, way) in part.iter_mut().zip(ways) {
                *value = left + (right - left) * way;
            }
            rest = next;
            left = right;
            column += 1;
            skip = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare_pixels;
    use proptest::prelude::*;

    fn synth(width: usize, height: usize, seed: u64) -> Synth {
        Synth::new(width, height, seed, SynthOptions::default()).unwrap()
    }

    /// FNV-1a of image and labels.
    fn digest((image, labels): &(Plane<Colour>, Plane<u32>)) -> u64 {
        let bytes = image.pixels().as_flattened().iter().copied();
        let labels = labels.pixels().iter().flat_map(|label| label.to_le_bytes());
        bytes
            .chain(labels)
            .fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
            })
    }

    #[test]
    fn the_same_bytes_everywhere() {
        let whole = synth(321, 203, 7).labelled_band(0, 203);
        assert_eq!(digest(&whole), 0xE87C_B328_2E07_54D4);
        assert_eq!(synth(321, 203, 7).labelled_band(0, 203), whole);
        let other = synth(321, 203, 8).labelled_band(0, 203);
        assert_ne!(other.0, whole.0);
        assert_ne!(other.1, whole.1);
    }

    #[test]
    fn a_larger_picture_begins_with_the_smaller() {
        let (small, small_labels) = synth(150, 120, 3).labelled_band(0, 120);
        let (large, large_labels) = synth(400, 300, 3).labelled_band(0, 300);
        for y in 0..120 {
            assert_eq!(small.row(y), &large.row(y)[..150]);
            assert_eq!(small_labels.row(y), &large_labels.row(y)[..150]);
        }
    }

    #[test]
    fn any_size() {
        for (width, height) in [(0, 0), (0, 5), (5, 0), (1, 1), (1, 300), (300, 1), (17, 23)] {
            let (image, mask) = synth(width, height, 1).band(0, height);
            assert_eq!((image.width(), image.height()), (width, height));
            assert_eq!((mask.width(), mask.height()), (width, height));
        }
        let (image, _) = synth(5, 5, 1).band(3, 100);
        assert_eq!(image.height(), 2, "as far as there are rows");
        let (image, _) = synth(5, 5, 1).band(usize::MAX, usize::MAX);
        assert_eq!(image.height(), 0);
        let (image, _) = synth(MAX_SIDE, MAX_SIDE, 1).band(MAX_SIDE - 1, 1);
        assert_eq!(image.width(), MAX_SIDE);
    }

    #[test]
    fn labels_of_the_smallest_grid_fit() {
        let options = SynthOptions {
            radius: (2.0, 2.0),
            ..SynthOptions::default()
        };
        let synth = Synth::new(MAX_SIDE, MAX_SIDE, 1, options).unwrap();
        let across = (MAX_SIDE + synth.reach).div_ceil(synth.cell);
        let most = across * across * 2;
        assert!(u32::try_from(most).is_ok());
    }

    #[test]
    fn nuclei_are_dark_and_many_and_each_has_a_label() {
        let synth = synth(512, 512, 1);
        let (image, labels) = synth.labelled_band(0, 512);
        let (_, mask) = synth.band(0, 512);
        let set = labels.pixels().iter().map(|&label| label != 0);
        assert!(set.eq(mask.pixels().iter().map(|&value| value == 255)));
        let dark: Vec<u8> = image
            .pixels()
            .iter()
            .map(|pixel| u8::from(pixel[0] < 150))
            .collect();
        let dark = Plane::new(512, 512, dark).unwrap();
        let agreement = compare_pixels(dark.view(), mask.view()).unwrap();
        assert!(agreement.dice() > 0.95, "{}", agreement.dice());
        let mut names: Vec<u32> = labels
            .pixels()
            .iter()
            .copied()
            .filter(|&l| l != 0)
            .collect();
        let foreground = names.len();
        names.sort_unstable();
        names.dedup();
        assert!((100..400).contains(&names.len()), "{} nuclei", names.len());
        assert!(
            (50..400).contains(&(foreground / names.len())),
            "{foreground} pixels"
        );
    }

    #[test]
    fn options_do_what_they_say() {
        let make = |options| {
            let synth = Synth::new(300, 300, 5, options).unwrap();
            let (image, mask) = synth.band(0, 300);
            let set = mask.pixels().iter().filter(|&&value| value != 0).count();
            let white = image.pixels().iter().filter(|pixel| pixel[1] > 225).count();
            let red = image.pixels().iter().filter(|p| p[0] / 3 > p[1]).count();
            (set, white, red)
        };
        let plain = SynthOptions {
            noise: 0.0,
            ..SynthOptions::default()
        };
        let none = SynthOptions {
            density: 0.0,
            lumen: 0.0,
            blood: 0.0,
            ..plain
        };
        assert_eq!(make(none), (0, 0, 0));
        assert_eq!(
            make(SynthOptions {
                lumen: 1.0,
                blood: 0.0,
                ..plain
            }),
            (0, 90_000, 0)
        );
        let (set, white, red) = make(SynthOptions {
            density: 1.0,
            lumen: 0.0,
            blood: 1.0,
            ..plain
        });
        assert!(
            set > 10_000 && white == 0 && red > 1_000,
            "{set} {white} {red}"
        );
        let (_, white, _) = make(SynthOptions {
            lumen: 0.5,
            ..plain
        });
        assert!((20_000..70_000).contains(&white), "{white}");
    }

    #[test]
    fn noise_has_the_deviation_asked_for() {
        let make = |noise| {
            let options = SynthOptions {
                noise,
                ..SynthOptions::default()
            };
            Synth::new(200, 200, 2, options).unwrap().band(0, 200).0
        };
        let (clean, noisy) = (make(0.0), make(4.0));
        // Where it cannot be cut off.
        let differences: Vec<f64> = clean
            .pixels()
            .as_flattened()
            .iter()
            .zip(noisy.pixels().as_flattened())
            .filter(|&(&clean, _)| (20..=235).contains(&clean))
            .map(|(&clean, &noisy)| f64::from(noisy) - f64::from(clean))
            .collect();
        let n = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / n;
        let deviation = (differences.iter().map(|d| d * d).sum::<f64>() / n - mean * mean).sqrt();
        assert!(
            mean.abs() < 0.1 && (deviation - 4.0).abs() < 0.1,
            "{mean} ± {deviation}"
        );
    }

    #[test]
    fn options_outside_of_their_range_are_refused() {
        let plain = SynthOptions::default();
        let check = |options, message: &str| {
            let error = Synth::new(9, 9, 0, options).unwrap_err();
            assert_eq!(error.to_string(), message);
        };
        check(
            SynthOptions {
                density: 1.5,
                ..plain
            },
            "synthetic tissue: `density` is 1.5, and must be from 0 to 1",
        );
        check(
            SynthOptions {
                noise: f32::NAN,
                ..plain
            },
            "synthetic tissue: `noise` is NaN, and must be from 0 to 64",
        );
        check(
            SynthOptions {
                radius: (9.0, 5.0),
                ..plain
            },
            "synthetic tissue: `largest radius` is 5, and must be from 9 to 64",
        );
        let error = Synth::new(MAX_SIDE + 1, 1, 0, plain).unwrap_err();
        assert_eq!(
            error.to_string(),
            "synthetic tissue: 300001 × 1 pixels; a side may have 300000 at most"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn bands_are_the_whole(
            width in 1usize..150,
            height in 1usize..150,
            seed in any::<u64>(),
            cuts in prop::collection::vec(1usize..40, 1..4),
            radius in 2.0f32..30.0,
        ) {
            let options = SynthOptions {
                radius: (2.0, radius),
                touching: 0.7,
                density: 1.0,
                blood: 0.5,
                ..SynthOptions::default()
            };
            let synth = Synth::new(width, height, seed, options).unwrap();
            let (image, labels) = synth.labelled_band(0, height);
            let (mut pixels, mut names) = (Vec::new(), Vec::new());
            let mut from = 0;
            for &rows in cuts.iter().cycle() {
                if from >= height {
                    break;
                }
                let (part, part_labels) = synth.labelled_band(from, rows);
                pixels.extend(part.into_pixels());
                names.extend(part_labels.into_pixels());
                from += rows;
            }
            prop_assert_eq!(image.pixels(), &pixels[..]);
            prop_assert_eq!(labels.pixels(), &names[..]);
        }
    }
}

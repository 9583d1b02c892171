//! How well two segmentations agree: by pixels and by objects.
//!
//! Law: a measure is a function of the two images alone, symmetric where its definition is, in 0..=1, and 1 when they
//! are equal. Images of different sizes are not compared but refused. Counts are exact integers; a measure is one
//! division of them, or a mean summed in a fixed order.
//!
//! **Pixels** ([`compare_pixels`]). A pixel that is not zero is set. With A and B set pixels in the two masks and I in
//! both: Dice `2I/(A+B)`, Jaccard `I/(A+B−I)`, differing pixels `A+B−2I`. Both masks empty: Dice = Jaccard = 1.
//!
//! **Objects** ([`compare_objects`]). Each image gives labels: 0 is background, and an object is all pixels of one
//! other label, connected or not. A labelled reference says so itself; a binary mask is labelled first, by its
//! 8-connected components ([`objects_of`]). Two objects overlap when they share a pixel.
//! - Mean Dice: the mean over all overlapping pairs (object, reference object) of the Dice of the two. An object that
//!   overlaps several counts once with each. No pair: 1 when neither image has an object, else 0.
//! - F1: a pair matches when its intersection over union is **above** 0.5. Above and not from: two objects of one
//!   image are disjoint, so at most one of them can cover more than half of the union with a third object. Every
//!   object thus has at most one match and nothing needs to be assigned; at exactly 0.5 an object could match both of
//!   its halves. TP = matches, FP = objects without a match, FN = reference objects without one;
//!   `F1 = 2TP/(2TP+FP+FN)`, which is `2TP/(objects + reference objects)`. No object in either: 1.

use std::collections::HashMap;
use std::ops::AddAssign;

use crate::{Bitmap, Connectivity, Plane, View, label};

/// Two images that should show the same place do not have the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an image of {} × {} pixels cannot be compared with one of {} × {}; both must show the same region at the same scale",
    first.0, first.1, second.0, second.1
)]
pub struct SizesDiffer {
    /// Width and height of the first.
    pub first: (usize, usize),
    /// Width and height of the second.
    pub second: (usize, usize),
}

impl SizesDiffer {
    /// Refuses two images of different sizes.
    pub(crate) fn check<T, U>(first: View<T>, second: View<U>) -> Result<(), SizesDiffer> {
        let first = (first.width(), first.height());
        let second = (second.width(), second.height());
        if first == second {
            Ok(())
        } else {
            Err(SizesDiffer { first, second })
        }
    }
}

/// The pixels that two masks set, counted. Those of the parts of a mask add up to those of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PixelAgreement {
    /// Pixels set in the first.
    pub first: u64,
    /// Pixels set in the second.
    pub second: u64,
    /// Pixels set in both.
    pub both: u64,
}

impl PixelAgreement {
    /// Dice's coefficient, `2I/(A+B)`; of two empty masks 1.
    pub fn dice(&self) -> f64 {
        share(2 * self.both, self.first + self.second)
    }

    /// Jaccard's coefficient, `I/(A+B−I)`; of two empty masks 1.
    pub fn jaccard(&self) -> f64 {
        share(self.both, self.first + self.second - self.both)
    }

    /// Pixels set in one mask and not in the other.
    pub fn differing(&self) -> u64 {
        self.first + self.second - 2 * self.both
    }
}

impl AddAssign for PixelAgreement {
    fn add_assign(&mut self, other: PixelAgreement) {
        self.first += other.first;
        self.second += other.second;
        self.both += other.both;
    }
}

/// A part of a whole; of nothing, all.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        1.0
    } else {
        part as f64 / whole as f64
    }
}

/// Counts the pixels that two masks set, alone and together.
pub fn compare_pixels(first: View<u8>, second: View<u8>) -> Result<PixelAgreement, SizesDiffer> {
    SizesDiffer::check(first, second)?;
    let mut agreement = PixelAgreement::default();
    for (a, b) in first.rows().zip(second.rows()) {
        for (&a, &b) in a.iter().zip(b) {
            agreement.first += u64::from(a != 0);
            agreement.second += u64::from(b != 0);
            agreement.both += u64::from((a != 0) & (b != 0));
        }
    }
    Ok(agreement)
}

/// The objects of two label images, and how they lie on each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectAgreement {
    /// Objects of the first image.
    pub objects: u64,
    /// Objects of the reference.
    pub references: u64,
    /// Pairs that share a pixel.
    pub pairs: u64,
    /// Pairs whose intersection over union is above 0.5.
    pub matches: u64,
    /// The mean Dice of the pairs; without a pair 1 if there is no object at all, else 0.
    pub mean_dice: f64,
}

impl ObjectAgreement {
    /// `2TP/(2TP+FP+FN)`; without any object 1.
    pub fn f1(&self) -> f64 {
        share(2 * self.matches, self.objects + self.references)
    }
}

/// The objects of a binary mask as labels: its 8-connected components, counted from 1.
pub fn objects_of(mask: View<u8>) -> Plane<u32> {
    label(&Bitmap::from_mask(mask), Connectivity::Eight).0
}

/// Compares the objects of a label image with those of a reference. A label is any number but 0; 16-bit labels are
/// to be widened.
pub fn compare_objects(
    labels: View<u32>,
    reference: View<u32>,
) -> Result<ObjectAgreement, SizesDiffer> {
    SizesDiffer::check(labels, reference)?;
    let mut areas = HashMap::new();
    let mut reference_areas = HashMap::new();
    let mut overlaps = HashMap::new();
    for (row, reference_row) in labels.rows().zip(reference.rows()) {
        // Labels come in runs, and a run is counted at once.
        let mut x = 0;
        while x < row.len() {
            let pair = (row[x], reference_row[x]);
            let run = row[x..]
                .iter()
                .zip(&reference_row[x..])
                .take_while(|&(&a, &b)| (a, b) == pair)
                .count();
            x += run;
            let run = run as u64;
            if pair.0 != 0 {
                *areas.entry(pair.0).or_insert(0) += run;
            }
            if pair.1 != 0 {
                *reference_areas.entry(pair.1).or_insert(0) += run;
            }
            if pair.0 != 0 && pair.1 != 0 {
                *overlaps.entry(pair).or_insert(0) += run;
            }
        }
    }
    // Sorted, so that the mean is summed in an order that the images decide.
    let mut overlaps: Vec<((u32, u32), u64)> = overlaps.into_iter().collect();
    overlaps.sort_unstable();
    let mut matches = 0;
    let mut sum = 0.0;
    for &((label, other), both) in &overlaps {
        let together: u64 = areas[&label] + reference_areas[&other];
        sum += (2 * both) as f64 / together as f64;
        // I/(A+B−I) > 1/2, in integers.
        matches += u64::from(3 * both > together);
    }
    let (objects, references) = (areas.len() as u64, reference_areas.len() as u64);
    let mean_dice = if !overlaps.is_empty() {
        sum / overlaps.len() as f64
    } else if objects + references == 0 {
        1.0
    } else {
        0.0
    };
    Ok(ObjectAgreement {
        objects,
        references,
        pairs: overlaps.len() as u64,
        matches,
        mean_dice,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn row<T: Clone>(pixels: &[T]) -> Plane<T> {
        Plane::new(pixels.len(), 1, pixels.to_vec()).unwrap()
    }

    fn objects(labels: &[u32], reference: &[u32]) -> ObjectAgreement {
        compare_objects(row(labels).view(), row(reference).view()).unwrap()
    }

    #[test]
    fn pixels_by_hand() {
        let check = |a: &[u8], b: &[u8], dice: f64, jaccard: f64, differing: u64| {
            let agreement = compare_pixels(row(a).view(), row(b).view()).unwrap();
            assert_eq!(agreement.dice(), dice);
            assert_eq!(agreement.jaccard(), jaccard);
            assert_eq!(agreement.differing(), differing);
        };
        check(&[], &[], 1.0, 1.0, 0);
        check(&[0, 0], &[0, 0], 1.0, 1.0, 0);
        check(&[255, 255, 0], &[0, 255, 255], 0.5, 1.0 / 3.0, 2);
        check(&[1, 0], &[255, 0], 1.0, 1.0, 0);
        check(&[255, 0], &[0, 0], 0.0, 0.0, 1);
    }

    #[test]
    fn other_sizes_are_refused() {
        let (a, b) = (Plane::filled(2, 3, 0u8), Plane::filled(3, 2, 0u8));
        let error = compare_pixels(a.view(), b.view()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "an image of 2 × 3 pixels cannot be compared with one of 3 × 2; \
             both must show the same region at the same scale"
        );
        let (a, b) = (Plane::filled(0, 3, 0u32), Plane::filled(0, 2, 0u32));
        assert!(compare_objects(a.view(), b.view()).is_err());
    }

    #[test]
    fn half_an_object_is_no_match() {
        // Each half has an intersection over union of exactly 0.5 with the whole.
        let agreement = objects(&[7, 7, 7, 7], &[1, 1, 2, 2]);
        assert_eq!((agreement.pairs, agreement.matches), (2, 0));
        assert_eq!(agreement.f1(), 0.0);
        assert_eq!(agreement.mean_dice, 2.0 / 3.0);
        let agreement = objects(&[7, 7, 7, 7, 7], &[1, 1, 1, 2, 2]);
        assert_eq!(agreement.matches, 1);
        assert_eq!(agreement.f1(), 2.0 / 3.0);
    }

    #[test]
    fn objects_of_a_mask_touch_at_corners() {
        let mask = Plane::new(4, 2, vec![255, 0, 0, 1, 0, 255, 0, 7]).unwrap();
        assert_eq!(objects_of(mask.view()).pixels(), [1, 0, 0, 2, 0, 1, 0, 2]);
    }

    #[test]
    fn without_objects() {
        let nothing = objects(&[0, 0], &[0, 0]);
        assert_eq!((nothing.f1(), nothing.mean_dice), (1.0, 1.0));
        let missed = objects(&[0, 0], &[9, 0]);
        assert_eq!((missed.f1(), missed.mean_dice), (0.0, 0.0));
        let apart = objects(&[5, 0], &[0, 5]);
        assert_eq!((apart.f1(), apart.mean_dice, apart.pairs), (0.0, 0.0, 0));
    }

    /// The definitions over sets of pixels; every object against every other.
    fn naive(labels: &[u32], reference: &[u32]) -> (f64, f64, u64) {
        let sets = |labels: &[u32]| -> Vec<BTreeSet<usize>> {
            let names: BTreeSet<u32> = labels.iter().copied().filter(|&l| l != 0).collect();
            names
                .into_iter()
                .map(|name| (0..labels.len()).filter(|&i| labels[i] == name).collect())
                .collect()
        };
        let (objects, references) = (sets(labels), sets(reference));
        let mut dice = Vec::new();
        let mut matched = BTreeSet::new();
        let mut reference_matched = BTreeSet::new();
        for (i, a) in objects.iter().enumerate() {
            for (j, b) in references.iter().enumerate() {
                let both = a.intersection(b).count();
                if both > 0 {
                    dice.push(2.0 * both as f64 / (a.len() + b.len()) as f64);
                }
                if both as f64 / a.union(b).count() as f64 > 0.5 {
                    assert!(matched.insert(i), "one match for an object");
                    assert!(reference_matched.insert(j), "one match for a reference");
                }
            }
        }
        let tp = matched.len() as f64;
        let false_positives = (objects.len() - matched.len()) as f64;
        let false_negatives = (references.len() - reference_matched.len()) as f64;
        let f1 = if objects.is_empty() && references.is_empty() {
            1.0
        } else {
            2.0 * tp / (2.0 * tp + false_positives + false_negatives)
        };
        let mean = if dice.is_empty() {
            f64::from(objects.is_empty() && references.is_empty())
        } else {
            dice.iter().sum::<f64>() / dice.len() as f64
        };
        (f1, mean, dice.len() as u64)
    }

    /// Two label images of one size; few labels, so that they meet, and one that needs all 32 bits.
    fn label_pair() -> impl Strategy<Value = (usize, Vec<u32>, Vec<u32>)> {
        let label = prop_oneof![Just(0), Just(1), Just(2), Just(3), Just(u32::MAX)];
        (0usize..9, 0usize..9).prop_flat_map(move |(width, height)| {
            let pixels = prop::collection::vec(label.clone(), width * height);
            (Just(width), pixels.clone(), pixels)
        })
    }

    proptest! {
        #[test]
        fn objects_are_compared_as_defined((width, a, b) in label_pair()) {
            let height = a.len().checked_div(width).unwrap_or(0);
            let first = View::new(width, height, &a).unwrap();
            let second = View::new(width, height, &b).unwrap();
            let agreement = compare_objects(first, second).unwrap();
            let (f1, mean, pairs) = naive(&a, &b);
            prop_assert!((agreement.f1() - f1).abs() < 1e-12);
            prop_assert!((agreement.mean_dice - mean).abs() < 1e-12);
            prop_assert_eq!(agreement.pairs, pairs);
            let turned = compare_objects(second, first).unwrap();
            prop_assert_eq!(turned.f1(), agreement.f1());
            let same = compare_objects(first, first).unwrap();
            prop_assert_eq!((same.f1(), same.mean_dice), (1.0, 1.0));
        }

        #[test]
        fn pixels_are_compared_as_defined((width, a, b) in label_pair()) {
            let set = |pixels: &[u32]| -> Vec<u8> { pixels.iter().map(|&l| l as u8).collect() };
            let (a, b) = (set(&a), set(&b));
            let height = a.len().checked_div(width).unwrap_or(0);
            let agreement = compare_pixels(
                View::new(width, height, &a).unwrap(),
                View::new(width, height, &b).unwrap(),
            ).unwrap();
            let indices = |pixels: &[u8]| -> BTreeSet<usize> {
                (0..pixels.len()).filter(|&i| pixels[i] != 0).collect()
            };
            let (a, b) = (indices(&a), indices(&b));
            let both = a.intersection(&b).count() as f64;
            if a.is_empty() && b.is_empty() {
                prop_assert_eq!((agreement.dice(), agreement.jaccard()), (1.0, 1.0));
            } else {
                prop_assert_eq!(agreement.dice(), 2.0 * both / (a.len() + b.len()) as f64);
                prop_assert_eq!(agreement.jaccard(), both / a.union(&b).count() as f64);
            }
            prop_assert_eq!(agreement.differing(), a.symmetric_difference(&b).count() as u64);
        }
    }
}

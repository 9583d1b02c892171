//! A picture of a segmentation: the outlines of a mask's objects drawn on the image.
//!
//! Law: a pixel has the outline's colour exactly when it is set in the mask and at most `thickness` steps left,
//! right, up or down away from a pixel that is not; every other pixel is the image's. What lies outside of the image
//! counts as not set, so outlines are closed there too.
//!
//! The outline lies inside of its object. Two objects apart by a line of one pixel are thus drawn with the image
//! showing between them, and an object of a few pixels is drawn whole instead of disappearing.

use crate::compare::SizesDiffer;
use crate::{Colour, Plane, View};

/// A colour that tissue stained with haematoxylin and eosin or with diaminobenzidine does not have.
pub const OUTLINE: Colour = [0, 255, 0];

/// The image with the outlines of the mask's objects, `thickness` pixels wide (0 draws none).
pub fn overlay(
    image: View<Colour>,
    mask: View<u8>,
    outline: Colour,
    thickness: u8,
) -> Result<Plane<Colour>, SizesDiffer> {
    SizesDiffer::check(image, mask)?;
    let (width, height) = (image.width(), image.height());
    let mut drawn = image.pixels().to_vec();
    // Steps to the nearest unset pixel, cut one above the thickness: first those that lead left or up, then all.
    let cut = u16::from(thickness) + 1;
    let mut steps = vec![0u16; width * height];
    let mut above = vec![0u16; width];
    for (row, mask) in steps.chunks_exact_mut(width.max(1)).zip(mask.rows()) {
        let mut left = 0;
        for ((step, &set), up) in row.iter_mut().zip(mask).zip(&mut above) {
            left = if set == 0 {
                0
            } else {
                (left.min(*up) + 1).min(cut)
            };
            *step = left;
            *up = left;
        }
    }
    let mut below = vec![0u16; width];
    let rows = steps.chunks_exact(width.max(1)).rev();
    for (row, drawn) in rows.zip(drawn.chunks_exact_mut(width.max(1)).rev()) {
        let mut right = 0;
        for ((&step, drawn), down) in row.iter().zip(drawn).zip(&mut below).rev() {
            right = step.min(right.min(*down) + 1);
            *down = right;
            if right != 0 && right < cut {
                *drawn = outline;
            }
        }
    }
    Ok(Plane::new(width, height, drawn)
        .unwrap_or_else(|| unreachable!("as many pixels as in the image")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GREY: Colour = [100; 3];

    fn drawn(width: usize, mask: &str, thickness: u8) -> String {
        let mask: Vec<u8> = mask.bytes().map(|b| u8::from(b == b'#')).collect();
        let mask = Plane::new(width, mask.len() / width, mask).unwrap();
        let image = Plane::filled(width, mask.height(), GREY);
        let drawn = overlay(image.view(), mask.view(), OUTLINE, thickness).unwrap();
        let letter = |&colour: &Colour| if colour == OUTLINE { 'o' } else { '.' };
        drawn.pixels().iter().map(letter).collect()
    }

    #[test]
    fn objects_keep_a_gap_and_small_ones_are_whole() {
        assert_eq!(
            drawn(
                9,
                concat!(
                    ".........",
                    ".###.###.",
                    ".###.###.",
                    ".###.###.",
                    ".........",
                    "......#.."
                ),
                1
            ),
            concat!(
                ".........",
                ".ooo.ooo.",
                ".o.o.o.o.",
                ".ooo.ooo.",
                ".........",
                "......o.."
            ),
        );
    }

    #[test]
    fn outlines_close_at_the_frame_and_grow_inwards() {
        let full = "#".repeat(25);
        assert_eq!(drawn(5, &full, 0), ".".repeat(25));
        assert_eq!(drawn(5, &full, 1), "oooooo...oo...oo...oooooo");
        assert_eq!(drawn(5, &full, 2), "oooooooooooo.oooooooooooo");
        assert_eq!(drawn(5, &full, 255), "o".repeat(25));
        assert_eq!(drawn(1, "#", 1), "o");
    }

    #[test]
    fn other_sizes_are_refused_and_nothing_is_nothing() {
        let image = Plane::filled(2, 1, GREY);
        let mask = Plane::filled(1, 2, 255u8);
        assert!(overlay(image.view(), mask.view(), OUTLINE, 1).is_err());
        for (width, height) in [(0, 0), (0, 4), (4, 0)] {
            let image = Plane::filled(width, height, GREY);
            let mask = Plane::filled(width, height, 255u8);
            let drawn = overlay(image.view(), mask.view(), OUTLINE, 1).unwrap();
            assert_eq!(drawn, image);
        }
    }

    proptest! {
        #[test]
        fn exactly_the_outline_is_drawn(
            (width, height, image, mask) in (1usize..12, 1usize..12).prop_flat_map(|(width, height)| (
                Just(width),
                Just(height),
                prop::collection::vec(any::<Colour>(), width * height),
                prop::collection::vec(prop::bool::weighted(0.85), width * height),
            )),
            thickness in 0u8..5,
        ) {
            let values: Vec<u8> = mask.iter().map(|&set| u8::from(set) * 255).collect();
            let result = overlay(
                View::new(width, height, &image).unwrap(),
                View::new(width, height, &values).unwrap(),
                OUTLINE,
                thickness,
            ).unwrap();
            let reach = isize::from(thickness as i8);
            let set = |x: isize, y: isize| {
                (0..width as isize).contains(&x)
                    && (0..height as isize).contains(&y)
                    && mask[y as usize * width + x as usize]
            };
            for y in 0..height as isize {
                for x in 0..width as isize {
                    let near = (-reach..=reach).any(|dy| {
                        (-reach..=reach)
                            .any(|dx| dx.abs() + dy.abs() <= reach && !set(x + dx, y + dy))
                    });
                    let i = y as usize * width + x as usize;
                    let expected = if set(x, y) && near { OUTLINE } else { image[i] };
                    prop_assert_eq!(result.pixels()[i], expected);
                }
            }
        }
    }
}

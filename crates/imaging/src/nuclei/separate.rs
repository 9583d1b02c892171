//! t6: the separation of touching nuclei.
//!
//! Law: objects that are large enough, grown by the cross, are flooded from the peaks of their distance transform; a
//! peak is one that stands out by 1 twice over. The flooding runs on colour, the background floods from outside, and
//! pixels on the lines where two labels meet are taken away.

use crate::label::paint;
use crate::runs::{Components, Ground};
use crate::{
    Bitmap, Colour, Connectivity, Plane, Spans, View, dilate, distance_or_max, filter_by_area,
    flood, reconstruct_in_spans, without_lines,
};

/// Objects of at least so many pixels, grown by the cross.
pub fn large_objects(mask: View<'_, u8>, least: i64) -> Plane<u8> {
    large(mask, least).to_mask()
}

fn large(mask: View<'_, u8>, least: i64) -> Bitmap {
    let bitmap = Bitmap::from_mask(mask);
    let (large, _) = filter_by_area(&bitmap, least, None, Connectivity::Eight);
    dilate(&large)
}

/// The large objects of a mask, cut apart along the lines where their floodings meet.
pub fn separate(
    image: View<'_, Colour>,
    mask: View<'_, u8>,
    least: i64,
    connectivity: Connectivity,
) -> Plane<u8> {
    let objects = large(mask, least);
    if objects.is_empty() {
        return objects.to_mask();
    }
    let inside = objects.to_mask();
    drop(objects);
    let labels = flood(image, inside.view(), markers(inside.view(), connectivity));
    without_lines(inside.view(), labels.view())
}

/// What the objects of a mask are flooded from: a label for each peak of their distance transform, and for each
/// component of what lies outside of them.
pub fn markers(inside: View<'_, u8>, connectivity: Connectivity) -> Plane<i32> {
    let peaks = peaks(inside, connectivity);
    let components = Components::of(&peaks, Ground::Fore, connectivity);
    paint(&components, inside.width(), inside.height(), |number| {
        number as i32 + 1
    })
}

/// The peaks of the distance transform, and everything outside of the objects.
fn peaks(inside: View<'_, u8>, connectivity: Connectivity) -> Bitmap {
    let spans = Spans::of(inside);
    let distance = distance_or_max(inside);
    let mut lowered = distance.clone();
    lower(&mut lowered, distance.view(), &spans);
    reconstruct_in_spans(&mut lowered, distance.view(), Connectivity::Eight, &spans);
    let mut again = distance;
    lower(&mut again, lowered.view(), &spans);
    reconstruct_in_spans(&mut again, lowered.view(), connectivity, &spans);
    Bitmap::from_rows(inside.width(), inside.height(), |y, row| {
        row.fill(1);
        let (lowered, again) = (lowered.row(y), again.row(y));
        for (start, end) in spans.row(y) {
            for x in *start as usize..*end as usize {
                row[x] = u8::from(lowered[x] - 1.0 >= again[x]);
            }
        }
    })
}

/// Makes each pixel in the spans one less than the same pixel of `from`.
fn lower(plane: &mut Plane<f32>, from: View<'_, f32>, spans: &Spans) {
    for y in 0..plane.height() {
        let (row, from) = (plane.row_mut(y), from.row(y));
        for (start, end) in spans.row(y) {
            let span = *start as usize..*end as usize;
            for (pixel, from) in row[span.clone()].iter_mut().zip(&from[span]) {
                *pixel = from - 1.0;
            }
        }
    }
}

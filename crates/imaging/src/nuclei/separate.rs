//! t6: the separation of touching nuclei.
//!
//! Law: objects that are large enough, grown by the cross, are flooded from the peaks of their distance transform; a
//! peak is one that stands out by 1 twice over. The flooding runs on colour, the background floods from outside, and
//! pixels on the lines where two labels meet are taken away.

use crate::label::paint;
use crate::runs::{Components, Ground};
use crate::watershed::flood_marked;
use crate::{
    Bitmap, Colour, Connectivity, Plane, Spans, View, dilate, distance_or_max, filter_by_area,
    reconstruct_in_spans, without_lines,
};

/// Objects of at least so many pixels, grown by the cross.
pub fn large_objects(mask: &Bitmap, least: i64) -> Bitmap {
    let (large, _) = filter_by_area(mask, least, None, Connectivity::Eight);
    dilate(&large)
}

/// The large objects of a mask, cut apart along the lines where their floodings meet.
pub fn separate(
    image: View<'_, Colour>,
    mask: &Bitmap,
    least: i64,
    connectivity: Connectivity,
) -> Bitmap {
    let objects = large_objects(mask, least);
    if objects.is_empty() {
        return objects;
    }
    let inside = objects.to_mask();
    let peaks = peaks(&objects, inside.view(), connectivity);
    let markers = labelled(&peaks, connectivity);
    let labels = flood_marked(image, (&objects, inside.view()), &peaks, markers);
    without_lines(inside.view(), labels.view())
}

/// What the objects of a mask are flooded from: a label for each peak of their distance transform, and for each
/// component of what lies outside of them.
pub fn markers(objects: &Bitmap, connectivity: Connectivity) -> Plane<i32> {
    labelled(
        &peaks(objects, objects.to_mask().view(), connectivity),
        connectivity,
    )
}

fn labelled(peaks: &Bitmap, connectivity: Connectivity) -> Plane<i32> {
    let components = Components::of(peaks, Ground::Fore, connectivity);
    paint(&components, peaks.width(), peaks.height(), |number| {
        number as i32 + 1
    })
}

/// The peaks of the distance transform, and everything outside of the objects.
fn peaks(objects: &Bitmap, inside: View<'_, u8>, connectivity: Connectivity) -> Bitmap {
    let spans = Spans::of(objects);
    let distance = distance_or_max(inside);
    // Outside of the objects this changes nothing: one less than the greatest number is rounded to itself.
    let mut lowered = distance.map(|distance| distance - 1.0);
    reconstruct_in_spans(&mut lowered, distance.view(), Connectivity::Eight, &spans);
    let mut again = distance;
    lower(&mut again, lowered.view(), &spans);
    reconstruct_in_spans(&mut again, lowered.view(), connectivity, &spans);
    Bitmap::from_rows(inside.width(), inside.height(), |y, row| {
        row.fill(1);
        let (lowered, again) = (lowered.row(y), again.row(y));
        for (start, end) in spans.row(y) {
            let span = *start as usize..*end as usize;
            let pixels = lowered[span.clone()].iter().zip(&again[span.clone()]);
            for (bit, (lowered, again)) in row[span].iter_mut().zip(pixels) {
                *bit = u8::from(lowered - 1.0 >= *again);
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

//! Room for the pixels of large images.
//!
//! Law: what is here changes how fast memory is had, and nothing else. A fresh plane of millions of pixels costs a page
//! fault for every 4 KiB of it, which can be more than the work of the kernel that fills it, and which threads of one
//! process wait for in turn. Asked in time, Linux hands out pages of 2 MiB instead; elsewhere nothing is done.

/// Below this many bytes it is not worth asking.
const LARGE: usize = 4 << 20;

/// An empty vector with room for so many items.
pub(crate) fn room<T>(items: usize) -> Vec<T> {
    let mut room = Vec::with_capacity(items);
    ask_for_large_pages(room.spare_capacity_mut());
    room
}

/// So many items that are all alike.
pub(crate) fn filled<T: Copy + Default + PartialEq>(items: usize, value: T) -> Vec<T> {
    if value == T::default() {
        // Zeros are had without being written, so that it is not too late to ask.
        let mut zeros = vec![value; items];
        ask_for_large_pages(&mut zeros);
        return zeros;
    }
    let mut pixels = room(items);
    pixels.resize(items, value);
    pixels
}

/// A copy.
pub(crate) fn copied<T: Copy>(items: &[T]) -> Vec<T> {
    let mut copy = room(items.len());
    copy.extend_from_slice(items);
    copy
}

#[cfg(target_os = "linux")]
fn ask_for_large_pages<T>(items: &mut [T]) {
    const PAGE: usize = 2 << 20;
    let bytes = size_of_val(items);
    if bytes < LARGE {
        return;
    }
    let start = items.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(PAGE);
    if before >= bytes || bytes - before < PAGE {
        return;
    }
    let length = (bytes - before) / PAGE * PAGE;
    // SAFETY: the range lies within `items`, which are borrowed for the call, and begins at a page; the advice changes
    // neither contents nor protection of the pages, and a refusal does no harm.
    unsafe {
        libc::madvise(start.add(before).cast(), length, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages<T>(_: &mut [T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_and_small_vectors_hold_what_they_should() {
        for items in [0, 1, 1000, LARGE / 4 - 1, LARGE / 4, 3 * LARGE / 4 + 7] {
            assert!(filled(items, 0u32).iter().all(|item| *item == 0));
            let numbers = filled(items, 7u32);
            assert_eq!(numbers.len(), items);
            assert!(numbers.iter().all(|item| *item == 7));
            assert_eq!(copied(&numbers), numbers);
            assert!(room::<u32>(items).is_empty());
        }
    }
}

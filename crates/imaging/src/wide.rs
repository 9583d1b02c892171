//! Kernels for the vector registers that a machine turns out to have.
//!
//! Law: what is here changes how fast a kernel is, and nothing else. A wide kernel is the same code translated twice:
//! once for what every machine of its kind has, once for AVX2, which is taken where the processor has it. Neither fuses
//! a multiplication with an addition, so that floating-point numbers are the same bits.

/// Defines a function that does what the last one named does, translated for the machine it runs on. For that the
/// latter, and what it spends its time in, have to be `#[inline(always)]`.
macro_rules! wide {
    (
        $(#[$note:meta])*
        fn $name:ident[$($generic:tt)*]($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? = $plain:ident
    ) => {
        $(#[$note])*
        fn $name<$($generic)*>($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wider<$($generic)*>($($argument: $type),*) $(-> $result)? {
                    $plain($($argument),*)
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has what the function is translated for, and it asks for nothing else.
                    return unsafe { wider($($argument),*) };
                }
            }
            $plain($($argument),*)
        }
    };
}

pub(crate) use wide;

/// Sixteen bytes that are worked on together. Translators take arrays of them apart where they should not.
#[derive(Clone, Copy)]
pub(crate) struct Bytes(bytes::Sixteen);

impl Bytes {
    /// The same byte sixteen times.
    #[inline(always)]
    pub(crate) fn all(byte: u8) -> Bytes {
        Bytes(bytes::pack([byte; 16]))
    }

    /// The bytes from a place on.
    #[inline(always)]
    pub(crate) fn read(from: &[u8], start: usize) -> Bytes {
        let mut sixteen = [0; 16];
        sixteen.copy_from_slice(&from[start..start + 16]);
        Bytes(bytes::pack(sixteen))
    }

    /// Puts the bytes at a place.
    #[inline(always)]
    pub(crate) fn write(self, to: &mut [u8], start: usize) {
        to[start..start + 16].copy_from_slice(&bytes::unpack(self.0));
    }

    /// The greater of each two.
    #[inline(always)]
    pub(crate) fn max(self, other: Bytes) -> Bytes {
        Bytes(bytes::max(self.0, other.0))
    }

    /// The lesser of each two.
    #[inline(always)]
    pub(crate) fn min(self, other: Bytes) -> Bytes {
        Bytes(bytes::min(self.0, other.0))
    }

    /// Each moved `STEP` places on; `fill` comes in.
    #[inline(always)]
    pub(crate) fn on<const STEP: i32>(self, fill: u8) -> Bytes {
        let filled = std::array::from_fn(|at| if at < STEP as usize { fill } else { 0 });
        Bytes(bytes::max(bytes::on::<STEP>(self.0), bytes::pack(filled)))
    }

    /// Each moved `STEP` places back; `fill` comes in.
    #[inline(always)]
    pub(crate) fn back<const STEP: i32>(self, fill: u8) -> Bytes {
        let filled = std::array::from_fn(|at| if at < 16 - STEP as usize { 0 } else { fill });
        Bytes(bytes::max(bytes::back::<STEP>(self.0), bytes::pack(filled)))
    }

    /// The first of them.
    #[inline(always)]
    pub(crate) fn byte(self) -> u8 {
        bytes::unpack(self.0)[0]
    }

    /// The first of them sixteen times.
    #[inline(always)]
    pub(crate) fn first(self) -> Bytes {
        Bytes::all(bytes::unpack(self.0)[0])
    }

    /// The last of them sixteen times.
    #[inline(always)]
    pub(crate) fn last(self) -> Bytes {
        Bytes::all(bytes::unpack(self.0)[15])
    }
}

/// What every x86-64 has.
#[cfg(target_arch = "x86_64")]
mod bytes {
    use std::arch::x86_64::{__m128i, _mm_max_epu8, _mm_min_epu8, _mm_slli_si128, _mm_srli_si128};

    pub(super) type Sixteen = __m128i;

    #[inline(always)]
    pub(super) fn pack(bytes: [u8; 16]) -> Sixteen {
        // SAFETY: both are 16 bytes, of any value.
        unsafe { std::mem::transmute(bytes) }
    }

    #[inline(always)]
    pub(super) fn unpack(bytes: Sixteen) -> [u8; 16] {
        // SAFETY: both are 16 bytes, of any value.
        unsafe { std::mem::transmute(bytes) }
    }

    #[inline(always)]
    pub(super) fn max(one: Sixteen, other: Sixteen) -> Sixteen {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_max_epu8(one, other) }
    }

    #[inline(always)]
    pub(super) fn min(one: Sixteen, other: Sixteen) -> Sixteen {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_min_epu8(one, other) }
    }

    #[inline(always)]
    pub(super) fn on<const STEP: i32>(bytes: Sixteen) -> Sixteen {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_slli_si128::<STEP>(bytes) }
    }

    #[inline(always)]
    pub(super) fn back<const STEP: i32>(bytes: Sixteen) -> Sixteen {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_srli_si128::<STEP>(bytes) }
    }
}

/// Elsewhere it is left to the translator.
#[cfg(not(target_arch = "x86_64"))]
mod bytes {
    use std::array::from_fn;

    pub(super) type Sixteen = [u8; 16];

    #[inline(always)]
    pub(super) fn pack(bytes: [u8; 16]) -> Sixteen {
        bytes
    }

    #[inline(always)]
    pub(super) fn unpack(bytes: Sixteen) -> [u8; 16] {
        bytes
    }

    #[inline(always)]
    pub(super) fn max(one: Sixteen, other: Sixteen) -> Sixteen {
        from_fn(|at| one[at].max(other[at]))
    }

    #[inline(always)]
    pub(super) fn min(one: Sixteen, other: Sixteen) -> Sixteen {
        from_fn(|at| one[at].min(other[at]))
    }

    #[inline(always)]
    pub(super) fn on<const STEP: i32>(bytes: Sixteen) -> Sixteen {
        let mut moved = [0; 16];
        moved[STEP as usize..].copy_from_slice(&bytes[..16 - STEP as usize]);
        moved
    }

    #[inline(always)]
    pub(super) fn back<const STEP: i32>(bytes: Sixteen) -> Sixteen {
        let mut moved = [0; 16];
        moved[..16 - STEP as usize].copy_from_slice(&bytes[STEP as usize..]);
        moved
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    wide! {
        fn roots[T: Into<f32> + Copy](numbers: &[T]) -> Vec<f32> = plain_roots
    }

    #[inline(always)]
    fn plain_roots<T: Into<f32> + Copy>(numbers: &[T]) -> Vec<f32> {
        let numbers = numbers.iter().map(|number| (*number).into());
        numbers
            .map(|number| (number * number + 0.1).sqrt())
            .collect()
    }

    fn written(bytes: Bytes) -> [u8; 16] {
        let mut to = [7; 18];
        bytes.write(&mut to, 1);
        assert_eq!((to[0], to[17]), (7, 7));
        std::array::from_fn(|at| to[at + 1])
    }

    proptest! {
        #[test]
        fn wide_and_plain_are_the_same_bits(numbers: Vec<f32>) {
            let bits = |numbers: Vec<f32>| -> Vec<u32> {
                let numbers = numbers.into_iter().filter(|number| !number.is_nan());
                numbers.map(f32::to_bits).collect()
            };
            prop_assert_eq!(bits(roots(&numbers)), bits(plain_roots(&numbers)));
        }

        #[test]
        fn bytes_do_as_arrays(one: [u8; 16], other: [u8; 16], fill: u8) {
            let (a, b) = (Bytes::read(&one, 0), Bytes::read(&other, 0));
            let each = |made: &dyn Fn(usize) -> u8| -> [u8; 16] { std::array::from_fn(made) };
            prop_assert_eq!(written(a), one);
            prop_assert_eq!(written(a.max(b)), each(&|at| one[at].max(other[at])));
            prop_assert_eq!(written(a.min(b)), each(&|at| one[at].min(other[at])));
            prop_assert_eq!(written(a.first()), [one[0]; 16]);
            prop_assert_eq!(written(a.last()), [one[15]; 16]);
            prop_assert_eq!(a.byte(), one[0]);
            let on = |step: usize| each(&|at| if at < step { fill } else { one[at - step] });
            let back = |step: usize| each(&|at| *one.get(at + step).unwrap_or(&fill));
            prop_assert_eq!(written(a.on::<1>(fill)), on(1));
            prop_assert_eq!(written(a.on::<8>(fill)), on(8));
            prop_assert_eq!(written(a.back::<1>(fill)), back(1));
            prop_assert_eq!(written(a.back::<8>(fill)), back(8));
        }
    }
}

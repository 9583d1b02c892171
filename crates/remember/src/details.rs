//! The compact form of a record's content key, parameters, inputs and outputs.
//!
//! Law: [`read`] gives back exactly what [`write`] was given, for the same recipe, or says that the bytes are damaged;
//! it never panics and never reserves more memory than the bytes could fill. Equal details have equal bytes.
//!
//! One byte of version, eight bytes of checksum over the recipe and the rest, the content key, then the three lists. Numbers are
//! variable-length, seven bits per byte, low ones first. Texts that name recipes and digests are long strings of
//! hexadecimal digits; those are kept as the 32 bytes that they stand for.

use std::sync::Arc;

use headwater_graph::{Digest, Recipe, Scalar, StoredOutput};

/// The first byte.
const VERSION: u8 = 2;
/// Bytes before the lists.
const HEAD: usize = 9;

/// What the bytes hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Details {
    /// The content key, where it is not the recipe.
    pub(crate) content: Option<Recipe>,
    /// Parameter values by name.
    pub(crate) parameters: Vec<(Arc<str>, Scalar)>,
    /// What each port read.
    pub(crate) inputs: Vec<(Arc<str>, String)>,
    /// What came out.
    pub(crate) outputs: Vec<(Arc<str>, StoredOutput)>,
}

/// Bytes that were not written by [`write`], or not for this recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged;

/// Writes the lists of a record.
pub(crate) fn write(
    recipe: &Recipe,
    content: Option<&Recipe>,
    parameters: &[(Arc<str>, Scalar)],
    inputs: &[(Arc<str>, String)],
    outputs: &[(Arc<str>, StoredOutput)],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.push(VERSION);
    out.extend_from_slice(&[0; HEAD - 1]);
    out.push(u8::from(content.is_some()));
    if let Some(content) = content {
        out.extend_from_slice(&content.0);
    }
    put_number(&mut out, parameters.len() as u64);
    for (name, value) in parameters {
        put_bytes(&mut out, name.as_bytes());
        put_scalar(&mut out, value);
    }
    put_number(&mut out, inputs.len() as u64);
    for (port, source) in inputs {
        put_bytes(&mut out, port.as_bytes());
        put_text_with_digests(&mut out, source);
    }
    put_number(&mut out, outputs.len() as u64);
    for (port, output) in outputs {
        put_bytes(&mut out, port.as_bytes());
        out.extend_from_slice(&output.digest.0);
        put_number(&mut out, output.size);
        out.push(u8::from(output.inline.is_some()) | u8::from(output.encoding.is_some()) << 1);
        if let Some(inline) = &output.inline {
            put_bytes(&mut out, inline);
        }
        if let Some(encoding) = &output.encoding {
            out.extend_from_slice(&encoding.0);
        }
    }
    let checksum = checksum(recipe, &out[HEAD..]);
    out[1..HEAD].copy_from_slice(&checksum);
    out
}

/// Reads the lists of a record.
pub(crate) fn read(recipe: &Recipe, bytes: &[u8]) -> Result<Details, Damaged> {
    let (head, body) = bytes.split_at_checked(HEAD).ok_or(Damaged)?;
    if head[0] != VERSION || head[1..] != checksum(recipe, body) {
        return Err(Damaged);
    }
    let mut reader = Reader { rest: body };
    let content = match reader.byte()? {
        0 => None,
        1 => Some(Recipe(reader.digest()?.0)),
        _ => return Err(Damaged),
    };
    let parameters = reader.list(|reader| Ok((reader.text()?.into(), reader.scalar()?)))?;
    let inputs = reader.list(|reader| Ok((reader.text()?.into(), reader.text_with_digests()?)))?;
    let outputs = reader.list(|reader| Ok((reader.text()?.into(), reader.output()?)))?;
    if reader.rest.is_empty() {
        Ok(Details {
            content,
            parameters,
            inputs,
            outputs,
        })
    } else {
        Err(Damaged)
    }
}

/// Ties the lists to their recipe, so that neither a torn page nor a misplaced row passes for a record.
fn checksum(recipe: &Recipe, body: &[u8]) -> [u8; HEAD - 1] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&recipe.0).update(body);
    let mut checksum = [0; HEAD - 1];
    checksum.copy_from_slice(&hasher.finalize().as_bytes()[..HEAD - 1]);
    checksum
}

/// Appends a number, seven bits per byte.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends bytes after their length.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

mod tag {
    pub(super) const FALSE: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const INT: u8 = 2;
    pub(super) const FLOAT: u8 = 3;
    pub(super) const TEXT: u8 = 4;
}

fn put_scalar(out: &mut Vec<u8>, value: &Scalar) {
    match value {
        Scalar::Bool(false) => out.push(tag::FALSE),
        Scalar::Bool(true) => out.push(tag::TRUE),
        Scalar::Int(number) => {
            out.push(tag::INT);
            // Small numbers of either sign become small: 0, -1, 1, -2, 2, …
            put_number(out, ((number << 1) ^ (number >> 63)).cast_unsigned());
        }
        Scalar::Float(number) => {
            out.push(tag::FLOAT);
            out.extend_from_slice(&number.to_bits().to_le_bytes());
        }
        Scalar::Text(text) => {
            out.push(tag::TEXT);
            put_bytes(out, text.as_bytes());
        }
    }
}

/// Pieces of text, each followed by 1 and 32 bytes that stand for 64 digits, or by 0 at the end.
fn put_text_with_digests(out: &mut Vec<u8>, text: &str) {
    let mut rest = text;
    while let Some((at, digest)) = first_digest(rest) {
        put_bytes(out, &rest.as_bytes()[..at]);
        out.push(1);
        out.extend_from_slice(&digest);
        rest = &rest[at + 64..];
    }
    put_bytes(out, rest.as_bytes());
    out.push(0);
}

/// The first 64 lower-case hexadecimal digits in a row, and where they begin.
fn first_digest(text: &str) -> Option<(usize, [u8; 32])> {
    let mut length = 0;
    for (at, byte) in text.bytes().enumerate() {
        length = if matches!(byte, b'0'..=b'9' | b'a'..=b'f') {
            length + 1
        } else {
            0
        };
        if length == 64 {
            let start = at - 63;
            let digest: Digest = text[start..=at].parse().ok()?;
            return Some((start, digest.0));
        }
    }
    None
}

/// Reads what was written, from the front.
pub(crate) struct Reader<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Damaged> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Damaged)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Damaged> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn number(&mut self) -> Result<u64, Damaged> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            let shifted = bits << shift;
            if shifted >> shift != bits {
                return Err(Damaged);
            }
            number |= shifted;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damaged)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Damaged> {
        let length = usize::try_from(self.number()?).map_err(|_| Damaged)?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Damaged> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Damaged)
    }

    pub(crate) fn digest(&mut self) -> Result<Digest, Damaged> {
        let mut digest = [0; 32];
        digest.copy_from_slice(self.take(32)?);
        Ok(Digest(digest))
    }

    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Damaged>,
    ) -> Result<Vec<T>, Damaged> {
        let count = self.number()?;
        // Each item takes at least two bytes: a larger count is a lie and must not become an allocation.
        let room = usize::try_from(count)
            .ok()
            .filter(|count| *count <= self.rest.len() / 2)
            .ok_or(Damaged)?;
        let mut items = Vec::with_capacity(room);
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn scalar(&mut self) -> Result<Scalar, Damaged> {
        Ok(match self.byte()? {
            tag::FALSE => Scalar::Bool(false),
            tag::TRUE => Scalar::Bool(true),
            tag::INT => {
                let folded = self.number()?;
                Scalar::Int((folded >> 1).cast_signed() ^ -(folded & 1).cast_signed())
            }
            tag::FLOAT => {
                let mut bits = [0; 8];
                bits.copy_from_slice(self.take(8)?);
                Scalar::Float(f64::from_bits(u64::from_le_bytes(bits)))
            }
            tag::TEXT => Scalar::Text(self.text()?.into()),
            _ => return Err(Damaged),
        })
    }

    fn text_with_digests(&mut self) -> Result<String, Damaged> {
        let mut text = String::new();
        loop {
            text.push_str(self.text()?);
            match self.byte()? {
                0 => return Ok(text),
                1 => text.push_str(&self.digest()?.hex()),
                _ => return Err(Damaged),
            }
        }
    }

    fn output(&mut self) -> Result<StoredOutput, Damaged> {
        let digest = self.digest()?;
        let size = self.number()?;
        let has = self.byte()?;
        if has > 3 {
            return Err(Damaged);
        }
        let inline = if has & 1 != 0 {
            Some(self.bytes()?.into())
        } else {
            None
        };
        let encoding = if has & 2 != 0 {
            Some(self.digest()?)
        } else {
            None
        };
        Ok(StoredOutput {
            digest,
            size,
            inline,
            encoding,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scalar() -> impl Strategy<Value = Scalar> {
        prop_oneof![
            any::<bool>().prop_map(Scalar::Bool),
            any::<i64>().prop_map(Scalar::Int),
            (-5i64..5).prop_map(Scalar::Int),
            any::<f64>()
                .prop_filter("compared with ==", |number| !number.is_nan())
                .prop_map(Scalar::Float),
            ".{0,20}".prop_map(|text| Scalar::Text(text.into())),
        ]
    }

    fn output() -> impl Strategy<Value = StoredOutput> {
        let inline = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40));
        let encoding = proptest::option::of(any::<[u8; 32]>());
        (any::<[u8; 32]>(), any::<u64>(), inline, encoding).prop_map(
            |(digest, size, inline, encoding)| StoredOutput {
                digest: Digest(digest),
                size,
                inline: inline.map(Into::into),
                encoding: encoding.map(Digest),
            },
        )
    }

    fn name() -> impl Strategy<Value = Arc<str>> {
        ".{0,8}".prop_map(Into::into)
    }

    fn source() -> impl Strategy<Value = String> {
        "(file:|[0-9a-f]{64}|[0-9a-f]{63}|[0-9A-F]{64}|:port|é){0,5}"
    }

    fn details() -> impl Strategy<Value = Details> {
        (
            proptest::option::of(any::<[u8; 32]>()),
            proptest::collection::vec((name(), scalar()), 0..5),
            proptest::collection::vec((name(), source()), 0..4),
            proptest::collection::vec((name(), output()), 0..4),
        )
            .prop_map(|(content, parameters, inputs, outputs)| Details {
                content: content.map(Recipe),
                parameters,
                inputs,
                outputs,
            })
    }

    fn written(recipe: &Recipe, details: &Details) -> Vec<u8> {
        write(
            recipe,
            details.content.as_ref(),
            &details.parameters,
            &details.inputs,
            &details.outputs,
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(details in details(), recipe in any::<[u8; 32]>()) {
            let recipe = Recipe(recipe);
            prop_assert_eq!(read(&recipe, &written(&recipe, &details)), Ok(details));
        }

        #[test]
        fn any_changed_byte_is_noticed(details in details(), at in any::<prop::sample::Index>(), by in 1u8..) {
            let recipe = Recipe([1; 32]);
            let mut bytes = written(&recipe, &details);
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            prop_assert_eq!(read(&recipe, &bytes), Err(Damaged));
        }

        // With a checksum that fits, so that the reader itself meets the nonsense.
        #[test]
        fn nonsense_never_panics(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let recipe = Recipe([2; 32]);
            let mut bytes = vec![VERSION];
            bytes.extend_from_slice(&checksum(&recipe, &body));
            bytes.extend_from_slice(&body);
            let _ = read(&recipe, &bytes);
        }
    }

    #[test]
    fn shortened_bytes_and_other_recipes_are_damaged() {
        let recipe = Recipe([3; 32]);
        let bytes = written(&recipe, &Details::default());
        for length in 0..bytes.len() {
            assert_eq!(
                read(&recipe, &bytes[..length]),
                Err(Damaged),
                "{length} bytes"
            );
        }
        assert_eq!(read(&Recipe([4; 32]), &bytes), Err(Damaged));
        assert_eq!(read(&recipe, &[0; 64]), Err(Damaged), "a page of zeros");
    }

    #[test]
    fn a_lie_about_a_count_reserves_nothing() {
        let recipe = Recipe([5; 32]);
        let body = [0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&checksum(&recipe, &body));
        bytes.extend_from_slice(&body);
        assert_eq!(read(&recipe, &bytes), Err(Damaged));
    }

    #[test]
    fn digests_in_texts_take_half_the_room() {
        let recipe = Recipe([6; 32]);
        let digest = Digest::of(b"x").hex();
        let length =
            |source: String| write(&recipe, None, &[], &[("in".into(), source)], &[]).len();
        assert_eq!(
            length(format!("{digest}:out")) - length(":out".to_owned()),
            34
        );
    }
}

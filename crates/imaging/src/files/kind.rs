//! What a file is, seen from its first bytes.
//!
//! Law: the extension of a name plays no part. What is not read here is named as well as the bytes allow.

use super::ImageError;

/// A format that is read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Png,
    Jpeg,
    Tiff,
}

/// How many first bytes are looked at.
pub(crate) const SNIFF: usize = 512;

/// Formats that are recognised in order to name them: what, where it begins, its bytes.
const OTHERS: &[(&str, usize, &[u8])] = &[
    ("a GIF image", 0, b"GIF8"),
    ("a BMP image", 0, b"BM"),
    ("a WebP image", 8, b"WEBP"),
    ("a JPEG 2000 image", 4, b"jP  \r\n\x87\n"),
    ("a JPEG 2000 stream", 0, b"\xff\x4f\xff\x51"),
    ("a JPEG XL image", 0, b"\xff\x0a"),
    ("a DICOM file", 128, b"DICM"),
    ("an HDF5 file", 0, b"\x89HDF\r\n\x1a\n"),
    ("a NumPy array", 0, b"\x93NUMPY"),
    ("a PDF document", 0, b"%PDF"),
    ("a ZIP archive", 0, b"PK\x03\x04"),
    ("a gzip file", 0, b"\x1f\x8b"),
    ("an AVIF or HEIF image", 4, b"ftyp"),
    ("a NetPBM image", 0, b"P5"),
    ("a NetPBM image", 0, b"P6"),
];

impl Kind {
    /// The format of a file that begins with these bytes (of which at most [`SNIFF`] count).
    pub(crate) fn of(head: &[u8]) -> Result<Kind, ImageError> {
        if head.starts_with(b"\x89PNG\r\n\x1a\n") {
            return Ok(Kind::Png);
        }
        if head.starts_with(b"\xff\xd8\xff") {
            return Ok(Kind::Jpeg);
        }
        if [b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"]
            .iter()
            .any(|magic| head.starts_with(*magic))
        {
            return Ok(Kind::Tiff);
        }
        Err(unknown(&head[..head.len().min(SNIFF)]))
    }
}

fn unknown(head: &[u8]) -> ImageError {
    let convert = "convert it to PNG or TIFF";
    let (found, way_out) = if head.is_empty() {
        (
            "an empty file".to_owned(),
            "check that it was written whole",
        )
    } else if let Some((name, ..)) = OTHERS
        .iter()
        .find(|(_, at, magic)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic)))
    {
        ((*name).to_owned(), convert)
    } else if head.starts_with(b"\x89PNG") || head.starts_with(b"\x89P") {
        (
            "the beginning of a PNG file with a damaged signature".to_owned(),
            "it was perhaps copied as text; get a fresh copy",
        )
    } else if let Some(text) = text(head) {
        (
            format!("a text file (it begins with {text:?})"),
            "check the path",
        )
    } else {
        let bytes: Vec<String> = head
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        (
            format!(
                "a file of an unknown kind (it begins with the bytes {})",
                bytes.join(" ")
            ),
            convert,
        )
    };
    ImageError::NotAnImage {
        found,
        way_out: way_out.to_owned(),
    }
}

/// The first characters, if the bytes are text.
fn text(head: &[u8]) -> Option<String> {
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        // A character may be cut at the end.
        Err(error) if error.valid_up_to() + 4 > head.len() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if valid.is_empty() || valid.chars().any(control) {
        return None;
    }
    Some(valid.chars().take(24).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_their_bytes() {
        assert_eq!(Kind::of(b"\x89PNG\r\n\x1a\n....").unwrap(), Kind::Png);
        assert_eq!(Kind::of(b"\xff\xd8\xff\xe0").unwrap(), Kind::Jpeg);
        assert_eq!(Kind::of(b"II*\0").unwrap(), Kind::Tiff);
        assert_eq!(Kind::of(b"MM\0+").unwrap(), Kind::Tiff);
    }

    #[test]
    fn what_is_not_an_image_is_named() {
        for (bytes, word) in [
            (&b""[..], "empty file"),
            (b"hello, world\n", "text file"),
            ("grün".as_bytes(), "text file"),
            (b"GIF89a", "GIF"),
            (b"\x89PNG\n\x1a\n", "damaged signature"),
            (b"\0\x01\x02\x03", "bytes 00 01 02 03"),
        ] {
            let message = Kind::of(bytes).unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
            assert!(message.contains("expected PNG, JPEG or TIFF"), "{message}");
        }
    }
}

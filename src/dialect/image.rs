//! Images in base64: their type and their size, from their first bytes, and whether they are whole.

use crate::json::text::from_base64;

/// First bytes of the images that interfaces accept, in base64, and the types of these images.
const IMAGES: [(&str, &str); 4] = [
    ("iVBORw0KGg", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGODl", "image/gif"),
    ("UklGR", "image/webp"),
];

/// Characters of base64 in which the size of an image is looked for.
const HEAD: usize = 1 << 19;

/// Whether the data are outside of the session.
pub fn is_outside(data: &str) -> bool {
    data.starts_with("blob:") || data.starts_with("http")
}

/// Returns the type of an image that interfaces accept.
///
/// ```
/// assert_eq!(copyist::dialect::image::media_type("iVBORw0KGgoA"), Some("image/png"));
/// assert_eq!(copyist::dialect::image::media_type("PGh0bWw+"), None);
/// ```
pub fn media_type(data: &str) -> Option<&'static str> {
    IMAGES.iter().find(|(begin, _)| data.starts_with(begin)).map(|(_, kind)| *kind)
}

/// Returns the larger side of an image in pixels, if its first bytes show it.
///
/// ```
/// let png = "iVBORw0KGgoAAAANSUhEUgAAIygAAAAI";
/// assert_eq!(copyist::dialect::image::larger_side(png), Some(9000));
/// ```
pub fn larger_side(data: &str) -> Option<u32> {
    let kind = media_type(data)?;
    let head = if kind == "image/jpeg" { HEAD } else { 64 };
    let head = data.get(..head.min(data.len()) / 4 * 4)?;
    let bytes = from_base64(head)?;
    let (width, height) = match kind {
        "image/png" => (number(&bytes, 16, 4)?, number(&bytes, 20, 4)?),
        "image/gif" => (little(&bytes, 6, 2)?, little(&bytes, 8, 2)?),
        "image/jpeg" => jpeg(&bytes)?,
        _ => webp(&bytes)?,
    };
    Some(width.max(height))
}

/// Whether an image is whole, by the structure of its file: all parts are there up to the end, and
/// those of a PNG have their checksums. Data that are not base64 are not looked at.
///
/// ```
/// use copyist::dialect::image::is_whole;
/// assert!(!is_whole("iVBORw0KGgoAAAANSUhEUg=="));
/// assert!(is_whole("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkwBADs="));
/// ```
pub fn is_whole(data: &str) -> bool {
    let (Some(kind), Some(bytes)) = (media_type(data), from_base64(data)) else { return true };
    let ends = |end: &[u8]| memchr::memmem::rfind(&bytes, end).is_some();
    match kind {
        "image/png" => png_ends(&bytes),
        "image/jpeg" => jpeg(&bytes).is_some() && ends(&[0xff, 0xd9]),
        "image/gif" => bytes.len() > 13 && ends(b";"),
        _ => {
            little(&bytes, 4, 4).is_some_and(|size| size as usize <= bytes.len().saturating_sub(8))
        }
    }
}

/// Whether all chunks of a PNG are there up to the last one.
fn png_ends(bytes: &[u8]) -> bool {
    let (mut at, mut has_data) = (8, false);
    loop {
        let Some(length) = number(bytes, at, 4).map(|length| length as usize) else { return false };
        let chunk = bytes.get(at + 4..).and_then(|rest| rest.get(..length.saturating_add(4)));
        let Some(chunk) = chunk else { return false };
        let mut sum = flate2::Crc::new();
        sum.update(chunk);
        at += 8 + length;
        if number(bytes, at, 4) != Some(sum.sum()) {
            return false;
        }
        at += 4;
        has_data |= chunk.starts_with(b"IDAT");
        if chunk.starts_with(b"IEND") {
            return has_data;
        }
    }
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let digits = bytes.get(at..at + length)?;
    Some(digits.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let digits = bytes.get(at..at + length)?;
    Some(digits.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

/// Reads the size in the frame header, which follows segments of other kinds.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let marker = number(bytes, at, 2)?;
        let is_frame =
            matches!(marker, 0xffc0..=0xffcf) && ![0xffc4, 0xffc8, 0xffcc].contains(&marker);
        if is_frame {
            return Some((number(bytes, at + 7, 2)?, number(bytes, at + 5, 2)?));
        }
        if marker < 0xff00 {
            return None;
        }
        // Bytes of filling, and markers without a segment.
        at += match marker {
            0xffff => 1,
            0xffd0..=0xffd9 | 0xff01 => 2,
            _ => 2 + number(bytes, at + 2, 2)? as usize,
        };
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        b"VP8 " => Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff)),
        b"VP8L" => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::text::to_base64;

    #[test]
    fn sizes_are_in_the_first_bytes() {
        let gif = [b"GIF89a".as_slice(), &[0x60, 9, 8, 0, 0, 0]].concat();
        assert_eq!(larger_side(&to_base64(&gif)), Some(2400));
        let jpeg =
            [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xff, 0xc2, 0, 9, 8, 0x23, 0x28, 0, 8, 0];
        assert_eq!(larger_side(&to_base64(&jpeg[..18])), Some(9000));
        let webp = [b"RIFF....WEBPVP8X........".as_slice(), &[0x27, 0x23, 0, 7, 0, 0]].concat();
        assert_eq!(larger_side(&to_base64(&webp)), Some(9000));
        assert_eq!(larger_side("iVBORw0KGg"), None);
    }
}

//! Content of messages that the interfaces of models refuse.
//!
//! Source: Anthropic's Messages and OpenAI's Chat Completions as their documents describe them and
//! as users report their errors: names of tools match `^[a-zA-Z0-9_-]{1,128}$`, an image is a PNG,
//! JPEG, GIF or WebP in base64, and text has neither U+0000 nor half a surrogate pair.

/// Longest name of a tool, in characters.
const LONGEST_NAME: usize = 128;

/// Whether a tool can have this name.
///
/// ```
/// use copyist::dialect::refusal::is_tool_name;
/// assert!(is_tool_name("read_file-2") && !is_tool_name("fs.read") && !is_tool_name(""));
/// ```
#[must_use]
pub fn is_tool_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_of_name)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns a name that a tool can have: `_` replaces each other character, and a name without
/// characters.
///
/// ```
/// assert_eq!(copyist::dialect::refusal::tool_name("fs.read ä"), "fs_read__");
/// ```
#[must_use]
pub fn tool_name(name: &str) -> String {
    let fits = |c: char| u8::try_from(c).is_ok_and(is_of_name);
    let name: String =
        name.chars().map(|c| if fits(c) { c } else { '_' }).take(LONGEST_NAME).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// First bytes of the images that interfaces take, in base64, and the types of these images.
const IMAGES: [(&str, &str); 4] = [
    ("iVBORw0KGg", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGODl", "image/gif"),
    ("UklGR", "image/webp"),
];

/// Returns why an image with these data is refused, in words; `None` for one that is taken. Data
/// outside of the session are not checked.
///
/// ```
/// use copyist::dialect::refusal::image_fault;
/// assert_eq!(image_fault(""), Some("the image is empty"));
/// assert_eq!(image_fault("PGh0bWw+"), Some("the image is no PNG, JPEG, GIF or WebP"));
/// assert_eq!(image_fault("iVBORw0KGgoAAAANSUhEUg=="), None);
/// ```
#[must_use]
pub fn image_fault(data: &str) -> Option<&'static str> {
    if data.starts_with("blob:") || data.starts_with("http") {
        return None;
    }
    if data.trim().is_empty() {
        return Some("the image is empty");
    }
    let of_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    let digits = data.trim_end_matches('=');
    if !digits.bytes().all(of_base64) || digits.len() % 4 == 1 || data.len() - digits.len() > 2 {
        return Some("the image is not base64");
    }
    let known = IMAGES.iter().any(|(begin, _)| data.starts_with(begin));
    (!known).then_some("the image is no PNG, JPEG, GIF or WebP")
}

//! Scalars that look like something other than text.

/// Whether PyYAML reads a scalar without quotes as something other than text: a YAML 1.1 boolean,
/// null, number, time, `<<` or `=`.
///
/// Source: PyYAML 6.0.3, `resolver.py`, the implicit resolvers.
pub fn is_yaml_1_1(text: &[u8]) -> bool {
    match text {
        // For most texts the first byte or the length shows that they are text.
        [b'a'..=b'e' | b'g'..=b'm' | b'p'..=b's' | b'u'..=b'x' | b'z', ..] => false,
        [b'A'..=b'Z' | b'a'..=b'z', _, _, _, _, _, ..] => false,
        b"" | b"~" | b"<<" | b"=" | b"null" | b"Null" | b"NULL" => true,
        b"yes" | b"Yes" | b"YES" | b"no" | b"No" | b"NO" => true,
        b"true" | b"True" | b"TRUE" | b"false" | b"False" | b"FALSE" => true,
        b"on" | b"On" | b"ON" | b"off" | b"Off" | b"OFF" => true,
        [b'+' | b'-' | b'.' | b'0'..=b'9', ..] => {
            is_integer(text) || is_float(text) || is_time(text)
        }
        _ => false,
    }
}

/// Whether PyYAML takes a scalar without quotes for a time or a number, and refuses it because
/// there is no such day, hour or number.
pub fn is_no_value(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"+").or(text.strip_prefix(b"-")).unwrap_or(text);
    match digits {
        [b'0', b'b' | b'x', digits @ ..] => is_integer(text) && digits.iter().all(|b| *b == b'_'),
        [b'1'..=b'9', ..] if digits.len() > LONGEST_INTEGER && is_integer(text) => {
            let first = digits.split(|b| *b == b':').next().unwrap_or_default();
            first.iter().filter(|b| **b != b'_').count() > LONGEST_INTEGER
        }
        _ => is_time(text) && !exists(text),
    }
}

/// Maximum number of decimal digits of an integer that Python reads, since 3.10.7 and 3.11.
const LONGEST_INTEGER: usize = 4300;

/// Words for booleans, in small letters.
const BOOLEANS: [&[u8]; 6] = [b"yes", b"no", b"true", b"false", b"on", b"off"];

/// Whether PyYAML makes a value of this type of a scalar with a tag, such as `!!int`. Tags that are
/// not those of YAML fit no scalar less than another.
///
/// Source: PyYAML 6.0.3, `constructor.py`, `SafeConstructor`.
pub fn fits_tag(tag: &str, text: &[u8]) -> bool {
    let short = tag.strip_prefix("!!");
    let full = || tag.strip_prefix("!<tag:yaml.org,2002:").and_then(|tag| tag.strip_suffix('>'));
    let text_lower = text.to_ascii_lowercase();
    match short.or_else(full) {
        Some("int") => is_integer(text) && !is_no_value(text),
        Some("float") => {
            let number = std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok());
            is_float(text) || number
        }
        Some("bool") => BOOLEANS.contains(&text_lower.as_slice()),
        Some("timestamp") => is_time(text) && exists(text),
        Some("seq" | "map" | "set" | "omap" | "pairs") => false,
        _ => true,
    }
}

/// Whether the day and the hour of a time exist.
fn exists(time: &[u8]) -> bool {
    let runs = time.split(|b| !b.is_ascii_digit()).filter(|run| !run.is_empty());
    let mut numbers = runs.map(|run| run.iter().fold(0_i16, |n, b| n * 10 + i16::from(b - b'0')));
    let mut next = || numbers.next().unwrap_or_default();
    let (year, month, day) = (next(), next() as i8, next() as i8);
    let (hour, minute, second) = (next(), next(), next());
    let date = jiff::civil::Date::new(year, month, day);
    year > 0 && date.is_ok() && hour < 24 && minute < 60 && second < 60
}

/// Remainder of a text while a pattern is matched against it.
#[derive(Clone, Copy)]
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    /// Steps over bytes of a kind; returns how many.
    fn run(&mut self, of: fn(&u8) -> bool) -> usize {
        let n = self.0.iter().take_while(|b| of(b)).count();
        self.0 = self.0.get(n..).unwrap_or_default();
        n
    }

    /// Steps over one byte of a set.
    fn one(&mut self, of: &[u8]) -> bool {
        match self.0 {
            [first, rest @ ..] if of.contains(first) => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    /// Steps over one or two digits.
    fn short_digits(&mut self) -> bool {
        digit(self) && {
            digit(self);
            true
        }
    }

    fn ended(self) -> bool {
        self.0.is_empty()
    }
}

fn digit(rest: &mut Rest<'_>) -> bool {
    rest.one(b"0123456789")
}

fn digits(rest: &mut Rest<'_>, n: usize) -> bool {
    (0..n).all(|_| digit(rest))
}

fn is_grouped(b: &u8) -> bool {
    b.is_ascii_digit() || *b == b'_'
}

/// Matches `(:[0-5]?[0-9])+`, the digits of base 60.
fn sixties(rest: &mut Rest<'_>) -> bool {
    let mut any = false;
    while rest.one(b":") {
        let small = rest.one(b"012345");
        if !digit(rest) && !small {
            return false;
        }
        any = true;
    }
    any
}

fn is_integer(text: &[u8]) -> bool {
    let mut rest = Rest(text);
    rest.one(b"+-");
    let all = |digits: &[u8], of: fn(&u8) -> bool| !digits.is_empty() && digits.iter().all(of);
    match rest.0 {
        b"0" => true,
        [b'0', b'b', bits @ ..] => all(bits, |b| matches!(b, b'0' | b'1' | b'_')),
        [b'0', b'x', nibbles @ ..] => all(nibbles, |b| b.is_ascii_hexdigit() || *b == b'_'),
        [b'0', octal @ ..] => all(octal, |b| matches!(b, b'0'..=b'7' | b'_')),
        [b'1'..=b'9', ..] => {
            rest.run(is_grouped);
            rest.ended() || (sixties(&mut rest) && rest.ended())
        }
        _ => false,
    }
}

fn is_float(text: &[u8]) -> bool {
    let mut rest = Rest(text);
    let signed = rest.one(b"+-");
    match rest.0 {
        b".inf" | b".Inf" | b".INF" => true,
        b".nan" | b".NaN" | b".NAN" => !signed,
        [b'.', b'0'..=b'9', ..] => {
            rest.one(b".");
            rest.run(is_grouped);
            !signed && exponent(rest)
        }
        [b'0'..=b'9', ..] => {
            rest.run(is_grouped);
            let sixty = sixties(&mut rest);
            let point = rest.one(b".");
            rest.run(is_grouped);
            point && (rest.ended() || (!sixty && exponent(rest)))
        }
        _ => false,
    }
}

/// Matches an empty text, or `[eE][-+][0-9]+`.
fn exponent(mut rest: Rest<'_>) -> bool {
    if rest.ended() {
        return true;
    }
    rest.one(b"eE") && rest.one(b"+-") && rest.run(u8::is_ascii_digit) > 0 && rest.ended()
}

fn is_time(text: &[u8]) -> bool {
    let mut rest = Rest(text);
    if !(digits(&mut rest, 4) && rest.one(b"-")) {
        return false;
    }
    let mut date = rest;
    if digits(&mut date, 2) && date.one(b"-") && digits(&mut date, 2) && date.ended() {
        return true;
    }
    rest.short_digits()
        && rest.one(b"-")
        && rest.short_digits()
        && (rest.one(b"Tt") || rest.run(is_blank) > 0)
        && rest.short_digits()
        && rest.one(b":")
        && digits(&mut rest, 2)
        && rest.one(b":")
        && digits(&mut rest, 2)
        && is_time_end(rest)
}

/// Matches a fraction of a second and a zone, either of which may be missing.
fn is_time_end(mut rest: Rest<'_>) -> bool {
    if rest.one(b".") {
        rest.run(u8::is_ascii_digit);
    }
    if rest.ended() {
        return true;
    }
    rest.run(is_blank);
    if rest.one(b"Z") {
        return rest.ended();
    }
    let offset = rest.one(b"+-") && rest.short_digits();
    offset && (rest.ended() || (rest.one(b":") && digits(&mut rest, 2) && rest.ended()))
}

fn is_blank(b: &u8) -> bool {
    matches!(b, b' ' | b'\t')
}

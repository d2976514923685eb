//! Keys and tokens that their beginning and their characters show.

use super::{Found, Search};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// Characters of a token behind its beginning.
#[derive(Clone, Copy, Debug)]
pub enum Set {
    /// Letters and digits.
    Alphanumeric,
    /// Letters, digits, `_` and `-`.
    Word,
    /// Capital letters and digits.
    Capitals,
    /// Digits and the letters from `a` to `f`.
    Hexadecimal,
    /// Words that dots join.
    Dotted,
    /// Words that slashes join.
    Path,
    /// Base64 in the address of a page, where a percent sign begins an escape.
    Encoded,
}

impl Set {
    /// Whether a byte is one of these characters.
    pub fn contains(self, byte: u8) -> bool {
        let word = || byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        match self {
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => word(),
            Self::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hexadecimal => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            Self::Dotted => word() || byte == b'.',
            Self::Path => word() || byte == b'/',
            Self::Encoded => word() || b"%+/=".contains(&byte),
        }
    }

    /// Returns how many bytes of these characters a text begins with.
    pub fn run(self, text: &[u8]) -> usize {
        text.iter().take_while(|byte| self.contains(**byte)).count()
    }
}

/// Shape of a token.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Beginning of the token.
    pub prefix: &'static str,
    /// Characters behind it.
    set: Set,
    /// Minimum number of these characters.
    least: usize,
    /// Whether a letter or digit before the beginning makes it another word.
    bounded: bool,
    /// Number of these characters that the token usually has; one with fewer can go on in the next
    /// line.
    usual: usize,
    /// Further condition for what follows the beginning.
    test: fn(&[u8]) -> bool,
    /// Kind of the token.
    kind: &'static str,
}

/// A shape whose beginning occurs in nothing else.
const fn shape(prefix: &'static str, set: Set, least: usize, kind: &'static str) -> Shape {
    Shape { prefix, set, least, bounded: false, usual: 0, test: any, kind }
}

/// A shape whose beginning can be the end of a word.
const fn bounded(
    prefix: &'static str,
    set: Set,
    least: usize,
    test: fn(&[u8]) -> bool,
    kind: &'static str,
) -> Shape {
    Shape { prefix, set, least, bounded: true, usual: 0, test, kind }
}

const AWS: &str = "AWS access key";
const GITHUB: &str = "GitHub token";
const GITLAB: &str = "GitLab token";
const SLACK: &str = "Slack token";
const STRIPE: &str = "Stripe key";
/// Keys and tokens whose service has no kind of its own.
pub const API_KEY: &str = "API key";

/// Shapes that are searched for by their beginnings.
pub const SHAPES: &[Shape] = {
    use Set::{Alphanumeric, Capitals, Dotted, Encoded, Hexadecimal, Path, Word};
    &[
        bounded("AKIA", Capitals, 16, is_sixteen, AWS).usual(16),
        bounded("ASIA", Capitals, 16, is_sixteen, AWS).usual(16),
        bounded("ABIA", Capitals, 16, is_sixteen, AWS),
        bounded("ACCA", Capitals, 16, is_sixteen, AWS),
        shape("ghp_", Alphanumeric, 16, GITHUB).usual(36),
        shape("gho_", Alphanumeric, 16, GITHUB).usual(36),
        shape("ghu_", Alphanumeric, 16, GITHUB).usual(36),
        shape("ghs_", Alphanumeric, 16, GITHUB).usual(36),
        shape("ghr_", Alphanumeric, 16, GITHUB).usual(36),
        shape("github_pat_", Word, 16, GITHUB).usual(82),
        shape("glpat-", Word, 16, GITLAB).usual(20),
        shape("gldt-", Word, 16, GITLAB),
        shape("glrt-", Word, 16, GITLAB),
        shape("glptt-", Word, 16, GITLAB),
        shape("glcbt-", Word, 16, GITLAB),
        shape("GR1348941", Word, 16, GITLAB),
        shape("xoxb-", Word, 10, SLACK).usual(50),
        shape("xoxp-", Word, 10, SLACK).usual(70),
        shape("xoxa-", Word, 10, SLACK),
        shape("xoxr-", Word, 10, SLACK),
        shape("xoxs-", Word, 10, SLACK),
        shape("xoxe-", Word, 10, SLACK),
        shape("xoxe.", Dotted, 10, SLACK),
        shape("xapp-", Word, 10, SLACK),
        shape("hooks.slack.com/services/", Path, 16, SLACK),
        shape("hooks.slack.com/workflows/", Path, 16, SLACK),
        shape("discord.com/api/webhooks/", Path, 30, "Discord token"),
        shape("discordapp.com/api/webhooks/", Path, 30, "Discord token"),
        shape("sk-ant-", Word, 12, "Anthropic key").usual(101),
        shape("sk-proj-", Word, 16, "OpenAI key").usual(156),
        shape("sk-svcacct-", Word, 16, "OpenAI key"),
        shape("sk-admin-", Word, 16, "OpenAI key"),
        shape("sk-or-v1-", Word, 16, API_KEY),
        bounded("sk-", Word, 20, has_long_part, "OpenAI key").usual(48),
        shape("AIza", Word, 30, "Google key").usual(35),
        shape("GOCSPX-", Word, 16, "Google key"),
        bounded("ya29.", Dotted, 20, any, "Google key"),
        shape("sk_live_", Alphanumeric, 10, STRIPE).usual(24),
        shape("sk_test_", Alphanumeric, 10, STRIPE),
        shape("rk_live_", Alphanumeric, 10, STRIPE).usual(24),
        shape("rk_test_", Alphanumeric, 10, STRIPE),
        bounded("whsec_", Alphanumeric, 16, any, STRIPE),
        bounded("npm_", Alphanumeric, 30, any, "npm token").usual(36),
        bounded("pypi-Ag", Word, 16, any, "PyPI token"),
        bounded("hf_", Alphanumeric, 30, any, "Hugging Face token").usual(34),
        bounded("SG.", Dotted, 34, has_two_parts, "SendGrid key"),
        bounded("eyJ", Dotted, 20, is_web_token, "JSON web token"),
        shape("dop_v1_", Hexadecimal, 32, API_KEY).usual(64),
        shape("shpat_", Alphanumeric, 20, API_KEY),
        shape("shpss_", Alphanumeric, 20, API_KEY),
        shape("lin_api_", Alphanumeric, 20, API_KEY),
        bounded("secret_", Alphanumeric, 40, has_digit, API_KEY),
        bounded("ntn_", Alphanumeric, 30, has_digit, API_KEY),
        bounded("dapi", Hexadecimal, 32, any, API_KEY),
        bounded("hvs.", Word, 20, any, API_KEY),
        bounded("hvb.", Word, 20, any, API_KEY),
        shape("glsa_", Word, 20, API_KEY),
        shape("NRAK-", Capitals, 20, API_KEY),
        shape("sntrys_", Word, 20, API_KEY),
        shape("PMAK-", Word, 20, API_KEY),
        bounded("gsk_", Alphanumeric, 30, has_digit, API_KEY).usual(52),
        bounded("xai-", Alphanumeric, 30, has_digit, API_KEY),
        bounded("pplx-", Alphanumeric, 30, any, API_KEY),
        bounded("r8_", Alphanumeric, 30, has_digit, API_KEY),
        bounded("sbp_", Hexadecimal, 32, any, API_KEY),
        shape("pscale_tkn_", Word, 20, API_KEY),
        shape("pscale_pw_", Word, 20, API_KEY),
        shape("dckr_pat_", Word, 16, API_KEY).usual(27),
        shape("ATATT3", Word, 20, API_KEY),
        shape("rubygems_", Hexadecimal, 32, API_KEY),
        shape("figd_", Word, 20, API_KEY),
        shape("AGE-SECRET-KEY-1", Capitals, 30, "private key"),
        shape("tskey-", Word, 16, API_KEY),
        bounded("sq0atp-", Word, 16, any, API_KEY),
        bounded("sq0csp-", Word, 16, any, API_KEY),
        bounded("sig=", Encoded, 40, has_digit, "Azure key"),
        shape("glsoat-", Word, 16, GITLAB),
        shape("glft-", Word, 16, GITLAB),
        shape("glimt-", Word, 16, GITLAB),
        shape("glagent-", Word, 16, GITLAB),
        shape("gloas-", Word, 16, GITLAB),
        shape("glffct-", Word, 16, GITLAB),
        bounded("LTAI", Alphanumeric, 17, has_digit, API_KEY),
        bounded("AKCp", Alphanumeric, 60, any, API_KEY),
        shape("CLOJARS_", Alphanumeric, 40, API_KEY),
        bounded("dnkey-", Word, 40, any, API_KEY),
        shape("doo_v1_", Hexadecimal, 32, API_KEY),
        shape("dor_v1_", Hexadecimal, 32, API_KEY),
        shape("dp.pt.", Alphanumeric, 40, API_KEY),
        bounded("duffel_live_", Word, 40, any, API_KEY),
        bounded("duffel_test_", Word, 40, any, API_KEY),
        shape("dt0c01.", Dotted, 60, API_KEY),
        bounded("EZAK", Alphanumeric, 54, any, API_KEY),
        bounded("EZTK", Alphanumeric, 54, any, API_KEY),
        shape("FLWSECK_TEST-", Word, 12, API_KEY),
        bounded("fo1_", Word, 40, any, API_KEY),
        bounded("fm2_", Encoded, 60, any, API_KEY),
        bounded("fio-u-", Word, 40, any, API_KEY),
        shape("glc_", Encoded, 32, API_KEY),
        shape("HRKU-AA", Word, 40, API_KEY),
        shape("api_org_", Alphanumeric, 30, API_KEY),
        bounded("ico-", Alphanumeric, 32, has_digit, API_KEY),
        shape("NRII-", Word, 30, API_KEY),
        shape("NRJS-", Hexadecimal, 19, API_KEY),
        bounded("API-26", Capitals, 20, any, API_KEY),
        shape("sha256~", Word, 40, API_KEY),
        shape("pscale_oauth_", Word, 20, API_KEY),
        bounded("pnu_", Alphanumeric, 36, any, API_KEY),
        bounded("pul-", Hexadecimal, 40, any, API_KEY),
        shape("rdme_", Alphanumeric, 60, API_KEY),
        shape("xkeysib-", Word, 60, API_KEY),
        shape("sntryu_", Hexadecimal, 60, API_KEY),
        shape("shippo_live_", Hexadecimal, 40, API_KEY),
        shape("shippo_test_", Hexadecimal, 40, API_KEY),
        shape("shpca_", Hexadecimal, 32, API_KEY),
        shape("shppa_", Hexadecimal, 32, API_KEY),
        bounded("squ_", Hexadecimal, 40, any, API_KEY),
        bounded("sqp_", Hexadecimal, 40, any, API_KEY),
        bounded("sqa_", Hexadecimal, 40, any, API_KEY),
        shape("sgp_", Word, 40, API_KEY),
        bounded("EAAA", Word, 60, has_digit, API_KEY),
        shape("tfp_", Word, 59, API_KEY),
        bounded("ABSK", Encoded, 100, has_digit, AWS),
        bounded("llx-", Alphanumeric, 40, has_digit, API_KEY),
        shape("lsv2_pt_", Word, 30, API_KEY),
        shape("lsv2_sk_", Word, 30, API_KEY),
    ]
};

/// Beginnings of two letters, which are too frequent for the common search.
static TWILIO: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| ["SK", "AC"].map(Finder::new));

/// Number of hexadecimal digits behind them.
const TWILIO_CODE: usize = 32;

fn any(_: &[u8]) -> bool {
    true
}

/// Whether an identifier of a key has the length of one; base64 may contain its beginning.
fn is_sixteen(token: &[u8]) -> bool {
    token.len() == 16
}

fn has_digit(token: &[u8]) -> bool {
    token.iter().any(u8::is_ascii_digit)
}

/// Whether a text has digits, capital and small letters.
fn is_mixed(text: &[u8]) -> bool {
    let letters = [u8::is_ascii_uppercase, u8::is_ascii_lowercase];
    has_digit(text) && letters.iter().all(|test| text.iter().any(test))
}

/// Whether one of the parts between hyphens is long and random; names of classes have only short
/// words.
fn has_long_part(token: &[u8]) -> bool {
    let mut parts = token.split(|byte| !byte.is_ascii_alphanumeric());
    parts.any(|part| part.len() >= 16 && has_digit(part))
}

fn has_two_parts(token: &[u8]) -> bool {
    let mut parts = token.split(|byte| *byte == b'.');
    parts.next().is_some_and(|part| part.len() >= 16)
        && parts.next().is_some_and(|part| part.len() >= 16)
}

/// Whether a token has the header and the contents of a JSON web token.
fn is_web_token(token: &[u8]) -> bool {
    let mut parts = token.split(|byte| *byte == b'.');
    parts.next().is_some_and(|part| part.len() >= 8)
        && parts.next().is_some_and(|part| part.len() >= 10)
}

impl Shape {
    /// Sets the usual number of characters behind the beginning.
    const fn usual(self, usual: usize) -> Self {
        Self { usual, ..self }
    }

    /// Returns the end of a token whose first line has `run` characters, if it goes on in the next
    /// lines.
    fn next_lines(&self, rest: &[u8], run: usize) -> Option<usize> {
        let (mut end, mut length) = (run, run);
        while length < self.usual {
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
            let gap = rest.get(end..)?.iter().take(16).take_while(blank).count();
            let lines = memchr::memchr_iter(b'\n', rest.get(end..end + gap)?).count();
            let next = rest.get(end + gap..)?;
            let part = self.set.run(next.get(..next.len().min(2 * self.usual))?);
            let whole = length + part == self.usual;
            let random = part >= 8 && is_mixed(next.get(..part)?);
            if lines != 1 || part == 0 || !(whole || random) {
                break;
            }
            (end, length) = (end + gap + part, length + part);
        }
        (end > run && length >= self.least).then_some(end)
    }

    /// Searches for the token whose beginning is at this place.
    pub fn find(&self, search: &mut Search<'_, '_>, at: usize) {
        let bytes = search.text.as_bytes();
        let start = at + self.prefix.len();
        let begins = bytes.get(at..start) == Some(self.prefix.as_bytes())
            && (!self.bounded || search.is_boundary(at));
        let Some(rest) = bytes.get(start..).filter(|_| begins && !search.is_done(at)) else {
            return;
        };
        let run = self.set.run(rest);
        if let Some(end) = self.next_lines(rest, run) {
            return search.add(Found { start: at, end: start + end, kind: self.kind });
        }
        let mut length = run;
        // A dot or a slash at the end belongs to the sentence.
        while length > 0 && matches!(rest.get(length - 1), Some(b'.' | b'/')) {
            length -= 1;
        }
        let token = rest.get(..length).unwrap_or_default();
        if length >= self.least && (self.test)(token) {
            search.add(Found { start: at, end: start + length, kind: self.kind });
        } else {
            search.fail(at, start + run);
        }
    }
}

/// Searches for keys of Twilio, whose beginnings are too frequent for the common search.
pub fn others(search: &mut Search<'_, '_>) {
    let bytes = search.text.as_bytes();
    if bytes.len() < TWILIO_CODE {
        return;
    }
    for beginning in TWILIO.iter() {
        for at in beginning.find_iter(bytes) {
            let start = at + beginning.needle().len();
            let rest = bytes.get(start..).unwrap_or_default().iter().take(TWILIO_CODE + 1);
            let length = rest.take_while(|b| Set::Hexadecimal.contains(**b)).count();
            if length == TWILIO_CODE && search.is_boundary(at) {
                search.add(Found { start: at, end: start + length, kind: "Twilio key" });
            }
        }
    }
}

/// Searches for a token around a dot. One of Discord has an identifier, six characters of a time,
/// and a code, with dots between them; one of Ollama two codes.
pub fn around_dot(search: &mut Search<'_, '_>, dot: usize) {
    const TIME: usize = 6;
    let bytes = search.text.as_bytes();
    let before = bytes.get(..dot).unwrap_or_default().iter().rev();
    if before.take(33).take_while(|byte| Set::Hexadecimal.contains(**byte)).count() == 32 {
        let code = bytes.get(dot + 1..).unwrap_or_default().iter().take(25);
        let code = code.take_while(|byte| Set::Word.contains(**byte)).count();
        if code == 24 && search.is_boundary(dot - 32) {
            search.add(Found { start: dot - 32, end: dot + 25, kind: API_KEY });
        }
    }
    if bytes.get(dot + TIME + 1) != Some(&b'.') {
        return;
    }
    let word = |byte: &&u8| Set::Word.contains(**byte);
    let before = bytes.get(..dot).unwrap_or_default().iter().rev().take(33).take_while(word);
    let (before, time) = (
        before.count(),
        bytes.get(dot + 1..).map_or(0, |b| Set::Word.run(b.get(..TIME).unwrap_or_default())),
    );
    let code = bytes.get(dot + TIME + 2..).unwrap_or_default();
    let code = code.iter().take(64).take_while(word).count();
    if (23..=32).contains(&before) && time == TIME && (27..=60).contains(&code) {
        let start = dot - before + usize::from(search.is_escape(dot - before));
        let end = dot + TIME + 2 + code;
        search.add(Found { start, end, kind: "Discord token" });
    }
}

/// Searches for a token of Telegram around a colon: the number of a bot and a code of 35
/// characters.
pub fn around_colon(search: &mut Search<'_, '_>, colon: usize) {
    let bytes = search.text.as_bytes();
    let before = bytes.get(..colon).unwrap_or_default().iter().rev();
    let number = before.take(13).take_while(|byte| byte.is_ascii_digit()).count();
    if !(6..=12).contains(&number) {
        return;
    }
    let code = bytes.get(colon + 1..).unwrap_or_default();
    let code = code.iter().take(40).take_while(|byte| Set::Word.contains(**byte)).count();
    if (34..=36).contains(&code) {
        let (start, end) = (colon - number, colon + 1 + code);
        search.add(Found { start, end, kind: "Telegram token" });
    }
}

/// Returns the kinds of tokens.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|shape| shape.kind).chain(["Twilio key", "Discord token", "Telegram token"])
}

//! Times in the spellings of the formats, all in UTC, and for people in the zone of the machine.

use crate::json::Json;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

/// Length of a day in milliseconds.
pub const DAY: i64 = 24 * 60 * 60 * 1000;

/// Returns the beginning of the day of a time; both in milliseconds since 1970.
///
/// ```
/// use copyist::times::{DAY, day_of};
/// assert_eq!((day_of(DAY + 5), day_of(-1)), (DAY, -DAY));
/// ```
#[must_use]
pub fn day_of(time: i64) -> i64 {
    time - time.rem_euclid(DAY)
}

/// Returns the time that a string names; a time without a zone is read as UTC.
///
/// ```
/// use copyist::{json::Json, times};
/// let time = |text| times::read(&Json::string(text)).map(times::with_millis);
/// assert_eq!(time("2025-12-03 10:11:12").as_deref(), Some("2025-12-03T10:11:12.000Z"));
/// assert_eq!(time("2025-12-03T10:11:12+01:00").as_deref(), Some("2025-12-03T09:11:12.000Z"));
/// assert_eq!(time("yesterday"), None);
/// ```
pub fn read(time: &Json) -> Option<Timestamp> {
    let text = time.text()?;
    let plain = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    text.parse().ok().or_else(|| plain().map(|plain| plain.timestamp()))
}

/// Returns the milliseconds since 1970 of a time in its JSON spelling.
pub fn millis(spelling: &[u8]) -> Option<i64> {
    let text = spelling.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let time: Timestamp = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(time.as_millisecond())
}

/// Returns the time that a number names, in milliseconds or in seconds since 1970. Seconds have
/// fewer than twelve digits until the year 5138.
///
/// ```
/// use copyist::{json::Json, times};
/// let time = |number| times::of_number(&Json::from_f64(number)).map(times::with_millis);
/// assert_eq!(time(1788339600000.0).as_deref(), Some("2026-09-02T09:00:00.000Z"));
/// assert_eq!(time(1788339600.5).as_deref(), Some("2026-09-02T09:00:00.500Z"));
/// assert_eq!(times::of_number(&Json::string("1788339600")), None);
/// ```
pub fn of_number(time: &Json) -> Option<Timestamp> {
    let number = time.float()?;
    let millis = if number.abs() < 1e11 { number * 1000.0 } else { number };
    Timestamp::from_millisecond(millis.round() as i64).ok()
}

/// Returns the time that a string or a number names.
pub fn of(time: &Json) -> Option<Timestamp> {
    read(time).or_else(|| of_number(time))
}

/// Returns the time one millisecond later.
pub fn after(time: Timestamp) -> Timestamp {
    time.checked_add(SignedDuration::from_millis(1)).unwrap_or(time)
}

/// Returns the time one millisecond before.
pub fn before(time: Timestamp) -> Timestamp {
    time.checked_sub(SignedDuration::from_millis(1)).unwrap_or(time)
}

/// Spells a time as JavaScript's `toISOString` does.
pub fn with_millis(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// Spells a time as Python's `isoformat` does with microseconds, and a `Z`.
pub fn with_micros(time: Timestamp) -> String {
    civil(time).strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// Spells a time as the shell's `date` does, to the second.
pub fn with_seconds(time: Timestamp) -> String {
    civil(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Spells a time to the second, with a space before the time of day.
pub fn in_seconds(time: Timestamp) -> String {
    civil(time).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Returns a time in the zone of the machine, which `TZ` or its settings name.
pub fn local(time: Timestamp) -> Zoned {
    time.to_zoned(TimeZone::try_system().unwrap_or(TimeZone::UTC))
}

/// Spells a time to the minute in the zone of the machine.
pub fn local_minute(time: Timestamp) -> String {
    local(time).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Spells the day of a time in the zone of the machine.
pub fn local_day(time: Timestamp) -> String {
    local(time).strftime("%Y-%m-%d").to_string()
}

/// Returns the name of the machine's zone at a time, as `CET`, `UTC` or `+03`.
pub fn local_zone(time: Timestamp) -> String {
    local(time).strftime("%Z").to_string()
}

/// Returns the name of the machine's zone, such as `Europe/Berlin`, or else its distance from UTC.
pub fn zone() -> String {
    let now = local(Timestamp::now());
    now.time_zone().iana_name().map_or_else(|| now.offset().to_string(), ToOwned::to_owned)
}

fn civil(time: Timestamp) -> DateTime {
    jiff::tz::Offset::UTC.to_datetime(time)
}

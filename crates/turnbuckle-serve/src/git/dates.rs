//! The times by which logs are filtered.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

use crate::fault::{Fault, Result};

/// The longest text of a time, in bytes.
const MAX_BYTES: usize = 64;

/// Reads a time: ISO 8601 (`2024-01-15T14:30:25`), a date (`2024-01-15`, `Jan 15 2024`), or one relative to now
/// (`2 weeks ago`, `yesterday`). Times without a zone are in the system's.
pub(super) fn parse(text: &str, now: Timestamp) -> Result<Timestamp> {
    let zone = TimeZone::system();
    let is_short = text.len() <= MAX_BYTES;
    let parsed = is_short.then(|| {
        absolute(text.trim(), &zone).or_else(|| relative(text.trim(), &now.to_zoned(zone)))
    });
    parsed.flatten().ok_or_else(|| {
        Fault::new(
            "a time is written YYYY-MM-DDThh:mm:ss, YYYY-MM-DD, or like Jan 15 2024, yesterday or 2 weeks ago",
        )
    })
}

fn absolute(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    if let Ok(timestamp) = text.parse() {
        return Some(timestamp);
    }
    let date = ["%Y-%m-%d", "%b %d %Y", "%B %d %Y", "%d %b %Y", "%Y/%m/%d"]
        .iter()
        .find_map(|format| Date::strptime(format, text).ok());
    let time = match date {
        Some(date) => date.to_datetime(jiff::civil::Time::midnight()),
        None => text.parse::<DateTime>().ok()?,
    };
    Some(time.to_zoned(zone.clone()).ok()?.timestamp())
}

fn relative(text: &str, now: &Zoned) -> Option<Timestamp> {
    let words: Vec<_> = text.split_whitespace().map(str::to_lowercase).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let (number, unit) = match *words {
        ["now"] => (0, "second"),
        ["today"] => return Some(now.start_of_day().ok()?.timestamp()),
        ["yesterday"] => (1, "day"),
        [number, unit, "ago"] => (
            number.parse::<u32>().ok()?,
            unit.strip_suffix('s').unwrap_or(unit),
        ),
        _ => return None,
    };
    let number = i64::from(number);
    let span = match unit {
        "second" => Span::new().try_seconds(number),
        "minute" => Span::new().try_minutes(number),
        "hour" => Span::new().try_hours(number),
        "day" => Span::new().try_days(number),
        "week" => Span::new().try_weeks(number),
        "month" => Span::new().try_months(number),
        "year" => Span::new().try_years(number),
        _ => return None,
    };
    Some(now.checked_sub(span.ok()?).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_absolute_or_relative() {
        let now: Timestamp = "2024-03-15T12:00:00Z".parse().unwrap();
        let day = |text: &str| parse(text, now).unwrap().to_string();
        let utc = |text: &str| {
            text.parse::<DateTime>()
                .unwrap()
                .to_zoned(TimeZone::system())
                .unwrap()
                .timestamp()
                .to_string()
        };
        for (text, time) in [
            ("2024-01-15T14:30:25Z", "2024-01-15T14:30:25Z".to_owned()),
            ("2024-01-15T14:30:25", utc("2024-01-15T14:30:25")),
            ("2024-01-15", utc("2024-01-15T00:00:00")),
            ("Jan 15 2024", utc("2024-01-15T00:00:00")),
            ("2 Weeks ago", "2024-03-01T12:00:00Z".to_owned()),
            ("1 hour ago", "2024-03-15T11:00:00Z".to_owned()),
            ("now", "2024-03-15T12:00:00Z".to_owned()),
        ] {
            assert_eq!(day(text), time, "{text}");
        }
        for text in [
            "",
            "soon",
            "-1 days ago",
            "99999999999 years ago",
            "9999999 years ago",
            "--since",
            &"1".repeat(100),
        ] {
            assert!(parse(text, now).is_err(), "{text}");
        }
    }
}

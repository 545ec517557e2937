//! Times and sizes as people write them, in options and in files.

use std::time::Duration;

/// The longest time, in milliseconds: a year. Some platforms cannot add more to a clock.
const MAX_MILLIS: u64 = 365 * 24 * 3_600_000;

/// Parses `500ms`, `30s`, `5m` or `1h`. A number without a unit counts seconds.
///
/// # Errors
/// Returns the reason if the text is not such a time, or is zero or longer than a year.
pub fn parse_time(text: &str) -> Result<Duration, &'static str> {
    const FORMAT: &str = "a time is written like 500ms, 30s, 5m or 1h";
    let (number, unit) = split_number(text);
    let millis_of_unit = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(FORMAT),
    };
    let number: u64 = number.parse().map_err(|_| FORMAT)?;
    match number.checked_mul(millis_of_unit).ok_or(FORMAT)? {
        0 => Err("a time must be longer than zero"),
        millis @ 1..=MAX_MILLIS => Ok(Duration::from_millis(millis)),
        _ => Err("a time must not exceed a year"),
    }
}

/// Parses a number of bytes: `4096`, `512k`, `64M`, `4 MiB` or `1G`, in powers of 1,024.
///
/// # Errors
/// Returns the reason if the text is not such a size, or is zero.
pub fn parse_size(text: &str) -> Result<usize, &'static str> {
    const FORMAT: &str = "a size is written like 4096, 512k, 64M or 1G, or 4 MiB";
    let (number, unit) = split_number(text);
    let bytes_of_unit = match unit.trim_start() {
        "" => 1,
        "k" | "K" | "KiB" => 1 << 10,
        "m" | "M" | "MiB" => 1 << 20,
        "g" | "G" | "GiB" => 1 << 30,
        _ => return Err(FORMAT),
    };
    let bytes = number.parse::<usize>().ok();
    match bytes.and_then(|number| number.checked_mul(bytes_of_unit)) {
        Some(0) | None => Err(FORMAT),
        Some(bytes) => Ok(bytes),
    }
}

/// Splits a text after its digits.
fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_or_count_bytes() {
        for (text, bytes) in [
            ("1", 1),
            ("2k", 2048),
            ("16M", 16 << 20),
            ("4 MiB", 4 << 20),
            ("1G", 1 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "0",
            "M",
            "-1",
            "+1",
            "1T",
            "4 MB",
            "1.5M",
            "99999999999999999G",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_has_a_unit_or_counts_seconds() {
        assert_eq!(parse_time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("3"), Ok(Duration::from_secs(3)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
        for text in [
            "",
            "0s",
            "s",
            "1d",
            "-1s",
            "1.5s",
            "99999999999999999999s",
            "99999999h",
        ] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}

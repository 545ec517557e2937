//! The defaults that the page tells are those of the code.

use std::collections::BTreeMap;

/// A default, as far as it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Default {
    Off,
    Number(u64),
    Milliseconds(u64),
    Rate { second: u64, burst: Option<u64> },
}

/// The defaults of a struct, by field.
pub(super) fn of_code(code: &str, name: &str) -> BTreeMap<String, Default> {
    let opening = format!("impl Default for {name} {{");
    let body = code.split_once(&opening).map_or("", |(_, rest)| rest);
    let body = body.split_once("\n}").map_or("", |(body, _)| body);
    let fields = body.lines().filter_map(|line| {
        let (field, value) = line.trim().strip_suffix(',')?.split_once(": ")?;
        Some((field.to_owned(), expression(value)?))
    });
    fields.collect()
}

/// What a row of a table says is the default of the setting in its first column.
pub(super) fn of_page(line: &str) -> Option<(&str, Option<Default>)> {
    let mut cells = line.strip_prefix("| `")?.split(" | ");
    let setting = cells.next()?.strip_suffix('`')?;
    Some((setting, told(cells.next()?)))
}

fn expression(code: &str) -> Option<Default> {
    if code == "None" {
        return Some(Default::Off);
    }
    if let Some(inside) = call(code, "Duration::from_secs") {
        return Some(Default::Milliseconds(1000 * product(inside)?));
    }
    if let Some(inside) = call(code, "Duration::from_millis") {
        return Some(Default::Milliseconds(product(inside)?));
    }
    if let Some(rate) = code.strip_prefix("Rate::per_second(") {
        let (second, rest) = rate.split_once(')')?;
        let burst = call(rest, ".burst").and_then(product);
        return Some(Default::Rate {
            second: product(second)?,
            burst,
        });
    }
    product(code).map(Default::Number)
}

/// What stands between the parentheses of a call.
fn call<'a>(code: &'a str, function: &str) -> Option<&'a str> {
    let arguments = code.strip_prefix(function)?.strip_prefix('(')?;
    arguments.strip_suffix(')')
}

/// A number, a product, or a number that is shifted.
fn product(code: &str) -> Option<u64> {
    if let Some((number, bits)) = code.split_once(" << ") {
        return number_of(number)?.checked_shl(bits.parse().ok()?);
    }
    code.split(" * ").try_fold(1, |product: u64, factor| {
        product.checked_mul(number_of(factor)?)
    })
}

fn number_of(text: &str) -> Option<u64> {
    text.replace(['_', ','], "").parse().ok()
}

fn told(text: &str) -> Option<Default> {
    if text == "off" {
        return Some(Default::Off);
    }
    if let Some((second, rest)) = text.split_once(" a second") {
        let burst = rest
            .strip_prefix(", ")
            .and_then(|it| it.strip_suffix(" at once"));
        return Some(Default::Rate {
            second: number_of(second)?,
            burst: burst.and_then(number_of),
        });
    }
    let Some((number, unit)) = text.split_once(' ') else {
        return number_of(text).map(Default::Number);
    };
    let number = number_of(number)?;
    Some(match unit {
        "KiB" => Default::Number(number << 10),
        "MiB" => Default::Number(number << 20),
        "ms" => Default::Milliseconds(number),
        "s" => Default::Milliseconds(number * 1000),
        "min" => Default::Milliseconds(number * 60_000),
        "h" => Default::Milliseconds(number * 3_600_000),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_read_as_code_and_as_text() {
        for (code, text) in [
            ("None", "off"),
            ("10_000", "10,000"),
            ("4 << 20", "4 MiB"),
            ("4096", "4 KiB"),
            ("Duration::from_secs(30 * 60)", "30 min"),
            ("Duration::from_secs(3600)", "1 h"),
            ("Duration::from_millis(100)", "100 ms"),
            ("Rate::per_second(10_000)", "10,000 a second"),
            (
                "Rate::per_second(10).burst(100)",
                "10 a second, 100 at once",
            ),
        ] {
            let read = expression(code);
            assert!(read.is_some(), "{code}");
            assert_eq!(read, told(text), "{code}: {text}");
        }
        assert_eq!(expression("Signal::new()"), None);
        assert_eq!(told("loopback"), None);
        assert_ne!(told("1 s"), told("1 min"));
    }
}

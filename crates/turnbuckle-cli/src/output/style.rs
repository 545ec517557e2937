//! Text styles and human-readable sizes.

/// A style of terminal text, named by what it marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A name.
    Strong,
    /// A less important detail.
    Dim,
    /// A heading.
    Heading,
    /// A success.
    Good,
    /// A warning.
    Warning,
    /// A failure.
    Error,
}

impl Style {
    /// Returns the text in this style, or unchanged if colours are off.
    pub(super) fn apply(self, colours: bool, text: &str) -> String {
        if !colours || text.is_empty() {
            return text.to_owned();
        }
        let code = match self {
            Self::Strong => "1",
            Self::Dim => "2",
            Self::Heading => "1;4",
            Self::Good => "32",
            Self::Warning => "33",
            Self::Error => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Formats a number of bytes, such as `1.5 KiB`.
pub(crate) fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut tenths = bytes.saturating_mul(10) / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(format_bytes(70), "70 bytes");
        assert_eq!(format_bytes(1536), "1.5 KiB");
        assert_eq!(format_bytes(3 << 20), "3.0 MiB");
        assert!(format_bytes(u64::MAX).ends_with(" TiB"));
    }

    #[test]
    fn text_is_unchanged_without_colours() {
        assert_eq!(Style::Error.apply(false, "x"), "x");
        assert_eq!(Style::Error.apply(true, "x"), "\u{1b}[31mx\u{1b}[0m");
    }
}

//! Colours and sizes.

/// What a word is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// A name.
    Strong,
    /// What matters less.
    Dim,
    /// A heading.
    Head,
    /// It went well.
    Good,
    /// Something to look at.
    Warn,
    /// It went wrong.
    Bad,
}

impl Ink {
    /// The text in this colour, if there are colours.
    pub(super) fn on(self, colours: bool, text: &str) -> String {
        if !colours || text.is_empty() {
            return text.to_owned();
        }
        let code = match self {
            Self::Strong => "1",
            Self::Dim => "2",
            Self::Head => "1;4",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// A number of bytes for people.
pub(crate) fn size(bytes: u64) -> String {
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
        assert_eq!(size(70), "70 bytes");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(3 << 20), "3.0 MiB");
        assert!(size(u64::MAX).ends_with(" TiB"));
    }

    #[test]
    fn without_colours_nothing_is_added() {
        assert_eq!(Ink::Bad.on(false, "x"), "x");
        assert_eq!(Ink::Bad.on(true, "x"), "\u{1b}[31mx\u{1b}[0m");
    }
}

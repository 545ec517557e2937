//! Positions in the log of changes that the instances of a server share, and their text in the ids of
//! events.

use std::fmt;

/// A position in the log of changes that the instances of a server share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangePosition {
    /// The number of the entry; 0 stands before the first one.
    pub number: u64,
    /// A random number of the entry, which tells it from one at the same place of a log that began anew.
    pub mark: u32,
}

impl ChangePosition {
    /// Parses the text of a position, strictly as it is written.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (number, mark) = text.strip_prefix('c')?.split_once('_')?;
        let position = Self {
            number: number.parse().ok()?,
            mark: u32::from_str_radix(mark, 16).ok()?,
        };
        (position.to_string() == text).then_some(position)
    }
}

impl fmt::Display for ChangePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, mark } = self;
        write!(f, "c{number}_{mark:08x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_written_and_no_other_text_is_one() {
        for (number, mark) in [(0, 0), (1, 7), (u64::MAX, u32::MAX)] {
            let position = ChangePosition { number, mark };
            assert_eq!(ChangePosition::parse(&position.to_string()), Some(position));
        }
        for bad in [
            "",
            "c",
            "c_",
            "1_00000000",
            "c1",
            "c1_0",
            "c01_00000000",
            "c+1_00000000",
            "c1_+0000000",
            "c1_0000000A",
            "c1_000000000",
            "c1_00000000 ",
            "c18446744073709551616_00000000",
            "c1_0000000\u{663}",
        ] {
            assert_eq!(ChangePosition::parse(bad), None, "{bad}");
        }
    }
}

//! The texts of all items of a list in one buffer, which a filter searches in one pass.

use memchr::memmem::Finder;

use crate::api::ItemRow;

/// The names, titles and descriptions of the items of a list, in lower case.
#[derive(Default)]
pub(super) struct Texts {
    text: Vec<u8>,
    /// The end of the text of each item.
    ends: Vec<usize>,
}

impl Texts {
    /// Adds the text of the next item.
    pub(super) fn push(&mut self, row: &ItemRow) {
        let parts = [
            Some(&row.name),
            row.title.as_ref(),
            row.description.as_ref(),
        ];
        for part in parts.into_iter().flatten() {
            self.text.extend_from_slice(part.as_bytes());
            // No word of a filter has it.
            self.text.push(b'\n');
        }
        let start = self.ends.last().copied().unwrap_or_default();
        self.text[start..].make_ascii_lowercase();
        self.ends.push(self.text.len());
    }

    /// Returns the indexes of the items that have all words, in either case of ASCII letters.
    pub(super) fn matches(&self, words: &[&str]) -> impl Iterator<Item = usize> {
        let mut words: Vec<_> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
        // The longest word is the rarest, mostly.
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let mut finders = words.iter().map(|word| Finder::new(word).into_owned());
        let first = finders.next();
        let others: Vec<_> = finders.collect();
        let (mut at, mut index) = (0, 0);
        std::iter::from_fn(move || {
            let Some(first) = &first else {
                index += 1;
                return (index <= self.ends.len()).then(|| index - 1);
            };
            loop {
                let found = at + first.find(self.text.get(at..)?)?;
                index = self.item_at(found, index);
                let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
                at = self.ends[index];
                let text = &self.text[start..at];
                if others.iter().all(|other| other.find(text).is_some()) {
                    return Some(index);
                }
            }
        })
    }

    /// Returns the item whose text has a byte, from an item on that is not behind it.
    fn item_at(&self, byte: usize, from: usize) -> usize {
        // Matches are mostly near each other.
        let mut step = 1;
        let mut low = from;
        while let Some(end) = self.ends.get(low + step - 1)
            && *end <= byte
        {
            low += step;
            step *= 2;
        }
        let high = (low + step).min(self.ends.len());
        low + self.ends[low..high].partition_point(|end| *end <= byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ItemKind;
    use crate::items::item::read_row;

    #[test]
    fn the_items_that_have_all_words_are_found() {
        let mut texts = Texts::default();
        for number in 0..1000 {
            let even = if number % 2 == 0 { "Even" } else { "odd" };
            let raw =
                format!(r#"{{"name":"tool_{number}","title":"T","description":"Is {even}"}}"#);
            texts.push(&read_row(ItemKind::Tools, raw.as_bytes()));
        }
        let find = |words: &[&str]| texts.matches(words).collect::<Vec<_>>();
        assert_eq!(find(&[]).len(), 1000);
        assert_eq!(find(&["EVEN"]), (0..1000).step_by(2).collect::<Vec<_>>());
        assert_eq!(
            find(&["is", "TOOL_99"]),
            [99, 990, 991, 992, 993, 994, 995, 996, 997, 998, 999]
        );
        assert_eq!(find(&["tool_99", "odd"]), [99, 991, 993, 995, 997, 999]);
        assert_eq!(find(&["tool_999"]), [999]);
        // Words are not found over the border of two texts.
        assert_eq!(find(&["Tis"]), [0; 0]);
        assert_eq!(find(&["t\nis"]).len(), 1000);
        assert_eq!(Texts::default().matches(&["x"]).count(), 0);
    }
}

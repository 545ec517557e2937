//! Markdown tables that read well as they are.

use super::statistics::Spread;

/// Rows under a head.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    /// From this column on there are figures, which stand to the right; before it is text.
    figures_from: usize,
}

impl Table {
    /// Returns one of figures, but for its first column.
    pub(super) fn new(head: &[&str]) -> Self {
        Self {
            rows: vec![head.iter().map(|&cell| cell.to_owned()).collect()],
            figures_from: 1,
        }
    }

    /// Returns one of text alone.
    pub(super) fn of_text(head: &[&str]) -> Self {
        Self {
            figures_from: head.len(),
            ..Self::new(head)
        }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// As Markdown, with columns of equal width.
    pub(super) fn markdown(&self) -> String {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max();
            widest.unwrap_or(0).max(2)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            text.push('|');
            for (column, width) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                let pad = " ".repeat(width - cell.chars().count());
                text.push_str(&if column < self.figures_from {
                    format!(" {cell}{pad} |")
                } else {
                    format!(" {pad}{cell} |")
                });
            }
            text.push('\n');
            if index == 0 {
                text.push_str(&self.rule(&widths));
            }
        }
        text
    }

    /// Returns the line below the head.
    fn rule(&self, widths: &[usize]) -> String {
        let mut rule = "|".to_owned();
        for (column, width) in widths.iter().enumerate() {
            rule.push_str(&"-".repeat(width + 1));
            rule.push_str(if column < self.figures_from {
                "-|"
            } else {
                ":|"
            });
        }
        rule.push('\n');
        rule
    }
}

/// Returns a figure with as many digits as it deserves, and commas; a dash for none.
pub(super) fn figure(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value.fract() == 0.0 => with_commas(value),
        Some(value) if value.abs() >= 100.0 => with_commas(value),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// Returns a ratio with its quartiles, such as `0.93 (0.91–0.94)`.
pub(super) fn ratio(spread: Option<Spread>) -> String {
    match spread {
        None => "–".to_owned(),
        Some(Spread { low, median, high }) => {
            let [low, median, high] = [low, median, high].map(digits);
            format!("{median} ({low}–{high})")
        }
    }
}

fn digits(value: f64) -> String {
    match value {
        value if value >= 100.0 => with_commas(value),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 0.095 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

fn with_commas(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.as_str()),
    };
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["who", "calls/s"]);
        table.row(vec!["ours".to_owned(), "7".to_owned()]);
        table.row(vec!["é".to_owned()]);
        let expected = "\
| who  | calls/s |
|------|--------:|
| ours |       7 |
| é    |         |
";
        assert_eq!(table.markdown(), expected);
    }

    #[test]
    fn figures_have_the_digits_that_they_deserve() {
        let shown = |value| figure(Some(value));
        assert_eq!(shown(1_234_567.4), "1,234,567");
        assert_eq!(shown(999.6), "1,000");
        assert_eq!(shown(-1234.0), "-1,234");
        assert_eq!((shown(12.34), shown(1.234)), ("12.3".into(), "1.23".into()));
        assert_eq!((shown(14.0), shown(0.0)), ("14".into(), "0".into()));
        assert_eq!(figure(None), "–");
        let spread = Spread::new([0.0123, 0.5, 1.0]);
        assert_eq!(ratio(spread), "0.50 (0.26–0.75)");
        assert_eq!(ratio(Spread::new([0.0123])), "0.012 (0.012–0.012)");
        assert_eq!(ratio(None), "–");
    }
}

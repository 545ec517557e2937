//! The tables, as text.

/// Lays rows of cells out under a head, each column as wide as its widest cell.
pub(crate) fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells = rows
                .iter()
                .chain([&head.to_vec()])
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max();
            cells.unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut text = vec![line(head), line(&rule)];
    text.extend(rows.iter().map(|row| line(row)));
    text.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let head = row(["peer", "a"]);
        let rows = [row(["x", "–"]), row(["longer", "ok"])];
        assert_eq!(
            table(&head, &rows),
            "peer    a\n------  --\nx       –\nlonger  ok"
        );
    }
}

//! The marked regions of `docs/performance.md`, which are filled and not written.

use std::fs;

use crate::process::root;

const DOCUMENT: &str = "docs/performance.md";

/// Replaces what stands in the region of that name.
pub(super) fn fill(region: &str, content: &str) -> Result<(), String> {
    let path = root().join(DOCUMENT);
    let text = fs::read_to_string(&path).map_err(|error| format!("{DOCUMENT}: {error}"))?;
    let filled = fill_region(&text, region, content)?;
    fs::write(&path, filled).map_err(|error| format!("{DOCUMENT}: {error}"))
}

fn fill_region(text: &str, region: &str, content: &str) -> Result<String, String> {
    let begin = format!("<!-- {region}:begin -->\n");
    let end = format!("<!-- {region}:end -->");
    let parts = text.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or_else(|| format!("{DOCUMENT} has no region {region}"))?;
    let content = content.trim();
    Ok(format!("{before}{begin}\n{content}\n\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# T\n\n<!-- a:begin -->\nold\n<!-- a:end -->\n\nb\n<!-- b:begin -->\n<!-- b:end -->\n";

    #[test]
    fn a_region_is_replaced_and_the_rest_stays() {
        let once = fill_region(TEXT, "a", "new\n").unwrap();
        assert!(once.starts_with("# T\n\n<!-- a:begin -->\n\nnew\n\n<!-- a:end -->\n\nb\n"));
        assert_eq!(fill_region(&once, "a", "new").unwrap(), once);
        assert!(
            fill_region(&once, "b", "x")
                .unwrap()
                .contains("\n\nx\n\n<!-- b:end -->")
        );
    }

    #[test]
    fn a_region_that_is_not_there_is_an_error() {
        assert!(fill_region(TEXT, "c", "x").is_err());
        assert!(fill_region("<!-- a:begin -->\n", "a", "x").is_err());
    }

    #[test]
    fn the_document_has_its_regions() {
        let text = fs::read_to_string(root().join(DOCUMENT)).unwrap();
        for region in ["bench", "budget"] {
            assert!(fill_region(&text, region, "x").is_ok(), "{region}");
        }
    }
}

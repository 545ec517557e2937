//! How much code a crate is made of.

use std::fs;
use std::path::Path;

/// The lines under `folder` that are not blank and no tests.
pub(super) fn of(folder: &Path) -> Result<usize, String> {
    let unreadable = |error| format!("cannot read {}: {error}", folder.display());
    let mut lines = 0;
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.ends_with("tests") || path.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            lines += of(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            lines += count(&fs::read_to_string(&path).map_err(unreadable)?);
        }
    }
    Ok(lines)
}

/// The lines of one file, as rustfmt leaves it: an item ends on a line that is not indented deeper
/// than its first one.
fn count(text: &str) -> usize {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut counted = 0;
    while let Some(line) = lines.next() {
        let mark = line.trim_start();
        if mark.starts_with("#[cfg(test)]") || mark.starts_with("#[cfg(all(test") {
            let indent = line.len() - mark.len();
            let ends = |line: &str| {
                let code = line.trim_start();
                let outer = line.len() - code.len() <= indent;
                outer && (code.starts_with('}') || code.ends_with([';', '}', ',']))
            };
            lines.by_ref().find(|line| ends(line));
        } else {
            counted += 1;
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_and_test_items_are_not_counted() {
        let text = "//! A.\n\nuse a;\n\n#[cfg(test)]\nuse b;\n\n#[cfg(test)]\nmod tests {\n    \
                    fn f() {\n        g();\n    }\n}\n\nfn h() {\n    #[cfg(test)]\n    i();\n    \
                    j()\n}\n";
        assert_eq!(count(text), 5);
    }

    #[test]
    fn test_modules_with_attributes_and_in_files_of_their_own_end_where_they_end() {
        let text = "#[cfg(test)]\n#[path = \"a.rs\"]\nmod tests;\nfn f() {}\n\
                    #[cfg(all(test, unix))]\nmod more {\n    use super::*;\n}\nfn g() {}\n";
        assert_eq!(count(text), 2);
    }
}

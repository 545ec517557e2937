//! Violations: messages about invalid values that a model can act on.

use std::fmt;

use turnbuckle_types::base::text::shorten;

/// The most violations that are reported at once.
pub(crate) const MAX_VIOLATIONS: usize = 8;

/// The most alternatives that a message lists.
const MAX_ALTERNATIVES: usize = 10;

/// One location where a value violates its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    path: String,
    message: String,
}

impl Violation {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
        }
    }

    /// Creates a violation at the location that these names and indexes lead to. The message
    /// follows the name of the location; quoted parts of the value should be
    /// [shortened](turnbuckle_types::base::text::shorten).
    #[must_use]
    pub fn at_path<S: AsRef<str>>(
        place: impl IntoIterator<Item = S>,
        message: impl Into<String>,
    ) -> Self {
        let path = place.into_iter().fold(String::new(), |path, segment| {
            pointer_join(&path, segment.as_ref())
        });
        Self::new(path, message)
    }

    /// Returns the location as a JSON Pointer into the value; empty for the value itself. Member
    /// names are as received.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the expected value and the one that was found, shortened and without control characters.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the violation as one line, with `root` as the name of the value: `root.units:
    /// expected …`.
    #[must_use]
    pub fn describe(&self, root: &str) -> String {
        let mut line = root.to_owned();
        for segment in self.path.split('/').skip(1) {
            let segment = segment.replace("~1", "/").replace("~0", "~");
            let is_index = !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit());
            if is_index {
                line.extend(["[", &segment, "]"]);
            } else {
                line.extend([".", &shorten(&segment)]);
            }
        }
        line + ": " + &self.message
    }
}

/// The violations of a value, at most eight.
///
/// `Display` prints one line for each, with `value` as the name of the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations {
    list: Vec<Violation>,
    /// True if the value was not validated because of its cost.
    too_costly: bool,
}

impl Violations {
    /// Returns the violation for a value that was not validated because of its cost.
    pub(crate) fn too_costly() -> Self {
        let message = "is too costly to check against the schema, and was not checked (SchemaLimits::max_work)";
        Self {
            list: vec![Violation::new("", message)],
            too_costly: true,
        }
    }

    /// Returns whether the value was not validated, because value and schema together exceed the
    /// work limit. The value counts as refused, although it may be valid. The only violation says
    /// so.
    #[must_use]
    pub fn is_too_costly(&self) -> bool {
        self.too_costly
    }

    /// Returns the violations in the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Violation> {
        self.list.iter()
    }

    /// Returns a line for each violation, with `root` as the name of the value.
    pub fn describe<'a>(&'a self, root: &'a str) -> impl fmt::Display + 'a {
        ViolationsDisplay {
            violations: self,
            root,
        }
    }
}

/// The violations with the name of the value.
struct ViolationsDisplay<'a> {
    violations: &'a Violations,
    root: &'a str,
}

impl fmt::Display for ViolationsDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, violation) in self.violations.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&violation.describe(self.root))?;
        }
        Ok(())
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("value").fmt(f)
    }
}

impl std::error::Error for Violations {}

impl From<Violation> for Violations {
    fn from(violation: Violation) -> Self {
        Self::from_iter([violation])
    }
}

impl FromIterator<Violation> for Violations {
    fn from_iter<I: IntoIterator<Item = Violation>>(violations: I) -> Self {
        Self {
            list: violations.into_iter().collect(),
            too_costly: false,
        }
    }
}

impl<'a> IntoIterator for &'a Violations {
    type Item = &'a Violation;
    type IntoIter = std::slice::Iter<'a, Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Returns the JSON Pointer with one more segment.
pub(crate) fn pointer_join(pointer: &str, segment: &str) -> String {
    format!(
        "{pointer}/{}",
        segment.replace('~', "~0").replace('/', "~1")
    )
}

/// Returns `a, b or c`, cut after ten alternatives.
pub(crate) fn join_alternatives(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.take(MAX_ALTERNATIVES + 1).collect();
    if items.len() > MAX_ALTERNATIVES {
        items.truncate(MAX_ALTERNATIVES);
        return items.join(", ") + " or another of the listed values";
    }
    match items.pop() {
        Some(last) if items.is_empty() => last,
        Some(last) => items.join(", ") + " or " + &last,
        None => "nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_one_line_that_names_its_place() {
        let path = pointer_join(&pointer_join(&pointer_join("", "a/b~c"), "0"), "d\n");
        assert_eq!(path, "/a~1b~0c/0/d\n");
        let violation = Violation::new(path, "expected x, got y");
        assert_eq!(
            violation.describe("arguments"),
            "arguments.a/b~c[0].d\\n: expected x, got y"
        );
        assert_eq!(Violation::new("", "no").describe("value"), "value: no");
    }

    #[test]
    fn a_place_is_told_by_its_names_and_indexes() {
        let violation = Violation::at_path(["a/b", "0"], "no");
        assert_eq!(violation.path(), "/a~1b/0");
        assert_eq!(Violation::at_path([""; 0], "no").path(), "");
    }

    #[test]
    fn several_violations_have_a_line_each() {
        let violations: Violations = ["a", "b"]
            .map(|name| Violation::at_path([name], "no"))
            .into_iter()
            .collect();
        assert_eq!(violations.to_string(), "value.a: no\nvalue.b: no");
        assert_eq!(violations.describe("x").to_string(), "x.a: no\nx.b: no");
    }
}

//! What is wrong with a value, said so that a model can correct it.

/// One place where a value does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Where, as a JSON Pointer into the value; empty for the value itself.
    pub(super) path: String,
    /// What was expected and what was found, shortened, without control characters.
    message: String,
}

impl Violation {
    pub(super) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
        }
    }

    /// The violation as one line, with `root` as the name of the value: `root.units: expected …`.
    pub(crate) fn describe(&self, root: &str) -> String {
        let mut line = root.to_owned();
        for segment in self.path.split('/').skip(1) {
            let segment = segment.replace("~1", "/").replace("~0", "~");
            let is_index = !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit());
            if is_index {
                line.extend(["[", &segment, "]"]);
            } else {
                line.extend([".", &super::shorten::shorten(&segment)]);
            }
        }
        line + ": " + &self.message
    }
}

/// A JSON Pointer one step longer.
pub(super) fn join(pointer: &str, segment: &str) -> String {
    format!(
        "{pointer}/{}",
        segment.replace('~', "~0").replace('/', "~1")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_one_line_that_names_its_place() {
        let path = join(&join(&join("", "a/b~c"), "0"), "d\n");
        assert_eq!(path, "/a~1b~0c/0/d\n");
        let violation = Violation::new(path, "expected x, got y");
        assert_eq!(
            violation.describe("arguments"),
            "arguments.a/b~c[0].d\\n: expected x, got y"
        );
        assert_eq!(Violation::new("", "no").describe("value"), "value: no");
    }
}

//! How large a schema may be, and how much work a value may make.

/// The bounds of schemas that are written by hand, or come from a server.
///
/// ```
/// use turnbuckle_schema::{SchemaLimits, Shape};
/// use turnbuckle_types::Schema;
///
/// let schema: Schema = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#.parse()?;
/// let small = SchemaLimits::new().subschemas(1);
/// let error = Shape::compile_within(&schema, &small).unwrap_err();
/// assert!(error.to_string().contains("SchemaLimits::subschemas"));
/// assert!(Shape::compile_within(&schema, &small.subschemas(2)).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaLimits {
    /// Levels of subschemas, each inside the other, references followed; 256 at most, for the sake
    /// of the stack. Default 64.
    pub depth: usize,
    /// Subschemas, `true` and `false` among them. Default 2,000.
    pub subschemas: usize,
    /// Subschemas once every reference that does not recur is replaced by its target. Default
    /// 20,000.
    pub expanded: usize,
    /// Patterns, in `pattern` and `patternProperties`. Default 100.
    pub patterns: usize,
    /// Bytes of one pattern, as text and compiled; all together have sixteen times as many compiled.
    /// Default 1 MiB.
    pub pattern_bytes: usize,
    /// The work of one value: one for about every comparison, and for every 64 bytes of text each
    /// time that they are read. A `Shape` has two fifths of it.
    /// Default 10,000,000.
    pub work: u64,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            depth: 64,
            subschemas: 2_000,
            expanded: 20_000,
            patterns: 100,
            pattern_bytes: 1 << 20,
            work: 10_000_000,
        }
    }
}

/// The deepest that any schema may be.
pub(crate) const DEEPEST: usize = 256;

impl SchemaLimits {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many levels of subschemas there may be.
    #[must_use]
    pub fn depth(mut self, levels: usize) -> Self {
        self.depth = levels.min(DEEPEST);
        self
    }

    /// Sets how many subschemas there may be.
    #[must_use]
    pub fn subschemas(mut self, subschemas: usize) -> Self {
        self.subschemas = subschemas;
        self
    }

    /// Sets how many subschemas there may be with references replaced.
    #[must_use]
    pub fn expanded(mut self, subschemas: usize) -> Self {
        self.expanded = subschemas;
        self
    }

    /// Sets how many patterns there may be.
    #[must_use]
    pub fn patterns(mut self, patterns: usize) -> Self {
        self.patterns = patterns;
        self
    }

    /// Sets how many bytes a pattern may have, as text and compiled.
    #[must_use]
    pub fn pattern_bytes(mut self, bytes: usize) -> Self {
        self.pattern_bytes = bytes;
        self
    }

    /// Sets how much work a value may make.
    #[must_use]
    pub fn work(mut self, comparisons: u64) -> Self {
        self.work = comparisons;
        self
    }

    pub(crate) fn levels(&self) -> usize {
        self.depth.min(DEEPEST)
    }

    /// Bytes of each of so many compiled patterns.
    pub(crate) fn size_of_pattern(&self, patterns: usize) -> usize {
        let all = self.pattern_bytes.saturating_mul(16);
        (all / patterns.max(1)).min(self.pattern_bytes)
    }

    /// The work of a value that a shape holds.
    pub(crate) fn shape_work(&self) -> u64 {
        self.work / 5 * 2
    }
}

//! The limits of schemas and of the work of validation.

/// Limits for schemas that are written by hand or come from a server.
///
/// ```
/// use turnbuckle_schema::{FastValidator, SchemaLimits};
/// use turnbuckle_types::Schema;
///
/// let schema: Schema = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#.parse()?;
/// let small = SchemaLimits::new().max_subschemas(1);
/// let error = FastValidator::compile_within(&schema, &small).unwrap_err();
/// assert!(error.to_string().contains("SchemaLimits::max_subschemas"));
/// assert!(FastValidator::compile_within(&schema, &small.max_subschemas(2)).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaLimits {
    /// The nesting depth of subschemas, with references followed. Default 64, at most 256, which
    /// bounds the stack.
    pub max_depth: usize,
    /// The number of subschemas, `true` and `false` included. Default 2,000.
    pub max_subschemas: usize,
    /// The number of subschemas after every non-recursive reference is replaced by its target.
    /// Default 20,000.
    pub max_expanded_subschemas: usize,
    /// The number of patterns in `pattern` and `patternProperties`. Default 100.
    pub max_patterns: usize,
    /// The size of one pattern in bytes, as text and compiled. All compiled patterns together may
    /// have sixteen times as much. Default 1 MiB.
    pub max_pattern_bytes: usize,
    /// The most work for validating one value. A comparison is one unit of work, and so are 64 bytes
    /// of text each time they are read. The limit of a [`FastValidator`](crate::FastValidator) is two
    /// fifths of this number. Default 10,000,000.
    pub max_work: u64,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            max_depth: 64,
            max_subschemas: 2_000,
            max_expanded_subschemas: 20_000,
            max_patterns: 100,
            max_pattern_bytes: 1 << 20,
            max_work: 10_000_000,
        }
    }
}

/// The depth that no schema may exceed, whatever its limits say.
pub(crate) const MAX_DEPTH: usize = 256;

impl SchemaLimits {
    /// Returns the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limit of the nesting depth.
    #[must_use]
    pub fn max_depth(mut self, levels: usize) -> Self {
        self.max_depth = levels.min(MAX_DEPTH);
        self
    }

    /// Sets the limit of the number of subschemas.
    #[must_use]
    pub fn max_subschemas(mut self, subschemas: usize) -> Self {
        self.max_subschemas = subschemas;
        self
    }

    /// Sets the limit of the number of subschemas with references replaced.
    #[must_use]
    pub fn max_expanded_subschemas(mut self, subschemas: usize) -> Self {
        self.max_expanded_subschemas = subschemas;
        self
    }

    /// Sets the limit of the number of patterns.
    #[must_use]
    pub fn max_patterns(mut self, patterns: usize) -> Self {
        self.max_patterns = patterns;
        self
    }

    /// Sets the limit of the size of a pattern, as text and compiled.
    #[must_use]
    pub fn max_pattern_bytes(mut self, bytes: usize) -> Self {
        self.max_pattern_bytes = bytes;
        self
    }

    /// Sets the limit of the work for validating one value.
    #[must_use]
    pub fn max_work(mut self, comparisons: u64) -> Self {
        self.max_work = comparisons;
        self
    }

    pub(crate) fn depth_limit(&self) -> usize {
        self.max_depth.min(MAX_DEPTH)
    }

    /// Returns the size limit of each of `patterns` compiled patterns.
    pub(crate) fn compiled_pattern_bytes(&self, patterns: usize) -> usize {
        let all = self.max_pattern_bytes.saturating_mul(16);
        (all / patterns.max(1)).min(self.max_pattern_bytes)
    }

    /// Returns the work limit of a `FastValidator`.
    pub(crate) fn fast_work(&self) -> u64 {
        self.max_work / 5 * 2
    }
}

//! The limits of schemas and of the work of validation.

use turnbuckle_types::settings;

settings! {
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
    pub struct SchemaLimits {
        /// The nesting depth of subschemas, with references followed. At most 256, which bounds the
        /// stack.
        // Beyond: `the subschemas are nested too deep (SchemaLimits::max_depth)`
        // Tests: bounds::schemas::schemas_that_are_written_by_hand_are_bounded_by_settings
        //   turnbuckle_schema::check::tests::every_limit_is_settable_and_named
        max_depth: usize = 64,
        /// The number of subschemas, `true` and `false` included.
        // Beyond: `the schema has too many subschemas (SchemaLimits::max_subschemas)`
        // Tests: bounds::schemas::schemas_that_are_written_by_hand_are_bounded_by_settings
        max_subschemas: usize = 2_000,
        /// The number of subschemas after every non-recursive reference is replaced by its target.
        // Beyond: `too many with its references replaced (SchemaLimits::max_expanded_subschemas)`
        // Tests: turnbuckle_schema::check::tests::every_limit_is_settable_and_named
        max_expanded_subschemas: usize = 20_000,
        /// The number of patterns in `pattern` and `patternProperties`.
        // Beyond: `the schema has too many patterns (SchemaLimits::max_patterns)`
        // Tests: bounds::schemas::schemas_that_are_written_by_hand_are_bounded_by_settings
        max_patterns: usize = 100,
        /// The size of one pattern in bytes, as text and compiled. All compiled patterns together
        /// may have sixteen times as much.
        // Beyond: `the pattern … is not supported: …`
        // Tests: turnbuckle_schema::check::tests::every_limit_is_settable_and_named
        //   turnbuckle_schema::fast::tests::bounds::patterns_are_bounded_by_a_setting
        max_pattern_bytes: usize = 1 << 20,
        /// The most work for validating one value. A comparison is one unit of work, and so are 64
        /// bytes of text each time they are read. The limit of a
        /// [`FastValidator`](crate::FastValidator) is two fifths of this number.
        // Beyond: `they are too costly to check against the schema: send less, or in smaller
        // parts`; in the log: `arguments are too costly to check against the schema
        // (SchemaLimits::max_work)`
        // Tests: bounds::schemas::the_work_of_arguments_is_bounded_by_a_setting
        //   turnbuckle_schema::fast::tests::bounds::the_work_limit_is_settable
        //   turnbuckle_schema::cost::tests::work_is_bounded_without_recursion
        max_work: u64 = 10_000_000,
    }
}

/// The depth that no schema may exceed, also with higher limits.
pub(crate) const MAX_DEPTH: usize = 256;

impl SchemaLimits {
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

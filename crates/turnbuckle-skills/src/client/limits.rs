//! Limits of the skills that a host accepts.

turnbuckle_types::settings! {
    /// The limits of one skill. Every host has to accept skills up to the defaults, these included.
    ///
    /// Specification: "Limits" of the extension.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct SkillLimits {
        /// Files in the entry of a skill, `SKILL.md` included.
        // Beyond: `skill … has … files, and this host accepts … (SkillLimits::max_files)`
        // Tests: turnbuckle_skills::client::limits::a_skill_at_the_limits_is_loaded_and_one_beyond_says_why
        max_files: usize = 512,
        /// Bytes of the files of a skill in sum: by its entry, or of a dynamic skill those that were read.
        // Beyond: `the files of skill … have … bytes, and this host accepts …
        // (SkillLimits::max_bytes)`
        // Tests: turnbuckle_skills::client::limits::a_skill_at_the_limits_is_loaded_and_one_beyond_says_why
        max_bytes: u64 = 16 << 20,
    }
}

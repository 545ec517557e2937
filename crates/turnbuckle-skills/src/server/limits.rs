//! Bounds of what is loaded and served.

use std::num::NonZeroUsize;

turnbuckle_types::settings! {
    /// Bounds of the skills that a server loads. A skill beyond one of them is left out and named in
    /// [`Skills::faults`](super::Skills::faults).
    ///
    /// The specification's own limits, which every host supports, are lower:
    /// [`RECOMMENDED_MAX_FILES`](crate::RECOMMENDED_MAX_FILES) and
    /// [`RECOMMENDED_MAX_BYTES`](crate::RECOMMENDED_MAX_BYTES). A larger skill is served with a warning.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ServingLimits {
        /// The most files of one skill, those of nested skills included.
        // Beyond: `the skill has more than … files (ServingLimits::max_files)`
        // Uncounted: no request is refused
        // Tests: turnbuckle_skills::server::limits::every_bound_names_itself
        // turnbuckle_skills::server::limits::ten_thousand_files_are_beyond_the_bound_and_leave_one_skill_out
        max_files: usize = 4096,
        /// The most bytes of the files of one skill together.
        // Beyond: `the skill has more than … bytes (ServingLimits::max_bytes)`
        // Uncounted: no request is refused
        // Tests: turnbuckle_skills::server::limits::every_bound_names_itself
        max_bytes: u64 = 64 << 20,
        /// The most skills of a server.
        // Beyond: `there are … skills (ServingLimits::max_skills)`
        // Uncounted: no request is refused
        // Tests: turnbuckle_skills::server::limits::every_bound_names_itself
        max_skills: usize = 16_384,
        /// The most entries of all folders together: files, folders and whatever else is in them.
        // Beyond: `there are more than … entries (ServingLimits::max_total_entries)`
        // Uncounted: no request is refused
        // Tests: turnbuckle_skills::server::limits::every_bound_names_itself
        max_total_entries: usize = 262_144,
        /// The most bytes of the files of all skills together, which are kept in memory.
        // Beyond: `all skills have more than … bytes (ServingLimits::max_total_bytes)`
        // Uncounted: no request is refused
        // Tests: turnbuckle_skills::server::limits::every_bound_names_itself
        max_total_bytes: u64 = 512 << 20,
        /// The most folders that may stand in each other below the folder that is served.
        // Beyond: `is deeper than … folders (ServingLimits::max_depth)`
        // Uncounted: no request is refused
        // Tests: turnbuckle_skills::server::limits::every_bound_names_itself
        max_depth: usize = 16,
        /// The most entries of one page of `skills/list` and of `resources/directory/read`.
        page_size: NonZeroUsize = const { NonZeroUsize::new(100).unwrap() },
        /// The number of bytes after which a page of `skills/list` takes no further entry.
        // Beyond: the next page begins
        // Uncounted: nothing is refused
        // Tests: turnbuckle_skills::server::methods::a_page_ends_when_it_has_enough_bytes
        max_page_bytes: usize = 256 << 10,
    }
}

//! Bounds of what is loaded and served.

use std::num::NonZeroUsize;

/// Bounds of the skills that a server loads. A skill beyond one of them is left out and named in
/// [`Skills::faults`](super::Skills::faults).
///
/// The specification's own limits, which every host supports, are lower:
/// [`RECOMMENDED_MAX_FILES`](crate::RECOMMENDED_MAX_FILES) and
/// [`RECOMMENDED_MAX_BYTES`](crate::RECOMMENDED_MAX_BYTES). A larger skill is served with a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServingLimits {
    /// The most files of one skill, those of nested skills included. Default: 4,096.
    pub max_files: usize,
    /// The most bytes of the files of one skill together. Default: 64 MiB.
    pub max_bytes: u64,
    /// The most skills of a server. Default: 16,384.
    pub max_skills: usize,
    /// The most entries of all folders together: files, folders and whatever else is in them. Default: 262,144.
    pub max_total_entries: usize,
    /// The most bytes of the files of all skills together, which are kept in memory. Default: 512 MiB.
    pub max_total_bytes: u64,
    /// The most folders that may stand in each other below the folder that is served. Default: 16.
    pub max_depth: usize,
    /// The most entries of one page of `skills/list` and of `resources/directory/read`. Default: 100.
    pub page_size: NonZeroUsize,
    /// The number of bytes after which a page of `skills/list` takes no further entry. Default: 256 KiB.
    pub max_page_bytes: usize,
}

impl Default for ServingLimits {
    fn default() -> Self {
        const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(100).unwrap();
        Self {
            max_files: 4096,
            max_bytes: 64 << 20,
            max_skills: 16_384,
            max_total_entries: 262_144,
            max_total_bytes: 512 << 20,
            max_depth: 16,
            page_size: PAGE_SIZE,
            max_page_bytes: 256 << 10,
        }
    }
}

macro_rules! limit_setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        impl ServingLimits {
            /// Creates the default limits.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(mut self, $name: $type) -> Self {
                    self.$name = $name;
                    self
                }
            )*
        }
    };
}

limit_setters! {
    /// Sets the most files of one skill.
    max_files: usize;
    /// Sets the most bytes of one skill.
    max_bytes: u64;
    /// Sets the most skills.
    max_skills: usize;
    /// Sets the most entries of all folders together.
    max_total_entries: usize;
    /// Sets the most bytes of all skills together.
    max_total_bytes: u64;
    /// Sets the most folders that may stand in each other.
    max_depth: usize;
    /// Sets the most entries of a page.
    page_size: NonZeroUsize;
    /// Sets the number of bytes after which a page takes no further entry.
    max_page_bytes: usize;
}

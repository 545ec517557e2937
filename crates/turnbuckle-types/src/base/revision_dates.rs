//! The dates of the protocol's revisions. No other file of the crates has one.

/// The date of every revision, its name on the wire, oldest first.
pub const REVISION_DATES: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

/// The date of the newest revision.
pub const NEWEST_REVISION_DATE: &str = REVISION_DATES[REVISION_DATES.len() - 1];

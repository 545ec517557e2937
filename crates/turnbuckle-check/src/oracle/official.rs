//! The structure of the official schemas, as `cargo xtask schemas` writes it.

use serde_json::Value;
use turnbuckle_wire::revision::Revision;

/// The schema of each revision, oldest first.
pub(super) const SCHEMAS: [&str; Revision::ALL.len()] = [
    include_str!("../../schemas/2024-11-05/schema.json"),
    include_str!("../../schemas/2025-03-26/schema.json"),
    include_str!("../../schemas/2025-06-18/schema.json"),
    include_str!("../../schemas/2025-11-25/schema.json"),
    include_str!("../../schemas/2026-07-28/schema.json"),
];

/// The schema of the extension for tasks.
pub(super) const TASKS: &str = include_str!("../../schemas/ext-tasks/schema.json");

/// Reads one of them.
#[expect(clippy::expect_used, reason = "the schemas are part of this crate")]
pub(super) fn parse(schema: &str) -> Value {
    serde_json::from_str(schema).expect("an official schema is JSON")
}

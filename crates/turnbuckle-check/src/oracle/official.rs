//! The structure of the official schemas, as `cargo xtask schemas` writes it.

/// Every revision that has an official schema, oldest first, with the schema.
pub(super) const SCHEMAS: [(&str, &str); 5] = [
    (
        "2024-11-05",
        include_str!("../../schemas/2024-11-05/schema.json"),
    ),
    (
        "2025-03-26",
        include_str!("../../schemas/2025-03-26/schema.json"),
    ),
    (
        "2025-06-18",
        include_str!("../../schemas/2025-06-18/schema.json"),
    ),
    (
        "2025-11-25",
        include_str!("../../schemas/2025-11-25/schema.json"),
    ),
    (
        "2026-07-28",
        include_str!("../../schemas/2026-07-28/schema.json"),
    ),
];

/// The schema of the extension for tasks.
pub(super) const TASKS: &str = include_str!("../../schemas/ext-tasks/schema.json");

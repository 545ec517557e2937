//! The structure of the official schemas, as `cargo xtask schemas` writes it and the build script
//! compresses it.

use serde_json::Value;
use turnbuckle_wire::revision::Revision;

/// Returns the compressed schema in a folder of `schemas`.
macro_rules! compressed {
    ($folder:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $folder))
    };
}

/// The schema of each revision, oldest first.
pub(super) const SCHEMAS: [&[u8]; Revision::ALL.len()] = [
    compressed!("2024-11-05"),
    compressed!("2025-03-26"),
    compressed!("2025-06-18"),
    compressed!("2025-11-25"),
    compressed!("2026-07-28"),
];

/// The schema of the extension for tasks.
pub(super) const TASKS: &[u8] = compressed!("ext-tasks");

/// Reads one of them.
#[expect(clippy::expect_used, reason = "the schemas are part of this crate")]
pub(super) fn parse(schema: &[u8]) -> Value {
    let schema = miniz_oxide::inflate::decompress_to_vec_zlib(schema);
    let schema = schema.expect("an official schema is compressed");
    let mut schema = serde_json::from_slice(&schema).expect("an official schema is JSON");
    allow_fractions(&mut schema);
    schema
}

/// Allows fractions and null where the schema in TypeScript does, of which the JSON Schema is made.
fn allow_fractions(schema: &mut Value) {
    const CONTENT: &str = "ElicitResult/properties/content/additionalProperties";
    let places = [
        (format!("{CONTENT}/type"), false),
        (format!("{CONTENT}/anyOf/1/type"), false),
        ("JSONValue/anyOf/2/type".to_owned(), true),
    ];
    for keyword in ["definitions", "$defs"] {
        for (place, has_null) in &places {
            let kinds = schema.pointer_mut(&format!("/{keyword}/{place}"));
            let Some(Value::Array(kinds)) = kinds else {
                continue;
            };
            kinds.push("number".into());
            if *has_null {
                kinds.push("null".into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use turnbuckle_wire::revision::Revision;

    use crate::oracle::Oracle;

    #[test]
    fn fractions_and_null_are_values() {
        let oracle = Oracle::load();
        let result = json!({"action": "accept", "content": {"score": 95.5}});
        for revision in [
            Revision::V2025_06_18,
            Revision::V2025_11_25,
            Revision::V2026_07_28,
        ] {
            assert_eq!(oracle.validate(revision, "ElicitResult", &result), Ok(()));
        }
        for value in [json!(0.5), json!(null)] {
            assert_eq!(
                oracle.validate(Revision::NEWEST, "JSONValue", &value),
                Ok(())
            );
        }
    }
}

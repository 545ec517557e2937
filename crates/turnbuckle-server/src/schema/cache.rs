//! Compiled schemas of items that are registered again for each request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use turnbuckle_schema::SchemaLimits;
use turnbuckle_types::Schema;

use super::EnforcedSchema;
use crate::error::BuildError;

/// The most compiled schemas that are kept; when there would be more, the cache is emptied.
const MAX_SCHEMAS: usize = 1024;

/// The most bytes of the texts of kept schemas together. A compiled schema takes a small multiple of
/// its text.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Compiled schemas written by hand, by their text.
#[derive(Debug, Default)]
pub(crate) struct SchemaCache(Mutex<CachedSchemas>);

#[derive(Debug, Default)]
struct CachedSchemas {
    /// The schemas whose values must be objects, and all others.
    compiled: [HashMap<Box<str>, EnforcedSchema>; 2],
    /// The size of all texts together.
    text_bytes: usize,
}

impl SchemaCache {
    /// Returns the compiled schema of this text, and compiles it if it is new; `objects` requires
    /// values to be objects.
    ///
    /// # Errors
    /// If the schema is not valid, or has a keyword that this build cannot check.
    pub(crate) fn compile(
        &self,
        schema: &Schema,
        objects: bool,
        limits: &SchemaLimits,
    ) -> Result<EnforcedSchema, BuildError> {
        let text = schema.as_str();
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().compiled[usize::from(objects)].get(text) {
            return Ok(found.share());
        }
        let compiled = EnforcedSchema::written(schema, objects, limits)?;
        let mut cached = lock();
        let count: usize = cached.compiled.iter().map(HashMap::len).sum();
        if count >= MAX_SCHEMAS || cached.text_bytes + text.len() > MAX_TEXT_BYTES {
            *cached = CachedSchemas::default();
        }
        let replaced = cached.compiled[usize::from(objects)].insert(text.into(), compiled.share());
        if replaced.is_none() {
            cached.text_bytes += text.len();
        }
        Ok(compiled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(name: &str) -> Schema {
        format!(r#"{{"type":"object","required":["{name}"]}}"#)
            .parse()
            .unwrap()
    }

    fn size(cache: &SchemaCache) -> (usize, usize) {
        let cached = cache.0.lock().unwrap();
        let count = cached.compiled.iter().map(HashMap::len).sum();
        (count, cached.text_bytes)
    }

    #[test]
    fn a_schema_is_compiled_once_and_the_cache_is_bounded() {
        let cache = SchemaCache::default();
        let limits = SchemaLimits::default();
        let compile = |name: &str| cache.compile(&schema(name), true, &limits).unwrap();
        compile("a");
        let one = size(&cache);
        compile("a");
        assert_eq!(size(&cache), one);
        for n in 1..MAX_SCHEMAS {
            compile(&n.to_string());
        }
        assert_eq!(size(&cache).0, MAX_SCHEMAS);
        compile("b");
        assert_eq!(size(&cache), one);
        compile(&"x".repeat(MAX_TEXT_BYTES / 2));
        compile(&"y".repeat(MAX_TEXT_BYTES / 2));
        assert_eq!(size(&cache).0, 1);
    }
}

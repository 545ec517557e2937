//! Caching of results: for how long, and for whom.

use serde::de::{Deserialize, Deserializer};

use crate::Number;
use crate::words::words;

words! {
    /// The receivers that may be given a cached copy of a result.
    ///
    /// Specification: server/utilities/caching (2026-07-28).
    pub open enum CacheScope {
        /// The receiver of the result alone.
        Private = "private",
        /// Anybody: the result holds nothing about its receiver.
        Public = "public",
    }
}

/// A time to live in milliseconds, as it is decoded: a negative one counts as 0, a fraction is cut off.
pub(crate) struct Millis(pub(crate) u64);

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(deserializer)?;
        // The cast saturates at both ends and drops the fraction.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let millis = number.as_u64().unwrap_or_else(|| number.as_f64() as u64);
        Ok(Self(millis))
    }
}

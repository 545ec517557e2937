//! The choice of checks by their names and their level.

use turnbuckle_types::base::nearest::did_you_mean;

use super::CheckError;
use crate::check::Check;
use crate::report::Level;

/// A choice of checks: by names of checks and topics, and by level.
#[derive(Debug, Clone)]
#[must_use]
pub struct Selection {
    only: Vec<String>,
    skip: Vec<String>,
    mildest: Level,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            only: Vec::new(),
            skip: Vec::new(),
            mildest: Level::Note,
        }
    }
}

impl Selection {
    /// Creates the choice of all checks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the choice to a check or a topic; repeated calls add to it.
    pub fn only(mut self, name: impl Into<String>) -> Self {
        self.only.push(name.into());
        self
    }

    /// Leaves a check or a topic out; repeated calls add to it.
    pub fn skip(mut self, name: impl Into<String>) -> Self {
        self.skip.push(name.into());
        self
    }

    /// Leaves checks out that are milder than this. Default: [`Level::Note`], which leaves none out.
    pub fn level(mut self, mildest: Level) -> Self {
        self.mildest = mildest;
        self
    }

    /// Returns the chosen ones of these checks.
    ///
    /// # Errors
    /// Fails if a name is that of no check and no topic among them.
    pub fn select(
        &self,
        checks: impl IntoIterator<Item = &'static Check>,
    ) -> Result<Vec<&'static Check>, CheckError> {
        let mut checks: Vec<_> = checks.into_iter().collect();
        let names = |check: &&'static Check| [check.id, check.topic()];
        let known: Vec<_> = checks.iter().flat_map(names).collect();
        for name in self.only.iter().chain(&self.skip) {
            if !known.contains(&&**name) {
                return Err(CheckError::NoSuchCheck {
                    name: name.clone(),
                    hint: did_you_mean(name, known.iter().copied()).unwrap_or_default(),
                });
            }
        }
        let is_named = |list: &[String], check: &Check| {
            let mut list = list.iter();
            list.any(|name| name == check.id || name == check.topic())
        };
        checks.retain(|check| {
            (self.only.is_empty() || is_named(&self.only, check))
                && !is_named(&self.skip, check)
                && check.level <= self.mildest
        });
        Ok(checks)
    }
}

//! The revisions of the protocol, a closed set. Their dates stand in
//! [`turnbuckle_types::base::revision_dates`].
//!
//! Code reads a fact of a revision by its name ([`Features`]) or of a method ([`Method`]); it does
//! not compare revisions.

/// Writes a struct of facts and a constant with the first value of each, which stands beside it.
macro_rules! facts {
    (
        $(#[$attribute:meta])*
        $seen:vis struct $Name:ident, $FIRST:ident {
            $($(#[$doc:meta])* $fact_seen:vis $fact:ident: $Type:ty = $value:expr,)+
        }
    ) => {
        $(#[$attribute])*
        $seen struct $Name {
            $($(#[$doc])* $fact_seen $fact: $Type,)+
        }

        const $FIRST: $Name = $Name { $($fact: $value,)+ };
    };
}
use facts;

mod capability;
mod features;
mod methods;

use std::fmt;

use turnbuckle_types::base::revision_dates::REVISION_DATES;

pub use capability::Capability;
pub use features::{EraKind, Features};
pub use methods::{Method, MethodRole, MirroredParam, Party, RequestRate};

macro_rules! revisions {
    ($($(#[$doc:meta])* $variant:ident,)*) => {
        /// One revision of the Model Context Protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Revision {
            $($(#[$doc])* $variant,)*
        }

        impl Revision {
            /// Every revision, oldest first.
            pub const ALL: [Self; REVISION_DATES.len()] = [$(Self::$variant),*];
        }
    };
}

revisions! {
    /// The first published revision: stdio, and HTTP with a separate event stream.
    V2024_11_05,
    /// Streamable HTTP, batches, tool annotations, audio.
    V2025_03_26,
    /// Structured tool output, elicitation, resource links; batches are gone.
    V2025_06_18,
    /// Icons, URL elicitation, sampling with tools.
    V2025_11_25,
    /// The stateless revision: every request carries its own envelope.
    V2026_07_28,
}

impl Revision {
    /// The newest revision that opens with a handshake: the offer to a client that asked for an
    /// unknown one.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;

    /// The newest revision.
    pub const NEWEST: Self = Self::ALL[Self::ALL.len() - 1];

    /// The revision of an HTTP request without a version header, when nothing else tells.
    pub const DEFAULT_WITHOUT_HEADER: Self = Self::V2025_03_26;

    /// Returns the date of the revision, its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        REVISION_DATES[self as usize]
    }

    /// Returns the known revision with this name on the wire.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .rev()
            .find(|revision| revision.as_str() == text)
    }

    /// Returns the facts of this revision.
    #[must_use]
    pub const fn features(self) -> &'static Features {
        features::features_of(self)
    }

    /// Returns the revisions of the modern era: those that a request can name in its envelope.
    pub fn modern() -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .filter(|revision| revision.features().era == EraKind::Modern)
    }

    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_and_parsing_agree() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        }
        assert_eq!(Revision::parse("2026-07-29"), None);
        assert_eq!(Revision::parse(""), None);
        let dates = Revision::ALL.map(|revision| format!("{revision:?}"));
        let names = Revision::ALL.map(|it| format!("V{}", it.as_str().replace('-', "_")));
        assert_eq!(dates, names);
    }

    #[test]
    fn one_revision_is_modern_and_the_newest_legacy_one_is_not() {
        assert_eq!(Revision::modern().collect::<Vec<_>>(), [Revision::NEWEST]);
        assert_eq!(Revision::NEWEST_LEGACY.features().era, EraKind::Legacy);
    }
}

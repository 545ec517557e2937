//! State that the instances of one server share.
//!
//! [`keys`] has the secret keys of a server: a [`KeyRing`](keys::KeyRing) is read from one setting, and
//! each use derives keys of its own from it.
//!
//! ```
//! use turnbuckle_store::keys::KeyRing;
//!
//! let ring = KeyRing::generate()?;
//! let cursors = ring.derive("cursors");
//! let sealed = cursors.seal(b"list of tools", b"page 2")?;
//! assert_eq!(cursors.open(b"list of tools", &sealed)?, b"page 2");
//! assert!(cursors.open(b"list of prompts", &sealed).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod keys;

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

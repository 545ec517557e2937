//! The examples of the attributes, as doc tests; `tests` has the other tests of the attributes.
//!
//! They are a package of their own: what the tests of a proc macro depend on, cargo builds as for build
//! scripts, so every crate of the workspace would be built twice.

/// Holds the doc comments of the attributes.
#[cfg(doctest)]
#[doc = include_str!(concat!(env!("OUT_DIR"), "/attributes.md"))]
struct Attributes;

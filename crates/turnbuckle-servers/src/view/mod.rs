//! The merged view of the items of all servers: names, URIs, bounds.

pub(crate) mod item_kind;
pub(crate) mod items;
pub(crate) mod merged_uris;
pub(crate) mod merged_view;
pub(crate) mod names;
pub(crate) mod shadowing;

//! Configuration files of hosts: `add` writes a server into one, `remove` removes it.
//!
//! The facts about hosts are those of November 2026; the guide's page on hosts has the same table.

pub(crate) mod add;
mod change;
mod diff;
mod edit;
mod entry;
mod file;
mod host;
mod places;
pub(crate) mod remove;

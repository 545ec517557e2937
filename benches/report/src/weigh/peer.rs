//! The libraries that are compared.

use crate::process::cargo;

/// A library, by the folder of its hello world.
#[derive(Clone, Copy)]
pub(super) struct Peer(pub(super) &'static str);

pub(super) const OURS: Peer = Peer("turnbuckle");
pub(super) const THEIRS: Peer = Peer("rmcp");

impl Peer {
    pub(super) fn manifest(self) -> String {
        format!("tests/peers-check/{}/Cargo.toml", self.0)
    }

    /// Returns a cargo command on the hello world, with exactly the versions of its lock.
    pub(super) fn cargo(self, command: &str) -> std::process::Command {
        let manifest = self.manifest();
        cargo([command, "--locked", "--manifest-path", &manifest])
    }
}

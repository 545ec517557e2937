//! One attack: a row of the table of attacks, and what its attackers share.

use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;

use crate::problem::Problem;
use crate::raw::Raw;

/// One attack.
pub(super) struct Attack {
    pub(super) name: &'static str,
    /// The attackers of the long form. The short form has a tenth.
    pub(super) attackers: usize,
    pub(super) act: fn(Attacker) -> Acting,
    /// True if the memory that is left afterwards is held to its bound, and not only shown.
    pub(super) holds_end: bool,
}

/// The actions of an attacker. Dropping them ends the attacker.
pub(super) type Acting = Pin<Box<dyn Future<Output = Result<(), Problem>> + Send>>;

/// One attacker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attacker {
    pub(super) place: SocketAddr,
    pub(super) number: usize,
}

impl Attacker {
    /// Connects from the address that all attackers share.
    pub(super) async fn connect(self) -> Result<Raw, Problem> {
        Raw::connect_from(Some(Ipv4Addr::LOCALHOST), self.place).await
    }

    /// Connects from an address of the attacker's own.
    pub(super) async fn connect_from_own(self) -> Result<Raw, Problem> {
        let [.., high, low] = u32::try_from(self.number).unwrap_or_default().to_be_bytes();
        let source = Ipv4Addr::new(127, 1, high, low.max(1));
        Raw::connect_from(Some(source), self.place).await
    }
}

impl Attack {
    pub(super) const fn new(
        name: &'static str,
        attackers: usize,
        act: fn(Attacker) -> Acting,
    ) -> Self {
        Self {
            name,
            attackers,
            act,
            holds_end: true,
        }
    }

    /// Shows the memory that is left afterwards without holding it to its bound.
    pub(super) const fn shows_end(mut self) -> Self {
        self.holds_end = false;
        self
    }
}

//! One attack over HTTP: a row of the table of attacks, and what its attackers share.

use std::net::Ipv4Addr;
use std::pin::Pin;

use super::target::Scene;
use crate::problem::Problem;
use crate::raw::Raw;
use crate::route::Route;
use crate::server::attacker_token;

/// One attack over HTTP.
pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) scene: Scene,
    pub(super) origin: Origin,
    /// The attackers of the long form. The short form has a tenth.
    pub(super) attackers: usize,
    pub(super) act: fn(Attacker) -> Acting,
}

/// The actions of an attacker. Dropping them ends the attacker.
pub(super) type Acting = Pin<Box<dyn Future<Output = Result<(), Problem>> + Send>>;

/// The identity of attackers: an address, or a principal where tokens are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// All share one.
    One,
    /// Each has its own.
    Many,
}

/// One attacker.
#[derive(Clone)]
pub(super) struct Attacker {
    pub(super) route: Route,
    pub(super) number: usize,
}

impl Attacker {
    pub(super) fn new(attack: &Attack, route: &Route, number: usize) -> Self {
        let own = (attack.origin == Origin::Many).then_some(number);
        let mut route = route.clone();
        route.source = Some(Ipv4Addr::LOCALHOST);
        if attack.scene == Scene::Tokens {
            route.token = Some(attacker_token(own).into());
        } else if let Some(number) = own {
            let [.., high, low] = u32::try_from(number).unwrap_or_default().to_be_bytes();
            route.source = Some(Ipv4Addr::new(127, 1, high, low.max(1)));
        }
        Self { route, number }
    }

    pub(super) async fn connect(&self) -> Result<Raw, Problem> {
        Raw::connect_by(self.route.clone()).await
    }
}

//! An attack over HTTP as a row of a table, and the building blocks of its attackers.

use std::net::Ipv4Addr;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::sleep;

use super::target::Scene;
use crate::problem::Result;
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
pub(super) type Acting = Pin<Box<dyn Future<Output = Result>>>;

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
        if attack.scene == Scene::Tokens {
            route.token = Some(attacker_token(own).into());
        } else if let Some(number) = own {
            let [.., high, low] = u32::try_from(number).unwrap_or_default().to_be_bytes();
            route.source = Ipv4Addr::new(127, 1, high, low.max(1));
        }
        Self { route, number }
    }

    pub(super) async fn connect(&self) -> Result<Raw> {
        Raw::connect(&self.route).await
    }

    /// Connects and opens a session.
    pub(super) async fn open(&self) -> Result<(Raw, String)> {
        let mut raw = self.connect().await?;
        let session = raw.open().await?;
        Ok((raw, session))
    }

    /// Connects, acts, waits and leaves, again and again.
    pub(super) async fn repeat(&self, pause_ms: u64, mut act: impl AsyncFnMut(&mut Raw)) -> Result {
        loop {
            let mut raw = self.connect().await?;
            act(&mut raw).await;
            pause(pause_ms).await;
        }
    }

    /// Connects and acts, again and again, and keeps each connection for which that is true.
    pub(super) async fn gather(&self, mut act: impl AsyncFnMut(&mut Raw) -> bool) -> Result {
        let mut connections = Vec::new();
        loop {
            let mut raw = self.connect().await?;
            if act(&mut raw).await {
                connections.push(raw);
            }
            pause(20).await;
        }
    }
}

pub(super) async fn pause(ms: u64) {
    sleep(Duration::from_millis(ms)).await;
}

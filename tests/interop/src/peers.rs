//! The servers at hand: what `peers.json` says of those of other SDKs, `ours.json` of our own, and `bridged.json` of those
//! that our bridge starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};
use turnbuckle::Revision;
use turnbuckle::session::transport::LinkKind;

use crate::problem::Problem;

const OTHERS: &str = include_str!("../../js/servers/peers.json");
const OURS: &str = include_str!("ours.json");
const BRIDGED: &str = include_str!("bridged.json");

/// Features of a server by step: each entry says what is sent and what the answer must be.
pub(crate) type Surface = Map<String, Value>;

/// A server that can be started.
#[derive(Debug, Deserialize)]
pub(crate) struct Peer {
    /// Name of the peer in the table.
    pub(crate) name: String,
    /// Name of the surface that the peer offers.
    surface: String,
    /// The revisions that it speaks here, oldest first.
    #[serde(deserialize_with = "revisions")]
    pub(crate) revisions: Vec<Revision>,
    /// Transport by which the peer is reached.
    pub(crate) binding: Binding,
    /// The command that starts it, to be run in `tests/js`.
    pub(crate) start: Vec<String>,
    /// The steps, and whether it can take them.
    can: BTreeMap<String, bool>,
}

/// Transport by which a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Binding {
    /// In this process.
    Memory,
    /// On the standard streams of a process that the client runs.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE.
    Sse,
}

impl Binding {
    /// Returns the kind of connection that this transport makes.
    pub(crate) fn kind(self) -> LinkKind {
        match self {
            Self::Http => LinkKind::Exchange,
            Self::Memory | Self::Stdio | Self::Sse => LinkKind::Duplex,
        }
    }
}

/// The servers of one table.
#[derive(Debug)]
pub(crate) struct Peers {
    surfaces: BTreeMap<String, Arc<Surface>>,
    /// Each of them, in the order of the table.
    pub(crate) all: Vec<Arc<Peer>>,
}

#[derive(Deserialize)]
struct File {
    surfaces: BTreeMap<String, Surface>,
    peers: Vec<Peer>,
}

impl Peers {
    /// Reads the lists of servers: those of other SDKs, ours, and those behind our bridge.
    pub(crate) fn read() -> Result<[Self; 3], Problem> {
        let others: File = serde_json::from_str(OTHERS)?;
        let mut ours: File = serde_json::from_str(OURS)?;
        let mut bridged: File = serde_json::from_str(BRIDGED)?;
        for file in [&mut ours, &mut bridged] {
            for (name, surface) in &others.surfaces {
                file.surfaces.entry(name.clone()).or_insert(surface.clone());
            }
        }
        Ok([others, ours, bridged].map(|file| Self {
            surfaces: file
                .surfaces
                .into_iter()
                .map(|(name, surface)| (name, surface.into()))
                .collect(),
            all: file.peers.into_iter().map(Arc::new).collect(),
        }))
    }

    /// Returns the features that a server offers.
    pub(crate) fn surface(&self, peer: &Peer) -> Result<Arc<Surface>, Problem> {
        let surface = self.surfaces.get(&peer.surface);
        let missing = || format!("there is no surface {:?}", peer.surface);
        Ok(surface.cloned().ok_or_else(missing)?)
    }

    /// Returns the newest revision of the server behind `peer`, even if the peer lists it under
    /// another name.
    pub(crate) fn newest(&self, peer: &Peer) -> Option<Revision> {
        let same = self
            .all
            .iter()
            .filter(|other| other.start == peer.start && other.binding == peer.binding);
        let spoken: Vec<_> = same.flat_map(|other| &other.revisions).collect();
        Revision::ALL
            .into_iter()
            .rev()
            .find(|revision| spoken.contains(&revision))
    }
}

impl Peer {
    /// Returns whether the peer supports a step.
    pub(crate) fn can(&self, step: &str) -> bool {
        step == "lists" || self.can.get(step) == Some(&true)
    }
}

fn revisions<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Revision>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    let parse = |name: &String| {
        Revision::parse(name).ok_or_else(|| D::Error::custom(format!("no revision: {name}")))
    };
    names.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::STEPS;

    /// A name that is written wrongly would leave a step out in silence.
    #[test]
    fn every_server_decides_on_every_step_and_describes_those_that_it_can_take() {
        for peers in Peers::read().unwrap() {
            for peer in &peers.all {
                let surface = peers.surface(peer).unwrap();
                let named = |step: &str| step == "lists" || peer.can.contains_key(step);
                assert!(STEPS.iter().all(|step| named(step.name)), "{}", peer.name);
                assert_eq!(peer.can.len(), STEPS.len() - 1, "{}", peer.name);
                for step in STEPS.iter().filter(|step| peer.can(step.name)) {
                    assert!(
                        surface.contains_key(step.name),
                        "{}: {}",
                        peer.name,
                        step.name
                    );
                }
            }
        }
    }

    #[test]
    fn every_revision_of_ours_is_met() {
        let sources = Peers::read().unwrap();
        for revision in Revision::ALL {
            for peers in &sources {
                let meets = |peer: &Arc<Peer>| peer.revisions.contains(&revision);
                assert!(peers.all.iter().any(meets), "{revision}");
            }
        }
    }
}

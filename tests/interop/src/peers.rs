//! The servers at hand: what `peers.json` says of those of other SDKs, and `ours.json` of our own.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};
use turnbuckle::Revision;
use turnbuckle::session::LinkKind;

use crate::Problem;

const OTHERS: &str = include_str!("../../js/servers/peers.json");
const OURS: &str = include_str!("ours.json");

/// What a server offers, step by step: the entry of each step says what is sent and what has to
/// come of it.
pub(crate) type Surface = Map<String, Value>;

/// A server that can be started.
#[derive(Debug, Deserialize)]
pub(crate) struct Peer {
    /// What it is called in the table.
    pub(crate) name: String,
    /// Which surface it has.
    surface: String,
    /// The revisions that it speaks here, oldest first.
    #[serde(deserialize_with = "revisions")]
    pub(crate) revisions: Vec<Revision>,
    /// How it is reached.
    pub(crate) binding: Binding,
    /// The command that starts it, to be run in `tests/js`.
    pub(crate) start: Vec<String>,
    /// The steps, and whether it can take them.
    can: BTreeMap<String, bool>,
}

/// How a server is reached.
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
    /// How a connection over it delivers.
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
    /// The servers of other SDKs, and ours.
    pub(crate) fn read() -> Result<[Self; 2], Problem> {
        let others: File = serde_json::from_str(OTHERS)?;
        let mut ours: File = serde_json::from_str(OURS)?;
        for (name, surface) in &others.surfaces {
            ours.surfaces.entry(name.clone()).or_insert(surface.clone());
        }
        Ok([others, ours].map(|file| Self {
            surfaces: file
                .surfaces
                .into_iter()
                .map(|(name, surface)| (name, surface.into()))
                .collect(),
            all: file.peers.into_iter().map(Arc::new).collect(),
        }))
    }

    /// What a server offers.
    pub(crate) fn surface(&self, peer: &Peer) -> Result<Arc<Surface>, Problem> {
        let surface = self.surfaces.get(&peer.surface);
        let missing = || format!("there is no surface {:?}", peer.surface);
        Ok(surface.cloned().ok_or_else(missing)?)
    }

    /// The newest revision that the server behind `peer` speaks, be it under another name.
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
    /// Whether it can take a step.
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
        let [others, ours] = Peers::read().unwrap();
        for revision in Revision::ALL {
            for peers in [&others, &ours] {
                let meets = |peer: &Arc<Peer>| peer.revisions.contains(&revision);
                assert!(peers.all.iter().any(meets), "{revision}");
            }
        }
    }
}

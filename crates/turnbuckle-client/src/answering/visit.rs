//! The visits to URLs whose end a server may announce.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use turnbuckle_session::Signal;
use turnbuckle_types::ElicitationCompleteParams;
use turnbuckle_wire::era::params::raw_params;

/// The most visits that are known at once. One more, and the oldest is forgotten.
const MAX_VISITS: usize = 256;

/// Visits that somebody may wait for, oldest first.
#[derive(Debug, Default)]
pub(super) struct Visits(Mutex<Vec<Weak<Visit>>>);

/// A visit to a URL whose end can be announced. Known for as long as somebody holds it.
#[derive(Debug)]
pub(super) struct Visit {
    id: String,
    announced: Signal,
    /// Tells when the connection is gone, and with it who could announce.
    ended: Signal,
}

impl Visits {
    pub(super) fn begin(&self, id: String, ended: Signal) -> Arc<Visit> {
        let visit = Arc::new(Visit {
            id,
            announced: Signal::new(),
            ended,
        });
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|visit| visit.strong_count() > 0);
        if known.len() == MAX_VISITS {
            known.remove(0);
        }
        known.push(Arc::downgrade(&visit));
        visit
    }

    /// Hears an announcement. One of an unknown visit means nothing.
    pub(super) fn completed(&self, message: &str) {
        let params =
            raw_params(message).and_then(|raw| raw.decode::<ElicitationCompleteParams>().ok());
        let Some(params) = params else { return };
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for visit in known.iter().filter_map(Weak::upgrade) {
            if visit.id == params.elicitation_id {
                visit.announced.cancel();
            }
        }
    }
}

impl Visit {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) async fn completed(&self) -> bool {
        tokio::select! {
            biased;
            () = self.announced.cancelled() => true,
            () = self.ended.cancelled() => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_forgotten_and_what_is_held_is_bounded() {
        let visits = Visits::default();
        let count = || visits.0.lock().unwrap().len();
        for id in 0..1000 {
            drop(visits.begin(id.to_string(), Signal::new()));
        }
        assert_eq!(count(), 1);
        let held: Vec<_> = (0..1000)
            .map(|id| visits.begin(id.to_string(), Signal::new()))
            .collect();
        assert_eq!(count(), MAX_VISITS);
        // The newest are known, the one before them is not.
        for id in [999 - MAX_VISITS, 1000 - MAX_VISITS] {
            visits.completed(&format!(r#"{{"params":{{"elicitationId":"{id}"}}}}"#));
        }
        assert!(!held[999 - MAX_VISITS].announced.is_cancelled());
        assert!(held[1000 - MAX_VISITS].announced.is_cancelled());
    }
}

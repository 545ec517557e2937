//! Visits to URLs whose completion a server may announce.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use turnbuckle_session::handler::Signal;
use turnbuckle_types::ElicitationCompleteNotificationParams;
use turnbuckle_wire::era::params::raw_params;

/// The most visits that are known at once. One more, and the oldest is forgotten.
const MAX_VISITS: usize = 256;

/// The visits whose completion somebody may wait for, oldest first.
#[derive(Debug, Default)]
pub(crate) struct UrlVisits(Mutex<Vec<Weak<UrlVisit>>>);

/// A visit to a URL. It is known for as long as a [`UrlRequest`](super::url::UrlRequest) holds it.
#[derive(Debug)]
pub(crate) struct UrlVisit {
    id: String,
    completed_signal: Signal,
    /// Fires when the connection is lost, so that no announcement can come.
    ended: Signal,
}

impl UrlVisits {
    /// Registers a visit.
    pub(crate) fn register(&self, id: String, ended: Signal) -> Arc<UrlVisit> {
        let visit = Arc::new(UrlVisit {
            id,
            completed_signal: Signal::new(),
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

    /// Handles an announcement. One for an unknown visit is ignored.
    pub(crate) fn complete(&self, message: &str) {
        let params = raw_params(message)
            .and_then(|raw| raw.decode::<ElicitationCompleteNotificationParams>().ok());
        let Some(params) = params else { return };
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for visit in known.iter().filter_map(Weak::upgrade) {
            if visit.id == params.elicitation_id {
                visit.completed_signal.cancel();
            }
        }
    }
}

impl UrlVisit {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Waits for the announcement. Returns false if the connection is lost first.
    pub(crate) async fn wait_for_completion(&self) -> bool {
        tokio::select! {
            biased;
            () = self.completed_signal.cancelled() => true,
            () = self.ended.cancelled() => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_visits_are_forgotten_and_held_ones_are_bounded() {
        let visits = UrlVisits::default();
        let count = || visits.0.lock().unwrap().len();
        for id in 0..1000 {
            drop(visits.register(id.to_string(), Signal::new()));
        }
        assert_eq!(count(), 1);
        let held: Vec<_> = (0..1000)
            .map(|id| visits.register(id.to_string(), Signal::new()))
            .collect();
        assert_eq!(count(), MAX_VISITS);
        // The newest are known, the one before them is not.
        for id in [999 - MAX_VISITS, 1000 - MAX_VISITS] {
            visits.complete(&format!(r#"{{"params":{{"elicitationId":"{id}"}}}}"#));
        }
        assert!(!held[999 - MAX_VISITS].completed_signal.is_cancelled());
        assert!(held[1000 - MAX_VISITS].completed_signal.is_cancelled());
    }
}

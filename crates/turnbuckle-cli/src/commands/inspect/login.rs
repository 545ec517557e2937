//! The login at a server, as the page shows it.

use std::sync::{Arc, Mutex, PoisonError};

use turnbuckle::auth::OAuth;
use turnbuckle_inspector::ConnectionObserver;
use turnbuckle_inspector::api::Step;

use crate::authorization::PageLogin;

/// Returns the user interface of a login that tells the observer of the address to open.
pub(super) fn page_login(observer: ConnectionObserver) -> PageLogin {
    PageLogin::new(move |url| {
        if url.is_some() {
            observer.begin_step(Step::Authorization);
        }
        observer.set_login_url(url.map(str::to_owned));
    })
}

/// The steps of logins, which the observer is told of once each. Clones share it.
#[derive(Clone)]
pub(super) struct LoginSteps {
    oauth: OAuth,
    observer: ConnectionObserver,
    /// The steps that the observer was told of, of the login that goes on.
    told: Arc<Mutex<Vec<String>>>,
}

impl LoginSteps {
    pub(super) fn new(oauth: &OAuth, observer: ConnectionObserver) -> Self {
        Self {
            oauth: oauth.clone(),
            observer,
            told: Arc::default(),
        }
    }

    /// Tells the observer of the steps since the last time.
    pub(super) fn report(&self) {
        let transcript = self.oauth.transcript();
        let sentences = transcript.steps.iter().map(|step| {
            let mark = if step.succeeded { "" } else { " failed" };
            let mut sentence = format!("{}{mark}: {}", step.step, step.request);
            for (before, text) in [
                (" → ", &step.response),
                ("; then ", &step.decision),
                ("; fix: ", step.advice.as_ref().unwrap_or(&String::new())),
            ] {
                if !text.is_empty() {
                    sentence += before;
                    sentence += text;
                }
            }
            sentence
        });
        let sentences: Vec<_> = sentences.collect();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        // A transcript goes on, loses its oldest steps, or is that of another login.
        let new = (0..=told.len())
            .find_map(|start| sentences.strip_prefix(&told[start..]))
            .unwrap_or(&sentences);
        for sentence in new {
            self.observer.add_login_step(sentence);
        }
        *told = sentences;
    }
}

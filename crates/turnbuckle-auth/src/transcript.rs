//! A record of the steps of a login: each request, its answer and the decision that followed.
//!
//! Every part of the client writes into one [`Recorder`]. An [`AuthError`](super::AuthError)
//! carries the result, a [`Transcript`], which a host can show.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use turnbuckle_types::base::text::one_line;

/// The most steps that a transcript keeps. The oldest are dropped first.
const MAX_STEPS: usize = 200;

/// The most characters of one text of a step.
const MAX_TEXT_CHARS: usize = 500;

/// The kind of a step on the way to a token.
///
/// Specification: basic/authorization, "Authorization Flow Steps" (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepKind {
    /// The server refused a request and named its demands.
    Challenge,
    /// A request for the metadata of the protected resource.
    ResourceMetadata,
    /// A request for the metadata of the authorization server.
    AuthorizationServerMetadata,
    /// The choice or the registration of a client id.
    Registration,
    /// The user's login and consent in a browser.
    Authorization,
    /// A request for an access token.
    Token,
    /// A request for a new access token with a refresh token.
    Refresh,
    /// A read or a write of the credential store.
    Store,
}

impl StepKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Challenge => "challenge",
            Self::ResourceMetadata => "resource metadata",
            Self::AuthorizationServerMetadata => "authorization server metadata",
            Self::Registration => "registration",
            Self::Authorization => "authorization",
            Self::Token => "token",
            Self::Refresh => "refresh",
            Self::Store => "store",
        }
    }
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One step on the way to a token. It never holds a secret.
///
/// Each text is cut after 500 characters, and control characters are replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TranscriptStep {
    /// The kind of the step.
    pub step: StepKind,
    /// The request or the action, for instance `GET https://mcp.example.com/.well-known/…`.
    pub request: String,
    /// The answer or the outcome, for instance `404`.
    pub response: String,
    /// The decision that followed, for instance `try the next candidate`.
    pub decision: String,
    /// True if the step did what it was for.
    pub succeeded: bool,
    /// A way to fix a step that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// The steps of a login, in order: at most the last 200.
///
/// `Display` writes a checklist for people, with the fix of each step that failed.
///
/// Specification: basic/authorization, "Authorization Flow Steps" (2026-07-28).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Transcript {
    /// The steps in the order in which they were taken.
    pub steps: Vec<TranscriptStep>,
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            let mark = if step.succeeded {
                "[ok]    "
            } else {
                "[failed]"
            };
            writeln!(f, "{mark} {}: {}", step.step, step.request)?;
            if !step.response.is_empty() {
                writeln!(f, "         answer: {}", step.response)?;
            }
            if !step.decision.is_empty() {
                writeln!(f, "         then:   {}", step.decision)?;
            }
            if let Some(advice) = &step.advice {
                writeln!(f, "         fix:    {advice}")?;
            }
        }
        Ok(())
    }
}

/// Writes a transcript. Clones write into the same one.
///
/// Callers pass the names of parameters, never the values of secrets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<VecDeque<TranscriptStep>>>);

impl Recorder {
    /// Creates a recorder without steps.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a step that succeeded, or whose failure does not end the login.
    pub(crate) fn record(
        &self,
        step: StepKind,
        request: impl Into<String>,
        response: impl Into<String>,
        decision: impl Into<String>,
    ) {
        self.push(TranscriptStep {
            step,
            request: clean(&request.into()),
            response: clean(&response.into()),
            decision: clean(&decision.into()),
            succeeded: true,
            advice: None,
        });
    }

    /// Adds a step that failed. An empty `advice` is left out.
    pub(crate) fn fail(
        &self,
        step: StepKind,
        request: impl Into<String>,
        response: impl Into<String>,
        decision: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let advice = clean(&advice.into());
        self.push(TranscriptStep {
            step,
            request: clean(&request.into()),
            response: clean(&response.into()),
            decision: clean(&decision.into()),
            succeeded: false,
            advice: Some(advice).filter(|advice| !advice.is_empty()),
        });
    }

    /// Returns the steps so far.
    pub(crate) fn transcript(&self) -> Transcript {
        let steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Transcript {
            steps: steps.iter().cloned().collect(),
        }
    }

    fn push(&self, step: TranscriptStep) {
        let mut steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.len() >= MAX_STEPS {
            steps.pop_front();
        }
        steps.push_back(step);
    }
}

/// Returns a text as one line that is safe to print.
pub(crate) fn clean(text: &str) -> String {
    one_line(text, MAX_TEXT_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_texts_are_bounded() {
        let recorder = Recorder::new();
        for index in 0..250 {
            recorder.record(StepKind::Token, format!("{index}"), "x".repeat(5000), "");
        }
        let transcript = recorder.transcript();
        assert_eq!(transcript.steps.len(), 200);
        assert_eq!(transcript.steps[0].request, "50");
        assert_eq!(transcript.steps[199].response.chars().count(), 500);
    }

    #[test]
    fn terminal_control_characters_of_a_server_are_not_shown() {
        let recorder = Recorder::new();
        recorder.fail(StepKind::Token, "a\u{1b}[2Jb\nc", "\u{202e}evil", "", "");
        let step = &recorder.transcript().steps[0];
        assert_eq!(step.request, "a [2Jb c");
        assert_eq!(step.response, "\\u{202e}evil");
        assert_eq!(step.advice, None);
    }

    #[test]
    fn the_checklist_shows_the_fix_of_a_failed_step() {
        let recorder = Recorder::new();
        recorder.record(
            StepKind::ResourceMetadata,
            "GET https://a/",
            "200",
            "use it",
        );
        recorder.fail(
            StepKind::Registration,
            "POST https://b/",
            "400",
            "stop",
            "set a client id",
        );
        let text = recorder.transcript().to_string();
        assert_eq!(
            text,
            "[ok]     resource metadata: GET https://a/\n         answer: 200\n         then:   use it\n\
             [failed] registration: POST https://b/\n         answer: 400\n         then:   stop\n         \
             fix:    set a client id\n"
        );
    }

    #[test]
    fn clones_of_a_recorder_share_the_transcript() {
        let recorder = Recorder::new();
        recorder.clone().record(StepKind::Store, "load", "", "");
        let json = serde_json::to_string(&recorder.transcript()).unwrap();
        assert!(json.contains(r#""step":"store""#), "{json}");
    }
}

//! The choice between asking the user, accepting everything, and refusing.

/// The way in which the questions of a server are answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerMode {
    /// At the terminal, by the user.
    Prompt,
    /// With the defaults of forms, and with consent to URLs. Sampling is declined.
    AcceptAll,
    /// With a refusal.
    Refuse,
}

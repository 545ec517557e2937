//! The handshake that opens a legacy session.
//!
//! Specification: basic/lifecycle, "Initialization".

use std::time::Duration;

use serde_json::{Value, json};

use super::{Handshake, Probe, ProbeError};

impl Probe {
    /// Opens a legacy session, as far as the options say.
    ///
    /// # Errors
    /// Fails if the server refuses, or does not answer in time.
    pub async fn open_session(&mut self) -> Result<(), ProbeError> {
        let params = self.handshake_params();
        let answer = self.request("initialize", params).await?;
        if answer.get("result").is_none() {
            return Err(ProbeError::Io(format!(
                "the server refused `initialize`: {}",
                answer["error"]
            )));
        }
        self.handshake = Some(answer["result"].clone());
        if self.options.handshake == Handshake::Whole {
            self.notify("notifications/initialized", json!({})).await?;
            if let Some(level) = self.options.log_level.clone() {
                self.request("logging/setLevel", json!({"level": level}))
                    .await?;
            }
        }
        Ok(())
    }

    /// Returns the parameters of the request that opens a legacy session.
    #[must_use]
    pub fn handshake_params(&self) -> Value {
        self.options.handshake_params(self.revision)
    }

    /// Returns the result of the handshake that connecting did.
    #[must_use]
    pub fn handshake(&self) -> Option<&Value> {
        self.handshake.as_ref()
    }

    /// Returns the time limit of a wait.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.options.timeout
    }
}

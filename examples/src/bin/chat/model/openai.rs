//! A model behind an OpenAI-compatible endpoint (`/chat/completions`).

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

/// The environment variable with the key of the endpoint.
const KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// The time that one answer may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The most bytes of an answer.
const MAX_BYTES: usize = 4 << 20;

/// A model behind an endpoint.
pub(crate) struct OpenAi {
    client: reqwest::Client,
    url: String,
    key: Option<String>,
    name: String,
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Value,
}

impl OpenAi {
    pub(crate) fn new(url: &str, name: &str) -> Result<Self, String> {
        // An error means that the program has a provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build();
        Ok(Self {
            client: client.map_err(|error| error.to_string())?,
            url: format!("{}/chat/completions", url.trim_end_matches('/')),
            key: std::env::var(KEY_VARIABLE).ok(),
            name: name.to_owned(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the model's next message.
    pub(crate) async fn complete(
        &self,
        messages: &[Value],
        tools: &[Value],
    ) -> Result<Value, String> {
        let mut body = json!({"model": self.name, "messages": messages});
        if !tools.is_empty() {
            body["tools"] = tools.into();
        }
        let mut request = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .body(body.to_string());
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        let mut response = request.send().await.map_err(|error| error.to_string())?;
        let status = response.status();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
            if bytes.len() + chunk.len() > MAX_BYTES {
                return Err(format!(
                    "the model's answer is longer than {MAX_BYTES} bytes"
                ));
            }
            bytes.extend_from_slice(&chunk);
        }
        if !status.is_success() {
            let text: String = String::from_utf8_lossy(&bytes).chars().take(500).collect();
            return Err(format!("{} answered {status}: {text}", self.url));
        }
        let completion: Completion = serde_json::from_slice(&bytes)
            .map_err(|error| format!("the answer of {} cannot be read: {error}", self.url))?;
        let first = completion.choices.into_iter().next();
        let message = first.map(|choice| choice.message);
        message.ok_or_else(|| "the model gave no answer".to_owned())
    }
}

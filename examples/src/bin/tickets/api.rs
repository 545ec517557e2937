//! The client of the tracker's REST API.

use std::fmt;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{RequestBuilder, StatusCode, Url};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use turnbuckle::prelude::*;

/// The longest answer of the API that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The API of the tracker.
pub(crate) struct Api {
    client: reqwest::Client,
    url: Url,
    token: String,
}

/// A ticket as a list has it.
#[data]
pub(crate) struct Ticket {
    pub(crate) id: u64,
    pub(crate) title: String,
}

/// A page of tickets.
#[data]
pub(crate) struct Page {
    pub(crate) tickets: Vec<Ticket>,
    /// The next page, if there is one
    pub(crate) next: Option<u32>,
}

/// A ticket with all of its text.
#[data]
pub(crate) struct FullTicket {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) comments: Vec<Comment>,
}

#[data]
pub(crate) struct Comment {
    pub(crate) author: String,
    pub(crate) text: String,
}

/// An error of the API.
#[derive(Debug, IntoFailure)]
pub(crate) enum ApiError {
    /// No ticket of that number. The model can search again.
    #[failure(model)]
    Missing,
    /// A refusal of what the model sent, in the words of the API.
    #[failure(model)]
    Refused(String),
    /// The model can try again later.
    #[failure(model)]
    Busy,
    /// The URL or the token is wrong, or the API is ill: nothing that a client can mend.
    #[failure(hidden)]
    Unusable(String),
    /// The API could not be reached.
    #[failure(hidden)]
    Unreachable(reqwest::Error),
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such ticket; `search` finds tickets"),
            Self::Refused(text) => write!(f, "the tracker refused it: {text}"),
            Self::Busy => f.write_str("the tracker is busy; try again in a minute"),
            Self::Unusable(text) => write!(f, "the tracker's API cannot be used: {text}"),
            Self::Unreachable(_) => f.write_str("the tracker cannot be reached"),
        }
    }
}

impl std::error::Error for ApiError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreachable(error) => Some(error),
            _ => None,
        }
    }
}

impl Api {
    /// Returns the API at a URL, which is used with a token.
    pub(crate) fn new(url: &str, token: &str) -> Result<Self> {
        // Relative paths are joined to a folder.
        let url = Url::parse(&format!("{}/", url.trim_end_matches('/')))?;
        // Fails if the process has a provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(20))
            // The token belongs to this API, not to where it may redirect.
            .redirect(Policy::none())
            .build()?;
        let token = token.to_owned();
        Ok(Self { client, url, token })
    }

    /// Returns a page of the tickets with some words.
    pub(crate) async fn search(&self, text: &str, page: u32) -> Result<Page, ApiError> {
        let mut url = self.url("tickets")?;
        let page = page.to_string();
        url.query_pairs_mut()
            .extend_pairs([("text", text), ("page", &page)]);
        self.send(self.client.get(url)).await
    }

    /// Returns a ticket.
    pub(crate) async fn ticket(&self, id: u64) -> Result<FullTicket, ApiError> {
        let url = self.url(&format!("tickets/{id}"))?;
        self.send(self.client.get(url)).await
    }

    /// Creates a ticket.
    pub(crate) async fn create(&self, title: &str, body: &str) -> Result<Ticket, ApiError> {
        self.post("tickets", json!({ "title": title, "body": body }))
            .await
    }

    /// Adds a comment to a ticket.
    pub(crate) async fn comment(&self, id: u64, text: &str) -> Result<(), ApiError> {
        let path = format!("tickets/{id}/comments");
        self.post(&path, json!({ "text": text }))
            .await
            .map(|_: IgnoredAny| ())
    }

    fn url(&self, path: &str) -> Result<Url, ApiError> {
        let url = self.url.join(path);
        url.map_err(|error| ApiError::Unusable(error.to_string()))
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: Value) -> Result<T, ApiError> {
        let request = self.client.post(self.url(path)?);
        let request = request.header("content-type", "application/json");
        self.send(request.body(body.to_string())).await
    }

    /// Sends a request and decodes the answer.
    async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ApiError> {
        let sent = request.bearer_auth(&self.token).send().await;
        let mut response = sent.map_err(ApiError::Unreachable)?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(ApiError::Unreachable)? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                let text = format!("it answered with more than {MAX_ANSWER_BYTES} bytes");
                return Err(ApiError::Unusable(text));
            }
            body.extend_from_slice(&chunk);
        }
        match status {
            _ if status.is_success() => serde_json::from_slice(&body)
                .map_err(|error| ApiError::Unusable(format!("it answered with {error}"))),
            StatusCode::NOT_FOUND => Err(ApiError::Missing),
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
                let text = String::from_utf8_lossy(&body);
                Err(ApiError::Refused(text.chars().take(500).collect()))
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Err(ApiError::Busy),
            _ => Err(ApiError::Unusable(format!("it answered with {status}"))),
        }
    }
}

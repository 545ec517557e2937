//! Headers that a command prints: credentials that end, or that differ between principals.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use tokio::sync::OnceCell;
use tower_layer::Layer;
use tower_service::Service;
use turnbuckle::http::{ClientRequestBody, ClientResponseBody, HttpClient, HttpClientError};
use turnbuckle::stdio::{Command, StderrMode};

use crate::caller::Caller;
use crate::error::GatewayError;
use crate::file::PrincipalPart;

/// The longest run of a command.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The most bytes that a command prints.
const MAX_OUTPUT_BYTES: usize = 64 << 10;

/// The most headers that a command prints.
const MAX_HEADERS: usize = 32;

/// The variables by which a command knows what its headers are for.
const UPSTREAM: &str = "TURNBUCKLE_UPSTREAM";
const PARTS: [(&str, PrincipalPart); 3] = [
    ("TURNBUCKLE_SUBJECT", PrincipalPart::Subject),
    ("TURNBUCKLE_ISSUER", PrincipalPart::Issuer),
    ("TURNBUCKLE_CLIENT", PrincipalPart::Client),
];

/// The headers of one run of the command, once it has ended.
type Headers = Arc<OnceCell<HeaderMap>>;

/// A layer of an HTTP client whose requests have the headers that a command prints as a JSON object.
///
/// The command runs before the first request. When the server answers 401, it runs again, once for all
/// requests that wait, and each of them is sent a second time.
#[derive(Clone)]
pub(crate) struct HeadersCommand(Arc<Shared>);

struct Shared {
    command: Command,
    upstream: String,
    current: Mutex<Headers>,
}

impl HeadersCommand {
    /// Creates a layer for the requests of a caller. A program with a path that is relative starts at
    /// `directory`, which is absolute, and in which the command runs.
    pub(crate) fn new(
        words: &[String],
        directory: &Path,
        upstream: &str,
        caller: &Caller,
    ) -> Result<Self, GatewayError> {
        let [program, arguments @ ..] = words else {
            return Err(GatewayError::new("`headers_command` is empty"));
        };
        let command = match program.contains('/') {
            true => Command::new(directory.join(program)),
            false => Command::new(program),
        };
        let inherited = env::vars_os().filter(|(name, _)| PARTS.iter().all(|it| *name != *it.0));
        let parts = PARTS.into_iter();
        let parts = parts.filter_map(|(variable, part)| Some((variable, caller.part(part)?)));
        let command = command
            .args(arguments)
            .current_dir(directory)
            .envs(inherited)
            .envs(parts)
            .env(UPSTREAM, upstream)
            // That of the gateway: it may have secrets, and errors reach clients.
            .stderr(StderrMode::Inherit);
        Ok(Self(Arc::new(Shared {
            command,
            upstream: upstream.to_owned(),
            current: Mutex::new(Headers::default()),
        })))
    }
}

impl Layer<HttpClient> for HeadersCommand {
    type Service = HeadersService;

    fn layer(&self, inner: HttpClient) -> HeadersService {
        HeadersService {
            inner,
            shared: self.0.clone(),
        }
    }
}

/// An HTTP client whose requests have the headers of a command.
#[derive(Clone)]
pub(crate) struct HeadersService {
    inner: HttpClient,
    shared: Arc<Shared>,
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Service<Request<ClientRequestBody>> for HeadersService {
    type Response = Response<ClientResponseBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        let (mut inner, shared) = (self.inner.clone(), self.shared.clone());
        Box::pin(async move {
            let used = shared.current();
            let headers = shared.headers(&used).await?;
            let response = inner.call(with_headers(&request, headers)).await?;
            if response.status() != StatusCode::UNAUTHORIZED {
                return Ok(response);
            }
            let renewed = shared.after(&used);
            let headers = shared.headers(&renewed).await?;
            Ok(inner.call(with_headers(&request, headers)).await?)
        })
    }
}

/// Returns a request with these headers beside its own, which take precedence: they are those of the
/// transport and of the file.
fn with_headers(
    request: &Request<ClientRequestBody>,
    headers: &HeaderMap,
) -> Request<ClientRequestBody> {
    let mut request = request.clone();
    for (name, value) in headers {
        if !request.headers().contains_key(name) {
            request.headers_mut().insert(name, value.clone());
        }
    }
    request
}

impl Shared {
    /// Returns the headers of a run, which starts if nobody has started it.
    async fn headers<'a>(&self, run: &'a Headers) -> Result<&'a HeaderMap, BoxError> {
        run.get_or_try_init(|| self.run()).await.map_err(|reason| {
            // Nothing was sent.
            let reason = format!("`headers_command` of {:?}: {reason}", self.upstream);
            HttpClientError::unreachable(reason).into()
        })
    }

    fn current(&self) -> Headers {
        self.current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the run after one whose headers were refused.
    fn after(&self, refused: &Headers) -> Headers {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, refused) {
            *current = Headers::default();
        }
        current.clone()
    }

    async fn run(&self) -> Result<HeaderMap, String> {
        let ended = tokio::time::timeout(MAX_TIME, self.output()).await;
        let output = ended.unwrap_or_else(|_| Err(format!("it has not ended within {MAX_TIME:?}")));
        parse(&output?)
    }

    /// Runs the command, and returns what it has printed. It is killed, with what it has started, when nobody waits
    /// any longer.
    async fn output(&self) -> Result<Vec<u8>, String> {
        let ended = self.command.output(MAX_OUTPUT_BYTES).await;
        let (status, output) = ended.map_err(|error| error.to_string())?;
        match status.success() {
            true => Ok(output),
            false => Err(format!("it ended with {status}")),
        }
    }
}

/// Parses what a command has printed. Errors never show values, which are secrets.
fn parse(output: &[u8]) -> Result<HeaderMap, String> {
    let texts: BTreeMap<String, String> = serde_json::from_slice(output).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!("it prints no JSON object of texts (line {line}, column {column})")
    })?;
    if texts.len() > MAX_HEADERS {
        return Err(format!("it prints more than {MAX_HEADERS} headers"));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in texts {
        let refused = || format!("the header {name:.64?} cannot be sent");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        if [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(&header) {
            return Err(refused());
        }
        let mut value = HeaderValue::from_str(&value).map_err(|_| refused())?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests;

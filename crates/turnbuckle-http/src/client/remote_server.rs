//! Requests to one server: their common headers, and redirects.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::LOCATION;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use turnbuckle_session::transport::LinkError;

use super::http_client::HttpClient;
use super::options::HttpClientOptions;
use super::response_body::ClientResponseBody;
use super::target::Target;

/// A server behind an HTTP client.
#[derive(Debug, Clone)]
pub(crate) struct RemoteServer {
    pub(crate) http: HttpClient,
    /// The headers of every request, unless the transport sets them itself: the user's, and `Host`,
    /// which a service without sockets needs.
    pub(crate) headers: HeaderMap,
    pub(crate) options: HttpClientOptions,
}

impl RemoteServer {
    /// Sends a request and follows redirects within the origin. `headers` are built for each of them.
    /// Returns the response and the target that sent it.
    ///
    /// # Errors
    /// Fails without a response, and at a redirect that is not followed.
    pub(crate) async fn send<'t>(
        &self,
        method: &Method,
        target: &'t Target,
        headers: impl Fn() -> Result<HeaderMap, LinkError> + Send,
        body: Bytes,
    ) -> Result<(Response<ClientResponseBody>, Cow<'t, Target>), LinkError> {
        let mut target = Cow::Borrowed(target);
        for _ in 0..=self.options.max_redirects {
            let mut request = Request::new(body.clone().into());
            *request.method_mut() = method.clone();
            *request.uri_mut() = target.uri();
            *request.headers_mut() = headers()?;
            let response = self.http.send(request).await?;
            match redirect_target(method, &target, &response)? {
                Some(next) => target = Cow::Owned(next),
                None => return Ok((response, target)),
            }
        }
        Err(LinkError::ProtocolViolation {
            reason: format!(
                "more than {} redirects (HttpClientOptions::max_redirects)",
                self.options.max_redirects
            ),
        })
    }
}

/// Returns the target of a redirect; `None` for any other response.
fn redirect_target(
    method: &Method,
    target: &Target,
    response: &Response<ClientResponseBody>,
) -> Result<Option<Target>, LinkError> {
    let keeps_method = match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => {
            method == Method::GET
        }
        _ => return Ok(None),
    };
    let status = response.status().as_u16();
    let refused = |why: String| LinkError::ProtocolViolation {
        reason: format!("a redirect (HTTP {status}) that is not followed: {why}"),
    };
    if !keeps_method {
        return Err(refused(format!("it would turn the {method} into a GET")));
    }
    let location = response.headers().get(LOCATION);
    let location = location.and_then(|value| value.to_str().ok());
    let location = location.ok_or_else(|| refused("it leads nowhere".to_owned()))?;
    let next = target.resolve(location);
    let next = next.map_err(|error| refused(format!("it leads to {error}")))?;
    Ok(Some(next))
}

//! One server, asked: what every request has, and which redirects are followed.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::LOCATION;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use turnbuckle_session::LinkError;

use super::http::{AnswerBody, HttpClient};
use super::options::HttpClientOptions;
use super::target::Target;

/// A way to a server.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    pub(crate) http: HttpClient,
    /// What is on every request, unless the transport says otherwise: what the user wants, and the
    /// host, for a server without sockets.
    pub(crate) headers: HeaderMap,
    pub(crate) options: HttpClientOptions,
}

impl Remote {
    /// Asks, and follows redirects within the origin, for each of which `headers` are made anew. Says
    /// where the answer came from, too.
    pub(crate) async fn ask<'t>(
        &self,
        method: &Method,
        target: &'t Target,
        headers: impl Fn() -> Result<HeaderMap, LinkError> + Send,
        body: Bytes,
    ) -> Result<(Response<AnswerBody>, Cow<'t, Target>), LinkError> {
        let mut target = Cow::Borrowed(target);
        for _ in 0..=self.options.max_redirects {
            let mut request = Request::new(body.clone().into());
            *request.method_mut() = method.clone();
            *request.uri_mut() = target.uri();
            *request.headers_mut() = headers()?;
            let answer = self.http.ask(request).await?;
            match next(method, &target, &answer)? {
                Some(next) => target = Cow::Owned(next),
                None => return Ok((answer, target)),
            }
        }
        Err(LinkError::Violation {
            reason: format!(
                "more than {} redirects (HttpClientOptions::max_redirects)",
                self.options.max_redirects
            ),
        })
    }
}

/// Where a redirect leads; none where it is no redirect.
fn next(
    method: &Method,
    target: &Target,
    answer: &Response<AnswerBody>,
) -> Result<Option<Target>, LinkError> {
    let keeps_method = match answer.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => {
            method == Method::GET
        }
        _ => return Ok(None),
    };
    let status = answer.status().as_u16();
    let refused = |why: String| LinkError::Violation {
        reason: format!("a redirect (HTTP {status}) that is not followed: {why}"),
    };
    if !keeps_method {
        return Err(refused(format!("it would turn the {method} into a GET")));
    }
    let location = answer.headers().get(LOCATION);
    let location = location.and_then(|value| value.to_str().ok());
    let location = location.ok_or_else(|| refused("it leads nowhere".to_owned()))?;
    let next = target.resolve(location);
    let next = next.map_err(|error| refused(format!("it leads to {error}")))?;
    Ok(Some(next))
}

//! The routes that tell a load balancer about the server: `/livez` and `/readyz`.

use http::{HeaderValue, Method, Response, StatusCode, header};
use turnbuckle_session::handler::Signal;

use crate::reply::ResponseBody;

/// The answers about a server's health. They are given before any layer, host or token is looked at,
/// and say nothing else.
#[derive(Debug)]
pub(super) struct HealthRoutes {
    /// The signal that makes the server unready.
    pub(super) shutdown: Signal,
}

impl HealthRoutes {
    /// Answers a request, if it is one for these routes.
    pub(super) fn answer(&self, method: &Method, path: &str) -> Option<Response<ResponseBody>> {
        let is_well = match path {
            "/livez" => true,
            "/readyz" => !self.shutdown.is_closing(),
            _ => return None,
        };
        let (status, text) = match method {
            &Method::GET | &Method::HEAD if is_well => (StatusCode::OK, "ok\n"),
            &Method::GET | &Method::HEAD => (
                StatusCode::SERVICE_UNAVAILABLE,
                "the server is shutting down\n",
            ),
            _ => (StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD\n"),
        };
        let mut response = Response::new(ResponseBody::full(text));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let no_store = HeaderValue::from_static("no-store");
        headers.insert(header::CACHE_CONTROL, no_store);
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        Some(response)
    }
}

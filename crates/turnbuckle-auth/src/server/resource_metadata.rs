//! The protected resource metadata: a public document that names the authorization servers.
//!
//! Specification: RFC 9728; basic/authorization/authorization-server-discovery (2026-07-28).

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_TYPE,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use tower_service::Service;

use super::body::{NoBody, ResourceServerBody};
use super::resource_uri::WELL_KNOWN_PATH;
use crate::metadata::ProtectedResourceMetadata;

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, OPTIONS");
const ANY: HeaderValue = HeaderValue::from_static("*");

/// The metadata document of a resource and its path.
#[derive(Debug, Clone)]
pub(super) struct MetadataDocument {
    pub(super) metadata: ProtectedResourceMetadata,
    pub(super) path: String,
    json: Bytes,
}

impl MetadataDocument {
    pub(super) fn new(
        metadata: ProtectedResourceMetadata,
        path: String,
    ) -> Result<Self, serde_json::Error> {
        let json = Bytes::from(serde_json::to_vec(&metadata)?);
        Ok(Self {
            metadata,
            path,
            json,
        })
    }

    /// Returns whether a path is that of the document: with the path of the resource, or the root
    /// form.
    pub(super) fn is_at(&self, path: &str) -> bool {
        path.starts_with(WELL_KNOWN_PATH) && (path == self.path || path == WELL_KNOWN_PATH)
    }

    /// Answers a request for the document. No token is needed.
    pub(super) fn answer(&self, method: &Method) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        response
            .headers_mut()
            .insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
        if method == Method::OPTIONS {
            *response.status_mut() = StatusCode::NO_CONTENT;
            let headers = response.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ANY);
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
            headers.insert(ALLOW, METHODS);
        } else if method == Method::GET || method == Method::HEAD {
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(
                CACHE_CONTROL,
                HeaderValue::from_static("public, max-age=300"),
            );
            *response.body_mut() = self.json.clone();
        } else {
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            response.headers_mut().insert(ALLOW, METHODS);
        }
        response
    }
}

/// A service that answers every request on any path with the metadata of a resource. For routers
/// that mount it at [`ResourceServer::metadata_path`](super::ResourceServer::metadata_path).
#[derive(Debug, Clone)]
pub struct MetadataService(pub(super) Arc<MetadataDocument>);

impl<B> Service<Request<B>> for MetadataService {
    type Response = Response<ResourceServerBody<NoBody>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let response = self.0.answer(request.method());
        ready(Ok(response.map(ResourceServerBody::own)))
    }
}

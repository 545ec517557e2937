//! The floor of what is mounted in axum: one handler there.

use ::axum::Router;
use ::axum::body::{Body, Bytes};
use ::axum::extract::State;
use ::axum::http::StatusCode;
use ::axum::http::header::CONTENT_TYPE;
use ::axum::response::Response;
use ::axum::routing::post;

use super::answer::{Answer, answer_of};
use crate::ours::http::in_axum;
use crate::process::{Ended, on_one_thread};

/// Runs `floor-axum [ANSWER]`.
pub(crate) fn serve(words: &[String]) -> Ended {
    let router = Router::new()
        .route("/mcp", post(handle))
        .with_state(answer_of(words)?);
    on_one_thread(in_axum(router))?
}

async fn handle(State(answer): State<Answer>, body: Bytes) -> Result<Response, StatusCode> {
    let mut bytes = Vec::with_capacity(128);
    answer(&body, &mut bytes).map_err(|_| StatusCode::BAD_REQUEST)?;
    Response::builder()
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(bytes))
        .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

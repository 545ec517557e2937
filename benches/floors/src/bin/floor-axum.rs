//! The floor in axum, in which most people mount a service.

use std::io;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;

#[tokio::main]
async fn main() -> io::Result<()> {
    let listener = turnbuckle_floors::listen().await?.tap_io(|stream| {
        // Without it an answer may wait; a floor may not be late.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().route("/mcp", post(answer))).await
}

async fn answer(body: Bytes) -> Response {
    let mut answer = Vec::with_capacity(128);
    match turnbuckle_floors::answer(&body, &mut answer) {
        Ok(()) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

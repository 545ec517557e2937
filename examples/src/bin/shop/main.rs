//! A shop in axum with an endpoint for MCP beside its pages. It shows how a server is mounted in a
//! program that has routes, state and users of its own.
//!
//! Run it with `cargo run -p turnbuckle-examples --bin shop -- 127.0.0.1:8080`.
//!
//! ```text
//! curl http://127.0.0.1:8080/orders -H 'x-api-key: bakery-key'
//! turnbuckle list http://127.0.0.1:8080/mcp -H 'x-api-key: bakery-key'
//! ```
//!
//! One layer finds out which customer a request is from. The routes and the tools both take that
//! customer, so that nobody sees the orders of others. The keys are made up: a real shop keeps
//! hashes of random ones.

mod orders;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use turnbuckle::http::{HttpServerOptions, StreamableHttp};
use turnbuckle::prelude::*;

use orders::{Customer, Order, Orders};

#[tokio::main]
async fn main() -> turnbuckle::Result {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let orders = Arc::new(Orders::default());

    let server = Server::new("shop", env!("CARGO_PKG_VERSION"))
        .state(Arc::clone(&orders))
        .tools(tools![order, list])
        .build()?;
    let mcp = StreamableHttp::new(server, HttpServerOptions::new());
    // The streams of clients that listen end when the program is told to end.
    let shutdown = mcp.shutdown().close_after(turnbuckle::termination());

    let router = Router::new()
        .route("/orders", get(page))
        .nest_service("/mcp", mcp)
        .layer(from_fn(identify))
        .with_state(orders);
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("serving the shop at http://{}", listener.local_addr()?);
    axum::serve(listener, router)
        .with_graceful_shutdown(shutdown)
        .await?;
    Ok(())
}

/// Admits who has a key, and says which customer it is.
async fn identify(mut request: Request, next: Next) -> Response {
    let key = request.headers().get("x-api-key");
    let Some(customer) = key.and_then(|key| Customer::of_key(key.to_str().ok()?)) else {
        return (
            StatusCode::UNAUTHORIZED,
            "this needs the header x-api-key\n",
        )
            .into_response();
    };
    // Sessions and rates belong to the principal, the tools read the customer.
    let principal = Principal::new("https://shop.example", customer.name);
    request.extensions_mut().insert(principal);
    request.extensions_mut().insert(customer);
    next.run(request).await
}

/// Lists the orders of a customer as text.
async fn page(
    axum::Extension(customer): axum::Extension<Customer>,
    axum::extract::State(orders): axum::extract::State<Arc<Orders>>,
) -> String {
    let orders = orders.of_customer(customer).into_iter();
    orders
        .map(|order| format!("{}: {} {}\n", order.number, order.amount, order.article))
        .collect()
}

/// Order an article.
#[tool(destructive = false)]
fn order(
    orders: State<Orders>,
    HttpExtension(customer): HttpExtension<Customer>,
    #[schema(min_len = 1, max_len = 100)] article: String,
    #[schema(default = 1, min = 1, max = 1_000)] amount: u32,
) -> Result<Order, &'static str> {
    orders
        .add(customer, article, amount)
        .ok_or("there are 1,000 orders already")
}

/// List all orders, the newest last.
#[tool(read_only)]
fn list(orders: State<Orders>, HttpExtension(customer): HttpExtension<Customer>) -> Vec<Order> {
    orders.of_customer(customer)
}

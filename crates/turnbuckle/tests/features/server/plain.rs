//! Tools from functions with plain parameters and different return types.

use turnbuckle::prelude::*;

pub(super) fn group() -> Group {
    Group::new().tools(tools![
        add, later, apart, place, book, browse, parse, breaks
    ])
}

/// Adds two numbers.
#[tool(read_only, title = "Sum", icon = "https://example.com/sum.png")]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tool]
async fn later(text: String) -> String {
    tokio::task::yield_now().await;
    text
}

/// Blocks its thread, which is allowed on the blocking pool only.
#[tool(blocking)]
fn apart(text: String) -> String {
    tokio::runtime::Handle::current().block_on(async move { text })
}

#[data]
struct Town {
    name: String,
    /// The number of inhabitants.
    people: u32,
}

#[tool]
fn place(name: String) -> Town {
    Town { name, people: 9 }
}

#[data(rename_all = "lowercase")]
#[derive(Debug)]
enum Room {
    Garden,
    Hall,
}

/// Books a table.
#[tool]
fn book(
    /// The name of the guest.
    #[schema(min_len = 2, pattern = "^[A-Z]")]
    name: String,
    #[schema(min = 1, max = 9)] people: u8,
    #[schema(default = Room::Garden)] room: Room,
    wishes: Option<Vec<String>>,
) -> String {
    format!("{name}, {people}, {room:?}, {wishes:?}")
}

#[data]
struct Page {
    #[schema(default = 0)]
    offset: u32,
    #[schema(min = 1, max = 100)]
    limit: u32,
}

#[tool]
fn browse(shelf: String, #[flatten] page: Page) -> String {
    format!("{shelf}, {} from {}", page.limit, page.offset)
}

#[tool]
fn parse(text: String) -> Result<String> {
    let number: u8 = text.parse()?;
    Ok(number.to_string())
}

#[tool]
fn breaks(secret: String) -> String {
    panic!("it broke over {secret}")
}

//! The surface of a server.

use std::panic::{AssertUnwindSafe, catch_unwind};

use turnbuckle::prelude::*;
use turnbuckle::{ServerBuilder, testing};

/// Add two numbers.
#[tool]
fn add(
    /** first */
    a: i64,
    /** second */
    b: i64,
) -> i64 {
    a + b
}

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/facade/surface.json");

fn server() -> ServerBuilder {
    let notes =
        Resource::builder("notes://{id}", "note").handler(|reading: ReadRequest| reading.uri);
    let readme = Resource::builder("notes://readme", "readme").handler(|_: ReadRequest| "read me");
    let greet = Prompt::builder("greet").handler(|| "Greet them");
    Server::new("notes", "1.0.0")
        .instructions("Read the notes first.")
        .tools(tools![add])
        .prompt(greet)
        .resource(notes)
        .resource(readme)
}

#[tokio::test]
async fn the_surface_matches_its_file() -> Result {
    testing::assert_surface(server(), FILE).await;
    let surface = testing::surface(server()).await?;
    let parsed: serde_json::Value = serde_json::from_str(&surface)?;
    assert_eq!(parsed["tools"][0]["description"], "Add two numbers.");
    assert_eq!(
        parsed["resourceTemplates"][0]["uriTemplate"],
        "notes://{id}"
    );
    assert_eq!(parsed["resources"][0]["uri"], "notes://readme");
    assert_eq!(parsed["prompts"][0]["name"], "greet");
    Ok(())
}

#[tokio::test]
async fn an_empty_server_has_a_surface() -> Result {
    let surface = testing::surface(Server::new("empty", "1.0.0")).await?;
    assert!(surface.contains("\"tools\": [],"), "{surface}");
    Ok(())
}

#[test]
fn a_change_is_reported() {
    if std::env::var_os("TURNBUCKLE_UPDATE").is_some() {
        return;
    }
    let changed = server().tool(Tool::builder("more").handler(|| "more"));
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let compare = || runtime.block_on(testing::assert_surface(changed, FILE));
    let panic = catch_unwind(AssertUnwindSafe(compare)).unwrap_err();
    let message = panic.downcast::<String>().unwrap();
    assert!(
        message.contains("the surface of the server has changed"),
        "{message}"
    );
    assert!(message.contains("TURNBUCKLE_UPDATE=1"), "{message}");
}

// Answer: JSON is text: return `value.to_string()`

#![allow(unused)]

use turnbuckle::prelude::*;

#[resource("app://settings")]
async fn settings() -> Result<serde_json::Value> {
    Ok(serde_json::json!({}))
}

fn main() {}

// Answer: put `#[data]` on it, above its `#[derive(…)]`

#![allow(unused)]

use serde::{Deserialize, Serialize};
use turnbuckle::prelude::*;

#[derive(Serialize, Deserialize)]
struct Article {
    name: String,
}

#[tool]
fn order(article: Article, count: Option<u8>) -> Result<Article> {
    Ok(article)
}

fn main() {}

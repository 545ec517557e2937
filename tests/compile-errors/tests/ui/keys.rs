// Answer: did you mean `title`?

use turnbuckle::tool;

#[tool(titel = "Add", readonly, colour = "red")]
fn unknown(#[schema(mim = 1)] a: i64) {}

#[tool(title = "Add", title = "Sum")]
fn twice() {}

fn main() {}

// Answer: mismatched types

use turnbuckle::tool;

#[tool(task(after = 5))]
fn unitless() {}

fn main() {}

// Answer: cannot be generic

use turnbuckle::tool;

#[tool]
fn generic<T>(value: T) {}

#[tool]
fn hidden(value: impl ToString) {}

#[tool]
unsafe fn dangerous() {}

fn main() {}

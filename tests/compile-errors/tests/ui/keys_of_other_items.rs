// Answer: `prompt` has no `read_only`; there are:

use turnbuckle::{prompt, resource};

#[prompt(read_only)]
fn prompts() -> String {
    String::new()
}

#[resource("a://b", cache(public))]
fn cached() -> String {
    String::new()
}

fn main() {}

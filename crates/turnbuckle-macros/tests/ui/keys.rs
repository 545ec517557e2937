use turnbuckle::{prompt, resource, tool};

#[tool(titel = "Add", readonly, colour = "red")]
fn unknown(#[schema(mim = 1)] a: i64) {}

#[tool(title = "Add", title = "Sum")]
fn twice() {}

#[tool(title, read_only = 1, name = NAME)]
fn values() {}

#[tool(rename_all = "camel")]
fn cases() {}

#[prompt(read_only)]
fn prompts() -> String {
    String::new()
}

#[resource("a://b", cache(public))]
fn cached() -> String {
    String::new()
}

#[tool]
fn header(#[schema(header = "X Region")] region: String) {}

fn main() {}

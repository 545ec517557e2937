// Answer: `title` needs a value: `title = …`

use turnbuckle::tool;

#[tool(title, read_only = 1, name = NAME)]
fn values() {}

#[tool(rename_all = "camel")]
fn cases() {}

#[tool]
fn header(#[schema(header = "X Region")] region: String) {}

fn main() {
    let _: turnbuckle::Tool = turnbuckle::item!(cases);
}

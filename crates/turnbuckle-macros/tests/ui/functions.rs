use turnbuckle::tool;

#[tool]
fn generic<T>(value: T) {}

#[tool]
fn hidden(value: impl ToString) {}

#[tool]
unsafe fn dangerous() {}

#[tool(blocking)]
async fn waiting() {}

#[tool]
fn completed(#[schema(complete = suggest)] city: String) {}

#[tool]
struct Tool;

fn main() {}

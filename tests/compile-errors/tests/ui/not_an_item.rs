// Answer: list functions with an attribute: `.tools(tools![…])`

fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = turnbuckle::Server::new("calc", "1.0.0").tool(add);
}

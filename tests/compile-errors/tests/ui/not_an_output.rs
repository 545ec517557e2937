// Answer: put `#[data]` on it

use turnbuckle::tool;

struct Weather;

#[tool]
async fn weather() -> Weather {
    Weather
}

fn main() {}

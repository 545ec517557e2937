// Answer: `data` derives Serialize, Deserialize, JsonSchema

#![allow(unused)]

use turnbuckle::prelude::*;

#[data(derive(Clone))]
struct Other;

#[data(derive(JsonSchema), rename_all = "camelCase")]
struct Article {
    #[schema(rename = "name")]
    title: String,
    #[schema(default = 1)]
    count: u8,
}

fn main() {}

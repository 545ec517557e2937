//! Functions with an attribute stay plain functions, and their names are free for variables.

use serde_json::json;
use turnbuckle::{Server, data, item, prompt, prompts, resource, resources, testing, tool, tools};

use crate::arguments::call_text;

/// The rows of a table.
#[resource("db://tables/{table}")]
fn table(table: String) -> String {
    let first = |(table, _): (&str, u8)| table.len();
    format!("{table} {}", first(("a", 1)))
}

#[tool]
fn fact(n: u64) -> u64 {
    if n == 0 { 1 } else { n * fact(n - 1) }
}

#[tool]
fn longest<'a>(
    #[extract] words: turnbuckle::Cancellation,
    text: String,
) -> std::borrow::Cow<'a, str> {
    drop(words);
    text.into()
}

mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_resource_can_be_a_variable_where_it_is_imported_by_a_glob() {
        let mut lengths = Vec::new();
        for table in ["users", "orders"] {
            lengths.push(table.len());
        }
        let Some(table) = lengths.pop() else { panic!() };
        match lengths[0] {
            0 => panic!(),
            table => assert_eq!(table, 5),
        }
        let next = |table: usize| table + 1;
        assert_eq!(next(table), 7);
        assert_eq!(super::table("a".to_owned()), "a 1");
        assert_eq!(fact(2), 2);
    }
}

#[test]
fn an_attributed_function_can_be_passed_to_map() {
    let facts: Vec<u64> = [1, 3, 5].into_iter().map(fact).collect();
    assert_eq!(facts, [1, 6, 120]);
    let pointer: fn(u64) -> u64 = fact;
    assert_eq!(pointer(4), 24);
}

#[tokio::test]
async fn a_recursive_function_can_be_a_tool() {
    let server = Server::new("facts", "1.0.0").tools(tools![fact]);
    assert_eq!(call_text(server, "fact", json!({"n": 5})).await, "120");
}

#[allow(unreachable_pub, reason = "public functions are the subject")]
mod private {
    use super::*;

    #[data]
    struct Point {
        x: i64,
    }

    /// Public, although its types are not.
    #[allow(private_interfaces)]
    #[tool]
    pub fn mirror(point: Point) -> Point {
        Point { x: -point.x }
    }

    pub mod deeper {
        #[turnbuckle::prompt]
        pub fn hello() -> &'static str {
            "Hello!"
        }
    }
}

#[tokio::test]
async fn a_public_function_can_have_private_argument_types() {
    let server = Server::new("points", "1.0.0").tools(tools![private::mirror]);
    let client = testing::connect(server).await.unwrap();
    let mirrored = client
        .call_tool("mirror", &json!({"point": {"x": 1}}))
        .await
        .unwrap();
    assert_eq!(
        serde_json::to_value(&mirrored.structured_content).unwrap(),
        json!({"x": -1})
    );
}

#[tokio::test]
async fn lists_take_paths_imports_and_functions_of_a_body() {
    use private::deeper::hello as greeting;

    #[tool]
    fn local() -> &'static str {
        "local"
    }

    #[prompt]
    fn goodbye() -> &'static str {
        "Goodbye!"
    }

    let [bye] = prompts![goodbye];
    let server = Server::new("lists", "1.0.0")
        .tools(tools![local, self::fact, crate::names::longest,])
        .tools(tools![])
        .prompts(prompts![greeting])
        .prompt(bye.title("Bye"))
        .resources(resources![table]);
    let client = testing::connect(server).await.unwrap();
    let tools = client.list_tools().fetch_all().await.unwrap();
    let tools: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["local", "fact", "longest"]);
    let prompts = client.list_prompts().fetch_all().await.unwrap();
    assert_eq!(prompts.len(), 2);
    let row = client.read_resource("db://tables/users").await.unwrap();
    let row = serde_json::to_value(&row).unwrap();
    assert_eq!(row["contents"][0]["text"], "users 1");
}

#[tokio::test]
async fn settings_are_added_to_the_item_of_a_function() {
    let server = Server::new("facts", "1.0.0")
        .dynamic_tools()
        .build()
        .unwrap();
    server.add_tool(item!(fact).title("Factorial")).unwrap();
    let client = testing::connect(server).await.unwrap();
    let tools = client.list_tools().fetch_all().await.unwrap();
    assert_eq!(tools[0].title.as_deref(), Some("Factorial"));
}

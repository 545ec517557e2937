//! Methods, with the value that they share.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use turnbuckle::prelude::Result;
use turnbuckle::{CompletionRequest, Progress, Server, State, data, server, testing};

use crate::arguments::call_text;

#[data]
struct Count {
    now: u32,
}

#[derive(Default)]
struct Counter {
    count: AtomicU32,
}

#[server]
impl Counter {
    /// Counts on.
    #[tool(idempotent = false)]
    async fn add(
        &self,
        #[schema(min = 1, default = 1)] step: u32,
        progress: Progress,
    ) -> Result<Count> {
        progress.report(1u64).await;
        Ok(self.count_on(step))
    }

    #[turnbuckle::tool(blocking)]
    fn double(&self) -> Count {
        self.count_on(self.count.load(Ordering::Relaxed))
    }

    #[prompt]
    fn explain(&self, #[schema(complete = words)] word: String) -> String {
        format!("Explain {word} {}", self.count.load(Ordering::Relaxed))
    }

    #[resource("count://{of}")]
    async fn read(&self, of: String) -> String {
        format!("{of}: {}", self.count.load(Ordering::Relaxed))
    }

    /// One that has no value.
    #[tool]
    fn version() -> &'static str {
        "1"
    }

    #[tool]
    #[cfg(any())]
    fn absent(&self, none: DoesNotExist) {}

    fn count_on(&self, step: u32) -> Count {
        let now = self.count.fetch_add(step, Ordering::Relaxed) + step;
        Count { now }
    }
}

fn words(_: CompletionRequest) -> Vec<String> {
    vec!["counter".to_owned()]
}

fn server() -> turnbuckle::ServerBuilder {
    Server::new("counter", "1.0.0").group(Counter::default())
}

#[tokio::test]
async fn methods_share_their_value() {
    let client = testing::connect(server()).await.unwrap();
    client.call_tool("add", &json!({"step": 4})).await.unwrap();
    client.call_tool("add", &json!({})).await.unwrap();
    let doubled = client.call_tool("double", &json!({})).await.unwrap();
    let doubled = serde_json::to_value(&doubled.structured_content).unwrap();
    assert_eq!(doubled, json!({"now": 10}));
    let read = client.read_resource("count://all").await.unwrap();
    let read = serde_json::to_value(&read).unwrap();
    assert_eq!(read["contents"][0]["text"], "all: 10");
    let prompt = client
        .get_prompt("explain", [("word", "it")])
        .await
        .unwrap();
    let prompt = serde_json::to_value(&prompt).unwrap();
    assert_eq!(prompt["messages"][0]["content"]["text"], "Explain it 10");
    let tools = client.list_tools().fetch_all().await.unwrap();
    let mut tools: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    tools.sort_unstable();
    assert_eq!(tools, ["add", "double", "version"]);
    assert_eq!(call_text(server(), "version", json!({})).await, "1");
}

/// A value whose methods stand in several blocks, in several modules.
struct Library {
    titles: Vec<String>,
}

#[server(blocks(search, admin))]
impl Library {
    #[tool]
    fn count(&self) -> String {
        self.titles.len().to_string()
    }

    fn starting(&self, start: &str) -> Vec<String> {
        let titles = self.titles.iter();
        titles
            .filter(|title| title.starts_with(start))
            .cloned()
            .collect()
    }
}

mod search {
    use super::{CompletionRequest, Library, State, server};

    #[server(block = search)]
    impl Library {
        #[prompt]
        fn summarize(&self, #[schema(complete = self.titles_like)] title: String) -> String {
            format!("Summarize {title} of {}.", self.titles.len())
        }

        #[resource("books://{title}")]
        fn book(&self, #[schema(complete = self.slowly)] title: String) -> String {
            title
        }

        fn titles_like(&self, request: CompletionRequest) -> Vec<String> {
            self.starting(&request.value)
        }

        async fn slowly(&self, ending: State<String>, request: CompletionRequest) -> Vec<String> {
            tokio::task::yield_now().await;
            let titles = self.starting(&request.value).into_iter();
            titles.map(|title| title + &ending).collect()
        }
    }
}

mod admin {
    use super::{Library, server};

    #[server(block = admin)]
    impl Library {
        #[tool]
        fn first(&self) -> String {
            self.titles[0].clone()
        }
    }
}

fn library() -> turnbuckle::ServerBuilder {
    let titles = ["Emma", "Ulysses", "Utopia"].map(str::to_owned).to_vec();
    let server = Server::new("library", "1.0.0").state("!".to_owned());
    server.group(Library { titles })
}

#[tokio::test]
async fn blocks_of_several_modules_make_one_group() {
    assert_eq!(call_text(library(), "count", json!({})).await, "3");
    assert_eq!(call_text(library(), "first", json!({})).await, "Emma");
    let client = testing::connect(library()).await.unwrap();
    let prompt = client
        .get_prompt("summarize", [("title", "Emma")])
        .await
        .unwrap();
    let prompt = serde_json::to_value(&prompt).unwrap();
    assert_eq!(
        prompt["messages"][0]["content"]["text"],
        "Summarize Emma of 3."
    );
}

#[tokio::test]
async fn methods_can_be_completers() {
    use turnbuckle::types::{PromptReference, ResourceTemplateReference};
    let client = testing::connect(library()).await.unwrap();
    let prompt = PromptReference::new("summarize");
    let titles = client.complete(prompt, "title", "U").await.unwrap();
    assert_eq!(titles.completion.values, ["Ulysses", "Utopia"]);
    let book = ResourceTemplateReference::new("books://{title}");
    let titles = client.complete(book, "title", "E").await.unwrap();
    assert_eq!(titles.completion.values, ["Emma!"]);
}

struct Echo<T>(T);

#[server]
impl<T> Echo<T>
where
    T: ToString + Send + Sync + 'static,
{
    #[tool]
    fn echo(&self, times: usize) -> String {
        self.0.to_string().repeat(times)
    }
}

#[tokio::test]
async fn a_generic_type_can_be_a_group() {
    let server = Server::new("echo", "1.0.0").group(Echo(5));
    assert_eq!(call_text(server, "echo", json!({"times": 3})).await, "555");
}

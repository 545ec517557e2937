//! A server that fetches web pages, as Markdown.
//!
//! A model names the URLs, and pages name others, so the addresses of both are checked: this machine, private
//! networks and metadata services are refused, also behind a redirect or a name that changes its address.

mod charset;
mod dom;
mod markdown_size;
mod page;
mod robots;

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, USER_AGENT};
use http::{HeaderMap, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use turnbuckle::prelude::*;
use turnbuckle::types::{GetPromptResult, Role, Schema, ToolAnnotations};
use turnbuckle::{Args, ServerBuilder};
use turnbuckle_http_client::Lookup;
use turnbuckle_http_client::address::AddressClass;
use turnbuckle_types::base::setters;
use turnbuckle_types::base::text::shorten_to;
use url::Url;

use crate::Error;
use crate::web::{AGENT, AllowRedirect, Allowed, WebClient, WebSettings, parse_url};
use page::Page;

/// The characters that are returned if the model does not say how many.
const DEFAULT_MAX_LENGTH: usize = 5_000;

/// The input schema of the tool, as the reference server has it.
const INPUT_SCHEMA: &str = include_str!("input_schema.json");

const DESCRIPTION: &str = include_str!("description.md").trim_ascii_end();

/// The pages that are converted at a time. Others wait.
const MAX_CONVERSIONS: usize = 4;

/// The characters of a `robots.txt` that a refusal quotes.
const MAX_QUOTED_CHARS: usize = 1_000;

/// Options of the server.
#[derive(Clone)]
#[must_use]
pub struct Options {
    user_agent: Option<String>,
    ignore_robots_txt: bool,
    allow_private_addresses: bool,
    max_page_bytes: usize,
    timeout: Duration,
    /// A replacement of the system's name lookup, for tests.
    lookup: Option<Lookup>,
}

turnbuckle_types::base::debug_fields!(Options {
    user_agent,
    ignore_robots_txt,
    allow_private_addresses
});

impl Default for Options {
    fn default() -> Self {
        Self {
            user_agent: None,
            ignore_robots_txt: false,
            allow_private_addresses: false,
            max_page_bytes: 5 << 20,
            timeout: Duration::from_secs(30),
            lookup: None,
        }
    }
}

impl Options {
    /// Creates options: the internet only, and `robots.txt` is obeyed.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the name of the program in requests. Its first word is what `robots.txt` calls it.
        user_agent(agent: impl Into<String>) { user_agent = Some(agent.into()) }

        /// Fetches pages for the model also where `robots.txt` forbids it.
        ignore_robots_txt(ignore: bool) { ignore_robots_txt = ignore }

        /// Allows addresses of private networks and of this machine.
        allow_private_addresses(allow: bool) { allow_private_addresses = allow }

        /// Sets how many bytes of a page are read. Default: 5 MiB.
        max_page_bytes(bytes: usize) { max_page_bytes = bytes }

        /// Sets the time for a page, with its redirects and its conversion. Default: 30 seconds.
        timeout(timeout: Duration) { timeout = timeout }
    }
}

/// Creates the server.
///
/// # Errors
/// When the name of the program cannot stand in a header.
pub fn server(options: Options) -> Result<ServerBuilder, Error> {
    let fetcher = Arc::new(Fetcher::new(&options)?);
    let schema: Schema = INPUT_SCHEMA
        .parse()
        .map_err(|error: serde_json::Error| Error::new(error.to_string()))?;
    let hints = ToolAnnotations::new()
        .read_only_hint(true)
        .destructive_hint(false)
        .idempotent_hint(true)
        .open_world_hint(true);
    let tool = Tool::builder("fetch")
        .description(DESCRIPTION)
        .input_schema(schema)
        .annotations(hints);
    let tool = {
        let fetcher = fetcher.clone();
        tool.handler(move |Args(arguments): Args<FetchArguments>| {
            let fetcher = fetcher.clone();
            async move { fetcher.fetch(arguments).await }
        })
    };
    let prompt =
        Prompt::builder("fetch").description("Adds a web page to the conversation, as Markdown");
    let prompt = prompt.handler(move |Args(arguments): Args<PromptArguments>| {
        let fetcher = fetcher.clone();
        async move { fetcher.prompt(arguments.url).await }
    });
    Ok(Server::new("mcp-fetch", env!("CARGO_PKG_VERSION"))
        .title("Fetch")
        .tool(tool)
        .prompt(prompt))
}

#[derive(Deserialize, JsonSchema)]
struct FetchArguments {
    url: String,
    #[serde(default = "default_max_length")]
    max_length: usize,
    #[serde(default)]
    start_index: usize,
    #[serde(default)]
    raw: bool,
}

fn default_max_length() -> usize {
    DEFAULT_MAX_LENGTH
}

#[derive(Deserialize, JsonSchema)]
struct PromptArguments {
    /// URL of the page
    url: String,
}

/// Fetches pages.
struct Fetcher {
    pages: WebClient,
    robots: WebClient,
    /// The name for requests that a model makes, and for those that a user makes.
    agents: [HeaderValue; 2],
    ignore_robots_txt: bool,
    timeout: Duration,
    /// Permits of threads: one that works longer than its caller waits keeps its permit.
    conversions: Arc<Semaphore>,
}

impl Fetcher {
    fn new(options: &Options) -> Result<Self, Error> {
        let agent = |by: &str| {
            let name = options.user_agent.clone();
            let name = name
                .unwrap_or_else(|| format!("{AGENT} ({by}; +{})", env!("CARGO_PKG_REPOSITORY")));
            HeaderValue::from_str(&name).map_err(|_| {
                Error::new(format!(
                    "the user agent {name:?} has characters that a header cannot have"
                ))
            })
        };
        let client = |max_body_bytes| {
            WebClient::new(WebSettings {
                closest: match options.allow_private_addresses {
                    true => AddressClass::Loopback,
                    false => AddressClass::Public,
                },
                timeout: options.timeout,
                max_body_bytes,
                max_idle_connections: 0,
                lookup: options.lookup.clone(),
            })
        };
        Ok(Self {
            pages: client(options.max_page_bytes),
            robots: client(robots::MAX_ROBOTS_BYTES),
            agents: [agent("Autonomous")?, agent("User-Specified")?],
            ignore_robots_txt: options.ignore_robots_txt,
            timeout: options.timeout,
            conversions: Arc::new(Semaphore::new(MAX_CONVERSIONS)),
        })
    }

    async fn fetch(&self, arguments: FetchArguments) -> Result<String> {
        let url = parse_url(&arguments.url).map_err(|reason| failure(&arguments.url, &reason))?;
        let [agent, _] = &self.agents;
        // Each page on the way is asked for, so the rules of each hold.
        let check = |url: Url| -> Allowed<'_> {
            Box::pin(async move {
                match self.ignore_robots_txt {
                    true => Ok(()),
                    false => self.check_robots(&url, agent).await,
                }
            })
        };
        check(url.clone()).await.map_err(Failure::new)?;
        let page = self.page(&url, agent, arguments.raw, &check).await?;
        let text = excerpt(&page.text, arguments.start_index, arguments.max_length);
        Ok(format!("{}Contents of {url}:\n{text}", page.note))
    }

    /// Fetches the page that a user names, who may fetch what programs may not.
    async fn prompt(&self, url: String) -> Result<GetPromptResult> {
        let page = async {
            let parsed = parse_url(&url).map_err(|reason| failure(&url, &reason))?;
            let [_, agent] = &self.agents;
            self.page(&parsed, agent, false, &follow).await
        };
        let page = page.await?;
        let message = turnbuckle::types::PromptMessage::new(
            Role::User,
            format!("{}{}", page.note, page.text),
        );
        Ok(GetPromptResult::new([message]).description(format!("Contents of {url}")))
    }

    async fn page(
        &self,
        url: &Url,
        agent: &HeaderValue,
        raw: bool,
        allow: AllowRedirect<'_>,
    ) -> Result<Page> {
        let deadline = Instant::now() + self.timeout;
        let response = self.pages.get(url, headers(agent), allow).await;
        let response = response.map_err(|error| failure(url.as_str(), &error.to_string()))?;
        if response.status.is_client_error() || response.status.is_server_error() {
            let reason = format!("status code {}", response.status.as_u16());
            return Err(failure(url.as_str(), &reason));
        }
        if response.is_cut {
            let reason = format!(
                "the page has more than {} bytes (--max-page)",
                response.body.len()
            );
            return Err(failure(url.as_str(), &reason));
        }
        let conversion = async {
            let permit = Arc::clone(&self.conversions).acquire_owned().await?;
            let read = move || {
                let _permit = permit;
                page::read(&response, raw)
            };
            let page = tokio::task::spawn_blocking(read).await?;
            page.map_err(|reason| failure(url.as_str(), &reason))
        };
        let page = timeout_at(deadline, conversion).await;
        page.unwrap_or_else(|_| {
            let reason = format!("it is not converted within {:?}", self.timeout);
            Err(failure(url.as_str(), &reason))
        })
    }

    /// Returns the reason why programs may not fetch a page, if they may not.
    async fn check_robots(&self, url: &Url, agent: &HeaderValue) -> Result<(), String> {
        let mut robots = url.clone();
        robots.set_path("/robots.txt");
        robots.set_query(None);
        robots.set_fragment(None);
        let refused = |reason: String| {
            format!(
                "{reason}. Tell the user that the page was not fetched; the user can fetch it with the prompt `fetch`."
            )
        };
        let response = self.robots.get(&robots, headers(agent), &follow);
        let response = response
            .await
            .map_err(|error| describe(robots.as_str(), &error.to_string()))?;
        let status = response.status.as_u16();
        match status {
            401 | 403 | 500.. => {
                return Err(refused(format!(
                    "{robots} has the status {status}, so programs may not fetch {url}"
                )));
            }
            400..=499 => return Ok(()),
            _ => {}
        }
        let text = String::from_utf8_lossy(&response.body);
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        match robots::is_allowed(&text, agent.to_str().unwrap_or(AGENT), path) {
            true => Ok(()),
            false => Err(refused(format!(
                "{robots} forbids programs to fetch {url}:\n{}\n",
                shorten_to(&text, MAX_QUOTED_CHARS)
            ))),
        }
    }
}

/// Follows every redirect.
fn follow(_: Url) -> Allowed<'static> {
    Box::pin(std::future::ready(Ok(())))
}

fn headers(agent: &HeaderValue) -> HeaderMap {
    let accept = HeaderValue::from_static("text/markdown, text/html;q=0.9, */*;q=0.8");
    HeaderMap::from_iter([(USER_AGENT, agent.clone()), (ACCEPT, accept)])
}

fn failure(url: &str, reason: &str) -> Failure {
    Failure::new(describe(url, reason))
}

fn describe(url: &str, reason: &str) -> String {
    format!("Failed to fetch {}: {reason}", shorten_to(url, 400))
}

/// Returns a part of a text, counted in characters, and what to call for the next part.
fn excerpt(text: &str, start: usize, max_length: usize) -> String {
    let mut rest = text.chars();
    let part: String = rest.by_ref().skip(start).take(max_length).collect();
    if part.is_empty() {
        return "<error>No more content available.</error>".to_owned();
    }
    match rest.next() {
        None => part,
        Some(_) => format!(
            "{part}\n\n<error>Content truncated. Call the fetch tool with a start_index of {} to get more content.</error>",
            start + max_length
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Returns a fetcher for which each lookup of a name gives the next of `answers`.
    fn fetcher(answers: &'static [&'static str]) -> Fetcher {
        let count = AtomicUsize::new(0);
        let lookup: Lookup = Arc::new(move |_| {
            let answer = answers.get(count.fetch_add(1, Ordering::Relaxed));
            let answer = answer.ok_or_else(|| io::Error::other("no such name"));
            let addresses =
                answer.map(|text| text.split(' ').map(|one| one.parse().unwrap()).collect());
            Box::pin(std::future::ready(addresses))
        });
        let mut options = Options::new().timeout(Duration::from_millis(200));
        options.lookup = Some(lookup);
        Fetcher::new(&options).unwrap()
    }

    async fn reason(fetcher: &Fetcher, url: &str) -> String {
        let arguments = FetchArguments {
            url: url.to_owned(),
            max_length: DEFAULT_MAX_LENGTH,
            start_index: 0,
            raw: false,
        };
        format!("{:?}", fetcher.fetch(arguments).await.unwrap_err())
    }

    #[tokio::test]
    async fn a_name_with_an_address_inside_is_refused() {
        for inside in [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "::1",
            "::ffff:192.168.1.1",
        ] {
            let fetcher = fetcher(Box::leak(Box::new([inside])));
            let reason = reason(&fetcher, "http://example.com/").await;
            assert!(
                reason.contains(&format!("the address {inside} is")),
                "{reason}"
            );
        }
        let unknown = reason(&fetcher(&[]), "http://example.com/").await;
        assert!(unknown.contains("no such name"), "{unknown}");
    }

    #[tokio::test]
    async fn only_addresses_that_were_checked_are_connected_to() {
        // The second lookup would be the one of a connection of its own.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!(
            "http://example.com:{}/",
            listener.local_addr().unwrap().port()
        );
        // An address of the first answer is public and unreachable here, and the other is inside.
        let fetcher = fetcher(&["192.0.1.1 127.0.0.1", "127.0.0.1"]);
        let reason = reason(&fetcher, &url).await;
        assert!(!reason.contains("the address 127"), "{reason}");
        let connected = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(connected.is_err(), "the address inside was connected to");
    }

    #[tokio::test]
    async fn a_page_that_cannot_be_converted_in_time_is_an_error() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 4_096]).await.unwrap() > 0);
            let page = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<p>x";
            stream.write_all(page).await.unwrap();
        });
        let options = Options::new()
            .timeout(Duration::from_millis(200))
            .allow_private_addresses(true)
            .ignore_robots_txt(true);
        let fetcher = Fetcher::new(&options).unwrap();
        let all = u32::try_from(MAX_CONVERSIONS).unwrap();
        let _others = fetcher.conversions.acquire_many(all).await.unwrap();
        let reason = reason(&fetcher, &url).await;
        assert!(reason.contains("not converted within 200ms"), "{reason}");
    }
}

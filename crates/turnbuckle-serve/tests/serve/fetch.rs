//! Pages at a recorded server.

use serde_json::{Value, json};
use turnbuckle::testing::{self, Checker, TestClient};
use turnbuckle::types::CallToolResult;
use turnbuckle_serve::fetch::{Options, server};

use crate::recorded::{Exchange, RecordedServer};

fn exchange(path: &str, status: u16, headers: &[&str], body: &str) -> Exchange {
    Exchange {
        request: format!("GET {path}"),
        sent: None,
        status,
        headers: headers.iter().map(|line| (*line).to_owned()).collect(),
        body: body.into(),
    }
}

fn html(path: &str, body: &str) -> Exchange {
    exchange(path, 200, &["Content-Type: text/html; charset=utf-8"], body)
}

/// Returns a site without rules for programs.
async fn site(mut pages: Vec<Exchange>) -> RecordedServer {
    pages.push(exchange("/robots.txt", 404, &[], ""));
    RecordedServer::start(pages).await
}

async fn connect(options: Options) -> TestClient {
    testing::connect(server(options).unwrap()).await.unwrap()
}

/// Returns options that allow the server of the test.
fn local() -> Options {
    Options::new().allow_private_addresses(true)
}

async fn fetch(client: &TestClient, arguments: Value) -> CallToolResult {
    client.call_tool("fetch", &arguments).await.unwrap()
}

async fn refusal(client: &TestClient, url: &str) -> String {
    let result = fetch(client, json!({"url": url})).await;
    assert_eq!(result.is_error, Some(true), "{}", result.text());
    result.text().to_string()
}

#[tokio::test]
async fn a_page_is_markdown_and_paged() {
    let site = site(vec![
        html("/", "<html><body><h1>Häuser</h1><p>Text</p></body></html>"),
        exchange("/data", 200, &["Content-Type: text/plain"], "a<b>"),
    ])
    .await;
    let url = &site.url;
    let client = connect(local()).await;
    let whole = fetch(&client, json!({"url": url})).await;
    assert_eq!(
        whole.text(),
        format!("Contents of {url}/:\n# Häuser\n\nText")
    );
    let agent = site.last().header("user-agent").unwrap().to_owned();
    assert!(
        agent.starts_with("turnbuckle/") && agent.contains("Autonomous"),
        "{agent}"
    );

    let first = fetch(&client, json!({"url": url, "max_length": 4})).await;
    let more = "\n\n<error>Content truncated. Call the fetch tool with a start_index of 4 to get more content.</error>";
    assert_eq!(first.text(), format!("Contents of {url}/:\n# Hä{more}"));
    let rest = fetch(&client, json!({"url": url, "start_index": 4})).await;
    assert_eq!(rest.text(), format!("Contents of {url}/:\nuser\n\nText"));
    let none = fetch(&client, json!({"url": url, "start_index": 99})).await;
    assert_eq!(
        none.text(),
        format!("Contents of {url}/:\n<error>No more content available.</error>")
    );

    let raw = fetch(&client, json!({"url": url, "raw": true})).await;
    assert!(
        raw.text().contains("raw content:\nContents of") && raw.text().contains("<h1>"),
        "{}",
        raw.text()
    );
    let data = fetch(&client, json!({"url": format!("{url}/data")})).await;
    assert!(data.text().ends_with(":\na<b>"), "{}", data.text());
    for wrong in [
        json!({}),
        json!({"url": url, "max_length": 0}),
        json!({"url": url, "max_length": 1_000_000}),
    ] {
        assert_eq!(fetch(&client, wrong).await.is_error, Some(true));
    }
}

#[tokio::test]
async fn robots_txt_is_obeyed_unless_the_user_asks() {
    let rules = "User-agent: *\nDisallow: /private";
    let pages = |robots: Exchange| {
        vec![
            robots,
            html("/private/x?a=1", "<p>Secret"),
            html("/open", "<p>Open"),
        ]
    };
    let site = RecordedServer::start(pages(exchange("/robots.txt", 200, &[], rules))).await;
    let private = format!("{}/private/x?a=1", site.url);
    let client = connect(local()).await;
    let refused = refusal(&client, &private).await;
    assert!(
        refused.contains("forbids programs") && refused.contains("Disallow: /private"),
        "{refused}"
    );
    assert_eq!(site.requests().len(), 1, "only robots.txt was fetched");
    let open = fetch(&client, json!({"url": format!("{}/open", site.url)})).await;
    assert!(open.text().ends_with("Open"), "{}", open.text());
    // The user names the URL of the prompt.
    let prompt = client
        .get_prompt("fetch", [("url", private.as_str())])
        .await
        .unwrap();
    assert!(format!("{prompt:?}").contains("Secret"));
    assert!(
        site.last()
            .header("user-agent")
            .unwrap()
            .contains("User-Specified")
    );
    let ignoring = connect(local().ignore_robots_txt(true)).await;
    assert!(
        fetch(&ignoring, json!({"url": private}))
            .await
            .text()
            .ends_with("Secret")
    );

    let ways = vec![
        exchange("/way", 302, &[&format!("Location: {private}")], ""),
        exchange("/robots.txt", 404, &[], ""),
    ];
    let ways = RecordedServer::start(ways).await;
    let way = format!("{}/way", ways.url);
    let refused = refusal(&client, &way).await;
    assert!(
        refused.contains("forbids programs"),
        "a redirect leads to a page that is forbidden: {refused}"
    );
    let ignored = fetch(&ignoring, json!({"url": way})).await;
    assert!(ignored.text().ends_with("Secret"), "{}", ignored.text());

    for status in [401, 403, 500, 503] {
        let site = RecordedServer::start(pages(exchange("/robots.txt", status, &[], ""))).await;
        let refused = refusal(&client, &format!("{}/open", site.url)).await;
        assert!(
            refused.contains(&format!("has the status {status}")),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn statuses_sizes_and_times_are_bounded() {
    let large = format!("<p>{}", "x".repeat(2_000));
    let site = site(vec![
        exchange("/missing", 404, &[], "no"),
        html("/large", &large),
        exchange("/loop", 302, &["Location: /loop"], ""),
        exchange("/moved", 301, &["Location: large"], ""),
    ])
    .await;
    let client = connect(local().max_page_bytes(1_000)).await;
    let of = |path: &str| format!("{}{path}", site.url);
    assert!(
        refusal(&client, &of("/missing"))
            .await
            .ends_with("status code 404")
    );
    assert!(
        refusal(&client, &of("/large"))
            .await
            .contains("1000 bytes (--max-page)")
    );
    assert!(
        refusal(&client, &of("/moved"))
            .await
            .contains("1000 bytes (--max-page)")
    );
    assert!(
        refusal(&client, &of("/loop"))
            .await
            .contains("more than 5 redirects")
    );
    let short = local().timeout(std::time::Duration::from_millis(50));
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    assert!(
        refusal(&connect(short).await, &url)
            .await
            .contains("no answer within 50ms")
    );
}

#[tokio::test]
async fn redirects_are_followed_or_errors() {
    let site = site(vec![
        exchange("/raw", 302, &["Location: /ü"], "moved"),
        html("/%C3%BC", "<p>There"),
        exchange("/nowhere", 302, &[], "moved"),
        exchange("/inside", 302, &["Location: http://169.254.169.254/ü"], ""),
    ])
    .await;
    let client = connect(local()).await;
    let of = |path: &str| format!("{}{path}", site.url);
    let page = fetch(&client, json!({"url": of("/raw")})).await;
    assert!(page.text().ends_with("There"), "{}", page.text());
    let refused = refusal(&client, &of("/nowhere")).await;
    assert!(refused.contains("302"), "{refused}");
    let refused = refusal(&client, &of("/inside")).await;
    assert!(refused.contains("metadata"), "{refused}");
}

#[tokio::test]
async fn html_is_recognized_by_its_media_type() {
    let client = connect(local().ignore_robots_txt(true)).await;
    let document = format!(
        "<!DOCTYPE html PUBLIC \"{}\"><p>One <b>two",
        "x".repeat(100)
    );
    for media_type in ["Text/HTML", "application/xhtml+xml; charset=utf-8"] {
        let header = format!("Content-Type: {media_type}");
        let url = serve_bytes(&header, document.as_bytes()).await;
        let page = fetch(&client, json!({"url": url})).await;
        assert!(page.text().ends_with("One **two**"), "{}", page.text());
    }
}

/// Returns the URL of a server that gives each request the same response.
async fn serve_bytes(header: &str, body: &[u8]) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{header}\r\n\r\n",
        body.len()
    );
    let response = [head.as_bytes(), body].concat();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4_096]).await;
            let _ = stream.write_all(&response).await;
        }
    });
    url
}

#[tokio::test]
async fn charsets_are_read_and_compressed_pages_refused() {
    let client = connect(local().ignore_robots_txt(true)).await;
    for (header, body, text) in [
        (
            "Content-Type: text/html; charset=ISO-8859-1",
            &b"<p>H\xe4user"[..],
            "Häuser",
        ),
        (
            "Content-Type: text/html",
            b"<meta charset=shift_jis><p>\x93\xfa\x96{",
            "日本",
        ),
    ] {
        let url = serve_bytes(header, body).await;
        let page = fetch(&client, json!({"url": url})).await;
        assert!(page.text().ends_with(text), "{}", page.text());
    }
    let unknown = serve_bytes("Content-Type: text/html; charset=x-mine", b"H\xe4user").await;
    let unknown = refusal(&client, &unknown).await;
    assert!(unknown.contains("charset \"x-mine\""), "{unknown}");
    let packed = serve_bytes("Content-Encoding: gzip", b"\x1f\x8b\x08").await;
    let packed = refusal(&client, &packed).await;
    assert!(packed.contains("compressed (gzip)"), "{packed}");
}

/// The proxies of the environment are read once, so this runs itself with one.
#[tokio::test]
async fn names_of_local_networks_are_refused_behind_a_proxy() {
    const PROXY: &str = "http://127.0.0.1:1";
    if std::env::var("http_proxy").as_deref() != Ok(PROXY) {
        let name = "fetch::names_of_local_networks_are_refused_behind_a_proxy";
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args([name, "--exact"]).env("http_proxy", PROXY);
        let child = child.env_remove("NO_PROXY").env_remove("no_proxy").output();
        let output = child.unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}"
        );
        return;
    }
    let client = connect(Options::new().ignore_robots_txt(true)).await;
    for url in [
        "http://metadata.google.internal/computeMetadata/v1/",
        "http://intranet/",
        "http://printer.local./",
    ] {
        let refused = refusal(&client, url).await;
        assert!(refused.contains("of a local network"), "{url}: {refused}");
    }
    let refused = refusal(&client, "http://10.0.0.1/").await;
    assert!(refused.contains("the address 10.0.0.1"), "{refused}");
    // The proxy is asked, and there is none.
    let asked = refusal(&client, "http://name.invalid/").await;
    assert!(asked.contains(PROXY), "{asked}");
}

#[tokio::test]
async fn addresses_inside_are_refused() {
    let client = connect(Options::new().ignore_robots_txt(true)).await;
    for url in [
        "http://127.0.0.1:1/",
        "http://localhost:1/",
        "http://a.localhost.:1/",
        "http://[::1]:1/",
        "http://10.1.2.3/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest",
        "http://[::ffff:127.0.0.1]/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://0.0.0.0/",
        "http://[fd00:ec2::254]/",
    ] {
        let refused = refusal(&client, url).await;
        assert!(refused.contains("the address "), "{url}: {refused}");
    }
    for url in [
        "file:///etc/passwd",
        "ftp://example.com/",
        "http://user:pass@example.com/",
        "not a url",
        "http://a\\b/",
    ] {
        let refused = refusal(&client, url).await;
        assert!(
            refused.starts_with("Failed to fetch") || refused.contains("url"),
            "{url}: {refused}"
        );
    }
    // Metadata services are refused also where private networks are allowed.
    let local = connect(local().ignore_robots_txt(true)).await;
    assert!(
        refusal(&local, "http://169.254.169.254/")
            .await
            .contains("metadata")
    );
}

#[tokio::test]
async fn the_check_is_clean() {
    let site = site(Vec::new()).await;
    let _ = &site;
    let checked = Checker::new(server(Options::new()).unwrap())
        .run()
        .await
        .unwrap();
    checked.assert_clean();
}

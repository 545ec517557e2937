//! Pages, as a client reads them.

use serde_json::{Value, json};
use turnbuckle_apps::{MIME_TYPE, Page, Permission};
use turnbuckle_server::Server;

use crate::host::{Host, REVISIONS, page_capabilities};

const URI: &str = "ui://weather/view.html";
const HTML: &str = "<!doctype html><title>Weather</title>";

fn page_with_permissions() -> Page {
    Page::builder(URI, "weather")
        .connect_domain("https://api.weather.example")
        .resource_domain("https://*.weather.example")
        .permission(Permission::Geolocation)
        .prefers_border(true)
        .html(HTML)
        .unwrap()
}

fn page_meta() -> Value {
    json!({"ui": {
        "csp": {
            "connectDomains": ["https://api.weather.example"],
            "resourceDomains": ["https://*.weather.example"],
        },
        "permissions": {"geolocation": {}},
        "prefersBorder": true,
    }})
}

#[tokio::test]
async fn a_page_is_listed_and_read_with_its_permissions() {
    let server = Server::new("weather", "1")
        .resource(page_with_permissions().resource().title("Weather"))
        .build()
        .unwrap();
    let permissions = page_meta();
    for revision in REVISIONS {
        for capabilities in [json!({}), page_capabilities()] {
            let (mut host, _) = Host::connect(&server, revision, capabilities).await;
            let expected = (revision >= "2025-06-18").then_some(&permissions);

            let listed = host.ask("resources/list", json!({})).await;
            let resource = &listed["resources"][0];
            assert_eq!(resource["uri"], URI);
            assert_eq!(resource["mimeType"], MIME_TYPE);
            assert_eq!(resource.get("_meta"), expected, "{revision}");
            let title = expected.map(|_| json!("Weather"));
            assert_eq!(resource.get("title"), title.as_ref(), "{revision}");

            let read = host.ask("resources/read", json!({"uri": URI})).await;
            assert_eq!(read["contents"].as_array().unwrap().len(), 1);
            let contents = &read["contents"][0];
            assert_eq!(contents["uri"], URI);
            assert_eq!(contents["mimeType"], "text/html;profile=mcp-app");
            assert_eq!(contents["text"], HTML);
            assert_eq!(contents.get("_meta"), expected, "{revision}");
        }
    }
}

#[tokio::test]
async fn a_page_without_permissions_has_no_metadata() {
    let page = Page::builder(URI, "weather").html(HTML).unwrap();
    let server = Server::new("weather", "1").resource(page).build().unwrap();
    for revision in REVISIONS {
        let (mut host, _) = Host::connect(&server, revision, page_capabilities()).await;
        let read = host.ask("resources/read", json!({"uri": URI})).await;
        assert_eq!(read["contents"][0]["text"], HTML);
        assert_eq!(read["contents"][0].get("_meta"), None, "{revision}");
        let listed = host.ask("resources/list", json!({})).await;
        assert_eq!(listed["resources"][0].get("_meta"), None, "{revision}");
    }
}

#[test]
fn every_valid_page_can_be_registered() {
    let longest = format!("ui://{}", "a".repeat(2043));
    for uri in ["ui://a", "ui://a/b?c=[d]#e", &longest] {
        let page = Page::builder(uri, "x").html(HTML).unwrap();
        assert!(Server::new("x", "1").resource(page).build().is_ok());
    }
}

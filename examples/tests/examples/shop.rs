//! Tests of the `shop`: a server in axum, and who sees what.

use serde_json::json;
use turnbuckle::client::EraPreference;
use turnbuckle::http::HttpConnector;

use crate::harness::{Example, ServerProcess, client_builder, data, with_timeout};

async fn start() -> ServerProcess {
    let example = Example::new(env!("CARGO_BIN_EXE_shop"));
    example
        .serve_with(&["127.0.0.1:0"], "serving the shop at ")
        .await
}

/// Returns the status and the text of the page that the holder of a key sees.
async fn page(shop: &ServerProcess, key: &str) -> (u16, String) {
    // Fails if another test was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let page = reqwest::Client::new().get(format!("{}/orders", shop.url));
    let page = page.header("x-api-key", key).send().await.unwrap();
    (page.status().as_u16(), page.text().await.unwrap())
}

fn connector(shop: &ServerProcess, key: &str) -> HttpConnector {
    let connector = HttpConnector::new(&format!("{}/mcp", shop.url)).unwrap();
    connector.header("x-api-key", key).unwrap()
}

#[tokio::test]
async fn customers_see_their_own_orders_in_both_eras_and_on_the_page() {
    with_timeout(async {
        let shop = start().await;
        for (era, key, article) in [
            (EraPreference::Modern, "bakery-key", "flour"),
            (EraPreference::Legacy, "florist-key", "pots"),
        ] {
            let client = client_builder()
                .era(era)
                .connect(connector(&shop, key))
                .await
                .unwrap();
            let order = json!({ "article": article });
            let order = client.call_tool("order", &order).await.unwrap();
            assert_eq!(data(&order)["amount"], 1);
            let list = client.call_tool("list", &()).await.unwrap();
            let articles: Vec<_> = data(&list)
                .as_array()
                .unwrap()
                .iter()
                .map(|order| order["article"].clone())
                .collect();
            assert_eq!(articles, [article]);
            client.close().await;
            let (_, page) = page(&shop, key).await;
            assert!(page.ends_with(&format!(": 1 {article}\n")), "{page}");
        }
    })
    .await;
}

#[tokio::test]
async fn without_a_key_there_is_neither_a_page_nor_a_server() {
    with_timeout(async {
        let shop = start().await;
        let refused = client_builder()
            .connect(connector(&shop, "stolen"))
            .await
            .unwrap_err();
        assert!(
            matches!(refused, turnbuckle::client::Error::Unauthorized { .. }),
            "{refused:?}"
        );
        assert_eq!(page(&shop, "stolen").await.0, 401);
    })
    .await;
}

#[tokio::test]
async fn the_shop_ends_while_a_client_listens() {
    with_timeout(async {
        let mut shop = start().await;
        let legacy = client_builder().era(EraPreference::Legacy);
        let _client = legacy
            .connect(connector(&shop, "bakery-key"))
            .await
            .unwrap();
        assert!(shop.terminate().await.success());
    })
    .await;
}

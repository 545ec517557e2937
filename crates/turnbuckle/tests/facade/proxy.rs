//! A proxy in front of a server over HTTP, where streams tell which request a message is about.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::sync::Barrier;
use turnbuckle::client::{EraPreference, Form, FormAnswer};
use turnbuckle::http::{HttpConnector, HttpServer, HttpServerOptions};
use turnbuckle::servers::{InProcess, Proxy, Servers};
use turnbuckle::types::{LoggingLevel, Map};
use turnbuckle::{Args, Ask, Client, Failure, HandlerContext, Server, Tool};

#[turnbuckle::data]
struct Name {
    name: String,
}

#[turnbuckle::data]
struct Agreement {
    agree: Option<bool>,
}

/// Returns a server whose tool asks and logs once two calls are under way.
fn asking_server() -> Server {
    let both = Arc::new(Barrier::new(2));
    let ask = Tool::builder("ask").handler(
        move |Args(Name { name }): Args<Name>, context: HandlerContext, ask: Ask| {
            let both = both.clone();
            async move {
                let wait = ask.once("wait", async {
                    both.wait().await;
                    Ok(())
                });
                wait.await?;
                context.log(LoggingLevel::Info, None, &name).await;
                let agreement: Agreement = ask.form(name).await?;
                Ok::<_, Failure>(format!("{:?}", agreement.agree))
            }
        },
    );
    let server = Server::new("origin", "1").logging().tool(ask);
    server.build().unwrap()
}

/// Calls the tool as a client of the proxy. Returns the forms and the log messages that the client was
/// shown.
async fn call_as(name: &'static str, era: EraPreference, proxy: &Proxy) -> [Vec<String>; 2] {
    let shown = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
    let (forms, logs) = (shown.clone(), shown.clone());
    let client = Client::builder(name, "1")
        .era(era)
        .log_level(LoggingLevel::Debug)
        .on_log(move |message| logs.lock().unwrap()[1].push(message.data.as_str().to_owned()))
        .on_form(move |form: Form, _| {
            forms.lock().unwrap()[0].push(form.message);
            async { FormAnswer::Accept(Map::new()) }
        });
    let gateway = InProcess::new(proxy.server().clone());
    let client = client.connect(gateway).await.unwrap();
    let call = client.call_tool("one__ask", &json!({ "name": name }));
    assert_eq!(call.await.unwrap().text(), "None");
    shown.lock().unwrap().clone()
}

#[tokio::test]
async fn each_client_gets_the_messages_about_its_own_call() {
    let eras = [EraPreference::Modern, EraPreference::Legacy];
    for (front, behind) in eras.into_iter().flat_map(|era| eras.map(|it| (era, it))) {
        let options = HttpServerOptions::new();
        let http = HttpServer::bind(asking_server(), "127.0.0.1:0", options);
        let http = http.await.unwrap();
        let (url, shutdown) = (http.url(), http.shutdown());
        let serving = tokio::spawn(http.serve());
        let proxy = Servers::builder("host", "1")
            .server("one", HttpConnector::new(&url).unwrap())
            .clients(move |client| client.era(behind))
            .proxy(Server::new("gateway", "1"));
        let proxy = proxy.await.unwrap();
        let ann = call_as("ann", front, &proxy);
        let (ann, bob) = tokio::join!(ann, call_as("bob", front, &proxy));
        let messages = |name: &str| [name.to_owned(), format!("{name:?}")];
        for (name, shown) in [("ann", ann), ("bob", bob)] {
            let [form, log] = messages(name);
            let [forms, mut logs] = shown;
            // A server of the modern era runs again for the answer, and logs again.
            logs.dedup();
            assert_eq!(
                (forms, logs),
                (vec![form], vec![log]),
                "{front:?} {behind:?}"
            );
        }
        drop(proxy);
        shutdown.close();
        serving.await.unwrap().unwrap();
    }
}

//! Questions and logs, with the name of the server that they come from.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use turnbuckle_client::{Form, FormAnswer, Roots};
use turnbuckle_server::{Ask, Log, Result, Server, Tool};
use turnbuckle_types::{FieldValue, LoggingLevel, Map, Root};

use super::support::{ERAS, speak};
use crate::{InProcess, ServerQuestion, Servers};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

fn asking() -> Server {
    let greet = Tool::builder("greet").handler(async |ask: Ask, log: Log| -> Result<String> {
        let Name { name } = ask.form("Who are you?").await?;
        let roots = ask.roots().await?.len();
        log.warning("asked").await;
        Ok(format!("{name} {roots}"))
    });
    let roots = Tool::builder("roots").handler(async |ask: Ask| -> Result<String> {
        let roots = ask.roots().await?;
        Ok(roots.into_iter().map(|root| root.uri).collect())
    });
    Server::new("asking", "1")
        .logging()
        .tool(greet)
        .tool(roots)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_question_and_a_log_message_arrive_with_the_name_of_the_server() {
    for era in ERAS {
        let roots = Roots::new();
        roots.add(Root::new("file:///code").unwrap()).unwrap();
        let logged = Arc::new(Mutex::new(Vec::new()));
        let log = logged.clone();
        let servers = Servers::builder("host", "1")
            .on_form(async |form: Form, question: ServerQuestion| {
                assert_eq!(form.message, "Who are you?");
                assert_eq!(question.server_name(), Some("asking"));
                let mut content = Map::new();
                content.insert("name", FieldValue::String(question.server.to_string()));
                FormAnswer::Accept(content)
            })
            .on_log(LoggingLevel::Info, move |server, message| {
                log.lock().unwrap().push((server.to_owned(), message.level));
            })
            .roots(roots)
            .server("one", InProcess::new(asking()))
            .server("two", InProcess::new(asking()))
            .clients(speak(era))
            .connect()
            .await
            .unwrap();
        for name in ["one", "two"] {
            let result = servers
                .call_tool(&format!("{name}__greet"), &())
                .await
                .unwrap();
            assert_eq!(result.content, [format!("{name} 1").as_str().into()]);
        }
        let logged = logged.lock().unwrap().clone();
        let expected = ["one", "two"].map(|name| (name.to_owned(), LoggingLevel::Warning));
        assert_eq!(logged, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_of_roots_is_asked_each_time_and_its_roots_are_checked() {
    for era in ERAS {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let servers = Servers::builder("host", "1")
            .on_roots(move |question: ServerQuestion| {
                counted.fetch_add(1, Ordering::Relaxed);
                let uri = match &*question.server {
                    "invalid" => "https://example.com/",
                    _ => "file:///code",
                };
                async move { Ok(vec![Root::unchecked(uri)]) }
            })
            .server("one", InProcess::new(asking()))
            .server("invalid", InProcess::new(asking()))
            .clients(speak(era))
            .connect()
            .await
            .unwrap();
        for expected in [1, 2] {
            let result = servers.call_tool("one__roots", &()).await.unwrap();
            assert_eq!(result.text(), "file:///code");
            assert_eq!(asked.load(Ordering::Relaxed), expected, "{era:?}");
        }
        let refused = match servers.call_tool("invalid__roots", &()).await {
            Ok(result) => result.is_error(),
            Err(_) => true,
        };
        assert!(refused, "{era:?}");
    }
}

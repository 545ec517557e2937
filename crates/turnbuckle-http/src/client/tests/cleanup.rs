//! Closed, dropped and abandoned links leave no task, body or inbox behind.

use super::*;

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note"}"#;

/// The way in which a link ends.
#[derive(Clone, Copy)]
enum End {
    Close,
    Drop,
    Abandon,
}

async fn round(older: bool, end: End) {
    let note = format!("id: 1\ndata: {NOTE}\n\n");
    let opened = ScriptedResponse::json(200, answer(0)).header("mcp-session-id", "s1");
    let endpoint = ScriptedResponse::events().text("event: endpoint\ndata: /post\n\n");
    let replies = if older {
        vec![
            endpoint.then(BodyPart::Hang),
            ScriptedResponse::new(202),
            ScriptedResponse::new(202),
        ]
    } else {
        vec![
            opened,
            ScriptedResponse::events().text(&*note).then(BodyPart::Hang),
            ScriptedResponse::events()
                .text(&*note)
                .then(BodyPart::Break),
            ScriptedResponse::events().text(&*note).then(BodyPart::Hang),
            ScriptedResponse::new(200),
        ]
    };
    let server = ScriptedServer::new(replies);
    let connector = server.connector();
    let opened = if older {
        OpenedLink::to(&*connector.fallback().unwrap()).await
    } else {
        OpenedLink::to(&connector).await
    };
    opened.initialize().await.unwrap();
    opened.complete_handshake().await;
    let wait = Duration::from_secs(5);
    let _ = tokio::time::timeout(wait, opened.request(1)).await;
    let OpenedLink { link, inbox } = opened;
    match end {
        End::Close => link.close().await,
        End::Drop => {}
        End::Abandon => drop(link.close()),
    }
    drop(link);
    tokio::time::sleep(wait).await;
    assert_eq!((server.open_bodies(), Arc::strong_count(&inbox)), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn links_leave_nothing_behind() {
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = tasks();
    for number in 0..1000 {
        let end = [End::Close, End::Drop, End::Abandon][number % 3];
        round(number % 2 == 0, end).await;
    }
    assert_eq!(tasks(), before);
}

//! After many links nothing is left of them.

use super::*;

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note"}"#;

/// How a round ends.
#[derive(Clone, Copy)]
enum End {
    Close,
    Drop,
    Abandon,
}

async fn round(older: bool, end: End) {
    let note = format!("id: 1\ndata: {NOTE}\n\n");
    let opened = Reply::json(200, answer(0)).header("mcp-session-id", "s1");
    let endpoint = Reply::events().text("event: endpoint\ndata: /post\n\n");
    let replies = if older {
        vec![endpoint.then(Piece::Hang), Reply::new(202), Reply::new(202)]
    } else {
        vec![
            opened,
            Reply::events().text(&*note).then(Piece::Hang),
            Reply::events().text(&*note).then(Piece::Break),
            Reply::events().text(&*note).then(Piece::Hang),
            Reply::new(200),
        ]
    };
    let script = Script::new(replies);
    let connector = script.connector();
    let joined = if older {
        Joined::to(&*connector.older().unwrap()).await
    } else {
        Joined::to(&connector).await
    };
    joined.initialize().await.unwrap();
    joined.established().await;
    let wait = Duration::from_secs(5);
    let _ = tokio::time::timeout(wait, joined.request(1)).await;
    let Joined { link, inbox } = joined;
    match end {
        End::Close => link.close().await,
        End::Drop => {}
        End::Abandon => drop(link.close()),
    }
    drop(link);
    tokio::time::sleep(wait).await;
    assert_eq!((script.open_bodies(), Arc::strong_count(&inbox)), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_a_thousand_links() {
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

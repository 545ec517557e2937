//! Tests of answers to questions of the server.

use super::*;

#[tokio::test(start_paused = true)]
async fn an_answer_is_sent_again_while_the_failure_may_pass() {
    let lost = || ScriptedResponse::fails(HttpClientError::connection_lost("gone"));
    for (failures, times) in [
        (
            vec![
                ScriptedResponse::new(503),
                lost(),
                ScriptedResponse::new(429),
            ],
            4,
        ),
        (vec![], 1),
    ] {
        let server = ScriptedServer::new(failures.into_iter().chain([ScriptedResponse::new(202)]));
        let opened = OpenedLink::to(&server.connector()).await;
        opened.respond().await.unwrap();
        let received = server.received_requests();
        assert_eq!(received.len(), times);
        assert!(received.iter().all(|it| it.body == received[0].body));
    }
    for status in [400, 404] {
        let server = ScriptedServer::new([ScriptedResponse::new(status)]);
        let opened = OpenedLink::to(&server.connector()).await;
        opened.respond().await.unwrap_err();
        assert_eq!(server.received_requests().len(), 1, "{status}");
    }
    let server = ScriptedServer::new((0..50).map(|_| ScriptedResponse::new(503)));
    let opened = OpenedLink::to(&server.connector()).await;
    let error = opened.respond().await.unwrap_err();
    assert!(
        matches!(error, LinkError::HttpStatus { status: 503, .. }),
        "{error}"
    );
    assert_eq!(server.received_requests().len(), 11);
}

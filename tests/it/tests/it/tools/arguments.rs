//! Arguments of tools/call that are not an object.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{Args, RawArguments, Tool};

use super::{Forecast, builder};
use crate::support::{call, code, message};

#[tokio::test(start_paused = true)]
async fn arguments_that_are_not_an_object_are_invalid_params() {
    let ran = Arc::new(AtomicUsize::new(0));
    let (typed, raw) = (ran.clone(), ran.clone());
    let server = builder()
        .tool(
            Tool::builder("typed").handler(move |Args(forecast): Args<Forecast>| {
                typed.fetch_add(1, Ordering::Relaxed);
                forecast.city
            }),
        )
        .tool(Tool::builder("raw").handler(move |_: RawArguments| {
            raw.fetch_add(1, Ordering::Relaxed);
        }))
        .tool(Tool::builder("none").handler(|| "ran"))
        .build()
        .unwrap();
    let as_text = r#"{"city":"Bern","days":7}"#;
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for arguments in [json!([]), json!("x"), json!(as_text), json!(7), json!(null)] {
            for name in ["typed", "raw", "none"] {
                let answer = call(&mut client, name, arguments.clone()).await;
                assert_eq!(code(&answer), -32602, "{case} {name}: {answer}");
                let says = message(&answer);
                assert!(says.contains("must be an object"), "{case}: {says}");
            }
        }
        assert_eq!(ran.load(Ordering::Relaxed), 0, "{case}");
    }
}

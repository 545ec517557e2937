//! A server with one fault for each check: that check has findings, and no other one has.

mod harness;

use harness::findings;
use turnbuckle_check::script::Sound;

#[tokio::test(start_paused = true)]
async fn a_server_without_a_fault_has_no_findings() {
    let report = findings(Sound::new()).await;
    assert_eq!(report, Vec::<String>::new());
}

//! A server with one fault for each check: that check has findings, and no other one has.
//!
//! The rows stand in one file for each topic. A check without a row is named in [`WITHOUT_ROW`], with
//! the reason.
#![allow(clippy::unwrap_used, reason = "a test's harness fails as a test does")]

mod ask;
mod auth;
mod capabilities;
mod conversation;
mod envelope;
mod frame;
mod harness;
mod http;
mod listen;
mod lists;
mod logging;
mod progress;
mod prompts;
mod resources;
mod robust;
mod rpc;
mod skills;
mod start;
mod streams;
mod task_server;
mod tasks;
mod tool_calls;
mod tools;

use std::collections::BTreeSet;

use harness::{Row, findings};
use turnbuckle_check::script::Sound;
use turnbuckle_check::{Bind, Checker};
use turnbuckle_wire::revision::Revision;

/// Checks that no server in memory can break, and why.
const WITHOUT_ROW: &[(&str, &str)] = &[
    (
        "frame.ends-with-stdin",
        "needs a process: tests/processes.rs",
    ),
    (
        "frame.ends-on-sigterm",
        "needs a process: tests/processes.rs",
    ),
    ("frame.no-child-left", "needs a process: tests/processes.rs"),
];

fn rows() -> Vec<Row> {
    [
        ask::rows(),
        auth::rows(),
        capabilities::rows(),
        conversation::rows(),
        envelope::rows(),
        frame::rows(),
        http::rows(),
        listen::rows(),
        lists::rows(),
        logging::rows(),
        progress::rows(),
        prompts::rows(),
        resources::rows(),
        rpc::rows(),
        robust::rows(),
        skills::rows(),
        start::rows(),
        streams::rows(),
        tasks::rows(),
        tool_calls::rows(),
        tools::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_without_a_fault_has_no_findings() {
    let report = Checker::new(Sound::new().target()).run().await.unwrap();
    assert_eq!(findings(&report), Vec::new());
}

#[tokio::test(start_paused = true)]
async fn a_server_with_a_login_skills_or_tasks_has_no_findings() {
    let rows = [auth::sound(), skills::sound(), tasks::sound()];
    for row in rows.into_iter().flatten() {
        assert_eq!(row.findings().await, Vec::new());
    }
}

/// The first rows of some files, over every transport.
#[tokio::test(start_paused = true)]
async fn a_fault_is_found_over_every_transport() {
    let rows = [capabilities::rows(), lists::rows(), prompts::rows()];
    for row in rows.into_iter().filter_map(|it| it.into_iter().next()) {
        let transports = [Bind::Stream, Bind::Http, Bind::Sse];
        let revisions = [Revision::ALL[0], Revision::NEWEST_LEGACY, Revision::NEWEST];
        let row = row.revisions(revisions).transports(transports);
        let found = row.findings().await;
        for transport in transports {
            let is_it = |place: &str| place.split(' ').nth(1) == Some(transport.as_str());
            let is_found = found.iter().any(|(id, place)| id == row.id && is_it(place));
            assert!(
                is_found,
                "{} over {}: {found:#?}",
                row.id,
                transport.as_str()
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_other_faults_of_a_check_are_found_as_well() {
    let rows = [
        ask::further_rows(),
        http::further_rows(),
        rpc::further_rows(),
        tasks::further_rows(),
    ];
    for row in rows.into_iter().flatten() {
        assert_eq!(row.fault().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_server_prints_is_found_at_any_time() {
    for row in frame::printing_rows() {
        assert_eq!(row.fault().await, None);
    }
}

#[test]
fn every_check_has_a_row() {
    let ids: BTreeSet<_> = Checker::checks().iter().map(|check| check.id).collect();
    let rows: Vec<_> = rows().iter().map(|row| row.id).collect();
    let listed = WITHOUT_ROW.iter().map(|(id, _)| *id);
    let known: BTreeSet<_> = rows.iter().copied().chain(listed).collect();
    let missing: Vec<_> = ids.difference(&known).collect();
    let unknown: Vec<_> = known.difference(&ids).collect();
    assert!(missing.is_empty(), "checks without a row: {missing:?}");
    assert!(unknown.is_empty(), "rows without a check: {unknown:?}");
    assert_eq!(
        rows.len() + WITHOUT_ROW.len(),
        known.len(),
        "a check has two rows"
    );
}

/// Makes one test for each topic, so that they run side by side.
macro_rules! topics {
    ($($topic:ident,)*) => {$(
        mod $topic {
            #[tokio::test(start_paused = true)]
            async fn each_fault_is_found_by_its_check_alone() {
                let mut faults = Vec::new();
                for row in super::super::$topic::rows() {
                    faults.extend(row.fault().await);
                }
                assert!(faults.is_empty(), "{}", faults.join("\n"));
            }
        }
    )*};
}

mod of {
    topics! {
        ask, auth, capabilities, conversation, envelope, frame, http, listen, lists, logging, progress, prompts, resources, rpc,
        robust, skills, start, streams, tasks, tool_calls, tools,
    }
}

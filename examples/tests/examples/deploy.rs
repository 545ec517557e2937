//! The deploy server asks before it acts, and acts once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use turnbuckle::client::FormAnswer;
use turnbuckle::{Client, ClientBuilder};

use crate::harness::{Example, Way, data, plain, text, within};

/// A script that notes what it was run for; the server `broken` fails.
const SCRIPT: &str = "#!/bin/sh
echo \"$@\" >> \"$(dirname \"$0\")/log\"
echo \"$1 of $2 $3\"
test \"$2\" != broken
";

struct Scripted(TempDir);

impl Scripted {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let script = directory.path().join("release.sh");
        fs::write(&script, SCRIPT).unwrap();
        fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        Self(directory)
    }

    fn script(&self) -> PathBuf {
        self.0.path().join("release.sh")
    }

    fn example(&self) -> Example {
        Example::new(env!("CARGO_BIN_EXE_deploy")).arg(self.script())
    }

    /// What was run since the last look.
    fn taken(&self) -> Vec<String> {
        let log = self.0.path().join("log");
        let lines = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(log);
        lines.lines().map(ToOwned::to_owned).collect()
    }
}

/// A user who answers each field so, and declines what is not foreseen.
fn user(answers: &'static [(&'static str, &'static str)]) -> ClientBuilder {
    plain().on_form(move |form, _| async move {
        let fields: Vec<&str> = form.schema.properties.keys().collect();
        let answer = answers.iter().find(|(field, _)| fields == [*field]);
        match answer {
            Some((_, ":cancel")) => FormAnswer::Cancel,
            Some((field, value)) => FormAnswer::accept([(*field, value.to_owned())]),
            None => FormAnswer::Decline,
        }
    })
}

async fn deploy(client: &Client, more: Value) -> Value {
    let mut arguments = json!({"service": "shop", "version": "1.2.0"});
    let more = more.as_object().unwrap().clone();
    arguments.as_object_mut().unwrap().extend(more);
    let result = client.call_tool("deploy", &arguments).await.unwrap();
    match result.is_error {
        Some(true) => json!({"error": text(&result)}),
        _ => data(&result),
    }
}

#[tokio::test]
async fn what_is_asked_decides_and_the_script_runs_once() {
    let scripted = Scripted::new();
    type Case = (
        &'static [(&'static str, &'static str)],
        Value,
        &'static str,
        &'static [&'static str],
    );
    let cases: [Case; 8] = [
        (
            &[("environment", "staging")],
            json!({}),
            "deployed",
            &["deploy shop 1.2.0 staging"],
        ),
        (
            &[
                ("environment", "production"),
                ("service", "shop"),
                ("next", "keep"),
            ],
            json!({}),
            "deployed",
            &["deploy shop 1.2.0 production"],
        ),
        (
            &[("service", "shop"), ("next", "rollback")],
            json!({"environment": "production"}),
            "rolled_back",
            &[
                "deploy shop 1.2.0 production",
                "rollback shop 1.2.0 production",
            ],
        ),
        // Who is silent in the end keeps it.
        (
            &[("service", "shop"), ("next", ":cancel")],
            json!({"environment": "production"}),
            "deployed",
            &["deploy shop 1.2.0 production"],
        ),
        (
            &[("service", "shopp")],
            json!({"environment": "production"}),
            "stopped",
            &[],
        ),
        (&[], json!({"environment": "production"}), "stopped", &[]),
        (&[("environment", ":cancel")], json!({}), "stopped", &[]),
        (
            &[("environment", "production")],
            json!({"dry_run": true}),
            "planned",
            &[],
        ),
    ];
    for way in Way::all().into_iter().filter(|way| way.has_forms()) {
        for (answers, arguments, state, ran) in &cases {
            within(async {
                let (client, _served) = scripted.example().connect(way, user(answers)).await;
                let outcome = deploy(&client, arguments.clone()).await;
                assert_eq!(outcome["state"], *state, "{way:?}: {answers:?}: {outcome}");
                assert_eq!(scripted.taken(), *ran, "{way:?}: {answers:?}");
                client.close().await;
            })
            .await;
        }
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_it_says_so() {
    let scripted = Scripted::new();
    for way in Way::all() {
        within(async {
            let (client, _served) = scripted.example().connect(way, plain()).await;
            let outcome = deploy(&client, json!({})).await;
            let told = outcome["error"].as_str().unwrap();
            assert!(told.contains("`environment`"), "{way:?}: {told}");
            let outcome = deploy(&client, json!({"environment": "production"})).await;
            let told = outcome["error"].as_str().unwrap();
            assert!(told.contains("confirmed by a person"), "{way:?}: {told}");
            assert!(scripted.taken().is_empty());
            let outcome = deploy(&client, json!({"environment": "staging"})).await;
            assert_eq!(outcome["output"], "deploy of shop 1.2.0\n", "{way:?}");
            assert_eq!(scripted.taken(), ["deploy shop 1.2.0 staging"]);
            client.close().await;

            let unattended = scripted.example().arg("--unattended");
            let (client, _served) = unattended.connect(way, plain()).await;
            let outcome = deploy(&client, json!({"environment": "production"})).await;
            assert_eq!(outcome["state"], "deployed", "{way:?}: {outcome}");
            assert_eq!(scripted.taken(), ["deploy shop 1.2.0 production"]);
            client.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_script_that_fails_and_words_that_are_none_are_told() {
    let scripted = Scripted::new();
    within(async {
        let (client, _served) = scripted.example().connect(Way::some()[1], plain()).await;
        let broken = json!({"service": "broken", "environment": "staging"});
        let outcome = deploy(&client, broken).await;
        let told = outcome["error"].as_str().unwrap();
        assert!(
            told.contains("the script failed") && told.contains("deploy of broken"),
            "{told}"
        );
        scripted.taken();
        for wrong in [
            json!({"service": "--help"}),
            json!({"version": "1;rm"}),
            json!({"environment": "moon"}),
        ] {
            let mut arguments = json!({"environment": "staging"});
            arguments
                .as_object_mut()
                .unwrap()
                .extend(wrong.as_object().unwrap().clone());
            let mut all = json!({"service": "shop", "version": "1"});
            all.as_object_mut()
                .unwrap()
                .extend(arguments.as_object().unwrap().clone());
            let refused = match client.call_tool("deploy", &all).await {
                Ok(result) => result.is_error == Some(true),
                Err(_) => true,
            };
            assert!(refused, "{all}");
        }
        assert!(scripted.taken().is_empty());
        client.close().await;
    })
    .await;
}

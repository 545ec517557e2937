//! Tests of the `deploy` server: questions to the user, and a script that runs once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use turnbuckle::client::FormAnswer;
use turnbuckle::{Client, ClientBuilder};

use crate::harness::{Example, Transport, client_builder, data, text, with_timeout};

/// A script that logs its arguments. It fails for the service `broken`.
const SCRIPT: &str = "#!/bin/sh
echo \"$@\" >> \"$(dirname \"$0\")/log\"
echo \"$1 of $2 $3\"
test \"$2\" != broken
";

/// A temporary directory with the script.
struct ScriptDirectory(TempDir);

impl ScriptDirectory {
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

    /// Removes the log and returns the runs in it.
    fn take_log(&self) -> Vec<String> {
        let log = self.0.path().join("log");
        let lines = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(log);
        lines.lines().map(ToOwned::to_owned).collect()
    }
}

/// Returns a client whose user gives these answers by field, and declines other forms.
fn user(answers: &'static [(&'static str, &'static str)]) -> ClientBuilder {
    client_builder().on_form(move |form, _| async move {
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
async fn answers_decide_and_the_script_runs_once() {
    let directory = ScriptDirectory::new();
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
        // Without an answer the new version is kept.
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
    for transport in Transport::all()
        .into_iter()
        .filter(|transport| transport.has_forms())
    {
        for (answers, arguments, state, ran) in &cases {
            with_timeout(async {
                let (client, _process) =
                    directory.example().connect(transport, user(answers)).await;
                let outcome = deploy(&client, arguments.clone()).await;
                assert_eq!(
                    outcome["state"], *state,
                    "{transport:?}: {answers:?}: {outcome}"
                );
                assert_eq!(directory.take_log(), *ran, "{transport:?}: {answers:?}");
                client.close().await;
            })
            .await;
        }
    }
}

#[tokio::test]
async fn a_client_without_forms_gets_an_error() {
    let directory = ScriptDirectory::new();
    for transport in Transport::all() {
        with_timeout(async {
            let (client, _process) = directory
                .example()
                .connect(transport, client_builder())
                .await;
            let outcome = deploy(&client, json!({})).await;
            let output = outcome["error"].as_str().unwrap();
            assert!(output.contains("`environment`"), "{transport:?}: {output}");
            let outcome = deploy(&client, json!({"environment": "production"})).await;
            let output = outcome["error"].as_str().unwrap();
            assert!(
                output.contains("confirmed by a person"),
                "{transport:?}: {output}"
            );
            assert!(directory.take_log().is_empty());
            let outcome = deploy(&client, json!({"environment": "staging"})).await;
            assert_eq!(outcome["output"], "deploy of shop 1.2.0\n", "{transport:?}");
            assert_eq!(directory.take_log(), ["deploy shop 1.2.0 staging"]);
            client.close().await;

            let unattended = directory.example().arg("--unattended");
            let (client, _process) = unattended.connect(transport, client_builder()).await;
            let outcome = deploy(&client, json!({"environment": "production"})).await;
            assert_eq!(outcome["state"], "deployed", "{transport:?}: {outcome}");
            assert_eq!(directory.take_log(), ["deploy shop 1.2.0 production"]);
            client.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn failing_scripts_and_invalid_arguments_are_errors() {
    let directory = ScriptDirectory::new();
    with_timeout(async {
        let (client, _process) = directory
            .example()
            .connect(Transport::newest()[1], client_builder())
            .await;
        let broken = json!({"service": "broken", "environment": "staging"});
        let outcome = deploy(&client, broken).await;
        let output = outcome["error"].as_str().unwrap();
        assert!(
            output.contains("the script failed") && output.contains("deploy of broken"),
            "{output}"
        );
        directory.take_log();
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
                Ok(result) => result.is_error(),
                Err(_) => true,
            };
            assert!(refused, "{all}");
        }
        assert!(directory.take_log().is_empty());
        client.close().await;
    })
    .await;
}

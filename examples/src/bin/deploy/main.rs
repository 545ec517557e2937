//! A deploy server: runs a deployment script. It shows how a handler asks the user with forms, here
//! for the environment and for a confirmation, and performs its effect only once.
//!
//! Run it with `cargo run -p turnbuckle-examples --bin deploy -- SCRIPT`.
//!
//! ```text
//! deploy ./release.sh                          serves the client that started it, on stdio
//! deploy ./release.sh --unattended             asks for no confirmation if the client has no forms
//! deploy ./release.sh --http 127.0.0.1:8080    serves http://127.0.0.1:8080/mcp
//! ```
//!
//! The script is run as `release.sh deploy SERVICE VERSION ENVIRONMENT`. A deployment is undone with
//! `release.sh rollback SERVICE VERSION ENVIRONMENT`.
//!
//! A handler that asks may run several times, once for each round of answers. Effects therefore
//! belong in `ask.once`. A client may still repeat the whole call, so the script should be
//! idempotent: a second run with the same arguments must do no harm.

mod script;

use std::path::PathBuf;

use clap::Parser;
use tokio::sync::Mutex;
use turnbuckle::prelude::*;
use turnbuckle::{AskError, RunArgs};

use script::Script;

/// Deploys services with a script, after asking the user.
#[derive(Parser)]
struct Options {
    /// The script to run.
    script: PathBuf,
    /// Deploys to production without a confirmation if the client cannot ask its user.
    #[arg(long)]
    unattended: bool,
    #[command(flatten)]
    run: RunArgs,
}

#[tokio::main]
async fn main() -> turnbuckle::Result {
    let options = Options::parse();
    let server = Server::new("deploy", env!("CARGO_PKG_VERSION")).group(DeployServer {
        script: Script::find(&options.script)?,
        unattended: options.unattended,
        run_lock: Mutex::default(),
    });
    server.run_with(options.run).await
}

/// The deployment server.
struct DeployServer {
    script: Script,
    unattended: bool,
    /// Held while the script runs, so that deployments run one at a time.
    run_lock: Mutex<()>,
}

/// The environment in which a service runs.
#[data(rename_all = "lowercase")]
#[derive(Clone, Copy)]
enum Environment {
    /// The test environment
    Staging,
    /// The live environment
    Production,
}

/// The form for a missing environment.
#[data]
struct EnvironmentForm {
    /// The environment to deploy to
    environment: Environment,
}

/// The confirmation before a deployment to production.
#[data]
struct Confirmation {
    /// The name of the service, as a confirmation
    service: String,
}

/// The question after a deployment to production.
#[data]
struct RollbackForm {
    /// The next step
    next: NextStep,
}

#[data(rename_all = "lowercase")]
enum NextStep {
    /// Keep the new version
    Keep,
    /// Roll back
    Rollback,
}

/// The result of a deployment.
#[data]
struct Outcome {
    state: State,
    /// The result in a sentence.
    summary: String,
    /// The last part of the script's output.
    output: String,
}

#[data(rename_all = "snake_case")]
enum State {
    /// A dry run; nothing was deployed.
    Planned,
    /// The version was deployed.
    Deployed,
    /// The version was deployed and rolled back.
    RolledBack,
    /// The user did not agree; nothing was deployed.
    Stopped,
}

#[server]
impl DeployServer {
    /// Deploy a version of a service. The user chooses the environment if it is missing, and
    /// confirms a deployment to production.
    #[tool(destructive)]
    async fn deploy(
        &self,
        #[schema(pattern = "^[a-z][a-z0-9-]{0,40}$")] service: String,
        #[schema(pattern = "^[0-9a-z][0-9a-z.-]{0,40}$")] version: String,
        /** the environment to deploy to; if it is missing, the user is asked */
        environment: Option<Environment>,
        /** only report what would be done */
        #[schema(default)]
        dry_run: bool,
        ask: Ask,
    ) -> Result<Outcome> {
        let release = format!("{service} {version}");
        let environment = match environment {
            Some(environment) => environment,
            None => match optional_answer(ask.form::<EnvironmentForm>(format!("Deploy {release}")))
                .await
            {
                Ok(Some(choice)) => choice.environment,
                Ok(None) => return Ok(Outcome::stopped("no environment was chosen")),
                Err(AskError::Unsupported(_)) => {
                    return Err(
                        "the argument `environment` is missing, and this client cannot ask \
                        its user for it"
                            .into(),
                    );
                }
                Err(error) => return Err(error.into()),
            },
        };
        let release = format!("{release} to {}", environment.name());
        if dry_run {
            return Ok(Outcome::new(
                State::Planned,
                format!("would deploy {release}"),
            ));
        }
        let is_production = matches!(environment, Environment::Production);
        if is_production && !self.is_confirmed(&ask, &service, &release).await? {
            return Ok(Outcome::stopped("production was not confirmed"));
        }

        let arguments = [&service, &version, environment.name()];
        let output = ask.once("deploy", self.run("deploy", arguments)).await?;
        let outcome = Outcome::new(State::Deployed, format!("deployed {release}")).output(output);
        if !is_production {
            return Ok(outcome);
        }
        // Without an answer the new version is kept.
        match optional_answer(ask.form::<RollbackForm>(format!("{release} is deployed"))).await {
            Ok(Some(RollbackForm {
                next: NextStep::Rollback,
            })) => {
                let output = ask
                    .once("rollback", self.run("rollback", arguments))
                    .await?;
                let summary = format!("rolled back {release}");
                Ok(Outcome::new(State::RolledBack, summary).output(output))
            }
            Ok(_) | Err(AskError::Unsupported(_)) => Ok(outcome),
            Err(error) => Err(error.into()),
        }
    }
}

impl DeployServer {
    /// Returns whether the user confirmed by typing the name of the service.
    async fn is_confirmed(&self, ask: &Ask, service: &str, release: &str) -> Result<bool> {
        let message = format!("Deploy {release}? Type the name of the service to confirm.");
        match optional_answer(ask.form::<Confirmation>(message)).await {
            Ok(typed) => Ok(typed.is_some_and(|typed| typed.service.trim() == service)),
            Err(AskError::Unsupported(_)) if self.unattended => Ok(true),
            Err(AskError::Unsupported(_)) => {
                Err("production has to be confirmed by a person, and \
                this client cannot ask its user; the option --unattended allows that"
                    .into())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn run(&self, action: &str, arguments: [&str; 3]) -> Result<String> {
        let _guard = self.run_lock.lock().await;
        self.script.run(action, arguments).await
    }
}

/// Returns the answer, or `None` if the user declined or closed the question.
async fn optional_answer<T>(
    asked: impl Future<Output = Result<T, AskError>>,
) -> Result<Option<T>, AskError> {
    match asked.await {
        Ok(answer) => Ok(Some(answer)),
        Err(AskError::Declined | AskError::Cancelled) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Environment {
    fn name(self) -> &'static str {
        match self {
            Self::Staging => "staging",
            Self::Production => "production",
        }
    }
}

impl Outcome {
    fn new(state: State, summary: String) -> Self {
        Self {
            state,
            summary,
            output: String::new(),
        }
    }

    fn stopped(why: &str) -> Self {
        Self::new(State::Stopped, format!("nothing was deployed: {why}"))
    }

    fn output(self, output: String) -> Self {
        Self { output, ..self }
    }
}

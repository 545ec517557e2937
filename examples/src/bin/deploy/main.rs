//! A deploy server: asks where to, has production confirmed by hand, and runs a script once.
//!
//! ```text
//! deploy ./release.sh                          serves the client that started it
//! deploy ./release.sh --unattended             production without a person to confirm it
//! deploy ./release.sh --http 127.0.0.1:8080
//! ```
//!
//! The script is run as `release.sh deploy SERVICE VERSION ENVIRONMENT`, and to take that back as
//! `release.sh rollback SERVICE VERSION ENVIRONMENT`.
//!
//! A handler that asks may run several times, once for each round of answers: what acts stands in
//! `ask.once`. That does not make it happen only once in all cases (a client may start the call anew,
//! or never come back), so the script should bear being run again with the same words.

mod script;

use std::path::PathBuf;

use clap::Parser;
use tokio::sync::Mutex;
use turnbuckle::AskError;
use turnbuckle::prelude::*;

use script::Script;

/// Deploys services by a script, and asks before it does.
#[derive(Parser)]
struct Options {
    /// The deployment server.
    script: PathBuf,
    /// Deploys to production for clients that cannot ask their user, too.
    #[arg(long)]
    unattended: bool,
    /// Serves HTTP at this address instead of standard input and output.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
}

#[tokio::main]
async fn main() -> Result {
    let options = Options::parse();
    let server = Server::new("deploy", env!("CARGO_PKG_VERSION")).group(Deploys {
        script: Script::find(&options.script)?,
        unattended: options.unattended,
        turn: Mutex::default(),
    });
    match options.http {
        Some(address) => server.serve_http(&address).await,
        None => server.serve_stdio().await,
    }
}

struct Deploys {
    script: Script,
    unattended: bool,
    /// Held while the script runs, so that deployments run one at a time.
    turn: Mutex<()>,
}

/// Where services run.
#[data(rename_all = "lowercase")]
#[derive(Clone, Copy)]
enum Environment {
    /// The playground
    Staging,
    /// What customers see
    Production,
}

/// The form for a missing environment.
#[data]
struct Where {
    /// Where to?
    environment: Environment,
}

/// The confirmation before a deployment to production.
#[data]
struct Confirmation {
    /// The name of the service, to confirm
    service: String,
}

/// The question after a deployment to production.
#[data]
struct Verdict {
    /// What now?
    next: Next,
}

#[data(rename_all = "lowercase")]
enum Next {
    /// Keep it
    Keep,
    /// Take it back
    Rollback,
}

/// What became of it.
#[data]
struct Outcome {
    state: State,
    /// What happened, or would, in a sentence.
    summary: String,
    /// The end of what the script printed.
    output: String,
}

#[data(rename_all = "snake_case")]
enum State {
    /// Nothing was done: it was a dry run.
    Planned,
    /// It is out.
    Deployed,
    /// It was out, and is no more.
    RolledBack,
    /// Nothing was done: the user did not want it.
    Stopped,
}

#[server]
impl Deploys {
    /// Deploy a version of a service. The user is asked where to, if that is not said, and has to
    /// confirm what goes to production.
    #[tool(destructive)]
    async fn deploy(
        &self,
        #[schema(pattern = "^[a-z][a-z0-9-]{0,40}$")] service: String,
        #[schema(pattern = "^[0-9a-z][0-9a-z.-]{0,40}$")] version: String,
        /** where to; without it, the user is asked */
        environment: Option<Environment>,
        /** only says what would be done */
        #[schema(default)]
        dry_run: bool,
        ask: Ask,
    ) -> Result<Outcome> {
        let what = format!("{service} {version}");
        let environment = match environment {
            Some(environment) => environment,
            None => match choice(ask.form::<Where>(format!("Deploy {what}"))).await {
                Ok(Some(choice)) => choice.environment,
                Ok(None) => return Ok(Outcome::stopped("no environment was chosen")),
                Err(AskError::Unsupported(_)) => {
                    return Err("nobody can be asked where to: say `environment`".into());
                }
                Err(error) => return Err(error.into()),
            },
        };
        let what = format!("{what} to {}", environment.name());
        if dry_run {
            return Ok(Outcome::new(State::Planned, format!("would deploy {what}")));
        }
        let is_production = matches!(environment, Environment::Production);
        if is_production && !self.confirmed(&ask, &service, &what).await? {
            return Ok(Outcome::stopped("production was not confirmed"));
        }

        let words = [&service, &version, environment.name()];
        let output = ask.once("deploy", self.run("deploy", words)).await?;
        let outcome = Outcome::new(State::Deployed, format!("deployed {what}")).output(output);
        if !is_production {
            return Ok(outcome);
        }
        // Whoever does not answer keeps it.
        match choice(ask.form::<Verdict>(format!("{what} is out"))).await {
            Ok(Some(Verdict {
                next: Next::Rollback,
            })) => {
                let output = ask.once("rollback", self.run("rollback", words)).await?;
                let summary = format!("took back {what}");
                Ok(Outcome::new(State::RolledBack, summary).output(output))
            }
            Ok(_) | Err(AskError::Unsupported(_)) => Ok(outcome),
            Err(error) => Err(error.into()),
        }
    }
}

impl Deploys {
    /// Returns whether the user confirmed by typing the name of the service.
    async fn confirmed(&self, ask: &Ask, service: &str, what: &str) -> Result<bool> {
        let message = format!("Deploy {what}? Type the name of the service to confirm.");
        match choice(ask.form::<Confirmation>(message)).await {
            Ok(typed) => Ok(typed.is_some_and(|typed| typed.service.trim() == service)),
            Err(AskError::Unsupported(_)) if self.unattended => Ok(true),
            Err(AskError::Unsupported(_)) => {
                Err("production has to be confirmed by a person, and \
                this client cannot ask one (--unattended)"
                    .into())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn run(&self, verb: &str, words: [&str; 3]) -> Result<String> {
        let _turn = self.turn.lock().await;
        self.script.run(verb, words).await
    }
}

/// Returns the answer, or `None` if the user declined or closed the question.
async fn choice<T>(
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

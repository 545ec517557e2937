//! Tools that ask their client.

use std::sync::atomic::{AtomicU32, Ordering};

use turnbuckle::AskError;
use turnbuckle::prelude::*;

pub(super) fn group() -> Group {
    Group::new()
        .state(Till::default())
        .tools(tools![
            form,
            forms,
            charge,
            self::url,
            sample,
            roots,
            must_ask,
            waits,
            cannot_wait
        ])
        .prompts(prompts![letter])
        .resources(resources![secret])
}

#[data]
struct Word {
    /// Any word.
    word: String,
}

fn outcome(asked: Result<String, AskError>) -> String {
    match asked {
        Ok(answer) => answer,
        Err(AskError::Declined) => "declined".to_owned(),
        Err(AskError::Cancelled) => "cancelled".to_owned(),
        Err(AskError::Unsupported(_)) => "unsupported".to_owned(),
        Err(other) => format!("failed: {other}"),
    }
}

async fn word(ask: &Ask, message: &str) -> String {
    let asked = ask.form::<Word>(message).await;
    outcome(asked.map(|filled| filled.word))
}

#[tool]
async fn form(message: String, ask: Ask) -> String {
    word(&ask, &message).await
}

/// Asks two questions at once, and then another.
#[tool]
async fn forms(ask: Ask) -> String {
    let (one, two) = tokio::join!(word(&ask, "one"), word(&ask, "two"));
    let three = word(&ask, "three").await;
    format!("{one} {two} {three}")
}

/// The receipts of each tool that takes money: their features may share a server.
#[derive(Default)]
struct Till {
    by_charge: AtomicU32,
    by_waits: AtomicU32,
}

/// Takes money, once, between questions.
#[tool]
async fn charge(ask: Ask, State { arc: till }: State<Till>) -> Result<String> {
    let before = word(&ask, "really").await;
    let pay = async { Ok(till.by_charge.fetch_add(1, Ordering::Relaxed) + 1) };
    let receipt: u32 = ask.once("pay", pay).await?;
    let after = word(&ask, "printed").await;
    let taken = till.by_charge.load(Ordering::Relaxed);
    Ok(format!("{before} {after}: receipt {receipt} of {taken}"))
}

#[tool]
async fn url(page: String, ask: Ask) -> String {
    let asked = ask.url("Please sign in", page).await;
    outcome(asked.map(|()| "visited".to_owned()))
}

#[tool]
async fn sample(question: String, ask: Ask) -> Result<String> {
    Ok(ask.sample(question).await?.text().into_owned())
}

#[tool]
async fn roots(ask: Ask) -> Result<String> {
    let opened = ask.roots().await?;
    let uris: Vec<&str> = opened.iter().map(|root| root.uri.as_str()).collect();
    Ok(uris.join(" "))
}

/// Asks, keeps a value and reports progress on its own thread.
#[tool(blocking)]
fn waits(ask: Ask, till: State<Till>, progress: Progress) -> Result<String> {
    progress.blocking_report(1u64);
    let word = |message: &str| match ask.form::<Word>(message).blocking_wait() {
        Ok(filled) => Ok(filled.word),
        Err(AskError::Unsupported(_)) => Ok("unsupported".to_owned()),
        Err(other) => Err(other),
    };
    let before = word("really")?;
    let receipt: u32 = ask.blocking_once("pay", || {
        Ok(till.by_waits.fetch_add(1, Ordering::Relaxed) + 1)
    })?;
    let after = word("printed")?;
    let taken = till.by_waits.load(Ordering::Relaxed);
    Ok(format!("{before} {after}: {}", taken == receipt))
}

/// Waits on a thread that runs other tasks.
#[tool]
fn cannot_wait(ask: Ask) -> Result<String> {
    Ok(ask.form::<Word>("really").blocking_wait()?.word)
}

/// Has no other way than to ask.
#[tool]
async fn must_ask(ask: Ask) -> Result<String> {
    Ok(ask.sample("What is the capital?").await?.model)
}

#[prompt]
async fn letter(ask: Ask) -> String {
    format!("Write to {}", word(&ask, "ada").await)
}

#[resource("secrets://one")]
async fn secret(ask: Ask) -> String {
    format!("The word is {}", word(&ask, "sesame").await)
}

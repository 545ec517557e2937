//! The `skill verify` command: reads all files of skills, and reports those that are not what the entries describe.

use serde::Serialize;
use turnbuckle::client::Error;
use turnbuckle::skills::Skill;
use turnbuckle::skills::client::{SkillError, SkillReader};

use super::reader::skill_reader;
use crate::args::Format;
use crate::commands::TargetArgs;
use crate::connection::with_server;
use crate::error::{CliError, ExitStatus, replace_settings};
use crate::output::{Console, Style, format_bytes, sanitize_line};

/// The outcome for one skill.
#[derive(Serialize)]
struct SkillReport {
    /// The URI, unless an invalid entry has none.
    uri: Option<String>,
    outcome: Outcome,
    /// The files that were verified.
    files: usize,
    /// The bytes of these files.
    bytes: u64,
    failures: Vec<Failure>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    /// Every file is what the entry describes.
    Verified,
    /// A file is not what the entry describes, or the entry is invalid.
    Failed,
    /// The server gives no digests.
    Dynamic,
    /// The entry exceeds a limit, and nothing was read.
    TooLarge,
}

/// A file that could not be verified.
#[derive(Serialize)]
struct Failure {
    uri: String,
    reason: String,
}

/// The report for JSON output.
#[derive(Serialize)]
struct ReportJson<'a> {
    skills: &'a [SkillReport],
}

pub(super) async fn run(mut args: TargetArgs) -> Result<(), CliError> {
    let (server, mut words) = args.server()?;
    let only = words.next();
    words.expect_end()?;
    with_server(&args.common, server, async |connection| {
        let console = &connection.console;
        let reader = skill_reader(connection, &args.common);
        let (skills, mut reports) = find_skills(&reader, only.as_deref()).await?;
        for report in &reports {
            print(console, report)?;
        }
        for skill in &skills {
            let report = verify(&reader, skill).await?;
            print(console, &report)?;
            reports.push(report);
        }
        if console.args.output == Format::Json {
            let skills = &reports;
            console.print_json(&serde_json::to_string(&ReportJson { skills })?)?;
        }
        summarize(console, &reports)
    })
    .await
}

/// Returns the entries to verify, and reports of entries that are invalid.
async fn find_skills(
    reader: &SkillReader,
    only: Option<&str>,
) -> Result<(Vec<Skill>, Vec<SkillReport>), CliError> {
    let invalid = |uri: Option<String>, reason: String| SkillReport {
        outcome: Outcome::Failed,
        files: 0,
        bytes: 0,
        failures: vec![Failure {
            uri: uri.clone().unwrap_or_default(),
            reason,
        }],
        uri,
    };
    let Some(uri) = only else {
        let listing = reader.list().fetch_all().await?;
        let rejected = listing.rejected.into_iter();
        let reports = rejected.map(|entry| invalid(entry.uri, entry.reason.to_string()));
        return Ok((listing.skills, reports.collect()));
    };
    match reader.get(uri).await {
        Ok(skill) => Ok((vec![skill], Vec::new())),
        Err(SkillError::InvalidEntry { uri, reason }) => {
            Ok((Vec::new(), vec![invalid(Some(uri), reason)]))
        }
        Err(error) => Err(error.into()),
    }
}

/// Reads and verifies all files of a skill.
///
/// # Errors
/// Fails if the server cannot be asked.
async fn verify(reader: &SkillReader, entry: &Skill) -> Result<SkillReport, CliError> {
    let mut report = SkillReport {
        uri: Some(entry.uri().to_string()),
        outcome: Outcome::Verified,
        files: 0,
        bytes: 0,
        failures: Vec::new(),
    };
    let Some(files) = entry.files() else {
        report.outcome = Outcome::Dynamic;
        return Ok(report);
    };
    let skill = match reader.load(entry).await {
        Ok(skill) => skill,
        Err(error) => {
            if matches!(
                error,
                SkillError::TooManyFiles { .. } | SkillError::TooManyBytes { .. }
            ) {
                report.outcome = Outcome::TooLarge;
            } else {
                report.outcome = Outcome::Failed;
            }
            report.failures.push(failure(entry.uri().as_str(), error)?);
            return Ok(report);
        }
    };
    for file in files {
        // It was read when the skill was loaded.
        let is_loaded = file.uri == entry.uri().as_str();
        let read = match is_loaded {
            true => Ok(skill.file().clone()),
            false => skill.read(&file.uri).await,
        };
        match read {
            Ok(file) => {
                report.files += 1;
                report.bytes += file.bytes().len() as u64;
            }
            Err(error) => {
                report.outcome = Outcome::Failed;
                report.failures.push(failure(&file.uri, error)?);
            }
        }
    }
    Ok(report)
}

/// Returns why a file could not be verified.
///
/// # Errors
/// Returns errors of the connection: they say nothing about the file.
fn failure(uri: &str, error: SkillError) -> Result<Failure, CliError> {
    let is_answer = match error.request_error() {
        Some(error) => matches!(error, Error::ErrorResponse(_) | Error::InvalidResult { .. }),
        None => true,
    };
    match is_answer {
        true => Ok(Failure {
            uri: uri.to_owned(),
            reason: replace_settings(&error.to_string()),
        }),
        false => Err(error.into()),
    }
}

/// Prints the report of a skill, unless the format prints all of them at once.
fn print(console: &Console, report: &SkillReport) -> Result<(), CliError> {
    match console.args.output {
        Format::Json => return Ok(()),
        Format::Ndjson => return console.print_json(&serde_json::to_string(report)?),
        Format::Text => {}
    }
    let (style, word) = match report.outcome {
        Outcome::Verified => (Style::Good, "verified"),
        Outcome::Failed => (Style::Error, "FAILED"),
        Outcome::Dynamic => (Style::Warning, "dynamic"),
        Outcome::TooLarge => (Style::Warning, "too large"),
    };
    let uri = report.uri.as_deref().unwrap_or("an entry without a URI");
    let detail = match report.outcome {
        Outcome::Dynamic => "nothing can be verified".to_owned(),
        _ => format!("{} files, {}", report.files, format_bytes(report.bytes)),
    };
    let mut text = format!(
        "{}  {}  {}",
        console.style(style, word),
        sanitize_line(uri, 500),
        console.style(Style::Dim, &detail)
    );
    for failure in &report.failures {
        text += &format!("\n    {}", sanitize_line(&failure.reason, 1000));
    }
    console.print(&text)
}

/// Ends the command: with an error if a skill failed or was not read.
fn summarize(console: &Console, reports: &[SkillReport]) -> Result<(), CliError> {
    let count = |outcome| {
        reports
            .iter()
            .filter(|report| report.outcome == outcome)
            .count()
    };
    let (failed, large) = (count(Outcome::Failed), count(Outcome::TooLarge));
    let all = reports.len();
    if failed > 0 {
        let text = format!("{failed} of {all} skills failed verification");
        return Err(CliError::new(text).status(ExitStatus::ProtocolViolation));
    }
    if large > 0 {
        let text = format!("{large} of {all} skills are too large and were not read");
        return Err(CliError::new(text).status(ExitStatus::Incomplete));
    }
    if all == 0 {
        console.print_note("none; a server may serve skills that it does not list");
    }
    Ok(())
}

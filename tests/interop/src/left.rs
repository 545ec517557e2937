//! Search for processes that the run started and that are still running.

use std::fs;
use std::time::Duration;

/// The variable that marks every process that is started, and whatever those start.
pub(crate) const MARK: &str = "TURNBUCKLE_INTEROP";

/// Time within which a process has to be gone.
const PATIENCE: Duration = Duration::from_secs(3);
/// Interval between two looks at the processes.
const EVERY: Duration = Duration::from_millis(50);

/// Returns the ids of the processes marked with `mark` that still run after a while. Empty on
/// systems without `/proc`.
pub(crate) async fn running_processes(mark: &str) -> Vec<u32> {
    let end = tokio::time::Instant::now() + PATIENCE;
    loop {
        let marked = processes_with_mark(mark);
        if marked.is_empty() || tokio::time::Instant::now() >= end {
            return marked;
        }
        tokio::time::sleep(EVERY).await;
    }
}

fn processes_with_mark(mark: &str) -> Vec<u32> {
    let wanted = format!("{MARK}={mark}");
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| {
        let variables = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        variables
            .split(|byte| *byte == 0)
            .any(|variable| variable == wanted.as_bytes())
    })
    .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_that_still_runs_is_found_and_one_that_ended_is_not() {
        let mark = format!("test-{}", std::process::id());
        let mut sleeper = tokio::process::Command::new("sleep");
        let mut sleeper = sleeper
            .arg("60")
            .env(MARK, &mark)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        // A process has its variables a moment after it is there.
        while processes_with_mark(&mark).is_empty() {
            tokio::time::sleep(EVERY).await;
        }
        assert_eq!(processes_with_mark(&mark), [sleeper.id().unwrap()]);
        sleeper.kill().await.unwrap();
        assert_eq!(running_processes(&mark).await, [0; 0]);
    }
}

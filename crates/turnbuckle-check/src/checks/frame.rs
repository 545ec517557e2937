//! Lines on standard input and output, and the life of the process behind them.
//!
//! Specification: basic/transports, "stdio".

use crate::case::Bind;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

pub(super) const CHECKS: &[Check] = &[Check::new(
    "frame.ends-with-stdin",
    Level::Should,
    "the process ends when its input ends",
    |cx| Box::pin(ends_with_stdin(cx)),
)
.only_over(&[Bind::Stream])
.needs(&[Need::Process])
.requires(&["7d145cdf0ad1", "0426242f3192", "4d070c6160b5"])
.fix("end the process when standard input reaches its end")];

async fn ends_with_stdin(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let limit = cx.timeout();
    let mut lines = cx.lines().await?;
    lines.drain(limit).await?;
    let Some(process) = lines.process() else {
        return Ok(());
    };
    if process.wait(limit).await.is_none() {
        cx.fault(format!(
            "the process is alive {limit:?} after the end of its input"
        ));
    }
    Ok(())
}

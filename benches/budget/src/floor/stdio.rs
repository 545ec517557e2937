//! The stdio floor: a loop over lines.

use std::io::{BufRead, Write};

use crate::Served;
use crate::echo;

/// Answers line by line until stdin ends.
pub(crate) fn serve() -> Served {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let mut line = Vec::new();
    let mut answer = Vec::new();
    while input.read_until(b'\n', &mut line)? != 0 {
        echo::answer(&line, &mut answer)?;
        answer.push(b'\n');
        output.write_all(&answer)?;
        output.flush()?;
        line.clear();
        answer.clear();
    }
    Ok(())
}

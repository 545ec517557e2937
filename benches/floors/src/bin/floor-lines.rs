//! The stdio floor: a loop over lines, which writes each answer by itself. `floor-lines batched`
//! writes the answers of what came together in one.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let batched = std::env::args().any(|argument| argument == "batched");
    let mut input = BufReader::with_capacity(64 << 10, std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let mut line = Vec::new();
    let mut answers = Vec::new();
    while input.read_until(b'\n', &mut line)? != 0 {
        turnbuckle_floors::answer(&line, &mut answers)?;
        answers.push(b'\n');
        line.clear();
        if !batched || input.buffer().is_empty() {
            output.write_all(&answers)?;
            output.flush()?;
            answers.clear();
        }
    }
    Ok(())
}

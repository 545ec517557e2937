//! Less than a floor: answers without reading what was asked. Against it the driver is as fast as it
//! can be. `responder http` or `responder lines`.

use std::error::Error;
use std::io::{self, Read, Write};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LINE: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}}\n";

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("http") => http().await?,
        Some("lines") => lines()?,
        _ => return Err("http or lines".into()),
    }
    Ok(())
}

async fn http() -> io::Result<()> {
    let listener = turnbuckle_floors::listen().await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(fixed_answer(stream));
    }
}

/// Sends one answer to each piece that arrives: the driver sends a request in one, and waits.
async fn fixed_answer(mut stream: TcpStream) -> io::Result<()> {
    let mut answer = format!("{HEAD}{}\r\n\r\n", LINE.len()).into_bytes();
    answer.extend_from_slice(LINE);
    let mut request = [0; 4096];
    while stream.read(&mut request).await? != 0 {
        stream.write_all(&answer).await?;
    }
    Ok(())
}

fn lines() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = match input.read(&mut piece)? {
            0 => return Ok(()),
            read => read,
        };
        let ends = memchr::memchr_iter(b'\n', &piece[..read]).count();
        output.write_all(&LINE.repeat(ends))?;
        output.flush()?;
    }
}

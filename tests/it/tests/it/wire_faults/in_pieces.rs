//! Tests of the streams and bodies in pieces over which other tests run.

use std::collections::BTreeSet;

use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};
use turnbuckle_it::wires::{BodyInPieces, InPieces};

fn sent() -> Vec<u8> {
    (0..=250).cycle().take(5000).collect()
}

/// Writes everything, and says how long the longest piece was that was taken of it.
async fn write(mut stream: impl AsyncWrite + Unpin) -> usize {
    let (sent, mut written, mut longest) = (sent(), 0, 0);
    while written < sent.len() {
        let taken = stream.write(&sent[written..]).await.unwrap();
        written += taken;
        longest = longest.max(taken);
    }
    stream.shutdown().await.unwrap();
    longest
}

/// Reads everything, and says how long the longest piece of it was.
async fn read(mut stream: impl AsyncRead + Unpin) -> usize {
    let (mut arrived, mut longest, mut piece) = (Vec::new(), 0, [0; 8 << 10]);
    loop {
        let read = stream.read(&mut piece).await.unwrap();
        if read == 0 {
            assert_eq!(arrived, sent());
            return longest;
        }
        arrived.extend_from_slice(&piece[..read]);
        longest = longest.max(read);
    }
}

/// Returns the longest pieces at each of many places.
async fn longest(of: impl AsyncFn(String) -> usize) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    for place in 0..64 {
        all.insert(of(format!("place {place}")).await);
    }
    all
}

fn some_alone_some_together(pieces: &BTreeSet<usize>) {
    assert_eq!(pieces.first(), Some(&1), "{pieces:?}");
    assert_eq!(pieces.last(), Some(&5000), "{pieces:?}");
    assert!(pieces.len() > 8, "{pieces:?}");
}

#[tokio::test(start_paused = true)]
async fn all_of_a_stream_is_read_however_it_comes() {
    let began = tokio::time::Instant::now();
    let pieces = longest(async |place| {
        let (near, far) = duplex(1 << 20);
        write(near).await;
        read(InPieces::new(far, &place)).await
    });
    some_alone_some_together(&pieces.await);
    assert!(began.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn all_that_is_written_to_a_stream_goes_however_it_is_taken() {
    let pieces = longest(async |place| {
        let (near, far) = duplex(1 << 20);
        let writing = write(InPieces::new(near, &place));
        tokio::join!(writing, read(far)).0
    });
    some_alone_some_together(&pieces.await);
}

#[tokio::test(start_paused = true)]
async fn all_of_a_body_comes() {
    let mut pieces = BTreeSet::new();
    for length in 1..200 {
        let bytes = Bytes::from(sent()).slice(..length);
        let mut body = BodyInPieces::new(bytes.clone());
        let (mut came, mut longest) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let data = frame.unwrap().into_data().unwrap();
            longest = longest.max(data.len());
            came.extend_from_slice(&data);
        }
        assert_eq!(came, bytes);
        pieces.insert(longest);
    }
    assert!(pieces.contains(&1) && pieces.len() > 8, "{pieces:?}");
}

//! The body of a request, which is read within its bounds.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body::Body;
use turnbuckle_session::internal::{MemoryExceeded, MemoryPermit, OwnerAccount};

/// The reason why a request's body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    TooLarge,
    Broken,
    TimedOut,
    /// There is no memory for it.
    NoMemory(MemoryExceeded),
}

/// The size in bytes of a body that is read without being counted.
const MAX_UNCOUNTED_BYTES: usize = 4 << 10;

/// Reads a whole body of at most `max` bytes within `timeout`. A `content_length` over the bound is
/// refused before anything is read. The memory of the body counts on `account` until it is read.
pub(crate) async fn read<B>(
    body: B,
    content_length: Option<u64>,
    max: usize,
    timeout: Duration,
    account: impl FnOnce() -> OwnerAccount,
) -> Result<Bytes, BodyError>
where
    B: Body<Data: Buf>,
{
    if content_length.is_some_and(|length| length > max as u64) {
        return Err(BodyError::TooLarge);
    }
    let mut read = std::pin::pin!(collect(body, content_length, max, account));
    // A body that has arrived already needs no timer.
    if let Poll::Ready(read) = poll_fn(|cx| Poll::Ready(read.as_mut().poll(cx))).await {
        return read;
    }
    let read = tokio::time::timeout(timeout, read).await;
    read.unwrap_or(Err(BodyError::TimedOut))
}

async fn collect<B>(
    body: B,
    content_length: Option<u64>,
    max: usize,
    account: impl FnOnce() -> OwnerAccount,
) -> Result<Bytes, BodyError>
where
    B: Body<Data: Buf>,
{
    let length = content_length.and_then(|length| usize::try_from(length).ok());
    let mut account = Some(account);
    let mut memory = MemoryPermit::default();
    let mut body = std::pin::pin!(body);
    let mut first: Option<Bytes> = None;
    let mut rest: Option<BytesMut> = None;
    let mut total = 0;
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let Ok(frame) = frame else {
            return Err(BodyError::Broken);
        };
        let Ok(mut data) = frame.into_data() else {
            continue;
        };
        let size = data.remaining();
        total += size;
        if total > max {
            return Err(BodyError::TooLarge);
        }
        let capacity = rest.as_ref().map_or(0, BytesMut::capacity);
        // The buffer doubles, up to what is said to come.
        let wanted = match total {
            _ if first.is_none() || total <= capacity => capacity.max(total),
            _ => (2 * total).min(length.unwrap_or(max).max(total)),
        };
        if total > MAX_UNCOUNTED_BYTES && wanted > memory.bytes() {
            match account.take() {
                Some(account) => memory = account().memory().reserve(wanted)?,
                None => memory.resize(wanted)?,
            }
        }
        // A body of one piece is not copied.
        match (&first, &mut rest) {
            (None, None) => first = Some(data.copy_to_bytes(size)),
            (_, Some(rest)) => {
                rest.reserve(wanted - rest.len());
                rest.extend_from_slice(&data.copy_to_bytes(size));
            }
            (Some(before), None) => {
                let mut whole = BytesMut::with_capacity(wanted);
                whole.extend_from_slice(before);
                whole.extend_from_slice(&data.copy_to_bytes(size));
                rest = Some(whole);
            }
        }
    }
    Ok(rest.map(BytesMut::freeze).or(first).unwrap_or_default())
}

/// The size in bytes of a body that is worth a copy, so that it keeps no larger buffer.
const MAX_DETACHED_BYTES: usize = 64 << 10;

/// Copies a body that is a piece of a large buffer.
#[cold]
pub(crate) fn detach(body: Bytes) -> Bytes {
    if body.len() > MAX_DETACHED_BYTES {
        return body;
    }
    Bytes::copy_from_slice(&body)
}

impl From<MemoryExceeded> for BodyError {
    fn from(exceeded: MemoryExceeded) -> Self {
        Self::NoMemory(exceeded)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use std::pin::Pin;
    use std::task::Context;

    use http::HeaderMap;
    use http_body::Frame;
    use proptest::collection::vec;
    use proptest::prelude::any;
    use turnbuckle_session::handler::Limits;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    /// A body of pieces. It never ends if it is `endless`.
    #[derive(Default)]
    struct Pieces {
        pieces: VecDeque<Result<Frame<Bytes>, ()>>,
        endless: bool,
    }

    impl Pieces {
        fn new(pieces: impl IntoIterator<Item = Vec<u8>>) -> Self {
            let frames = pieces.into_iter().map(|it| Ok(Frame::data(it.into())));
            Self {
                pieces: frames.collect(),
                endless: false,
            }
        }
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = ();

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, ()>>> {
            match self.pieces.pop_front() {
                None if self.endless => Poll::Pending,
                next => Poll::Ready(next),
            }
        }
    }

    fn account() -> OwnerAccount {
        OwnerAccount::new(&Limits::new())
    }

    fn read_now(body: Pieces, length: Option<u64>, max: usize) -> Result<Bytes, BodyError> {
        let read = std::pin::pin!(read(body, length, max, TIMEOUT, account));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        match read.poll(&mut cx) {
            Poll::Ready(read) => read,
            Poll::Pending => panic!("the body is not read at once"),
        }
    }

    proptest::proptest! {
        #[test]
        fn a_body_is_its_pieces_or_too_large(
            pieces in vec(vec(any::<u8>(), 0..20), 0..6),
            max in 0..80_usize,
        ) {
            let whole = pieces.concat();
            let expected = (whole.len() <= max).then_some(whole);
            let read = read_now(Pieces::new(pieces), None, max);
            match expected {
                Some(whole) => assert_eq!(read.unwrap(), whole),
                None => assert_eq!(read, Err(BodyError::TooLarge)),
            }
        }
    }

    #[test]
    fn a_content_length_over_the_bound_is_refused() {
        assert_eq!(
            read_now(Pieces::default(), Some(11), 10),
            Err(BodyError::TooLarge)
        );
        assert!(read_now(Pieces::default(), Some(10), 10).is_ok());
    }

    #[test]
    fn an_incomplete_body_is_an_error_and_trailers_are_ignored() {
        let mut body = Pieces::new([b"{".to_vec()]);
        body.pieces.push_back(Err(()));
        assert_eq!(read_now(body, None, 10), Err(BodyError::Broken));
        let mut body = Pieces::new([b"{}".to_vec()]);
        body.pieces.push_back(Ok(Frame::trailers(HeaderMap::new())));
        assert_eq!(read_now(body, None, 10).unwrap(), "{}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_has_to_arrive_within_the_timeout() {
        let mut body = Pieces::new([b"{".to_vec()]);
        body.endless = true;
        let begin = tokio::time::Instant::now();
        assert_eq!(
            read(body, None, 10, TIMEOUT, account).await,
            Err(BodyError::TimedOut)
        );
        assert_eq!(begin.elapsed(), TIMEOUT);
    }

    #[test]
    fn a_body_that_is_being_read_counts_for_its_owner() {
        let owner = OwnerAccount::new(&Limits::new().max_owner_bytes(100_000));
        let begin = |pieces: usize, length| {
            let mut body = Pieces::new((0..pieces).map(|_| vec![b' '; 10_000]));
            body.endless = true;
            let owner = owner.clone();
            Box::pin(collect(body, length, 1 << 20, move || owner))
        };
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut small = begin(0, None);
        assert!(small.as_mut().poll(&mut cx).is_pending());
        assert_eq!(owner.memory().used(), 0);
        let mut half = begin(5, Some(60_000));
        assert!(half.as_mut().poll(&mut cx).is_pending());
        assert_eq!(
            owner.memory().used(),
            60_000,
            "no more than is said to come"
        );
        let mut over = begin(9, None);
        let Poll::Ready(Err(BodyError::NoMemory(exceeded))) = over.as_mut().poll(&mut cx) else {
            panic!("there is no room for both");
        };
        assert!(exceeded.to_string().contains("Limits::max_owner_bytes"));
        drop((half, over));
        assert_eq!(owner.memory().used(), 0);
    }

    #[test]
    fn a_short_body_keeps_no_large_buffer() {
        let buffer = Bytes::from(vec![b' '; 100_000]);
        let body = detach(buffer.slice(10..20));
        assert!(buffer.is_unique() && body.len() == 10);
    }
}

//! Connections on which the client chooses between HTTP/1.1 and HTTP/2.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};
use turnbuckle_session::internal::{MemoryPermit, count_refusal};

use super::connection::{ConnectionContext, ConnectionService, Http1Bounds};
use super::write_progress::{UnsentChunks, WriteProgress};
use crate::options::HttpServerOptions;
use crate::reply::ResponseBody;

/// The number of requests that a client may have opened and reset, before the server has taken them.
const MAX_PENDING_RESETS: usize = 20;

/// The number of requests that the server may have to reset for errors of the client.
const MAX_ERROR_RESETS: usize = 256;

/// The bytes that HTTP/2 counts for each header beside its name and its value (RFC 9113, section 6.5.2).
const FIELD_OVERHEAD: usize = 32;

/// The number of bytes of one response that wait for a slow client.
const MAX_SEND_BYTES: usize = 64 << 10;

/// The largest number of bytes of a response that are handed to the connection at once.
const MAX_CHUNK_BYTES: usize = 4 << 10;

/// The bytes that an open request takes besides its content: the state of its stream and its task.
const STREAM_BYTES: usize = 5 << 10;

/// Serves HTTP/1.1 or HTTP/2 until the connection ends.
///
/// An HTTP/2 connection on which no request was open for [`HttpTimeouts::header_timeout`] is
/// closed after at most twice that time, as is a connection that has not said which of both it is.
pub(super) async fn serve<S>(
    stream: S,
    service: Arc<ConnectionService>,
    context: &ConnectionContext,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let peer = service.peer();
    let activity = Arc::new(Activity::default());
    let counted = activity.clone();
    let write_progress = WriteProgress::new(context.options.timeouts.write_timeout);
    let watched = write_progress.clone();
    let answer = service_fn(move |request: Request<Incoming>| {
        let (service, open) = (service.clone(), OpenRequest::new(&counted));
        let memory = reserve_stream(&service, request.version());
        let watched = watched.clone();
        async move {
            let unsent = UnsentChunks::new(&watched, memory?);
            let Ok(response) = service.answer(request).await;
            Ok::<_, h2::Error>(response.map(|body| WatchedBody {
                body,
                rest: Bytes::new(),
                unsent,
                _open: open,
            }))
        }
    });
    let bounds = Http1Bounds::new(&context.options);
    let builder = builder(&bounds, &context.options);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), answer));
    let served = tokio::select! {
        served = connection.as_mut() => Some(served),
        () = context.closing.closing() => None,
        () = activity.idle(bounds.header_timeout) => {
            count_refusal("HttpTimeouts::header_timeout");
            None
        }
        () = write_progress.wait_for_stall() => return log_stall(),
    };
    let served = match served {
        Some(served) => served,
        None => {
            connection.as_mut().graceful_shutdown();
            if context.closing.is_closing() {
                tokio::select! {
                    served = connection => served,
                    () = write_progress.wait_for_stall() => return log_stall(),
                }
            } else {
                // A client that does not answer is not waited for.
                let ended = timeout(bounds.header_timeout, connection).await;
                ended.unwrap_or(Ok(()))
            }
        }
    };
    if let Err(error) = served {
        context.log_failure(&error, error.downcast_ref(), peer);
    }
}

/// Logs and counts a connection that ends because its client leaves a response unread.
fn log_stall() {
    count_refusal("HttpTimeouts::write_timeout");
    tracing::debug!(
        "a response was not read for too long (HttpTimeouts::write_timeout): the connection ends"
    );
}

/// Reserves the memory of a stream of HTTP/2.
///
/// # Errors
/// When there is none. The stream is reset then, because a response would keep its memory for as long as
/// the client likes. The client may send the request again.
fn reserve_stream(
    service: &ConnectionService,
    version: Version,
) -> Result<MemoryPermit, h2::Error> {
    if version != Version::HTTP_2 {
        return Ok(MemoryPermit::default());
    }
    let reserved = service.memory().reserve(STREAM_BYTES);
    reserved.map_err(|exceeded| {
        exceeded.count_refusal();
        h2::Reason::REFUSED_STREAM.into()
    })
}

fn builder(bounds: &Http1Bounds, options: &HttpServerOptions) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    let mut http1 = builder.http1();
    http1
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.header_timeout)
        .max_buf_size(bounds.max_header_bytes);
    if let Some(most) = bounds.max_headers {
        http1.max_headers(most);
    }
    // HTTP/2 counts more bytes for the same headers. The endpoints count as HTTP/1.1 does.
    let overhead = options
        .http_limits
        .max_headers
        .saturating_mul(FIELD_OVERHEAD);
    let max_header_bytes = bounds.max_header_bytes.saturating_add(overhead);
    let max_header_bytes = u32::try_from(max_header_bytes).unwrap_or(u32::MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(options.http_limits.max_http2_streams)
        .max_header_list_size(max_header_bytes)
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(MAX_ERROR_RESETS)
        .max_send_buf_size(MAX_SEND_BYTES)
        .keep_alive_interval(bounds.header_timeout)
        .keep_alive_timeout(bounds.header_timeout);
    builder
}

/// The requests of a connection: how many are open, and how many were opened lately.
#[derive(Debug, Default)]
struct Activity {
    open: AtomicUsize,
    opened: AtomicUsize,
}

impl Activity {
    /// Waits until no request was open or opened for `time`.
    async fn idle(&self, time: Duration) {
        loop {
            sleep(time).await;
            let opened = self.opened.swap(0, Ordering::Relaxed);
            if opened == 0 && self.open.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
    }
}

/// A request that is open until this is dropped.
struct OpenRequest(Arc<Activity>);

impl OpenRequest {
    fn new(activity: &Arc<Activity>) -> Self {
        activity.opened.fetch_add(1, Ordering::Relaxed);
        activity.open.fetch_add(1, Ordering::Relaxed);
        Self(activity.clone())
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of a response in small chunks, of which each is watched until it has been sent. Its
/// request is open until the last chunk was taken.
struct WatchedBody {
    body: ResponseBody,
    /// The part of the last piece of `body` that is not taken yet.
    rest: Bytes,
    unsent: Arc<UnsentChunks>,
    _open: OpenRequest,
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = <ResponseBody as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        let chunk = this.rest.split_to(this.rest.len().min(MAX_CHUNK_BYTES));
        Poll::Ready(Some(Ok(Frame::data(this.unsent.watch(chunk)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let mut hint = self.body.size_hint();
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}

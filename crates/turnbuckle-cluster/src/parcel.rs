//! Bytes that are too many for a message of a topic. They wait in a log of their own, and the message
//! names it.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use turnbuckle_store::{
    AppendAt, Keep, Position, ReadLimit, Store, StoreError, StoreErrorKind, StoreKey,
};
use turnbuckle_types::base::random;

/// The most bytes of a body that a message carries itself.
pub(crate) const MAX_INLINE_BYTES: usize = 48 << 10;

/// The most bytes of a parcel.
pub(crate) const MAX_PARCEL_BYTES: usize = 16 << 20;

/// The bytes of one entry of the log of a parcel.
const PIECE_BYTES: usize = 512 << 10;

/// The most pieces that are appended at once, within the bounds of stores.
const PIECES_AT_ONCE: usize = 4;

/// The time that a parcel waits to be read.
const TTL: Duration = Duration::from_secs(60);

/// Puts bytes into the store, and returns the name of their parcel.
///
/// # Errors
/// If there are more than 16 MiB, or the store fails.
pub(crate) async fn post(store: &dyn Store, body: &Bytes) -> Result<Bytes, StoreError> {
    if body.len() > MAX_PARCEL_BYTES {
        let message = format!(
            "a message of {} bytes to another instance is larger than {MAX_PARCEL_BYTES} bytes",
            body.len()
        );
        return Err(StoreError::new(StoreErrorKind::TooLarge, message));
    }
    let name = random::id()
        .map_err(|error| StoreError::new(StoreErrorKind::Unavailable, error.to_string()))?;
    let log = key(&name)?;
    let keep = Keep {
        entries: u64::MAX,
        ttl: TTL,
    };
    let pieces: Vec<Bytes> = (0..body.len())
        .step_by(PIECE_BYTES)
        .map(|start| body.slice(start..body.len().min(start + PIECE_BYTES)))
        .collect();
    for pieces in pieces.chunks(PIECES_AT_ONCE) {
        store
            .append(&log, AppendAt::End, pieces.to_vec(), keep)
            .await?;
    }
    Ok(format!("{name}{}", body.len()).into())
}

/// Reads the bytes of a parcel. Returns `None` if it is not there, or not in whole.
///
/// # Errors
/// If the store fails.
pub(crate) async fn fetch(store: &dyn Store, name: &[u8]) -> Result<Option<Bytes>, StoreError> {
    let Some((name, length)) = split_name(name) else {
        return Ok(None);
    };
    let log = key(name)?;
    let mut body = BytesMut::with_capacity(length);
    let mut after = Position(0);
    while body.len() < length {
        let slice = store.read(&log, after, ReadLimit::default()).await?;
        if slice.entries.is_empty() || slice.start.0 != after.0 + 1 {
            return Ok(None);
        }
        after.0 += slice.entries.len() as u64;
        for piece in slice.entries {
            if body.len() + piece.len() > length {
                return Ok(None);
            }
            body.extend_from_slice(&piece);
        }
    }
    Ok(Some(body.freeze()))
}

/// Splits the name of a parcel into its id and the number of its bytes.
fn split_name(name: &[u8]) -> Option<(&str, usize)> {
    let (id, length) = std::str::from_utf8(name).ok()?.split_at_checked(32)?;
    let length = length.parse().ok()?;
    (length <= MAX_PARCEL_BYTES).then_some((id, length))
}

fn key(id: &str) -> Result<StoreKey, StoreError> {
    StoreKey::new(format!("parcel/{id}"))
}

#[cfg(test)]
mod tests {
    use turnbuckle_store::MemoryStore;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_parcel_comes_as_it_went_within_its_bound_and_its_time() {
        let store = MemoryStore::new();
        for length in [0, 1, PIECE_BYTES, 3 * PIECE_BYTES + 7, 5 << 20] {
            let body: Bytes = (0..length).map(|at| (at % 251) as u8).collect();
            let name = post(&store, &body).await.unwrap();
            assert_eq!(fetch(&store, &name).await.unwrap(), Some(body));
        }
        let name = post(&store, &Bytes::from(vec![7; 100])).await.unwrap();
        tokio::time::advance(TTL).await;
        assert_eq!(
            fetch(&store, &name).await.unwrap(),
            None,
            "its time is over"
        );
        let too_much = Bytes::from(vec![0; MAX_PARCEL_BYTES + 1]);
        let error = post(&store, &too_much).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::TooLarge);
    }

    #[tokio::test]
    async fn names_of_others_are_no_parcels() {
        let store = MemoryStore::new();
        let name = post(&store, &Bytes::from_static(b"four")).await.unwrap();
        let name = std::str::from_utf8(&name).unwrap();
        let id = name.strip_suffix('4').unwrap();
        for bad in [
            "",
            "x",
            id,
            &format!("{id}3"),
            &format!("{id}5"),
            &format!("{id}99999999999"),
            &format!("{id}-4"),
        ] {
            assert_eq!(fetch(&store, bad.as_bytes()).await.unwrap(), None, "{bad}");
        }
    }
}

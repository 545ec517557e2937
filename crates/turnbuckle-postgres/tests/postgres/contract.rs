//! The rules that each store keeps.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_postgres::PostgresStore;
use turnbuckle_store::contract::{self, ContractBackend, ContractFuture, Fault};
use turnbuckle_store::{Store, StoreFuture};

use crate::engine::Engine;

/// Lets a table refuse large values, as a full disk does.
const FILL: &str = "
CREATE FUNCTION turnbuckle.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full';
END $$;
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON turnbuckle.value
    FOR EACH ROW WHEN (octet_length(NEW.bytes) > 65536) EXECUTE FUNCTION turnbuckle.refuse();
";

const MAKE_ROOM: &str = "DROP FUNCTION turnbuckle.refuse CASCADE";

impl ContractBackend for Engine {
    fn open(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async {
            let store = PostgresStore::connect(&self.address()).await?;
            Ok(Arc::new(store) as Arc<dyn Store>)
        })
    }

    /// Moves all times of the tables back, which is the same to the store as a clock that went on.
    fn advance(&self, time: Duration) -> ContractFuture<'_, ()> {
        Box::pin(async move {
            let time = time.as_secs_f64();
            let mut sql = format!(
                "UPDATE turnbuckle.job SET hidden_until = hidden_until - make_interval(secs => {time});"
            );
            for table in ["value", "log", "message", "job"] {
                sql += &format!(
                    "UPDATE turnbuckle.{table} SET expires = expires - make_interval(secs => {time});"
                );
            }
            self.client().await.batch_execute(&sql).await.unwrap();
        })
    }

    fn remaining(&self) -> StoreFuture<'_, Option<u64>> {
        Box::pin(async {
            let client = self.client().await;
            loop {
                // Another instance may do it just now: then nothing is removed, and the time is 1.
                let sql = "SELECT deleted, coalesce(next_in, 60) FROM turnbuckle.clean_up(100)";
                let row = client.query_one(sql, &[]).await.unwrap();
                if row.get::<_, i64>(0) == 0 && row.get::<_, f64>(1) > 1.0 {
                    break;
                }
            }
            let sql = "SELECT (SELECT count(*) FROM turnbuckle.value)
                + (SELECT count(*) FROM turnbuckle.entry) + (SELECT count(*) FROM turnbuckle.job)";
            let count: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
            Ok(Some(count.unsigned_abs()))
        })
    }

    fn faults(&self) -> &[Fault] {
        &[Fault::Cut, Fault::Full, Fault::NewerVersion]
    }

    fn begin(&self, fault: Fault) -> ContractFuture<'_, ()> {
        Box::pin(async move {
            match fault {
                Fault::Cut => {
                    let sql = "ALTER DATABASE store ALLOW_CONNECTIONS false";
                    self.admin.batch_execute(sql).await.unwrap();
                    self.cut().await;
                }
                Fault::Full => self.client().await.batch_execute(FILL).await.unwrap(),
                Fault::NewerVersion => set_version(self, 2).await,
                _ => {}
            }
        })
    }

    fn end(&self, fault: Fault) -> ContractFuture<'_, ()> {
        Box::pin(async move {
            match fault {
                Fault::Cut => {
                    let sql = "ALTER DATABASE store ALLOW_CONNECTIONS true";
                    self.admin.batch_execute(sql).await.unwrap();
                }
                Fault::Full => {
                    let client = self.client().await;
                    client.batch_execute(MAKE_ROOM).await.unwrap();
                }
                Fault::NewerVersion => set_version(self, 1).await,
                _ => {}
            }
        })
    }
}

async fn set_version(engine: &Engine, version: i32) {
    let sql = "UPDATE turnbuckle.format SET version = $1";
    engine
        .client()
        .await
        .execute(sql, &[&version])
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_postgres_keeps_every_rule() {
    contract::check(&Engine::start().await).await.unwrap();
}

CREATE TABLE {schema}.format (version integer NOT NULL);
INSERT INTO {schema}.format VALUES (1);

-- Versions of values: a number of a sequence is never given again.
CREATE SEQUENCE {schema}.version;

CREATE TABLE {schema}.value (
    key bytea PRIMARY KEY,
    version bigint NOT NULL,
    bytes bytea NOT NULL,
    expires timestamptz NOT NULL
);
CREATE INDEX value_expires ON {schema}.value (expires);

-- The entries of a log are those from `first` to `last`. Its positions count from `base`, which moves up when
-- the log has expired and begins anew. Entries up to `trimmed` are removed.
CREATE TABLE {schema}.log (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name bytea NOT NULL UNIQUE,
    base bigint NOT NULL DEFAULT 0,
    trimmed bigint NOT NULL DEFAULT 0,
    first bigint NOT NULL DEFAULT 1,
    last bigint NOT NULL DEFAULT 0,
    expires timestamptz NOT NULL
);
CREATE INDEX log_expires ON {schema}.log (expires);
CREATE TABLE {schema}.entry (
    log bigint NOT NULL,
    position bigint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (log, position)
);

-- Messages that are too large for NOTIFY. They are lost in a crash, as connections are.
CREATE UNLOGGED TABLE {schema}.message (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    bytes bytea NOT NULL,
    expires timestamptz NOT NULL
);
CREATE INDEX message_expires ON {schema}.message (expires);

CREATE TABLE {schema}.job (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    queue bytea NOT NULL,
    bytes bytea NOT NULL,
    expires timestamptz NOT NULL,
    hidden_until timestamptz NOT NULL DEFAULT to_timestamp(0),
    token bigint NOT NULL DEFAULT 0,
    attempt integer NOT NULL DEFAULT 0
);
CREATE INDEX job_queue ON {schema}.job (queue, id);
CREATE INDEX job_expires ON {schema}.job (expires);

-- Most of the bytes are encrypted, which does not compress.
ALTER TABLE {schema}.value ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE {schema}.entry ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE {schema}.message ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE {schema}.job ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Appends entries. Returns the position of the last one, or NULL if the next one is not the expected one.
CREATE FUNCTION {schema}.append(
    log_name bytea, expected bigint, added bytea[], kept bigint, ttl double precision
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    l {schema}.log%ROWTYPE;
    moment timestamptz;
    upto bigint;
BEGIN
    LOOP
        SELECT * INTO l FROM {schema}.log WHERE name = log_name FOR UPDATE;
        EXIT WHEN FOUND;
        IF expected <> 1 THEN
            RETURN NULL;
        END IF;
        INSERT INTO {schema}.log (name, expires) VALUES (log_name, to_timestamp(0))
            ON CONFLICT DO NOTHING;
    END LOOP;
    -- After the lock, for which this may have waited.
    moment := clock_timestamp();
    IF l.expires <= moment THEN
        l.base := l.last;
        l.first := l.last + 1;
    END IF;
    IF expected <> l.last - l.base + 1 THEN
        RETURN NULL;
    END IF;
    INSERT INTO {schema}.entry (log, position, bytes)
        SELECT l.id, l.last + a.number, a.bytes
        FROM unnest(added) WITH ORDINALITY AS a (bytes, number);
    l.last := l.last + cardinality(added);
    l.first := greatest(l.first, l.last - kept + 1);
    -- A bounded number, more than is added.
    upto := least(l.first - 1, l.trimmed + 512 + cardinality(added));
    DELETE FROM {schema}.entry WHERE log = l.id AND position > l.trimmed AND position <= upto;
    UPDATE {schema}.log SET base = l.base, trimmed = upto, first = l.first, last = l.last,
        expires = moment + make_interval(secs => ttl) WHERE id = l.id;
    RETURN l.last - l.base;
END
$$;

-- Removes what has expired: up to `most` rows of each table, and no row that another transaction uses.
-- `next_in` is the time until the next row expires, in seconds. One instance at a time does so.
CREATE FUNCTION {schema}.clean_up(most bigint, OUT deleted bigint, OUT next_in double precision)
LANGUAGE plpgsql AS $$
DECLARE
    l {schema}.log%ROWTYPE;
    upto bigint;
    count bigint;
BEGIN
    deleted := 0;
    next_in := 1;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('turnbuckle: clean up {schema}', 0)) THEN
        RETURN;
    END IF;
    DELETE FROM {schema}.value WHERE key = ANY (ARRAY(
        SELECT key FROM {schema}.value WHERE expires <= now()
        ORDER BY expires LIMIT most FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS count = ROW_COUNT;
    deleted := greatest(deleted, count);
    DELETE FROM {schema}.message WHERE id = ANY (ARRAY(
        SELECT id FROM {schema}.message WHERE expires <= now()
        ORDER BY expires LIMIT most FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS count = ROW_COUNT;
    deleted := greatest(deleted, count);
    DELETE FROM {schema}.job WHERE id = ANY (ARRAY(
        SELECT id FROM {schema}.job WHERE expires <= now()
        ORDER BY expires LIMIT most FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS count = ROW_COUNT;
    deleted := greatest(deleted, count);
    count := 0;
    FOR l IN SELECT * FROM {schema}.log WHERE expires <= now()
        ORDER BY expires LIMIT most FOR UPDATE SKIP LOCKED
    LOOP
        upto := least(l.last, l.trimmed + most - count);
        DELETE FROM {schema}.entry WHERE log = l.id AND position > l.trimmed AND position <= upto;
        IF upto = l.last THEN
            DELETE FROM {schema}.log WHERE id = l.id;
        ELSE
            UPDATE {schema}.log SET trimmed = upto WHERE id = l.id;
        END IF;
        count := count + upto - l.trimmed + 1;
        EXIT WHEN count >= most;
    END LOOP;
    deleted := greatest(deleted, count);
    SELECT extract(epoch FROM min(it) - clock_timestamp()) INTO next_in FROM (
        SELECT min(expires) AS it FROM {schema}.value
        UNION ALL SELECT min(expires) FROM {schema}.message
        UNION ALL SELECT min(expires) FROM {schema}.job
        UNION ALL SELECT min(expires) FROM {schema}.log) AS all_tables;
END
$$;

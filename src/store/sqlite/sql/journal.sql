-- name: head
SELECT head, horizon, entries FROM journal_scopes WHERE tenant = ? AND space = ? AND scope = ?;

-- name: held
-- Keys that have no put in the scope, and would: ?1 tenant, ?2 space, ?3 scope, ?4 the runs.
SELECT count(*) AS keys
  FROM (SELECT ref, id, max(write_id) AS write_id FROM (
          SELECT l.ref, l.id, l.write_id
            FROM json_each(?4) r CROSS JOIN journal_layers l ON l.run_id = r.value ->> 'runId' AND l.left_seq IS NULL
           WHERE l.tenant = ?1 AND l.space = ?2 AND l.scope = ?3
           UNION ALL
          SELECT w.ref, w.id, w.write_id FROM journal_writes w
           WHERE w.run_id = ?4 ->> '$[0].runId' AND w.seq >= ?4 ->> '$[0].before'
             AND w.tenant = ?1 AND w.space = ?2 AND w.scope = ?3) GROUP BY ref, id) h
  JOIN journal_writes w ON w.write_id = h.write_id AND w.op = 'put'
 WHERE NOT EXISTS (
   SELECT 1 FROM journal_scopes s
     JOIN journal j INDEXED BY journal_keys ON j.scope_id = s.scope_id AND j.ref = h.ref AND j.id = h.id AND j.until IS NULL
     JOIN journal_writes p ON p.write_id = j.write_id AND p.op = 'put'
    WHERE s.tenant = ?1 AND s.space = ?2 AND s.scope = ?3);

-- name: keepContent
INSERT INTO journal_contents (tenant, content_id, run_id, hash, sealed, text_is_body, words, text, body, pieces)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: keepPiece
INSERT INTO journal_pieces (tenant, content_id, piece, hash, at, body) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: piece
SELECT body FROM journal_pieces WHERE tenant = ? AND content_id = ? AND piece = ?;

-- name: dropUpload
DELETE FROM journal_uploads WHERE tenant = ? AND content_id = ?;

-- name: collectUploads
DELETE FROM journal_uploads WHERE (tenant, content_id) IN (
  SELECT tenant, content_id FROM journal_uploads WHERE at < ? ORDER BY at LIMIT ?);

-- name: content
SELECT run_id, sealed, text_is_body, text, body, pieces FROM journal_contents WHERE tenant = ? AND content_id = ?;

-- part: row
w.run_id AS runId, w.seq AS sequence, w.space, w.ref, w.id, w.op, w.tags, w.at, w.expires_at AS expiresAt,
  w.content_id AS contentId, w.hash, w.bytes, w.content_type AS contentType, j.pos AS position, j.version,
  w.agent_id AS agentId, nullif(w.node_id, '') AS nodeId

-- part: ownRows
-- What runs see of their own: ?1 tenant, ?2 space, ?3 scope, ?4 anchor, ?5 the runs; words only where ?6 says so.
SELECT {row}, CASE WHEN ?6 THEN c.words END AS words
  FROM json_each(?5) r
 CROSS JOIN journal_layers l
    ON l.run_id = r.value ->> 'runId' AND l.tenant = ?1 AND l.space = ?2 AND l.scope = ?3
       AND l.seq < r.value ->> 'before' AND (l.left_seq IS NULL OR l.left_seq >= r.value ->> 'before')
  JOIN journal_writes w ON w.write_id = l.write_id
  LEFT JOIN journal_contents c ON c.tenant = w.tenant AND c.content_id = w.content_id
  LEFT JOIN journal j ON j.write_id = w.write_id AND j.scope_id = (
    SELECT scope_id FROM journal_scopes WHERE tenant = ?1 AND space = ?2 AND scope = ?3)
 WHERE coalesce(j.pos > ?4, 1)

-- name: own
{ownRows} ORDER BY r.key, l.seq DESC, l.ord DESC;

-- name: ownOfKey
{ownRows} AND l.ref = ?7 AND l.id = ?8 ORDER BY r.key, l.seq DESC, l.ord DESC LIMIT 1;

-- The index is named where another would fit as well and lead past what was superseded.

-- part: ofScope
s.tenant = ?1 AND s.space = ?2 AND s.scope = ?3

-- name: published
-- The latest of a key, as of a position.
SELECT {row}
  FROM journal_scopes s CROSS JOIN journal j INDEXED BY journal_keys ON j.scope_id = s.scope_id JOIN journal_writes w ON w.write_id = j.write_id
 WHERE {ofScope} AND j.ref = ?5 AND j.id = ?6 AND j.pos <= ?4 ORDER BY j.pos DESC LIMIT 1;

-- name: ofAttempt
-- The latest of a key that one attempt at a node wrote: ?1 tenant, ?2 space, ?3 run, ?4 node, ?5 its start, ?6 before, ?7 and ?8
-- the key. Where the run is a branch, what it shares is its own.
SELECT {row}, w.scope
  FROM (SELECT ?3 AS run_id, 0 AS from_seq, ?6 AS upto
         UNION ALL
        SELECT source_run_id, from_seq, min(upto, ?6) FROM prefixes WHERE run_id = ?3) p
 CROSS JOIN journal_writes w INDEXED BY journal_writes_attempts
    ON w.run_id = p.run_id AND w.node_id = ?4 AND w.since = ?5 AND w.seq >= p.from_seq AND w.seq < p.upto
  LEFT JOIN journal j ON j.write_id = w.write_id AND j.scope_id = (
    SELECT scope_id FROM journal_scopes WHERE tenant = ?1 AND space = ?2 AND scope = w.scope)
 WHERE w.tenant = ?1 AND w.space = ?2 AND w.ref = ?7 AND w.id = ?8 ORDER BY w.seq DESC LIMIT 1;

-- part: fits
(?6 IS NULL OR j.ref = ?6) AND (?7 IS NULL OR substr(j.id, 1, length(?7)) = ?7)
   AND (?8 IS NULL OR EXISTS (SELECT 1 FROM json_each(w.tags) WHERE value = ?8))

-- part: listing
JOIN journal_writes w ON w.write_id = j.write_id
 WHERE {ofScope} AND j.span = ?10 AND j.pos <= min(?4, ?5 - 1) AND j.pos > ?11 AND (j.until IS NULL OR j.until > ?4) AND {fits}
 ORDER BY j.pos DESC LIMIT ?9

-- name: listed
-- The latest of keys as of a position, of one span ?10 (see `journal.span`), between ?11 and ?5: highest first.
SELECT {row} FROM journal_scopes s CROSS JOIN journal j INDEXED BY journal_spans ON j.scope_id = s.scope_id {listing};

-- name: listedOfRef
SELECT {row}
  FROM journal_scopes s CROSS JOIN journal j INDEXED BY journal_ref_spans ON j.scope_id = s.scope_id AND j.ref = ?6 {listing};

-- part: keysOfPrefix
-- Keys that begin so, up to ?9, one after the other and each once, whatever was superseded; and the one after them.
WITH RECURSIVE place (scope_id) AS (SELECT s.scope_id FROM journal_scopes s WHERE {ofScope}),
keys (id) AS (
  SELECT (SELECT j.id FROM journal j INDEXED BY journal_keys
           WHERE j.scope_id = (SELECT scope_id FROM place) AND j.ref = ?6 AND j.id >= ?7 ORDER BY j.id LIMIT 1)
   UNION ALL
  SELECT (SELECT j.id FROM journal j INDEXED BY journal_keys
           WHERE j.scope_id = (SELECT scope_id FROM place) AND j.ref = ?6 AND j.id > keys.id ORDER BY j.id LIMIT 1)
    FROM keys WHERE substr(keys.id, 1, length(?7)) = ?7 LIMIT ?9)

-- name: beginningSo
{keysOfPrefix} SELECT count(*) AS keys FROM keys;

-- name: listedOfPrefix
-- All of them are sorted.
{keysOfPrefix}
SELECT {row}
  FROM keys CROSS JOIN journal j ON j.scope_id = (SELECT scope_id FROM place) AND j.pos = (
    SELECT l.pos FROM journal l INDEXED BY journal_keys
     WHERE l.scope_id = (SELECT scope_id FROM place) AND l.ref = ?6 AND l.id = keys.id AND l.pos <= ?4 ORDER BY l.pos DESC LIMIT 1)
  JOIN journal_writes w ON w.write_id = j.write_id
 WHERE j.pos < ?5 AND (j.until IS NULL OR j.until > ?4) AND {fits}
 ORDER BY j.pos DESC LIMIT ?10;

-- name: rarest
-- Which of the words ?4 the fewest have been found by; beyond a thousand all are many, and the first is as good as any.
SELECT v.value AS word FROM journal_scopes s CROSS JOIN json_each(?4) v WHERE {ofScope}
 ORDER BY (SELECT count(*) FROM (
   SELECT 1 FROM journal_words f WHERE f.scope_id = s.scope_id AND f.word = v.value LIMIT 1000)), v.key LIMIT 1;

-- name: matching
-- Puts with all the words ?5, and the word ?6, of one span ?10 and above ?11; with what they are found by.
SELECT {row}, c.words
  FROM journal_scopes s
 CROSS JOIN journal_words f ON f.scope_id = s.scope_id AND f.word = ?6 AND f.span = ?10 AND f.pos <= ?4 AND f.pos > ?11
 CROSS JOIN journal j ON j.scope_id = s.scope_id AND j.pos = f.pos AND (j.until IS NULL OR j.until > ?4)
  JOIN journal_writes w ON w.write_id = j.write_id
  LEFT JOIN journal_contents c ON c.tenant = w.tenant AND c.content_id = w.content_id
 WHERE {ofScope} AND (?7 IS NULL OR j.ref = ?7)
   AND (?8 IS NULL OR EXISTS (SELECT 1 FROM json_each(w.tags) WHERE value = ?8))
   AND NOT EXISTS (
     SELECT 1 FROM json_each(?5) v WHERE NOT EXISTS (
       SELECT 1 FROM journal_words o
        WHERE o.scope_id = s.scope_id AND o.word = v.value AND o.span = f.span AND o.pos = f.pos))
 ORDER BY f.pos DESC LIMIT ?9;

-- name: latest
-- Of a key, with what it is held against when it is written again.
SELECT j.version, w.op, w.expires_at AS expiresAt
  FROM journal_scopes s CROSS JOIN journal j ON j.scope_id = s.scope_id JOIN journal_writes w ON w.write_id = j.write_id
 WHERE {ofScope} AND j.ref = ?4 AND j.id = ?5 ORDER BY j.pos DESC LIMIT 1;

-- name: countOutside
INSERT INTO tenant_streams (tenant, writes) VALUES (?, 1)
ON CONFLICT (tenant) DO UPDATE SET writes = writes + 1 RETURNING writes - 1 AS sequence;

-- name: addOutside
INSERT INTO journal_writes (run_id, seq, tenant, space, scope, ref, id, op, node_id, since, tags, at, expires_at,
                            content_id, hash, bytes, content_type, if_match, seen, token)
VALUES ('tenant:' || ?1, ?2, ?1, ?3, ?4, ?5, ?6, ?7, '', 0, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 0, ?16)
RETURNING write_id AS writeId;

-- name: publish
INSERT INTO journal_publishing (write_id, scope, at) VALUES (?, ?, ?);

-- name: writtenBy
SELECT j.pos AS position, j.version FROM journal_writes w JOIN journal j ON j.write_id = w.write_id
 WHERE w.token = ? ORDER BY w.seq;

-- name: tell
INSERT INTO tenant_events (tenant, seq, type, payload, at)
VALUES (?1, coalesce((SELECT events FROM tenant_streams WHERE tenant = ?1), 0), ?2, ?3, ?4);

-- name: tenantEvents
SELECT seq AS sequence, type, payload, at FROM tenant_events WHERE tenant = ? AND seq >= ? ORDER BY seq LIMIT ?;

-- name: copies
SELECT run_id FROM runs WHERE tenant = ?1 AND run_id IN (
  SELECT ?2 UNION ALL SELECT run_id FROM journal_reads WHERE tenant = ?1 AND name = ?3) ORDER BY run_id;

-- name: scopes
SELECT s.scope, s.head, s.horizon, s.entries FROM journal_scopes s
 WHERE s.tenant = ?1 AND s.space = ?2 AND (?3 IS NULL OR s.scope > ?3)
 ORDER BY s.scope LIMIT ?4;

-- name: collectable
-- What was superseded; and what has expired and is the latest of its key, once something was published after its end and is
-- as old itself, for nobody reads up to before that any more. In the scope of a branch it still hides what is beneath.
SELECT * FROM (
  SELECT scope_id AS scopeId, pos, until, ended_at AS endedAt FROM journal
   WHERE until IS NOT NULL AND ended_at < ?1 ORDER BY ended_at, until LIMIT ?2)
 UNION ALL
SELECT * FROM (
  SELECT j.scope_id, j.pos, (SELECT min(n.pos) FROM journal n
                              WHERE n.scope_id = j.scope_id AND n.pos > j.pos AND n.at > w.expires_at AND n.at < ?1) AS next, w.expires_at
    FROM journal_writes w JOIN journal j ON j.write_id = w.write_id JOIN journal_scopes s ON s.scope_id = j.scope_id
   WHERE w.expires_at < ?1 AND j.until IS NULL AND w.op = 'put' AND s.space = 'memory' AND s.scope NOT LIKE 'fork:%'
     AND next IS NOT NULL
   ORDER BY w.expires_at, next LIMIT ?2)
 ORDER BY endedAt, until LIMIT ?2;

-- name: raiseHorizon
UPDATE journal_scopes SET horizon = max(horizon, ?) WHERE scope_id = ?;

-- name: collect
DELETE FROM journal WHERE scope_id = ? AND pos = ?;

-- part: versions
-- All writes of a key in a scope, those that are held included: ?1 tenant, ?2 space, ?3 scope, ?4 and ?5 the key.
tenant = ?1 AND space = ?2 AND ref = ?4 AND id = ?5 AND (scope = ?3 OR EXISTS (
  SELECT 1 FROM journal j JOIN journal_scopes s ON s.scope_id = j.scope_id
   WHERE j.write_id = journal_writes.write_id AND {ofScope}))

-- name: destroyTags
UPDATE journal_writes SET tags = '[]' WHERE {versions};

-- name: destroyContents
DELETE FROM journal_contents WHERE tenant = ?1 AND content_id IN (
  SELECT content_id FROM journal_writes WHERE content_id IS NOT NULL AND {versions});

-- What one run leaves when it is purged: what it saw and has read, what is its own, what nobody published, and drafts.

-- name: purgeLayer
DELETE FROM journal_layers WHERE run_id = ?;

-- name: purgeReads
DELETE FROM journal_reads WHERE run_id = ?;

-- part: ownScopes
SELECT scope_id FROM journal_scopes
 WHERE tenant = (SELECT tenant FROM runs WHERE run_id = ?1) AND space IN ('memory', 'workspace')
   AND scope IN ('run:' || ?1, 'fork:' || ?1)

-- name: purgeOwn
DELETE FROM journal WHERE scope_id IN ({ownScopes});

-- name: purgeScopes
DELETE FROM journal_scopes WHERE scope_id IN ({ownScopes});

-- name: purgeUnpublished
DELETE FROM journal_writes WHERE run_id = ? AND NOT EXISTS (
  SELECT 1 FROM journal j WHERE j.write_id = journal_writes.write_id);

-- name: purgeDrafts
DELETE FROM journal_contents WHERE run_id = ? AND NOT EXISTS (
  SELECT 1 FROM journal_writes w
   WHERE w.tenant = journal_contents.tenant AND w.content_id = journal_contents.content_id);

-- Of an erased tenant a limited number at a time. Pieces go before what they belong to, which would take all of its own along.

-- name: erasePieces
DELETE FROM journal_pieces WHERE rowid IN (SELECT rowid FROM journal_pieces WHERE tenant = ? LIMIT ?);

-- name: eraseUploads
DELETE FROM journal_uploads WHERE (tenant, content_id) IN (
  SELECT tenant, content_id FROM journal_uploads WHERE tenant = ? LIMIT ?);

-- name: erasePublished
DELETE FROM journal WHERE (scope_id, pos) IN (
  SELECT j.scope_id, j.pos FROM journal_scopes s JOIN journal j ON j.scope_id = s.scope_id WHERE s.tenant = ? LIMIT ?);

-- name: eraseWrites
DELETE FROM journal_writes WHERE write_id IN (
  SELECT w.write_id FROM journal_writes w
   WHERE w.tenant = ? AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.write_id = w.write_id) LIMIT ?);

-- name: eraseContents
DELETE FROM journal_contents WHERE (tenant, content_id) IN (
  SELECT tenant, content_id FROM journal_contents WHERE tenant = ? LIMIT ?);

-- name: eraseEvents
DELETE FROM tenant_events WHERE (tenant, seq) IN (SELECT tenant, seq FROM tenant_events WHERE tenant = ? LIMIT ?);

-- name: eraseReads
DELETE FROM journal_reads WHERE (tenant, name, run_id) IN (
  SELECT tenant, name, run_id FROM journal_reads WHERE tenant = ? LIMIT ?);

-- name: eraseScopes
DELETE FROM journal_scopes WHERE tenant = ?;

-- name: eraseStream
DELETE FROM tenant_streams WHERE tenant = ?;

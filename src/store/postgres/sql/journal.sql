-- Memory and workspaces.

-- name: journalHeads
SELECT space, head, horizon, entries FROM assay.journal_scopes
 WHERE tenant = $1 AND (space, scope) IN (('memory', $2), ('workspace', $3))

-- name: keepContent
SELECT assay.keep_content($1::jsonb)

-- name: readContent
SELECT run_id AS "runId", sealed, text_is_body AS "textIsBody", text, body, pieces FROM assay.journal_contents
 WHERE tenant = $1 AND content_id = $2

-- name: keepPiece
SELECT assay.keep_piece($1, $2, $3, $4, $5, $6::bytea)

-- name: readPiece
SELECT body FROM assay.journal_pieces WHERE tenant = $1 AND content_id = $2 AND piece = $3

-- name: dropUpload
DELETE FROM assay.journal_uploads WHERE tenant = $1 AND content_id = $2

-- name: collectUploads
SELECT assay.collect_uploads($1, $2) AS collected

-- part: write
w.run_id AS "runId", w.seq AS sequence, w.space, w.ref, w.id, w.op, w.tags, w.at, w.expires_at AS "expiresAt",
  w.content_id AS "contentId", w.hash, w.bytes, w.content_type AS "contentType", j.pos AS position, j.version,
  w.agent_id AS "agentId", nullif(w.node_id, '') AS "nodeId"

-- name: ownEntries
-- What runs see of their own: $1 tenant, $2 space, $3 scope, $4 anchor, $5 the runs; words only where $6 says so.
SELECT {write}, CASE WHEN $6 THEN c.words END AS words
  FROM jsonb_array_elements($5::jsonb) WITH ORDINALITY AS r(v, i)
 CROSS JOIN LATERAL (
   SELECT * FROM assay.journal_layers l
    WHERE l.run_id = r.v->>'runId' AND l.tenant = $1 AND l.space = $2 AND l.scope = $3
      AND l.seq < (r.v->>'before')::bigint AND (l.left_seq IS NULL OR l.left_seq >= (r.v->>'before')::bigint)
      AND ($7::text IS NULL OR (l.ref = $7 AND l.id = $8::text)) OFFSET 0) l
  CROSS JOIN LATERAL (SELECT * FROM assay.journal_writes k WHERE k.write_id = l.write_id OFFSET 0) w
  LEFT JOIN LATERAL (SELECT k.words FROM assay.journal_contents k
                      WHERE $6 AND k.tenant = w.tenant AND k.content_id = w.content_id OFFSET 0) c ON true
  LEFT JOIN LATERAL (
    SELECT k.pos, k.version FROM assay.journal k WHERE k.write_id = w.write_id AND k.scope_id = (
      SELECT s.scope_id FROM assay.journal_scopes s WHERE s.tenant = $1 AND s.space = $2 AND s.scope = $3) OFFSET 0) j ON true
 WHERE j.pos IS NULL OR j.pos > $4
 ORDER BY r.i, l.seq DESC, l.ord DESC


-- part: its_write
-- Looked up one by one, whatever the planner thinks of how many there are.
CROSS JOIN LATERAL (SELECT * FROM assay.journal_writes k WHERE k.write_id = j.write_id OFFSET 0) w

-- part: of_scope
-- One number, looked up once.
j.scope_id = (SELECT s.scope_id FROM assay.journal_scopes s WHERE s.tenant = $1 AND s.space = $2 AND s.scope = $3)

-- name: countHeld
-- Keys that have no put in the scope, and would: $1 tenant, $2 space, $3 scope, $4 the runs.
SELECT count(*) AS keys
  FROM (SELECT ref, id, max(write_id) AS write_id FROM (
          SELECT l.ref, l.id, l.write_id
            FROM jsonb_array_elements($4::jsonb) r(v)
           CROSS JOIN LATERAL (SELECT * FROM assay.journal_layers k
                                WHERE k.run_id = r.v->>'runId' AND k.left_seq IS NULL OFFSET 0) l
           WHERE l.tenant = $1 AND l.space = $2 AND l.scope = $3
           UNION ALL
          SELECT w.ref, w.id, w.write_id FROM assay.journal_writes w
           WHERE w.run_id = $4::jsonb->0->>'runId' AND w.seq >= ($4::jsonb->0->>'before')::bigint
             AND w.tenant = $1 AND w.space = $2 AND w.scope = $3) a GROUP BY ref, id) h
 CROSS JOIN LATERAL (SELECT * FROM assay.journal_writes k WHERE k.write_id = h.write_id AND k.op = 'put' OFFSET 0) w
 WHERE NOT EXISTS (
   SELECT 1 FROM assay.journal j JOIN assay.journal_writes p ON p.write_id = j.write_id AND p.op = 'put'
    WHERE {of_scope} AND j.ref = h.ref AND j.id = h.id AND j.until IS NULL)

-- name: publishedEntry
SELECT {write} FROM assay.journal j {its_write}
 WHERE {of_scope} AND j.ref = $5 AND j.id = $6 AND j.pos <= $4 ORDER BY j.pos DESC LIMIT 1

-- name: entryOfAttempt
-- The latest of a key that one attempt at a node wrote: $1 tenant, $2 space, $3 run, $4 node, $5 its start, $6 before, $7 and $8
-- the key. Where the run is a branch, what it shares is its own.
SELECT {write}, w.scope
  FROM (SELECT $3::text AS run_id, 0::bigint AS from_seq, $6::bigint AS upto
         UNION ALL
        SELECT source_run_id, from_seq, least(upto, $6) FROM assay.prefixes WHERE run_id = $3) p
 CROSS JOIN LATERAL (
   SELECT * FROM assay.journal_writes k
    WHERE k.run_id = p.run_id AND k.node_id = $4 AND k.since = $5 AND k.seq >= p.from_seq AND k.seq < p.upto OFFSET 0) w
  LEFT JOIN assay.journal j ON j.write_id = w.write_id AND j.scope_id = (
    SELECT s.scope_id FROM assay.journal_scopes s WHERE s.tenant = $1 AND s.space = $2 AND s.scope = w.scope)
 WHERE w.tenant = $1 AND w.space = $2 AND w.ref = $7 AND w.id = $8 ORDER BY w.seq DESC LIMIT 1

-- part: fits
($6::text IS NULL OR j.ref = $6) AND ($7::text IS NULL OR starts_with(j.id, $7))
   AND ($8::text IS NULL OR $8 = ANY (w.tags))

-- part: spans
-- Of which spans (see `journal.span`) something was the latest at the anchor $4, and how far back it may have begun. At the head
-- nothing is seen that was superseded.
(SELECT s.scope_id, n.span, CASE WHEN n.span = 0 THEN 0 ELSE ($4 - 16::numeric ^ n.span)::bigint END AS above
   FROM assay.journal_scopes s,
        generate_series(0, CASE WHEN $4 < s.head THEN length(to_hex(s.head)) ELSE 0 END) AS n(span)
  WHERE s.tenant = $1 AND s.space = $2 AND s.scope = $3)

-- part: listing
-- The latest as of $4, of each span so many as are wanted at most: highest first.
j.span = p.span AND j.pos > p.above AND j.pos <= $4 AND j.pos < $5 AND (j.until IS NULL OR j.until > $4) AND {fits}
   ORDER BY j.pos DESC LIMIT $9

-- name: listEntries
SELECT l.* FROM {spans} p CROSS JOIN LATERAL (
  SELECT {write} FROM assay.journal j {its_write} WHERE j.scope_id = p.scope_id AND {listing}) l
 ORDER BY l.position DESC LIMIT $9

-- name: listEntriesOfRef
SELECT l.* FROM {spans} p CROSS JOIN LATERAL (
  SELECT {write} FROM assay.journal j {its_write} WHERE j.scope_id = p.scope_id AND j.ref = $6 AND {listing}) l
 ORDER BY l.position DESC LIMIT $9

-- part: keys_of_prefix
-- Keys that begin so, one after the other and each once, whatever was superseded; and the one after them.
WITH RECURSIVE keys (id) AS (
  (SELECT j.id FROM assay.journal j WHERE {of_scope} AND j.ref = $6 AND j.id >= $7 ORDER BY j.id LIMIT 1)
   UNION ALL
  SELECT n.id FROM keys CROSS JOIN LATERAL (
    SELECT j.id FROM assay.journal j WHERE {of_scope} AND j.ref = $6 AND j.id > keys.id ORDER BY j.id LIMIT 1) n
   WHERE starts_with(keys.id, $7))

-- name: countKeysOfPrefix
-- Up to $8. Nothing is seen from before the first position, nor below it.
{keys_of_prefix} SELECT count(*)::int AS keys FROM (SELECT 1 FROM keys WHERE $4::bigint > 0 AND $5::bigint > 0 LIMIT $8) k

-- name: listEntriesOfPrefix
-- All of them are sorted.
{keys_of_prefix}
SELECT {write} FROM keys CROSS JOIN LATERAL (
    SELECT * FROM assay.journal j WHERE {of_scope} AND j.ref = $6 AND j.id = keys.id AND j.pos <= $4
     ORDER BY j.pos DESC LIMIT 1) j {its_write}
 WHERE j.pos < $5 AND (j.until IS NULL OR j.until > $4) AND {fits}
 ORDER BY j.pos DESC LIMIT $9

-- name: matchEntries
-- Puts with all the words $5; with what they are found by. Looked through are those with the word that the fewest have been
-- found by; beyond a thousand all are many, and the first is as good as any.
WITH rarest AS MATERIALIZED (
  SELECT v.word FROM unnest($5::text[]) WITH ORDINALITY AS v(word, i)
   ORDER BY CASE WHEN cardinality($5::text[]) > 1 THEN (
     SELECT count(*) FROM (SELECT 1 FROM assay.journal_words j WHERE {of_scope} AND j.word = v.word LIMIT 1000) f) END, v.i
   LIMIT 1)
SELECT l.* FROM {spans} p CROSS JOIN LATERAL (
  SELECT {write}, c.words
    FROM (SELECT * FROM assay.journal_words k
           WHERE k.scope_id = p.scope_id AND k.word = (SELECT word FROM rarest) AND k.span = p.span AND k.pos > p.above AND k.pos <= $4
             AND NOT EXISTS (SELECT 1 FROM unnest($5::text[]) v(word) WHERE NOT EXISTS (
               SELECT 1 FROM assay.journal_words o
                WHERE o.scope_id = k.scope_id AND o.word = v.word AND o.span = k.span AND o.pos = k.pos))
           ORDER BY k.pos DESC OFFSET 0) f
   CROSS JOIN LATERAL (SELECT * FROM assay.journal k WHERE k.scope_id = f.scope_id AND k.pos = f.pos
                          AND (k.until IS NULL OR k.until > $4) OFFSET 0) j
    {its_write}
    LEFT JOIN LATERAL (SELECT k.words FROM assay.journal_contents k
                        WHERE k.tenant = w.tenant AND k.content_id = w.content_id OFFSET 0) c ON true
   WHERE ($6::text IS NULL OR j.ref = $6) AND ($7::text IS NULL OR $7 = ANY (w.tags))
   ORDER BY f.pos DESC LIMIT $8) l
 ORDER BY l.position DESC LIMIT $8

-- name: writeOutside
SELECT assay.write_outside($1, $2::jsonb, $3::jsonb, $4) AS result

-- name: readTenantEvents
SELECT seq AS sequence, type, payload, at FROM assay.tenant_events WHERE tenant = $1 AND seq >= $2 ORDER BY seq LIMIT $3

-- name: copiesOf
SELECT run_id AS "runId" FROM assay.runs WHERE tenant = $1 AND run_id IN (
  SELECT $2 UNION ALL SELECT r.run_id FROM assay.journal_reads r WHERE r.tenant = $1 AND r.name = $3) ORDER BY run_id

-- name: listScopes
SELECT s.scope, s.head, s.horizon, s.entries FROM assay.journal_scopes s
 WHERE s.tenant = $1 AND s.space = $2 AND ($3::text IS NULL OR s.scope > $3)
 ORDER BY s.scope LIMIT $4

-- name: collectJournal
SELECT assay.collect_journal($1, $2) AS collected

-- name: destroyContent
SELECT assay.destroy_content($1, $2, $3, $4, $5) AS destroyed

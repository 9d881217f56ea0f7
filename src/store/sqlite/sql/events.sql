-- part: event
e.seq, e.type, e.node_id, e.payload, e.secret, e.cause, e.at, e.input, e.salt, e.hash, e.erased, e.foreign_cause

-- part: size
-- Found without reading what it is the size of.
octet_length(e.payload) + coalesce(octet_length(e.secret), 0) AS bytes, e.seq

-- part: ownOfRun
FROM events e WHERE run_id = ? AND seq >= ? ORDER BY seq LIMIT ?

-- part: sharedWithRun
-- CROSS JOIN: segment by segment, in order, and no further than the limit.
FROM prefixes p CROSS JOIN events e
  ON e.run_id = p.source_run_id AND e.seq >= max(p.from_seq, ?2) AND e.seq < p.upto
WHERE p.run_id = ?1 AND p.upto > ?2 ORDER BY p.upto, e.seq LIMIT ?3

-- name: own
SELECT {event} {ownOfRun};

-- name: ownSizes
SELECT {size} {ownOfRun};

-- name: shared
SELECT {event} {sharedWithRun};

-- name: sharedSizes
SELECT {size} {sharedWithRun};

-- name: appendId
SELECT append_id FROM events WHERE run_id = ? AND seq = ?;

-- name: time
-- Of an event, the run's own or shared.
SELECT at FROM events WHERE run_id = ?1 AND seq = ?2
 UNION ALL
SELECT e.at FROM prefixes p JOIN events e ON e.run_id = p.source_run_id AND e.seq = ?2
 WHERE p.run_id = ?1 AND p.from_seq <= ?2 AND p.upto > ?2;

-- name: append
INSERT INTO events (run_id, seq, type, node_id, payload, secret, cause, foreign_cause, input, salt, hash, at, epoch, append_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: share
-- The source's own segments up to the cut, and then the rows of the source itself if the cut reaches them.
INSERT INTO prefixes (run_id, upto, source_run_id, from_seq)
SELECT ?1, min(upto, ?3), source_run_id, from_seq FROM prefixes WHERE run_id = ?2 AND from_seq < ?3
 UNION ALL
SELECT ?1, ?3, run_id, from_seq FROM runs WHERE run_id = ?2 AND from_seq < ?3;

-- name: snapshot
-- The latest kept state of a run, or of what it shares.
SELECT length, state FROM snapshots WHERE run_id = ?1 AND length <= ?2
 UNION ALL
SELECT s.length, s.state FROM prefixes p JOIN snapshots s
    ON s.run_id = p.source_run_id AND s.length <= min(p.upto, ?2)
 WHERE p.run_id = ?1 AND p.from_seq < ?2 ORDER BY length DESC LIMIT 1;

-- name: keepSnapshot
INSERT INTO snapshots (run_id, length, state) VALUES (?, ?, ?);

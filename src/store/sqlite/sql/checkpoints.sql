-- name: list
SELECT * FROM checkpoints WHERE seq >= ? ORDER BY seq LIMIT ?;

-- name: latest
SELECT * FROM checkpoints ORDER BY seq DESC LIMIT 1;

-- name: taken
SELECT hash, signature FROM checkpoints WHERE seq = ?;

-- name: add
INSERT INTO checkpoints (seq, at, key_id, prev, runs, purged, hash, signature) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: sealRuns
UPDATE runs SET checkpoint = ?
 WHERE run_id IN (SELECT value ->> 'runId' FROM json_each(?)) AND checkpoint IS NULL;

-- name: sealPurged
UPDATE purged SET checkpoint = ?
 WHERE run_id IN (SELECT value ->> 'runId' FROM json_each(?)) AND checkpoint IS NULL;

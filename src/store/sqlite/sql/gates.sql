-- name: gated
SELECT gate_id AS gateId, point, node_id AS nodeId, nullif(worker_id, '') AS workerId, confirm
  FROM gated WHERE run_id = ? ORDER BY point, node_id, gate_id, worker_id;

-- name: staged
SELECT seq AS sequence, gate_id AS gateId, attempt, target, result_hash AS resultHash, point, place,
       node_id AS nodeId, worker_id AS workerId
  FROM staged WHERE run_id = ? ORDER BY seq;

-- name: verdicts
SELECT seq AS sequence, gate_id AS gateId, target, result_hash AS resultHash, verdict, label, tenant, at
  FROM verdicts WHERE run_id = ? ORDER BY seq;

-- name: merges
SELECT seq AS sequence, gate_id AS gateId, staged_seq AS staged, target, result_hash AS resultHash,
       verdict_seq AS judged, verdict, label, confirm, event_hash AS eventHash
  FROM merges WHERE run_id = ? ORDER BY seq, gate_id;

-- part: listed
AND at >= ?2 ORDER BY at DESC, run_id DESC, seq DESC LIMIT ?3

-- One form for each index there is.

-- name: listVerdicts
SELECT run_id AS runId, seq AS sequence, gate_id AS gateId, verdict, at FROM verdicts WHERE tenant = ?1 {listed};

-- name: listVerdictsOfGate
SELECT run_id AS runId, seq AS sequence, gate_id AS gateId, verdict, at FROM verdicts
 WHERE tenant = ?1 AND gate_id = ?4 {listed};

-- name: addGated
INSERT INTO gated (run_id, gate_id, point, node_id, worker_id, confirm) VALUES (?, ?, ?, ?, ?, ?);

-- What was staged, judged and merged before the cut is so in the fork as well.

-- part: stagedRow
seq, gate_id, attempt, target, result_hash, point, place, node_id, worker_id

-- name: shareStaged
INSERT INTO staged (run_id, {stagedRow}) SELECT ?1, {stagedRow} FROM staged WHERE run_id = ?2 AND seq < ?3;

-- part: verdictRow
seq, gate_id, target, result_hash, verdict, label, at

-- name: shareVerdicts
INSERT INTO verdicts (run_id, {verdictRow}) SELECT ?1, {verdictRow} FROM verdicts WHERE run_id = ?2 AND seq < ?3;

-- part: mergeRow
seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict, label, confirm, event_hash

-- name: shareMerges
INSERT INTO merges (run_id, {mergeRow}) SELECT ?1, {mergeRow} FROM merges WHERE run_id = ?2 AND seq < ?3;

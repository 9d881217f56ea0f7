-- What gates have said, and the rows that the database derives from events (S10).

-- part: verdict
run_id AS "runId", seq AS sequence, gate_id AS "gateId", verdict, at

-- name: listVerdicts
-- Two statements, one for each index there is.
SELECT {verdict} FROM assay.verdicts WHERE tenant = $1 AND at >= $2 ORDER BY at DESC, run_id DESC, seq DESC LIMIT $3

-- name: listVerdictsOfGate
SELECT {verdict} FROM assay.verdicts WHERE tenant = $1 AND gate_id = $4 AND at >= $2
 ORDER BY at DESC, run_id DESC, seq DESC LIMIT $3

-- name: readGated
SELECT gate_id AS "gateId", point, node_id AS "nodeId", nullif(worker_id, '') AS "workerId", confirm
  FROM assay.gated WHERE run_id = $1 ORDER BY point, node_id, gate_id, worker_id

-- name: readStaged
SELECT seq AS sequence, gate_id AS "gateId", attempt, target, result_hash AS "resultHash", point, place,
       node_id AS "nodeId", worker_id AS "workerId"
  FROM assay.staged WHERE run_id = $1 ORDER BY seq

-- name: readJudged
SELECT seq AS sequence, gate_id AS "gateId", target, result_hash AS "resultHash", verdict, label, tenant, at
  FROM assay.verdicts WHERE run_id = $1 ORDER BY seq

-- name: readMerges
SELECT seq AS sequence, gate_id AS "gateId", staged_seq AS staged, target, result_hash AS "resultHash",
       verdict_seq AS judged, verdict, label, confirm, event_hash AS "eventHash"
  FROM assay.merges WHERE run_id = $1 ORDER BY seq, gate_id

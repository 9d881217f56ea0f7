-- S13. Unfinished runs, families, outcomes, and whatever is deleted are counted by triggers.

-- name: ofTenant
SELECT runs, bytes FROM usage WHERE tenant = ?;

-- name: ofFamily
SELECT runs FROM families WHERE root_run_id = ?;

-- name: count
-- What a commit appends to a run: once for each stream instead of once for each event.
INSERT INTO usage (tenant, bytes) SELECT tenant, ? FROM runs WHERE run_id = ?
ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;

-- name: last
SELECT seq, hash FROM trail WHERE tenant = ? ORDER BY seq DESC LIMIT 1;

-- name: add
INSERT INTO trail (tenant, seq, at, principal, credential, action, object, outcome, previous, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: list
SELECT tenant, seq, at, principal, credential, action, object, outcome, previous, hash FROM trail WHERE tenant = ? AND seq < ? ORDER BY seq DESC LIMIT ?;

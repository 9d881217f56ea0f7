-- name: notify
-- A notice for each payload.
SELECT pg_notify($1, p) FROM unnest($2::text[]) p

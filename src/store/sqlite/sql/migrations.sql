-- name: isBegun
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations';

-- name: list
SELECT version, name FROM migrations ORDER BY version;

-- name: add
INSERT INTO migrations (version, name) VALUES (?, ?);

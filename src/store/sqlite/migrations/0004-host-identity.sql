-- The id by which others know whoever works on this database, and whether an operator has given it. One row at most.
CREATE TABLE host_identity (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  host_id TEXT NOT NULL,
  given   INTEGER NOT NULL CHECK (given IN (0, 1))
);

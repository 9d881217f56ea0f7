-- The id by which others know whoever works on this database, and whether an operator has given it. One row at most.
CREATE TABLE host_identity (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  host_id text NOT NULL,
  given boolean NOT NULL
);

-- Who vouches for it that the erasure was asked for: the key, and its signature over tenant and moment. Null on rows that are
-- older; asking again signs them.
ALTER TABLE erasures ADD COLUMN key_id TEXT;
ALTER TABLE erasures ADD COLUMN signature TEXT;

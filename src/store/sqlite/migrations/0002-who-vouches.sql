-- Who vouches for it that the erasure was asked for: the key, and its signature over tenant and moment. Null on rows that are
-- older; asking again signs them.
ALTER TABLE erasures ADD COLUMN key_id TEXT;
ALTER TABLE erasures ADD COLUMN signature TEXT;

-- Through whom a key came to be: who made the key that made it, and so on, the first one first. Empty for keys that no other
-- key has made, and for those that are older.
ALTER TABLE api_keys ADD COLUMN made_by TEXT NOT NULL DEFAULT '[]';

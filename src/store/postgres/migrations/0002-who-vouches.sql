-- Who vouches for it that the erasure was asked for: the key, and its signature over tenant and moment. Null on rows that are
-- older; asking again signs them.
ALTER TABLE erasures ADD COLUMN key_id text;
ALTER TABLE erasures ADD COLUMN signature text;

DROP FUNCTION erase_tenants(text[], bigint);

-- How many runs are open; when there are none, the tenants are marked.
CREATE FUNCTION erase_tenants(names text[], asked bigint[], keys text[], signatures text[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  open bigint;
BEGIN
  LOCK TABLE erasures IN ACCESS EXCLUSIVE MODE;
  SELECT count(*) INTO open FROM runs WHERE tenant = ANY (names) AND ended_at IS NULL;
  IF open > 0 THEN
    RETURN open;
  END IF;
  INSERT INTO erasures (tenant, asked_at, key_id, signature)
  SELECT * FROM unnest(names, asked, keys, signatures)
  ON CONFLICT (tenant) DO UPDATE
     SET asked_at = excluded.asked_at, key_id = excluded.key_id, signature = excluded.signature;
  DELETE FROM tenant_keys WHERE tenant = ANY (names);
  DELETE FROM api_keys WHERE tenant = ANY (names);
  PERFORM delete_webhook(w.tenant, w.webhook_id)
     FROM (SELECT * FROM webhooks WHERE tenant = ANY (names) ORDER BY webhook_id) w;
  RETURN 0;
END $$;

-- Through whom a key came to be: who made the key that made it, and so on, the first one first. Empty for keys that no other
-- key has made, and for those that are older.
ALTER TABLE api_keys ADD COLUMN made_by jsonb NOT NULL DEFAULT '[]';

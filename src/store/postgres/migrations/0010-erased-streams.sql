-- How many runs are open; when there are none, the tenants are marked. Standing streams, which may never end, are no runs: they
-- are ended with the mark, and are nobody's any more, so that whoever holds one is fenced.
CREATE OR REPLACE FUNCTION erase_tenants(names text[], asked bigint[], keys text[], signatures text[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  open bigint;
BEGIN
  LOCK TABLE erasures IN ACCESS EXCLUSIVE MODE;
  SELECT count(*) INTO open FROM runs
   WHERE tenant = ANY (names) AND ended_at IS NULL AND NOT is_stream(workflow_id);
  IF open > 0 THEN
    RETURN open;
  END IF;
  UPDATE runs r SET status = 'cancelled', ended_at = m.at, wake_at = NULL, epoch = r.epoch + 1
    FROM unnest(names, asked) AS m (tenant, at) WHERE r.tenant = m.tenant AND r.ended_at IS NULL;
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

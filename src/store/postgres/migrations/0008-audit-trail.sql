-- Who did what to which things of a tenant, free of content: only ever added to, each record chained to the one before (S17).
CREATE TABLE trail (
  tenant     text COLLATE "C" NOT NULL,
  seq        bigint NOT NULL CHECK (seq > 0),
  at         bigint NOT NULL,
  principal  text NOT NULL,
  credential text NOT NULL,
  action     text NOT NULL,
  object     text NOT NULL,
  outcome    text NOT NULL CHECK (outcome IN ('begun', 'allowed', 'refused')),
  previous   text NOT NULL,
  hash       text NOT NULL,
  PRIMARY KEY (tenant, seq)
);

CREATE FUNCTION trail_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    -- Whoever comes second waits for the first one, and is turned away by the key.
    IF NEW.seq <> 1 AND NEW.previous IS DISTINCT FROM
         (SELECT t.hash FROM trail t WHERE t.tenant = NEW.tenant AND t.seq = NEW.seq - 1)
       OR NEW.seq = 1 AND NEW.previous <> '' THEN
      RAISE EXCEPTION 'trail_chained' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
  ELSIF TG_OP = 'UPDATE' THEN
    RAISE EXCEPTION 'trail_unchanged' USING ERRCODE = 'check_violation';
  ELSIF NOT EXISTS (SELECT 1 FROM erasures e WHERE e.tenant = OLD.tenant AND e.erased_at IS NOT NULL) THEN
    RAISE EXCEPTION 'trail_kept' USING ERRCODE = 'check_violation';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER trail_guard BEFORE INSERT OR UPDATE OR DELETE ON trail FOR EACH ROW EXECUTE FUNCTION trail_guard();

-- S14.
CREATE TRIGGER trail_of_erased BEFORE INSERT ON trail FOR EACH ROW EXECUTE FUNCTION refuse_erased();
CREATE FUNCTION trail_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM trail WHERE tenant = NEW.tenant;
  RETURN NULL;
END $$;
CREATE TRIGGER trail_erased AFTER UPDATE OF erased_at ON erasures FOR EACH ROW
  WHEN (NEW.erased_at IS NOT NULL) EXECUTE FUNCTION trail_erased();

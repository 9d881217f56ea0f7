-- Who did what to which things of a tenant, free of content: only ever added to, each record chained to the one before (S17).
CREATE TABLE trail (
  tenant     TEXT NOT NULL,
  seq        INTEGER NOT NULL CHECK (seq > 0),
  at         INTEGER NOT NULL,
  principal  TEXT NOT NULL,
  credential TEXT NOT NULL,
  action     TEXT NOT NULL,
  object     TEXT NOT NULL,
  outcome    TEXT NOT NULL CHECK (outcome IN ('begun', 'allowed', 'refused')),
  previous   TEXT NOT NULL,
  hash       TEXT NOT NULL,
  PRIMARY KEY (tenant, seq)
) WITHOUT ROWID;

CREATE TRIGGER trail_chained BEFORE INSERT ON trail
WHEN NEW.seq <> 1 + (SELECT coalesce(max(seq), 0) FROM trail WHERE tenant = NEW.tenant)
  OR NEW.previous <> coalesce((SELECT hash FROM trail WHERE tenant = NEW.tenant AND seq = NEW.seq - 1), '') BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: trail_chained');
END;
CREATE TRIGGER trail_unchanged BEFORE UPDATE ON trail BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: trail_unchanged');
END;
CREATE TRIGGER trail_kept BEFORE DELETE ON trail
WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE tenant = OLD.tenant AND erased_at IS NOT NULL) BEGIN
  SELECT RAISE(ABORT, 'CHECK constraint failed: trail_kept');
END;

-- S14.
CREATE TRIGGER trail_of_erased BEFORE INSERT ON trail
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;
CREATE TRIGGER trail_erased AFTER UPDATE OF erased_at ON erasures WHEN NEW.erased_at IS NOT NULL BEGIN
  DELETE FROM trail WHERE tenant = NEW.tenant;
END;

-- Files that are too long for one row come in pieces, each sealed by itself, before the content that they make up. Its body is
-- then the list of their hashes, in order, so that the hash in its event is one of all of them (docs/design/journal.md, S15).
ALTER TABLE journal_contents ADD COLUMN pieces INTEGER NOT NULL DEFAULT 0;

CREATE TABLE journal_pieces (
  tenant     TEXT NOT NULL,
  content_id TEXT NOT NULL,
  piece      INTEGER NOT NULL CHECK (piece >= 0),
  hash       TEXT NOT NULL,
  at         INTEGER NOT NULL,
  body       BLOB NOT NULL,
  PRIMARY KEY (tenant, content_id, piece)
);

-- What is still coming, and when the last of it came.
CREATE TABLE journal_uploads (
  tenant     TEXT NOT NULL,
  content_id TEXT NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (tenant, content_id)
) WITHOUT ROWID;
CREATE INDEX journal_uploads_at ON journal_uploads (at);

CREATE TRIGGER journal_pieces_of_whole BEFORE INSERT ON journal_pieces
WHEN EXISTS (SELECT 1 FROM journal_contents WHERE tenant = NEW.tenant AND content_id = NEW.content_id) BEGIN
  SELECT RAISE(IGNORE);
END;
CREATE TRIGGER journal_pieces_come AFTER INSERT ON journal_pieces BEGIN
  INSERT INTO journal_uploads (tenant, content_id, at) VALUES (NEW.tenant, NEW.content_id, NEW.at)
  ON CONFLICT (tenant, content_id) DO UPDATE SET at = max(at, excluded.at);
END;

-- S15: all of its pieces are stored, and they are those that its body lists.
CREATE TRIGGER journal_contents_pieces BEFORE INSERT ON journal_contents
WHEN NEW.pieces > 0
 AND NOT EXISTS (SELECT 1 FROM journal_contents WHERE tenant = NEW.tenant AND content_id = NEW.content_id)
 AND (SELECT count(*) <> NEW.pieces OR max(piece) <> NEW.pieces - 1
          OR CAST(group_concat(hash, char(10) ORDER BY piece) AS BLOB) IS NOT NEW.body
        FROM journal_pieces WHERE tenant = NEW.tenant AND content_id = NEW.content_id) BEGIN
  SELECT RAISE(ABORT, 'the content of a write is not stored, or is another');
END;
CREATE TRIGGER journal_contents_whole AFTER INSERT ON journal_contents WHEN NEW.pieces > 0 BEGIN
  DELETE FROM journal_uploads WHERE tenant = NEW.tenant AND content_id = NEW.content_id;
END;
CREATE TRIGGER journal_contents_pieces_gone AFTER DELETE ON journal_contents WHEN OLD.pieces > 0 BEGIN
  DELETE FROM journal_pieces WHERE tenant = OLD.tenant AND content_id = OLD.content_id;
END;
-- What did not become content goes with its upload.
CREATE TRIGGER journal_uploads_gone AFTER DELETE ON journal_uploads
WHEN NOT EXISTS (SELECT 1 FROM journal_contents WHERE tenant = OLD.tenant AND content_id = OLD.content_id) BEGIN
  DELETE FROM journal_pieces WHERE tenant = OLD.tenant AND content_id = OLD.content_id;
END;

-- S13.
CREATE TRIGGER journal_pieces_usage AFTER INSERT ON journal_pieces BEGIN
  INSERT INTO usage (tenant, bytes) VALUES (NEW.tenant, length(NEW.body))
  ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER journal_pieces_usage_gone AFTER DELETE ON journal_pieces BEGIN
  UPDATE usage SET bytes = bytes - length(OLD.body) WHERE tenant = OLD.tenant;
END;

-- S14.
CREATE TRIGGER journal_pieces_of_erased BEFORE INSERT ON journal_pieces
WHEN EXISTS (SELECT 1 FROM erasures WHERE tenant = NEW.tenant) BEGIN
  SELECT RAISE(ABORT, 'the tenant was erased');
END;

-- Files that are too long for one row come in pieces, each sealed by itself, before the content that they make up. Its body is
-- then the list of their hashes, in order, so that the hash in its event is one of all of them (docs/design/journal.md, S15).
ALTER TABLE journal_contents ADD COLUMN pieces bigint NOT NULL DEFAULT 0;

CREATE TABLE journal_pieces (
  tenant     text COLLATE "C" NOT NULL,
  content_id text COLLATE "C" NOT NULL,
  piece      bigint NOT NULL CHECK (piece >= 0),
  hash       text COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  body       bytea NOT NULL,
  PRIMARY KEY (tenant, content_id, piece)
);
-- What is sealed cannot be compressed; whoever reads one does not wait for an attempt at it.
ALTER TABLE journal_pieces ALTER COLUMN body SET STORAGE EXTERNAL;

-- What is still coming, and when the last of it came.
CREATE TABLE journal_uploads (
  tenant     text COLLATE "C" NOT NULL,
  content_id text COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  PRIMARY KEY (tenant, content_id)
);
CREATE INDEX journal_uploads_at ON journal_uploads (at);

CREATE FUNCTION keep_piece(whose text, content text, nth bigint, with_hash text, at_time bigint, bytes bytea) RETURNS void
  LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM journal_contents WHERE tenant = whose AND content_id = content) THEN RETURN; END IF;
  INSERT INTO journal_uploads AS u (tenant, content_id, at) VALUES (whose, content, at_time)
  ON CONFLICT (tenant, content_id) DO UPDATE SET at = greatest(u.at, excluded.at);
  INSERT INTO journal_pieces (tenant, content_id, piece, hash, at, body)
  VALUES (whose, content, nth, with_hash, at_time, bytes) ON CONFLICT DO NOTHING;
END $$;

-- S15: all of its pieces are stored, and they are those that its body lists. Whoever collects uploads finds it locked.
CREATE FUNCTION contents_have_pieces() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM journal_contents WHERE tenant = NEW.tenant AND content_id = NEW.content_id) THEN RETURN NEW; END IF;
  PERFORM 1 FROM journal_uploads WHERE tenant = NEW.tenant AND content_id = NEW.content_id FOR UPDATE;
  IF (SELECT count(*) <> NEW.pieces OR max(piece) <> NEW.pieces - 1
          OR convert_to(string_agg(hash, E'\n' ORDER BY piece), 'UTF8') IS DISTINCT FROM NEW.body
        FROM journal_pieces WHERE tenant = NEW.tenant AND content_id = NEW.content_id) THEN
    RAISE EXCEPTION 'the content of a write is not stored, or is another' USING ERRCODE = 'AC404';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER journal_contents_pieces BEFORE INSERT ON journal_contents
  FOR EACH ROW WHEN (NEW.pieces > 0) EXECUTE FUNCTION contents_have_pieces();

CREATE FUNCTION contents_are_whole() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM journal_uploads WHERE tenant = NEW.tenant AND content_id = NEW.content_id;
  RETURN NULL;
END $$;
CREATE TRIGGER journal_contents_whole AFTER INSERT ON journal_contents
  FOR EACH ROW WHEN (NEW.pieces > 0) EXECUTE FUNCTION contents_are_whole();

CREATE FUNCTION pieces_are_gone() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM journal_pieces p WHERE p.tenant = OLD.tenant AND p.content_id = OLD.content_id AND NOT EXISTS (
    SELECT 1 FROM journal_contents c WHERE c.tenant = OLD.tenant AND c.content_id = OLD.content_id);
  RETURN NULL;
END $$;
CREATE TRIGGER journal_contents_pieces_gone AFTER DELETE ON journal_contents
  FOR EACH ROW WHEN (OLD.pieces > 0) EXECUTE FUNCTION pieces_are_gone();
-- What did not become content goes with its upload.
CREATE TRIGGER journal_uploads_gone AFTER DELETE ON journal_uploads FOR EACH ROW EXECUTE FUNCTION pieces_are_gone();

CREATE FUNCTION collect_uploads(older_than bigint, at_most bigint) RETURNS bigint LANGUAGE plpgsql
  SET jit = off SET enable_seqscan = off AS $$
DECLARE
  n bigint;
BEGIN
  DELETE FROM journal_uploads WHERE (tenant, content_id) IN (
    SELECT tenant, content_id FROM journal_uploads WHERE at < older_than ORDER BY at LIMIT at_most FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;

CREATE OR REPLACE FUNCTION keep_content(c jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO journal_contents (tenant, content_id, run_id, hash, sealed, text_is_body, words, text, body, pieces)
  VALUES (c->>'tenant', c->>'contentId', c->>'runId', c->>'hash', (c->>'sealed')::boolean, (c->>'textIsBody')::boolean,
          CASE WHEN c->'words' <> 'null' THEN ARRAY(SELECT jsonb_array_elements_text(c->'words')) END,
          decode(c->>'text', 'base64'), decode(c->>'body', 'base64'), (c->>'pieces')::bigint)
  ON CONFLICT DO NOTHING
$$;

-- S13: bodies are counted, once each.
CREATE TRIGGER bytes_of_pieces AFTER INSERT OR DELETE ON journal_pieces
  FOR EACH ROW EXECUTE FUNCTION bytes_of_contents();

-- S14.
CREATE TRIGGER journal_pieces_of_erased BEFORE INSERT ON journal_pieces
  FOR EACH ROW EXECUTE FUNCTION refuse_erased();
-- Of an erased tenant a limited number at a time; how many of each kind were deleted. Pieces go before what they belong to,
-- which would take all of its own along.
CREATE OR REPLACE FUNCTION erase_journal(whose text, at_most bigint) RETURNS bigint[] LANGUAGE plpgsql
  SET jit = off SET enable_seqscan = off AS $$
DECLARE
  counts bigint[] := '{}';
  n bigint;
BEGIN
  DELETE FROM journal_pieces WHERE ctid = ANY (ARRAY(SELECT ctid FROM journal_pieces WHERE tenant = whose LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  IF n = at_most THEN RETURN counts; END IF;
  DELETE FROM journal WHERE ctid = ANY (ARRAY(
    SELECT j.ctid FROM journal_scopes s JOIN journal j ON j.scope_id = s.scope_id WHERE s.tenant = whose LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  DELETE FROM journal_writes WHERE write_id = ANY (ARRAY(
    SELECT w.write_id FROM journal_writes w
     WHERE w.tenant = whose AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.write_id = w.write_id) LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  DELETE FROM journal_contents WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM journal_contents WHERE tenant = whose LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  DELETE FROM journal_uploads WHERE ctid = ANY (ARRAY(SELECT ctid FROM journal_uploads WHERE tenant = whose LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  DELETE FROM tenant_events WHERE ctid = ANY (ARRAY(SELECT ctid FROM tenant_events WHERE tenant = whose LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  DELETE FROM journal_reads WHERE ctid = ANY (ARRAY(SELECT ctid FROM journal_reads WHERE tenant = whose LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN counts || n;
END $$;

-- The journal: what runs write down for later (docs/design/journal.md, S15). A trigger makes the rows of events, so whoever
-- writes an event writes them too, and only `publish_write` gives out positions: under a lock of the scope, which is held until
-- the transaction ends. `commit_batch` takes those locks up front and in one order, so that batches never wait in a circle.

-- The words themselves, stored before an event tells of them. `text` is what they are found by, null where the body is
-- sealed or no text; where it is the body, text_is_body says so and it is not stored twice. `words` are those of the text.
CREATE TABLE journal_contents (
  tenant       text COLLATE "C" NOT NULL,
  content_id   text COLLATE "C" NOT NULL,
  run_id       text COLLATE "C",
  hash         text NOT NULL,
  sealed       boolean NOT NULL,
  text_is_body boolean NOT NULL,
  words        text[] COLLATE "C",
  text         bytea,
  body         bytea NOT NULL,
  PRIMARY KEY (tenant, content_id)
);
CREATE INDEX journal_contents_run ON journal_contents (run_id) WHERE run_id IS NOT NULL;

-- One for each event that tells of a write; those outside of runs have the run_id `tenant:` and the tenant, and the token of
-- the call that made them, by which a repetition knows its own.
CREATE TABLE journal_writes (
  write_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id       text COLLATE "C" NOT NULL,
  seq          bigint NOT NULL,
  tenant       text COLLATE "C" NOT NULL,
  space        text COLLATE "C" NOT NULL CHECK (space IN ('memory', 'workspace')),
  scope        text COLLATE "C" NOT NULL,
  ref          text COLLATE "C" NOT NULL,
  id           text COLLATE "C" NOT NULL,
  op           text NOT NULL CHECK (op IN ('put', 'forget')),
  node_id      text COLLATE "C" NOT NULL,
  since        bigint NOT NULL,
  agent_id     text,
  tags         text[] COLLATE "C" NOT NULL,
  at           bigint NOT NULL,
  expires_at   bigint,
  content_id   text COLLATE "C",
  hash         text,
  bytes        bigint NOT NULL,
  content_type text,
  if_match     bigint,
  seen         bigint NOT NULL,
  token        text,
  UNIQUE (run_id, seq)
);
CREATE INDEX journal_writes_attempts ON journal_writes (run_id, node_id, since, seq);
CREATE INDEX journal_writes_keys ON journal_writes (tenant, space, ref, id);
CREATE INDEX journal_writes_contents ON journal_writes (tenant, content_id) WHERE content_id IS NOT NULL;
CREATE INDEX journal_writes_expiry ON journal_writes (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX journal_writes_tokens ON journal_writes (token) WHERE token IS NOT NULL;

-- What a run sees of its own, from event seq on and, if it left, up to left_seq. `scope` is where it gets its position when
-- this run publishes it; isolated says that nobody above reads there.
CREATE TABLE journal_layers (
  run_id   text COLLATE "C" NOT NULL,
  seq      bigint NOT NULL,
  ord      bigint NOT NULL,
  write_id bigint NOT NULL,
  tenant   text COLLATE "C" NOT NULL,
  space    text COLLATE "C" NOT NULL,
  scope    text COLLATE "C" NOT NULL,
  ref      text COLLATE "C" NOT NULL,
  id       text COLLATE "C" NOT NULL,
  node_id  text COLLATE "C" NOT NULL,
  isolated boolean NOT NULL,
  left_seq bigint,
  PRIMARY KEY (run_id, seq, ord)
);
CREATE INDEX journal_layers_keys ON journal_layers (run_id, space, scope, ref, id, seq, ord);
CREATE INDEX journal_layers_writes ON journal_layers (write_id);

-- What lies before the horizon cannot be read any more. `entries` are the keys whose latest row is a put.
CREATE TABLE journal_scopes (
  scope_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant   text COLLATE "C" NOT NULL,
  space    text COLLATE "C" NOT NULL,
  scope    text COLLATE "C" NOT NULL,
  head     bigint NOT NULL DEFAULT 0,
  horizon  bigint NOT NULL DEFAULT 0,
  entries  bigint NOT NULL DEFAULT 0,
  UNIQUE (tenant, space, scope)
);

-- What is published. `until` is the next position of the same key, ended_at when that was given out. `span` is 0 for the
-- latest of a key, and else how many hexadecimal digits `until - pos` has: what was the latest at a position has begun
-- less than 16 ^ span before it, so that a look back at one does not pass by all that was superseded before.
CREATE TABLE journal (
  scope_id bigint NOT NULL REFERENCES journal_scopes (scope_id),
  pos      bigint NOT NULL CHECK (pos > 0),
  write_id bigint NOT NULL REFERENCES journal_writes (write_id),
  ref      text COLLATE "C" NOT NULL,
  id       text COLLATE "C" NOT NULL,
  version  bigint,
  at       bigint NOT NULL,
  until    bigint CHECK (until > pos),
  ended_at bigint,
  span     int NOT NULL DEFAULT 0 CHECK ((span = 0) = (until IS NULL)),
  PRIMARY KEY (scope_id, pos)
);
CREATE UNIQUE INDEX journal_once ON journal (write_id, scope_id);
CREATE INDEX journal_keys ON journal (scope_id, ref, id, pos);
CREATE INDEX journal_spans ON journal (scope_id, span, pos);
CREATE INDEX journal_ref_spans ON journal (scope_id, ref, span, pos);
CREATE INDEX journal_ended ON journal (ended_at, until) WHERE until IS NOT NULL;

-- What puts are found by: words of the text, or where there is none `#` and each tag. Kept apart by scope, so that nothing of
-- another is looked at.
CREATE TABLE journal_words (
  scope_id bigint NOT NULL,
  word     text COLLATE "C" NOT NULL,
  span     int NOT NULL,
  pos      bigint NOT NULL,
  PRIMARY KEY (scope_id, word, span, pos)
);

-- Who has read what, `name` being the run and the sequence of a write.
CREATE TABLE journal_reads (
  tenant text COLLATE "C" NOT NULL,
  name   text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, name, run_id)
);
CREATE INDEX journal_reads_run ON journal_reads (run_id);

-- A tenant's own stream, and how much was written outside of its runs. Whoever counts holds the row until its end, so that
-- numbers have no gaps.
CREATE TABLE tenant_streams (
  tenant text COLLATE "C" PRIMARY KEY,
  events bigint NOT NULL DEFAULT 0,
  writes bigint NOT NULL DEFAULT 0
);
CREATE TABLE tenant_events (
  tenant  text COLLATE "C" NOT NULL,
  seq     bigint NOT NULL,
  type    text NOT NULL,
  payload text NOT NULL,
  at      bigint NOT NULL,
  PRIMARY KEY (tenant, seq)
);

CREATE FUNCTION tell_tenant(whose text, event_type text, told text, happened bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  n bigint;
BEGIN
  INSERT INTO tenant_streams AS t (tenant, events) VALUES (whose, 1)
  ON CONFLICT (tenant) DO UPDATE SET events = t.events + 1 RETURNING t.events - 1 INTO n;
  INSERT INTO tenant_events (tenant, seq, type, payload, at) VALUES (whose, n, event_type, told, happened);
END $$;


-- Publishing ------------------------------------------------------------------------------------------------------------

CREATE FUNCTION scope_lock(tenant text, space text, scope text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
  $$ SELECT hashtextextended('assay.journal.' || jsonb_build_array(tenant, space, scope)::text, 0) $$;

CREATE FUNCTION lowered(tag text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT lower(tag COLLATE "C") $$;

CREATE FUNCTION found_by(which bigint) RETURNS text[] LANGUAGE plpgsql STABLE SET jit = off SET enable_seqscan = off AS $$
DECLARE
  w journal_writes;
  found text[];
BEGIN
  SELECT * INTO w FROM journal_writes WHERE write_id = which AND op = 'put';
  SELECT c.words INTO found FROM journal_contents c WHERE c.tenant = w.tenant AND c.content_id = w.content_id;
  RETURN ARRAY(SELECT DISTINCT t FROM unnest(coalesce(found, ARRAY(SELECT '#' || lowered(t) FROM unnest(w.tags) t))) t);
END $$;

-- The next position of the scope, unless the write has one there. A file that must have another version is refused.
-- `run` and `n` name the event that publishes it.
CREATE FUNCTION publish_write(which bigint, target text, happened bigint, run text, n bigint) RETURNS void LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
DECLARE
  w journal_writes;
  s journal_scopes;
  latest record;
  current bigint;
  next_version bigint;
BEGIN
  SELECT * INTO w FROM journal_writes WHERE write_id = which;
  PERFORM pg_advisory_xact_lock(scope_lock(w.tenant, w.space, target));
  SELECT * INTO s FROM journal_scopes WHERE tenant = w.tenant AND space = w.space AND scope = target;
  IF NOT FOUND THEN
    INSERT INTO journal_scopes (tenant, space, scope) VALUES (w.tenant, w.space, target) RETURNING * INTO s;
  END IF;
  IF EXISTS (SELECT 1 FROM journal WHERE write_id = which AND scope_id = s.scope_id) THEN
    RETURN;
  END IF;
  SELECT j.pos, j.version, j.span, p.op INTO latest FROM journal j JOIN journal_writes p ON p.write_id = j.write_id
   WHERE j.scope_id = s.scope_id AND j.ref = w.ref AND j.id = w.id ORDER BY j.pos DESC LIMIT 1;
  IF w.space = 'workspace' THEN
    current := CASE WHEN latest.pos IS NULL THEN w.seen WHEN latest.op = 'put' THEN latest.version ELSE 0 END;
    IF w.if_match <> current THEN
      RAISE EXCEPTION 'a file has another version' USING ERRCODE = 'AW409',
        DETAIL = jsonb_build_object('runId', run, 'sequence', n, 'path', w.id, 'currentVersion', current)::text;
    END IF;
    next_version := coalesce(latest.version, w.seen) + 1;
  END IF;
  UPDATE journal_scopes SET head = head + 1,
         entries = entries + (w.op = 'put')::int - coalesce(latest.op = 'put' AND latest.span = 0, false)::int
   WHERE scope_id = s.scope_id RETURNING * INTO s;
  INSERT INTO journal (scope_id, pos, write_id, ref, id, version, at)
  VALUES (s.scope_id, s.head, which, w.ref, w.id, next_version, happened);
  INSERT INTO journal_words (scope_id, word, span, pos) SELECT s.scope_id, t, 0, s.head FROM unnest(found_by(which)) t;
  IF w.space = 'workspace' AND target = '' THEN
    PERFORM tell_tenant(w.tenant, 'workspace.updated',
                        '{"path":' || to_json(w.id)::text || ',"version":' || next_version || '}', happened);
  END IF;
END $$;

-- A position is never given out twice and none is left out: it is the scope's head. The key's row before ends here.
CREATE FUNCTION journal_dense() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  before journal;
BEGIN
  IF NEW.pos IS DISTINCT FROM (SELECT head FROM journal_scopes WHERE scope_id = NEW.scope_id)
     OR EXISTS (SELECT 1 FROM journal WHERE scope_id = NEW.scope_id AND pos >= NEW.pos) THEN
    RAISE EXCEPTION 'positions of a scope are dense from 1' USING ERRCODE = 'check_violation';
  END IF;
  UPDATE journal SET until = NEW.pos, ended_at = NEW.at, span = length(to_hex(NEW.pos - pos))
   WHERE scope_id = NEW.scope_id AND until IS NULL AND pos = (
     SELECT max(j.pos) FROM journal j
      WHERE j.scope_id = NEW.scope_id AND j.ref = NEW.ref AND j.id = NEW.id AND j.pos < NEW.pos)
  RETURNING * INTO before;
  UPDATE journal_words SET span = before.span
   WHERE scope_id = before.scope_id AND word = ANY (found_by(before.write_id)) AND span = 0 AND pos = before.pos;
  RETURN NEW;
END $$;
CREATE TRIGGER journal_dense BEFORE INSERT ON journal FOR EACH ROW EXECUTE FUNCTION journal_dense();

-- Whether a run of that workflow may be that worker's. A worker is a workflow, or an agent, for which the host makes one: its
-- name is the agent's, with a hash where that alone would not tell agents apart.
CREATE FUNCTION is_worker(worker text, workflow text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT worker = workflow
      OR (workflow = 'assay-agent-' || replace(worker, '.', '-') AND worker !~ '[^a-z0-9.]')
      OR left(workflow, greatest(length(workflow) - 13, 0)) = left('assay-agent-' || lower(replace(worker, '.', '-') COLLATE "C"), 100)
$$;

-- Whether a gate stands between a run and its scopes further up: before its parent, at that one's exit, or above it.
CREATE FUNCTION is_held_above(run text) RETURNS boolean LANGUAGE plpgsql STABLE SET jit = off SET enable_seqscan = off AS $$
DECLARE
  r record;
BEGIN
  SELECT parent_run_id, parent_node_id, workflow_id INTO r FROM runs WHERE run_id = run;
  LOOP
    IF NOT FOUND THEN
      RETURN true;
    END IF;
    IF r.parent_run_id IS NULL THEN
      RETURN false;
    END IF;
    IF EXISTS (SELECT 1 FROM gated g WHERE g.run_id = r.parent_run_id
                  AND (g.point = 'run' OR (g.point = 'harvest' AND g.node_id = r.parent_node_id
                                           AND (g.worker_id = '' OR is_worker(g.worker_id, r.workflow_id))))) THEN
      RETURN true;
    END IF;
    SELECT parent_run_id, parent_node_id, workflow_id INTO r FROM runs WHERE run_id = r.parent_run_id;
  END LOOP;
END $$;


-- From events to rows ---------------------------------------------------------------------------------------------------

-- What enters the layer of a run that nothing holds is published.
CREATE FUNCTION enter_layer(run text, n bigint, node text, happened bigint, writes bigint[], targets text[],
                            isolations boolean[]) RETURNS void LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO journal_layers (run_id, seq, ord, write_id, tenant, space, scope, ref, id, node_id, isolated)
  SELECT run, n, e.i, w.write_id, w.tenant, w.space, e.target, w.ref, w.id, node, e.isolated OR e.target = 'run:' || run
    FROM unnest(writes, targets, isolations) WITH ORDINALITY AS e(write_id, target, isolated, i)
    JOIN journal_writes w ON w.write_id = e.write_id;
  IF cardinality(writes) > 0 AND NOT EXISTS (SELECT 1 FROM gated WHERE run_id = run AND point = 'run')
     AND NOT is_held_above(run) THEN
    FOR i IN 1 .. cardinality(writes) LOOP
      PERFORM publish_write(writes[i], targets[i], happened, run, n);
    END LOOP;
  END IF;
END $$;

-- Where a gate stands before the node, the write is stored and no more.
CREATE FUNCTION take_write(e events, whose text) RETURNS void LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  said jsonb := readable(e.secret);
  told journal_writes;
  is_put boolean := e.type IN ('memory.written', 'assay.file.written');
BEGIN
  IF is_put AND NOT EXISTS (SELECT 1 FROM journal_contents c WHERE c.tenant = whose
                               AND c.content_id = said->>'contentId' AND c.hash = said->>'hash') THEN
    RAISE EXCEPTION 'the content of a write is not stored, or is another' USING ERRCODE = 'AC404';
  END IF;
  INSERT INTO journal_writes (run_id, seq, tenant, space, scope, ref, id, op, node_id, since, agent_id, tags, at, expires_at,
                              content_id, hash, bytes, content_type, if_match, seen)
  VALUES (e.run_id, e.seq, whose,
          CASE WHEN e.type IN ('memory.written', 'assay.memory.forgotten') THEN 'memory' ELSE 'workspace' END,
          said->>'scope', said->>'ref', said->>'id', CASE WHEN is_put THEN 'put' ELSE 'forget' END,
          coalesce(e.node_id, ''), (said->>'since')::bigint, readable(e.payload)->>'agentId',
          ARRAY(SELECT jsonb_array_elements_text(said->'tags')), e.at, (said->>'expiresAt')::bigint, said->>'contentId',
          said->>'hash', (said->>'bytes')::bigint, said->>'contentType', (said->>'ifMatch')::bigint,
          (said->>'seen')::bigint)
  RETURNING * INTO told;
  IF NOT EXISTS (SELECT 1 FROM gated g WHERE g.run_id = e.run_id AND g.point = 'node' AND g.node_id = e.node_id) THEN
    PERFORM enter_layer(e.run_id, e.seq, told.node_id, e.at, ARRAY[told.write_id], ARRAY[told.scope]::text[],
                        ARRAY[false]);
  END IF;
END $$;

-- What the attempt wrote that the event names; before the cut of a branch, into the branch's own scope.
CREATE FUNCTION take_attempt(e events) RETURNS void LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  n bigint := (readable(e.secret)->>'since')::bigint;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM gated g WHERE g.run_id = e.run_id AND g.point = 'node' AND g.node_id = e.node_id) THEN
    RETURN;
  END IF;
  PERFORM enter_layer(e.run_id, e.seq, e.node_id, e.at, array_agg(a.write_id ORDER BY a.seq),
                      array_agg(a.target ORDER BY a.seq), array_agg(false))
     FROM (SELECT w.write_id, w.seq, 'fork:' || e.run_id AS target
             FROM prefixes p JOIN journal_writes w
               ON w.run_id = p.source_run_id AND w.seq >= p.from_seq AND w.seq < p.upto
            WHERE p.run_id = e.run_id AND w.node_id = e.node_id AND w.since = n
            UNION ALL
           SELECT w.write_id, w.seq, w.scope FROM journal_writes w
            WHERE w.run_id = e.run_id AND w.node_id = e.node_id AND w.since = n) a
   HAVING count(*) > 0;
END $$;

-- What a child has left, once nothing stands between it and the run. A branch takes it from its source's children.
CREATE FUNCTION take_child(e events, whose text) RETURNS void LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  said jsonb := readable(e.payload);
  child runs;
  is_own boolean;
  is_held boolean;
BEGIN
  IF said->>'phase' NOT IN ('child.completed', 'output.harvested')
     OR NOT EXISTS (SELECT 1 FROM journal_layers WHERE run_id = said->>'childRunId') THEN
    RETURN;
  END IF;
  SELECT * INTO child FROM runs WHERE run_id = said->>'childRunId' AND tenant = whose AND parent_node_id = e.node_id;
  is_own := child.parent_run_id = e.run_id;
  is_held := EXISTS (SELECT 1 FROM gated g WHERE g.run_id = e.run_id AND g.point = 'harvest' AND g.node_id = e.node_id
                        AND (g.worker_id = '' OR is_worker(g.worker_id, child.workflow_id)));
  IF child.run_id IS NULL OR (NOT is_own AND NOT EXISTS (
       SELECT 1 FROM prefixes p WHERE p.run_id = e.run_id AND p.source_run_id = child.parent_run_id))
     OR (said->>'phase' = 'output.harvested') <> is_held
     -- Gates are asked by the worker that the event names (S10): it must be the child's.
     OR (is_held AND is_worker(said->>'workerId', child.workflow_id) IS NOT TRUE)
     -- Past a gate at its exit there is only one way out.
     OR (EXISTS (SELECT 1 FROM gated g WHERE g.run_id = child.run_id AND g.point = 'run') AND NOT EXISTS (
       SELECT 1 FROM events t WHERE t.run_id = child.run_id AND t.type = 'run.completed')) THEN
    RETURN;
  END IF;
  PERFORM enter_layer(e.run_id, e.seq, e.node_id, e.at, array_agg(l.write_id ORDER BY l.seq, l.ord),
                      array_agg(CASE WHEN is_own THEN l.scope ELSE 'fork:' || e.run_id END ORDER BY l.seq, l.ord),
                      array_agg(l.isolated ORDER BY l.seq, l.ord))
     FROM journal_layers l
    WHERE l.run_id = child.run_id AND l.left_seq IS NULL AND (is_own OR NOT l.isolated)
   HAVING count(*) > 0;
END $$;

CREATE FUNCTION take_rework(e events) RETURNS void LANGUAGE sql AS $$
  UPDATE journal_layers l SET left_seq = e.seq
   WHERE l.run_id = e.run_id AND l.left_seq IS NULL
     AND (l.node_id = e.node_id OR coalesce(readable(e.secret)->'returned' ? l.node_id, false))
     AND readable(e.payload)->>'point' = 'run' AND NOT EXISTS (
       SELECT 1 FROM journal_scopes s JOIN journal j ON j.scope_id = s.scope_id
        WHERE s.tenant = l.tenant AND s.space = l.space AND s.scope = l.scope AND j.write_id = l.write_id)
$$;

CREATE FUNCTION take_exit(e events) RETURNS void LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  l record;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM gated WHERE run_id = e.run_id AND point = 'run') OR is_held_above(e.run_id) THEN
    RETURN;
  END IF;
  FOR l IN SELECT write_id, scope FROM journal_layers
            WHERE run_id = e.run_id AND left_seq IS NULL ORDER BY seq, ord LOOP
    PERFORM publish_write(l.write_id, l.scope, e.at, e.run_id, e.seq);
  END LOOP;
END $$;

-- Looks at a whole INSERT at once, in the order of its rows. A replay writes nothing; what it reads is a copy all the same.
CREATE FUNCTION events_journal() RETURNS trigger LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
DECLARE
  e events;
  r record;
BEGIN
  FOR e IN SELECT * FROM fresh WHERE type IN (
    'memory.written', 'assay.memory.forgotten', 'assay.file.written', 'assay.file.removed', 'assay.journal.read',
    'node.completed', 'core.workflowChain.event', 'assay.rework.began', 'run.completed')
  LOOP
    -- Nearly all of these are of runs without gates, and of children that have left nothing.
    CONTINUE WHEN e.type IN ('node.completed', 'run.completed')
      AND NOT EXISTS (SELECT 1 FROM gated WHERE run_id = e.run_id);
    SELECT tenant, fork_mode INTO r FROM runs WHERE run_id = e.run_id;
    IF e.type = 'assay.journal.read' THEN
      INSERT INTO journal_reads (tenant, name, run_id)
      SELECT r.tenant, v.name, e.run_id FROM jsonb_array_elements_text(readable(e.secret)->'rows') AS v(name)
      ON CONFLICT DO NOTHING;
    END IF;
    CONTINUE WHEN r.fork_mode = 'replay' OR e.type = 'assay.journal.read';
    CASE e.type
      WHEN 'node.completed' THEN PERFORM take_attempt(e);
      WHEN 'core.workflowChain.event' THEN PERFORM take_child(e, r.tenant);
      WHEN 'assay.rework.began' THEN PERFORM take_rework(e);
      WHEN 'run.completed' THEN PERFORM take_exit(e);
      ELSE PERFORM take_write(e, r.tenant);
    END CASE;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER events_journal AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION events_journal();

-- The scopes that a batch may publish in: those that its writes name, and those of what its merging events may let in. What
-- is not among them is locked when it is published, which is as safe and may wait in a circle.
CREATE FUNCTION lock_scopes(journaled jsonb) RETURNS void LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(l.k) FROM (
    SELECT DISTINCT scope_lock(s.tenant, s.space, s.scope) AS k FROM jsonb_array_elements(journaled) AS h(v), LATERAL (
      SELECT coalesce(h.v->>'tenant', (SELECT r.tenant FROM runs r WHERE r.run_id = h.v->>'runId')) AS tenant,
             h.v->>'space' AS space, h.v->>'scope' AS scope
       WHERE h.v ? 'scope'
       UNION ALL
      SELECT l.tenant, l.space, l.scope FROM journal_layers l WHERE l.run_id = h.v->>'layer'
       UNION ALL
      SELECT w.tenant, w.space, w.scope FROM journal_writes w
       WHERE w.run_id = h.v->>'runId' AND w.node_id = h.v->>'nodeId' AND w.since = (h.v->>'since')::bigint
       UNION ALL
      SELECT r.tenant, p.space, 'fork:' || r.run_id
        FROM runs r, (VALUES ('memory'), ('workspace')) AS p(space)
       WHERE r.run_id = h.v->>'runId' AND r.fork_mode = 'branch') s
     ORDER BY 1) l;
END $$;


-- Outside of runs -------------------------------------------------------------------------------------------------------

CREATE FUNCTION keep_content(c jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO journal_contents (tenant, content_id, run_id, hash, sealed, text_is_body, words, text, body)
  VALUES (c->>'tenant', c->>'contentId', c->>'runId', c->>'hash', (c->>'sealed')::boolean, (c->>'textIsBody')::boolean,
          CASE WHEN c->'words' <> 'null' THEN ARRAY(SELECT jsonb_array_elements_text(c->'words')) END,
          decode(c->>'text', 'base64'), decode(c->>'body', 'base64'))
  ON CONFLICT DO NOTHING
$$;

-- All or none: what was written before a refusal is undone with its savepoint.
CREATE FUNCTION write_outside(whose text, writes jsonb, event jsonb, call text) RETURNS jsonb LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
DECLARE
  w jsonb;
  n bigint;
  written journal_writes;
  detail text;
BEGIN
  PERFORM pg_advisory_xact_lock(l.k) FROM (
    SELECT DISTINCT scope_lock(whose, o.v->>'space', o.v->>'scope') AS k FROM jsonb_array_elements(writes) AS o(v)
     ORDER BY 1) l;
  IF NOT EXISTS (SELECT 1 FROM journal_writes WHERE token = call) THEN
    FOR w IN SELECT o.v FROM jsonb_array_elements(writes) AS o(v) LOOP
      IF w->>'op' = 'forget' AND NOT coalesce((
        SELECT p.op = 'put' AND (p.expires_at IS NULL OR p.expires_at > (w->>'at')::bigint)
          FROM journal_scopes s JOIN journal j ON j.scope_id = s.scope_id JOIN journal_writes p ON p.write_id = j.write_id
         WHERE s.tenant = whose AND s.space = w->>'space' AND s.scope = w->>'scope'
           AND j.ref = w->>'ref' AND j.id = w->>'id' ORDER BY j.pos DESC LIMIT 1), false) THEN
        RAISE EXCEPTION 'nothing to forget' USING ERRCODE = 'AA404', DETAIL = w->>'id';
      END IF;
      IF w->'content' <> 'null' THEN
        PERFORM keep_content(w->'content');
      END IF;
      INSERT INTO tenant_streams AS t (tenant, writes) VALUES (whose, 1)
      ON CONFLICT (tenant) DO UPDATE SET writes = t.writes + 1 RETURNING t.writes - 1 INTO n;
      INSERT INTO journal_writes (run_id, seq, tenant, space, scope, ref, id, op, node_id, since, tags, at, expires_at,
                                  content_id, hash, bytes, content_type, if_match, seen, token)
      VALUES ('tenant:' || whose, n, whose, w->>'space', w->>'scope', w->>'ref', w->>'id', w->>'op', '', 0,
              ARRAY(SELECT jsonb_array_elements_text(w->'tags')), (w->>'at')::bigint, (w->>'expiresAt')::bigint,
              w->'content'->>'contentId', w->>'hash', (w->>'bytes')::bigint, w->>'contentType',
              (w->>'ifMatch')::bigint, 0, call)
      RETURNING * INTO written;
      PERFORM publish_write(written.write_id, written.scope, written.at, written.run_id, written.seq);
    END LOOP;
    IF event <> 'null' THEN
      PERFORM tell_tenant(whose, event->>'type', event->>'payload', (event->>'at')::bigint);
    END IF;
  END IF;
  RETURN jsonb_build_object('kind', 'written', 'rows', coalesce((
    SELECT jsonb_agg(jsonb_build_object('position', j.pos, 'version', j.version) ORDER BY p.seq)
      FROM journal_writes p JOIN journal j ON j.write_id = p.write_id WHERE p.token = call), '[]'));
EXCEPTION
  WHEN SQLSTATE 'AW409' THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN jsonb_build_object('kind', 'conflict', 'id', detail::jsonb->>'path',
                              'currentVersion', detail::jsonb->'currentVersion');
  WHEN SQLSTATE 'AA404' THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN jsonb_build_object('kind', 'absent', 'id', detail);
END $$;


-- What goes -------------------------------------------------------------------------------------------------------------

-- It takes with it what is of no use without it.
CREATE FUNCTION journal_gone() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM journal_words WHERE scope_id = OLD.scope_id AND word = ANY (found_by(OLD.write_id))
     AND span = OLD.span AND pos = OLD.pos;
  UPDATE journal_scopes SET entries = entries - 1 WHERE OLD.span = 0 AND scope_id = OLD.scope_id
     AND EXISTS (SELECT 1 FROM journal_writes WHERE write_id = OLD.write_id AND op = 'put');
  DELETE FROM journal_layers WHERE write_id = OLD.write_id
     AND scope = (SELECT s.scope FROM journal_scopes s WHERE s.scope_id = OLD.scope_id);
  DELETE FROM journal_writes WHERE write_id = OLD.write_id
     AND NOT EXISTS (SELECT 1 FROM journal WHERE write_id = OLD.write_id)
     AND NOT EXISTS (SELECT 1 FROM journal_layers WHERE write_id = OLD.write_id);
  RETURN NULL;
END $$;
CREATE TRIGGER journal_gone AFTER DELETE ON journal FOR EACH ROW EXECUTE FUNCTION journal_gone();

CREATE FUNCTION journal_writes_gone() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM journal_layers WHERE write_id = OLD.write_id;
  DELETE FROM journal_contents WHERE tenant = OLD.tenant AND content_id = OLD.content_id
     AND NOT EXISTS (SELECT 1 FROM journal_writes WHERE tenant = OLD.tenant AND content_id = OLD.content_id);
  RETURN NULL;
END $$;
CREATE TRIGGER journal_writes_gone AFTER DELETE ON journal_writes FOR EACH ROW EXECUTE FUNCTION journal_writes_gone();

-- What was superseded; and what has expired and is the latest of its key, once something was published after its end. In the
-- scope of a branch it still hides what is beneath. Scopes are locked one after the other, in order.
CREATE FUNCTION collect_journal(older_than bigint, at_most bigint) RETURNS bigint LANGUAGE plpgsql
  SET jit = off SET enable_seqscan = off AS $$
DECLARE
  g record;
  n bigint := 0;
BEGIN
  FOR g IN
    SELECT c.*, scope_lock(s.tenant, s.space, s.scope) AS k FROM (
      SELECT * FROM (
        (SELECT j.scope_id, j.pos, j.until, j.ended_at FROM journal j
          WHERE j.until IS NOT NULL AND j.ended_at < older_than ORDER BY j.ended_at, j.until LIMIT at_most)
        UNION ALL
        (SELECT j.scope_id, j.pos, f.pos, w.expires_at
           FROM journal_writes w JOIN journal j ON j.write_id = w.write_id JOIN journal_scopes s USING (scope_id),
                LATERAL (SELECT min(m.pos) AS pos FROM journal m
                          WHERE m.scope_id = j.scope_id AND m.pos > j.pos AND m.at > w.expires_at AND m.at < older_than) f
          WHERE w.expires_at < older_than AND j.until IS NULL AND w.op = 'put' AND s.space = 'memory'
            AND s.scope NOT LIKE 'fork:%' AND f.pos IS NOT NULL
          ORDER BY w.expires_at, f.pos LIMIT at_most)) u
       ORDER BY ended_at, until LIMIT at_most) c JOIN journal_scopes s USING (scope_id)
    ORDER BY k, c.pos
  LOOP
    PERFORM pg_advisory_xact_lock(g.k);
    DELETE FROM journal WHERE scope_id = g.scope_id AND pos = g.pos;
    IF FOUND THEN
      n := n + 1;
      UPDATE journal_scopes SET horizon = greatest(horizon, g.until) WHERE scope_id = g.scope_id;
    END IF;
  END LOOP;
  RETURN n;
END $$;

-- Every version of a key in a scope, those that are held included. Rows stay, with hashes, and without tags.
CREATE FUNCTION destroy_content(whose text, of_space text, of_scope text, of_ref text, of_id text) RETURNS bigint
  LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  meant bigint[];
  n bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(scope_lock(whose, of_space, of_scope));
  meant := ARRAY(SELECT w.write_id FROM journal_writes w
    WHERE w.tenant = whose AND w.space = of_space AND w.ref = of_ref AND w.id = of_id AND (w.scope = of_scope OR EXISTS (
      SELECT 1 FROM journal j JOIN journal_scopes s ON s.scope_id = j.scope_id
       WHERE j.write_id = w.write_id AND s.tenant = whose AND s.space = of_space AND s.scope = of_scope)));
  DELETE FROM journal_words f USING journal j, unnest(found_by(j.write_id)) t(word)
   WHERE j.write_id = ANY (meant) AND f.scope_id = j.scope_id AND f.word = t.word AND f.span = j.span AND f.pos = j.pos;
  UPDATE journal_writes SET tags = '{}' WHERE write_id = ANY (meant);
  DELETE FROM journal_contents c USING journal_writes w
   WHERE w.write_id = ANY (meant) AND c.tenant = w.tenant AND c.content_id = w.content_id;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;

-- What one run leaves when it is purged: what it saw and has read, what is its own, what nobody published, and drafts.
CREATE FUNCTION purge_journal(run text) RETURNS void LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
DECLARE
  own bigint[] := ARRAY(SELECT s.scope_id FROM journal_scopes s
    WHERE s.tenant = (SELECT r.tenant FROM runs r WHERE r.run_id = run) AND s.space IN ('memory', 'workspace')
      AND s.scope IN ('run:' || run, 'fork:' || run));
BEGIN
  DELETE FROM journal_layers WHERE run_id = run;
  DELETE FROM journal_reads WHERE run_id = run;
  DELETE FROM journal WHERE scope_id = ANY (own);
  DELETE FROM journal_scopes WHERE scope_id = ANY (own);
  DELETE FROM journal_writes w WHERE w.run_id = run AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.write_id = w.write_id);
  DELETE FROM journal_contents c WHERE c.run_id = run AND NOT EXISTS (
    SELECT 1 FROM journal_writes w WHERE w.tenant = c.tenant AND w.content_id = c.content_id);
END $$;

-- Of an erased tenant a limited number at a time; how many of each kind were deleted.
CREATE FUNCTION erase_journal(whose text, at_most bigint) RETURNS bigint[] LANGUAGE plpgsql
  SET jit = off SET enable_seqscan = off AS $$
DECLARE
  counts bigint[] := '{}';
  n bigint;
BEGIN
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
  DELETE FROM tenant_events WHERE ctid = ANY (ARRAY(SELECT ctid FROM tenant_events WHERE tenant = whose LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  DELETE FROM journal_reads WHERE ctid = ANY (ARRAY(SELECT ctid FROM journal_reads WHERE tenant = whose LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN counts || n;
END $$;

-- S13: bodies are counted, once each.
CREATE FUNCTION bytes_of_contents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO usage_changes (tenant, runs, bytes) VALUES (NEW.tenant, 0, octet_length(NEW.body));
  ELSE
    INSERT INTO usage_changes (tenant, runs, bytes) VALUES (OLD.tenant, 0, -octet_length(OLD.body));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER bytes_of_contents AFTER INSERT OR DELETE ON journal_contents
  FOR EACH ROW EXECUTE FUNCTION bytes_of_contents();

-- S14.
CREATE TRIGGER journal_contents_of_erased BEFORE INSERT ON journal_contents
  FOR EACH ROW EXECUTE FUNCTION refuse_erased();
CREATE TRIGGER journal_writes_of_erased BEFORE INSERT ON journal_writes
  FOR EACH ROW EXECUTE FUNCTION refuse_erased();
CREATE TRIGGER tenant_events_of_erased BEFORE INSERT ON tenant_events
  FOR EACH ROW EXECUTE FUNCTION refuse_erased();


-- What was there before, with the journal in it -------------------------------------------------------------------------

-- Scopes are locked after runs, and before subscriptions.
DROP FUNCTION commit_batch(jsonb, text[], text[], text[], boolean, boolean, boolean, text[]);
CREATE FUNCTION commit_batch(batch jsonb, writers text[], names text[], run_ids text[], forks boolean,
                             gates boolean, snapshots_kept boolean, webhook_ids text[],
                             journaled jsonb DEFAULT '[]') RETURNS jsonb
  LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
DECLARE
  refused jsonb[];
  s jsonb;
  ended bigint;
  woken text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(k) FROM (SELECT DISTINCT host_lock(w) AS k FROM unnest(writers) w ORDER BY 1) l;
  PERFORM pg_advisory_xact_lock(k)
     FROM (SELECT DISTINCT hashtextextended('assay.name.' || n, 0) AS k FROM unnest(names) n ORDER BY 1) l;
  PERFORM 1 FROM runs WHERE run_id = ANY (run_ids) ORDER BY run_id FOR UPDATE;
  IF journaled <> '[]' THEN
    PERFORM lock_scopes(journaled);
  END IF;
  IF cardinality(webhook_ids) > 0 THEN
    PERFORM pg_advisory_xact_lock_shared(k)
       FROM (SELECT DISTINCT webhook_lock(w) AS k FROM unnest(webhook_ids) w ORDER BY 1) l;
  END IF;

  -- The order of the checks is part of the contract: host, receipt, each stream's sequence and epoch, scopes.
  SELECT array_agg(CASE
    WHEN NOT EXISTS (SELECT 1 FROM hosts h WHERE h.host_id = b.c->>'hostId' AND h.state = 'alive')
    THEN '{"kind":"fenced"}'
    ELSE coalesce(
      CASE WHEN b.c ? 'receipt' THEN receipt_refusal(b.c->'receipt') END,
      (SELECT CASE WHEN s.v ? 'create' OR r.length IS NULL OR (s.v->>'expected')::bigint <> r.length
                   THEN jsonb_build_object('kind', 'conflict', 'runId', s.v->>'runId')
                   ELSE '{"kind":"fenced"}' END
         FROM jsonb_array_elements(b.c->'streams') WITH ORDINALITY AS s(v, n)
         LEFT JOIN LATERAL (SELECT * FROM runs WHERE run_id = s.v->>'runId' OFFSET 0) r ON true
        WHERE s.v ? 'create' <> (r.length IS NULL) OR (s.v->>'expected')::bigint <> r.length
           OR (s.v->>'epoch')::bigint <> r.epoch OR (s.v->>'epoch' IS NOT NULL AND r.owner <> b.c->>'hostId')
        ORDER BY s.n LIMIT 1),
      (SELECT jsonb_build_object('kind', 'scope-active', 'runId', r.run_id)
         FROM jsonb_array_elements(b.c->'streams') AS s(v),
              LATERAL (SELECT run_id FROM runs
                        WHERE tenant = s.v->'create'->>'tenant' AND scope_id = s.v->'create'->>'scopeId'
                          AND scope_id IS NOT NULL AND ended_at IS NULL ORDER BY run_id LIMIT 1) r
        WHERE (s.v->'create'->>'exclusiveScope')::boolean LIMIT 1))
    END ORDER BY b.i) INTO refused
  FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i);

  FOR i IN 1 .. jsonb_array_length(batch) LOOP
    IF refused[i] IS NOT NULL AND was_applied(batch->(i - 1)) THEN
      refused[i] := '{"kind":"committed"}';
    END IF;
  END LOOP;

  refused := within_quotas(batch, refused);

  IF forks THEN
    PERFORM share_prefix(s.v->>'runId', s.v->'create'->>'tenant', f.v),
            share_gate_rows(s.v->>'runId', f.v->>'sourceRunId', (f.v->>'fromSeq')::bigint)
       FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v),
            LATERAL (SELECT s.v->'create'->'fork' OFFSET 0) AS f(v)
      WHERE refused[b.i] IS NULL AND f.v <> 'null';
  END IF;

  IF gates THEN
    INSERT INTO gated (run_id, point, node_id, gate_id, worker_id, confirm)
    SELECT s.v->>'runId', g.v->>'point', g.v->>'nodeId', g.v->>'gateId', coalesce(g.v->>'workerId', ''), g.v->>'confirm'
      FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v),
           jsonb_array_elements(s.v->'create'->'gated') AS g(v)
     WHERE refused[b.i] IS NULL;
  END IF;

  INSERT INTO runs (run_id, tenant, workflow_id, workflow_digest, parent_run_id, parent_node_id, scope_id, tags, status,
                    length, owner, epoch, attempts, wake_at, created_at, updated_at, ended_at, unsealed_at, head,
                    source_run_id, from_seq, source_length, fork_mode, append_id)
  SELECT s.v->>'runId', n.v->>'tenant', n.v->>'workflowId', n.v->>'workflowDigest', n.v->>'parentRunId',
         n.v->>'parentNodeId', n.v->>'scopeId', ARRAY(SELECT jsonb_array_elements_text(n.v->'tags')), s.v->>'status',
         (s.v->>'expected')::bigint + jsonb_array_length(e.v), b.c->>'hostId', 1, 0,
         CASE WHEN t.ended IS NULL THEN (s.v->>'wakeAt')::bigint END, t.first, t.last, t.ended,
         CASE WHEN s.v->>'head' <> '' THEN t.ended END, s.v->>'head',
         f.v->>'sourceRunId', coalesce((f.v->>'fromSeq')::bigint, 0), (f.v->>'sourceLength')::bigint, f.v->>'mode',
         CASE WHEN f.v->>'mode' IS NOT NULL THEN b.c->>'appendId' END
    FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v),
         LATERAL (SELECT s.v->'create' OFFSET 0) AS n(v), LATERAL (SELECT s.v->'events' OFFSET 0) AS e(v),
         LATERAL (SELECT n.v->'fork' OFFSET 0) AS f(v),
         -- Of what the run shares, when there is nothing else.
         LATERAL (SELECT
           coalesce((e.v->0->>'at')::bigint, (SELECT at FROM event_of(s.v->>'runId', 0))) AS first,
           coalesce((e.v->-1->>'at')::bigint,
                    (SELECT at FROM event_of(s.v->>'runId', (s.v->>'expected')::bigint - 1))) AS last,
           CASE WHEN e.v = '[]' THEN shared_end(s.v->>'runId', (s.v->>'expected')::bigint) ELSE end_of(e.v) END AS ended
           OFFSET 0) AS t
   WHERE refused[b.i] IS NULL AND n.v IS NOT NULL;

  FOR s IN SELECT t.v FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i),
                  jsonb_array_elements(b.c->'streams') AS t(v) WHERE refused[b.i] IS NULL AND NOT t.v ? 'create' LOOP
    ended := end_of(s->'events');
    UPDATE runs SET
      status = s->>'status',
      length = (s->>'expected')::bigint + jsonb_array_length(s->'events'),
      attempts = 0,
      updated_at = coalesce((s->'events'->-1->>'at')::bigint, updated_at),
      ended_at = coalesce(ended_at, ended),
      unsealed_at = CASE WHEN ended_at IS NULL AND s->>'head' <> '' THEN ended ELSE unsealed_at END,
      head = s->>'head',
      wake_at = CASE WHEN coalesce(ended_at, ended) IS NULL THEN (s->>'wakeAt')::bigint END
    WHERE run_id = s->>'runId';
  END LOOP;

  INSERT INTO events (run_id, seq, type, node_id, payload, secret, cause, at, input, salt, hash, epoch, append_id)
  SELECT r.run_id, e.sequence, e.type, e."nodeId", e.payload, e.secret, e.cause, e.at, e.input, e.salt, e.hash, r.epoch,
         CASE WHEN e.sequence = (s.v->>'expected')::bigint THEN b.c->>'appendId' END
    FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v),
         LATERAL (SELECT run_id, epoch FROM runs WHERE run_id = s.v->>'runId' OFFSET 0) r,
         jsonb_to_recordset(s.v->'events')
           AS e(sequence bigint, type text, "nodeId" text, payload text, secret text, cause bigint, at bigint,
                input text, salt text, hash text)
   WHERE refused[b.i] IS NULL;

  IF snapshots_kept THEN
    INSERT INTO snapshots (run_id, length, state)
    SELECT s.v->>'runId', (s.v->>'expected')::bigint + jsonb_array_length(s.v->'events'), s.v->>'snapshot'
      FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'streams') AS s(v)
     WHERE refused[b.i] IS NULL AND s.v ? 'snapshot'
    ON CONFLICT DO NOTHING;
  END IF;

  IF cardinality(webhook_ids) > 0 THEN
    PERFORM add_deliveries(jsonb_agg(d.v))
       FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), jsonb_array_elements(b.c->'deliveries') AS d(v)
      WHERE refused[b.i] IS NULL;
  END IF;

  -- Spelled so that no partial index seems to fit: of those, the planner may read all where one row is wanted.
  FOR woken IN SELECT DISTINCT w.id FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i),
                      jsonb_array_elements_text(b.c->'wakes') AS w(id) WHERE refused[b.i] IS NULL LOOP
    UPDATE runs SET wake_at = 0 WHERE run_id = woken AND coalesce(ended_at, -1) = -1 AND coalesce(wake_at, -1) <> 0;
  END LOOP;

  INSERT INTO receipts (tenant, endpoint, key, digest, state, lease_owner, lease_until, status, headers, body, at)
  SELECT n.v->>'tenant', n.v->>'endpoint', n.v->>'key', n.v->>'digest', n.v->>'state', n.v->>'leaseOwner',
         (n.v->>'leaseUntil')::bigint, (n.v->>'status')::integer, (n.v->'headers')::json, n.v->>'body',
         (n.v->>'at')::bigint
    FROM jsonb_array_elements(batch) WITH ORDINALITY AS b(c, i), LATERAL (SELECT b.c->'receipt' OFFSET 0) AS n(v)
   WHERE refused[b.i] IS NULL AND n.v IS NOT NULL
  ON CONFLICT (tenant, endpoint, key) DO UPDATE SET
    digest = excluded.digest, state = excluded.state, lease_owner = excluded.lease_owner,
    lease_until = excluded.lease_until, status = excluded.status, headers = excluded.headers,
    body = excluded.body, at = excluded.at, claim = NULL;

  RETURN jsonb_build_object(
    'answers', to_jsonb(refused),
    'peers', (SELECT count(*) FROM hosts WHERE state = 'alive') > 1);
END $$;

CREATE OR REPLACE FUNCTION delete_purged(root text, deleter text, at_most bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  run text;
  deleted bigint;
BEGIN
  PERFORM 1 FROM purged WHERE run_id = root AND is_stored AND lease_host = deleter FOR UPDATE;
  IF NOT FOUND THEN
    RETURN 'lost';
  END IF;
  SELECT run_id INTO run FROM purged WHERE root_run_id = root AND is_stored ORDER BY run_id = root, run_id DESC LIMIT 1;
  DELETE FROM events WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM events WHERE run_id = run ORDER BY seq DESC LIMIT at_most));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  IF deleted = at_most THEN
    RETURN 'more';
  END IF;
  DELETE FROM snapshots WHERE run_id = run;
  DELETE FROM merges WHERE run_id = run;
  DELETE FROM verdicts WHERE run_id = run;
  DELETE FROM staged WHERE run_id = run;
  DELETE FROM gated WHERE run_id = run;
  DELETE FROM prefixes WHERE run_id = run;
  DELETE FROM invocations WHERE run_id = run;
  PERFORM purge_journal(run);
  DELETE FROM runs WHERE run_id = run;
  UPDATE purged SET is_stored = false, lease_host = NULL WHERE run_id = run;
  RETURN CASE WHEN run = root THEN 'done' ELSE 'more' END;
END $$;

CREATE OR REPLACE FUNCTION erase_run(name text, eraser text, run text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF NOT holds_erasure(name, eraser) THEN
    RETURN false;
  END IF;
  DELETE FROM snapshots WHERE run_id = run;
  DELETE FROM merges WHERE run_id = run;
  DELETE FROM verdicts WHERE run_id = run;
  DELETE FROM staged WHERE run_id = run;
  DELETE FROM gated WHERE run_id = run;
  DELETE FROM invocations WHERE run_id = run;
  PERFORM purge_journal(run);
  UPDATE runs SET tags = '{}', scope_id = NULL WHERE run_id = run;
  UPDATE erasures SET upto_run = run WHERE tenant = name;
  RETURN true;
END $$;

CREATE OR REPLACE FUNCTION finish_erasure(name text, eraser text, at bigint, at_most bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  counts bigint[] := '{}';
  n bigint;
  digests text[];
BEGIN
  IF NOT holds_erasure(name, eraser) THEN
    RETURN 'lost';
  END IF;
  IF EXISTS (SELECT 1 FROM runs WHERE tenant = name
                AND run_id > (SELECT e.upto_run FROM erasures e WHERE e.tenant = name)) THEN
    RETURN 'more';
  END IF;
  DELETE FROM receipts WHERE ctid = ANY (ARRAY(SELECT ctid FROM receipts WHERE tenant = name LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  DELETE FROM standards WHERE ctid = ANY (ARRAY(SELECT ctid FROM standards WHERE tenant = name LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  DELETE FROM deliveries WHERE ctid = ANY (ARRAY(SELECT ctid FROM deliveries WHERE tenant = name LIMIT at_most));
  GET DIAGNOSTICS n = ROW_COUNT;
  counts := counts || n;
  counts := counts || erase_journal(name, at_most);
  IF at_most = ANY (counts) THEN
    RETURN 'more';
  END IF;
  DELETE FROM journal_scopes WHERE tenant = name;
  DELETE FROM tenant_streams WHERE tenant = name;
  digests := ARRAY(SELECT workflow_digest FROM runs WHERE tenant = name
                    UNION SELECT digest FROM workflows WHERE tenant = name);
  DELETE FROM workflows WHERE tenant = name;
  DELETE FROM definitions d WHERE d.digest = ANY (digests)
     AND NOT EXISTS (SELECT 1 FROM workflows w WHERE w.digest = d.digest)
     AND d.digest NOT IN (SELECT r.workflow_digest FROM runs r WHERE r.tenant <> name
       AND NOT EXISTS (SELECT 1 FROM erasures e WHERE e.tenant = r.tenant AND e.erased_at IS NOT NULL));
  UPDATE erasures SET erased_at = at, lease_host = NULL WHERE tenant = name;
  RETURN 'done';
END $$;

-- S10 is held here. `gated` says where a run's blocking gates stand; the other tables are fed by a trigger from the
-- events themselves, so whoever writes an event writes them too. An event that merges a result puts a row into `merges`
-- for each gate it passes, out of the latest staging there and the latest verdict over exactly what was staged: NOT
-- NULL refuses it where either is missing, CHECK and the foreign key where that verdict is no pass or is older than the
-- staging, the primary key where the same staging was merged before.
--
-- An event that merges names the hash of what it merges: `merges_hash` compares it with what was staged and passed,
-- `merges_one_hash` the gates of one merge with each other, `merges_coverage` what was judged with what the gate wants.
-- That is so in runs whose rows in `gated` say what the gate wants judged (`confirm`). `events_goal` refuses a run that
-- says its goal is reached against a verdict that stands, `events_writes` and `events_written_artifacts` what is made
-- of a result before it is merged, `events_tools` a return that gives a tool's words to the agent past the gate.
--
-- Triggers look at a whole INSERT at once, so every lookup says before which event. Those of one table fire in the
-- order of their names, so all see what `events_gates` has derived.

-- worker_id is the tool's at the point 'tool', and '' is whichever worker.
CREATE TABLE gated (
  run_id    text COLLATE "C" NOT NULL,
  point     text COLLATE "C" NOT NULL CHECK (point IN ('harvest', 'node', 'tool', 'run')),
  node_id   text COLLATE "C" NOT NULL,
  gate_id   text COLLATE "C" NOT NULL,
  worker_id text COLLATE "C" NOT NULL,
  confirm   text CHECK (confirm IN ('full', 'none')),
  PRIMARY KEY (run_id, point, node_id, gate_id, worker_id)
);

-- `place` is how the merging event names what is staged: a harvest by the child run, a tool's words by the call, a node
-- by itself; a run has one. `node_id` and `worker_id` say whose work it is; '' is nobody's in particular.
CREATE TABLE staged (
  run_id      text COLLATE "C" NOT NULL,
  seq         bigint NOT NULL,
  gate_id     text COLLATE "C" NOT NULL,
  attempt     bigint NOT NULL,
  target      text COLLATE "C" NOT NULL,
  result_hash text COLLATE "C" NOT NULL,
  point       text COLLATE "C" NOT NULL,
  place       text COLLATE "C" NOT NULL,
  node_id     text COLLATE "C" NOT NULL DEFAULT '',
  worker_id   text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (run_id, seq),
  UNIQUE (run_id, seq, gate_id, target, result_hash)
);
CREATE INDEX staged_places ON staged (run_id, gate_id, point, place, seq);

-- tenant is null on those that a fork shares: they are listed once, with the run that was judged.
-- label is what may be said of a result that was passed, '' where the event does not say.
CREATE TABLE verdicts (
  run_id      text COLLATE "C" NOT NULL,
  seq         bigint NOT NULL,
  gate_id     text COLLATE "C" NOT NULL,
  target      text COLLATE "C" NOT NULL,
  result_hash text COLLATE "C" NOT NULL,
  verdict     text COLLATE "C" NOT NULL CHECK (verdict IN ('pass', 'fail', 'revise')),
  tenant      text COLLATE "C",
  at          bigint NOT NULL,
  label       text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (run_id, seq)
);
CREATE UNIQUE INDEX verdicts_labels ON verdicts (run_id, gate_id, target, result_hash, seq, verdict, label);
CREATE INDEX verdicts_newest ON verdicts (tenant, at, run_id, seq) WHERE tenant IS NOT NULL;
CREATE INDEX verdicts_of_gate ON verdicts (tenant, gate_id, at, run_id, seq) WHERE tenant IS NOT NULL;

CREATE TABLE merges (
  run_id      text COLLATE "C" NOT NULL,
  seq         bigint NOT NULL,
  gate_id     text COLLATE "C" NOT NULL,
  staged_seq  bigint NOT NULL,
  target      text COLLATE "C" NOT NULL,
  result_hash text COLLATE "C" NOT NULL,
  verdict_seq bigint NOT NULL,
  verdict     text COLLATE "C" NOT NULL,
  label       text COLLATE "C" NOT NULL DEFAULT '',
  confirm     text,
  event_hash  text COLLATE "C",
  PRIMARY KEY (run_id, staged_seq),
  CONSTRAINT merges_pass CHECK (verdict = 'pass'),
  CONSTRAINT merges_order CHECK (staged_seq < verdict_seq AND verdict_seq < seq),
  CONSTRAINT merges_hash CHECK (CASE WHEN event_hash IS NULL THEN confirm IS NULL ELSE event_hash = result_hash END),
  CONSTRAINT merges_coverage CHECK (
    verdict <> 'pass' OR confirm IS NULL OR (label <> '' AND (confirm = 'none' OR label <> 'verified in part'))),
  FOREIGN KEY (run_id, staged_seq, gate_id, target, result_hash)
    REFERENCES staged (run_id, seq, gate_id, target, result_hash),
  FOREIGN KEY (run_id, verdict_seq, gate_id, target, result_hash, verdict, label)
    REFERENCES verdicts (run_id, seq, gate_id, target, result_hash, verdict, label)
);

-- A CHECK sees one row only.
CREATE FUNCTION merges_one_hash() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM fresh f JOIN fresh o ON o.run_id = f.run_id AND o.seq = f.seq
              WHERE o.result_hash <> f.result_hash) THEN
    RAISE EXCEPTION 'the gates of a merge have passed different results'
      USING ERRCODE = 'check_violation', TABLE = 'merges', CONSTRAINT = 'merges_one_hash';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER merges_one_hash AFTER INSERT ON merges REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION merges_one_hash();

-- People's words may hold what PostgreSQL takes for no text: NUL, and halves of surrogate pairs.
CREATE FUNCTION readable(document text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT regexp_replace(document, '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\ufffd', 'g')::jsonb
$$;

CREATE FUNCTION events_gates() RETURNS trigger LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
DECLARE
  judging boolean;
  merging text[];
BEGIN
  SELECT bool_or(type IN ('dws.verification.started', 'agent.verified')),
         array_agg(run_id) FILTER (
           WHERE type IN ('core.workflowChain.event', 'node.completed', 'run.completed', 'assay.tool.delivered'))
    INTO judging, merging FROM fresh;
  IF judging THEN
    INSERT INTO staged (run_id, seq, gate_id, attempt, target, result_hash, point, place, node_id, worker_id)
    SELECT e.run_id, e.seq, p.v->>'gateId', (p.v->>'attempt')::bigint, p.v->>'targetRef', p.v->>'resultHash',
           p.v->>'point',
           CASE p.v->>'point' WHEN 'harvest' THEN p.v->>'targetRef' WHEN 'tool' THEN p.v->>'targetRef'
                              WHEN 'node' THEN e.node_id ELSE '' END,
           coalesce(e.node_id, ''), coalesce(p.v->>'workerId', '')
      FROM fresh e, LATERAL (SELECT readable(e.payload) OFFSET 0) AS p(v)
     WHERE e.type = 'dws.verification.started' AND (p.v->>'blocking')::boolean AND p.v->>'point' <> 'none';

    -- A verdict without a secret is no gate's.
    INSERT INTO verdicts (run_id, seq, gate_id, target, result_hash, verdict, label, tenant, at)
    SELECT e.run_id, e.seq, s.v->>'gateId', p.v->>'target', s.v->>'resultHash', p.v->>'verdict',
           coalesce(s.v->>'label', ''), (SELECT r.tenant FROM runs r WHERE r.run_id = e.run_id), e.at
      FROM fresh e, LATERAL (SELECT readable(e.payload) OFFSET 0) AS p(v),
           LATERAL (SELECT readable(e.secret) OFFSET 0) AS s(v)
     WHERE e.type = 'agent.verified' AND e.secret IS NOT NULL;
  END IF;

  -- A batch of runs without gates pays for looking that up, no more.
  IF EXISTS (SELECT 1 FROM gated WHERE run_id = ANY (merging)) THEN
    INSERT INTO merges (run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict, label, confirm,
                        event_hash)
    SELECT e.run_id, e.seq, g.gate_id, s.seq, s.target, s.result_hash, v.seq, v.verdict, v.label, g.confirm,
           readable(e.secret)->>'resultHash'
      FROM fresh e
     CROSS JOIN LATERAL (
       SELECT CASE WHEN e.type IN ('core.workflowChain.event', 'assay.tool.delivered') THEN readable(e.payload) END
        OFFSET 0) p(v)
     CROSS JOIN LATERAL (SELECT * FROM gated WHERE run_id = e.run_id OFFSET 0) g
      LEFT JOIN LATERAL (
        SELECT * FROM staged
         WHERE run_id = g.run_id AND gate_id = g.gate_id AND point = g.point AND seq < e.seq
           AND place = CASE g.point WHEN 'harvest' THEN p.v->>'childRunId' WHEN 'tool' THEN p.v->>'callId'
                                    WHEN 'node' THEN e.node_id ELSE '' END
         ORDER BY seq DESC LIMIT 1) s ON true
      LEFT JOIN LATERAL (
        SELECT * FROM verdicts
         WHERE run_id = s.run_id AND gate_id = s.gate_id AND target = s.target AND result_hash = s.result_hash
           AND seq < e.seq
         ORDER BY seq DESC LIMIT 1) v ON true
     WHERE CASE e.type
       WHEN 'run.completed' THEN g.point = 'run'
       WHEN 'node.completed' THEN g.point = 'node' AND g.node_id = e.node_id
       WHEN 'assay.tool.delivered' THEN g.point = 'tool' AND g.node_id = e.node_id AND g.worker_id = p.v->>'toolId'
       WHEN 'core.workflowChain.event' THEN g.point = 'harvest' AND g.node_id = e.node_id
         AND p.v->>'phase' = 'output.harvested' AND g.worker_id IN ('', p.v->>'workerId') END;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER events_gates AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION events_gates();

CREATE FUNCTION events_goal() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM fresh e
     WHERE e.type = 'run.completed'
       AND EXISTS (SELECT 1 FROM gated g WHERE g.run_id = e.run_id AND g.confirm IS NOT NULL)
       AND (readable(e.payload)->>'goalSatisfied')::boolean
       AND EXISTS (
         SELECT 1 FROM (
           SELECT DISTINCT ON (v.gate_id, s.node_id, s.worker_id) v.verdict, v.label
             FROM verdicts v
            CROSS JOIN LATERAL (
              SELECT * FROM staged t
               WHERE t.run_id = v.run_id AND t.gate_id = v.gate_id AND t.target = v.target
                 AND t.result_hash = v.result_hash AND t.seq < v.seq
               ORDER BY t.seq DESC LIMIT 1) s
            WHERE v.run_id = e.run_id AND v.gate_id IN (
              SELECT g.gate_id FROM gated g WHERE g.run_id = e.run_id AND g.confirm IS NOT NULL)
            ORDER BY v.gate_id, s.node_id, s.worker_id, v.seq DESC) latest
          WHERE verdict <> 'pass' OR label IN ('forced', 'verified in part'))) THEN
    RAISE EXCEPTION 'a run does not say that its goal is reached against a verdict that stands'
      USING ERRCODE = 'check_violation', TABLE = 'merges', CONSTRAINT = 'merges_goal';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER events_goal AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION events_goal();

-- The latest staging at each gate that stands before everything a node brings, and what was said of it since; as it was
-- before event n.
CREATE FUNCTION gated_work(run text, node text, n bigint)
  RETURNS TABLE (point text, seq bigint, verdict text, merged boolean) LANGUAGE sql STABLE AS $$
  SELECT g.point, s.seq,
         (SELECT v.verdict FROM verdicts v
           WHERE v.run_id = s.run_id AND v.gate_id = s.gate_id AND v.target = s.target
             AND v.result_hash = s.result_hash AND v.seq > s.seq AND v.seq < n ORDER BY v.seq DESC LIMIT 1),
         EXISTS (SELECT 1 FROM merges m WHERE m.run_id = s.run_id AND m.staged_seq = s.seq AND m.seq < n)
    FROM gated g
    LEFT JOIN LATERAL (
      SELECT * FROM staged t
       WHERE t.run_id = g.run_id AND t.gate_id = g.gate_id AND t.point = g.point AND t.node_id = g.node_id AND t.seq < n
       ORDER BY t.seq DESC LIMIT 1) s ON true
   WHERE g.run_id = run AND g.node_id = node AND g.point <> 'run' AND g.worker_id = '' AND g.confirm IS NOT NULL
$$;

-- A worker's harvest may be told before it is written; a node's result is written before the node completes.
CREATE FUNCTION events_writes() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM fresh e
     CROSS JOIN LATERAL (SELECT * FROM gated g WHERE g.run_id = e.run_id AND g.node_id = e.node_id LIMIT 1) held
     CROSS JOIN LATERAL gated_work(e.run_id, e.node_id, e.seq) w
     WHERE e.type IN ('variable.changed', 'channel.written')
       AND (w.verdict IS DISTINCT FROM 'pass' OR (w.point = 'node' AND w.merged))) THEN
    RAISE EXCEPTION 'nothing is written in the name of a gated node but what its gates have passed'
      USING ERRCODE = 'check_violation', TABLE = 'merges', CONSTRAINT = 'merges_writes';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER events_writes AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION events_writes();

-- While an agent's result is judged or about to be merged, only the record of the judgement is made at its node.
CREATE FUNCTION events_written_artifacts() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM fresh e
     CROSS JOIN LATERAL (SELECT * FROM gated g WHERE g.run_id = e.run_id AND g.node_id = e.node_id LIMIT 1) held
     CROSS JOIN LATERAL gated_work(e.run_id, e.node_id, e.seq) w
     WHERE e.type = 'artifact.created' AND w.point = 'node' AND w.seq IS NOT NULL AND NOT w.merged
       AND (w.verdict IS NULL OR w.verdict = 'pass')
       AND readable(e.payload)->>'artifactType' IS DISTINCT FROM 'dws.verification-result') THEN
    RAISE EXCEPTION 'nothing is made of an agent''s result before it is merged'
      USING ERRCODE = 'check_violation', TABLE = 'merges', CONSTRAINT = 'merges_artifacts';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER events_written_artifacts AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION events_written_artifacts();

CREATE FUNCTION events_tools() RETURNS trigger LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM fresh e
     CROSS JOIN LATERAL (
       SELECT * FROM gated g WHERE g.run_id = e.run_id AND g.point = 'tool' AND g.node_id = e.node_id OFFSET 0) g
     WHERE e.type = 'agent.toolReturned' AND e.secret IS NOT NULL
       AND g.worker_id = readable(e.payload)->>'toolId'
       AND readable(e.secret)->>'contents' IS NOT NULL
       AND readable(e.secret)->>'gated' IS DISTINCT FROM 'true'
       AND readable(e.secret)->'withheld' IS NULL) THEN
    RAISE EXCEPTION 'what a gated tool has brought is given to its agent unjudged'
      USING ERRCODE = 'check_violation', TABLE = 'merges', CONSTRAINT = 'merges_tools';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER events_tools AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION events_tools();

-- What was staged, judged and merged before the cut is so in the fork as well.
CREATE FUNCTION share_gate_rows(run text, source text, n bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO staged (run_id, seq, gate_id, attempt, target, result_hash, point, place, node_id, worker_id)
  SELECT run, seq, gate_id, attempt, target, result_hash, point, place, node_id, worker_id FROM staged
   WHERE run_id = source AND seq < n;
  INSERT INTO verdicts (run_id, seq, gate_id, target, result_hash, verdict, label, at)
  SELECT run, seq, gate_id, target, result_hash, verdict, label, at FROM verdicts WHERE run_id = source AND seq < n;
  INSERT INTO merges (run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict, label, confirm,
                      event_hash)
  SELECT run, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict, label, confirm, event_hash FROM merges
   WHERE run_id = source AND seq < n;
$$;

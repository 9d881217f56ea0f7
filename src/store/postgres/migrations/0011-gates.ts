import type { Migration } from '../../migration.js'

/**
 * S10 is held here. `gated` says where a run's blocking gates stand; the other tables are fed by a trigger from the
 * events themselves, so whoever writes an event writes them too. An event that merges a result puts a row into `merges`
 * for each gate it passes, out of the latest staging there and the latest verdict over exactly what was staged:
 * NOT NULL refuses it where either is missing, CHECK and the foreign key where that verdict is no pass or is older than
 * the staging, the primary key where the same staging was merged before. Like `events_guard` the trigger looks at a
 * whole INSERT at once, so every lookup says before which event.
 *
 * `place` is how the merging event names what is staged: a harvest by the child run, a node by itself; a run has one.
 */
export const gates: Migration = {
  version: 11,
  name: 'gates',
  sql: String.raw`
-- worker_id '' is whichever worker.
CREATE TABLE gated (
  run_id    text COLLATE "C" NOT NULL,
  point     text COLLATE "C" NOT NULL CHECK (point IN ('harvest', 'node', 'run')),
  node_id   text COLLATE "C" NOT NULL,
  gate_id   text COLLATE "C" NOT NULL,
  worker_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (run_id, point, node_id, gate_id, worker_id)
);

CREATE TABLE staged (
  run_id      text COLLATE "C" NOT NULL,
  seq         bigint NOT NULL,
  gate_id     text COLLATE "C" NOT NULL,
  attempt     bigint NOT NULL,
  target      text COLLATE "C" NOT NULL,
  result_hash text COLLATE "C" NOT NULL,
  point       text COLLATE "C" NOT NULL,
  place       text COLLATE "C" NOT NULL,
  PRIMARY KEY (run_id, seq),
  UNIQUE (run_id, seq, gate_id, target, result_hash)
);
CREATE INDEX staged_places ON staged (run_id, gate_id, point, place, seq);

-- tenant is null on those that a fork shares: they are listed once, with the run that was judged.
CREATE TABLE verdicts (
  run_id      text COLLATE "C" NOT NULL,
  seq         bigint NOT NULL,
  gate_id     text COLLATE "C" NOT NULL,
  target      text COLLATE "C" NOT NULL,
  result_hash text COLLATE "C" NOT NULL,
  verdict     text COLLATE "C" NOT NULL CHECK (verdict IN ('pass', 'fail', 'revise')),
  tenant      text COLLATE "C",
  at          bigint NOT NULL,
  PRIMARY KEY (run_id, seq),
  UNIQUE (run_id, gate_id, target, result_hash, seq, verdict)
);
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
  PRIMARY KEY (run_id, staged_seq),
  CONSTRAINT merges_pass CHECK (verdict = 'pass'),
  CONSTRAINT merges_order CHECK (staged_seq < verdict_seq AND verdict_seq < seq),
  FOREIGN KEY (run_id, staged_seq, gate_id, target, result_hash)
    REFERENCES staged (run_id, seq, gate_id, target, result_hash),
  FOREIGN KEY (run_id, verdict_seq, gate_id, target, result_hash, verdict)
    REFERENCES verdicts (run_id, seq, gate_id, target, result_hash, verdict)
);

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
         array_agg(run_id) FILTER (WHERE type IN ('core.workflowChain.event', 'node.completed', 'run.completed'))
    INTO judging, merging FROM fresh;
  IF judging THEN
    INSERT INTO staged (run_id, seq, gate_id, attempt, target, result_hash, point, place)
    SELECT e.run_id, e.seq, p.v->>'gateId', (p.v->>'attempt')::bigint, p.v->>'targetRef', p.v->>'resultHash',
           p.v->>'point', CASE p.v->>'point' WHEN 'harvest' THEN p.v->>'targetRef' WHEN 'node' THEN e.node_id ELSE '' END
      FROM fresh e, LATERAL (SELECT readable(e.payload) OFFSET 0) AS p(v)
     WHERE e.type = 'dws.verification.started' AND (p.v->>'blocking')::boolean AND p.v->>'point' <> 'none';

    -- A verdict without a secret is no gate's.
    INSERT INTO verdicts (run_id, seq, gate_id, target, result_hash, verdict, tenant, at)
    SELECT e.run_id, e.seq, s.v->>'gateId', p.v->>'target', s.v->>'resultHash', p.v->>'verdict',
           (SELECT r.tenant FROM runs r WHERE r.run_id = e.run_id), e.at
      FROM fresh e, LATERAL (SELECT readable(e.payload) OFFSET 0) AS p(v),
           LATERAL (SELECT readable(e.secret) OFFSET 0) AS s(v)
     WHERE e.type = 'agent.verified' AND e.secret IS NOT NULL;
  END IF;

  -- A batch of runs without gates pays for looking that up, no more.
  IF EXISTS (SELECT 1 FROM gated WHERE run_id = ANY (merging)) THEN
    INSERT INTO merges (run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict)
    SELECT e.run_id, e.seq, g.gate_id, s.seq, s.target, s.result_hash, v.seq, v.verdict
      FROM fresh e
     CROSS JOIN LATERAL (SELECT CASE WHEN e.type = 'core.workflowChain.event' THEN readable(e.payload) END OFFSET 0) p(v)
     CROSS JOIN LATERAL (SELECT * FROM gated WHERE run_id = e.run_id OFFSET 0) g
      LEFT JOIN LATERAL (
        SELECT * FROM staged
         WHERE run_id = g.run_id AND gate_id = g.gate_id AND point = g.point AND seq < e.seq
           AND place = CASE g.point WHEN 'harvest' THEN p.v->>'childRunId' WHEN 'node' THEN e.node_id ELSE '' END
         ORDER BY seq DESC LIMIT 1) s ON true
      LEFT JOIN LATERAL (
        SELECT * FROM verdicts
         WHERE run_id = s.run_id AND gate_id = s.gate_id AND target = s.target AND result_hash = s.result_hash
           AND seq < e.seq
         ORDER BY seq DESC LIMIT 1) v ON true
     WHERE CASE e.type
       WHEN 'run.completed' THEN g.point = 'run'
       WHEN 'node.completed' THEN g.point = 'node' AND g.node_id = e.node_id
       WHEN 'core.workflowChain.event' THEN g.point = 'harvest' AND g.node_id = e.node_id
         AND p.v->>'phase' = 'output.harvested' AND g.worker_id IN ('', p.v->>'workerId') END;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER events_gates AFTER INSERT ON events REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION events_gates();

-- What was staged, judged and merged before the cut is so in the fork as well.
CREATE FUNCTION share_gate_rows(run text, source text, n bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO staged (run_id, seq, gate_id, attempt, target, result_hash, point, place)
  SELECT run, seq, gate_id, attempt, target, result_hash, point, place FROM staged WHERE run_id = source AND seq < n;
  INSERT INTO verdicts (run_id, seq, gate_id, target, result_hash, verdict, at)
  SELECT run, seq, gate_id, target, result_hash, verdict, at FROM verdicts WHERE run_id = source AND seq < n;
  INSERT INTO merges (run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict)
  SELECT run, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict FROM merges
   WHERE run_id = source AND seq < n;
$$;
`,
}

import type { Migration } from '../../migration.js'

/**
 * S10 for what tools bring. A gate over a tool stands at the point `tool` of its node, and `worker_id` is the tool's id.
 * `assay.tool.delivered` merges what was staged of its call; `events_tools` refuses a return that gives the tool's words
 * to the agent past the gate.
 */
export const toolGates: Migration = {
  version: 16,
  name: 'tool-gates',
  sql: `
DO $$
DECLARE
  old text;
BEGIN
  SELECT conname INTO old FROM pg_constraint
   WHERE conrelid = 'gated'::regclass AND contype = 'c' AND pg_get_constraintdef(oid) LIKE '%harvest%';
  EXECUTE format('ALTER TABLE gated DROP CONSTRAINT %I', old);
END $$;
ALTER TABLE gated ADD CONSTRAINT gated_point_check CHECK (point IN ('harvest', 'node', 'tool', 'run'));

CREATE OR REPLACE FUNCTION events_gates() RETURNS trigger LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
DECLARE
  judging boolean;
  merging text[];
BEGIN
  SELECT bool_or(type IN ('dws.verification.started', 'agent.verified')),
         array_agg(run_id) FILTER (WHERE type IN ('core.workflowChain.event', 'node.completed', 'run.completed',
                                                            'assay.tool.delivered'))
    INTO judging, merging FROM fresh;
  IF judging THEN
    INSERT INTO staged (run_id, seq, gate_id, attempt, target, result_hash, point, place, node_id, worker_id)
    SELECT e.run_id, e.seq, p.v->>'gateId', (p.v->>'attempt')::bigint, p.v->>'targetRef', p.v->>'resultHash',
           p.v->>'point', CASE p.v->>'point' WHEN 'harvest' THEN p.v->>'targetRef'
                WHEN 'tool' THEN p.v->>'targetRef' WHEN 'node' THEN e.node_id ELSE '' END,
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
           AND place = CASE g.point WHEN 'harvest' THEN p.v->>'childRunId' WHEN 'tool' THEN p.v->>'callId' WHEN 'node' THEN e.node_id ELSE '' END
         ORDER BY seq DESC LIMIT 1) s ON true
      LEFT JOIN LATERAL (
        SELECT * FROM verdicts
         WHERE run_id = s.run_id AND gate_id = s.gate_id AND target = s.target AND result_hash = s.result_hash
           AND seq < e.seq
         ORDER BY seq DESC LIMIT 1) v ON true
     WHERE CASE e.type
       WHEN 'run.completed' THEN g.point = 'run'
       WHEN 'node.completed' THEN g.point = 'node' AND g.node_id = e.node_id
       WHEN 'assay.tool.delivered' THEN g.point = 'tool' AND g.node_id = e.node_id
         AND g.worker_id = p.v->>'toolId'
       WHEN 'core.workflowChain.event' THEN g.point = 'harvest' AND g.node_id = e.node_id
         AND p.v->>'phase' = 'output.harvested' AND g.worker_id IN ('', p.v->>'workerId') END;
  END IF;
  RETURN NULL;
END $$;

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
`,
}

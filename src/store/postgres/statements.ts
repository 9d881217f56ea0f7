import type { Statement } from './connections.js'

/**
 * Every statement by name; the server prepares each once per connection, unless a pooler is in between. What is Assay's
 * own is qualified, because the search path is whatever the connection has; `assay` stands for the schema in use.
 * Columns come out in the port's spelling.
 */

const RUN = `run_id AS "runId", tenant, workflow_id AS "workflowId", workflow_digest AS "workflowDigest", status,
  parent_run_id AS "parentRunId", parent_node_id AS "parentNodeId", scope_id AS "scopeId", tags, length, owner, epoch,
  attempts, wake_at AS "wakeAt", created_at AS "createdAt", updated_at AS "updatedAt", ended_at AS "endedAt",
  CASE WHEN source_run_id IS NOT NULL THEN json_build_object('sourceRunId', source_run_id, 'fromSeq', from_seq,
    'mode', fork_mode, 'sourceLength', source_length) END AS fork, head, checkpoint`

const EVENT = 'seq AS sequence, type, node_id AS "nodeId", payload, secret, cause, at, input, salt, hash, erased'

const EVENT_SIZE = 'seq AS sequence, octet_length(payload) + coalesce(octet_length(secret), 0) AS bytes'

const RECEIPT = `tenant, endpoint, key, digest, state, lease_owner AS "leaseOwner", lease_until AS "leaseUntil", status,
  headers, body, at`

const KEY = `key_id AS "keyId", hash, tenant, principal, scopes, test, created_at AS "createdAt",
  expires_at AS "expiresAt", revoked_at AS "revokedAt"`

const WEBHOOK = 'webhook_id AS "webhookId", tenant, url, events, tags, secret, created_at AS "createdAt", health'

const DELIVERY = `webhook_id AS "webhookId", tenant, run_id AS "runId", seq AS sequence, event_type AS "eventType", at,
  state, attempts, status, error, finished_at AS "finishedAt"`

const CHECKPOINT = 'seq, at, key_id AS "keyId", prev, runs, purged, hash, signature'

/** Of a run that was purged only its mark is left to be found. */
const NOT_PURGED = 'NOT EXISTS (SELECT 1 FROM assay.purged p WHERE p.run_id = runs.run_id)'

/** `null` is every tenant's. A tenant that was erased finds nothing of what is left of its runs (S14). */
const ofTenant = (parameter: string): string =>
  `(${parameter}::text IS NULL OR (tenant = ${parameter}
      AND NOT EXISTS (SELECT 1 FROM assay.erasures e WHERE e.tenant = ${parameter})))`

const WORKFLOW = `nullif(w.tenant, '') AS tenant, w.workflow_id AS "workflowId", w.digest, d.definition,
  w.updated_at AS "updatedAt"`

const STANDARD = `nullif(tenant, '') AS tenant, kind, id, version, hash, body, updated_at AS "updatedAt"`

const VERDICT = 'run_id AS "runId", seq AS sequence, gate_id AS "gateId", verdict, at'

const named = <Name extends string>(texts: Record<Name, string>): Record<Name, Statement> =>
  Object.fromEntries(
    Object.entries<string>(texts).map(([name, text]): [string, Statement] => [name, { name: `assay-${name}`, text }]),
  ) as Record<Name, Statement>

export const SQL = named({
  // What a fork shares comes from those who hold it; for other runs that is a look into an index and nothing more.
  readEvents: `(SELECT ${EVENT} FROM assay.events WHERE run_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3)
    UNION ALL
    (SELECT shared.* FROM assay.prefixes p, LATERAL (SELECT ${EVENT} FROM assay.events
        WHERE run_id = p.source_run_id AND seq >= greatest(p.from_seq, $2) AND seq < p.upto
        ORDER BY seq LIMIT $3) shared
      WHERE p.run_id = $1 AND p.upto > $2 ORDER BY sequence LIMIT $3)
    ORDER BY sequence LIMIT $3`,
  /** How large each is, found without reading them. */
  readEventSizes: `(SELECT ${EVENT_SIZE} FROM assay.events WHERE run_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3)
    UNION ALL
    (SELECT shared.* FROM assay.prefixes p, LATERAL (SELECT ${EVENT_SIZE} FROM assay.events
        WHERE run_id = p.source_run_id AND seq >= greatest(p.from_seq, $2) AND seq < p.upto
        ORDER BY seq LIMIT $3) shared
      WHERE p.run_id = $1 AND p.upto > $2 ORDER BY sequence LIMIT $3)
    ORDER BY sequence LIMIT $3`,
  readSnapshot: `(SELECT length, state FROM assay.snapshots WHERE run_id = $1 AND length <= $2 ORDER BY length DESC LIMIT 1)
    UNION ALL
    (SELECT shared.* FROM assay.prefixes p, LATERAL (SELECT length, state FROM assay.snapshots
        WHERE run_id = p.source_run_id AND length <= least(p.upto, $2) ORDER BY length DESC LIMIT 1) shared
      WHERE p.run_id = $1 AND p.from_seq < $2)
    ORDER BY length DESC LIMIT 1`,
  readRun: `SELECT ${RUN} FROM assay.runs WHERE run_id = $1 AND ${ofTenant('$2')} AND ${NOT_PURGED}`,
  childrenOf: `SELECT run_id AS "runId", status FROM assay.runs
    WHERE parent_run_id = $1 AND workflow_id <> ALL ($2::text[]) AND ${NOT_PURGED} ORDER BY run_id DESC LIMIT $3`,
  dueRuns: `SELECT d.run_id AS "runId", d.epoch, d.attempts, d.wake_at AS "wakeAt", d.length
    FROM assay.tenants_of($1) AS t(tenant),
         LATERAL (SELECT run_id, epoch, attempts, wake_at, length, row_number() OVER (ORDER BY wake_at, run_id) AS n
           FROM (SELECT * FROM assay.runs r WHERE r.owner = $1 AND r.ended_at IS NULL AND r.tenant = t.tenant AND r.wake_at <= $2
                  ORDER BY r.wake_at, r.run_id LIMIT $3) first) d
    ORDER BY d.n / assay.weight_of($4::jsonb, t.tenant), t.tenant, d.n LIMIT $3`,
  usageOf: 'SELECT runs AS "activeRuns", bytes AS "storedBytes" FROM assay.usage_of($1)',
  foldUsage: 'SELECT assay.fold_usage()',

  registerHost: 'SELECT assay.register_host($1, $2, $3) AS state',
  heartbeat: `UPDATE assay.hosts SET lease_until = clock_timestamp() + $2 * interval '1 millisecond'
    WHERE host_id = $1 AND state = 'alive' RETURNING 1`,
  releaseHost: 'SELECT assay.release_host($1)',
  fenceExpired: 'SELECT assay.fence_expired($1)',
  claimOrphans: 'SELECT assay.claim_orphans($1, $2, $3, $4) AS claimed',

  putWorkflow: `WITH d AS (INSERT INTO assay.definitions (digest, definition) VALUES ($3, $4) ON CONFLICT DO NOTHING)
    INSERT INTO assay.workflows (tenant, workflow_id, digest, updated_at) VALUES ($1, $2, $3, $5)
    ON CONFLICT (tenant, workflow_id) DO UPDATE SET digest = excluded.digest, updated_at = excluded.updated_at`,
  getWorkflow: `SELECT ${WORKFLOW} FROM assay.workflows w JOIN assay.definitions d USING (digest)
    WHERE w.tenant IN ($1, '') AND w.workflow_id = $2 ORDER BY w.tenant DESC LIMIT 1`,
  listWorkflows: `SELECT ${WORKFLOW} FROM assay.workflows w JOIN assay.definitions d USING (digest)
    WHERE w.tenant = $1 OR (w.tenant = '' AND NOT EXISTS (
      SELECT 1 FROM assay.workflows own WHERE own.tenant = $1 AND own.workflow_id = w.workflow_id))
    ORDER BY w.workflow_id`,
  getDefinition: 'SELECT definition FROM assay.definitions WHERE digest = $1',

  putStandard: 'SELECT assay.put_standard(ROW($1, $2, $3, NULL, $4, $5, $6, NULL)::assay.standards) AS version',
  deleteStandard: `UPDATE assay.standards SET deleted_at = $4
    WHERE tenant = $1 AND kind = $2 AND id = $3 AND deleted_at IS NULL
      AND version = (SELECT max(version) FROM assay.standards WHERE tenant = $1 AND kind = $2 AND id = $3)
    RETURNING 1`,
  listStandards: `SELECT ${STANDARD} FROM assay.standards s
    WHERE tenant IN ($1, '') AND deleted_at IS NULL AND version = (
      SELECT max(l.version) FROM assay.standards l WHERE l.tenant = s.tenant AND l.kind = s.kind AND l.id = s.id)
    ORDER BY kind, id, s.tenant`,
  // One for each index there is.
  listVerdicts: `SELECT ${VERDICT} FROM assay.verdicts WHERE tenant = $1 AND at >= $2
    ORDER BY at DESC, run_id DESC, seq DESC LIMIT $3`,
  readGated: `SELECT gate_id AS "gateId", point, node_id AS "nodeId", nullif(worker_id, '') AS "workerId", confirm
    FROM assay.gated WHERE run_id = $1 ORDER BY point, node_id, gate_id, worker_id`,
  readStaged: `SELECT seq AS sequence, gate_id AS "gateId", attempt, target, result_hash AS "resultHash", point, place,
      node_id AS "nodeId", worker_id AS "workerId"
    FROM assay.staged WHERE run_id = $1 ORDER BY seq`,
  readJudged: `SELECT seq AS sequence, gate_id AS "gateId", target, result_hash AS "resultHash", verdict, label, tenant, at
    FROM assay.verdicts WHERE run_id = $1 ORDER BY seq`,
  readMerges: `SELECT seq AS sequence, gate_id AS "gateId", staged_seq AS staged, target, result_hash AS "resultHash",
      verdict_seq AS judged, verdict, label, confirm, event_hash AS "eventHash"
    FROM assay.merges WHERE run_id = $1 ORDER BY seq, gate_id`,
  listVerdictsOfGate: `SELECT ${VERDICT} FROM assay.verdicts WHERE tenant = $1 AND gate_id = $4 AND at >= $2
    ORDER BY at DESC, run_id DESC, seq DESC LIMIT $3`,

  getReceipt: `SELECT ${RECEIPT} FROM assay.receipts WHERE tenant = $1 AND endpoint = $2 AND key = $3`,
  claimReceipt: `INSERT INTO assay.receipts AS old
      (tenant, endpoint, key, digest, state, lease_owner, lease_until, status, headers, body, at, claim)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
    ON CONFLICT (tenant, endpoint, key) DO UPDATE SET
      state = excluded.state, lease_owner = excluded.lease_owner, lease_until = excluded.lease_until,
      status = excluded.status, headers = excluded.headers, body = excluded.body, at = excluded.at,
      claim = excluded.claim
    WHERE old.claim = excluded.claim OR assay.replaceable(old, excluded.digest, $13)
    RETURNING 1`,
  finishReceipt: `UPDATE assay.receipts SET digest = $4, state = $5, lease_until = $7, status = $8, headers = $9, body = $10,
      at = $11, claim = NULL
    WHERE tenant = $1 AND endpoint = $2 AND key = $3 AND state = 'pending' AND lease_owner = $6
      AND NOT EXISTS (SELECT 1 FROM assay.erasures e WHERE e.tenant = $1)`,
  deleteReceipt: 'DELETE FROM assay.receipts WHERE tenant = $1 AND endpoint = $2 AND key = $3',
  purgeReceipts: `WITH gone AS (DELETE FROM assay.receipts WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM assay.receipts WHERE at < $1 ORDER BY at LIMIT $2)) RETURNING 1)
    SELECT count(*) AS purged FROM gone`,

  claimEffect: `INSERT INTO assay.invocations AS old
      (id, tenant, run_id, node_id, ordinal, provider, attempt, host_id, at, claim, again)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, false
     WHERE EXISTS (SELECT 1 FROM assay.hosts WHERE host_id = $8 AND state = 'alive')
    ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, attempt = greatest(old.attempt, excluded.attempt),
      host_id = excluded.host_id, at = excluded.at, claim = excluded.claim,
      again = CASE WHEN old.claim = excluded.claim AND old.attempt = excluded.attempt THEN old.again
                   ELSE old.attempt >= excluded.attempt END
    WHERE old.outcome IS NULL AND (old.claim = excluded.claim
      OR NOT EXISTS (SELECT 1 FROM assay.hosts WHERE host_id = old.host_id AND state = 'alive'))
    RETURNING again`,
  readEffect: 'SELECT outcome FROM assay.invocations WHERE id = $1',
  releaseEffect: 'DELETE FROM assay.invocations WHERE id = $1 AND host_id = $2 AND outcome IS NULL',
  abandonEffect: `UPDATE assay.invocations SET host_id = '', claim = ''
    WHERE id = $1 AND host_id = $2 AND outcome IS NULL`,
  purgeEffects: `WITH gone AS (DELETE FROM assay.invocations WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM assay.invocations i WHERE at < $1 AND outcome IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM assay.runs r WHERE r.run_id = i.run_id AND r.ended_at IS NULL) LIMIT $2)) RETURNING 1)
    SELECT count(*) AS purged FROM gone`,
  finishEffect: `UPDATE assay.invocations SET outcome = $3, cache_key = $4
    WHERE id = $1 AND host_id = $2 AND outcome IS NULL`,
  findAnswer: `SELECT outcome FROM assay.invocations WHERE tenant = $1 AND cache_key = $2
    ORDER BY at DESC, id COLLATE "C" DESC LIMIT 1`,

  putKey: `INSERT INTO assay.api_keys (key_id, hash, tenant, principal, scopes, test, created_at, expires_at, revoked_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (key_id) DO UPDATE SET hash = excluded.hash, tenant = excluded.tenant, principal = excluded.principal,
      scopes = excluded.scopes, test = excluded.test, created_at = excluded.created_at,
      expires_at = excluded.expires_at, revoked_at = excluded.revoked_at`,
  listKeys: `SELECT ${KEY} FROM assay.api_keys ORDER BY key_id`,
  findKey: `SELECT ${KEY} FROM assay.api_keys WHERE hash = $1`,

  putWebhook: `INSERT INTO assay.webhooks (webhook_id, tenant, url, events, tags, secret, created_at, health)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (webhook_id) DO UPDATE SET tenant = excluded.tenant, url = excluded.url, events = excluded.events,
      tags = excluded.tags, secret = excluded.secret, created_at = excluded.created_at, health = excluded.health`,
  deleteWebhook: 'SELECT assay.delete_webhook($1, $2) AS deleted',
  listWebhooks: `SELECT ${WEBHOOK} FROM assay.webhooks WHERE $1::text IS NULL OR tenant = $1 ORDER BY created_at, webhook_id`,
  putWebhookHealth: 'UPDATE assay.webhooks SET health = $2 WHERE webhook_id = $1',
  putWebhookSecret: 'UPDATE assay.webhooks SET secret = $2 WHERE webhook_id = $1',

  claimDeliveries: `SELECT ${DELIVERY} FROM assay.claim_deliveries($1, $2, $3, $4, $5)`,
  finishDelivery: 'SELECT assay.finish_delivery($1, $2, $3, $7, $4, $5, $6, $8)',
  retryDelivery: `WITH tried AS (UPDATE assay.deliveries SET attempts = $4, status = $5, error = $6
      WHERE webhook_id = $1 AND run_id = $2 AND seq = $3 AND state = 'pending' RETURNING 1)
    UPDATE assay.lanes SET due_at = $7, lease_host = NULL, claim = NULL
    WHERE webhook_id = $1 AND run_id = $2 AND EXISTS (SELECT 1 FROM tried)`,
  postponeDeliveries: 'SELECT assay.postpone_deliveries($1, $2)',
  nextDeliveryAt: 'SELECT due_at AS at FROM assay.lanes ORDER BY due_at LIMIT 1',
  listDeliveries: `SELECT ${DELIVERY} FROM assay.deliveries WHERE webhook_id = $2 AND tenant = $1
    ORDER BY at DESC, run_id DESC, seq DESC LIMIT $3`,
  purgeDeliveries: `WITH gone AS (DELETE FROM assay.deliveries WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM assay.deliveries WHERE finished_at < $1 ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED))
      RETURNING 1)
    SELECT count(*) AS purged FROM gone`,

  unsealedRuns: `SELECT run_id AS "runId", length, head FROM assay.runs WHERE unsealed_at IS NOT NULL
    ORDER BY unsealed_at, run_id LIMIT $1`,
  putCheckpoint: 'SELECT assay.put_checkpoint(ROW($1, $2, $3, $4, $5, $6, $7, $9)::assay.checkpoints, $8) AS stored',
  listCheckpoints: `SELECT ${CHECKPOINT} FROM assay.checkpoints WHERE seq >= $1 ORDER BY seq LIMIT $2`,
  latestCheckpoint: `SELECT ${CHECKPOINT} FROM assay.checkpoints ORDER BY seq DESC LIMIT 1`,

  expiredRoots: `SELECT run_id AS "runId", ended_at AS "endedAt" FROM assay.runs
    WHERE parent_run_id IS NULL AND ended_at < $1 AND (ended_at, run_id) > ($2, $3)
      AND ($4::text IS NULL OR tenant = $4) AND ($5::text IS NULL OR workflow_id = $5)
      AND tenant <> ALL ($6::text[]) AND workflow_id <> ALL ($7::text[]) AND ${NOT_PURGED}
    ORDER BY ended_at, run_id LIMIT $8`,
  purgeFamily: 'SELECT assay.purge_family($1, $2) AS result',
  unsealedPurges: `SELECT run_id AS "runId", length, head FROM assay.purged WHERE checkpoint IS NULL
    ORDER BY purged_at, run_id LIMIT $1`,
  claimPurge: 'SELECT assay.claim_purge($1, $2, $3) AS root',
  deletePurged: 'SELECT assay.delete_purged($1, $2, $3) AS result',
  readPurged: `SELECT run_id AS "runId", root_run_id AS "rootRunId", tenant, length, head, ended_at AS "endedAt",
      purged_at AS "purgedAt", checkpoint
    FROM assay.purged WHERE run_id = $1 AND ($2::text IS NULL OR tenant = $2)`,

  readDataKey: 'SELECT wrapped FROM assay.tenant_keys WHERE tenant = $1',
  putDataKey: 'INSERT INTO assay.tenant_keys (tenant, wrapped) VALUES ($1, $2) ON CONFLICT DO NOTHING',
  eraseTenants: 'SELECT assay.erase_tenants($1, $2) AS runs',
  readErasure: 'SELECT tenant, asked_at AS "askedAt", erased_at AS "erasedAt" FROM assay.erasures WHERE tenant = $1',
  claimErasure: 'SELECT assay.claim_erasure($1, $2, $3) AS tenant',
  nextToErase: `SELECT r.run_id AS "runId", r.from_seq AS "fromSeq", r.length FROM assay.erasures e
      JOIN assay.runs r ON r.tenant = e.tenant AND r.run_id > e.upto_run
    WHERE e.tenant = $1 ORDER BY r.run_id LIMIT 1`,
  eraseEvents: 'SELECT assay.erase_events($1, $2, $3, $4, $5) AS held',
  eraseRun: 'SELECT assay.erase_run($1, $2, $3) AS held',
  finishErasure: 'SELECT assay.finish_erasure($1, $2, $3, $4) AS result',

  ping: 'SELECT 1',
})

/** Each filter is off when its parameter is null. Without a name, so that it is planned for the filters in use. */
export const LIST_RUNS: Statement = {
  text: `SELECT ${RUN} FROM assay.runs
    WHERE ${ofTenant('$1')} AND ($2::text IS NULL OR run_id < $2)
      AND ($3::text IS NULL OR workflow_id = $3) AND ($4::text IS NULL OR parent_run_id = $4)
      AND ($5::text[] IS NULL OR status = ANY ($5)) AND ($6::text IS NULL OR $6 = ANY (tags))
      AND ($7::text[] IS NULL OR workflow_id <> ALL ($7)) AND ${NOT_PURGED}
    ORDER BY run_id DESC LIMIT $8`,
}

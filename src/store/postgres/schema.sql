-- The schema after all migrations, as the catalogs tell it. Written by:
-- npx vitest run --project system test/contract/store/postgres-schema.test.ts --update

CREATE TABLE assay.api_keys (
  key_id text COLLATE "C" NOT NULL,
  hash text NOT NULL,
  tenant text NOT NULL,
  principal text NOT NULL,
  scopes text[] NOT NULL,
  test boolean NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  made_by jsonb NOT NULL DEFAULT '[]'::jsonb,
  CONSTRAINT api_keys_hash_key UNIQUE (hash),
  CONSTRAINT api_keys_pkey PRIMARY KEY (key_id)
);
CREATE TRIGGER api_keys_of_erased BEFORE INSERT ON assay.api_keys FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();

CREATE TABLE assay.checkpoints (
  seq bigint NOT NULL,
  at bigint NOT NULL,
  key_id text NOT NULL,
  prev text NOT NULL,
  runs json NOT NULL,
  hash text NOT NULL,
  signature text NOT NULL,
  purged json NOT NULL DEFAULT '[]'::json,
  CONSTRAINT checkpoints_pkey PRIMARY KEY (seq),
  CONSTRAINT checkpoints_seq_check CHECK ((seq >= 0))
);

CREATE TABLE assay.definitions (
  digest text NOT NULL,
  definition text NOT NULL,
  CONSTRAINT definitions_pkey PRIMARY KEY (digest)
);
CREATE TRIGGER definitions_immutable BEFORE UPDATE ON assay.definitions FOR EACH ROW EXECUTE FUNCTION assay.definitions_immutable();

CREATE TABLE assay.deliveries (
  webhook_id text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  event_type text NOT NULL,
  at bigint NOT NULL,
  state text NOT NULL DEFAULT 'pending'::text,
  attempts bigint NOT NULL DEFAULT 0,
  status integer,
  error text,
  finished_at bigint,
  CONSTRAINT deliveries_check CHECK (((state = 'pending'::text) = (finished_at IS NULL))),
  CONSTRAINT deliveries_pkey PRIMARY KEY (webhook_id, run_id, seq),
  CONSTRAINT deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text, 'dropped'::text])))
);
CREATE INDEX deliveries_finished ON assay.deliveries USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX deliveries_recent ON assay.deliveries USING btree (webhook_id, at, run_id, seq);

CREATE TABLE assay.erasures (
  tenant text COLLATE "C" NOT NULL,
  asked_at bigint NOT NULL,
  erased_at bigint,
  upto_run text COLLATE "C" NOT NULL DEFAULT ''::text,
  lease_host text COLLATE "C",
  lease_until bigint,
  key_id text,
  signature text,
  CONSTRAINT erasures_pkey PRIMARY KEY (tenant),
  CONSTRAINT erasures_tenant_check CHECK ((tenant <> ''::text))
);
CREATE TRIGGER trail_erased AFTER UPDATE OF erased_at ON assay.erasures FOR EACH ROW WHEN ((new.erased_at IS NOT NULL)) EXECUTE FUNCTION assay.trail_erased();

CREATE TABLE assay.events (
  run_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  type text NOT NULL,
  node_id text,
  payload text NOT NULL,
  secret text,
  cause bigint,
  at bigint NOT NULL,
  epoch bigint NOT NULL,
  append_id text,
  input text,
  hash text NOT NULL DEFAULT ''::text,
  salt text,
  erased text,
  foreign_cause text,
  CONSTRAINT events_check CHECK (((cause >= 0) AND (cause < seq))),
  CONSTRAINT events_check1 CHECK (((foreign_cause IS NULL) OR (cause IS NULL))),
  CONSTRAINT events_pkey PRIMARY KEY (run_id, seq),
  CONSTRAINT events_seq_check CHECK ((seq >= 0))
);
CREATE UNIQUE INDEX events_terminal ON assay.events USING btree (run_id) WHERE (type = ANY (ARRAY['run.completed'::text, 'run.failed'::text, 'run.cancelled'::text, 'assay.stream.ended'::text]));
CREATE TRIGGER events_gates AFTER INSERT ON assay.events REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION assay.events_gates();
CREATE TRIGGER events_goal AFTER INSERT ON assay.events REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION assay.events_goal();
CREATE TRIGGER events_guard AFTER INSERT ON assay.events REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION assay.events_guard();
CREATE TRIGGER events_journal AFTER INSERT ON assay.events REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION assay.events_journal();
CREATE TRIGGER events_stream_runs AFTER INSERT ON assay.events REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION assay.events_stream_runs();
CREATE TRIGGER events_tools AFTER INSERT ON assay.events REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION assay.events_tools();
CREATE TRIGGER events_writes AFTER INSERT ON assay.events REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION assay.events_writes();
CREATE TRIGGER events_written_artifacts AFTER INSERT ON assay.events REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION assay.events_written_artifacts();
CREATE TRIGGER usage_bytes_of_events AFTER INSERT ON assay.events REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION assay.bytes_of_events();
CREATE TRIGGER usage_bytes_of_events_gone AFTER DELETE ON assay.events REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION assay.bytes_of_events_gone();

CREATE TABLE assay.families (
  root_run_id text COLLATE "C" NOT NULL,
  runs bigint NOT NULL,
  CONSTRAINT families_pkey PRIMARY KEY (root_run_id)
);

CREATE TABLE assay.gated (
  run_id text COLLATE "C" NOT NULL,
  point text COLLATE "C" NOT NULL,
  node_id text COLLATE "C" NOT NULL,
  gate_id text COLLATE "C" NOT NULL,
  worker_id text COLLATE "C" NOT NULL,
  confirm text,
  CONSTRAINT gated_confirm_check CHECK ((confirm = ANY (ARRAY['full'::text, 'none'::text]))),
  CONSTRAINT gated_pkey PRIMARY KEY (run_id, point, node_id, gate_id, worker_id),
  CONSTRAINT gated_point_check CHECK ((point = ANY (ARRAY['harvest'::text, 'node'::text, 'tool'::text, 'run'::text])))
);

CREATE TABLE assay.host_identity (
  one boolean NOT NULL DEFAULT true,
  host_id text NOT NULL,
  given boolean NOT NULL,
  CONSTRAINT host_identity_one_check CHECK (one),
  CONSTRAINT host_identity_pkey PRIMARY KEY (one)
);

CREATE TABLE assay.hosts (
  host_id text COLLATE "C" NOT NULL,
  host_name text NOT NULL,
  lease_until timestamp with time zone NOT NULL,
  state text NOT NULL,
  CONSTRAINT hosts_pkey PRIMARY KEY (host_id),
  CONSTRAINT hosts_state_check CHECK ((state = ANY (ARRAY['alive'::text, 'fenced'::text, 'released'::text])))
);

CREATE TABLE assay.invocations (
  id text NOT NULL,
  run_id text NOT NULL,
  node_id text NOT NULL,
  ordinal text NOT NULL,
  provider text NOT NULL,
  host_id text NOT NULL,
  at bigint NOT NULL,
  claim text NOT NULL,
  again boolean NOT NULL,
  outcome text,
  tenant text NOT NULL DEFAULT ''::text,
  attempt integer NOT NULL DEFAULT 1,
  cache_key text,
  CONSTRAINT invocations_attempt_check CHECK ((attempt > 0)),
  CONSTRAINT invocations_check CHECK (((cache_key IS NULL) OR (outcome IS NOT NULL))),
  CONSTRAINT invocations_pkey PRIMARY KEY (id)
);
CREATE INDEX invocations_answers ON assay.invocations USING btree (tenant, cache_key, at, id COLLATE "C") WHERE (cache_key IS NOT NULL);
CREATE INDEX invocations_run ON assay.invocations USING btree (run_id);
CREATE TRIGGER bytes_of_outcomes AFTER UPDATE OF outcome ON assay.invocations FOR EACH ROW WHEN (((old.outcome IS NULL) AND (new.outcome IS NOT NULL))) EXECUTE FUNCTION assay.bytes_of_outcomes();
CREATE TRIGGER bytes_of_outcomes_gone AFTER DELETE ON assay.invocations FOR EACH ROW WHEN ((old.outcome IS NOT NULL)) EXECUTE FUNCTION assay.bytes_of_outcomes();
CREATE TRIGGER invocations_of_erased BEFORE INSERT ON assay.invocations FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();

CREATE TABLE assay.journal (
  scope_id bigint NOT NULL,
  pos bigint NOT NULL,
  write_id bigint NOT NULL,
  ref text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version bigint,
  at bigint NOT NULL,
  until bigint,
  ended_at bigint,
  span integer NOT NULL DEFAULT 0,
  CONSTRAINT journal_check CHECK ((until > pos)),
  CONSTRAINT journal_check1 CHECK (((span = 0) = (until IS NULL))),
  CONSTRAINT journal_pkey PRIMARY KEY (scope_id, pos),
  CONSTRAINT journal_pos_check CHECK ((pos > 0)),
  CONSTRAINT journal_scope_id_fkey FOREIGN KEY (scope_id) REFERENCES assay.journal_scopes(scope_id),
  CONSTRAINT journal_write_id_fkey FOREIGN KEY (write_id) REFERENCES assay.journal_writes(write_id)
);
CREATE INDEX journal_ended ON assay.journal USING btree (ended_at, until) WHERE (until IS NOT NULL);
CREATE INDEX journal_keys ON assay.journal USING btree (scope_id, ref, id, pos);
CREATE UNIQUE INDEX journal_once ON assay.journal USING btree (write_id, scope_id);
CREATE INDEX journal_ref_spans ON assay.journal USING btree (scope_id, ref, span, pos);
CREATE INDEX journal_spans ON assay.journal USING btree (scope_id, span, pos);
CREATE TRIGGER journal_dense BEFORE INSERT ON assay.journal FOR EACH ROW EXECUTE FUNCTION assay.journal_dense();
CREATE TRIGGER journal_gone AFTER DELETE ON assay.journal FOR EACH ROW EXECUTE FUNCTION assay.journal_gone();

CREATE TABLE assay.journal_contents (
  tenant text COLLATE "C" NOT NULL,
  content_id text COLLATE "C" NOT NULL,
  run_id text COLLATE "C",
  hash text NOT NULL,
  sealed boolean NOT NULL,
  text_is_body boolean NOT NULL,
  words text[] COLLATE "C",
  text bytea,
  body bytea NOT NULL,
  pieces bigint NOT NULL DEFAULT 0,
  CONSTRAINT journal_contents_pkey PRIMARY KEY (tenant, content_id)
);
CREATE INDEX journal_contents_run ON assay.journal_contents USING btree (run_id) WHERE (run_id IS NOT NULL);
CREATE TRIGGER bytes_of_contents AFTER INSERT OR DELETE ON assay.journal_contents FOR EACH ROW EXECUTE FUNCTION assay.bytes_of_contents();
CREATE TRIGGER journal_contents_of_erased BEFORE INSERT ON assay.journal_contents FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();
CREATE TRIGGER journal_contents_pieces BEFORE INSERT ON assay.journal_contents FOR EACH ROW WHEN ((new.pieces > 0)) EXECUTE FUNCTION assay.contents_have_pieces();
CREATE TRIGGER journal_contents_pieces_gone AFTER DELETE ON assay.journal_contents FOR EACH ROW WHEN ((old.pieces > 0)) EXECUTE FUNCTION assay.pieces_are_gone();
CREATE TRIGGER journal_contents_whole AFTER INSERT ON assay.journal_contents FOR EACH ROW WHEN ((new.pieces > 0)) EXECUTE FUNCTION assay.contents_are_whole();

CREATE TABLE assay.journal_layers (
  run_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  ord bigint NOT NULL,
  write_id bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  space text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  ref text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  node_id text COLLATE "C" NOT NULL,
  isolated boolean NOT NULL,
  left_seq bigint,
  CONSTRAINT journal_layers_pkey PRIMARY KEY (run_id, seq, ord)
);
CREATE INDEX journal_layers_keys ON assay.journal_layers USING btree (run_id, space, scope, ref, id, seq, ord);
CREATE INDEX journal_layers_writes ON assay.journal_layers USING btree (write_id);

CREATE TABLE assay.journal_pieces (
  tenant text COLLATE "C" NOT NULL,
  content_id text COLLATE "C" NOT NULL,
  piece bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  body bytea NOT NULL,
  CONSTRAINT journal_pieces_piece_check CHECK ((piece >= 0)),
  CONSTRAINT journal_pieces_pkey PRIMARY KEY (tenant, content_id, piece)
);
CREATE TRIGGER bytes_of_pieces AFTER INSERT OR DELETE ON assay.journal_pieces FOR EACH ROW EXECUTE FUNCTION assay.bytes_of_contents();
CREATE TRIGGER journal_pieces_of_erased BEFORE INSERT ON assay.journal_pieces FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();

CREATE TABLE assay.journal_reads (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  CONSTRAINT journal_reads_pkey PRIMARY KEY (tenant, name, run_id)
);
CREATE INDEX journal_reads_run ON assay.journal_reads USING btree (run_id);

CREATE TABLE assay.journal_scopes (
  scope_id bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  space text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  head bigint NOT NULL DEFAULT 0,
  horizon bigint NOT NULL DEFAULT 0,
  entries bigint NOT NULL DEFAULT 0,
  CONSTRAINT journal_scopes_pkey PRIMARY KEY (scope_id),
  CONSTRAINT journal_scopes_tenant_space_scope_key UNIQUE (tenant, space, scope)
);

CREATE TABLE assay.journal_uploads (
  tenant text COLLATE "C" NOT NULL,
  content_id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  CONSTRAINT journal_uploads_pkey PRIMARY KEY (tenant, content_id)
);
CREATE INDEX journal_uploads_at ON assay.journal_uploads USING btree (at);
CREATE TRIGGER journal_uploads_gone AFTER DELETE ON assay.journal_uploads FOR EACH ROW EXECUTE FUNCTION assay.pieces_are_gone();

CREATE TABLE assay.journal_words (
  scope_id bigint NOT NULL,
  word text COLLATE "C" NOT NULL,
  span integer NOT NULL,
  pos bigint NOT NULL,
  CONSTRAINT journal_words_pkey PRIMARY KEY (scope_id, word, span, pos)
);

CREATE TABLE assay.journal_writes (
  write_id bigint NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  space text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  ref text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  op text NOT NULL,
  node_id text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  agent_id text,
  tags text[] COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  expires_at bigint,
  content_id text COLLATE "C",
  hash text,
  bytes bigint NOT NULL,
  content_type text,
  if_match bigint,
  seen bigint NOT NULL,
  token text,
  CONSTRAINT journal_writes_op_check CHECK ((op = ANY (ARRAY['put'::text, 'forget'::text]))),
  CONSTRAINT journal_writes_pkey PRIMARY KEY (write_id),
  CONSTRAINT journal_writes_run_id_seq_key UNIQUE (run_id, seq),
  CONSTRAINT journal_writes_space_check CHECK ((space = ANY (ARRAY['memory'::text, 'workspace'::text])))
);
CREATE INDEX journal_writes_attempts ON assay.journal_writes USING btree (run_id, node_id, since, seq);
CREATE INDEX journal_writes_contents ON assay.journal_writes USING btree (tenant, content_id) WHERE (content_id IS NOT NULL);
CREATE INDEX journal_writes_expiry ON assay.journal_writes USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX journal_writes_keys ON assay.journal_writes USING btree (tenant, space, ref, id);
CREATE INDEX journal_writes_tokens ON assay.journal_writes USING btree (token) WHERE (token IS NOT NULL);
CREATE TRIGGER journal_writes_gone AFTER DELETE ON assay.journal_writes FOR EACH ROW EXECUTE FUNCTION assay.journal_writes_gone();
CREATE TRIGGER journal_writes_of_erased BEFORE INSERT ON assay.journal_writes FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();

CREATE TABLE assay.lanes (
  webhook_id text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  next_seq bigint NOT NULL,
  due_at bigint NOT NULL,
  lease_host text COLLATE "C",
  claim text COLLATE "C",
  CONSTRAINT lanes_check CHECK (((lease_host IS NULL) = (claim IS NULL))),
  CONSTRAINT lanes_pkey PRIMARY KEY (webhook_id, run_id)
);
CREATE INDEX lanes_due ON assay.lanes USING btree (due_at);
CREATE INDEX lanes_leased ON assay.lanes USING btree (claim) WHERE (claim IS NOT NULL);

CREATE TABLE assay.merges (
  run_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  gate_id text COLLATE "C" NOT NULL,
  staged_seq bigint NOT NULL,
  target text COLLATE "C" NOT NULL,
  result_hash text COLLATE "C" NOT NULL,
  verdict_seq bigint NOT NULL,
  verdict text COLLATE "C" NOT NULL,
  label text COLLATE "C" NOT NULL DEFAULT ''::text,
  confirm text,
  event_hash text COLLATE "C",
  CONSTRAINT merges_coverage CHECK (((verdict <> 'pass'::text) OR (confirm IS NULL) OR ((label <> ''::text) AND ((confirm = 'none'::text) OR (label <> 'verified in part'::text))))),
  CONSTRAINT merges_hash CHECK (
CASE
    WHEN (event_hash IS NULL) THEN (confirm IS NULL)
    ELSE (event_hash = result_hash)
END),
  CONSTRAINT merges_order CHECK (((staged_seq < verdict_seq) AND (verdict_seq < seq))),
  CONSTRAINT merges_pass CHECK ((verdict = 'pass'::text)),
  CONSTRAINT merges_pkey PRIMARY KEY (run_id, staged_seq),
  CONSTRAINT merges_run_id_staged_seq_gate_id_target_result_hash_fkey FOREIGN KEY (run_id, staged_seq, gate_id, target, result_hash) REFERENCES assay.staged(run_id, seq, gate_id, target, result_hash),
  CONSTRAINT merges_run_id_verdict_seq_gate_id_target_result_hash_verdi_fkey FOREIGN KEY (run_id, verdict_seq, gate_id, target, result_hash, verdict, label) REFERENCES assay.verdicts(run_id, seq, gate_id, target, result_hash, verdict, label)
);
CREATE TRIGGER merges_one_hash AFTER INSERT ON assay.merges REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION assay.merges_one_hash();

CREATE TABLE assay.migrations (
  version integer NOT NULL,
  name text NOT NULL,
  applied_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT migrations_pkey PRIMARY KEY (version)
);

CREATE TABLE assay.prefixes (
  run_id text COLLATE "C" NOT NULL,
  source_run_id text COLLATE "C" NOT NULL,
  from_seq bigint NOT NULL,
  upto bigint NOT NULL,
  CONSTRAINT prefixes_check CHECK ((upto > from_seq)),
  CONSTRAINT prefixes_from_seq_check CHECK ((from_seq >= 0)),
  CONSTRAINT prefixes_pkey PRIMARY KEY (run_id, upto)
);

CREATE TABLE assay.purged (
  run_id text COLLATE "C" NOT NULL,
  root_run_id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  length bigint NOT NULL,
  head text NOT NULL,
  ended_at bigint NOT NULL,
  purged_at bigint NOT NULL,
  checkpoint bigint,
  is_stored boolean NOT NULL DEFAULT true,
  lease_host text COLLATE "C",
  lease_until bigint,
  CONSTRAINT purged_check CHECK ((is_stored OR (checkpoint IS NOT NULL))),
  CONSTRAINT purged_pkey PRIMARY KEY (run_id)
);
CREATE INDEX purged_stored ON assay.purged USING btree (root_run_id, run_id) WHERE is_stored;
CREATE INDEX purged_unsealed ON assay.purged USING btree (purged_at, run_id) WHERE (checkpoint IS NULL);

CREATE TABLE assay.receipts (
  tenant text NOT NULL,
  endpoint text NOT NULL,
  key text NOT NULL,
  digest text NOT NULL,
  state text NOT NULL,
  lease_owner text NOT NULL,
  lease_until bigint NOT NULL,
  status integer NOT NULL,
  headers json NOT NULL,
  body text NOT NULL,
  at bigint NOT NULL,
  claim text,
  CONSTRAINT receipts_pkey PRIMARY KEY (tenant, endpoint, key),
  CONSTRAINT receipts_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'completed'::text, 'retryable-failure'::text, 'terminal-failure'::text])))
);
CREATE INDEX receipts_age ON assay.receipts USING btree (at);
CREATE TRIGGER receipts_of_erased BEFORE INSERT ON assay.receipts FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();

CREATE TABLE assay.runs (
  run_id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  workflow_id text NOT NULL,
  workflow_digest text NOT NULL,
  status text NOT NULL,
  parent_run_id text COLLATE "C",
  parent_node_id text,
  scope_id text,
  tags text[] NOT NULL,
  length bigint NOT NULL,
  owner text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  attempts bigint NOT NULL,
  wake_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  ended_at bigint,
  head text NOT NULL DEFAULT ''::text,
  source_run_id text COLLATE "C",
  from_seq bigint NOT NULL DEFAULT 0,
  source_length bigint,
  fork_mode text,
  append_id text,
  checkpoint bigint,
  unsealed_at bigint,
  root_run_id text COLLATE "C",
  CONSTRAINT runs_attempts_check CHECK ((attempts >= 0)),
  CONSTRAINT runs_check CHECK (((ended_at IS NULL) OR (wake_at IS NULL))),
  CONSTRAINT runs_epoch_check CHECK ((epoch > 0)),
  CONSTRAINT runs_length_check CHECK ((length > 0)),
  CONSTRAINT runs_pkey PRIMARY KEY (run_id)
) WITH (fillfactor=80);
CREATE INDEX runs_ended ON assay.runs USING btree (ended_at, run_id) WHERE ((ended_at IS NOT NULL) AND (parent_run_id IS NULL));
CREATE INDEX runs_open ON assay.runs USING btree (owner, tenant, wake_at, run_id) WHERE (ended_at IS NULL);
CREATE INDEX runs_parent ON assay.runs USING btree (parent_run_id, run_id) WHERE (parent_run_id IS NOT NULL);
CREATE INDEX runs_scope ON assay.runs USING btree (tenant, scope_id, run_id) WHERE ((scope_id IS NOT NULL) AND (ended_at IS NULL));
CREATE INDEX runs_source ON assay.runs USING btree (source_run_id) WHERE (source_run_id IS NOT NULL);
CREATE INDEX runs_tenant ON assay.runs USING btree (tenant, run_id);
CREATE INDEX runs_unsealed ON assay.runs USING btree (unsealed_at, run_id) WHERE (unsealed_at IS NOT NULL);
CREATE TRIGGER runs_family AFTER INSERT ON assay.runs FOR EACH ROW WHEN ((new.root_run_id IS NOT NULL)) EXECUTE FUNCTION assay.runs_family();
CREATE TRIGGER runs_of_erased BEFORE INSERT ON assay.runs FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();
CREATE TRIGGER runs_root BEFORE INSERT ON assay.runs FOR EACH ROW WHEN ((new.parent_run_id IS NOT NULL)) EXECUTE FUNCTION assay.runs_root();
CREATE TRIGGER runs_usage_end AFTER UPDATE OF ended_at ON assay.runs FOR EACH ROW WHEN (((old.ended_at IS NULL) AND (new.ended_at IS NOT NULL) AND (NOT assay.is_stream(new.workflow_id)))) EXECUTE FUNCTION assay.runs_usage();
CREATE TRIGGER runs_usage_gone AFTER DELETE ON assay.runs FOR EACH ROW WHEN ((NOT assay.is_stream(old.workflow_id))) EXECUTE FUNCTION assay.runs_usage();
CREATE TRIGGER runs_usage_open AFTER INSERT ON assay.runs FOR EACH ROW WHEN (((new.ended_at IS NULL) AND (NOT assay.is_stream(new.workflow_id)))) EXECUTE FUNCTION assay.runs_usage();
CREATE TRIGGER stream_runs_gone AFTER DELETE ON assay.runs FOR EACH ROW WHEN (assay.is_stream(old.workflow_id)) EXECUTE FUNCTION assay.stream_runs_gone();

CREATE TABLE assay.snapshots (
  run_id text COLLATE "C" NOT NULL,
  length bigint NOT NULL,
  state text NOT NULL,
  CONSTRAINT snapshots_pkey PRIMARY KEY (run_id, length)
);
CREATE TRIGGER usage_bytes_of_snapshots AFTER INSERT ON assay.snapshots REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION assay.bytes_of_snapshots();
CREATE TRIGGER usage_bytes_of_snapshots_gone AFTER DELETE ON assay.snapshots REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION assay.bytes_of_snapshots_gone();

CREATE TABLE assay.staged (
  run_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  gate_id text COLLATE "C" NOT NULL,
  attempt bigint NOT NULL,
  target text COLLATE "C" NOT NULL,
  result_hash text COLLATE "C" NOT NULL,
  point text COLLATE "C" NOT NULL,
  place text COLLATE "C" NOT NULL,
  node_id text COLLATE "C" NOT NULL DEFAULT ''::text,
  worker_id text COLLATE "C" NOT NULL DEFAULT ''::text,
  CONSTRAINT staged_pkey PRIMARY KEY (run_id, seq),
  CONSTRAINT staged_run_id_seq_gate_id_target_result_hash_key UNIQUE (run_id, seq, gate_id, target, result_hash)
);
CREATE INDEX staged_places ON assay.staged USING btree (run_id, gate_id, point, place, seq);

CREATE TABLE assay.standards (
  tenant text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  hash text NOT NULL,
  body text NOT NULL,
  updated_at bigint NOT NULL,
  deleted_at bigint,
  CONSTRAINT standards_kind_check CHECK ((kind = ANY (ARRAY['gate'::text, 'intent'::text, 'knowledge'::text]))),
  CONSTRAINT standards_pkey PRIMARY KEY (tenant, kind, id, version),
  CONSTRAINT standards_version_check CHECK ((version > 0))
);
CREATE TRIGGER standards_of_erased BEFORE INSERT ON assay.standards FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();

CREATE TABLE assay.stream_runs (
  stream_id text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  ordinal bigint NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  tick text COLLATE "C",
  CONSTRAINT stream_runs_ordinal_check CHECK ((ordinal > 0)),
  CONSTRAINT stream_runs_pkey PRIMARY KEY (stream_id, role, ordinal),
  CONSTRAINT stream_runs_role_check CHECK ((role = ANY (ARRAY['work'::text, 'judge'::text]))),
  CONSTRAINT stream_runs_run_id_key UNIQUE (run_id),
  CONSTRAINT stream_runs_stream_id_role_tick_key UNIQUE (stream_id, role, tick)
);

CREATE TABLE assay.tenant_events (
  tenant text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  type text NOT NULL,
  payload text NOT NULL,
  at bigint NOT NULL,
  CONSTRAINT tenant_events_pkey PRIMARY KEY (tenant, seq)
);
CREATE TRIGGER tenant_events_of_erased BEFORE INSERT ON assay.tenant_events FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();

CREATE TABLE assay.tenant_keys (
  tenant text COLLATE "C" NOT NULL,
  wrapped text NOT NULL,
  CONSTRAINT tenant_keys_pkey PRIMARY KEY (tenant)
);
CREATE TRIGGER tenant_keys_of_erased BEFORE INSERT ON assay.tenant_keys FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();

CREATE TABLE assay.tenant_streams (
  tenant text COLLATE "C" NOT NULL,
  events bigint NOT NULL DEFAULT 0,
  writes bigint NOT NULL DEFAULT 0,
  CONSTRAINT tenant_streams_pkey PRIMARY KEY (tenant)
);

CREATE TABLE assay.trail (
  tenant text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  principal text NOT NULL,
  credential text NOT NULL,
  action text NOT NULL,
  object text NOT NULL,
  outcome text NOT NULL,
  previous text NOT NULL,
  hash text NOT NULL,
  CONSTRAINT trail_outcome_check CHECK ((outcome = ANY (ARRAY['begun'::text, 'allowed'::text, 'refused'::text]))),
  CONSTRAINT trail_pkey PRIMARY KEY (tenant, seq),
  CONSTRAINT trail_seq_check CHECK ((seq > 0))
);
CREATE TRIGGER trail_guard BEFORE INSERT OR DELETE OR UPDATE ON assay.trail FOR EACH ROW EXECUTE FUNCTION assay.trail_guard();
CREATE TRIGGER trail_of_erased BEFORE INSERT ON assay.trail FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();

CREATE TABLE assay.usage (
  tenant text COLLATE "C" NOT NULL,
  runs bigint NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT usage_pkey PRIMARY KEY (tenant)
);

CREATE TABLE assay.usage_changes (
  tenant text COLLATE "C" NOT NULL,
  runs bigint NOT NULL,
  bytes bigint NOT NULL
);
CREATE INDEX usage_changes_tenant ON assay.usage_changes USING btree (tenant);

CREATE TABLE assay.verdicts (
  run_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  gate_id text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  result_hash text COLLATE "C" NOT NULL,
  verdict text COLLATE "C" NOT NULL,
  tenant text COLLATE "C",
  at bigint NOT NULL,
  label text COLLATE "C" NOT NULL DEFAULT ''::text,
  CONSTRAINT verdicts_pkey PRIMARY KEY (run_id, seq),
  CONSTRAINT verdicts_verdict_check CHECK ((verdict = ANY (ARRAY['pass'::text, 'fail'::text, 'revise'::text])))
);
CREATE UNIQUE INDEX verdicts_labels ON assay.verdicts USING btree (run_id, gate_id, target, result_hash, seq, verdict, label);
CREATE INDEX verdicts_newest ON assay.verdicts USING btree (tenant, at, run_id, seq) WHERE (tenant IS NOT NULL);
CREATE INDEX verdicts_of_gate ON assay.verdicts USING btree (tenant, gate_id, at, run_id, seq) WHERE (tenant IS NOT NULL);

CREATE TABLE assay.webhooks (
  webhook_id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  url text NOT NULL,
  events text[] NOT NULL,
  tags text[] NOT NULL,
  secret text NOT NULL,
  created_at bigint NOT NULL,
  health json NOT NULL,
  CONSTRAINT webhooks_pkey PRIMARY KEY (webhook_id)
);
CREATE TRIGGER webhooks_of_erased BEFORE INSERT ON assay.webhooks FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();

CREATE TABLE assay.workflows (
  tenant text COLLATE "C" NOT NULL,
  workflow_id text COLLATE "C" NOT NULL,
  digest text NOT NULL,
  updated_at bigint NOT NULL,
  CONSTRAINT workflows_digest_fkey FOREIGN KEY (digest) REFERENCES assay.definitions(digest),
  CONSTRAINT workflows_pkey PRIMARY KEY (tenant, workflow_id)
);
CREATE TRIGGER workflows_of_erased BEFORE INSERT ON assay.workflows FOR EACH ROW EXECUTE FUNCTION assay.refuse_erased();

CREATE FUNCTION assay.add_deliveries(added jsonb) RETURNS void LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:246329157fcaa871c4945042999d029d;
CREATE FUNCTION assay.bytes_of_contents() RETURNS trigger LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:b327477f6646e9396ba81980ff3ca30c;
CREATE FUNCTION assay.bytes_of_events() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:a9114c6711b7994fe48f5c6bcbb08654;
CREATE FUNCTION assay.bytes_of_events_gone() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:ca8f9bdef62477fc33ae0b2edc67c6cf;
CREATE FUNCTION assay.bytes_of_outcomes() RETURNS trigger LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:a288d5c3270d931b75030f5085bd1559;
CREATE FUNCTION assay.bytes_of_snapshots() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:5c91bf7929fb18a4a4c01a6459fa837c;
CREATE FUNCTION assay.bytes_of_snapshots_gone() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:1632570e2ed35a209db370c7c2e72e09;
CREATE FUNCTION assay.claim_deliveries(claimer text, claim_id text, now bigint, lease_ms bigint, at_most bigint) RETURNS SETOF assay.deliveries LANGUAGE plpgsql SET enable_bitmapscan=off SET enable_hashjoin=off SET enable_mergejoin=off SET enable_seqscan=off SET jit=off SET plan_cache_mode=force_generic_plan SET search_path=assay, pg_temp
  AS md5:3a0018b04488e3ffff122f8a95c7e456;
CREATE FUNCTION assay.claim_erasure(claimer text, now bigint, lease_ms bigint) RETURNS text LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:eb338d23fde17a826500ed0019a4acbc;
CREATE FUNCTION assay.claim_orphans(claimer text, work_owed bigint, at_most bigint, weights jsonb) RETURNS bigint LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:70075fd14a93b30f08af366bf4055fc1;
CREATE FUNCTION assay.claim_purge(claimer text, now bigint, lease_ms bigint) RETURNS text LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:0690d71ab6f042ad7ab5540d47d72f3e;
CREATE FUNCTION assay.collect_journal(older_than bigint, at_most bigint) RETURNS bigint LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:bd35f5d06384e997f4a300d2c40dd5e8;
CREATE FUNCTION assay.collect_uploads(older_than bigint, at_most bigint) RETURNS bigint LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:c1ff605f305f866ec1d1a10cb720c571;
CREATE FUNCTION assay.commit_batch(batch jsonb, writers text[], names text[], run_ids text[], forks boolean, gates boolean, snapshots_kept boolean, webhook_ids text[], journaled jsonb DEFAULT '[]'::jsonb) RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET plan_cache_mode=force_generic_plan SET search_path=assay, pg_temp
  AS md5:b5036357a1f3e21607c0e7ae3edb2168;
CREATE FUNCTION assay.contents_are_whole() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:eb95d7d9ee13c4a553ee0ee032b95c75;
CREATE FUNCTION assay.contents_have_pieces() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:89c2f4fb2d70e88aa06b758a186cc671;
CREATE FUNCTION assay.definitions_immutable() RETURNS trigger LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:bd6dd631e18bda52c5bfd2710a0a6cb9;
CREATE FUNCTION assay.delete_purged(root text, deleter text, at_most bigint) RETURNS text LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:10de95bc60642e33fa76acf9b79b6d13;
CREATE FUNCTION assay.delete_webhook(owner_id text, webhook text) RETURNS boolean LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:27624cba67c9130545863a783f666ff5;
CREATE FUNCTION assay.destroy_content(whose text, of_space text, of_scope text, of_ref text, of_id text) RETURNS bigint LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:952d3fd110a4ccc77e383ac9271ac811;
CREATE FUNCTION assay.end_of(events jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE
  AS md5:f7386c0eb56e532cc268170acb96937d;
CREATE FUNCTION assay.enter_layer(run text, n bigint, node text, happened bigint, writes bigint[], targets text[], isolations boolean[]) RETURNS void LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:6bc3969b6beeed1fee788d2c242c8cc4;
CREATE FUNCTION assay.erase_events(name text, eraser text, run text, seqs bigint[], left_over text[]) RETURNS boolean LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:0dc4150ffd6e234ab233962085e63f8b;
CREATE FUNCTION assay.erase_journal(whose text, at_most bigint) RETURNS bigint[] LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:6fddfdd0c11baca56872d1304ac78b9f;
CREATE FUNCTION assay.erase_run(name text, eraser text, run text) RETURNS boolean LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:78197462c51cf332029cf3801ddbfd44;
CREATE FUNCTION assay.erase_tenants(names text[], asked bigint[], keys text[], signatures text[]) RETURNS bigint LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:b5109319309fd933413f13a8ec2cb805;
CREATE FUNCTION assay.event_of(run text, n bigint) RETURNS SETOF assay.events LANGUAGE sql STABLE SET search_path=assay, pg_temp
  AS md5:be8a510cc5c54d79473af9e50df4bdfa;
CREATE FUNCTION assay.events_gates() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET plan_cache_mode=force_generic_plan SET search_path=assay, pg_temp
  AS md5:1252cff0a5e5eaa6bdeceeb13ee2a804;
CREATE FUNCTION assay.events_goal() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:18835b1015abc127449a6a60a64fae13;
CREATE FUNCTION assay.events_guard() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:beb21243413483a0d0eddec15048e6c8;
CREATE FUNCTION assay.events_journal() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET plan_cache_mode=force_generic_plan SET search_path=assay, pg_temp
  AS md5:f2a12e7b39541da62abfc96fbcdda9a1;
CREATE FUNCTION assay.events_stream_runs() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:38e3cfbc0553950404e4f1c50fe6b9d6;
CREATE FUNCTION assay.events_tools() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:be2af80e6db22727c18ef6f08225406b;
CREATE FUNCTION assay.events_writes() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:dd3b866fbd99db2f7313ddea2e8b8ec8;
CREATE FUNCTION assay.events_written_artifacts() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:dd2b3b5136ddac5434ecb5bd9157cef4;
CREATE FUNCTION assay.family_of(root text) RETURNS SETOF text LANGUAGE sql STABLE SET search_path=assay, pg_temp
  AS md5:0924c03267a1a48ccf5ba819d0e23c85;
CREATE FUNCTION assay.fence_expired(asking text) RETURNS void LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:c937e0616ba2d6618287e493cc651075;
CREATE FUNCTION assay.finish_delivery(webhook text, run text, n bigint, outcome text, tries bigint, answer integer, reason text, finished bigint) RETURNS void LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:1aec773a98757474653250747868cc0f;
CREATE FUNCTION assay.finish_erasure(name text, eraser text, at bigint, at_most bigint) RETURNS text LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:715af913d59375ee4ee9ae3e04900dcc;
CREATE FUNCTION assay.fold_usage() RETURNS void LANGUAGE sql SET search_path=assay, pg_temp
  AS md5:8621f73e753968d0d64ac6e6cc792fef;
CREATE FUNCTION assay.found_by(which bigint) RETURNS text[] LANGUAGE plpgsql STABLE SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:746e4c67de5bf2871850bba81a09a398;
CREATE FUNCTION assay.gated_work(run text, node text, n bigint) RETURNS TABLE(point text, seq bigint, verdict text, merged boolean) LANGUAGE sql STABLE SET search_path=assay, pg_temp
  AS md5:48edb3c1f31d82e55e918d472fec5e8d;
CREATE FUNCTION assay.holds_erasure(name text, eraser text) RETURNS boolean LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:071061a1e9490602e955f6ac1aeb3c29;
CREATE FUNCTION assay.host_lock(host_id text) RETURNS bigint LANGUAGE sql IMMUTABLE
  AS md5:5d211115479ffc4f6b5843d2680d83c6;
CREATE FUNCTION assay.is_held_above(run text) RETURNS boolean LANGUAGE plpgsql STABLE SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:8a69ead019049c42344295f4b5e09b3a;
CREATE FUNCTION assay.is_stream(workflow text) RETURNS boolean LANGUAGE sql IMMUTABLE
  AS md5:c6bae2d26b585ef7b54688a93c2ea5e1;
CREATE FUNCTION assay.is_worker(worker text, workflow text) RETURNS boolean LANGUAGE sql IMMUTABLE
  AS md5:c6cfb271b07b8b792a850d22289527e1;
CREATE FUNCTION assay.journal_dense() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:a03e05c9e48a34427ed1f6fd4eab717c;
CREATE FUNCTION assay.journal_gone() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:444a4ff72dd7f89c319a5039efa4e864;
CREATE FUNCTION assay.journal_writes_gone() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:42311687a20729c78edd8bb26d48cc4b;
CREATE FUNCTION assay.keep_content(c jsonb) RETURNS void LANGUAGE sql SET search_path=assay, pg_temp
  AS md5:384db8b8fbeb506c7560d9f4e5a31295;
CREATE FUNCTION assay.keep_piece(whose text, content text, nth bigint, with_hash text, at_time bigint, bytes bytea) RETURNS void LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:2065889da00f2360e8e8dc4fbaee5226;
CREATE FUNCTION assay.lock_scopes(journaled jsonb) RETURNS void LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET plan_cache_mode=force_generic_plan SET search_path=assay, pg_temp
  AS md5:e232d8037c81d772c06548fb4f497d1a;
CREATE FUNCTION assay.lowered(tag text) RETURNS text LANGUAGE sql IMMUTABLE
  AS md5:8ef0de6b26e3ac5e735bca15801b9727;
CREATE FUNCTION assay.merges_one_hash() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:b7d9c9bd8bda2c118a7176ee1c417b1c;
CREATE FUNCTION assay.over_quota(quota text, quotas jsonb, remaining bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE
  AS md5:296558698ecb358f69c5a0d5ce9c9f4a;
CREATE FUNCTION assay.pieces_are_gone() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:09132d3e3926b8703fe6bfba77d62021;
CREATE FUNCTION assay.postpone_deliveries(webhook text, until bigint) RETURNS void LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:ffe37a0231b3f99eef59b7a2b6af216f;
CREATE FUNCTION assay.publish_write(which bigint, target text, happened bigint, run text, n bigint) RETURNS void LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET plan_cache_mode=force_generic_plan SET search_path=assay, pg_temp
  AS md5:d6694594a6caaabe4b06705ff153099b;
CREATE FUNCTION assay.purge_family(root text, at bigint) RETURNS jsonb LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:1aa9f89da84705496a62779afec74302;
CREATE FUNCTION assay.purge_journal(run text) RETURNS void LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:8dc6bb9ad5deb3f884c20271e106ca0f;
CREATE FUNCTION assay.put_checkpoint(new assay.checkpoints, run_ids text[]) RETURNS boolean LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET plan_cache_mode=force_generic_plan SET search_path=assay, pg_temp
  AS md5:a80d954da83ac5db0516e29401706d11;
CREATE FUNCTION assay.put_standard(new assay.standards) RETURNS bigint LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:75184f9da888ee5a519e0f208c09ef40;
CREATE FUNCTION assay.readable(document text) RETURNS jsonb LANGUAGE sql IMMUTABLE
  AS md5:84531fd4ed6cafb5b115a3235819c8e1;
CREATE FUNCTION assay.receipt_json(r assay.receipts) RETURNS jsonb LANGUAGE sql IMMUTABLE
  AS md5:01f6cdc272ab343c61560dafac25bf9a;
CREATE FUNCTION assay.receipt_refusal(r jsonb) RETURNS jsonb LANGUAGE sql SET search_path=assay, pg_temp
  AS md5:9ec980eadac41b146a644ff65e4f681a;
CREATE FUNCTION assay.refuse_erased() RETURNS trigger LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:d82210e26afa7635ac007ad734ee6a3e;
CREATE FUNCTION assay.register_host(id text, name text, lease_ms bigint) RETURNS text LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:e5fcdef1f9648642cab8ae04368bffd2;
CREATE FUNCTION assay.release_host(id text) RETURNS void LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:b82429c64cdb245bbda97f460231b430;
CREATE FUNCTION assay.replaceable(old assay.receipts, digest text, now bigint) RETURNS boolean LANGUAGE sql IMMUTABLE
  AS md5:447f9f3cd98ecc2746d8d30c1e256113;
CREATE FUNCTION assay.runs_family() RETURNS trigger LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:4203dfdc5af436f6f839687d7adcd41e;
CREATE FUNCTION assay.runs_root() RETURNS trigger LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:4b93ddffc6a29d7dcb89581bbfb1f8ec;
CREATE FUNCTION assay.runs_usage() RETURNS trigger LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:6b65f611f8f036e7340d9c52f3a47eee;
CREATE FUNCTION assay.scope_lock(tenant text, space text, scope text) RETURNS bigint LANGUAGE sql IMMUTABLE
  AS md5:dfdb60a3f86cca9bad9445851f7d9b35;
CREATE FUNCTION assay.share_gate_rows(run text, source text, n bigint) RETURNS void LANGUAGE sql SET search_path=assay, pg_temp
  AS md5:2077be88ab36a156d12dd00fad889b9f;
CREATE FUNCTION assay.share_prefix(run text, tenant_id text, fork jsonb) RETURNS void LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:7ba23f606c26840fe1aae37c22ba054a;
CREATE FUNCTION assay.shared_end(run text, inherited bigint) RETURNS bigint LANGUAGE sql STABLE SET search_path=assay, pg_temp
  AS md5:6ea2b5f5ec85065e1809fedd2ca2dfc4;
CREATE FUNCTION assay.stream_runs_gone() RETURNS trigger LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:5df26cbc6e61874debe7c9726f4d88e8;
CREATE FUNCTION assay.take_attempt(e assay.events) RETURNS void LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:835e99f7ec55517426f753abb05f1dc1;
CREATE FUNCTION assay.take_child(e assay.events, whose text) RETURNS void LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:d77483580657683bd8e4e20ded8360dd;
CREATE FUNCTION assay.take_exit(e assay.events) RETURNS void LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:a2249cd6c98eaec06f361f8224250643;
CREATE FUNCTION assay.take_rework(e assay.events) RETURNS void LANGUAGE sql SET search_path=assay, pg_temp
  AS md5:d6288435fa7d5c332d90aa59aaacaaeb;
CREATE FUNCTION assay.take_write(e assay.events, whose text) RETURNS void LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET search_path=assay, pg_temp
  AS md5:e643b647d5cf3e5985ac0841cb4b9336;
CREATE FUNCTION assay.tell_tenant(whose text, event_type text, told text, happened bigint) RETURNS void LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:8e29d5f0e0b02198361b79aad460396f;
CREATE FUNCTION assay.tenants_of(holder text) RETURNS SETOF text LANGUAGE sql STABLE SET search_path=assay, pg_temp
  AS md5:bb42ea742bc551a6ce914248e3fc8c75;
CREATE FUNCTION assay.trail_erased() RETURNS trigger LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:ff8ff3ed2d89472b7ee7f68b85080fc9;
CREATE FUNCTION assay.trail_guard() RETURNS trigger LANGUAGE plpgsql SET search_path=assay, pg_temp
  AS md5:3a62f5e82d91d90c35b1220bb1f56c44;
CREATE FUNCTION assay.usage_of(whose text, OUT runs bigint, OUT bytes bigint) RETURNS record LANGUAGE sql STABLE SET search_path=assay, pg_temp
  AS md5:359bc7ac4a162017aede6a9362aa7ad0;
CREATE FUNCTION assay.was_applied(c jsonb) RETURNS boolean LANGUAGE sql SET search_path=assay, pg_temp
  AS md5:a15fca8a547cb1e41f3b06da23d1c2ee;
CREATE FUNCTION assay.webhook_lock(webhook text) RETURNS bigint LANGUAGE sql IMMUTABLE
  AS md5:da45b53a230763b4d1505331a6bc8534;
CREATE FUNCTION assay.weight_of(weights jsonb, tenant text) RETURNS double precision LANGUAGE sql IMMUTABLE
  AS md5:4edf90e50b590d61bbc4440259a39f10;
CREATE FUNCTION assay.within_quotas(batch jsonb, refused jsonb[]) RETURNS jsonb[] LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET plan_cache_mode=force_generic_plan SET search_path=assay, pg_temp
  AS md5:3b79cb313a25012ef8e3ead182f9afa3;
CREATE FUNCTION assay.write_outside(whose text, writes jsonb, event jsonb, call text) RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan=off SET jit=off SET plan_cache_mode=force_generic_plan SET search_path=assay, pg_temp
  AS md5:4b8fe611777feaf6364ed0fedb6daf46;

-- relation of kind S: assay.journal_scopes_scope_id_seq

-- relation of kind S: assay.journal_writes_write_id_seq

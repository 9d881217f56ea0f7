import type { Json } from './json.js'

/**
 * The one table of refusals. `docs/reference/errors.md` is generated from it, and nothing answers with a code that is
 * not here. `retryable` tells a client whether the same request may succeed later, unchanged.
 */
export const PROBLEMS = {
  validation_error: {
    status: 400,
    retryable: false,
    title: 'The request does not have the documented shape or limits',
  },
  unsupported_stream_mode: { status: 400, retryable: false, title: 'streamMode names a mode that does not exist' },
  unsupported_mock_provider: { status: 400, retryable: false, title: 'configurable.mockProvider.id is not known' },
  unsupported_force_engine_version: { status: 400, retryable: false, title: 'X-Force-Engine-Version is out of range' },
  webhook_url_rejected: { status: 400, retryable: false, title: 'The URL is not one this host may deliver to' },
  channel_access_denied: { status: 400, retryable: false, title: 'The channel does not admit this node' },
  unsupported_version: { status: 400, retryable: false, title: 'The path has no protocol version; use /v1/…' },
  unauthenticated: { status: 401, retryable: false, title: 'No valid bearer key' },
  key_expired: { status: 401, retryable: false, title: 'The key has expired' },
  key_revoked: { status: 401, retryable: false, title: 'The key has been revoked' },
  forbidden: { status: 403, retryable: false, title: 'The key lacks the scope this route needs' },
  auth_elevation_required: { status: 403, retryable: false, title: 'This interrupt takes a bearer key, not a link' },
  tenant_membership_required: { status: 403, retryable: false, title: 'The key does not belong to that tenant' },
  mock_provider_forbidden: { status: 403, retryable: false, title: 'Mock providers need a test key' },
  force_engine_version_forbidden: { status: 403, retryable: false, title: 'X-Force-Engine-Version needs a test key' },
  not_found: { status: 404, retryable: false, title: 'No such resource, or not visible to this key' },
  unknown_workflow: { status: 404, retryable: true, title: 'No such workflow or agent is registered yet' },
  interrupt_not_found: { status: 404, retryable: false, title: 'No such interrupt, or the link is not genuine' },
  subscription_not_found: { status: 404, retryable: false, title: 'No such webhook for this tenant' },
  method_not_allowed: { status: 405, retryable: false, title: 'The path exists, the method does not' },
  request_timeout: { status: 408, retryable: true, title: 'The request body did not arrive in time' },
  run_already_active: { status: 409, retryable: true, title: 'X-Dedup: a run of this scope is still active' },
  run_terminal: { status: 409, retryable: false, title: 'The run has already ended' },
  run_not_ended: { status: 409, retryable: true, title: 'The run has not ended yet' },
  receipt_refused: {
    status: 409,
    retryable: false,
    title: 'The log of the run does not bear out what a receipt would say',
  },
  nothing_to_retry: {
    status: 409,
    retryable: false,
    title: 'Nothing in the run has failed, or waits to be tried again',
  },
  run_paused: { status: 409, retryable: false, title: 'The run is already paused' },
  run_not_paused: { status: 409, retryable: false, title: 'The run is not paused' },
  run_not_pausable: { status: 409, retryable: false, title: 'The run cannot be paused in its present state' },
  interrupt_already_resolved: { status: 409, retryable: false, title: 'Somebody has answered, or the run has ended' },
  interrupt_changed: { status: 409, retryable: false, title: 'What was shown is not what would be approved' },
  idempotency_key_mismatch: { status: 409, retryable: false, title: 'Idempotency-Key was used with another request' },
  idempotency_in_flight: { status: 409, retryable: true, title: 'The first request with this key is still running' },
  schedule_busy: { status: 409, retryable: true, title: 'The schedule has a run under way, and never two at once' },
  engine_version_mismatch: { status: 409, retryable: false, title: 'The run was written by a newer engine' },
  standard_shared: { status: 409, retryable: false, title: 'It comes with the project and is changed there' },
  gate_removed: {
    status: 409,
    retryable: false,
    title: 'The project no longer has a gate of the workflow, and does not say that this is meant',
  },
  standard_in_use: { status: 409, retryable: false, title: 'A gate still refers to it' },
  tenant_in_use: { status: 409, retryable: true, title: 'The tenant still has runs, or a key that is configured' },
  workspace_conflict: { status: 409, retryable: false, title: 'The file has another version than If-Match asks for' },
  commitment_over: { status: 409, retryable: false, title: 'The commitment has fired, or was dropped' },
  goal_closed: { status: 409, retryable: false, title: 'The goal has come to its end' },
  goal_not_active: { status: 409, retryable: false, title: 'The goal is paused or escalated, or has come to its end' },
  goal_busy: { status: 409, retryable: true, title: 'A contributing run of the goal is under way' },
  interrupt_expired: { status: 410, retryable: false, title: 'The link, or the time to answer, is over' },
  interrupt_gone: { status: 410, retryable: false, title: 'The run was cancelled with its parent; nobody waits' },
  run_expired: { status: 410, retryable: false, title: 'The run was purged when its retention was over' },
  tenant_erased: { status: 410, retryable: false, title: 'The tenant was erased; nothing more can be made for it' },
  payload_too_large: { status: 413, retryable: false, title: 'The request body is over the size limit' },
  workspace_too_large: { status: 413, retryable: false, title: 'The file is over the size limit of workspaces' },
  unsupported_media_type: { status: 415, retryable: false, title: 'Request bodies must be application/json' },
  expectation_failed: { status: 417, retryable: false, title: 'The Expect header asks for what no host here does' },
  misdirected_request: { status: 421, retryable: false, title: 'The Host header names another server' },
  capability_required: { status: 422, retryable: false, title: 'A node type needs a capability this host lacks' },
  goal_invalid: { status: 422, retryable: false, title: 'The goal cannot be as it is asked for' },
  goal_without_work: { status: 422, retryable: false, title: 'The goal says nothing that could be run' },
  invalid_from_seq: { status: 422, retryable: false, title: 'fromSeq is beyond the end of the log' },
  replay_memory_snapshot_unavailable: {
    status: 422,
    retryable: false,
    title: 'What the run saw of its memory or files then is no longer kept',
  },
  schedule_horizon_exceeded: {
    status: 422,
    retryable: false,
    title: 'The first tick is further away than the host plans ahead, or there is none',
  },
  interrupt_cancelled: { status: 422, retryable: false, title: 'The run was cancelled while it waited' },
  correlation_mismatch: { status: 422, retryable: false, title: 'The event is not the one the run waits for' },
  headers_too_large: { status: 431, retryable: false, title: 'The request headers are over the size limit' },
  rate_limited: { status: 429, retryable: true, title: 'Too many requests for this key' },
  quota_exceeded: { status: 429, retryable: true, title: 'The tenant has as much as its quota allows' },
  internal_error: { status: 500, retryable: true, title: 'A bug in the host; the correlation id is in its log' },
  capability_not_provided: { status: 501, retryable: false, title: 'This optional part of the protocol is not here' },
  service_unavailable: {
    status: 503,
    retryable: true,
    title: 'At capacity, starting, stopping, or the store is unavailable',
  },
} as const satisfies Record<string, { status: number; retryable: boolean; title: string }>

export type ProblemCode = keyof typeof PROBLEMS

export type Refusal = {
  readonly code: ProblemCode
  readonly message: string
  readonly details?: { readonly [key: string]: Json }
}

export const refuse = (code: ProblemCode, message: string, details?: Refusal['details']): Refusal =>
  details === undefined ? { code, message } : { code, message, details }

/** Why a run or node failed; codes that appear inside logs, never as an HTTP error. */
export const FAILURES = {
  conformance_test_failure: 'core.fail did what it is for',
  expression_error: 'An expression could not be evaluated over the data it met',
  expression_budget_exceeded: 'An expression would take more steps than its budget',
  step_budget_exceeded: 'To find out whose turn it is in the run would take more steps than a decision may',
  input_missing: 'A node input refers to a value that does not exist',
  invalid_input: 'A node was given a value it cannot work with',
  capability_not_provided: 'The node needs a capability that this host, or its model, does not have',
  unknown_child_workflow: 'The sub-workflow is not registered for this tenant',
  child_failed: 'The sub-workflow failed and onChildFailure is fail-parent',
  child_cancelled: 'The sub-workflow was cancelled and onChildFailure is fail-parent',
  child_refused: 'The sub-workflow refused the inputs it was given',
  unknown_peer: 'No peer of that name is configured, or none with a key to call it',
  peer_refused: 'The peer did not take the work',
  peer_mismatch: 'The host at the address of the peer says that it is another one',
  peer_input_sensitive: 'An input holds what no log may show, and what a peer shows nobody here can say',
  peer_terms: 'The node narrows what its worker may do, which a peer cannot be held to',
  peer_not_asked: 'The run stopped before the peer was asked',
  peer_lost: 'The peer was not heard for longer than peers.lostAfter',
  too_many_runs: 'The host holds so many unfinished runs that it starts no child',
  child_quota_exceeded: 'The root of the run has as many runs below it as the tenant may have',
  recursion_limit_exceeded: 'More node executions, or deeper nesting, than the bound allows',
  run_timeout: 'The run took longer than its bound',
  node_timeout: 'The node took longer than settings.timeoutMs',
  loop_limit_exceeded: 'The loop reached its iteration bound',
  validation_error: 'A value broke the declared schema, type or size',
  channel_access_denied: 'The channel does not admit this node',
  workspace_conflict: 'A file was changed by somebody else since the run saw it',
  memory_refused: 'Memory could not be read or written as the node asked',
  workspace_refused: 'A file of the workspace could not be read or written as the node asked',
  step_changed: 'A step of the project is gone, or has other schemas than when the run was started',
  step_failed: 'A step of the project threw, or its process was ended',
  scope_missing: 'Whoever the run acts for may not do what the node does',
  value_too_large: 'A node gave or wrote a value over the size limit',
  effect_failed: 'An outside effect failed for good',
  effect_outcome_unknown: 'A never-repeatable effect was interrupted; its outcome is not known',
  interrupt_rejected: 'A person said no',
  interrupt_timeout: 'Nobody answered in time',
  no_pending_decision: 'core.dispatch ran although no decision to hand work over was made',
  fan_out_unsupported: 'A decision named several workers and config.fanOutPolicy is "reject"',
  no_dispatch: 'A decision names workers and no core.dispatch node has handed it over',
  merge_rejected: 'A person did not let the results of a worker be merged',
  replay_diverged_at_refusal: 'A model that answered then would refuse today, or the other way round',
  replay_source_missing: 'A replay came to something of which its source recorded no outcome',
  unknown_agent: 'No agent of that name, or version, is installed here',
  unknown_tool: 'An agent is to use a tool that is not there',
  tool_unavailable: 'The server of a tool that an agent is to use does not answer',
  handoff_task_schema_violation: 'The task does not fit the task schema of the agent',
  handoff_return_schema_violation: 'The result does not fit the return schema of the agent',
  agent_rounds_exceeded: 'An agent called its model as often as it may without coming to an answer',
  agent_contents_missing: 'What was said earlier in the invocation is no longer kept, or cannot be opened',
  prompt_variable_unresolved: 'A prompt names a variable that has no value',
  prompt_ref_ambiguous: 'Two packs have a prompt of that name',
  prompt_ref_unresolved: 'There is no prompt of that name, or not of that kind',
  model_not_configured: 'The model, or its provider, is not configured on this host',
  model_unavailable: 'The model provider turned the call away as often as it was tried',
  model_rejected: 'The model provider does not take the call: its key, name or shape is wrong',
  model_timeout: 'The model did not answer in time',
  model_broke_off: 'The answer of the model broke off',
  model_output_too_large: 'The answer of the model is over the size limit',
  secret_missing: 'A secret that a setting refers to is not there',
  verification_failed: 'A result has not passed its gate, and nothing is made of it',
  verifier_canary: 'A verifier did what the text it judged asked it to; its vote is void',
  envelope_refusal: 'The model refused the task',
  envelope_invalid: 'The model did not answer in the form it was asked to',
  envelope_truncation_unrecoverable: 'The answer of the model was cut off, however much room it got',
  budget_exhausted: 'The next step could cross a ceiling of the budget',
  budget_model_denied: 'The budget does not let the run call this model',
  gate_removed: 'The project no longer has a gate of the workflow, and does not say that this is meant',
  gate_unbound: 'A gate of the workflow no longer fits it, so its run would go unchecked',
  run_quarantined: 'The run took its host down again and again, or would have merged what no gate has passed',
} as const

export type FailureCode = keyof typeof FAILURES | (string & {})

export type Failure = {
  readonly code: FailureCode
  readonly message: string
  readonly details?: { readonly [key: string]: Json }
  readonly retryable?: boolean
}

export const failure = (
  code: keyof typeof FAILURES,
  message: string,
  more: Omit<Failure, 'code' | 'message'> = {},
): Failure => ({
  code,
  message,
  ...more,
})

/** The same whether there is none or it is another's: nobody learns which. */
export const NO_RUN = refuse('not_found', 'No such run, or it is not visible to this key.')

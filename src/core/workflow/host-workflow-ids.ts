import { GOAL_JUDGE_WORKFLOW, JUDGE_WORKFLOW } from './nodes/judge.js'
import { VERIFIER_WORKFLOW } from './nodes/verify.js'

/** A result is put to a gate, and nothing else happens. */
export const JUDGE_WORKFLOW_IDS: readonly string[] = [JUDGE_WORKFLOW, GOAL_JUDGE_WORKFLOW]

/** Workflows that only the host can make: their runs are no work of a tenant's. */
export const HOST_WORKFLOW_IDS: readonly string[] = [VERIFIER_WORKFLOW, ...JUDGE_WORKFLOW_IDS]

import type { RunLimits } from '../core/run/decision-context.js'

/** Bounds that tests start from; what a test is about it sets itself. */
export const LIMITS: RunLimits = {
  maxNodeExecutions: 100_000,
  maxRunDurationMs: 31 * 24 * 3_600_000,
  maxDepth: 16,
  maxLoopIterations: 10_000,
  transcriptWindow: 200,
  budget: {},
  confidence: { floor: 0.5, interruptKind: 'approval' },
}

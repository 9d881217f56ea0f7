import { putCheckpoint } from './write-checkpoints.js'
import { writeCommit } from './write-commit.js'
import {
  claimDeliveries,
  deleteWebhook,
  finishDelivery,
  postponeDeliveries,
  purgeDeliveries,
  putWebhook,
  putWebhookHealth,
  retryDelivery,
} from './write-deliveries.js'
import { claimErasure, eraseEvents, eraseRun, eraseTenants, finishErasure, putDataKey } from './write-erasures.js'
import { claimOrphans, heartbeat, registerHost, releaseHost } from './write-hosts.js'
import { abandonEffect, claimEffect, finishEffect, purgeEffects, releaseEffect } from './write-invocations.js'
import { claimPurge, deletePurged, purgeFamily } from './write-purges.js'
import { claimReceipt, deleteReceipt, finishReceipt, purgeReceipts, putKey, putWorkflow } from './write-records.js'
import { deleteStandard, putStandard } from './write-standards.js'

/** Everything that writes. Each takes the connection, inside the batch's transaction, and one input. */
export const TASKS = {
  commit: writeCommit,
  registerHost,
  heartbeat,
  releaseHost,
  claimOrphans,
  putWorkflow,
  putStandard,
  deleteStandard,
  claimReceipt,
  finishReceipt,
  deleteReceipt,
  purgeReceipts,
  claimEffect,
  finishEffect,
  releaseEffect,
  abandonEffect,
  purgeEffects,
  putKey,
  putWebhook,
  putWebhookHealth,
  deleteWebhook,
  claimDeliveries,
  finishDelivery,
  retryDelivery,
  postponeDeliveries,
  purgeDeliveries,
  putCheckpoint,
  purgeFamily,
  claimPurge,
  deletePurged,
  putDataKey,
  eraseTenants,
  claimErasure,
  eraseEvents,
  eraseRun,
  finishErasure,
  /** Proves that the writer can begin and end a transaction. */
  probe: (_db: unknown, _input: null): void => undefined,
}

export type TaskName = keyof typeof TASKS
export type TaskInput<Name extends TaskName> = Parameters<(typeof TASKS)[Name]>[1]
export type TaskResult<Name extends TaskName> = ReturnType<(typeof TASKS)[Name]>

export type Task = readonly [name: TaskName, input: unknown]

/** What the writer answers to a batch: one value per task, save for those that failed. */
export type BatchReply = {
  readonly values: readonly unknown[]
  readonly failures: readonly TaskFailure[]
  readonly transactions: number
}

/**
 * `unavailable`: nothing is known to be written. Otherwise the task is at fault, and nothing of it is written;
 * `unverified` when that is because it would have merged what no gate has passed, `unstorable` for a text with a NUL,
 * `erased` because the tenant was.
 */
export type TaskFailure = {
  readonly index: number
  readonly message: string
  readonly kind: 'unavailable' | 'unverified' | 'unstorable' | 'erased' | 'fault'
}

export type WriterSettings = { readonly path: string; readonly maxBytes: number | null }

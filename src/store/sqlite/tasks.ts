import { putCheckpoint } from './writes/checkpoints.js'
import { writeCommit } from './writes/commit.js'
import {
  claimDeliveries,
  deleteWebhook,
  finishDelivery,
  postponeDeliveries,
  purgeDeliveries,
  putWebhook,
  putWebhookHealth,
  putWebhookSecret,
  retryDelivery,
} from './writes/deliveries.js'
import { claimErasure, eraseEvents, eraseRun, eraseTenants, finishErasure, putDataKey } from './writes/erasures.js'
import { claimOrphans, heartbeat, lastingId, registerHost, releaseHost } from './writes/hosts.js'
import { abandonEffect, claimEffect, finishEffect, purgeEffects, releaseEffect } from './writes/invocations.js'
import { collectJournal, destroyContent, keepContent, writeOutside } from './writes/journal.js'
import { collectUploads, dropUpload, keepPiece } from './writes/pieces.js'
import { claimPurge, deletePurged, purgeFamily } from './writes/purges.js'
import { claimResponse, deleteResponse, finishResponse, purgeResponses } from './writes/responses.js'
import { appendTrail, putKey, putWorkflow } from './writes/records.js'
import { deleteStandard, putStandard } from './writes/standards.js'

/** Everything that writes. Each takes the connection, inside the batch's transaction, and one input. */
export const TASKS = {
  commit: writeCommit,
  registerHost,
  heartbeat,
  releaseHost,
  claimOrphans,
  lastingId,
  putWorkflow,
  putStandard,
  deleteStandard,
  claimResponse,
  finishResponse,
  deleteResponse,
  purgeResponses,
  claimEffect,
  finishEffect,
  releaseEffect,
  abandonEffect,
  purgeEffects,
  putKey,
  appendTrail,
  putWebhook,
  putWebhookHealth,
  putWebhookSecret,
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
  keepContent,
  writeOutside,
  collectJournal,
  destroyContent,
  keepPiece,
  dropUpload,
  collectUploads,
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
 * `unverified` when that is because it would have merged what no gate has passed, `unstorable` for a text with a control character,
 * `erased` because the tenant was, `contentless` because the content of a write is not there.
 */
export type TaskFailure = {
  readonly index: number
  readonly message: string
  readonly kind: 'unavailable' | 'unverified' | 'unstorable' | 'erased' | 'contentless' | 'fault'
}

export type WriterSettings = { readonly path: string; readonly maxBytes: number | null }

import type { Static } from 'typebox'
import type { RunEventDoc as EventSchema } from '../wire/event.js'
import type { CreateKeyAnswer, CreateKeyBody, ListKeysAnswer } from '../wire/key.js'
import type {
  CreateRunAnswer,
  CreateRunBody,
  ListRunsAnswer,
  RUN_STATUSES,
  RunSnapshot as Snapshot,
} from '../wire/run.js'
import type { CheckWorkflowAnswer, ListWorkflowsAnswer, WorkflowAnswer } from '../wire/workflow.js'

/** The wire's types under the client's names: types only, so that no schema is loaded to make a call. */

export type Fields = { readonly [name: string]: unknown }
export type WireError = { readonly code: string; readonly message: string; readonly details?: Fields }

export type RunStatus = (typeof RUN_STATUSES)[number]
export type RunSnapshot = Snapshot
export type RunPage = Static<typeof ListRunsAnswer>
export type RunRow = RunPage['runs'][number]
export type RunRequest = CreateRunBody
export type CreatedRun = Static<typeof CreateRunAnswer>
export type RunEventDoc = Readonly<Static<typeof EventSchema>>

export type WorkflowInfo = Static<typeof WorkflowAnswer>
export type WorkflowList = Static<typeof ListWorkflowsAnswer>
export type WorkflowCheck = Static<typeof CheckWorkflowAnswer>

export type NewKey = Static<typeof CreateKeyBody>
export type CreatedKey = Static<typeof CreateKeyAnswer>
export type KeyList = Static<typeof ListKeysAnswer>

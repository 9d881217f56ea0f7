import type { JsonObject } from '../json.js'
import type { ApprovalVote, Interrupt } from './interrupt.js'

export type Asked = Interrupt & {
  readonly interruptId: string
  readonly key: string
  /** The data as readers may see it; `data` is what it is. */
  readonly shown: JsonObject
  readonly requestedAt: number
  readonly votes: readonly ApprovalVote[]
}

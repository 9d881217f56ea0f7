import type { JsonObject } from '../json.js'
import type { ApprovalVote, Interrupt } from './interrupt.js'

export type Asked = Interrupt & {
  readonly interruptId: string
  readonly key: string
  /** The data as readers may see it; `data` is what it is. */
  readonly shown: JsonObject
  /** The rest of it, for whoever is asked and whoever may read artifacts. */
  readonly rest?: JsonObject
  readonly requestedAt: number
  /** It is about what the run may spend. */
  readonly isBudget?: true
  readonly votes: readonly ApprovalVote[]
}

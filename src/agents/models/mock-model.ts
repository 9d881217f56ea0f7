import type { ModelCallRequest } from '../../engine/ports/agents.js'
import type { ProgramEntry, Programs } from '../../engine/ports/today.js'
import type { Spoken } from '../answer/spoken.js'
import { type Failing, rejected } from './failure.js'
import type { LiveReply } from './live.js'
import { minimalValue } from './scripted/minimal-value.js'

/** A model that is programmed by node. Without a program it says something small that fits, as the offline model does. */
export function mockReply(programs: Programs | undefined, ask: ModelCallRequest, failing: Failing): LiveReply {
  const { tenant, nodeId = '', call = 1, brief } = ask
  const entry = programs?.entry({ tenant, nodeId, call })
  if (entry === null) return rejected(`its program for node "${nodeId}" has no entry for call ${call}`, failing)
  return { ok: true, spoken: spokenOf(entry ?? unprogrammed(brief)), retries: 0 }
}

const unprogrammed = ({ returnSchema, wrapped }: ModelCallRequest['brief']): ProgramEntry => {
  const value = returnSchema === undefined ? 'mock' : minimalValue(returnSchema)
  const content = wrapped
    ? JSON.stringify({ result: value, confidence: 1 })
    : typeof value === 'string'
      ? value
      : JSON.stringify(value)
  return { content, stopReason: 'end_turn' }
}

/** It costs what it would at four bytes a token. */
function spokenOf({ content, stopReason }: ProgramEntry): Spoken {
  const usage = { inputTokens: 1, outputTokens: Math.ceil(Buffer.byteLength(content) / 4) }
  return { text: content, reasoning: '', calls: [], usage, finish: FINISH[stopReason] }
}

const FINISH: { readonly [Reason in ProgramEntry['stopReason']]: Spoken['finish'] } = {
  end_turn: { kind: 'done' },
  max_tokens: { kind: 'truncated', stopReason: 'max_tokens' },
  safety: { kind: 'refused' },
}

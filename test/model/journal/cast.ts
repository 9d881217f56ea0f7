import type { JsonObject } from '../../../src/core/json.js'
import type { ModelCallRequest, ToolCallRequest } from '../../../src/engine/ports/agents.js'
import type { DeskSeat, JournalDesk, Prepared } from '../../../src/engine/ports/desk.js'
import type { AgentsDouble, Said } from '../../../src/testing/agents.js'
import { agentsDouble } from '../../../src/testing/agents.js'
import { blocker } from '../../../src/testing/gate-stories.js'
import { answered, wants } from '../../../src/testing/invocations.js'
import type { Space } from './model.js'
import { agentAt, flowsOf, REF, type Step, type Story, SUPERVISOR, TOOLS, WORKERS } from './story.js'

type AgentStep = Extract<Step, { is: 'agent' }>

/** Hears what somebody found where they looked. */
export type Judge = (runId: string, nodeId: string, space: Space, looked: ReadonlyMap<string, string>) => void

const BAD = 'a bad result'
const AGAIN = 'it was sent back'

/** Agents that do what the story says with the real desk, look around first and last, and are judged by what they say. */
export function cast(told: Story, desk: JournalDesk, judge: Judge): AgentsDouble {
  const parts = new Map<string, AgentStep>()
  for (const [workflowId, { steps }] of flowsOf(told))
    for (const [i, step] of steps.entries()) if (step.is === 'agent') parts.set(agentAt(workflowId, `n${i}`), step)
  const ids = ['assay.verifier', SUPERVISOR, ...parts.keys()]
  const double = agentsDouble({
    agents: Object.fromEntries(ids.map(id => [id, { tools: TOOLS }])),
    think: ask => thought(ask, parts.get(ask.agentId ?? '')),
    use: ask => used(desk, judge, ask),
  })
  return {
    ...double,
    async prepare(ask) {
      const answer = await double.prepare(ask)
      if (!answer.ok || ask.feedback === undefined) return answer
      return { ...answer, contents: { ...answer.contents, user: `${answer.contents.user} ${AGAIN}` } }
    },
  }
}

function thought(ask: ModelCallRequest, part: AgentStep | undefined): Said {
  const shown = JSON.stringify([ask.brief.user, ask.rounds])
  if (ask.role === 'verifier') {
    const isBad = shown.includes(BAD)
    const findings = isBad ? [blocker()] : []
    return { said: answered({ scores: { correctness: isBad ? 2 : 9 }, findings }, 0.9) }
  }
  const isFirst = ask.rounds.length === 0
  if (ask.role === 'supervisor') {
    const turn = (JSON.parse(ask.brief.user.split(` ${AGAIN}`)[0] ?? '{}') as { iteration: number }).iteration
    if (isFirst)
      return calls([LOOK, { tool: 'put', key: 'b', word: 'green' }, { tool: 'write', path: 'x.md', word: 'red' }, LOOK])
    const decision = turn <= 2 ? { kind: 'next-worker', nextWorkerIds: WORKERS } : { kind: 'terminate' }
    return { said: answered(decision as never, 0.9) }
  }
  if (isFirst && part)
    return calls([LOOK, ...part.acts.map(({ do: tool, ...args }) => ({ ...(args as JsonObject), tool })), LOOK])
  const isBad = part?.says === 'bad' || (part?.says === 'mended' && !shown.includes(AGAIN))
  return { said: answered(isBad ? BAD : 'a good result', 0.9) }
}

const LOOK = { tool: 'look' }

const calls = (acts: readonly ({ readonly tool: string } & JsonObject)[]): Said => ({
  said: wants(...acts.map(({ tool }) => `test:${tool}`)),
  args: acts as never,
})

async function used(desk: JournalDesk, judge: Judge, ask: ToolCallRequest) {
  const seat = { tenant: ask.tenant, runId: ask.runId, id: ask.id, desk: ask.desk }
  const { tool, key = '', path = '', word = '', ttl } = ask.args as { [name: string]: string } & { ttl?: number }
  const nodeId = ask.agentId.split(/[.:]/).at(-1) ?? ''
  const said = `${word} in ${ask.runId} at ${nodeId}`
  switch (tool) {
    case 'put':
      return written(
        await desk.put(seat, {
          space: 'memory',
          ref: REF,
          id: key,
          content: said,
          tags: [word],
          ...(ttl === undefined ? {} : { ttlSeconds: ttl }),
        }),
      )
    case 'forget':
      return written(await desk.forget(seat, 'memory', { ref: REF, id: key }))
    case 'write':
      return written(await desk.put(seat, { space: 'workspace', ref: '', id: path, content: said, tags: [] }))
    case 'remove':
      return written(await desk.forget(seat, 'workspace', { ref: '', id: path }))
    default: {
      for (const space of ['memory', 'workspace'] as const)
        judge(ask.runId, nodeId, space, await found(desk, seat, space))
      const looked = await desk.list(seat, 'memory', { ref: REF, limit: 100 })
      return { ...FINE, ...(looked.ok ? { read: looked.read } : {}), text: 'looked' }
    }
  }
}

const FINE = { status: 'ok' as const, durationMs: 1, resultTokens: 9 }

const written = (done: Prepared) =>
  done.ok
    ? { ...FINE, entry: done.entry }
    : { ...FINE, status: 'error' as const, code: 'tool_refused', text: done.message }

/** What there is, by list, and what each of it says, read by itself. */
async function found(desk: JournalDesk, seat: DeskSeat, space: Space): Promise<Map<string, string>> {
  const listed = await desk.list(seat, space, { limit: 100 })
  if (!listed.ok) throw new Error(listed.message)
  const words = new Map<string, string>()
  for (const { ref, id } of listed.entries) {
    const read = await desk.read(seat, space, { ref, id })
    words.set(`${ref}/${id}`, (read.ok && read.entries[0]?.content) || '')
  }
  return words
}

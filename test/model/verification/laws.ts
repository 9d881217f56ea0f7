import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Recorded } from '../../../src/core/run/events.js'
import { taggedSha256OfJson } from '../../../src/digest.js'
import type { Setup } from './setup.js'

/** What is true whatever happens, read off the log. Each entry says what is broken, and where. */
export function brokenLaws(setup: Setup, log: readonly Recorded[]): string[] {
  return [...unverified(setup, log), ...attempts(setup, log), ...bounds(setup, log), ...goals(log), ...merged(log)]
}

type Verdict = { readonly verdict: string; readonly hash: string }

/** R-VERIFY-10, R-VERIFY-11, R-VERIFY-21: the latest word of each gate that blocks, over exactly this result, is a pass. */
function unverified({ shape, gates }: Setup, log: readonly Recorded[]): string[] {
  const latest = new Map<string, Verdict>()
  const brought = new Map<string, Json>()
  const blocking = gates.flatMap(({ blocking }, i) => (blocking ? [`g${i + 1}`] : []))
  const lacking = (target: string, result: Json, at: number) =>
    blocking
      .filter(gateId => {
        const said = latest.get(`${gateId} ${placed(target)}`)
        return said?.verdict !== 'pass' || said.hash !== taggedSha256OfJson(result)
      })
      .map(gateId => `${at}: ${target} is merged without a pass of ${gateId}`)
  let decided = ''
  let staged: { target: string; result: Json } | undefined
  return log.flatMap(event => {
    switch (event.type) {
      case 'agent.verified':
        latest.set(`${event.secret!.gateId} ${placed(event.payload.target)}`, {
          verdict: event.payload.verdict,
          hash: event.secret!.resultHash,
        })
        return []
      case 'agent.decided':
        decided = `:${event.sequence}`
        return []
      case 'assay.result.staged':
        staged = { target: event.payload.targetRef, result: event.secret!.result }
        return []
      case 'core.workflowChain.event': {
        const { phase, childRunId = '' } = event.payload
        if (phase === 'child.completed' && event.secret && 'outputs' in event.secret)
          brought.set(childRunId, event.secret.outputs)
        return phase === 'output.harvested' && shape !== 'exit of a loop'
          ? lacking(childRunId, brought.get(childRunId) ?? null, event.sequence)
          : []
      }
      case 'node.completed':
        return shape === 'agent' ? lacking(decided, event.payload.outputs.result ?? null, event.sequence) : []
      case 'run.completed': {
        if (!shape.startsWith('exit')) return []
        const judged = staged?.result as { readonly outputs: JsonObject } | undefined
        return taggedSha256OfJson(judged?.outputs ?? null) === taggedSha256OfJson(event.payload.outputs)
          ? lacking(staged?.target ?? '', staged?.result ?? null, event.sequence)
          : [`${event.sequence}: the run ends with what was not judged`]
      }
      default:
        return []
    }
  })
}

/** A branch knows what it shares under its own name. */
const placed = (target: string): string => target.replace(/^run-\d+(?=:)/, '')

/** R-DWS-22: work is done again as often as its gate says, and no more. */
function attempts({ gates, shape }: Setup, log: readonly Recorded[]): string[] {
  const alone = gates.length === 1 ? gates[0] : undefined
  const sent = new Map<string, number>()
  return log.flatMap(event => {
    if (event.type === 'node.started' && event.payload.attempt === 0 && !shape.startsWith('exit')) sent.clear()
    if (event.type === 'assay.rework.began') {
      const { gateId, workerId = '' } = event.payload
      const times = (sent.get(`${gateId} ${workerId}`) ?? 0) + 1
      sent.set(`${gateId} ${workerId}`, times)
      const { maxAttempts } = gates[Number(gateId.slice(1)) - 1]!
      return times >= maxAttempts ? [`${event.sequence}: sent back ${times} times of ${maxAttempts - 1}`] : []
    }
    const isOver = event.type === 'dws.verification.started' && alone && event.payload.attempt > alone.maxAttempts
    return isOver ? [`${event.sequence}: attempt ${event.payload.attempt} of ${alone.maxAttempts}`] : []
  })
}

/** R-DWS-34, R-BOUND-2: turns and reworks have the same bound, each its own. */
function bounds({ maxLoopIterations = Number.POSITIVE_INFINITY }: Setup, log: readonly Recorded[]): string[] {
  const turns = log.filter(({ type }) => type === 'runOrchestrator.decided').length
  const reworks = turns === 0 ? 0 : log.filter(({ type }) => type === 'assay.rework.began').length
  return Math.max(turns, reworks) > maxLoopIterations
    ? [`${turns} turns, ${reworks} reworks of ${maxLoopIterations}`]
    : []
}

/** R-VERIFY-12, R-VERIFY-19: no run calls a success what its gates have not passed. */
function goals(log: readonly Recorded[]): string[] {
  const last = log.at(-1)
  if (last?.type !== 'run.completed') return []
  const places = new Map<string, string>()
  for (const event of log)
    if (event.type === 'agent.verified') {
      const started = log.findLast(
        other =>
          other.sequence < event.sequence &&
          other.type === 'dws.verification.started' &&
          other.payload.gateId === event.secret!.gateId,
      )
      const worker = started?.type === 'dws.verification.started' ? (started.payload.workerId ?? '') : ''
      places.set(`${event.secret!.gateId} ${worker}`, event.payload.verdict)
    }
  const isOpen = [...places.values()].some(verdict => verdict !== 'pass')
  return isOpen && last.payload.goalSatisfied !== false ? [`${last.sequence}: the goal is not reached`] : []
}

/** R-VERIFY-11: what was not merged is in no variable. */
function merged(log: readonly Recorded[]): string[] {
  const harvested = new Set(
    log.flatMap(event =>
      event.type === 'core.workflowChain.event' && event.payload.phase === 'output.harvested'
        ? [`of ${event.payload.childRunId}`]
        : [],
    ),
  )
  return log.flatMap(event =>
    event.type === 'variable.changed' && typeof event.payload.next === 'string' && !harvested.has(event.payload.next)
      ? [`${event.sequence}: ${event.payload.next} is in ${event.payload.name}`]
      : [],
  )
}

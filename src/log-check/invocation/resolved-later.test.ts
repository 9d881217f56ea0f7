import { describe, expect, it } from 'vitest'
import { foldEvent } from '../../core/view/fold.js'
import { emptyView } from '../../core/view/run-view.js'
import { given } from '../../testing/given-when-then.js'
import { agentFlow, answered, atWork, says } from '../../testing/invocations.js'
import { checkLog } from '../check-log.js'

/** The log of one invocation, whose `started` lacks these. */
function told(...without: readonly string[]) {
  const run = says(atWork(given(agentFlow())), answered('done', 0.9))
  return run.log.map(({ sequence, type, nodeId, payload, secret, cause, at }) => {
    const left = Object.entries(payload).filter(
      ([name]) => type !== 'agent.invocation.started' || !without.includes(name),
    )
    const shown = Object.fromEntries(left)
    const causationId = cause === undefined ? null : `run-1:${cause}`
    return { sequence, type, nodeId: nodeId ?? null, payload: shown, secret, causationId, at }
  })
}

const RESOLVED = ['resolvedModel', 'resolvedProvider']
const findings = (dialect: 'assay' | 'openwop', ...without: readonly string[]) =>
  checkLog({ dialect, runs: [{ runId: 'run-1', events: told(...without) }] }).map(({ rule }) => rule)

describe('R-LIVE-4: a host that resolves the model later', () => {
  it('says so by leaving it out, and its log is legal', () => {
    expect(findings('openwop', ...RESOLVED)).toEqual(findings('openwop'))
    expect(findings('openwop', 'source')).not.toEqual(findings('openwop'))
  })

  it('is not this one, which knows it before the bracket opens', () => {
    expect(findings('assay', ...RESOLVED)).not.toEqual(findings('assay'))
  })

  it('is followed all the same', () => {
    const events = told(...RESOLVED).map(({ nodeId, at, causationId: _c, secret: _s, ...event }) => ({
      ...event,
      eventId: `run-1:${event.sequence}`,
      runId: 'run-1',
      payload: event.payload as never,
      timestamp: new Date(at).toISOString(),
      ...(nodeId === null ? {} : { nodeId }),
    }))
    const begun = events.findIndex(({ type }) => type === 'agent.invocation.started')
    const view = events.slice(0, begun + 1).reduce(foldEvent, emptyView())
    expect(view.nodes.get('a')?.invocation).toMatchObject({ agentId: 'local.test.agent', provider: '', model: '' })
  })
})

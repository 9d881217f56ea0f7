import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { repository } from '../../cli/assay-process.js'
import { createRun, ended } from '../../support/client.js'
import { HostProcess } from '../../support/host-process.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { auditMerges } from './merges.js'
import {
  MERGE_UNASKED,
  NO_CONSTRAINT,
  NO_GATES,
  type Patch,
  STALE_VERDICTS,
  sabotaged,
  TOOL_UNHELD,
} from './sabotage.js'
import { named } from './stories.js'
import { hosted } from './telling.js'

/** Hosts with a bug that a gate is there for. The store is the last to know, and must not let it through. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-gates-sabotage-'))
let worlds = 0
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Runs a workflow to its end on a host with that bug. */
async function runWith(name: string, patches: readonly Patch[]) {
  worlds += 1
  const folder = path.join(scratch, String(worlds))
  const build = sabotaged(path.join(folder, 'build'), patches)
  const database = `sqlite:${folder}/data/assay.db`
  const { model, spawn } = await hosted(named(name), { folder, database, build })
  try {
    const host = await spawn()
    const runId = await createRun(host, name)
    await ended(host, runId)
    const { body } = await host.call('GET', `/v1/runs/${runId}`)
    await host.finish()
    const runs = await storedRuns(database)
    const types = runs
      .find(run => run.runId === runId)!
      .events.map(({ type, payload }) =>
        type === 'core.workflowChain.event' ? (payload as { phase: string }).phase : type,
      )
    return { snapshot: body, types, errors: host.errors, runs, audit: await auditMerges(database) }
  } finally {
    await model.close()
  }
}

const REFUSED = {
  status: 'failed',
  error: { code: 'run_quarantined', message: expect.stringContaining('no gate has') },
}

describe('R-VERIFY-10, S10: a host whose core does not wait for the gate', () => {
  it.each([
    ['what a worker brings', 'rejected', MERGE_UNASKED, 'output.harvested', { capital: 'unknown' }],
    ["an agent's result", 'written', NO_GATES, 'node.completed', {}],
    ['what a run came to', 'left', NO_GATES, 'run.completed', {}],
  ] as const)(
    '%s: the store refuses the merge, and the run ends and says so',
    async (_, name, patch, merge, variables) => {
      const { snapshot, types, errors, runs, audit } = await runWith(name, [patch])
      expect(snapshot, JSON.stringify(snapshot)).toMatchObject({ ...REFUSED, variables })
      if (name === 'written') expect(snapshot).not.toHaveProperty('variables.capital')
      expect(types).not.toContain(merge)
      expect(types).not.toContain('agent.verified')
      expect(errors.split('it would have merged an unverified result')).toHaveLength(2)
      expect(findingsOf(runs)).toEqual([])
      expect(audit).toEqual({ merges: 0, problems: [] })
    },
  )

  it.each([
    ['not held for its gate', TOOL_UNHELD, 'agent.toolReturned ok'],
    ['given to the agent unasked', NO_GATES, 'assay.tool.delivered'],
  ] as const)('what a tool brings, %s: the store refuses it, and no model reads it', async (_, patch, told) => {
    worlds += 1
    const folder = path.join(scratch, String(worlds))
    const database = `sqlite:${folder}/data/assay.db`
    const project = path.join(repository, 'examples/tool-results')
    const build = sabotaged(path.join(folder, 'build'), [patch])
    mkdirSync(path.join(folder, 'data'))
    const host = await HostProcess.spawn({ data: path.join(folder, 'data'), database, project, build })
    const runId = await createRun(host, 'price')
    await ended(host, runId)
    const { body } = await host.call('GET', `/v1/runs/${runId}`)
    await host.finish()
    expect(body, JSON.stringify(body)).toMatchObject(REFUSED)
    const types = (await storedRuns(database)).flatMap(run =>
      run.events.map(({ type, payload }) =>
        type === 'agent.toolReturned' ? `${type} ${(payload as { status: string }).status}` : type,
      ),
    )
    expect(types).toContain('agent.toolCalled')
    expect(types).not.toContain(told)
    expect(types.filter(type => type === 'assay.model.requested')).toHaveLength(1)
  })

  it('nor is a pass for anything but exactly the result that it is about', async () => {
    const { snapshot, types, errors, audit } = await runWith('passed', [STALE_VERDICTS])
    expect(snapshot, JSON.stringify(snapshot)).toMatchObject({ ...REFUSED, variables: { capital: 'unknown' } })
    expect(types).not.toContain('output.harvested')
    expect(errors).toContain('it would have merged an unverified result')
    expect(audit).toEqual({ merges: 0, problems: [] })
  })

  it('with a store that lets it: the wrong answer is merged, and the check of these suites is red', async () => {
    const { snapshot, audit } = await runWith('rejected', [MERGE_UNASKED, ...NO_CONSTRAINT])
    expect(snapshot).toMatchObject({ status: 'completed', variables: { capital: 'London' } })
    expect(audit).toEqual({ merges: 1, problems: [expect.stringContaining('no merge is kept')] })
  })
})

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { readLocalKey } from '../../../src/client/local-key.js'
import { loadConfig } from '../../../src/config.js'
import type { Clock } from '../../../src/engine/ports/clock.js'
import type { HostParts } from '../../../src/ground.js'
import { createHost } from '../../../src/host.js'
import { systemClock } from '../../../src/system.js'
import { isTerminal, until } from '../../support/host-process.js'
import { startModelServer } from '../../support/openai-server.js'

/** A whole host whose provider turns the first try of each call away: what it waits before the second. */

const AGENT = 'local.chance.speaker'
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** The time between two tries is over at once. It is from 250 to 750 ms, and nothing else here waits that long. */
function notingClock(): Clock & { readonly waits: number[] } {
  const waits: number[] = []
  return {
    ...systemClock,
    waits,
    after(ms, callback) {
      if (ms < 250 || ms >= 750) return systemClock.after(ms, callback)
      waits.push(ms)
      return systemClock.after(0, callback)
    },
  }
}

/** The waits of two calls, one after the other. */
async function waitsOf(parts: HostParts): Promise<readonly number[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-chance-'))
  closing.push(() => fs.rmSync(folder, { recursive: true }))
  const [project, data] = [path.join(folder, 'project'), path.join(folder, 'data')]
  fs.mkdirSync(path.join(project, 'agents'), { recursive: true })
  const agent = { agentId: AGENT, persona: 'A', modelClass: 'general', systemPrompt: 'Speak.' }
  fs.writeFileSync(path.join(project, 'agents/speaker.json'), JSON.stringify(agent))
  const away = { reply: { kind: 'status', status: 429, headers: {} } } as const
  const said = { reply: { kind: 'text', text: 'fine' } } as const
  const model = await startModelServer({ plan: [away, said, away, said] })
  closing.push(() => model.close())
  const clock = notingClock()
  const flags = { project, data, database: 'memory:', port: '0', 'log.level': 'silent' }
  const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-chance-0123456789abcdef', OPENAI_MODEL: 'm-1' }
  const host = await createHost(loadConfig(flags, env, folder), { clock, ...parts })
  closing.push(() => host.stop())
  await host.start()
  const headers = { authorization: `Bearer ${await readLocalKey(data)}`, 'content-type': 'application/json' }
  for (const task of ['one', 'two']) {
    const body = JSON.stringify({ workflowId: AGENT, inputs: { task } })
    const begun = await fetch(`${host.url}/v1/runs`, { method: 'POST', headers, body })
    const { runId } = (await begun.json()) as { readonly runId: string }
    const ended = await until(`run ${runId} to end`, async () => {
      const shown = await fetch(`${host.url}/v1/runs/${runId}`, { headers })
      const { status } = (await shown.json()) as { readonly status: string }
      return isTerminal(status) && status
    })
    expect(ended).toBe('completed')
  }
  return clock.waits
}

test('a host draws the wait before the second try of a model call from the chance it is given', async () => {
  const draws = [0, 0.75]
  expect(await waitsOf({ random: () => draws.shift() ?? 0.5 })).toEqual([250, 625])
})

test('a host that is given no chance has that of the machine: no two waits are the same', async () => {
  const waits = await waitsOf({})
  expect(waits).toHaveLength(2)
  expect(waits[0]).not.toBe(waits[1])
})

import { cpSync, rmSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repository, type Server, startServer, temporaryFolder } from '../../cli/assay-process.js'

/** `examples/memory` as a user runs it: the real program, offline. */

const folder = temporaryFolder()
const project = path.join(folder, 'project')
let server: Server

beforeAll(async () => {
  cpSync(path.join(repository, 'examples/memory'), project, { recursive: true })
  server = await startServer(path.join(folder, 'data'), ['--project', project])
})

afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

const welcome = async (scope: string) => {
  const { code, value } = await server.json('run', 'welcome', '--scope', scope, '--wait')
  expect([code, value.status]).toEqual([0, 'completed'])
  return value as { runId: string; outputs: { greeting: string } }
}

const types = async (runId: string): Promise<string[]> =>
  (await server.json('runs', 'events', runId)).value.events.map(({ type }: { type: string }) => type)

describe('an agent that remembers', () => {
  it('M2 R-VERIFY-10: is sent back for want of a card, and what it kept is there for the next run of its scope', async () => {
    const first = await welcome('inn')
    expect(first.outputs.greeting).toContain('Welcome, Ann')
    const { value: found } = await server.json('runs', 'findings', first.runId, '1')
    expect(found.verdict).toBe('fail')
    expect(found.findings[0].evidence[0]).toMatchObject({ ref: 'guests/ann.md', detail: 'is not there' })
    const written = (await types(first.runId)).filter(type => type.endsWith('written'))
    expect(written).toEqual(['memory.written', 'memory.written', 'assay.file.written'])
    // What the attempt that was sent back remembered is nowhere: it had no tags.
    const { value: entry } = await server.json('memory', 'get', 'ann', '--ref', 'guests', '--scope', 'inn')
    expect(entry).toMatchObject({ content: 'Sits at the window. No nuts.', tags: ['guest', 'allergy'] })
    const card = await server.assay('runs', 'files', first.runId, 'get', 'guests/ann.md')
    expect(card.stdout).toBe('# Ann\n\nSits at the window. No nuts.\n')

    const second = await welcome('inn')
    expect(second.outputs.greeting).toContain('Welcome back, Ann')
    expect((await types(second.runId)).filter(type => /written$|rework/.test(type))).toEqual([])
    const other = await welcome('pub')
    expect(other.outputs.greeting).toContain('Welcome, Ann')
    const { value: scopes } = await server.json('memory', 'scopes')
    expect(scopes.scopes.map(({ scope, entries }: { scope: string; entries: number }) => [scope, entries])).toEqual([
      ['inn', 1],
      ['pub', 1],
    ])
  })

  it('every log is legal', async () => {
    const { code, stdout } = await server.assay('verify', '--all')
    expect([code, stdout], stdout).toEqual([0, expect.stringContaining('no findings')])
  })
})

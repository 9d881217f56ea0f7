import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repository, type Server, startServer, temporaryFolder } from '../../cli/assay-process.js'

/** `examples/sources` as a user runs it: the real program, offline. */

const folder = temporaryFolder()
const project = path.join(folder, 'project')
let server: Server

beforeAll(async () => {
  cpSync(path.join(repository, 'examples/sources'), project, { recursive: true })
  // The same work before a gate that shows no source: an honest verifier cannot check it.
  for (const [kind, from, to] of [
    ['workflows', 'read-invoice', 'read-blindly'],
    ['gates', 'true-invoice', 'blind-invoice'],
  ] as const) {
    const text = readFileSync(path.join(project, kind, `${from}.yaml`), 'utf8')
    const blind = text.replaceAll('read-invoice', 'read-blindly').replace('context: [inputs.invoice]\n', '')
    writeFileSync(path.join(project, kind, `${to}.yaml`), blind)
  }
  server = await startServer(path.join(folder, 'data'), ['--project', project])
})

afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

describe('work that is held against its source', () => {
  it.each([
    ['release-notes', 'badf00d', { notes: expect.stringContaining('[e4f5a6b]') }, 'inputs.log'],
    ['read-invoice', '438.50', { invoice: { number: 'R-1047', total: 438.5 } }, 'inputs.invoice'],
  ])(
    'R-DWS-7: %s: what the source does not say is caught, and what passes is right',
    async (workflow, found, outputs, source) => {
      const { code, value } = await server.json('run', workflow, '--wait')
      expect([code, value.status, value.outputs]).toEqual([0, 'completed', outputs])
      const { value: first } = await server.json('runs', 'findings', value.runId, '1')
      expect(first.verdict).toBe('fail')
      expect(first.findings[0].description).toContain(found)
      expect(first.context.map(({ ref }: { ref: string }) => ref)).toEqual([source])
      expect(first.contextHash).toMatch(/^sha256:/)
      expect(first.criteria[0].evidenceFrom).toEqual(['verifier:assay.verifier', source])
    },
  )

  it('R-DWS-36: without the source it could not be checked: a person is asked, and the worker works once', async () => {
    const { value } = await server.json('run', 'read-blindly', '--wait')
    expect(value.status).toBe('waiting-approval')
    const { value: first } = await server.json('runs', 'findings', value.runId, '1')
    expect(first).toMatchObject({
      verdict: 'could_not_check',
      unchecked: [{ dimension: 'correct', reason: 'The invoice is not here.' }],
    })
    const { value: told } = await server.json('runs', 'events', value.runId)
    const types = told.events.map(({ type }: { type: string }) => type)
    expect(types.filter((type: string) => type === 'agent.decided')).toHaveLength(1)
    expect(types).not.toContain('agent.verified')
  })

  it('every log is legal', async () => {
    const { code, stdout } = await server.assay('verify', '--all')
    expect([code, stdout], stdout).toEqual([0, expect.stringContaining('no findings')])
  })
})

import { afterEach, describe, expect, test } from 'vitest'
import type { Artifacts } from '../../../src/engine/ports/agents.js'
import { type Rig, toolRig } from './rig.js'

const KEY = 'swordfish-1234567'
const CREATE = 'assay:artifact.create'

const shelf: Artifacts = {
  list: async () => [{ artifactId: 'art-1', artifactType: 'note', nodeId: 'a' }],
  read: async (_tenant, _runId, artifactId) => (artifactId === 'art-1' ? 'x'.repeat(9_000) : undefined),
}

let rig: Rig
afterEach(() => rig.close())

describe('artifacts as tools', () => {
  test('R-TOOL-1: they are on a surface that names them, and only there', async () => {
    rig = await toolRig({ artifacts: shelf })
    const wanted = [CREATE, 'assay:artifact.read', 'assay:artifact.delete', 'assay:artifact', 'Assay:artifact.list']
    expect(await rig.ids(wanted)).toEqual([CREATE, 'assay:artifact.read'])
  })

  test('R-TOOL-2: a host without a place to read them has none that reads', async () => {
    rig = await toolRig()
    expect(await rig.ids([CREATE, 'assay:artifact.list', 'assay:artifact.read'])).toEqual([CREATE])
    expect((await rig.use('assay:artifact.list')).told.code).toBe('tool_unknown')
  })

  test('what is to be kept is told to the run and not repeated to the model', async () => {
    rig = await toolRig()
    const content = { body: 'the whole text', none: null }
    const { told, contents } = await rig.use(CREATE, { artifactType: 'text/x-note.1', content })
    expect(told).toMatchObject({ status: 'ok', artifact: { artifactType: 'text/x-note.1', content } })
    expect(contents).toEqual({ text: expect.stringMatching(/^Stored/), isError: false })
    expect(JSON.stringify(contents) + rig.logged()).not.toContain('whole text')
  })

  test('A4 R-EVENT-6: no secret that the host knows is kept', async () => {
    rig = await toolRig({ secrets: { KEY } })
    await rig.secrets.resolve({ env: 'KEY' })
    const content = { [KEY]: [`it is ${KEY}`, Buffer.from(KEY).toString('base64url')] }
    const { told } = await rig.use(CREATE, { artifactType: `about/${KEY}`, content })
    expect(told.artifact).toEqual({
      artifactType: 'about/[REDACTED:KEY]',
      content: { '[REDACTED:KEY]': ['it is [REDACTED:KEY]', '[REDACTED:KEY]'] },
    })
  })

  test.each([
    ['no type', { content: 1 }],
    ['no content', { artifactType: 'a' }],
    ['an empty type', { artifactType: '', content: 1 }],
    ['a type that is too long', { artifactType: 'a'.repeat(129), content: 1 }],
    ['a type with a space', { artifactType: 'a b', content: 1 }],
    ['a type with a line break at its end', { artifactType: 'a\n', content: 1 }],
    ['a type of other letters', { artifactType: 'dоc', content: 1 }],
    ['an id of its own', { artifactType: 'a', content: 1, artifactId: 'art-1' }],
    ['another run', { artifactType: 'a', content: 1, runId: 'other' }],
  ])('R-TOOL-3: %s is refused, and nothing is kept', async (_what, args) => {
    rig = await toolRig()
    const { told } = await rig.use(CREATE, args)
    expect(told).toMatchObject({ status: 'error', code: 'tool_arguments_invalid' })
    expect(told).not.toHaveProperty('artifact')
  })

  test('too much is refused, and nothing is kept', async () => {
    rig = await toolRig()
    const { told, contents } = await rig.use(CREATE, { artifactType: 'a', content: 'x'.repeat(262_144) })
    expect(told).toMatchObject({ status: 'error', code: 'tool_refused' })
    expect(told).not.toHaveProperty('artifact')
    expect(contents.text).toContain('Not stored')
  })

  test('what is read is cut like every result', async () => {
    rig = await toolRig({ artifacts: shelf })
    const { text } = (await rig.use('assay:artifact.read', { artifactId: 'art-1' })).contents
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096)
    expect(text).toContain('[cut:')
    expect((await rig.use('assay:artifact.read', { artifactId: 'art-2' })).told.code).toBe('tool_failed')
    expect((await rig.use('assay:artifact.read', { artifactId: 'art-1', runId: 'x' })).told.code).toBe(
      'tool_arguments_invalid',
    )
  })
})

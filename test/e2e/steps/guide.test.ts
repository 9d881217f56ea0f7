import fs from 'node:fs'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { closeAll, startReceiver, startStepHost } from './rig.js'

/** The guide on steps: every workflow that it shows is served and run. */

const guide = fs.readFileSync(new URL('../../../docs/guides/steps.md', import.meta.url), 'utf8')
const blocks = [...guide.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text)
const workflows = new Map(blocks.map(text => [String((parse(text) as { id?: string }).id), text]))
const tried = new Set<string>()

afterEach(closeAll)

beforeAll(() => expect(workflows.size).toBe(blocks.length))

/** As it stands in the guide, with the address of a receiver of ours. */
function shown(id: string, url = ''): { [file: string]: string } {
  tried.add(id)
  const text = workflows.get(id) ?? `the guide has no workflow ${id}`
  return { [`workflows/${id}.yaml`]: text.replaceAll('https://releases.example.com', url) }
}

describe('docs/guides/steps.md', () => {
  test('a tool is called by a workflow', async () => {
    const { run } = await startStepHost(shown('next-page'))
    expect(await run('next-page')).toMatchObject({ status: 'completed', outputs: { files: [] } })
  })

  test('notes are published with a secret header', async () => {
    const { url, received } = await startReceiver(() => ({
      headers: { 'content-type': 'application/json' },
      body: '{"id":"n-1"}',
    }))
    const { run } = await startStepHost(shown('announce', url), {}, { RELEASES_TOKEN: 'Bearer of-good-news' })
    expect(await run('announce', { notes: 'it flies' })).toMatchObject({ status: 'completed', outputs: { id: 'n-1' } })
    expect(received).toMatchObject([
      { url: '/notes', body: '{"text":"it flies"}', headers: { authorization: 'Bearer of-good-news' } },
    ])
  })

  test('a file is written and read', async () => {
    const { run } = await startStepHost(shown('keep-notes'))
    expect(await run('keep-notes', { notes: 'sun' })).toMatchObject({ status: 'completed', outputs: { text: 'sun' } })
  })

  test('a program reads and prints', async () => {
    const { run } = await startStepHost(shown('latest-commits'))
    expect(await run('latest-commits')).toMatchObject({ status: 'completed', outputs: { commits: ['HEAD~20'] } })
  })

  test('a step in TypeScript posts with its secret', async () => {
    const { url, received } = await startReceiver(() => ({ body: '"m-7"' }))
    const [step = ''] = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = '']) => text)
    const { run } = await startStepHost(
      { ...shown('tell-everybody'), 'steps/post-to-chat.ts': step.replace('https://chat.example.com', url) },
      {},
      { CHAT_TOKEN: 'of-many-words' },
    )
    expect(await run('tell-everybody', { text: 'hello' })).toMatchObject({
      status: 'completed',
      outputs: { id: 'm-7' },
    })
    expect(received).toMatchObject([
      { url: '/general', body: 'hello', headers: { authorization: 'Bearer of-many-words' } },
    ])
  })

  test('a workflow in TypeScript runs', async () => {
    const [text = ''] = [...guide.matchAll(/```ts workflow\n([\s\S]*?)```/g)].map(([, block = '']) => block)
    const { run } = await startStepHost({ 'workflows/count-files.ts': text })
    expect(await run('count-files')).toMatchObject({ status: 'completed', outputs: { files: 0 } })
  })

  test('nothing that the guide shows is left untried', () => {
    expect([...tried].sort()).toEqual([...workflows.keys()].sort())
  })
})

import { afterEach, describe, expect, test } from 'vitest'
import { closeAll, startStepHost } from './rig.js'

/** Workflows of a project that are written in TypeScript. */

afterEach(closeAll)

const greeting = (text: string) => `import { defineWorkflow, expression, type NodeConfig, output } from 'assay/steps'
const title: NodeConfig<'core.approvalGate'>['title'] = undefined
export default defineWorkflow({
  id: 'greet',
  variables: [{ name: 'name', type: 'string', defaultValue: 'world' }],
  nodes: {
    greet: { type: 'core.identity', inputs: { payload: expression('"${text}, " + variables.name') } },
    shout: { type: 'core.step', config: { step: 'shout' }, inputs: { text: output('greet', 'payload') } },
    end: { type: 'core.end', inputs: { said: output('shout', 'result') } },
  },
  edges: ['greet > shout', 'shout > end'],
})`

const SHOUT = `import { defineStep } from 'assay/steps'
export default defineStep({
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ input }) => input.text.toUpperCase(),
})`

describe('a workflow in TypeScript', () => {
  test('is compiled when the project is taken up, runs as JSON, and is taken up anew when it has changed', async () => {
    const { run, client, host, write, findings } = await startStepHost({
      'workflows/greet.ts': greeting('Hello'),
      'steps/shout.ts': SHOUT,
    })
    expect(await run('greet')).toMatchObject({ status: 'completed', outputs: { said: 'HELLO, WORLD' } })
    const stored = JSON.stringify(await client.getWorkflow('greet'))
    expect(stored).toContain('"typeId":"core.identity"')
    expect(stored).not.toContain('defineWorkflow')
    write({ 'workflows/greet.ts': greeting('Bye') })
    expect((await host.reload()).problems).toEqual([])
    expect(await run('greet')).toMatchObject({ outputs: { said: 'BYE, WORLD' } })
    expect(await findings()).toEqual([])
  })

  test.each([
    ['throws', `throw new Error('unfinished')`, /workflows\/greet\.ts: it cannot be loaded: Error: unfinished/],
    ['exports none', `export const id = 'greet'`, /workflows\/greet\.ts: .*export default defineWorkflow/],
    ['is no TypeScript', `export default {{`, /workflows\/greet\.ts: it cannot be loaded/],
    [
      'makes one that is refused',
      `export default { nodes: [{ id: 'a', typeId: 'core.nop' }] }`,
      /greet\.ts.*core\.noop/,
    ],
  ])('that %s keeps the project from being served, and is told why', async (_what, text, problem) => {
    await expect(startStepHost({ 'workflows/greet.ts': text })).rejects.toThrow(problem)
  })
})

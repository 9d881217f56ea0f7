import { expect, test } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import { begins, ends } from '../../testing/orchestration.js'

const HANDING = { a: { type: 'core.subWorkflow', config: { workflowId: 'w', outputMapping: { got: 'x' } } } }

const HERE = { nodeId: 'a' }

test('an ended run keeps what is read of it, and nothing that only a run under way needs', () => {
  const run = given({ nodes: HANDING }).start({ n: 1 })
  const { variables, hidden, started, nodes } = ends(begins(run, 'c', HERE), 'c', { x: 2 }, HERE).state as {
    readonly [field: string]: unknown
  }
  expect({ variables, hidden, started, nodes }).toMatchObject({
    variables: { n: 1, got: 2 },
    hidden: { variables: [], channels: [] },
    started: { inputs: { n: 1 } },
    nodes: [{ is: 'completed' }],
  })
  for (const field of ['mode', 'open', 'touched', 'starts', 'passes', 'executions', 'idleMs', 'idleSince', 'warned'])
    expect(run.state).not.toHaveProperty(field)
})

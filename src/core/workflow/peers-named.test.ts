import { expect, test } from 'vitest'
import { unknownNamed } from './warnings.js'

test('a worker of a peer that is not configured is told how to configure it', () => {
  const at = 'nodes["a"].config.workflowId'
  expect(unknownNamed({ at, kind: 'work', name: 'peer:beta/draft' }, ['draft'])).toBe(
    `${at} names "peer:beta/draft", and no peer "beta" is configured here with a key; add peers.hosts.beta with url, hostId and keyRef`,
  )
  expect(unknownNamed({ at, kind: 'work', name: 'drafd' }, ['draft'])).toContain('did you mean draft?')
})

import { describe, expect, it } from 'vitest'
import { failure } from '../problem.js'
import { childRefusedInput } from './child-start.js'

const effect = { kind: 'start-child', nodeId: 'n', since: 7, worker: 0, workflowId: 'w' } as unknown as Parameters<
  typeof childRefusedInput
>[0]

describe('what a parent is told of a child that could not be', () => {
  const error = failure('too_many_runs', 'too many')

  it('says of a verifier that it was one, so that no worker is taken for refused', () => {
    expect(childRefusedInput({ ...effect, verifier: true }, error)).toEqual({
      type: 'ChildRefused',
      nodeId: 'n',
      since: 7,
      worker: 0,
      verifier: true,
      error,
    })
  })

  it('says nothing of the kind of a worker', () => {
    expect(childRefusedInput(effect, error)).not.toHaveProperty('verifier')
  })
})

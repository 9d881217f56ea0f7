import { expect, test } from 'vitest'
import type { InspectedRun } from '../../../engine/api.js'
import { createdBody } from './create-run.js'

test.each([
  ['pending', 'pending'],
  ['running', 'running'],
  ['waiting-approval', 'waiting-approval'],
  ['waiting-input', 'waiting-input'],
  ['completed', 'running'],
  ['failed', 'running'],
])('R-REST-2: a run that is %s when it is answered for began as %s', (status, told) => {
  expect(createdBody({ runId: 'r', status } as InspectedRun)).toEqual({
    runId: 'r',
    status: told,
    eventsUrl: '/v1/runs/r/events',
    statusUrl: '/v1/runs/r',
  })
})

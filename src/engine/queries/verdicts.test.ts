import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../../core/json.js'
import { RESULT_ARTIFACT } from '../../core/verification/record.js'
import { record } from '../../testing/verifications.js'
import type { StoredEvent } from '../ports/event-log.js'
import { readTrialIn } from './verdicts.js'

type Row = { readonly type: string; readonly payload: object; readonly secret?: object }

/** A store with one log. */
const storeOf = (rows: readonly Row[]) => ({
  readEvents: async (_runId: string, from: number, limit: number) =>
    rows.slice(from, from + limit).map(
      ({ type, payload, secret }, sequence) =>
        ({
          sequence,
          type,
          payload: JSON.stringify(payload),
          secret: secret === undefined ? null : JSON.stringify(secret),
          nodeId: null,
          cause: null,
          at: 1_000 + sequence,
          input: null,
          hash: '',
          salt: '',
        }) as unknown as StoredEvent,
    ),
})

const started = (inputs: JsonObject): Row => ({ type: 'run.started', payload: { workflowId: 'assay-judge', inputs } })
const planted = (truth: Json): Row => started({ gateId: 'quality', planted: { truth } })
const kept = (more: Parameters<typeof record>[0] = {}, artifactType = RESULT_ARTIFACT): Row => ({
  type: 'artifact.created',
  payload: { artifactId: 'art-1', artifactType },
  secret: { content: record(more) },
})

const read = (...rows: Row[]) => readTrialIn(storeOf(rows))('trial-1')

describe('R-DWS-26: a planted trial', () => {
  test.each([
    ['bad', 'fail', 'fail'],
    ['good', 'pass', 'pass'],
    ['good', 'conditional_pass', 'pass'],
  ] as const)('of a %s output is what it was, with what the gate said of it: %s', async (truth, verdict, told) => {
    expect(await read(planted(truth), kept({ verdict }))).toMatchObject({
      truth,
      record: { gateId: 'quality', verdict },
      verified: { agentId: 'host:gate:quality', verdict: told, gateId: 'quality', attempt: 1, at: 1_001 },
    })
  })

  test('that nobody could check counts neither for the gate nor against it', async () => {
    expect(await read(planted('good'), kept({ verdict: 'could_not_check' }))).toBeUndefined()
    expect(await read(planted('bad'), kept({ verdict: 'could_not_check' }))).toBeUndefined()
  })

  test('says nothing before it has a record, or when what it keeps is something else', async () => {
    expect(await read()).toBeUndefined()
    expect(await read(planted('bad'))).toBeUndefined()
    expect(await read(planted('bad'), kept({}, 'text'))).toBeUndefined()
    expect(await read(planted('bad'), kept({}, 'text'), kept())).toMatchObject({ truth: 'bad' })
  })

  test.each([
    ['nothing', started({ gateId: 'quality' })],
    ['no truth', started({ gateId: 'quality', planted: {} })],
    ['words', started({ gateId: 'quality', planted: 'bad' })],
    ['another truth', planted('fine')],
  ])('is none where it was planted as %s', async (_, first) => {
    expect(await read(first, kept())).toBeUndefined()
  })
})

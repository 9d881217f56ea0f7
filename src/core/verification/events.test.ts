import { describe, expect, test } from 'vitest'
import type { GateFact } from './events.js'

/** True where any text at all could stand in a value of this type. */
type Open<Value> = Value extends string
  ? string extends Value
    ? true
    : never
  : Value extends readonly (infer Item)[]
    ? Open<Item>
    : Value extends object
      ? Open<Value[keyof Value]>
      : never

type OpenFieldsOf<Payload> = {
  [Name in keyof Payload]-?: true extends Open<Payload[Name]> ? Name : never
}[keyof Payload]

type OpenFields = GateFact extends infer Each ? (Each extends GateFact ? OpenFieldsOf<Each['payload']> : never) : never

/** All else is a number, a flag or one of a few words. A field that is added does not compile until it is named here. */
const OPEN: { readonly [Name in OpenFields]: 'id' | 'hash' | 'code' | 'key of the gate' } = {
  agentId: 'id',
  causationHostId: 'id',
  childRunId: 'id',
  contextHash: 'hash',
  criteria: 'key of the gate',
  dimension: 'key of the gate',
  fault: 'code',
  findingId: 'id',
  gateHash: 'hash',
  gateId: 'id',
  nodeId: 'id',
  resultArtifactId: 'id',
  resultHash: 'hash',
  target: 'id',
  targetRef: 'id',
  workerId: 'id',
}

describe('R-SEC-1 R-VERIFY-5: events of gates', () => {
  test('have no field in which content could be told', () => {
    const content =
      /(?<!con)text|output|result$|prompt|detail|description|evidence|recommendation|reason|message|note|why/i
    expect(Object.keys(OPEN).filter(name => content.test(name))).toEqual([])
  })
})

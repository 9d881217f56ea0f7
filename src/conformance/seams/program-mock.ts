import { type Static, Type } from 'typebox'
import type { Json } from '../../core/json.js'
import type { ProgramEntry } from '../../engine/ports/today.js'
import { json } from '../../http/http-answer.js'
import { type Route, route } from '../../http/route.js'
import type { MockPrograms } from '../mock-programs.js'

const Words = Type.String({ maxLength: 1_000_000 })

/** In either of the two forms that suites use. */
const Entry = Type.Object({
  content: Type.Optional(Type.Unsafe<Json>({ description: 'What it says' })),
  stopReason: Type.Optional(
    Type.Union([Type.Literal('end_turn'), Type.Literal('max_tokens'), Type.Literal('safety')], {
      description: 'How the answer ends; safety is a refusal',
    }),
  ),
  refusalText: Type.Optional(Words),
  mode: Type.Optional(
    Type.Union([Type.Literal('envelope'), Type.Literal('refusal')], { description: 'The same, said otherwise' }),
  ),
  envelope: Type.Optional(Type.Unsafe<Json>({ description: 'What it says, with mode envelope' })),
})

export const programMock = (programs: MockPrograms): Route =>
  route({
    method: 'POST',
    path: '/v1/host/sample/test/mock-ai/program',
    operation: 'programMockProvider',
    summary:
      'Conformance mode only: what the provider mock says to the calls of a node, in place of an earlier program',
    access: 'authenticated',
    body: Type.Object({
      nodeId: Type.String({ minLength: 1, maxLength: 256 }),
      program: Type.Array(Entry, { maxItems: 1_000 }),
    }),
    responses: {
      200: {
        description: 'The program stands',
        schema: Type.Object({ ok: Type.Boolean(), count: Type.Integer() }),
      },
    },
    refusals: ['validation_error'],
    handle({ caller, body: { nodeId, program } }) {
      programs.set(caller.tenant, nodeId, program.map(entryOf))
      return json(200, { ok: true, count: program.length })
    },
  })

function entryOf({ content, envelope, stopReason, mode }: Static<typeof Entry>): ProgramEntry {
  const said = content ?? envelope ?? ''
  return {
    content: typeof said === 'string' ? said : JSON.stringify(said),
    stopReason: stopReason ?? (mode === 'refusal' ? 'safety' : 'end_turn'),
  }
}

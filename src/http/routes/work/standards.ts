import type { TSchema } from 'typebox'
import type { JsonObject } from '../../../core/json.js'
import { refuse } from '../../../core/problem.js'
import type { Standard, StandardKind } from '../../../engine/ports/standards.js'
import {
  ListGatesAnswer,
  ListIntentsAnswer,
  ListKnowledgeAnswer,
  StandardAnswer,
  StandardBody,
  StandardShown,
} from '../../../wire/standard.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

/** Gates, intents and knowledge are kept the same way; here is what tells them apart. */
type Collection = {
  readonly kind: StandardKind
  /** Of its path and of its list. */
  readonly name: string
  readonly id: 'gateId' | 'intentId' | 'entryId'
  readonly operations: { readonly [Doing in 'list' | 'get' | 'register' | 'remove']: string }
  readonly one: string
  readonly many: string
  readonly listAnswer: TSchema
}

const COLLECTIONS: readonly Collection[] = [
  {
    kind: 'gate',
    name: 'gates',
    id: 'gateId',
    operations: { list: 'listGates', get: 'getGate', register: 'registerGate', remove: 'removeGate' },
    one: 'gate',
    many: 'Gates that the work of this tenant must pass',
    listAnswer: ListGatesAnswer,
  },
  {
    kind: 'intent',
    name: 'intents',
    id: 'intentId',
    operations: { list: 'listIntents', get: 'getIntent', register: 'registerIntent', remove: 'removeIntent' },
    one: 'intent',
    many: 'Intents that work is measured by',
    listAnswer: ListIntentsAnswer,
  },
  {
    kind: 'knowledge',
    name: 'knowledge',
    id: 'entryId',
    operations: {
      list: 'listKnowledge',
      get: 'getKnowledge',
      register: 'registerKnowledge',
      remove: 'removeKnowledge',
    },
    one: 'knowledge entry',
    many: 'What verifiers may know besides the work',
    listAnswer: ListKnowledgeAnswer,
  },
]

export const standardRoutes = (edge: Edge): Route[] =>
  COLLECTIONS.flatMap(collection => [
    listRoute(edge, collection),
    getRoute(edge, collection),
    registerRoute(edge, collection),
    removeRoute(edge, collection),
  ])

const pathOf = ({ name }: Collection): string => `/v1/host/assay/${name}`

const listRoute = (edge: Edge, collection: Collection): Route =>
  route({
    method: 'GET',
    path: pathOf(collection),
    operation: collection.operations.list,
    summary: collection.many,
    access: 'manifest:read',
    responses: { 200: { description: 'Its own and those of the project, by id', schema: collection.listAnswer } },
    refusals: [],
    async handle({ caller }) {
      const standards = await edge.standards.list(caller.tenant, collection.kind)
      return json(200, { [collection.name]: standards.map(render) })
    },
  })

const getRoute = (edge: Edge, collection: Collection): Route =>
  route({
    method: 'GET',
    path: `${pathOf(collection)}/{${collection.id}}`,
    operation: collection.operations.get,
    summary: `This ${collection.one}, as it is now`,
    access: 'manifest:read',
    responses: { 200: { description: 'The document, complete', schema: StandardShown } },
    refusals: ['not_found'],
    async handle({ caller, params }) {
      const standard = await edge.standards.find(caller.tenant, collection.kind, params[collection.id])
      if (standard === undefined)
        return problem(refuse('not_found', `No such ${collection.one}, or it is not visible to this key.`))
      return json(200, { ...render(standard), document: documentOf(standard) })
    },
  })

const registerRoute = (edge: Edge, collection: Collection): Route =>
  route({
    method: 'POST',
    path: pathOf(collection),
    operation: collection.operations.register,
    summary: `Register this ${collection.one}, or replace the one with its id`,
    access: 'workflows:write',
    body: StandardBody,
    idempotency: 'lease',
    responses: {
      201: { description: 'Registered; running runs keep what they started with', schema: StandardAnswer },
      200: { description: 'It was there already, the same', schema: StandardAnswer },
    },
    refusals: ['validation_error', 'standard_shared'],
    async handle({ caller, body }) {
      const answer = await edge.standards.register(caller.tenant, collection.kind, body)
      if (!answer.ok) {
        if ('refusal' in answer) return problem(answer.refusal)
        throw new Error('a registration gave a remembered response that was not asked for')
      }
      const { standard, changed } = answer.value
      return json(changed ? 201 : 200, render(standard), { location: `${pathOf(collection)}/${standard.id}` })
    },
  })

const removeRoute = (edge: Edge, collection: Collection): Route =>
  route({
    method: 'DELETE',
    path: `${pathOf(collection)}/{${collection.id}}`,
    operation: collection.operations.remove,
    summary: `Delete this ${collection.one}; running runs keep what they started with`,
    access: 'workflows:write',
    idempotency: 'lease',
    responses: { 204: { description: 'Deleted' } },
    refusals: ['not_found', 'standard_shared', ...(collection.kind === 'gate' ? [] : ['standard_in_use' as const])],
    async handle({ caller, params }) {
      const refusal = await edge.standards.remove(caller.tenant, collection.kind, params[collection.id])
      return refusal === undefined ? { status: 204, body: '' } : problem(refusal)
    },
  })

const documentOf = ({ body }: Standard): JsonObject => JSON.parse(body) as JsonObject

function render(standard: Standard): StandardAnswer {
  const { name, title } = documentOf(standard)
  return {
    id: standard.id,
    title: String(title ?? name),
    version: standard.version,
    hash: standard.hash,
    shared: standard.tenant === null,
    ...(documentOf(standard).removed === true ? { removed: true as const } : {}),
    updatedAt: new Date(standard.updatedAt).toISOString(),
  }
}

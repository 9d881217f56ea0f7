import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { ProblemCode } from '../core/problem.js'
import type { IdName } from '../wire/ids.js'
import type { Scope } from '../wire/key.js'
import type { Caller } from './auth/key-cache.js'
import type { RecordedAs } from './auth/recording.js'
import type { Upload } from './bodies/form-body.js'
import type { HttpAnswer } from './http-answer.js'
import type { KeyedRequest } from './idempotency.js'

/**
 * One row of the route table. Routing, authentication, validation, idempotency, OpenAPI, `docs/reference/http.md` and
 * the inventory test all read the same rows, so none of them can drift.
 */
export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** OpenAPI template: `/v1/runs/{runId}:pause`. */
  readonly path: string
  readonly operation: string
  readonly summary: string
  /**
   * The scope a key must have; `authenticated` asks for any valid key, `public` for none, and with `token` the path
   * itself is the credential, which the handler checks.
   */
  readonly access: 'public' | 'token' | 'authenticated' | Scope
  /** A second scope the key must have. */
  readonly alsoNeeds?: Scope
  /** What the audit trail of the caller's tenant is told of each request with a key. */
  readonly recorded?: RecordedAs
  /** Neither counted against the rate limit nor refused while the host starts or stops: probes. */
  readonly unlimited?: true
  readonly query?: TObject
  /** The handler checks the query itself, because something else must be refused first. */
  readonly lateQuery?: true
  readonly body?: TSchema
  /** The handler checks the body itself, because something else must be refused first. */
  readonly lateBody?: true
  /** An absent body is `{}`. */
  readonly bodyOptional?: true
  /**
   * How an Idempotency-Key is honoured: `commit` when the effect is one engine commit that carries the response to remember, `lease`
   * when that response is claimed first and finished afterwards. Absent on routes that change nothing.
   */
  readonly idempotency?: 'commit' | 'lease'
  /** Names the operation in the idempotency key space, where an alias must share it. */
  readonly endpoint?: string
  /** The handler checks what `{path}` is itself, and says what is wrong with it. */
  readonly latePath?: true
  /** Takes bodies of any other type than JSON, of at most so many bytes, as `RawBody`. */
  readonly rawBytes?: number
  /** Takes forms with files, of at most so many bytes in all: the part `run` is the body, the others are `uploads`. */
  readonly formBytes?: number
  readonly headers?: readonly { readonly name: string; readonly description: string }[]
  readonly responses: { readonly [status: number]: ResponseDoc }
  readonly refusals: readonly ProblemCode[]
  handle(call: Call<never, never>): HttpAnswer | Taken | Promise<HttpAnswer | Taken>
}

export type ResponseDoc = { readonly description: string; readonly schema?: TSchema; readonly contentType?: string }

/** The handler has written, or will write, to the socket itself. */
export const TAKEN = Symbol('taken')
export type Taken = typeof TAKEN

export type Call<Body = unknown, Query = unknown> = {
  readonly caller: Caller
  readonly params: { readonly [Name in IdName]: string }
  readonly query: Query
  readonly body: Body
  readonly keyed: KeyedRequest | undefined
  /** Files that came with the body. */
  readonly uploads: readonly Upload[]
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

type Checked<B, Q> = Call<B extends TSchema ? Static<B> : undefined, Q extends TSchema ? Static<Q> : undefined>

/** Declares a row; the handler's body and query have the types their schemas imply. */
export const route = <const B extends TSchema | undefined = undefined, const Q extends TObject | undefined = undefined>(
  row: Omit<Route, 'body' | 'query' | 'handle'> & {
    readonly body?: B
    readonly query?: Q
    handle(call: Checked<B, Q>): HttpAnswer | Taken | Promise<HttpAnswer | Taken>
  },
): Route => row as unknown as Route

export const paramsOf = (path: string): IdName[] => [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1] as IdName)

/** A path of a file goes on over slashes, to the end. */
const FILE = '{path}'

/** The same path for find-my-way: a parameter ends before a colon, and a literal colon is doubled. */
export const routerPath = (path: string): string =>
  path
    .replace(FILE, '*')
    .replaceAll(':', '::')
    .replace(/\{(\w+)\}(::)?/g, (_, name, verb) => (verb ? `:${name}(^[^:/]+)::` : `:${name}`))

/** Matches concrete paths of the template. */
export const pathPattern = (path: string): RegExp =>
  new RegExp(
    `^${path
      .replace(/[.]/g, '\\.')
      .replace(FILE, '.+')
      .replace(/\{\w+\}/g, '[^/:]+')}$`,
  )

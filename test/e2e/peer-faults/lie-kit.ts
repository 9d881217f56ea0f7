import type http from 'node:http'
import type { NoEvidence } from '../../../src/core/handoff/peer-receipt.js'
import { type Answer, ANSWER, created, document, type Lie, type Lies } from './hostile-peer.js'

/** What becomes of a hand-off on A: the whole of it. */
export type Ending =
  | { readonly is: 'merged'; readonly answer: unknown }
  /** Completed, and nothing that it brought could be merged. */
  | { readonly is: 'empty' }
  | { readonly is: 'failed'; readonly code: string }
  | { readonly is: 'refused'; readonly code: string }
  | { readonly is: 'lost'; readonly first?: string; readonly reason: string; readonly begun: boolean }

export type Case = {
  readonly name: string
  readonly lies: Lies
  readonly ending: Ending
  /** Why its receipt is no evidence, where the result is merged all the same. */
  readonly receipt?: NoEvidence
  /** No run was asked for at all. */
  readonly unasked?: true
}

const MiB = 1_048_576
/** As much as a hostile answer has, where it is too much. */
export const HUGE = 100 * MiB

export const says =
  (more: Partial<Answer>): Lie =>
  honest => ({ ...honest, ...more })
export const text = (body: string, headers: http.OutgoingHttpHeaders = {}): Lie => says({ body, headers })
export const doc =
  (more: object): Lie =>
  () => ({ status: 200, body: document('completed', more) })
export const brings = (answer: unknown): Lie => doc({ variables: { answer } })
export const id = (runId: unknown): Lie => says({ body: created(runId) })
export const status = (code: number, more: Partial<Answer> = {}): Lie => says({ status: code, ...more })
export const refusal = (error: unknown, message: unknown): Partial<Answer> => ({ body: { error, message } })

/** So many bytes of one thing after another, as fast as they are read. */
export const pours =
  (headers: http.OutgoingHttpHeaders, first: string, block: string, bytes: number): Lie =>
  () =>
  response => {
    response.writeHead(200, headers)
    response.write(first)
    const chunk = Buffer.from(block.repeat(Math.ceil(65_536 / block.length)))
    let left = bytes
    const more = () => {
      while (left > 0 && !response.destroyed) {
        left -= chunk.length
        if (!response.write(chunk)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  }

export const JSON_TYPE = { 'content-type': 'application/json' }
export const SSE = { 'content-type': 'text/event-stream' }

/** One byte, and then none for ever. */
export const drips =
  (headers: http.OutgoingHttpHeaders): Lie =>
  () =>
  response => {
    response.writeHead(200, headers)
    response.write('{')
  }

export const redirects: Lie = (_honest, { path }, peer) => ({
  status: 307,
  headers: { location: `${peer.url}/internal${path}` },
})
export const hangsUp: Lie = () => response => void response.socket?.resetAndDestroy()
export const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`

export const lost = (reason: string): Ending => ({ is: 'lost', reason, begun: true })
export const unbegun = (reason: string): Ending => ({ is: 'lost', reason, begun: false })
export const merged = (answer: unknown = ANSWER): Ending => ({ is: 'merged', answer })
export const EMPTY: Ending = { is: 'empty' }

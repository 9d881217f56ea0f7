import type { InjectOptions } from 'fastify'
import { sha256 } from '../../src/digest.js'
import type { OutsideWrite } from '../../src/engine/ports/journal.js'
import type { TestHost } from './harness.js'

export const FILES = '/v1/host/workspace/files'
export const MEMORY = '/v1/host/assay/memory'

export const file = (path: string, query = ''): string => `${FILES}/${path}${query}`
export const entry = (id: string, query: { readonly [name: string]: string }): string =>
  `${MEMORY}/entries/${encodeURIComponent(id)}?${new URLSearchParams(query)}`
export const listed = (query: { readonly [name: string]: string }): string => `${MEMORY}?${new URLSearchParams(query)}`

export const put = (path: string, content: string, more: Partial<InjectOptions> = {}): InjectOptions => ({
  method: 'PUT',
  url: file(path),
  payload: { content },
  ...more,
})

let count = 0

export type Remembered = {
  readonly scope?: string
  readonly ref?: string
  readonly id: string
  readonly text: string
  readonly tags?: readonly string[]
  readonly at?: number
  readonly expiresAt?: number
}

/** An entry of memory that is there, whoever wrote it. */
export async function remember(store: TestHost['store'], tenant: string, given: Remembered): Promise<void> {
  const { scope = 'team', ref = 'notes', id, text, tags = [], at = Date.now(), expiresAt = null } = given
  const body = Buffer.from(text)
  count += 1
  const content = { tenant, contentId: `c${count}`, runId: null, body, text, sealed: false, pieces: 0 }
  const write: OutsideWrite = {
    space: 'memory',
    scope,
    ref,
    id,
    op: 'put',
    tags,
    at,
    expiresAt,
    content,
    hash: sha256(body),
    contentType: null,
    ifMatch: null,
  }
  const result = await store.writeOutside(tenant, [write], null)
  if (result.kind !== 'written') throw new Error(`not written: ${result.kind}`)
}

import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeErrors } from '../../src/http/describe-errors.js'
import { describeRoutes } from '../../src/http/describe-routes.js'
import { startHttp, type TestHost } from './harness.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp()
})
afterAll(() => host.close())

const page = (name: string) => new URL(`../../docs/reference/${name}`, import.meta.url)

describe('reference pages say what the code does (run with UPDATE_DOCS=1 to rewrite them)', () => {
  test.each([
    ['errors.md', () => describeErrors()],
    ['http.md', () => describeRoutes(host.app.routeTable)],
  ])('%s is what its table renders to', (name, render) => {
    if (process.env.UPDATE_DOCS === '1') writeFileSync(page(name), render())
    expect(readFileSync(page(name), 'utf8')).toBe(render())
  })
})

import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeErrors } from '../../src/http/discovery/describe-errors.js'
import { describeNodes } from '../../src/http/discovery/describe-nodes.js'
import { describeRoutes } from '../../src/http/discovery/describe-routes.js'
import { settingTables, withTables } from '../../src/project/describe-settings.js'
import { startHttp, type TestHost } from './harness.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp()
})
afterAll(() => host.close())

const page = (name: string) => fileURLToPath(new URL(`../../docs/reference/${name}`, import.meta.url))

describe('reference pages say what the code does (`vitest -u` rewrites them)', () => {
  test('R-ERR-5: errors.md lists every code of the two tables', async () => {
    await expect(describeErrors()).toMatchFileSnapshot(page('errors.md'))
  })

  test('configuration.md lists every setting', async () => {
    const text = fs.readFileSync(page('configuration.md'), 'utf8')
    await expect(withTables(text, settingTables())).toMatchFileSnapshot(page('configuration.md'))
  })

  test('nodes.md lists every node type and every field of its configuration', async () => {
    await expect(describeNodes()).toMatchFileSnapshot(page('nodes.md'))
  })

  test('http.md lists every route of the table', async () => {
    await expect(describeRoutes(host.app.routeTable)).toMatchFileSnapshot(page('http.md'))
  })
})

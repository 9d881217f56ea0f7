import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import type { LogLevel } from '../../config.js'
import { ManualClock } from '../../testing/manual-clock.js'
import { prettyLog } from './pretty-log.js'

function logAt(least: LogLevel) {
  const said: string[] = []
  const log = prettyLog(line => said.push(stripVTControlCharacters(line)), least, new ManualClock())
  return { log, said }
}

test('a line for people: when, how bad, the sentence, and then the facts', () => {
  const { log, said } = logAt('info')
  log.warn({ server: 'files', failures: 2, why: undefined }, 'a tool server cannot be used')
  log.info({}, 'ready')
  expect(said).toEqual([
    expect.stringMatching(
      /^\d\d:\d\d:\d\d warn {2}a tool server cannot be used {2}server=files {2}failures=2 {2}why=none$/,
    ),
    expect.stringMatching(/^\d\d:\d\d:\d\d info {2}ready$/),
  ])
})

test('what is logged cannot steer the terminal', () => {
  const { log, said } = logAt('info')
  log.error({ text: 'a\u001b[2Jb\n' }, 'odd')
  expect(said.join()).toContain('text=a\\x1b[2Jb\\x0a')
})

test.each<[LogLevel, number]>([
  ['trace', 3],
  ['info', 3],
  ['warn', 2],
  ['error', 1],
  ['silent', 0],
])('at level %s %i of info, warn and error are shown', (least, shown) => {
  const { log, said } = logAt(least)
  log.info({}, 'a')
  log.warn({}, 'b')
  log.error({}, 'c')
  expect(said).toHaveLength(shown)
})

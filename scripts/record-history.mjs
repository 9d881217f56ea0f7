/**
 * Records histories of the present engine: `node scripts/record-history.mjs NAME ...`, where NAME is a story in
 * test/histories/stories. A file is written once and never again: what was recorded must stay as it was. A change of a
 * rule raises ENGINE_VERSION, and every story is recorded anew beside the old file.
 *
 * `node scripts/record-history.mjs --departures FILE REASON` lists beside an older history the events that today's rules
 * show or replay otherwise and that no reason stands for yet.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { root, setup } from './setup.mjs'

const [first, ...rest] = process.argv.slice(2)
if (first === undefined || (first === '--departures' && rest.length !== 2)) {
  process.stderr.write(
    'say which stories: node scripts/record-history.mjs NAME ... (test/histories/stories/index.ts lists them)\n' +
      'or what departs from a history, and why: node scripts/record-history.mjs --departures FILE REASON\n',
  )
  process.exit(2)
}
await setup()
const vitest = path.join(root, 'node_modules', '.bin', 'vitest')
const [file, asked] =
  first === '--departures'
    ? ['departures.record.ts', { ASSAY_DEPARTURES: rest[0], ASSAY_REASON: rest[1] }]
    : ['recording.record.ts', { ASSAY_RECORD: [first, ...rest].join(',') }]
const { status } = spawnSync(vitest, ['run', '--project=record', '--reporter=dot', file], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, ...asked },
})
process.exit(status ?? 1)

/**
 * Records a history of the present engine: `node scripts/record-history.mjs NAME`, where NAME is a story in
 * test/histories/stories. The file is written once and never again: what was recorded must stay as it was. A change of a
 * rule raises ENGINE_VERSION, and every story is recorded anew beside the old file.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { root, setup } from './setup.mjs'

const [name] = process.argv.slice(2)
if (name === undefined) {
  process.stderr.write(
    'say which story: node scripts/record-history.mjs NAME (test/histories/stories/index.ts lists them)\n',
  )
  process.exit(2)
}
await setup()
const vitest = path.join(root, 'node_modules', '.bin', 'vitest')
const { status } = spawnSync(vitest, ['run', '--project=record', '--reporter=dot'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, ASSAY_RECORD: name },
})
process.exit(status ?? 1)

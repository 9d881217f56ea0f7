import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'

/** Says that it is ready, makes the key when it is told to, and says which it has got. */
const RACER = `
  import { ensureDataKey } from '${new URL('../../../dist/vault/data-key.js', import.meta.url)}'
  process.stderr.write('ready')
  for await (const _ of process.stdin) process.stdout.write((await ensureDataKey(process.argv[1]))[0].toString('hex'))`

it('processes that start at once on a new data folder end up with the same key', async () => {
  const data = await mkdtemp(join(tmpdir(), 'assay-data-key-'))
  try {
    const racers = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', RACER, data], { stdio: 'pipe' }),
    )
    await Promise.all(racers.map(({ stderr }) => once(stderr, 'data')))
    const told = racers.map(({ stdout }) => text(stdout))
    for (const { stdin } of racers) stdin.end('go')
    const keys = await Promise.all(told)
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/)
    expect(keys).toEqual(Array.from(racers, () => keys[0]))
    expect(await readdir(data)).toEqual(['data.key'])
  } finally {
    await rm(data, { recursive: true })
  }
})

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Json } from '../../../src/core/json.js'
import type { Clock } from '../../../src/engine/ports/clock.js'
import { probeCommand } from '../../../src/probes/command.js'
import type { Means, ProbeOf } from '../../../src/probes/probe.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import { FairQueue } from '../../../src/timing/fair-queue.js'
import { detailsOf, meansOf, subjectOf } from './rig.js'

const project = mkdtempSync(path.join(os.tmpdir(), 'assay-command-'))
const inProject = (name: string) => path.join(project, name)
afterAll(() => rmSync(project, { recursive: true, force: true }))

type More = Partial<Means> & { output?: Json; signal?: AbortSignal; probe?: Partial<ProbeOf<'command'>> }

function run(command: readonly string[], { output = null, signal, probe, ...means }: More = {}) {
  return probeCommand(
    { probe_id: 'p', type: 'command', command, exit_code: 0, timeout_ms: 60_000, ...probe },
    subjectOf(output, signal && { signal }),
    meansOf({ project, ...means }),
  )
}
const sh = (script: string, more?: More) => run(['sh', '-c', script], more)

/** Real time passes; only time limits come when the test says so. */
const untimed = (): { clock: Clock; expire: () => void } => {
  const manual = new ManualClock()
  return { clock: manual, expire: () => void manual.advance(60_000) }
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000
  while (!holds()) {
    if (Date.now() > deadline) throw new Error('what was waited for has not come')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

/** The number that a process has written down, once it has. */
async function pidIn(file: string): Promise<number> {
  await until(() => existsSync(file) && statSync(file).size > 1)
  return Number(readFileSync(file, 'utf8'))
}

/** Also one that has ended and that nobody has asked about is gone. */
function isGone(pid: number): boolean {
  try {
    return /^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

test('the exit code decides', async () => {
  expect((await run(['true'])).outcome).toBe('held')
  const failed = await sh('echo two tests failed >&2; exit 3')
  expect(failed.outcome).toBe('failed')
  expect(failed.evidence).toEqual([
    { evidence_type: 'metric', ref: 'p', detail: 'exit code 3; it must be 0:\ntwo tests failed' },
  ])
  expect((await sh('exit 3', { probe: { exit_code: 3 } })).outcome).toBe('held')
})

test('it runs in the project folder, and gets the output on stdin and in a file', async () => {
  const output = { text: 'grüezi', n: [1] }
  const json = JSON.stringify(output)
  writeFileSync(
    inProject('check.mjs'),
    `
    import { readFileSync } from 'node:fs'
    const given = readFileSync(0, 'utf8')
    if (given !== readFileSync(process.env.ASSAY_OUTPUT_FILE, 'utf8')) throw new Error('not the same')
    process.stdout.write(given)
  `,
  )
  const result = await run([process.execPath, 'check.mjs'], { output })
  expect([result.outcome, detailsOf(result)]).toEqual(['held', `exit code 0:\n${json}`])
  // It need not read any of it.
  expect((await run(['true'], { output: 'x'.repeat(4_000_000) })).outcome).toBe('held')
})

test('no shell reads its words', async () => {
  const result = await run(['printf', '%s|', '$(touch made)', '; touch made', '`touch made`', '*'])
  expect(detailsOf(result)).toBe('exit code 0:\n$(touch made)|; touch made|`touch made`|*|')
  expect(existsSync(inProject('made'))).toBe(false)
})

test('nothing of our environment reaches it, and its folder is gone afterwards', async () => {
  process.env.PROBE_TEST_SECRET = 'sk-secret'
  try {
    const result = await sh('env; echo home $HOME; ls $HOME')
    const said = detailsOf(result)
    const names = [...said.matchAll(/^(\w+)=/gm)].map(([, name]) => name)
    // The shell itself adds the rest.
    expect(names.filter(name => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name ?? '')).sort()).toEqual([
      'ASSAY_OUTPUT_FILE',
      'HOME',
      'LANG',
      'PATH',
    ])
    expect(said).not.toContain('sk-secret')
    const home = /^home (.+)$/m.exec(said)?.[1] ?? ''
    expect(home).toContain('assay-probe-')
    expect(existsSync(home)).toBe(false)
  } finally {
    delete process.env.PROBE_TEST_SECRET
  }
})

test('what cannot be run is not known', async () => {
  writeFileSync(inProject('not-executable'), 'x')
  const commands = [['no-such-program'], ['./not-executable'], ['.'], [], ['']]
  for (const command of commands) expect((await run(command)).outcome).toBe('unavailable')
  expect((await run(['true'], { project: undefined })).outcome).toBe('unavailable')
  expect((await run(['true'], { project: inProject('none') })).outcome).toBe('unavailable')
  expect((await sh('kill -SEGV $$')).outcome).toBe('unavailable')
})

test('of a hundred megabytes the end is kept', async () => {
  const result = await sh("head -c 100000000 /dev/zero | tr '\\0' 'x'; printf '\\033[31mthe end\\033[0m\\000'; exit 1")
  const said = detailsOf(result)
  expect([result.outcome, said.length]).toEqual(['failed', 500])
  expect(said).toMatch(/^exit code 1; it must be 0:\n…x+the end\ufffd$/)
})

test('at the time limit the command and its children are ended', async () => {
  const { clock, expire } = untimed()
  const result = sh(`sleep 600 & echo $! > child; echo $$ > leader; wait`, { clock })
  const pids = [await pidIn(inProject('child')), await pidIn(inProject('leader'))]
  expect(pids.map(isGone)).toEqual([false, false])
  expire()
  expect([(await result).outcome, detailsOf(await result)]).toEqual(['unavailable', 'took longer than 60000 ms'])
  await until(() => pids.every(isGone))
})

test('a child that would outlive the command is ended with it', async () => {
  const result = await sh('(trap "" HUP TERM; exec sleep 600) & echo $! > stays; exit 0')
  expect(result.outcome).toBe('held')
  const pid = await pidIn(inProject('stays'))
  await until(() => isGone(pid))
})

test('who leaves the group and holds the pipes holds nobody up', async () => {
  const result = await sh(`setsid sh -c 'echo $$ > left; exec sleep 600' & while [ ! -s left ]; do :; done; exit 0`)
  const pid = await pidIn(inProject('left'))
  const stayed = !isGone(pid)
  if (stayed) process.kill(pid, 'SIGKILL')
  expect([result.outcome, stayed]).toEqual(['held', true])
})

test('who is called off is ended, and not begun where it was before', async () => {
  const caller = new AbortController()
  const result = sh('echo $$ > busy; exec sleep 600', { signal: caller.signal, clock: untimed().clock })
  const pid = await pidIn(inProject('busy'))
  caller.abort()
  expect((await result).outcome).toBe('unavailable')
  await until(() => isGone(pid))
  expect((await sh('touch begun', { signal: caller.signal })).outcome).toBe('unavailable')
  expect(existsSync(inProject('begun'))).toBe(false)
})

test('memory is limited, and interpreters run all the same', async () => {
  const allocate = (bytes: number) => run([process.execPath, '-e', `Buffer.alloc(${bytes}).fill(1)`])
  expect((await allocate(1e6)).outcome).toBe('held')
  expect((await allocate(2e9)).outcome).not.toBe('held')
  expect(detailsOf(await sh('ulimit -d; ulimit -t; ulimit -c'))).toBe('exit code 0:\n1048576\n240\n0')
})

test('only so many commands run at a time', async () => {
  const { clock } = untimed()
  const commands = new FairQueue(1, () => ({ weight: 1, atOnce: 1 }))
  const caller = new AbortController()
  const first = sh('echo $$ > first; exec sleep 600', { clock, commands, signal: caller.signal })
  await pidIn(inProject('first'))
  const second = sh('[ -e go ]', { clock, commands })
  writeFileSync(inProject('go'), '')
  caller.abort()
  expect([(await first).outcome, (await second).outcome]).toEqual(['unavailable', 'held'])
})

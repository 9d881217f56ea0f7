import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { isObject, type Json } from '../core/json.js'
import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'
import type { Acted, ActingCall, StepActor } from '../engine/ports/performer.js'
import { type ChildExit, runChild } from '../processes/child.js'
import type { Secrets } from '../secrets/secrets.js'
import type { FairQueue } from '../timing/fair-queue.js'
import { cutShort, failedStepWith } from './answers.js'
import { resolvedLines } from './resolved-lines.js'

export type CommandStepDeps = {
  /** Where programs are run; without a project there are none. */
  readonly project: string | undefined
  readonly searchPath: string
  /** How many at a time, for tenants in turn. */
  readonly places: FairQueue
  readonly secrets: Secrets
  readonly clock: Clock
  readonly log: Log
}

const MOST_BYTES = 262_144
const MOST_SAID = 300

/** What shells answer for a program that is not there or cannot be run. */
const NOT_RUN: readonly number[] = [126, 127]

/** A program of the operator's, under the limits that programs of gates have (see `processes/child.ts`). */
export const createCommandStep = (deps: CommandStepDeps): StepActor => ({
  async act(call) {
    const { input, seat } = call
    if (deps.project === undefined || !isObject(input))
      return failedStepWith('this host has no project folder to run programs in')
    const named = await resolvedLines(input.env, 'variable', deps.secrets)
    if ('problem' in named) return { ok: false, code: 'secret_missing', message: named.problem, retryable: true }
    const { project } = deps
    return deps.places.run(seat.tenant, () => inOwnHome(deps, home => run(deps, call, project, { home, ...named })))
  },
})

async function run(
  { searchPath, clock, secrets }: CommandStepDeps,
  call: ActingCall,
  cwd: string,
  { home, lines }: { readonly home: string; readonly lines: { readonly [name: string]: string } },
): Promise<Acted> {
  const { command, stdin = '', timeoutMs, output } = call.input as { readonly [field: string]: Json }
  const said = firstBytes(MOST_BYTES)
  const ended = await runChild({
    command: (command as readonly Json[]).map(String),
    cwd,
    env: { ...lines, PATH: searchPath, HOME: home, LANG: 'C.UTF-8', ASSAY_EFFECT_ID: call.id },
    input: typeof stdin === 'string' ? stdin : JSON.stringify(stdin),
    timeoutMs: Number(timeoutMs),
    clock,
    signal: call.signal,
    onOutput: said.take,
  })
  if (ended.how !== 'exit' || ended.code !== 0) return failureOf(call, ended, secrets, Number(timeoutMs))
  const { text, truncated } = said.all()
  const told = secrets.redact.text(text)
  if (output !== 'json') return { ok: true, output: { stdout: told, ...(truncated ? { truncated } : {}) } }
  const value = parsed(text)
  if (truncated || value === undefined) return failedStepWith('what the program printed is not one value of JSON')
  return { ok: true, output: { result: secrets.redact.json(value) } }
}

function failureOf(call: ActingCall, ended: ChildExit, { redact }: Secrets, timeoutMs: number): Acted {
  switch (ended.how) {
    case 'not-started':
      return failedStepWith(`the program could not be started: ${ended.code}`)
    case 'aborted':
      return cutShort(call, 'the program was called off')
    case 'timeout':
      return cutShort(call, `the program took longer than ${timeoutMs} ms and was ended`)
    case 'signal':
      return cutShort(call, `the program was ended by ${ended.signal}`)
    case 'exit': {
      if (NOT_RUN.includes(ended.code)) return failedStepWith(`the program could not be run: exit code ${ended.code}`)
      const said = redact.text(stripVTControlCharacters(ended.said).trim())
      const words = said.length > MOST_SAID ? `…${said.slice(-MOST_SAID)}` : said
      return failedStepWith(`exit code ${ended.code}${words === '' ? '' : `: ${words}`}`, call.repeat !== 'never')
    }
  }
}

function firstBytes(most: number) {
  const kept: Buffer[] = []
  let size = 0
  return {
    take: (stream: 'stdout' | 'stderr', chunk: Buffer) => {
      if (stream !== 'stdout') return
      if (size < most) kept.push(chunk.subarray(0, most - size))
      size += chunk.length
    },
    all: () => ({ text: Buffer.concat(kept).toString(), truncated: size > most }),
  }
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

async function inOwnHome<T>({ log }: Pick<CommandStepDeps, 'log'>, work: (home: string) => Promise<T>): Promise<T> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'assay-step-'))
  try {
    return await work(home)
  } finally {
    await rm(home, { recursive: true, force: true }).catch((error: NodeJS.ErrnoException) =>
      log.warn({ code: error.code }, 'the home of a step could not be removed'),
    )
  }
}

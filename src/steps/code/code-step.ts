import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { SecretRef } from '../../agents/settings.js'
import { isObject, type Json } from '../../core/json.js'
import { sha256OfJson } from '../../digest.js'
import type { Acted, ActingCall, ActingSeat, StepActor } from '../../engine/ports/performer.js'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import type { Secrets } from '../../secrets/secrets.js'
import type { FairQueue } from '../../timing/fair-queue.js'
import { cutShort } from '../answers.js'
import type { FromStep, StepShown } from './messages.js'
import { openStepDesk, type StepDesk, type StepDeskDeps } from './step-desk.js'
import { codeDigest, stepFiles } from './step-files.js'
import { type StepEnd, type StepPlace, type StepProcess, startStepProcess } from './step-process.js'
import type { Clock } from '../../engine/ports/clock.js'
import type { Log } from '../../engine/ports/log.js'

export type CodeStepDeps = Omit<StepPlace, 'file' | 'home' | 'project'> &
  StepDeskDeps & {
    readonly project: string | undefined
    readonly places: FairQueue
    readonly schemas: Pick<SchemaChecker, 'check'>
    readonly secrets: Secrets
    readonly clock: Clock
    readonly log: Log
  }

type Failed = Extract<Acted, { ok: false }>

/** Longer than any step may take: what is shorter, the step says when it is loaded. */
const LOAD_MS = 20_000
const LONGEST_MS = 3_600_000 + LOAD_MS
const MOST_SAID = 300
const MOST_LINES = 100
const LONGEST_LINE = 1_000

/** A step of the project: the code of today, held to the contract that the run was started with. */
export const createCodeStep = (deps: CodeStepDeps): StepActor => ({
  async act(call) {
    const { seat, input } = call
    const { step, contract, input: given = {} } = isObject(input) ? input : {}
    if (deps.project === undefined || typeof step !== 'string') return changed('this host has no project')
    const found = (await stepFiles(deps.project)).find(({ name }) => name === step)
    if (found === undefined) return changed(`there is no steps/${step}.ts or .mjs in the project any more`)
    const schema = isObject(contract) && isObject(contract.input) ? contract.input : {}
    const problem = await deps.schemas.check(schema, given, seat.tenant)
    if (problem !== undefined) return misfit(`the inputs do not fit the input schema of step "${step}": ${problem}`)
    const digest = await codeDigest(found.file)
    const task = { ...call, seat, step, contract: contract ?? null, given, file: found.file, project: deps.project }
    const answer = await deps.places.run(seat.tenant, () =>
      inOwnHome(deps, home => new Running(deps, task, home).done()),
    )
    return { ...answer, codeDigest: `sha256:${digest}` }
  },
})

type Task = ActingCall & {
  readonly seat: ActingSeat
  readonly step: string
  readonly contract: Json
  readonly given: Json
  readonly file: string
  readonly project: string
}

const changed = (message: string): Failed => ({ ok: false, code: 'step_changed', message, retryable: false })
const misfit = (message: string): Failed => ({ ok: false, code: 'validation_error', message, retryable: false })

/** One step at work, from the start of its process to what becomes of it. */
class Running {
  readonly #desk: StepDesk
  readonly #said: string[] = []
  #process: StepProcess | undefined
  #told: Acted | undefined
  #begun = false
  #timeoutMs = LOAD_MS

  constructor(
    private readonly deps: CodeStepDeps,
    private readonly task: Task,
    private readonly home: string,
  ) {
    this.#desk = openStepDesk(deps, task)
  }

  async done(): Promise<Acted> {
    const { task, deps, home } = this
    const { signal, id: effectId } = task
    const place = { ...deps, file: task.file, project: task.project, home }
    const limits = { effectId, timeoutMs: LONGEST_MS, clock: deps.clock }
    const running = await startStepProcess(place, limits, message => this.#heard(message))
    this.#process = running
    const callOff = () => running.stop('aborted')
    if (signal.aborted) callOff()
    signal.addEventListener('abort', callOff, { once: true })
    let disarm = this.#within(LOAD_MS)
    this.#onLoaded = timeoutMs => {
      disarm()
      disarm = this.#within(timeoutMs)
    }
    const end = await running.ended
    disarm()
    signal.removeEventListener('abort', callOff)
    this.#notePrinted(running.printed())
    const said = this.#said.length > 0 ? { said: this.#said } : {}
    return { ...(this.#told ?? this.#brokenOff(end)), ...said }
  }

  #onLoaded: (timeoutMs: number) => void = () => undefined

  #within(ms: number): () => void {
    return this.deps.clock.after(ms, () => this.#process?.stop('timeout'))
  }

  #heard(message: FromStep): void {
    switch (message.say) {
      case 'loaded':
        return void this.#loaded(message.step).catch(error => this.#fail(String(error)))
      case 'workflow':
        return
      case 'unusable':
        return this.#tell(changed(`steps/${this.task.step} cannot be loaded: ${this.#words(message.problem)}`))
      case 'ask':
        return void this.#answer(message)
      case 'progress':
        if (this.#said.length < MOST_LINES) this.#said.push(this.#words(String(message.text), LONGEST_LINE))
        return
      case 'failed':
        return this.#fail(message.message, message.retryable)
      case 'done':
        return void this.#done(message.output).catch(error => this.#fail(String(error)))
    }
  }

  /** What it is now decides whether it may run for a run that was started with what it was then. */
  async #loaded({ input, output, repeat, secrets, timeoutMs }: StepShown): Promise<void> {
    const { task, deps } = this
    if (this.#begun) return
    this.#begun = true
    if (sha256OfJson({ input, output, repeat }) !== sha256OfJson(task.contract)) {
      const message = `step "${task.step}" has other schemas, or another repeat, than when this run was started; start the run again`
      return this.#tell(changed(message))
    }
    const resolved: { [name: string]: string } = {}
    for (const [name, ref] of Object.entries(secrets)) {
      try {
        resolved[name] = await deps.secrets.resolve(ref as SecretRef)
      } catch (error) {
        const message = `secrets.${name} of step "${task.step}": ${error instanceof Error ? error.message : 'no secret'}`
        return this.#tell({ ok: false, code: 'secret_missing', message, retryable: true })
      }
    }
    this.#timeoutMs = timeoutMs
    this.#onLoaded(timeoutMs)
    const { id: effectId, traceparent, given, seat } = task
    const call = { input: given, effectId, runId: seat.runId, nodeId: seat.nodeId, traceparent, secrets: resolved }
    this.#process?.send({ say: 'run', call })
  }

  async #answer({ id, what, args }: Extract<FromStep, { say: 'ask' }>): Promise<void> {
    try {
      this.#process?.send({ say: 'answer', id, value: await this.#desk.answer(what, args) })
    } catch (error) {
      this.#process?.send({ say: 'refusal', id, problem: error instanceof Error ? error.message : String(error) })
    }
  }

  async #done(given: Json): Promise<void> {
    const { deps, task } = this
    // It ends by itself now; whatever else it says is not heard.
    if (this.#told !== undefined || !this.#begun) return
    const { contract, step, seat } = task
    const output = deps.secrets.redact.json(given)
    const schema = isObject(contract) && isObject(contract.output) ? contract.output : {}
    const { entries, read } = this.#desk
    const checking = deps.schemas.check(schema, output, seat.tenant)
    this.#told = { ok: true, output, entries, read }
    const problem = await checking
    if (problem !== undefined)
      this.#told = misfit(`what step "${step}" gives back does not fit its output schema: ${problem}`)
    this.#process?.stop('aborted')
  }

  #fail(message: string, retryable = true): void {
    const { repeat, step } = this.task
    this.#tell({
      ok: false,
      code: 'step_failed',
      message: `step "${step}" failed: ${this.#words(message)}`,
      retryable: retryable && repeat !== 'never',
    })
  }

  #tell(answer: Acted): void {
    this.#told ??= answer
    this.#process?.stop('aborted')
  }

  #words(text: string, most = MOST_SAID): string {
    const told = this.deps.secrets.redact.text(stripVTControlCharacters(text)).trim()
    return told.length > most ? `${told.slice(0, most)}…` : told
  }

  #brokenOff(end: StepEnd): Acted {
    const { step } = this.task
    const { memoryMb } = this.deps
    const why = {
      timeout: `took longer than ${this.#timeoutMs} ms and was ended`,
      aborted: 'was called off',
      memory: `had more than ${memoryMb} MiB of memory in use (steps.memoryMb) and was ended`,
      unreadable: 'said what the host cannot read, or too much of it, and was ended',
      exit: `ended its process without a result${'code' in end ? ` (exit code ${end.code})` : ''}`,
      signal: `was ended by ${'signal' in end ? end.signal : 'a signal'}`,
      'not-started': `could not be started${'code' in end ? ` (${end.code})` : ''}`,
    }[end.how]
    const cut = cutShort(this.task, `step "${step}" ${why}`)
    // Before it was told to run nothing of it has happened.
    return cut.code === 'effect_outcome_unknown' && this.#begun ? cut : { ...cut, code: 'step_failed' }
  }

  /** For the operator, who wrote it; nothing of it is in the log of the run. */
  #notePrinted(printed: string): void {
    const { step, seat } = this.task
    const said = this.deps.secrets.redact.text(stripVTControlCharacters(printed)).trim()
    if (said !== '') this.deps.log.info({ step, runId: seat.runId, nodeId: seat.nodeId, said }, 'a step has printed')
  }
}

async function inOwnHome<T>({ log }: Pick<CodeStepDeps, 'log'>, work: (home: string) => Promise<T>): Promise<T> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'assay-step-'))
  try {
    return await work(home)
  } finally {
    await rm(home, { recursive: true, force: true }).catch((error: NodeJS.ErrnoException) =>
      log.warn({ code: error.code }, 'the home of a step could not be removed'),
    )
  }
}

import { CORRECTION, type Disturbance, nthOf, type Setup, type Thought, type Use } from './setup.js'

/**
 * What the contract says must come of a setup: which calls are made, what they cost, and how it ends. Written from the
 * description of the events; shares nothing with the core.
 */
export type Foreseen = {
  status: 'completed' | 'failed' | 'cancelled'
  code: string | undefined
  /** Outcomes of the invocations, in order. */
  outcomes: string[]
  tokens: number
  nano: number
  /** What calls without an answer may have cost: known to nobody, so it is no cost. */
  heldTokens: number
  heldNano: number
  toolCalls: number
  retries: number
  /** Events by type. */
  told: { [type: string]: number }
  thoughts: number
  uses: number
}

type Failed = { readonly failed: string; readonly retryable: boolean; readonly outcome?: 'refused' | 'escalated' }
/** The end of the whole run, from wherever it is found out. */
class Over extends Error {
  constructor(
    readonly status: Foreseen['status'],
    readonly code?: string,
  ) {
    super(status)
  }
}

const DIES_FIRST: ReadonlySet<Disturbance> = new Set(['crash during', 'crash before kept'])

export function foresee(setup: Setup): Foreseen {
  const seen: Foreseen = {
    status: 'completed',
    code: undefined,
    outcomes: [],
    tokens: 0,
    nano: 0,
    heldTokens: 0,
    heldNano: 0,
    toolCalls: 0,
    retries: 0,
    told: {},
    thoughts: 0,
    uses: 0,
  }
  const run = new Foresight(setup, seen)
  try {
    run.node()
  } catch (error) {
    if (!(error instanceof Over)) throw error
    seen.status = error.status
    seen.code = error.code
  }
  return seen
}

const MOST = Number.POSITIVE_INFINITY

type Said = { readonly thought: Thought; readonly input: number; readonly output: number }
type Returned = Use

class Foresight {
  /** Outcomes that are kept, by call, and by call and position. */
  readonly #said = new Map<number, Said>()
  readonly #returned = new Map<string, Returned>()
  /** Calls that have been billed once. */
  #paid = 0
  /** Calls of tools whose outcome this attempt of the node, and the one of most before it, has kept. */
  #used = 0
  #paidUses = 0
  #isOpen = false
  /** What holds now; a person may add to it. */
  readonly #ceilings: { [dimension in 'tokens' | 'nano' | 'toolCalls' | 'retries']: number }
  #asked = 0

  constructor(
    private readonly setup: Setup,
    private readonly seen: Foreseen,
  ) {
    const { maxTokens = MOST, maxCostUsd, maxToolCalls = MOST, maxRetries = MOST } = setup.budget
    const nano = maxCostUsd === undefined ? MOST : Math.round(maxCostUsd * 1e9)
    this.#ceilings = { tokens: maxTokens, nano, toolCalls: maxToolCalls, retries: maxRetries }
  }

  node(): void {
    for (let failures = 1; ; failures += 1) {
      const came = this.#invocation()
      if (came === undefined) return
      this.#close(came.outcome ?? 'failed')
      if (!came.retryable || failures > this.setup.nodeRetries) {
        this.#tell('node.failed')
        throw new Over('failed', came.failed)
      }
      this.#spendRetry()
      this.#tell('node.retried')
      this.#paidUses = Math.max(this.#paidUses, this.#used)
      this.#used = 0
    }
  }

  #tell(type: string): void {
    this.seen.told[type] = (this.seen.told[type] ?? 0) + 1
  }

  #close(outcome: string): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#tell('agent.invocation.completed')
    this.seen.outcomes.push(outcome)
  }

  /** R-BUDGET-4: ends the run, or returns when a person has added to the ceiling. */
  #need(dimension: 'tokens' | 'nano' | 'toolCalls' | 'retries', wanted: number): void {
    const over = wanted - this.#ceilings[dimension]
    if (over <= 0) return
    this.#tell('budget.exhausted')
    const asks = this.setup.budget.onExhaustion === 'interrupt'
    if (asks) this.#tell('interrupt.requested')
    const { times } = (asks && this.setup.raises[this.#asked]) || { times: 0 }
    this.#asked += 1
    if (times > 0) {
      this.#ceilings[dimension] += over * times
      return
    }
    this.#close('failed')
    throw new Over('failed', 'budget_exhausted')
  }

  #spendRetry(): void {
    this.#need('retries', this.seen.retries + 1)
    this.seen.retries += 1
  }

  /** Billionths, exactly: prices here are whole thousandths of a dollar per million. */
  #nano(input: number, output: number): number {
    const { price } = this.setup
    return price === undefined ? 0 : input * Math.round(price.input * 1_000) + output * Math.round(price.output * 1_000)
  }

  #invocation(): Failed | undefined {
    const { setup } = this
    this.#tell('agent.invocation.started')
    this.#isOpen = true
    if (setup.taskProblem) return { failed: 'handoff_task_schema_violation', retryable: false }
    const unpriced = setup.budget.maxCostUsd !== undefined && setup.price === undefined
    if (setup.budget.modelDeny?.includes('*test') || unpriced)
      return { failed: 'budget_model_denied', retryable: false }
    let { inputTokens: input, maxOutputTokens: room } = setup
    let calls = 0
    let asked = 0
    const again = (code: string, retryable: boolean): Failed | undefined => {
      if (asked >= setup.maxRetries) {
        this.#tell('envelope.retry.exhausted')
        return { failed: code, retryable }
      }
      this.#spendRetry()
      this.#tell('envelope.retry.attempted')
      asked += 1
      return undefined
    }
    for (;;) {
      if (calls >= setup.maxRounds + asked) return { failed: 'agent_rounds_exceeded', retryable: false }
      const { thought, ...usage } = this.#think(calls + 1, input, room)
      calls += 1
      const { words } = thought
      const isUnbilled = words.kind === 'broken' && !words.billed
      this.#account(calls, isUnbilled ? { input: 0, output: 0 } : usage)
      if (words.kind !== 'broken' && setup.verbosity !== 'off') this.#tell('agent.reasoned')
      let failed: Failed | undefined
      switch (words.kind) {
        case 'answered':
          return this.#decide(words.confidence)
        case 'refused':
          this.#tell('envelope.refusal')
          return { failed: 'envelope_refusal', retryable: false, outcome: 'refused' }
        case 'broken':
          if (isUnbilled || !words.retryable) return { failed: 'model_failed', retryable: words.retryable }
          failed = again('model_failed', true)
          break
        case 'truncated':
          this.#tell('envelope.truncated')
          failed = again('envelope_truncation_unrecoverable', false)
          input += thought.replyTokens
          room *= 2
          break
        case 'unusable': {
          const isSchema = words.reason === 'schema-violation' && setup.checksResult
          failed = again(isSchema ? 'handoff_return_schema_violation' : 'envelope_invalid', false)
          input += thought.replyTokens + CORRECTION.length * 3 + 16
          break
        }
        case 'tools': {
          input += thought.replyTokens
          const came = this.#useTools(calls, words.calls)
          if (typeof came === 'number') input += came
          else failed = came
        }
      }
      if (failed) return failed
    }
  }

  /** Asks until somebody hears the answer; each try that may have been billed is held in full. */
  #think(call: number, input: number, room: number): Said {
    const { seen } = this
    for (;;) {
      const [tokens, money] = [seen.tokens + seen.heldTokens, seen.nano + seen.heldNano]
      const each = this.#nano(0, 1)
      const byMoney = each === 0 ? MOST : Math.floor((this.#ceilings.nano - money - this.#nano(input, 0)) / each)
      const fits = Math.min(room, this.#ceilings.tokens - tokens - input, byMoney)
      const output = Math.max(Math.min(64, room), fits)
      const nano = this.#nano(input, output)
      const asked = this.#asked
      this.#need('tokens', tokens + input + output)
      if (this.#asked === asked) this.#need('nano', money + nano)
      // With more there is room for a longer answer.
      if (this.#asked > asked) continue
      this.#tell('assay.model.requested')
      const heard = this.#ask(call, output)
      if (heard !== 'lost' && heard !== 'cancelled') return heard
      this.#tell('assay.model.lost')
      seen.heldTokens += input + output
      seen.heldNano += nano
      if (heard === 'cancelled') {
        this.#close('failed')
        throw new Over('cancelled')
      }
    }
  }

  #ask(call: number, room: number): Said | 'lost' | 'cancelled' {
    const kept = this.#said.get(call)
    if (kept) return kept
    for (;;) {
      const thought = nthOf(this.setup.thoughts, this.seen.thoughts)
      this.seen.thoughts += 1
      const { disturbance, words } = thought
      if (disturbance === 'cancel') return 'cancelled'
      if (DIES_FIRST.has(disturbance) || disturbance === 'pause at once') return 'lost'
      const isKept = words.kind !== 'broken' || words.billed || !words.retryable
      const said = {
        thought,
        input: Math.floor(this.setup.inputTokens * thought.inputPart),
        output: Math.floor(room * thought.outputPart),
      }
      if (isKept) this.#said.set(call, said)
      // What was given back before it was told costs nothing and is asked for anew.
      if (isKept || disturbance !== 'crash before told') return said
    }
  }

  #account(call: number, { input, output }: { input: number; output: number }): void {
    const { seen } = this
    this.#tell('provider.usage')
    if (call <= this.#paid) return
    if (input + output > 0) this.#paid = call
    seen.tokens += input + output
    seen.nano += this.#nano(input, output)
  }

  #decide(confidence: number | undefined): Failed | undefined {
    const { threshold, runThreshold, verdicts } = this.setup
    this.#tell('agent.decided')
    if (confidence !== undefined && confidence < (runThreshold ?? threshold ?? 0.7)) {
      this.#tell('interrupt.requested')
      const verdict = verdicts[0]!
      if (verdict === 'reject') return { failed: 'interrupt_rejected', retryable: false, outcome: 'escalated' }
      if (verdict === 'nobody') return { failed: 'interrupt_timeout', retryable: false, outcome: 'escalated' }
    }
    this.#close('completed')
    return undefined
  }

  /** What the results add to the next request, or how the node fails. */
  #useTools(call: number, wanted: readonly { readonly tool: number; readonly misfit: boolean }[]): number | Failed {
    const { setup, seen } = this
    let tokens = 0
    for (const [position, { tool, misfit }] of wanted.slice(0, 16).entries()) {
      const terms = setup.tools[tool]
      if (terms === undefined) continue
      const isPaid = this.#used < this.#paidUses
      if (!isPaid) this.#need('toolCalls', seen.toolCalls + 1)
      if (!isPaid) seen.toolCalls += 1
      this.#tell('agent.toolCalled')
      const isForbidden = terms.scopes.some(scope => !setup.scopes.includes(scope))
      if (!isForbidden && !misfit) {
        const came = this.#use(`${call}.${position}`, terms.repeat === 'never')
        // R-LIVE-7: however the node ends, a call that was told has its return.
        if (came === 'unknown' || came.status.startsWith('fails')) this.#tell('agent.toolReturned')
        if (came === 'unknown') return { failed: 'effect_outcome_unknown', retryable: false }
        if (came.status === 'fails') return { failed: 'tool_failed', retryable: false }
        if (came.status === 'fails for now') return { failed: 'tool_failed', retryable: true }
        tokens += came.resultTokens
        this.#used += 1
      }
      this.#tell('agent.toolReturned')
    }
    return tokens
  }

  #use(place: string, isNever: boolean): Returned | 'unknown' {
    const kept = this.#returned.get(place)
    if (kept) return kept
    for (;;) {
      const use = nthOf(this.setup.uses, this.seen.uses)
      this.seen.uses += 1
      const { disturbance } = use
      if (disturbance === 'cancel') {
        this.#tell('agent.toolReturned')
        this.#close('failed')
        throw new Over('cancelled')
      }
      // What was cut short may have happened: it is called again, or, where that must not be, nobody knows.
      const isCut = disturbance === 'pause at once' && use.status !== 'ok'
      if (DIES_FIRST.has(disturbance) || isCut) {
        if (isNever) return 'unknown'
        continue
      }
      const isKept = use.status !== 'fails for now'
      if (isKept) this.#returned.set(place, use)
      if (isKept || disturbance !== 'crash before told') return use
    }
  }
}

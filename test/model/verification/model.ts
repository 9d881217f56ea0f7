import type { JsonObject } from '../../../src/core/json.js'
import type { Recorded } from '../../../src/core/run/events.js'
import type { VerificationStarted } from '../../../src/core/verification/events.js'
import { type GateSetup, type Setup, THRESHOLD } from './setup.js'

/**
 * What the contract says must come of what was said at a gate (agents §23.2), found out from votes, evidence and
 * answers alone. Shares no arithmetic with the core. Each entry says what is foreseen otherwise, and where.
 */
export function unforeseen(setup: Setup, log: readonly Recorded[]): string[] {
  const found: string[] = []
  const foresight = new Foresight(setup)
  for (const event of log) {
    const problem = foresight.hear(event)
    if (problem !== undefined) found.push(`${event.sequence} ${event.type}: ${problem}`)
  }
  return found
}

type Standing = { readonly blocking: number; readonly reached: number }
type Hearing = {
  readonly started: VerificationStarted
  readonly gate: GateSetup
  readonly probe: 'held' | 'failed' | 'unavailable' | undefined
  /** By position: whether it passes, the score it gave and whether it found something; null for none. */
  readonly votes: Map<number, { readonly passes: boolean; readonly score: number; readonly finds: boolean } | null>
  asked?: string
  said?: 'pass' | 'fail'
}

class Foresight {
  /** By node: what is being judged there. */
  readonly #open = new Map<string, Hearing>()
  /** By gate and place: how good each attempt was; undefined where nobody could say. */
  readonly #made = new Map<string, (Standing | undefined)[]>()
  /** By gate and place: how often that gate has sent the work back. */
  readonly #sent = new Map<string, number>()
  /** By node: the answer of a person that has been given and not been followed yet. */
  readonly #answers = new Map<string, string>()

  constructor(private readonly setup: Setup) {}

  hear(event: Recorded): string | undefined {
    const nodeId = event.nodeId ?? ''
    const hearing = this.#open.get(nodeId)
    switch (event.type) {
      case 'node.started':
        if (event.payload.attempt === 0) this.#renew(nodeId)
        return undefined
      case 'dws.verification.started':
        return this.#begin(nodeId, event.payload, event.secret!.evidence)
      case 'assay.verifier.ended': {
        const { vote, verifier } = event.payload
        const said = event.secret?.vote
        const score = said?.scores.one ?? 0
        const finds = (said?.findings.length ?? 0) > 0
        hearing?.votes.set(verifier, vote === 'none' ? null : { passes: score >= THRESHOLD && !finds, score, finds })
        const told = said === undefined || (said.verdict !== 'fail') === (score >= THRESHOLD && !finds)
        return told ? undefined : `a vote of ${score} counts as ${said?.verdict}`
      }
      case 'assay.verification.held':
        if (hearing === undefined) return undefined
        if (outcomeOf(hearing) !== 'undecided') return 'it was decided'
        if (event.payload.proceeds && hearing.gate.blocking) return 'the gate blocks'
        if (event.payload.proceeds) this.#close(nodeId, hearing, undefined)
        return undefined
      case 'dws.verification.verdict_rendered': {
        if (hearing === undefined) return 'nothing was judged'
        const outcome = outcomeOf(hearing)
        hearing.said = event.payload.dwsVerdict === 'fail' ? 'fail' : 'pass'
        this.#note(nodeId, hearing, standingOf(hearing))
        if (event.payload.proceeds) this.#open.delete(nodeId)
        return hearing.said === outcome ? undefined : `foreseen ${outcome}`
      }
      case 'interrupt.requested':
        if (hearing) hearing.asked = String(event.payload.data.reason)
        return hearing && !hearing.gate.blocking ? 'a gate that does not block asks nobody' : undefined
      case 'interrupt.resolved':
        this.#answers.set(nodeId, String((event.payload.resumeValue as JsonObject).action))
        return undefined
      case 'assay.result.withheld':
        this.#open.delete(nodeId)
        return undefined
      case 'agent.verified': {
        if (hearing === undefined) return 'nothing was judged'
        const foreseen = this.#verdict(nodeId, hearing)
        if (hearing.said === undefined) this.#note(nodeId, hearing, undefined)
        const key = this.#key(nodeId, hearing.started)
        if (event.payload.verdict === 'revise') this.#sent.set(key, (this.#sent.get(key) ?? 0) + 1)
        const isFinal = event.payload.verdict === 'pass' || event.payload.verdict === 'revise'
        const asks = event.payload.verdict === 'fail' && hearing.gate.onFail === 'escalate' && !hearing.asked
        if (isFinal || !asks) this.#open.delete(nodeId)
        this.#answers.delete(nodeId)
        return foreseen === event.payload.verdict ? undefined : `foreseen ${foreseen}`
      }
      default:
        return undefined
    }
  }

  #renew(nodeId: string): void {
    if (this.setup.shape.startsWith('exit')) return
    for (const key of this.#made.keys()) {
      if (key.split(' ')[1] !== nodeId) continue
      this.#made.delete(key)
      this.#sent.delete(key)
    }
  }

  #key(nodeId: string, { gateId, workerId = '' }: VerificationStarted): string {
    return `${gateId} ${this.setup.shape.startsWith('exit') ? 'run' : nodeId} ${workerId}`
  }

  #begin(nodeId: string, started: VerificationStarted, evidence: readonly { readonly outcome: string }[]) {
    const gate = this.setup.gates[Number(started.gateId.slice(1)) - 1]!
    const probe = evidence[0]?.outcome as Hearing['probe']
    this.#open.set(nodeId, { started, gate, probe, votes: new Map() })
    const before = this.#made.get(this.#key(nodeId, started)) ?? []
    return started.attempt === before.length + 1 ? undefined : `foreseen attempt ${before.length + 1}`
  }

  #note(nodeId: string, { started }: Hearing, standing: Standing | undefined): void {
    const key = this.#key(nodeId, started)
    this.#made.set(key, [...(this.#made.get(key) ?? []), standing])
  }

  #close(nodeId: string, hearing: Hearing, standing: Standing | undefined): void {
    this.#note(nodeId, hearing, standing)
    this.#open.delete(nodeId)
  }

  /** The table of §23.2, and what a person makes of it. */
  #verdict(nodeId: string, { gate, said, started, asked }: Hearing): 'pass' | 'fail' | 'revise' | 'none' {
    const answer = this.#answers.get(nodeId)
    if (asked !== undefined) return answer === 'accept' ? 'pass' : answer === 'refine' ? 'revise' : 'fail'
    if (said === undefined) return 'none'
    if (said === 'pass') return gate.blocking && gate.licensed ? 'none' : 'pass'
    if (!gate.blocking) return 'none'
    const key = this.#key(nodeId, started)
    const isLeft = (this.#sent.get(key) ?? 0) + 1 < gate.maxAttempts
    if (isLeft && !(gate.stuck && isStuck(this.#made.get(key) ?? []))) return 'revise'
    return gate.onFail === 'conditional_pass' ? 'pass' : 'fail'
  }
}

/** §23.2: what is not known never counts as a pass, and decides nothing. */
function outcomeOf({ started, gate, probe, votes }: Hearing): 'pass' | 'fail' | 'undecided' {
  if (probe === 'failed') return 'fail'
  const seats = started.verifiers
  const given = [...votes.values()].flatMap(vote => (vote === null ? [] : [vote.passes]))
  const ayes = given.filter(Boolean).length
  const missing = seats - given.length
  const enough = (count: number) => {
    if (seats === 0) return true
    if (gate.quorum === 'any') return count >= 1
    return gate.quorum === 'unanimous' ? count === seats : count > seats / 2
  }
  if (!enough(ayes + missing)) return 'fail'
  return enough(ayes) && probe !== 'unavailable' ? 'pass' : 'undecided'
}

/** How many blockers a worker would be told of, and how near it came. */
function standingOf({ started, gate, probe, votes }: Hearing): Standing {
  const given = [...votes.values()].flatMap(vote => (vote === null ? [] : [vote]))
  const blockers = given.filter(({ finds }) => finds).length + (probe === 'failed' ? 1 : 0)
  const isShort = given.some(({ score }) => score < THRESHOLD) && !given.some(({ finds }) => finds)
  const passes = outcomeOf({ started, gate, probe, votes }) === 'pass'
  const mean = given.length === 0 ? undefined : given.reduce((sum, { score }) => sum + score, 0) / given.length
  const isAsked = started.criteria.includes('one')
  const one = mean === undefined ? (isAsked && !passes ? 0 : 1) : Math.min(1, mean / THRESHOLD)
  const checked = gate.probed ? [probe === 'failed' || probe === 'unavailable' ? 0 : 1] : []
  const all = [one, ...checked]
  const reached = all.reduce((sum, each) => sum + each, 0) / all.length
  return { blocking: passes ? given.filter(({ finds }) => finds).length : blockers + (isShort ? 1 : 0), reached }
}

const isBetter = (a: Standing, b: Standing): boolean =>
  a.blocking < b.blocking || (a.blocking === b.blocking && a.reached > b.reached + 1e-6)

/** Two in a row that are no better than the best before. */
function isStuck(made: readonly (Standing | undefined)[]): boolean {
  const judged = made.flatMap(standing => (standing === undefined ? [] : [standing]))
  const earlier = judged.slice(0, -2)
  return earlier.length > 0 && judged.slice(-2).every(standing => earlier.some(before => !isBetter(standing, before)))
}

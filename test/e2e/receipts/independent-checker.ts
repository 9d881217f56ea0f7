import { createHash, createPublicKey, verify } from 'node:crypto'

/**
 * What somebody else would write who was handed a receipt, a public key and docs/design/receipt.md. It imports nothing of the
 * product, on purpose.
 */

type Verdict = { sequence: number; verdict: string; label?: string; agentId: string; criteria: string[] }
type Attempt = {
  sequence: number
  gateId: string
  target: string
  resultHash: string
  judgement?: { verdict: string }
  verdicts: Verdict[]
}
type Gate = { gateId: string; blocking: boolean; placement: string; nodeId: string; criteria: string[] }
type Merge = {
  sequence: number
  point: string
  nodeId?: string
  target: string
  resultHash: string
  label: string
  passes: { gateId: string; verdict: number }[]
}
export type Told = {
  issuer: { hostId: string; issuedAt: string }
  run: { runId: string; tenant: string; status: string; fork?: { mode: string; fromSeq: number } }
  log: { events: number; head: string }
  outputs?: { hash: string; withheld: boolean }
  goal: { satisfied?: boolean; against: unknown[] }
  gates: Gate[]
  attempts: Attempt[]
  merges: Merge[]
  cost: { spent: { tokens: number }; verification: { tokens: number } }
}

/** What the receipt says; throws where it is not to be believed. `x` is the public key of the JWK. */
export function check(text: string, x: string): Told {
  const { payload, payloadType, signatures } = JSON.parse(text)
  const body = Buffer.from(payload, 'base64')
  const signed = Buffer.concat([
    Buffer.from(`DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${body.length} `),
    body,
  ])
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  const id = createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
    .slice(0, 16)
  demand(signatures.length === 1 && signatures[0].keyid === id, 'it names another key')
  demand(verify(null, signed, key, Buffer.from(signatures[0].sig, 'base64')), 'the signature is not of this key')
  const said = JSON.parse(body.toString())
  demand(said.predicateType === 'urn:assay:statement:run-receipt:1', 'it is something else')
  // The one way to write it down.
  demand(canonical(said) === body.toString(), 'the statement is written otherwise')
  demand(`${canonical(JSON.parse(text))}\n` === text, 'the envelope is written otherwise')
  demand(
    Buffer.from(signatures[0].sig, 'base64').toString('base64') === signatures[0].sig,
    'the signature is written otherwise',
  )
  demand(body.toString('base64') === payload, 'the payload is written otherwise')
  const told = said.predicate as Told
  for (const merge of told.merges) checkMerge(told, merge)
  demand((told.run.status === 'completed') === (told.outputs !== undefined), 'outputs and status do not agree')
  return told
}

function checkMerge({ gates, attempts }: Told, merge: Merge): void {
  const here = gates.filter(
    gate =>
      gate.blocking &&
      (merge.point === 'run'
        ? gate.placement === 'workflow_exit'
        : gate.nodeId === merge.nodeId && gate.placement !== 'workflow_exit'),
  )
  demand(here.length > 0, 'nothing stands before a merge')
  const labels = here.map(gate => {
    const pass = merge.passes.find(({ gateId }) => gateId === gate.gateId)
    demand(pass !== undefined, `gate ${gate.gateId} has passed nothing`)
    const own = attempts.filter(
      one => one.gateId === gate.gateId && one.target === merge.target && one.resultHash === merge.resultHash,
    )
    const verdicts = own.flatMap(attempt => attempt.verdicts.map(verdict => ({ attempt, verdict })))
    const last = verdicts.filter(({ verdict }) => verdict.sequence < merge.sequence).at(-1)
    demand(
      last?.verdict.sequence === pass?.verdict && last?.verdict.verdict === 'pass',
      'its last word is no pass over this hash',
    )
    const label = labelOf(gate, last!.attempt, last!.verdict)
    demand(last!.verdict.label === label, 'the label does not follow')
    return label
  })
  const order = ['verified', 'conditional', 'accepted', 'verified in part', 'forced']
  const weakest = labels.sort((a, b) => order.indexOf(b) - order.indexOf(a))[0]
  demand(merge.label === weakest, 'the label of the merge does not follow')
}

function labelOf({ criteria }: Gate, { judgement }: Attempt, { agentId, criteria: over }: Verdict): string {
  if (agentId === 'host:human-override' || over.includes('human-accepted') || over.includes('human-override'))
    return 'accepted'
  if (over.includes('gate.on-fail.conditional-pass')) return 'forced'
  if (!criteria.every(key => over.includes(key))) return 'verified in part'
  return judgement?.verdict === 'pass' ? 'verified' : 'conditional'
}

/** As docs/design/receipt.md has it. */
export const hashOf = (value: unknown): string =>
  `sha256:${createHash('sha256').update(canonical(value)).digest('hex')}`

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const named = value as { [name: string]: unknown }
  return `{${Object.keys(named)
    .sort()
    .map(name => `${JSON.stringify(name)}:${canonical(named[name])}`)
    .join(',')}}`
}

function demand(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}

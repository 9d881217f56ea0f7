import { test } from 'vitest'

/**
 * The attack list. Every number has a name, and either tests of that number in the file of its block, tests elsewhere,
 * or the reason why it cannot be tried yet; `listing.test.ts` holds this, and that no number up to the last is left out.
 */
export type Case = {
  readonly name: string
  readonly block: 'a-keys' | 'b-tenants' | 'c-agents' | 'c-journal' | 'd-links' | 'e-input' | 'f-operations'
  /** Tests of the same attack in other suites, by file and by a part of their title. */
  readonly elsewhere?: readonly (readonly [file: string, title: string])[]
  /** Why there is nothing to attack. */
  readonly notApplicable?: string
}

const NO_GOALS = 'there are no goals on the wire'

export const CASES: { readonly [number: number]: Case } = {
  1: { block: 'a-keys', name: 'no key, half a key, two keys' },
  2: { block: 'a-keys', name: 'a key with one bit changed; keys at rest' },
  3: {
    block: 'a-keys',
    name: 'an expired or revoked key',
    elsewhere: [['test/http/auth.test.ts', 'ends its open streams']],
  },
  4: { block: 'a-keys', name: 'a rejected key comes back nowhere' },
  5: {
    block: 'a-keys',
    name: 'a key does what it has no scope for, or makes one that has more',
    elsewhere: [
      ['test/http/route-inventory.test.ts', 'a key without the scope gets 403'],
      ['test/http/edges.test.ts', 'attack 5'],
    ],
  },
  6: { block: 'a-keys', name: 'a test key on live data, and back' },
  7: { block: 'a-keys', name: 'a key in the wrong place, and what is no key in its place' },
  8: { block: 'a-keys', name: 'headers that claim to be somebody' },
  9: { block: 'a-keys', name: 'test seams and debug paths' },
  10: { block: 'b-tenants', name: 'another tenant’s run by every way in and spelling' },
  11: {
    block: 'b-tenants',
    name: 'lists by foreign parameters and cursors',
    elsewhere: [['test/http/edges.test.ts', 'attack 11']],
  },
  12: { block: 'b-tenants', name: 'owner, tenantId and workspaceId in a body' },
  13: { block: 'b-tenants', name: 'the same names of memory and files in two tenants' },
  14: { block: 'b-tenants', name: 'an Idempotency-Key that another tenant has used' },
  15: { block: 'b-tenants', name: 'an Idempotency-Key that looks like the host’s own' },
  16: { block: 'b-tenants', name: 'another tenant’s webhook' },
  17: { block: 'b-tenants', name: 'a child of another tenant’s workflow' },
  18: {
    block: 'b-tenants',
    name: 'a moment, a scope or a fork of another tenant’s run',
    elsewhere: [['test/attacks/journal.test.ts', 'nothing can be told from what never was']],
  },
  19: {
    block: 'b-tenants',
    name: 'answers of a model that another tenant has paid for',
    elsewhere: [['test/contract/store/contract/invocations.ts', 'never one of another tenant']],
  },
  20: {
    block: 'c-agents',
    name: 'a tool outside the allowlist, or with a name alike',
    elsewhere: [
      ['src/core/invocation/tools.test.ts', 'is not on the surface: nothing is called'],
      ['test/e2e/agents/bad-models.test.ts', 'tools that are not the agent’s'],
    ],
  },
  21: {
    block: 'c-journal',
    name: 'arguments of an allowed tool that reach further than it does',
    elsewhere: [['src/core/journal/entry-rules.test.ts', 'what a run may write']],
  },
  22: {
    block: 'c-agents',
    name: 'words that look like an approval',
    elsewhere: [['test/e2e/agents/bad-models.test.ts', 'leaves the gate where it is']],
  },
  23: { block: 'c-journal', name: 'a model that never stops writing' },
  24: { block: 'c-journal', name: 'untrusted content laundered through memory and files' },
  25: { block: 'c-agents', name: 'decidedBy in an answer' },
  26: { block: 'c-agents', name: 'a goal without bounds', notApplicable: NO_GOALS },
  27: { block: 'c-agents', name: 'a goal with impossible bounds', notApplicable: NO_GOALS },
  28: { block: 'c-agents', name: 'a goal that says it is satisfied', notApplicable: NO_GOALS },
  29: { block: 'c-journal', name: 'what a gate refused, by another way' },
  30: { block: 'c-journal', name: 'memory that a verifier, or a replay, reads or writes' },
  31: {
    block: 'c-agents',
    name: 'a judge of its own work; a vote that is none',
    elsewhere: [['test/e2e/verifier/votes.test.ts', 'no vote, and none is made up']],
  },
  32: {
    block: 'c-agents',
    name: 'agent.verified with words in it',
    elsewhere: [['src/core/verification/agent-verified.test.ts', 'has exactly the fields of its table']],
  },
  33: {
    block: 'c-agents',
    name: 'what a verifier must not see',
    elsewhere: [
      ['test/e2e/verification/isolation.test.ts', 'nothing of the worker, its thoughts, its tools or its run'],
    ],
  },
  34: {
    block: 'c-agents',
    name: 'confidence just below, above and out of range',
    elsewhere: [
      ['src/core/supervisor/confidence.test.ts', 'at the floor, or without an opinion, nobody is asked'],
      ['src/agents/answer/judge.test.ts', 'is a violation, not a confidence'],
    ],
  },
  35: {
    block: 'c-agents',
    name: 'a workflow that starts itself',
    elsewhere: [['test/e2e/agents/bad-models.test.ts', '1,000 tool calls in one answer']],
  },
  36: {
    block: 'c-agents',
    name: 'text that ends its own fence',
    elsewhere: [
      ['src/agents/markers.test.ts', 'stands between marks and cannot write them'],
      ['src/agents/markers.test.ts', 'is read once, whatever it is'],
    ],
  },
  37: {
    block: 'c-journal',
    name: 'memory entries over their limits',
    elsewhere: [['src/core/journal/entry-rules.test.ts', 'no entry with']],
  },
  38: {
    block: 'c-agents',
    name: 'a secret in what a model or a tool says',
    elsewhere: [
      ['test/e2e/agents/canaries.test.ts', 'secrets that a model or a tool repeats are named in their place'],
      ['src/secrets/secrets.test.ts', 'leaves no registered value in any text'],
    ],
  },
  39: {
    block: 'd-links',
    name: 'a token that was not given out',
    elsewhere: [['test/http/interrupts.test.ts', 'B39']],
  },
  40: {
    block: 'd-links',
    name: 'an expired token',
    elsewhere: [['test/http/interrupts.test.ts', 'B40 R-ASK-4 R-ASK-5: a link ends after half an hour']],
  },
  41: {
    block: 'd-links',
    name: 'a token that was used, or whose question is over',
    elsewhere: [
      ['test/http/interrupts.test.ts', 'fifty answers at once: one is taken'],
      ['test/http/interrupts.test.ts', 'a link to a question that was asked before is closed'],
    ],
  },
  42: { block: 'd-links', name: 'a token for looking that answers' },
  43: { block: 'd-links', name: 'an answer that does not fit the question' },
  44: { block: 'd-links', name: 'a token told to others', elsewhere: [['test/http/interrupts.test.ts', 'B44']] },
  45: {
    block: 'd-links',
    name: 'a webhook’s secret, asked for again',
    elsewhere: [
      ['test/e2e/webhooks/routes.test.ts', 'leaves the secret out'],
      ['test/e2e/webhooks/delivery.test.ts', 'stands nowhere in plain text'],
    ],
  },
  46: { block: 'd-links', name: 'a webhook URL of another kind' },
  47: { block: 'd-links', name: 'a webhook URL into this machine or its network' },
  48: {
    block: 'd-links',
    name: 'a name that is private, in part or later',
    elsewhere: [['test/e2e/webhooks/egress.test.ts', 'public when it was registered and is private now']],
  },
  49: {
    block: 'd-links',
    name: 'a receiver that sends us elsewhere',
    elsewhere: [['test/e2e/webhooks/egress.test.ts', 'is a status, not a way']],
  },
  50: {
    block: 'd-links',
    name: 'a receiver that is slow, endless, packed or unvouched for',
    elsewhere: [
      ['test/e2e/webhooks/egress.test.ts', 'an endless body is cut at the size'],
      ['test/e2e/webhooks/egress.test.ts', 'what is compressed stays compressed'],
      ['test/e2e/webhooks/egress.test.ts', 'a certificate nobody vouches for'],
    ],
  },
  51: {
    block: 'd-links',
    name: 'a forged delivery at our own webhook',
    notApplicable: 'there are no inbound webhooks',
  },
  52: {
    block: 'd-links',
    name: 'another way out than the one client',
    elsewhere: [['test/architecture/architecture.test.ts', 'requests leave through egress']],
  },
  53: {
    block: 'e-input',
    name: 'bodies that are large, lying, packed or slow',
    elsewhere: [['test/http/bad-input.test.ts', 'E53']],
  },
  54: {
    block: 'e-input',
    name: 'what is not the JSON we can agree on',
    elsewhere: [['test/http/bad-input.test.ts', 'E54']],
  },
  55: {
    block: 'e-input',
    name: 'keys that reach for a prototype',
    elsewhere: [['test/http/bad-input.test.ts', 'E55']],
  },
  56: { block: 'e-input', name: 'schemas that explode', elsewhere: [['test/http/bad-input.test.ts', 'E56']] },
  57: {
    block: 'e-input',
    name: 'expressions that want to be code',
    elsewhere: [['test/http/bad-input.test.ts', 'E57']],
  },
  58: { block: 'e-input', name: 'paths into data that climb or never end' },
  59: {
    block: 'e-input',
    name: 'paths out of the folder',
    elsewhere: [['src/probes/file.test.ts', 'nothing outside the workspace is looked at']],
  },
  60: { block: 'e-input', name: 'words to search for that are a query to somebody' },
  61: {
    block: 'e-input',
    name: 'headers that two readers read differently',
    elsewhere: [
      ['test/http/bad-input.test.ts', 'E61'],
      ['test/http/edges.test.ts', 'attack 61'],
    ],
  },
  62: {
    block: 'e-input',
    name: 'more requests than there is room for',
    elsewhere: [
      ['test/http/load.test.ts', 'E62'],
      ['test/http/edges.test.ts', 'attack 62'],
    ],
  },
  63: {
    block: 'e-input',
    name: 'streams without end or of no kind',
    elsewhere: [['test/http/sse.test.ts', 'E63 R-SSE-8: streams per key are capped']],
  },
  64: {
    block: 'e-input',
    name: 'a page whose name leads here (DNS rebinding)',
    elsewhere: [['test/http/edges.test.ts', 'attack 64']],
  },
  65: { block: 'e-input', name: 'script in what a browser is sent' },
  66: { block: 'f-operations', name: 'forks from nowhere', elsewhere: [['test/http/fork.test.ts', 'E66']] },
  67: { block: 'f-operations', name: 'a replay that pays again', elsewhere: [['test/http/fork.test.ts', 'E67']] },
  68: {
    block: 'f-operations',
    name: 'a log that was changed behind the host’s back',
    elsewhere: [['test/e2e/audit/tamper.test.ts', 'every tampering was applied']],
  },
  69: { block: 'f-operations', name: 'what an error tells of the inside' },
  70: {
    block: 'f-operations',
    name: 'a debug bundle of 100,000 events',
    elsewhere: [['test/http/debug-bundle.test.ts', 'E70']],
  },
  71: { block: 'f-operations', name: 'packages from elsewhere' },
  72: { block: 'f-operations', name: 'files that others can read' },
}

/** A test of this case, under its number and name. */
export const attack = (
  number: keyof typeof CASES & number,
  run: () => Promise<unknown> | unknown,
  what?: string,
): void =>
  test(`attack ${number}: ${CASES[number]!.name}${what === undefined ? '' : `, ${what}`}`, run as () => Promise<void>)

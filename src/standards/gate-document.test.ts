import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../core/json.js'
import type { Gate } from '../core/verification/gate.js'
import { sha256 } from '../digest.js'
import { gateDocument } from '../testing/standards.js'
import { completeGate } from './gate-document.js'
import '../../test/support/seed.js'

const completed = (more: JsonObject = {}, origin: 'project' | 'api' = 'api'): Gate => {
  const read = completeGate(gateDocument(more), origin)
  if (!read.ok) throw new Error(read.problems.join('\n'))
  return read.value
}

const problemsOf = (document: Json, origin: 'project' | 'api' = 'api'): readonly string[] => {
  const read = completeGate(document, origin)
  expect(read.ok).toBe(false)
  return read.ok ? [] : read.problems
}

const scale = { min: 1, max: 5, type: 'integer' }
const criterion = (more: JsonObject = {}): JsonObject => ({
  dimension: 'correctness',
  scale,
  pass_threshold: 4,
  ...more,
})
const withCriterion = (more: JsonObject): JsonObject => gateDocument({ evaluation_criteria: [criterion(more)] })
const withProbe = (probe: Json): JsonObject => withCriterion({ probes: [probe] })

const TOOL = { workflow_id: 'w', phase_id: 'p', placement: 'checkpoint', tool_name: 'mcp:search' }

describe('a gate is completed', () => {
  test('R-DWS-1, R-DWS-3, R-DWS-4, R-DWS-5, R-DWS-30: what its author left out is filled in', () => {
    expect(completed()).toEqual({
      gate_id: 'report-gate',
      name: 'The report is right',
      position: { workflow_id: 'newsroom', phase_id: 'write', placement: 'phase_exit' },
      intent_refs: ['true-reports'],
      knowledge_refs: [],
      evaluation_criteria: [
        {
          dimension: 'correctness',
          description: 'Does the output do what it was asked for?',
          scale: { min: 1, max: 5, type: 'integer' },
          pass_threshold: 4,
          weight: 1,
          evidence_required: true,
          probes: [],
          settled_by_probes: false,
        },
      ],
      verifier_requirements: {
        fresh_context: true,
        role: 'verifier',
        verifiers: [],
        allow_self_verification: false,
        timeout_ms: 300_000,
      },
      gate_behaviour: {
        blocking: true,
        on_fail: 'reject',
        max_attempts: 2,
        rework: 'automatic',
        reverification: 'targeted',
        auto_commit: 'always',
        licence: { bad_stopped: { min_n: 30, lower_bound: 0.9 }, good_passed: { min_n: 30, lower_bound: 0.9 } },
        confirm: 'full',
        stop_when_stuck: false,
        allow_hidden: false,
        retries: 2,
        retry_delay_ms: 2000,
      },
      multi_verifier: { verifier_count: 1, quorum_strategy: 'majority', min_agree: 1, early_stop: true },
    })
  })

  test('R-DWS-5: over a tool there is one attempt at each result, and it need not be said', () => {
    for (const gate_behaviour of [{}, { max_attempts: 1 }])
      expect(completeGate(gateDocument({ position: TOOL, gate_behaviour }), 'api')).toMatchObject({
        value: { position: TOOL, gate_behaviour: { max_attempts: 1 } },
      })
  })

  test('R-DWS-24: verifiers may be plain ids, and there are as many votes as verifiers', () => {
    const verifiers = ['acme.critic', { agent_id: 'acme.editor', weight: 2 }]
    const { verifier_requirements, multi_verifier } = completed({ verifier_requirements: { verifiers } })
    expect(verifier_requirements.verifiers).toEqual([
      { agent_id: 'acme.critic', weight: 1 },
      { agent_id: 'acme.editor', weight: 2 },
    ])
    expect(multi_verifier.verifier_count).toBe(2)
  })

  test('probes get a name and settle their criterion, unless it is said otherwise', () => {
    const probes = [
      { type: 'regex', pattern: 'lorem ipsum', absent: true },
      { probe_id: 'links', type: 'http', path: '/links' },
      { type: 'command', command: ['node', 'check.mjs'] },
    ]
    const [first, second] = completed(
      {
        evaluation_criteria: [
          criterion({ probes }),
          criterion({
            dimension: 'quality',
            probes: [{ type: 'numeric', path: '/words', min: 100 }],
            settled_by_probes: false,
          }),
        ],
      },
      'project',
    ).evaluation_criteria
    expect(first).toMatchObject({
      settled_by_probes: true,
      probes: [
        { probe_id: 'correctness-1', absent: true },
        { probe_id: 'links', status: [200] },
        { probe_id: 'correctness-3', exit_code: 0, timeout_ms: 30_000 },
      ],
    })
    expect(second).toMatchObject({ settled_by_probes: false, probes: [{ probe_id: 'quality-1' }] })
  })
})

test.each<[string, JsonObject, string]>([
  ['a short gate', {}, 'aedfc14c4f992f7880a3ba9755b147a1b6fd32cddb335e1b647bb1c5899f1433'],
  [
    'a gate in an order of its own',
    {
      context: ['inputs.log', 'knowledge:house-style'],
      gate_behaviour: { licence: { lower_bound: 0.8 }, approvers: ['ann'], on_fail: 'escalate' },
      verifier_requirements: { verifiers: ['acme.critic', { weight: 2, agent_id: 'acme.editor' }] },
      evaluation_criteria: [
        {
          probes: [
            { sources: ['inputs.log'], type: 'citation' },
            { url: 'https://example.com/', type: 'http', probe_id: 'links' },
            { value: { b: 1, a: 2 }, type: 'equals', path: '/x' },
          ],
          pass_threshold: 1,
          scale: { type: 'integer', max: 1, min: 0 },
          dimension: 'quality',
        },
      ],
    },
    'bcd095f2d308aaf96e4c3b1a23aa989fdd3ed4c0260e9d28eaa3a87d13029723',
  ],
])('%s is stored as the same text as ever: another hash would be another version', (_, more, hash) => {
  expect(sha256(JSON.stringify(completed(more)))).toBe(hash)
})

describe('R-DWS-32 and the rest of the schema: a gate is refused with the field, the limit, what was seen and what to do', () => {
  test.each<[string, Json, string]>([
    ['no object', [], 'the document must be an object; got a list of 0'],
    [
      'a field that is missing',
      JSON.parse(JSON.stringify({ ...gateDocument(), intent_refs: undefined })),
      'intent_refs is required: a list of 1 to 50 items; add it',
    ],
    [
      'R-DWS-1: no intent',
      gateDocument({ intent_refs: [] }),
      'intent_refs must be a list of 1 to 50 items; got a list of 0',
    ],
    [
      'a misspelt field',
      gateDocument({ intent_ref: [] }),
      'intent_ref is not a known field; did you mean intent_refs?',
    ],
    [
      'an intent that is named twice',
      gateDocument({ intent_refs: ['a', 'b', 'a'] }),
      'intent_refs has "a" twice; give each once',
    ],
    [
      'R-DWS-2: a placement that is not one',
      gateDocument({ position: { workflow_id: 'w', phase_id: 'p', placement: 'exit' } }),
      'position.placement must be one of phase_exit, workflow_exit, checkpoint, goal; got "exit"',
    ],
    [
      'R-DWS-4, R-DWS-12: a context that is shared',
      gateDocument({ verifier_requirements: { fresh_context: false } }),
      "verifier_requirements.fresh_context must be true, or left out: a verifier never shares the worker's context, and nothing can change that (R-DWS-12); got false",
    ],
    [
      'R-DWS-5: no attempt',
      gateDocument({ gate_behaviour: { max_attempts: 0 } }),
      'gate_behaviour.max_attempts must be a whole number from 1 to 20; got 0',
    ],
    [
      'R-DWS-2: a tool at an exit',
      gateDocument({ position: { ...TOOL, placement: 'phase_exit' } }),
      'position.tool_name is for a checkpoint, and this is phase_exit; set placement to "checkpoint", or remove tool_name to judge what the agent makes of it',
    ],
    [
      'a tool and a worker',
      gateDocument({ position: { ...TOOL, worker_id: 'w' } }),
      'position.worker_id and position.tool_name name two different results; keep one of them',
    ],
    [
      'R-DWS-5: a tool that is asked to do better',
      gateDocument({ position: TOOL, gate_behaviour: { max_attempts: 3 } }),
      'gate_behaviour.max_attempts is 3, and a tool is not asked to do the same again; leave it out or set it to 1: after a result was withheld its agent may call the tool anew, and that is another result',
    ],
    [
      'a tool that a supervisor sends back to work',
      gateDocument({ position: TOOL, gate_behaviour: { rework: 'supervisor' } }),
      'gate_behaviour.rework is about work that is sent back, and a tool is not asked to do the same again; leave it out',
    ],
    [
      'a tool that is stuck',
      gateDocument({ position: TOOL, gate_behaviour: { stop_when_stuck: true } }),
      'gate_behaviour.stop_when_stuck is about work that is sent back, and a tool is not asked to do the same again; leave it out',
    ],
    [
      'R-DWS-32: a dimension that is no key',
      withCriterion({ dimension: 'Is it right?' }),
      'evaluation_criteria[0].dimension must be a key of 1 to 64 lower-case letters, digits and . _ - (^[a-z0-9][a-z0-9._-]{0,63}$); got "Is it right?"',
    ],
    ...['gate.on-fail.conditional-pass', 'human-override', 'human-confirmed', 'no-answer', 'self-verification'].map(
      (dimension): [string, Json, string] => [
        `R-DWS-32: the host's own key ${dimension}`,
        withCriterion({ dimension }),
        `evaluation_criteria[0].dimension "${dimension}" is a key of the host's own; choose another name`,
      ],
    ),
    [
      'a dimension that is judged twice',
      gateDocument({ evaluation_criteria: [criterion(), criterion()] }),
      'evaluation_criteria has "correctness" twice; give each once',
    ],
    [
      'R-DWS-3: a scale without room',
      withCriterion({ scale: { min: 5, max: 5, type: 'float' }, pass_threshold: 5 }),
      'evaluation_criteria[0].scale.min 5 must be below evaluation_criteria[0].scale.max 5; lower it or raise the other',
    ],
    [
      'an integer scale with fractions',
      withCriterion({ scale: { min: 0.5, max: 5, type: 'integer' } }),
      'evaluation_criteria[0].scale is an integer scale from 0.5 to 5; give whole numbers, or type: float',
    ],
    [
      'a threshold outside the scale',
      withCriterion({ pass_threshold: 6 }),
      'evaluation_criteria[0].pass_threshold 6 is outside its scale, 1 to 5; choose one within',
    ],
    [
      'a fractional threshold on an integer scale',
      withCriterion({ pass_threshold: 3.5 }),
      'evaluation_criteria[0].pass_threshold 3.5 must be a whole number, as its scale is; round it, or set scale.type to float',
    ],
    [
      'no weight',
      withCriterion({ weight: 0 }),
      'evaluation_criteria[0].weight must be a number above 0, of at most 1000000; got 0',
    ],
    [
      'settled by probes that are not there',
      withCriterion({ settled_by_probes: true }),
      'evaluation_criteria[0].settled_by_probes is true and there are no probes; add probes or leave it out',
    ],
    [
      'more votes than verifiers',
      gateDocument({ verifier_requirements: { verifiers: ['a.b'] }, multi_verifier: { verifier_count: 3 } }),
      'multi_verifier.verifier_count is 3 and 1 verifiers are named; leave it out or make them equal',
    ],
    [
      'more agreement than votes',
      gateDocument({ multi_verifier: { verifier_count: 2, min_agree: 3 } }),
      'multi_verifier.min_agree 3 is above verifier_count 2, so nothing could pass; lower it',
    ],
    [
      'more approvals than approvers',
      gateDocument({ gate_behaviour: { approvers: ['ann'], required_approvals: 2 } }),
      'gate_behaviour.required_approvals is 2 and approvers names 1, so nothing could be let pass; name more or lower it',
    ],
    [
      'a verifier that is no agent',
      gateDocument({ verifier_requirements: { verifiers: ['critic'] } }),
      'verifier_requirements.verifiers[0] must be the id of an agent (^[A-Za-z0-9:_-]*\\.[A-Za-z0-9:._-]{1,255}$), or an object; got "critic"',
    ],
    [
      'a document that is too long',
      gateDocument({ name: 'x'.repeat(70_000) }),
      expect.stringMatching(/^the document takes 70\d{3} bytes; at most 65536 are allowed, so shorten it$/),
    ],
  ])('%s', (_, document, problem) => {
    expect(problemsOf(document)).toEqual(expect.arrayContaining([problem]))
  })

  test('every problem is told, not the first one only', () => {
    const problems = problemsOf(gateDocument({ gate_id: '', name: 7, extra: true }))
    expect(problems).toHaveLength(3)
  })
})

describe('probes', () => {
  const field = 'evaluation_criteria[0].probes[0]'
  test.each<[string, Json, string]>([
    [
      'no type',
      {},
      `${field}.type is required: one of json-schema, regex, equals, numeric, file, http, command, citation; add it`,
    ],
    ['no object', 'regex', `${field} must be an object; got "regex"`],
    [
      'another type’s field',
      { type: 'equals', value: 1, pattern: 'x' },
      `${field}.pattern is not a known field; remove it: the known fields are probe_id, type, path, value`,
    ],
    [
      'a pattern that RE2 cannot read',
      { type: 'regex', pattern: '(?=a)' },
      `${field}.pattern cannot be read as a pattern (RE2 syntax)`,
    ],
    [
      'a schema that is no object',
      { type: 'json-schema', schema: true },
      `${field}.schema must be an object; got true`,
    ],
    ['a path that is no pointer', { type: 'equals', value: 1, path: 'a.b' }, `${field}.path must be a JSON pointer`],
    ['no bound', { type: 'numeric' }, `${field} must have a min, a max or both; add one`],
    [
      'bounds that are swapped',
      { type: 'numeric', min: 5, max: 1 },
      `${field}.min 5 is above ${field}.max 1; swap them`,
    ],
    [
      'a way out of the workspace',
      { type: 'file', file: 'a/../../etc/passwd' },
      `${field}.file must be a path inside the workspace of at most 1024 characters: relative, with / and without ..; got "a/../../etc/passwd"`,
    ],
    [
      'an absolute path',
      { type: 'file', file: '/etc/passwd' },
      `${field}.file must be a path inside the workspace of at most 1024 characters: relative, with / and without ..; got "/etc/passwd"`,
    ],
    [
      'a size of nothing',
      { type: 'file', file: 'a', exists: false, min_bytes: 1 },
      `${field} says that the file must not exist; remove sha256, min_bytes and max_bytes`,
    ],
    [
      'no address',
      { type: 'http' },
      `${field} must have either a url or a path to where addresses stand in the output`,
    ],
    [
      'a secret in an address',
      { type: 'http', url: 'https://me:hunter2@example.com' },
      `${field}.url must be an http:// or https:// address of at most 2048 characters, without user name and password`,
    ],
    [
      'another scheme',
      { type: 'http', url: 'file:///etc/passwd' },
      `${field}.url must be an http:// or https:// address`,
    ],
    [
      'a long command',
      { type: 'command', command: ['sleep'], timeout_ms: 300_001 },
      `${field}.timeout_ms must be a whole number of milliseconds from 1 to 300000; got 300001`,
    ],
    [
      'no command',
      { type: 'command', command: [] },
      `${field}.command must be a list of 1 to 50 items; got a list of 0`,
    ],
  ])('%s is refused', (_, probe, problem) => {
    expect(problemsOf(withProbe(probe), 'project')[0]).toContain(problem)
  })

  test('a command is taken from the project only: whoever has a key is not yet allowed to run programs here', () => {
    const document = withProbe({ type: 'command', command: ['make', 'test'] })
    expect(completeGate(document, 'project').ok).toBe(true)
    expect(problemsOf(document, 'api')).toEqual([
      `${field}.type "command" runs a program on the host, so it is taken from the project folder only; put the gate into gates/ there`,
    ])
  })

  test('files of the project are looked at for the project only, because all tenants share them; those of the workspace for all', () => {
    const shared = 'all tenants share those files, so only gates of the project folder look at them'
    const wayOut = 'say in: workspace, or put the gate into gates/ there'
    const document = withProbe({ type: 'file', file: 'report.md' })
    expect(completeGate(document, 'project').ok).toBe(true)
    expect(problemsOf(document, 'api')).toEqual([`${field}.in is project, where left out: ${shared}; ${wayOut}`])
    const named = withProbe({ type: 'file', file: 'report.md', in: 'project' })
    expect(completeGate(named, 'project').ok).toBe(true)
    expect(problemsOf(named, 'api')).toEqual([`${field}.in is project: ${shared}; ${wayOut}`])
    const own = withProbe({ type: 'file', file: 'report.md', in: 'workspace' })
    for (const origin of ['project', 'api'] as const) expect(completeGate(own, origin).ok).toBe(true)
  })

  test('where a file is looked for is not added to a gate that does not say it, so its hash stays', () => {
    const read = completeGate(withProbe({ type: 'file', file: 'report.md' }), 'project')
    const probes = read.ok ? read.value.evaluation_criteria.flatMap(({ probes }) => probes) : []
    expect(probes).toEqual([{ probe_id: 'correctness-1', type: 'file', file: 'report.md', exists: true }])
  })

  test.each(['.hidden', 'a//b', 'reports/ä.md', 'a b', `a${'/b'.repeat(200)}`])(
    'a path that no file of the workspace can have is refused: %s',
    file => {
      const [problem] = problemsOf(withProbe({ type: 'file', file, in: 'workspace' }), 'api')
      expect(problem).toContain(`${field}.file must be a path of the workspace: 1 to 256 of A-Z a-z 0-9 . _ / and -`)
      expect(problem).toContain(`got ${JSON.stringify(file.slice(0, 64))}`)
      expect(completeGate(withProbe({ type: 'file', file }), 'project').ok).toBe(true)
    },
  )

  test('a place that there is not is refused with those that there are', () => {
    const [problem] = problemsOf(withProbe({ type: 'file', file: 'a', in: 'folder' }), 'project')
    expect(problem).toBe(`${field}.in must be one of workspace, project; got "folder"`)
  })

  test('no two of a gate share a name', () => {
    const probes = [
      { type: 'equals', value: 1 },
      { type: 'equals', value: 2, probe_id: 'correctness-1' },
    ]
    expect(problemsOf(withCriterion({ probes }))).toEqual([
      'the probe_id "correctness-1" in criterion "correctness" is used twice; give each probe its own',
    ])
  })
})

describe('whatever is sent', () => {
  test('any JSON is a gate or has problems, never an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), value => {
        const read = completeGate(value as Json, 'api')
        expect(read.ok || read.problems.length > 0).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('any change to one field is taken or has problems; what is taken completes to itself', () => {
    const whole = completed({
      evaluation_criteria: [criterion({ probes: [{ type: 'regex', pattern: 'a' }] })],
    }) as unknown as Json
    const places = leavesOf(whole)
    expect(places.length).toBeGreaterThan(30)
    let taken = 0
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.jsonValue({ maxDepth: 3 }), (place, value) => {
        const read = completeGate(changed(whole, place, value as Json), 'project')
        expect(read.ok || read.problems.length > 0).toBe(true)
        if (!read.ok) return
        taken++
        const again = completeGate(read.value as unknown as Json, 'project')
        // The text too: its hash is what tells one version from the next.
        expect(again.ok && JSON.stringify(again.value)).toBe(JSON.stringify(read.value))
      }),
      { numRuns: 1000 },
    )
    expect(taken).toBeGreaterThan(0)
  })

  test('depth and names that reach for a prototype', () => {
    const deep = JSON.parse(`${'['.repeat(30_000)}${']'.repeat(30_000)}`) as Json
    expect(problemsOf(withProbe({ type: 'equals', value: deep }))).toEqual(['the document nests deeper than 64 levels'])
    expect(problemsOf(JSON.parse('{"__proto__": {"gate_id": "x"}}'))).toContainEqual(
      expect.stringMatching(/^__proto__ is not a known field/),
    )
    expect(problemsOf(withProbe({ type: 'constructor' }))[0]).toContain('got "constructor"')
  })
})

type Place = readonly (string | number)[]

const leavesOf = (value: Json, place: Place = []): Place[] =>
  typeof value === 'object' && value !== null
    ? [
        place,
        ...Object.entries(value).flatMap(([name, inner]) =>
          leavesOf(inner, [...place, Array.isArray(value) ? Number(name) : name]),
        ),
      ]
    : [place]

function changed(value: Json, [step, ...rest]: Place, to: Json): Json {
  if (step === undefined) return to
  if (Array.isArray(value)) return value.map((item: Json, i) => (i === step ? changed(item, rest, to) : item))
  return { ...(value as JsonObject), [step]: changed((value as JsonObject)[step]!, rest, to) }
}

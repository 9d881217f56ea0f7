import { describe, expect, it } from 'vitest'
import { rulesFor } from '../../testing/given-when-then.js'
import { utf8Length } from '../json.js'
import { fieldsOf, MOST_MEMBERS, TEAM_BYTES, type TeamMember, teamText, termsOfWorker, workersNamedIn } from './team.js'

const planWith = (dispatch: object) =>
  rulesFor({
    nodes: {
      sup: { type: 'core.orchestrator.supervisor', config: { rules: [{ decide: { kind: 'terminate' } }] } },
      disp: { type: 'core.dispatch', config: dispatch as never },
    },
    edges: ['sup > disp', 'disp > sup'],
    variables: [
      { name: 'topic', type: 'string' },
      { name: 'draft', type: 'string' },
    ],
  }).plan

const member = (worker: string, more: Partial<TeamMember> = {}): TeamMember => ({
  worker,
  given: [],
  brings: [],
  ...more,
})
const lines = (team: readonly TeamMember[]) =>
  teamText(team)
    .split('\n')
    .map(line => JSON.parse(line))

describe('whom a supervisor may name', () => {
  it('are those that its dispatch has terms for, with what they are given and bring', () => {
    const plan = planWith({
      perWorkerInputMappings: { writer: { about: 'topic' } },
      perWorkerOutputMappings: { writer: { draft: 'text' }, critic: {} },
    })
    expect(workersNamedIn(plan)).toEqual(['writer', 'critic'])
    expect(termsOfWorker(plan, 'writer')).toEqual({ given: ['topic'], brings: ['draft'] })
    expect(workersNamedIn(planWith({}))).toEqual([])
  })

  it('are told in full, one a line, and no more of each than is of use', () => {
    expect(lines([member('writer', { about: 'Writes.', given: ['topic'], takes: ['a'], makes: [] })])).toEqual([
      { worker: 'writer', about: 'Writes.', given: ['topic'], takes: ['a'] },
    ])
    const [told] = lines([
      member('w', { about: 'x'.repeat(900), takes: Array.from({ length: 50 }, (_, i) => `f${i}`) }),
    ])
    expect(told.about.length).toBeLessThan(300)
    expect([told.takes.length, told.takesLeftOut]).toEqual([20, 30])
  })

  it('are told by whole names where there is no room for more, and those left out are counted', () => {
    const many = Array.from({ length: 2_000 }, (_, i) => member(`worker-${i}`, { about: 'x'.repeat(200) }))
    const text = teamText(many)
    expect(utf8Length(text)).toBeLessThanOrEqual(TEAM_BYTES)
    const told = lines(many)
    expect(told[MOST_MEMBERS]).toEqual({ worker: `worker-${MOST_MEMBERS}` })
    expect(told.at(-1).workersLeftOut).toBe(2_000 - (told.length - 1))
  })

  it('declare their fields in a schema of an object', () => {
    expect(fieldsOf({ type: 'object', properties: { a: {}, b: {} } })).toEqual(['a', 'b'])
    expect(fieldsOf({ type: 'string' })).toEqual([])
    expect(fieldsOf(undefined)).toEqual([])
  })
})

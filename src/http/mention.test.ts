import { describe, expect, test } from 'vitest'
import { mentionIn } from './mention.js'

const AGENTS = ['local.notes.writer', 'local.notes.researcher', 'vendor.acme.writer', 'reviewer']

describe('R-LIVE-25: a message is for the agent it mentions', () => {
  test.each([
    ['@researcher find out about rain', 'local.notes.researcher', 'find out about rain'],
    ['@local.notes.writer a line about rain', 'local.notes.writer', 'a line about rain'],
    ['please, @researcher, find out', 'local.notes.researcher', 'please, find out'],
    ['find out about rain, @researcher.', 'local.notes.researcher', 'find out about rain.'],
    ['find out\n@researcher', 'local.notes.researcher', 'find out'],
    ['find out about rain, @researcher', 'local.notes.researcher', 'find out about rain'],
    ['(@reviewer) look at "this"', 'reviewer', '() look at "this"'],
    ['@reviewer: mail a@researcher.example', 'reviewer', 'mail a@researcher.example'],
    ['@reviewer ask @bob', 'reviewer', 'ask @bob'],
    ['@reviewer and again @reviewer', 'reviewer', 'and again @reviewer'],
    ['@reviewer @@researcher', 'reviewer', '@@researcher'],
  ])('%j → %s: %j', (message, agentId, task) => {
    expect(mentionIn(message, AGENTS)).toEqual({ agentId, task })
  })

  test.each([
    ['hello', 'body.message mentions no agent; say who is meant as @AGENT.'],
    ['mail bob@researcher', 'body.message mentions no agent; say who is meant as @AGENT.'],
    ['@resercher hello', 'body.message mentions @resercher, which is no agent here; say who is meant as @AGENT.'],
    ['@notes.writer hello', 'body.message mentions @notes.writer, which is no agent here; say who is meant as @AGENT.'],
    ['@Reviewer hello', 'body.message mentions @Reviewer, which is no agent here; say who is meant as @AGENT.'],
    ['@toString hello', 'body.message mentions @toString, which is no agent here; say who is meant as @AGENT.'],
    ['@writer hello', 'body.message mentions @writer, which may be several agents; use the whole id.'],
    ['@reviewer and @researcher hello', 'body.message mentions several agents; send one message to each.'],
    [' @reviewer ', 'body.message says nothing but @reviewer; add what is to be done.'],
  ])('%j is refused', (message, why) => {
    const refusal = mentionIn(message, AGENTS)
    expect(refusal).toMatchObject({ code: 'validation_error', details: { field: 'body.message' } })
    expect('message' in refusal && refusal.message.startsWith(why)).toBe(true)
  })

  test('a refusal names the agents there are, and no more than 20', () => {
    const many = Array.from({ length: 30 }, (_, i) => `local.many.a${i}`)
    expect(mentionIn('hello', many)).toMatchObject({ details: { agents: many.slice(0, 20) } })
    expect(mentionIn('@writer hello', AGENTS)).toMatchObject({
      details: { agents: ['local.notes.writer', 'vendor.acme.writer'] },
    })
    expect(mentionIn('hello', [])).toMatchObject({ message: expect.stringContaining('has no agents') })
  })

  test('a whole id wins over the last part of another', () => {
    expect(mentionIn('@reviewer go', [...AGENTS, 'local.x.reviewer'])).toEqual({ agentId: 'reviewer', task: 'go' })
  })

  test('a long message of nothing but @ takes no time', () => {
    expect(mentionIn('@a.'.repeat(33_000), AGENTS)).toMatchObject({ code: 'validation_error' })
    expect(mentionIn(`@${'a'.repeat(90_000)}`, AGENTS)).toMatchObject({
      message: expect.stringMatching(/^body\.message mentions @a{64}…, which/),
    })
  })
})

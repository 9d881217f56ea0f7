import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { AgentInventoryEntry, type InstalledAgent, renderAgent } from './agents.js'

const AGENT = {
  manifest: { agentId: 'local.acme.w', persona: 'Writer', modelClass: 'writing', systemPrompt: 'Private words.' },
  packName: 'local.acme',
  packVersion: '1.0.0',
  digest: 'd',
  systemPrompt: 'Private words.',
  degraded: [],
  memoryDegraded: false,
  degradedMemoryDimensions: [],
} as const

describe('R-MANIF-2: an entry of the inventory', () => {
  test('has what it must have, and nothing is said of what is in order', () => {
    const entry = renderAgent(AGENT)
    expect(entry).toEqual({
      agentId: 'local.acme.w',
      persona: 'Writer',
      label: 'Writer',
      modelClass: 'writing',
      packName: 'local.acme',
      packVersion: '1.0.0',
      toolAllowlist: [],
      hasHandoffSchemas: false,
    })
    expect(Value.Check(AgentInventoryEntry, entry)).toBe(true)
  })

  test('tells everything else an agent may have, but no prompt and no schema', () => {
    const full: InstalledAgent = {
      ...AGENT,
      manifest: {
        ...AGENT.manifest,
        label: 'Scribe',
        description: 'Writes',
        toolAllowlist: ['mcp:a.b'],
        memoryShape: { longTerm: true },
        confidence: { defaultThreshold: 0 },
      },
      returnSchema: { title: 'Private shape' },
      degraded: ['host.a'],
      memoryDegraded: true,
      degradedMemoryDimensions: ['long-term-durability'],
    }
    const entry = renderAgent(full)
    expect(entry).toMatchObject({
      label: 'Scribe',
      description: 'Writes',
      toolAllowlist: ['mcp:a.b'],
      hasHandoffSchemas: true,
      memoryShape: { longTerm: true },
      confidenceThreshold: 0,
      degraded: ['host.a'],
      memoryDegraded: true,
      degradedMemoryDimensions: ['long-term-durability'],
    })
    expect(Value.Check(AgentInventoryEntry, entry)).toBe(true)
    expect(JSON.stringify(entry)).not.toMatch(/Private/)
  })

  test('is closed', () => {
    expect(Value.Check(AgentInventoryEntry, { ...renderAgent(AGENT), systemPrompt: 'x' })).toBe(false)
  })
})

import { expect, describe as group, test } from 'vitest'
import { describe } from './descriptor.js'
import type { HostTool } from './host-tool.js'

const TOOL: HostTool = {
  terms: { toolId: 'mcp:srv.echo', transport: 'mcp', repeat: 'never', scopes: [] },
  description: 'Says it again',
  inputSchema: { type: 'object' },
  safetyTier: 'write',
  source: 'mcp',
}

group('a tool as the catalogue shows it', () => {
  test('has what is known and nothing that is not', () => {
    expect(describe(TOOL)).toEqual({
      toolId: 'mcp:srv.echo',
      source: 'mcp',
      safetyTier: 'write',
      description: 'Says it again',
      inputSchema: { type: 'object' },
      egress: 'host-mediated',
      replayPolicy: 'non-deterministic',
    })
    expect(
      describe({
        terms: { toolId: 'local:a', transport: 'native', repeat: 'keyed', scopes: ['a', 'b', 'a'] },
        title: 'A',
        description: '',
        inputSchema: {},
        outputSchema: { type: 'string' },
        safetyTier: 'exec',
        source: 'host-extension',
      }),
    ).toEqual({
      toolId: 'local:a',
      source: 'host-extension',
      safetyTier: 'exec',
      title: 'A',
      description: '',
      inputSchema: {},
      outputSchema: { type: 'string' },
      auth: { scopes: ['a', 'b'] },
      egress: 'host-owned',
      replayPolicy: 'idempotent',
    })
  })

  test('exec is for the host’s own tools only; what is pure can be replayed', () => {
    expect(describe({ ...TOOL, safetyTier: 'exec' }).safetyTier).toBe('write')
    expect(describe({ ...TOOL, safetyTier: 'pure' }).replayPolicy).toBe('deterministic')
  })
})

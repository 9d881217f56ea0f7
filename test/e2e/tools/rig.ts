import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll } from 'vitest'
import type { McpServer, SecretRef, ToolSettings } from '../../../src/agents/settings.js'
import { createTools, type ToolDeps, type Tools } from '../../../src/agents/tools/tools.js'
import type { Used } from '../../../src/agents/tools/use.js'
import type { Json } from '../../../src/core/json.js'
import { createEgress } from '../../../src/egress/egress.js'
import type { Artifacts } from '../../../src/engine/ports/agents.js'
import type { Clock } from '../../../src/engine/ports/clock.js'
import { createSecrets, type Secrets } from '../../../src/secrets/secrets.js'
import { systemClock } from '../../../src/system.js'
import { createSchemaChecker } from '../../../src/user-schema/schema-checker.js'

/** Its worker takes longest to start, so all tests of a file share it. */
export const TRACEPARENT = `00-${'5'.repeat(32)}-${'7'.repeat(16)}-01`

const schemas = createSchemaChecker()
afterAll(() => schemas.close())

export type Rig = {
  readonly tools: Tools
  readonly folder: string
  readonly secrets: Secrets
  /** Every line that was logged, with its fields. */
  readonly logged: () => string
  use(toolId: string, args?: Json, more?: Partial<Parameters<Tools['use']>[0]>): Promise<Extract<Used, { ok: true }>>
  ids(allowlist: readonly string[]): Promise<readonly string[]>
  close(): Promise<void>
}

export type RigOptions = {
  readonly mcp?: { readonly [name: string]: McpServer }
  readonly settings?: Partial<ToolSettings>
  readonly secrets?: { readonly [name: string]: string }
  readonly project?: string
  readonly clock?: Clock
  readonly allowPrivate?: boolean
  readonly artifacts?: Artifacts
}

/** Tools with everything real around them; only the clock may be another. */
export async function toolRig(options: RigOptions = {}): Promise<Rig> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'assay-tools-'))
  const clock = options.clock ?? systemClock
  const lines: string[] = []
  const write = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`)
  const egress = {
    configured: createEgress({ allowPrivate: false, clock }),
    tools: createEgress({ allowPrivate: options.allowPrivate ?? false, clock }),
  }
  const read = async (ref: SecretRef) => ('env' in ref ? options.secrets?.[ref.env] : undefined)
  const deps: ToolDeps = {
    settings: { mcp: {}, rules: {}, httpAllow: [], timeoutMs: 10_000, maxResultBytes: 4_096, ...options.settings },
    project: options.project,
    egress,
    secrets: createSecrets(read),
    schemas,
    clock,
    log: { info: write, warn: write, error: write },
    artifacts: options.artifacts,
  }
  const tools = await createTools({ ...deps, settings: { ...deps.settings, ...(options.mcp && { mcp: options.mcp }) } })
  const signal = new AbortController().signal
  let effects = 0
  return {
    tools,
    folder,
    secrets: deps.secrets,
    logged: () => lines.join('\n'),
    async use(toolId, args = {}, more = {}) {
      effects += 1
      const who = { tenant: 't', principal: 'alice', runId: 'r', agentId: 'a', desk: {} }
      const used = await tools.use({
        ...who,
        id: `effect-${effects}`,
        traceparent: TRACEPARENT,
        toolId,
        args,
        signal,
        ...more,
      })
      if (!used.ok) throw new Error('a tool call never fails as a whole')
      return used
    },
    ids: async allowlist => (await tools.surface(allowlist, signal)).map(({ terms }) => terms.toolId),
    async close() {
      await tools.close()
      egress.configured.close()
      egress.tools.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Waits for a condition, not for a time. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('it did not come to pass')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

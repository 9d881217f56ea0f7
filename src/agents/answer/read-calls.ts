import type { ToolWanted } from '../../core/invocation/brief.js'
import { isObject, type Json } from '../../core/json.js'
import { hasRepeatedKey } from '../../core/repeated-key.js'
import { sha256OfJson } from '../../digest.js'
import type { BriefContents, ModelCallContents } from '../../engine/ports/agents.js'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import type { Redactor } from '../../secrets/secrets.js'
import { brokenRule, keptRule } from './broken-rule.js'
import { cleanJson, cleanText } from './clean.js'
import { isDeeperThan } from './find-json.js'
import type { SpokenCall } from './spoken.js'

type ReadDeps = { readonly schemas: SchemaChecker; readonly redact: Redactor; readonly tenant: string }

export type ReadCall = { readonly wanted: ToolWanted; readonly kept: ModelCallContents['calls'][number] }

/**
 * Tool calls as the run is told them and as they are kept. R-TOOL-1: a name that is not exactly one of the surface's
 * stands for no tool, however alike it looks.
 */
export async function readCalls(
  calls: readonly SpokenCall[],
  brief: BriefContents,
  deps: ReadDeps,
): Promise<readonly ReadCall[]> {
  const ids = new Set<string>()
  const read: ReadCall[] = []
  for (const [i, call] of calls.entries()) {
    const id = ids.has(call.id) || !/^[\w-]{1,64}$/.test(call.id) ? unusedId(i, ids) : call.id
    ids.add(id)
    read.push(await readCall(call, id, brief, deps))
  }
  return read
}

async function readCall(
  { name, input }: SpokenCall,
  id: string,
  brief: BriefContents,
  { schemas, redact, tenant }: ReadDeps,
): Promise<ReadCall> {
  const tool = brief.tools.find(one => one.name === name)
  const given = argumentsOf(input)
  const args = redact.json('args' in given ? given.args : {})
  const found =
    'problem' in given
      ? { problem: given.problem, steps: [], rule: given.problem }
      : tool && (await schemas.violation(tool.inputSchema, args, tenant))
  const problem = found?.problem
  const at = 'args' in given ? args : cleanText(input)
  return {
    wanted: {
      ...(tool === undefined ? undefined : { toolId: tool.toolId }),
      // R-TOOL-3.
      argsHash: sha256OfJson('args' in given ? args : redact.text(cleanText(input))),
      ...(problem === undefined ? undefined : { problem: MISFIT }),
    },
    kept: {
      id,
      name: plainName(name),
      ...(tool === undefined ? undefined : { toolId: tool.toolId }),
      args,
      ...(found === undefined
        ? undefined
        : {
            problem: redact.text(cleanText(found.problem)),
            violation: keptRule(brokenRule(found, at, 'arguments'), redact),
          }),
    },
  }
}

/** All that the log is told: what breaks a schema may be quoted by the words that say so. */
const MISFIT = 'the arguments do not fit'

/** As providers take names back. */
const plainName = (name: string): string => name.replace(/[^\w-]/g, '_').slice(0, 64) || 'unnamed'

function unusedId(i: number, taken: ReadonlySet<string>): string {
  let id = `call_${i}`
  while (taken.has(id)) id += '_'
  return id
}

const MAX_DEPTH = 64

function argumentsOf(input: string): { readonly args: Json } | { readonly problem: string } {
  try {
    // Some models write nothing where there is nothing to say.
    const text = input.trim() === '' ? '{}' : input
    const args = JSON.parse(text) as Json
    if (!isObject(args)) return { problem: 'the arguments must be a JSON object' }
    if (isDeeperThan(args, MAX_DEPTH)) return { problem: 'the arguments are nested too deeply' }
    const clean = cleanJson(args)
    if (hasRepeatedKey(text, clean)) return { problem: 'the arguments give a key twice within one object' }
    return { args: clean }
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: 'the arguments are not JSON' }
    throw error
  }
}

import { createHash } from 'node:crypto'
import { type CheckedInvocation, eachRun, type Rule } from '../checked.js'

/** Outside effects: one identity per logical effect, the same on every try. */
export const effectRules: readonly Rule[] = [
  {
    id: 'L30',
    title: 'Two different effects never share an identity, and one effect never has two',
    source: 'core §4.2',
    checks(log, report) {
      const effectOf = new Map<string, string>()
      const idOf = new Map<string, string>()
      for (const run of log.runs) {
        for (const invocation of run.run.invocations ?? []) {
          const effect = JSON.stringify([run.run.runId, invocation.nodeId, invocation.ordinal, invocation.provider])
          const other = effectOf.get(invocation.id) ?? effect
          if (other !== effect) report(run, `effects ${other} and ${effect} share identity ${invocation.id}`)
          const id = idOf.get(effect) ?? invocation.id
          if (id !== invocation.id) report(run, `effect ${effect} has identities ${id} and ${invocation.id}`)
          effectOf.set(invocation.id, effect)
          idOf.set(effect, invocation.id)
        }
      }
    },
  },
  {
    id: 'L30a',
    title: 'An effect’s identity is derived from tenant, run, node, ordinal and provider',
    source: 'core §4.2',
    checks: eachRun((run, say) => {
      for (const invocation of run.run.invocations ?? []) {
        if (run.tenant === undefined) continue
        const derived = identityOf(run.tenant, run.run.runId, invocation)
        if (invocation.id !== derived)
          say(`effect of ${invocation.nodeId} has identity ${invocation.id}, not ${derived}`)
      }
    }),
  },
  {
    id: 'L30b',
    title: 'An effect belongs to a node that the log says was started',
    source: 'core §4.2',
    checks: eachRun((run, say) => {
      const started = new Set(run.events.filter(event => event.type === 'node.started').map(event => event.node))
      for (const invocation of run.run.invocations ?? []) {
        if (!started.has(invocation.nodeId)) say(`an effect of ${invocation.nodeId}, which never started`)
      }
    }),
  },
]

export function identityOf(tenant: string, runId: string, invocation: Omit<CheckedInvocation, 'id'>): string {
  const { nodeId, ordinal, provider } = invocation
  const parts = ['openwop:activity:v2', tenant, runId, nodeId, String(ordinal), provider]
  return createHash('sha256').update(parts.join('\0')).digest('base64url')
}

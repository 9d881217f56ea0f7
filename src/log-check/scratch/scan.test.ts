import { test } from 'vitest'
import { checkLog } from '/work/main/src/log-check/check-log.js'
import { fromSeed } from '/work/main/src/log-check/testing/choice.js'
import { KINDS, legalLog } from '/work/main/src/log-check/testing/legal-log.js'
test('scan', () => {
  const seen = new Map<string, string>()
  const counts = new Map<string, number>()
  const types = new Map<string, number>()
  let n = 0
  for (const kind of KINDS.filter(
    k => k.startsWith('live') || k === 'mixed' || k === 'agent' || k.startsWith('orch'),
  )) {
    const t0 = Date.now()
    for (let seed = 0; seed < 150; seed++) {
      const log = legalLog(kind, fromSeed(seed * 31 + 7))
      for (const run of log.runs) for (const e of run.events) types.set(e.type, (types.get(e.type) ?? 0) + 1)
      n++
      for (const [d, input] of [
        ['assay', log],
        ['openwop', { ...log, dialect: 'openwop' as const }],
      ] as const)
        for (const f of checkLog(input)) {
          const key = `${d} ${f.rule} ${f.message.replace(/[0-9]+/g, '#')}`
          counts.set(key, (counts.get(key) ?? 0) + 1)
          if (!seen.has(key)) {
            const run = log.runs.find(r => r.runId === f.runId)!
            const at = f.sequence ?? 0
            seen.set(
              key,
              `${kind} seed ${seed} ${f.runId}:${at} ${f.message}\n` +
                run.events
                  .slice(Math.max(0, at - 14), at + 6)
                  .map(
                    e =>
                      `   ${e.sequence} ${e.type} ${e.nodeId ?? ''} <-${e.causationId} ${JSON.stringify(e.payload).slice(0, 170)}`,
                  )
                  .join('\n'),
            )
          }
        }
    }
    console.log(kind, Date.now() - t0)
  }
  console.log(n, [...counts].map(([k, c]) => `${c} ${k}`).join('\n'))
  for (const [k, s] of [...seen].slice(0, 8)) console.log('-----', k, '\n', s)
  console.log([...types].map(([k, c]) => `${k}=${c}`).join(' '))
})

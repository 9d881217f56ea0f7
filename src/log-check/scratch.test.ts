import { test } from 'vitest'
import { checkLog } from './check-log.js'
import { fromSeed } from './testing/choice.js'
import { KINDS, legalLog } from './testing/legal-log.js'
test('x', () => {
  let shown = 0
  for (const kind of KINDS) for (let seed = 0; seed < 1500 && shown < 3; seed++) {
    const log = legalLog(kind, fromSeed(seed))
    const found = checkLog(log)
    if (found.length === 0) continue
    shown++
    console.log(kind, seed, JSON.stringify(found.slice(0, 3)))
    const run = log.runs.find(r => r.runId === found[0]!.runId)!
    const fork = run.row!.fork!
    console.log(JSON.stringify(run.row))
    const show = (r: any) => r.events.map((e: any) => `${e.sequence} ${e.at} ${e.type} ${e.nodeId ?? ''} ${JSON.stringify(e.payload).slice(0, 110)}`).join('\n')
    console.log(show(run))
    if (fork) console.log('SOURCE', show(log.runs.find(r => r.runId === fork.sourceRunId)))
  }
}, 100000)

import { test } from 'vitest'
import { checkLog } from './check-log.js'
import { MUTATIONS } from './mutants.test.js'
import { fromSeed } from './testing/choice.js'
import { draftOf } from './testing/draft.js'
import { KINDS, legalLog } from './testing/legal-log.js'

test('many', () => {
  const logs = KINDS.flatMap(kind => Array.from({ length: 120 }, (_, seed) => legalLog(kind, fromSeed(seed * 31 + 7))))
  let survived = 0,
    total = 0
  for (const m of MUTATIONS) {
    let n = 0
    for (let i = 0; i < logs.length && n < 40; i++) {
      const draft = draftOf(logs[(i * 17) % logs.length]!)
      if (!m.apply(draft, fromSeed(i))) continue
      n++
      total++
      if (!checkLog(draft).some(f => f.rule === m.rule)) {
        survived++
        console.log(
          'SURVIVES',
          m.rule,
          m.title,
          (i * 17) % logs.length,
          KINDS[Math.floor(((i * 17) % logs.length) / 120)],
        )
        break
      }
    }
    if (n < 40) console.log('RARE', m.rule, m.title, n)
  }
  console.log('SURVIVED', survived, 'of', total)
}, 600000)

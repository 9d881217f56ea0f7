import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkLog } from './check-log.js'
import { fromTape } from './testing/choice.js'
import { KINDS, legalLog } from './testing/legal-log.js'
import '../../test/support/seed.js'

const PER_KIND = 100

test.each(KINDS)('L1–L33: %s logs of a correct host have no findings', kind => {
  fc.assert(
    fc.property(fc.array(fc.nat(5039), { maxLength: 400, size: 'max' }), tape => {
      expect(checkLog(legalLog(kind, fromTape(tape)))).toEqual([])
    }),
    { numRuns: PER_KIND },
  )
})

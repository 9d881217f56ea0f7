import { afterAll, describe, expect, it } from 'vitest'
import { isThorough } from '../../support/thorough.js'
import { wrongIn } from './checks.js'
import { count, counts, FLOORS } from './counts.js'
import { foresee } from './model.js'
import { begin, type Telling, tell, turnOf } from './telling.js'
import { type World, worlds } from './worlds.js'

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 1)
/** All worlds if it is to be thorough; else one in so many, others with each seed. */
const ONE_IN = isThorough ? 1 : 8

/** Scattered, so that no place or document is left out because of where it stands in the row. */
const isChosen = (i: number): boolean =>
  ((Math.imul(i + 1, 0x9e3779b1) + Math.imul(SEED, 0x85ebca6b)) >>> 16) % ONE_IN === 0

const seen = counts()

/** The first stories that went otherwise than the contract says, shortest first. */
function wrongWithin(world: World): string[] {
  const wrong: string[] = []
  const follow = (telling: Telling): void => {
    const turn = turnOf(telling)
    const said = telling.heard.map(each => each.said)
    const here = wrongIn(telling, turn)
    if (here.length > 0) {
      wrong.push(`${JSON.stringify(world)} ${JSON.stringify(said)}: ${here.join('; ')}`)
      return
    }
    if (turn.next === 'nothing') {
      const foreseen = foresee(world, said)
      if (foreseen.next === 'nothing') count(seen, foreseen.end)
      return
    }
    for (const word of turn.may) follow(tell(telling, word))
  }
  follow(begin(world))
  return wrong.sort((a, b) => a.length - b.length).slice(0, 3)
}

describe('verified means verified, and satisfied means satisfied', { timeout: 600_000 }, () => {
  const chosen = worlds().filter((_, i) => isChosen(i))

  it('R-VERIFY-10 R-VERIFY-12 R-VERIFY-19 R-DWS-22 R-DWS-23 R-DWS-36: in every small world, whatever is said, the model of the contract agrees', () => {
    const wrong: string[] = []
    for (const world of chosen) {
      wrong.push(...wrongWithin(world))
      seen.worlds += 1
      if (wrong.length > 20) break
    }
    expect(wrong).toEqual([])
  })

  it('all of it has happened', () => {
    for (const [what, floor] of Object.entries(FLOORS))
      expect(seen[what as keyof typeof FLOORS], what).toBeGreaterThanOrEqual(isThorough ? floor : floor / ONE_IN / 4)
  })

  afterAll(() => console.log(`small worlds, one in ${ONE_IN} from ${SEED}: ${JSON.stringify(seen)}`))
})

import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import type { Crash } from '../../support/host-process.js'
import { isThorough } from '../../support/thorough.js'
import type { Story } from './stories.js'
import { type Ending, expectSame, type Place, tell } from './telling.js'

/**
 * Where a host can die. Between two transactions it is the same for the store and for the world whether it dies after
 * the one or before the other, unless somebody was called in between: so after each, before the first, and before what
 * such a call came to is kept.
 */
export const boundariesOf = ({ trace }: Pick<Ending, 'trace'>): readonly Crash[] =>
  trace.flatMap((write, i): Crash[] => [
    ...(i === 0 || write.startsWith('finishEffect') ? [{ at: i + 1, when: 'before' as const }] : []),
    { at: i + 1, when: 'after' },
  ])

/**
 * Kills hosts in the middle of stories, and compares what became of them with the same story without a kill. If it is to
 * be thorough, also at boundaries that differ only in what lies further back.
 */
export class Sweep {
  readonly counted = { stories: 0, boundaries: 0, kills: 0, merges: 0 }
  /** Boundaries, by the two writes that they lie between. */
  readonly #tried = new Set<string>()
  readonly #calm = new Map<Story, Promise<Ending>>()
  #tellings = 0

  constructor(private readonly scratch: string) {}

  place(database?: string): Place {
    this.#tellings += 1
    const folder = path.join(this.scratch, String(this.#tellings))
    mkdirSync(folder, { recursive: true })
    return { folder, database: database ?? `sqlite:${folder}/data/assay.db` }
  }

  /** The story as it goes when nobody is killed. */
  calm(story: Story): Promise<Ending> {
    const known = this.#calm.get(story) ?? tell(story, this.place())
    this.#calm.set(story, known)
    this.counted.stories = this.#calm.size
    return known
  }

  /** At every boundary, but for those that other stories have come to between the same two writes; two hosts at a time. */
  async everywhere(story: Story): Promise<void> {
    const calm = await this.calm(story)
    const boundaries = boundariesOf(calm)
    // What happens at once is written in another order each time, so all of it would say no more than some.
    const every = story.anyOrder ? 3 : 1
    const crashes = boundaries.filter((crash, i) => (i % every === 0 && this.#isNew(calm, crash)) || isThorough)
    this.counted.boundaries += boundaries.length
    expect(crashes.length).toBeGreaterThan(0)
    const queue = [...crashes]
    const goOn = async () => {
      for (let crash = queue.shift(); crash; crash = queue.shift()) await this.kill(story, calm, crash)
    }
    await Promise.all([goOn(), goOn()])
  }

  async kill(story: Story, calm: Ending, crash: Crash, database?: string): Promise<void> {
    const when = `killed ${crash.when} write ${crash.at} (${calm.trace[crash.at - 1]}) of ${story.name}`
    const ending = await tell(story, this.place(database), crash).catch(error => {
      throw new Error(when, { cause: error })
    })
    expect(ending.crashed, when).toBe(true)
    expectSame(ending, calm, when)
    this.counted.kills += 1
    this.counted.merges += ending.merges
  }

  #isNew({ trace }: Ending, { at, when }: Crash): boolean {
    const boundary = JSON.stringify([
      when,
      ...(when === 'before' ? [trace[at - 2], trace[at - 1]] : [trace[at - 1], trace[at]]),
    ])
    if (this.#tried.has(boundary)) return false
    this.#tried.add(boundary)
    return true
  }
}

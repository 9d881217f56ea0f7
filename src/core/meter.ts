/**
 * Work in steps. A step is about twenty nanoseconds of one core; what is dearer is charged for more of them, so that what
 * is counted bounds the time that is taken without looking at a clock. Charges depend on the data alone: the same data
 * gives the same count on every host, at every time.
 *
 *  M1  nothing is begun that was not charged before, except what a charge is read from: that takes as long as it says.
 *  M2  a meter that has run over stays so: whoever swallows the refusal gets no further.
 */
export class Meter {
  #spent = 0

  constructor(readonly limit: number = Number.POSITIVE_INFINITY) {}

  /** What has been charged; never more than may be. */
  get spent(): number {
    return Math.min(this.#spent, this.limit)
  }

  get left(): number {
    return this.limit - this.spent
  }

  get isOver(): boolean {
    return this.#spent > this.limit
  }

  charge(steps: number): void {
    this.#spent += steps
    if (this.isOver) throw OVER_BUDGET
  }
}

/** Made once: a loop that swallows refusals must not pay for a stack each time. */
export const OVER_BUDGET: Error = Object.freeze(new RangeError('more steps than there is room for'))

/** A member of an object is looked up by its name; an element of a list is next to the one before. */
const STEPS_PER_MEMBER = 25

/** Characters that are compared, copied or counted in a step. */
const CHARACTERS_PER_STEP = 4

/** Characters of a text, times those sought in it, that are looked at in a step. */
const SOUGHT_PER_STEP = 64

/** What it takes to look at all of a value; looks no further than beyond `upTo`. */
export function weightOf(value: unknown, upTo: number): number {
  if (typeof value === 'string') return 1 + Math.ceil(value.length / CHARACTERS_PER_STEP)
  if (typeof value !== 'object' || value === null) return 1
  const known = weights.get(value)
  if (known !== undefined) return known
  let weight = 0
  const queue: unknown[] = [value]
  for (let next = queue.pop(); next !== undefined && weight <= upTo; next = queue.pop()) weight += weighOne(next, queue)
  if (weight <= upTo) weights.set(value, weight)
  return weight
}

/** Values are never changed, so what one weighs is found out once. */
const weights = new WeakMap<object, number>()

function weighOne(value: unknown, queue: unknown[]): number {
  if (typeof value === 'string') return 1 + Math.ceil(value.length / CHARACTERS_PER_STEP)
  if (typeof value !== 'object' || value === null) return 1
  if (ArrayBuffer.isView(value)) return 1 + Math.ceil(value.byteLength / CHARACTERS_PER_STEP)
  if (Array.isArray(value)) {
    for (const item of value) if (isLarge(item)) queue.push(item)
    return 1 + value.length
  }
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  let names = 0
  for (const [name, item] of entries) {
    if (typeof name === 'string') names += name.length
    if (isLarge(item)) queue.push(item)
  }
  return 1 + entries.length * STEPS_PER_MEMBER + Math.ceil(names / CHARACTERS_PER_STEP)
}

const isLarge = (value: unknown): boolean => typeof value === 'string' || (typeof value === 'object' && value !== null)

/** What it takes to look for one text in another, wherever it stands; the same for what is put between elements. */
export const searchSteps = (within: number, sought: number): number =>
  1 + Math.ceil((within * sought) / SOUGHT_PER_STEP)

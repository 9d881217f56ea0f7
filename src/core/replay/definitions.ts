import type { Recorded } from '../run/events.js'
import type { RunState } from '../run/state.js'
import { isRemark } from './guide.js'

/** A definition, and the first event of the first decision that was made by it. */
type Definition = { readonly from: number; readonly digest: string }

/** Which definitions a log was told by, in order. The log is read bit by bit; nothing of it is kept but these. */
export class Definitions {
  readonly #found: Definition[]
  /** Where the decision began that was read last. */
  #decision = 0
  /** Put in force where nothing but remarks has been read since, so that it is not known yet from which decision on. */
  #latest: Definition[] = []

  /** `base` is what the log comes to before what is read. */
  constructor(base: RunState) {
    this.#found = base.phase === 'absent' ? [] : [{ from: 0, digest: base.started.workflowDigest }]
  }

  /** What comes next in the log. */
  read(log: readonly Recorded[]): void {
    for (const event of log) {
      if (event.input !== undefined || !isRemark(event)) this.#place(event)
      if (event.input !== undefined) this.#decision = event.sequence
      const digest = digestIn(event)
      if (digest === undefined) continue
      if (event.type === 'run.started') this.#found.push({ from: 0, digest })
      else this.#latest.push({ from: event.sequence + 1, digest })
    }
  }

  /** What follows without having heard anything is the rest of the decision that the cut went through. */
  #place({ input }: Recorded): void {
    for (const { from, digest } of this.#latest)
      this.#found.push({ from: input === undefined ? this.#decision : from, digest })
    this.#latest = []
  }

  /** Whether more of the log may still say by which definition the decision was made that begins at `sequence`. */
  isOpen(sequence: number): boolean {
    return sequence >= this.#decision
  }

  /** By which definition the decision was made that begins at `sequence`. */
  at(sequence: number): string | undefined {
    return [...this.#found, ...this.#latest].findLast(({ from }) => from <= sequence)?.digest
  }

  /** The one in force where the reading has come to. */
  get last(): string | undefined {
    return this.at(Number.POSITIVE_INFINITY)
  }
}

/** The definition that an event puts in force. */
export const digestIn = ({ type, payload }: Recorded): string | undefined =>
  type === 'run.started' || type === 'assay.run.forked' ? payload.workflowDigest : undefined

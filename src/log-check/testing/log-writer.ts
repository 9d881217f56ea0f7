import type { CheckedEvent } from '../checked.js'
import { type Choose, pick } from './choice.js'

export type Telling = {
  /** Id of the event, or its sequence in the same log. Any earlier event when absent. */
  readonly cause?: string | number | undefined
  /** Milliseconds that pass before it. */
  readonly pass?: number
  readonly secret?: object | undefined
}

/** Writes events down, in order and in time. */
export class LogWriter {
  readonly events: CheckedEvent[] = []
  at = 1_000
  epoch = 1

  constructor(
    readonly runId: string,
    protected readonly choose: Choose,
  ) {}

  /** Answers the sequence of the event. */
  emit(type: string, nodeId: string | undefined, payload: object, { cause, pass, secret }: Telling = {}): number {
    this.at += pass ?? this.choose(20)
    const sequence = this.events.length
    const earlier = pick(this.choose, this.events)
    const named = typeof cause === 'number' ? this.idOf(cause) : cause
    this.events.push({
      sequence,
      eventId: this.idOf(sequence),
      type,
      nodeId: nodeId ?? null,
      payload,
      causationId: named ?? earlier?.eventId ?? null,
      at: this.at,
      epoch: this.epoch,
      ...(secret === undefined ? {} : { secret }),
    })
    return sequence
  }

  idOf(sequence: number): string {
    return `e_${this.runId}_${sequence}`
  }

  time(): string {
    return new Date(this.at).toISOString()
  }
}

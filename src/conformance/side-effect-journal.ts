import { appendFile } from 'node:fs/promises'
import { isObject } from '../core/json.js'
import type { EffectAnswer, Performer } from '../engine/ports/performer.js'

/**
 * The outside world of `core.conformance.side-effect`: one line per effect received, with its identity, so that a test
 * can count what really happened. Asked to, it takes the whole process down, to try what a poisonous run does.
 */
export class SideEffectJournal implements Performer {
  constructor(private readonly file: string) {}

  async perform({ id, input }: Parameters<Performer['perform']>[0]): Promise<EffectAnswer> {
    await appendFile(this.file, `${JSON.stringify({ id, input })}\n`)
    if (isObject(input) && input.crash === true) process.kill(process.pid, 'SIGKILL')
    if (isObject(input) && input.fail === true)
      return { ok: false, code: 'effect_failed', message: 'asked to fail', retryable: input.retryable === true }
    return { ok: true, output: { effect: id } }
  }
}

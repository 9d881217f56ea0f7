import type { EffectAnswer, Performer } from 'assay'

/** Decides for the supervisor of `triage`, turn by turn: somebody files the ticket, then it is done. */
export const desk: Performer = {
  async perform({ input }): Promise<EffectAnswer> {
    const { iteration } = input as { iteration: number }
    if (iteration > 1) return { ok: true, output: { kind: 'terminate', reason: 'filed' } }
    return { ok: true, output: { kind: 'next-worker', nextWorkerIds: ['file-ticket'] } }
  },
}

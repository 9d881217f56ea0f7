import { describe, expect, test } from 'vitest'
import { trialOf } from '../../calibration/testing/trial.js'
import { spentOn } from '../../calibration/trials.js'
import type { AssayClient } from '../../client/assay-client.js'
import { AssayError } from '../../client/assay-error.js'
import { holdTrials } from './trials.js'

const CASES = Array.from({ length: 10 }, (_, output) => ({ output }))

/** A server that judges each output by itself: odd ones pass, 8 nobody can judge, 6 it does not take. */
function serverDouble({ breaksAt }: { readonly breaksAt?: number } = {}) {
  const state = { open: 0, most: 0, begun: 0 }
  const client = {
    async tryGate(_gateId: string, output: number) {
      state.begun += 1
      if (output === breaksAt) throw new AssayError(0, 'unreachable', 'gone')
      if (output === 6) throw new AssayError(413, 'payload_too_large', 'too large')
      state.open += 1
      state.most = Math.max(state.most, state.open)
      return { runId: `trial-${output}` }
    },
    async *followEvents(runId: string) {
      if (runId === 'trial-8') yield { type: 'assay.verifier.ended', payload: { fault: 'model_unavailable' } }
      yield { type: 'run.completed', payload: {} }
    },
    async getRun() {
      state.open -= 1
      return { assay: { spend: { tokens: 7, costUsd: 0.25, toolCalls: 0, retries: 0 } } }
    },
    async listVerifications(runId: string) {
      return { verifications: runId === 'trial-8' ? [] : [{ n: 1 }] }
    },
    async getVerification(runId: string) {
      return { verdict: Number(runId.slice('trial-'.length)) % 2 === 1 ? 'pass' : 'fail' }
    },
  }
  return { client: client as unknown as AssayClient, state }
}

function screen(isLive: boolean) {
  const drawn: string[] = []
  return { isLive, drawn, draw: (text: string) => void drawn.push(text) }
}

describe('R-DWS-26: trials', () => {
  test('are held four at a time, and answered in their order', async () => {
    const { client, state } = serverDouble()
    const trials = await holdTrials(screen(false), client, 'facts', CASES)
    expect(state.most).toBe(4)
    expect(trials.map(({ case: { output }, judged }) => [output, judged?.verdict])).toEqual(
      CASES.map(({ output }) => [output, output === 6 || output === 8 ? undefined : output % 2 ? 'pass' : 'fail']),
    )
    expect(trials[6]).toMatchObject({ faults: ['payload_too_large'], spent: { tokens: 0 } })
    expect(trials[8]).toMatchObject({ runId: 'trial-8', faults: ['model_unavailable'] })
    expect(spentOn(trials)).toEqual({ tokens: 63, costUsd: 2.25 })
  })

  test('when the server is gone no more are begun', async () => {
    const { client, state } = serverDouble({ breaksAt: 1 })
    await expect(holdTrials(screen(false), client, 'facts', CASES)).rejects.toThrow('gone')
    expect(state.begun).toBeLessThan(CASES.length)
  })

  test('how far it is, is drawn on a screen and nowhere else', async () => {
    const [seen, piped] = [screen(true), screen(false)]
    await holdTrials(seen, serverDouble().client, 'facts', CASES)
    expect([seen.drawn[0], seen.drawn.at(-1)]).toEqual(['\r0 of 10 judged', '\r10 of 10 judged\n'])
    await holdTrials(piped, serverDouble().client, 'facts', CASES)
    expect(piped.drawn).toEqual([])
  })

  test('of none, nothing is asked', async () => {
    expect(await holdTrials(screen(false), serverDouble().client, 'facts', [])).toEqual([])
    expect(spentOn([trialOf({}, {}), trialOf({}, {})])).toEqual({ tokens: 20, costUsd: 1 })
  })
})

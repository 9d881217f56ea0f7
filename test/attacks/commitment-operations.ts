import type { Ask } from './live-host.js'
import type { Good, Pool } from './operations.js'

/** Requests about commitments that ought to succeed. */

const COMMITMENTS = '/v1/host/assay/commitments'
const post = (body: object): Ask => ({ method: 'POST', body })

/** Of a time that does not come while anybody looks. */
const wanted = () => ({
  scope: 'fuzzed',
  memoryRef: 'notes',
  content: 'Greet Ann.',
  commitment: { at: new Date(Date.now() + 86_400_000).toISOString(), run: { workflowId: 'hello' } },
})

const made = async ({ live }: Pool): Promise<string> =>
  (await live.call('alice', COMMITMENTS, post(wanted()))).json.commitmentId
const cancelled = async (pool: Pool): Promise<string> => {
  const commitmentId = await made(pool)
  await pool.live.call('alice', `${COMMITMENTS}/${commitmentId}:cancel`, post({}))
  return commitmentId
}

export const COMMITMENT_OPERATIONS: { readonly [operation: string]: (pool: Pool) => Promise<Good> } = {
  async makeCommitment(p) {
    await cancelled(p)
    return { url: COMMITMENTS, ask: post(wanted()) }
  },
  listCommitments: async () => ({ url: `${COMMITMENTS}?open=true&limit=2` }),
  getCommitment: async p => ({ url: `${COMMITMENTS}/${await cancelled(p)}` }),
  cancelCommitment: async p => ({ url: `${COMMITMENTS}/${await made(p)}:cancel`, ask: post({}) }),
}

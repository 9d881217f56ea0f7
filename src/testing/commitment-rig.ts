import type { CommitmentAdmin, NewCommitment } from '../engine/commitments/commitment-admin.js'
import { type CommitmentDeps, createCommitments } from '../engine/commitments/commitments.js'
import type { Engine } from '../engine/runtime/engine.js'
import { glassVault } from './agents.js'
import type { Rig } from './engine-rig.js'
import { noQuotas } from '../core/quotas.js'
import { predicatesDouble } from './verification.js'

/** Commitments on an engine of the rig, which reaches the store as it is given. */
export const commitmentsOn = (
  { clock, ids, store: own }: Rig,
  engine: Engine,
  { store = own, ...more }: Partial<CommitmentDeps> = {},
): CommitmentAdmin =>
  createCommitments(engine.ground, {
    store,
    clock,
    ids,
    vault: glassVault,
    redact: { text: text => text },
    predicates: predicatesDouble(),
    quotas: noQuotas,
    settings: { horizonMs: 366 * 86_400_000, maxEntryBytes: 65_536, fullText: true },
    ...more,
  })

/** A run of the workflow `remind`, an hour after the clock of tests starts. */
export const wantedCommitment = (now: number, more: Partial<NewCommitment> = {}): NewCommitment => ({
  tenant: 't1',
  principal: 'p',
  entry: { scope: 'team', ref: 'promises', id: 'call', content: 'call them back', tags: [] },
  arm: { kind: 'time', at: now + 3_600_000 },
  work: { workflowId: 'remind', inputs: {} },
  ...more,
})

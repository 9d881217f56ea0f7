import { describe } from 'vitest'
import { type Adapter, withStore } from './adapter.js'
import { checkpointContract } from './contract/checkpoints.js'
import { commitContract } from './contract/commit.js'
import { deliveryContract } from './contract/deliveries.js'
import { erasureContract } from './contract/erasures.js'
import { forkContract } from './contract/forks.js'
import { gateContract } from './contract/gates.js'
import { hostContract } from './contract/hosts.js'
import { invocationContract } from './contract/invocations.js'
import { journalContract } from './contract/journal.js'
import { journalKeepingContract } from './contract/journal-keeping.js'
import { journalModelContract } from './contract/journal-model.js'
import { journalReadContract } from './contract/journal-reads.js'
import { mergedResultContract } from './contract/merged-results.js'
import { modelContract } from './contract/model.js'
import { pieceContract } from './contract/pieces.js'
import { purgeContract } from './contract/purges.js'
import { readContract } from './contract/reads.js'
import { recordContract } from './contract/records.js'
import { standardContract } from './contract/standards.js'
import { streamContract } from './contract/streams.js'
import { textContract } from './contract/text.js'
import { trailContract } from './contract/trail.js'
import { usageContract } from './contract/usage.js'
import { verdictContract } from './contract/verdicts.js'

/** The Store contract (S1..S17 of engine/ports/store.ts). Every adapter runs all of it; there are no skips. */
export function storeContract(adapter: Adapter): void {
  describe(`${adapter.name}: store contract`, () => {
    const opened = withStore(adapter)
    describe('commit', () => commitContract(opened))
    describe('hosts and claims', () => hostContract(opened))
    describe('reads', () => readContract(opened))
    describe('records', () => recordContract(opened))
    describe('invocations', () => invocationContract(opened))
    describe('forks', () => forkContract(opened))
    describe('deliveries', () => deliveryContract(opened))
    describe('checkpoints', () => checkpointContract(opened))
    describe('gates', () => gateContract(opened))
    describe('merged results', () => mergedResultContract(opened))
    describe('standards', () => standardContract(opened))
    describe('verdicts', () => verdictContract(opened))
    describe('text', () => textContract(opened))
    describe('purges', () => purgeContract(opened))
    describe('usage', () => usageContract(opened))
    describe('erasures', () => erasureContract(opened))
    describe('audit trail', () => trailContract(opened))
    describe('journal', () => journalContract(opened))
    describe('journal, read', () => journalReadContract(opened))
    describe('journal, kept', () => journalKeepingContract(opened))
    describe('journal, model', () => journalModelContract(opened))
    describe('standing streams', () => streamContract(opened))
    describe('pieces of files', () => pieceContract(opened))
    describe('model', () => modelContract(opened))
  })
}

import { readStatements } from '../sql-file.js'
import type { Statement } from './connections.js'

const read = <const Name extends string>(file: string, ...names: Name[]): { readonly [name in Name]: string } =>
  readStatements(new URL(`./sql/${file}.sql`, import.meta.url), names)

const TEXTS = {
  ...read(
    'log',
    'commit',
    'readEvents',
    'readEventSizes',
    'readSnapshot',
    'readRun',
    'listRuns',
    'childrenOf',
    'expiredRoots',
    'unsealedRuns',
  ),
  ...read(
    'hosts',
    'registerHost',
    'heartbeat',
    'releaseHost',
    'fenceExpired',
    'claimOrphans',
    'lastingId',
    'dueRuns',
    'usageOf',
    'foldUsage',
    'ping',
  ),
  ...read(
    'records',
    'putWorkflow',
    'getWorkflow',
    'listWorkflows',
    'getDefinition',
    'putStandard',
    'deleteStandard',
    'listStandards',
    'getResponse',
    'claimResponse',
    'finishResponse',
    'deleteResponse',
    'purgeResponses',
    'claimEffect',
    'readEffect',
    'releaseEffect',
    'abandonEffect',
    'finishEffect',
    'findAnswer',
    'purgeEffects',
    'putKey',
    'listKeys',
    'findKey',
  ),
  ...read('gates', 'listVerdicts', 'listVerdictsOfGate', 'readGated', 'readStaged', 'readJudged', 'readMerges'),
  ...read(
    'deliveries',
    'putWebhook',
    'deleteWebhook',
    'listWebhooks',
    'putWebhookHealth',
    'putWebhookSecret',
    'claimDeliveries',
    'finishDelivery',
    'retryDelivery',
    'postponeDeliveries',
    'nextDeliveryAt',
    'listDeliveries',
    'purgeDeliveries',
  ),
  ...read(
    'journal',
    'journalHeads',
    'keepContent',
    'readContent',
    'ownEntries',
    'publishedEntry',
    'entryOfAttempt',
    'listEntries',
    'listEntriesOfRef',
    'countKeysOfPrefix',
    'listEntriesOfPrefix',
    'matchEntries',
    'writeOutside',
    'readTenantEvents',
    'copiesOf',
    'listScopes',
    'collectJournal',
    'destroyContent',
  ),
  ...read(
    'keeping',
    'putCheckpoint',
    'listCheckpoints',
    'latestCheckpoint',
    'purgeFamily',
    'unsealedPurges',
    'claimPurge',
    'deletePurged',
    'readPurged',
    'readDataKey',
    'putDataKey',
    'eraseTenants',
    'readErasure',
    'claimErasure',
    'nextToErase',
    'eraseEvents',
    'eraseRun',
    'finishErasure',
  ),
}

const named = (texts: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, { name: `assay-${name}`, text }]))

/** The server prepares each once per connection, unless a pooler is in between. */
export const SQL = {
  ...named(TEXTS),
  // Without a name, so that it is planned for the filters in use.
  listRuns: { text: TEXTS.listRuns },
} as { readonly [name in keyof typeof TEXTS]: Statement }

/** What is sent on connections of its own, past the pool. */
export const MIGRATE = read(
  'migrate',
  'takeTurns',
  'createSchema',
  'createMigrations',
  'readApplied',
  'putApplied',
  'pinFunctions',
)
export const PROBE = read(
  'probe',
  'markSession',
  'readMark',
  'readSettings',
  'tryLock',
  'insertOrphan',
  'lockStep',
  'lockStepUnlessLocked',
)
export const HINTS = read('hints', 'notify')

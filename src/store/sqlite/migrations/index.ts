import type { Migration } from '../../migration.js'
import { initial } from './0001-initial.js'
import { forksDeliveriesCheckpoints } from './0002-forks-deliveries-checkpoints.js'
import { latestChildren } from './0003-latest-children.js'
import { answers } from './0004-answers.js'
import { gates } from './0005-gates.js'
import { salts } from './0006-salts.js'
import { mergedResults } from './0007-merged-results.js'
import { purges } from './0008-purges.js'
import { toolGates } from './0009-tool-gates.js'
import { usage } from './0010-usage.js'
import { erasures } from './0011-erasures.js'

/** Ascending; a released step is never edited, a new one is added. */
export const MIGRATIONS: readonly Migration[] = [
  initial,
  forksDeliveriesCheckpoints,
  latestChildren,
  answers,
  gates,
  salts,
  mergedResults,
  purges,
  toolGates,
  usage,
  erasures,
]

export const SCHEMA_VERSION = MIGRATIONS.at(-1)!.version

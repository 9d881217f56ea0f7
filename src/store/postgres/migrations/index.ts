import type { Migration } from '../../migration.js'
import { tables } from './0001-tables.js'
import { commit } from './0002-commit.js'
import { hosts } from './0003-hosts.js'
import { forks } from './0004-forks.js'
import { deliveries } from './0005-deliveries.js'
import { checkpoints } from './0006-checkpoints.js'
import { commitForks } from './0007-commit-forks.js'
import { latestChildren } from './0008-latest-children.js'
import { answers } from './0009-answers.js'
import { standards } from './0010-standards.js'
import { gates } from './0011-gates.js'
import { commitGates } from './0012-commit-gates.js'
import { salts } from './0013-salts.js'
import { mergedResults } from './0014-merged-results.js'
import { purges } from './0015-purges.js'
import { toolGates } from './0016-tool-gates.js'
import { usage } from './0017-usage.js'
import { erasures } from './0018-erasures.js'

/** Ascending; a released step is never edited, a new one is added. */
export const MIGRATIONS: readonly Migration[] = [
  tables,
  commit,
  hosts,
  forks,
  deliveries,
  checkpoints,
  commitForks,
  latestChildren,
  answers,
  standards,
  gates,
  commitGates,
  salts,
  mergedResults,
  purges,
  toolGates,
  usage,
  erasures,
]

import { type Spend, usdOf } from '../core/budget/budget.js'

/** Money is counted in billionths and told in dollars. */
export const spentOf = ({ costNano, ...counted }: Spend) => ({ ...counted, costUsd: usdOf(costNano) })

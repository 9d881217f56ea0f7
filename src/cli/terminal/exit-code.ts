import type { RunSnapshot, RunStatus } from '../../client/wire-shapes.js'

/** What every command ends with. Scripts depend on these numbers. */
export const EXIT = { ok: 0, failed: 1, refused: 2, waiting: 3 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

type Standing = Pick<RunSnapshot, 'status' | 'convergence'>

export function exitCodeOf(run: Standing, { allowForced = false }: { readonly allowForced?: boolean } = {}): ExitCode {
  const { status } = run
  const isGivenUp = hasGivenUp(run) && !(allowForced && isOnlyForced(run))
  if (status === 'failed' || status === 'cancelled' || isGivenUp) return EXIT.failed
  return isWaitingStatus(status) ? EXIT.waiting : EXIT.ok
}

/** R-VERIFY-19: it has completed, and what it was for has not been reached. Nobody may take that for success. */
export const hasGivenUp = ({ status, convergence }: Standing): boolean =>
  status === 'completed' && convergence?.goalSatisfied === false

/** Nothing stands against it but results that their gates let through all the same, as their authors wanted. */
export const isOnlyForced = ({
  convergence: { against = [], successCriteria = [] } = { verdicts: [] },
}: Standing): boolean =>
  against.length > 0 && against.every(({ what }) => what === 'forced') && successCriteria.every(({ met }) => met)

/** The run needs a person, or something outside, before it goes on. */
export const isWaitingStatus = (status: RunStatus): boolean => status.startsWith('waiting-') || status === 'paused'

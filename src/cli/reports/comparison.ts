import pc from 'picocolors'
import type { RunComparison } from '../../client/wire-shapes.js'
import { printable } from '../terminal/terminal.js'

/** Two runs with a common past, side by side: how they ended, then step by step what came out otherwise. */

type Side = RunComparison['a']
type Pair = RunComparison['steps'][number]
type Step = NonNullable<Pair['a']>

const MOST_ROWS = 60

export function comparisonLines(comparison: RunComparison): string[] {
  const { a, b, steps, sharedEvents, more, truncated, equal } = comparison
  const rows = steps.slice(0, MOST_ROWS)
  const width = Math.min(28, Math.max(4, ...rows.map(pair => nameOf(pair).length)))
  return [
    ...sideLines('a', a),
    ...sideLines('b', b),
    sharedEvents > 0
      ? `the same past: ${counted(sharedEvents, 'event')}; what follows is after it`
      : 'they have no past in common, and are compared from the beginning',
    '',
    ...rows.flatMap(pair => pairLines(pair, width)),
    ...(steps.length > MOST_ROWS ? [`… ${steps.length - MOST_ROWS} more steps; --json shows all`] : []),
    ...(truncated ? ['compared in part: a run has too many steps'] : []),
    '',
    `b against a: ${signed(more.tokens)} tokens, ${signedUsd(more.costUsd)}, ${signed(more.toolCalls)} tool calls, ${signed(more.retries)} retries`,
    equal ? pc.green('every step came out alike') : pc.yellow(`${differing(steps)} of ${steps.length} steps differ`),
  ]
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

const differing = (steps: readonly Pair[]): number => steps.filter(({ differs }) => differs.length > 0).length

function sideLines(name: string, { runId, spent, changed, ...side }: Side): string[] {
  return [
    `${name}  ${runId}  ${outcomeText(side)}; ${spent.tokens} tokens, ${spent.costUsd === 0 && spent.tokens > 0 ? 'no cost known' : usd(spent.costUsd)}`,
    ...changed.map(what => printable(`   changed: ${what}`)),
  ]
}

function outcomeText({ status, goalSatisfied, error, labels }: Omit<Side, 'runId' | 'spent' | 'changed'>): string {
  const goal = goalSatisfied === undefined ? [] : [goalSatisfied ? 'goal reached' : 'goal not reached']
  return printable([status, ...(error === undefined ? [] : [error]), ...goal, ...labels].join(', '))
}

const nameOf = ({ nodeId, time }: Pair): string => (time > 1 ? `${nodeId} (${time})` : nodeId)

function pairLines(pair: Pair, width: number): string[] {
  const { a, b, differs } = pair
  const name = printable(nameOf(pair)).slice(0, width).padEnd(width)
  if (a && b && differs.length === 0) return [`= ${name}  ${stepText(a)}${costText(a, b)}`]
  const mark = a && b ? pc.yellow('≠') : a ? pc.red('-') : pc.green('+')
  const what = differs.filter(one => !one.startsWith('only')).join(', ')
  const told = a && b ? `${stepText(a)} → ${stepText(b)}` : `${stepText(a ?? b)}, ${differs.join()}`
  return [
    `${mark} ${name}  ${told}${costText(a, b)}${what === '' ? '' : `  [${what}]`}`,
    ...(a && b && differs.includes('model') ? [`    model  ${cut(a.models.join())} → ${cut(b.models.join())}`] : []),
    ...(['outputs', 'variables'] as const).flatMap(part =>
      differs.includes(part)
        ? [`    ${part} a  ${shownText(a?.[part])}`, `    ${part} b  ${shownText(b?.[part])}`]
        : [],
    ),
  ]
}

function stepText(step: Step | undefined): string {
  if (step === undefined) return 'nothing'
  const { status, error, verdicts, attempts } = step
  const words = verdicts.map(({ gateId, verdict, label }) => `${gateId}: ${label ?? verdict}`)
  const tries = attempts > 1 ? [`${attempts} attempts`] : []
  return printable([status, ...(error === undefined ? [] : [error]), ...words, ...tries].join(', '))
}

const shownText = (value: unknown): string => (value === undefined ? '(too long to show)' : cut(JSON.stringify(value)))

function costText(a: Step | undefined, b: Step | undefined): string {
  const [before, after] = [a?.spent.tokens ?? 0, b?.spent.tokens ?? 0]
  if (before === 0 && after === 0) return ''
  return pc.dim(before === after ? `  ${after} tokens` : `  ${before} → ${after} tokens`)
}

const MOST_CHARACTERS = 96

const cut = (text: string): string => {
  const line = printable(text)
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line
}

const usd = (amount: number): string => `$${amount.toFixed(4)}`
const signed = (amount: number): string => (amount > 0 ? `+${amount}` : String(amount))
const signedUsd = (amount: number): string => `${amount < 0 ? '-' : '+'}${usd(Math.abs(amount))}`

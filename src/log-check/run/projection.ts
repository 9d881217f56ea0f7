import { eachRun, type Fields, type Rule, type RunLog } from '../checked.js'
import { fields, get, list, same, show, text } from '../json.js'
import { foldHeld } from './fold.js'

/** A snapshot is a fold of the log and nothing else. */
export const projectionRules: readonly Rule[] = [
  {
    id: 'L9',
    title: 'A snapshot holds the variables and channels that the log, folded by the checker, gives',
    source: 'core §9.4, §2.1',
    checks: eachRun((run, say) => {
      for (const problem of [...variableProblems(run), ...channelProblems(run)]) say(problem)
    }),
  },
  {
    id: 'L9a',
    title: 'A changed variable tells as previous what the change before told as next',
    source: 'core §5.4',
    checks: eachRun((run, say) => {
      const latest = new Map<string, unknown>()
      for (const event of run.events) {
        if (event.type !== 'variable.changed') continue
        const name = String(event.payload.name)
        const { previous, next } = event.payload
        if (latest.has(name) && previous !== undefined && !same(previous, latest.get(name))) {
          say(`${name} was ${show(latest.get(name))}, the event says ${show(previous)}`, event)
        }
        latest.set(name, next)
      }
    }),
  },
  {
    id: 'L9b',
    title: 'A declared channel is never changed as a variable',
    source: 'core §9.4',
    checks: eachRun((run, say) => {
      const channels = fields(get(run.run.definition, 'channels'))
      for (const event of run.events) {
        const name = text(event.payload.name)
        if (event.type !== 'variable.changed' || name === undefined || !Object.hasOwn(channels, name)) continue
        say(`${name} is a channel`, event)
      }
    }),
  },
]

function variableProblems(run: RunLog): string[] {
  const shown = run.run.snapshot?.variables
  // Without the definition nobody knows the defaults.
  if (shown === undefined || run.run.definition === undefined) return []
  const [seen, real] = [foldHeld(run, 'seen'), foldHeld(run, 'real')]
  const declared = new Set(list(get(run.run.definition, 'variables')).map(variable => get(variable, 'name')))
  const changed = new Set(
    run.events.filter(event => event.type === 'variable.changed').map(event => event.payload.name),
  )
  const problems: string[] = []
  for (const name of new Set([...Object.keys(shown), ...seen.variables.keys()])) {
    // Channels are shown among the variables too; inputs nobody declared may be left out.
    if (seen.channels.has(name)) continue
    if (!Object.hasOwn(shown, name) && !declared.has(name) && !changed.has(name)) continue
    const value = get(shown, name)
    if (same(value, seen.variables.get(name)) || same(value, real.variables.get(name))) continue
    problems.push(`variable ${name} is shown as ${show(value)}, the log gives ${show(seen.variables.get(name))}`)
  }
  return problems
}

function channelProblems(run: RunLog): string[] {
  const shown: Fields | undefined = run.run.snapshot?.channels
  if (shown === undefined) return []
  const [seen, real] = [foldHeld(run, 'seen'), foldHeld(run, 'real')]
  const written = new Set(
    run.events.filter(event => event.type === 'channel.written').map(event => event.payload.channel),
  )
  const problems: string[] = []
  for (const name of new Set([...Object.keys(shown), ...seen.channels.keys()])) {
    if (!written.has(name) && !Object.hasOwn(shown, name)) continue
    const value = get(shown, name)
    if (same(value, seen.channels.get(name)) || same(value, real.channels.get(name))) continue
    problems.push(`channel ${name} is shown as ${show(value)}, the log gives ${show(seen.channels.get(name))}`)
  }
  return problems
}

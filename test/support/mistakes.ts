import { expect } from 'vitest'
import type { Json, JsonObject } from '../../src/core/json.js'

/** Fields by their paths, each with what somebody wrote there; undefined where it was left out. */
export type Slip = { readonly [path: string]: Json | undefined }

/**
 * A mistake of a person and what must be told about it: where it is, the value that was seen there ('' where there is
 * none, or none that may be repeated) and the way out.
 */
export type Mistake = readonly [what: string, slip: Slip, at: string, seen: string, fix: string]

/** The document with the mistake in it. */
export function slipped(document: JsonObject, slip: Slip): JsonObject {
  const copy = structuredClone(document)
  for (const [path, value] of Object.entries(slip)) {
    const steps = path.split(/[.[\]]+/).filter(step => step !== '')
    const last = steps.pop() as string
    let place = copy as { [name: string]: Json | undefined }
    for (const step of steps) place = place[step] as unknown as typeof place
    if (value === undefined) delete place[last]
    else place[last] = value
  }
  return copy
}

/** File, path, value and fix are in one of the problems, and there is next to nothing besides. */
export function expectTold(problems: readonly string[], file: string, [, , at, seen, fix]: Mistake): void {
  expect(problems.length, problems.join('\n')).toBeLessThanOrEqual(2)
  const told = problems.find(problem => problem.includes(`: ${at} `)) ?? problems[0] ?? 'no problem'
  const [before, ...rest] = told.split(`: ${at} `)
  const after = rest.join(`: ${at} `)
  // The document's own name may stand between.
  expect([file, `${file}: gate`, `${file}: intent`, `${file}: knowledge entry`]).toContain(
    before?.replace(/ "[^"]*"$/, ''),
  )
  expect(fix).not.toBe('')
  for (const part of [seen, fix]) expect(after, told).toContain(part)
}

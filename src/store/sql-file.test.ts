import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { readStatements } from './sql-file.js'

const fileOf = (text: string): URL => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'assay-sql-')), 'some.sql')
  writeFileSync(file, text)
  return pathToFileURL(file)
}

const FILE = `-- All about runs.

-- part: run
run_id, tenant

-- name: readRun
-- By its id.
SELECT {run} FROM runs
WHERE run_id = ? AND tags <> '{}';

-- name: listRuns
SELECT {run}, '{unknown}' FROM runs
`

describe('statements in a file', () => {
  test('1, 2: are read by name, with what they share in its place', () => {
    expect(readStatements(fileOf(FILE), ['readRun', 'listRuns'])).toEqual({
      readRun: "SELECT run_id, tenant FROM runs\nWHERE run_id = ? AND tags <> '{}'",
      listRuns: "SELECT run_id, tenant, '{unknown}' FROM runs",
    })
  })

  test.each([
    ['one that is not there', FILE, ['readRun', 'listRuns', 'other'], 'has no statement other'],
    ['one that nothing runs', FILE, ['readRun'], 'has statements that nothing runs: listRuns'],
    ['a name twice', `${FILE}\n-- name: run\nSELECT 1`, [], 'has "run" twice'],
    ['an empty one', `${FILE}\n-- name: more\n`, [], 'has nothing under "more"'],
  ])('1: %s is told when the file is read', (_, text, names, problem) => {
    expect(() => readStatements(fileOf(text), names)).toThrow(problem)
  })
})

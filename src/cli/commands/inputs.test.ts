import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { readInputs } from './inputs.js'

const noStdin = () => Promise.reject(new Error('stdin was read'))
const read = (...values: string[]) => readInputs(values, noStdin)

test('values are JSON when they read as JSON, else text', async () => {
  expect(await read('n=5', 's=five', 'b=true', 'l=[1,2]', 'q="5"', 'e=', 'x=a=b', 'z=null')).toEqual({
    n: 5,
    s: 'five',
    b: true,
    l: [1, 2],
    q: '5',
    e: '',
    x: 'a=b',
    z: null,
  })
})

test('files and stdin merge in order; later ones win', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-inputs-'))
  fs.writeFileSync(path.join(dir, 'in.yaml'), 'a: 1\nb: 1\n')
  fs.writeFileSync(path.join(dir, 'in.json'), '{"b": 2}')
  const values = [`@${dir}/in.yaml`, `@${dir}/in.json`, '-', 'd=4']
  expect(await readInputs(values, async () => '{"c": 3}')).toEqual({ a: 1, b: 2, c: 3, d: 4 })
  fs.rmSync(dir, { recursive: true })
})

test.each([
  ['word', /use name=value, @file or -/],
  ['=5', /use name=value/],
  ['@/nowhere.json', /no such file/],
  ['__proto__={"x":1}', /cannot set __proto__/],
])('%s is refused', async (value, message) => {
  await expect(read(value)).rejects.toThrow(message)
})

test('only an object can be merged', async () => {
  await expect(readInputs(['-'], async () => '[1]')).rejects.toThrow(/must give an object/)
})

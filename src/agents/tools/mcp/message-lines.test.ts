import { describe, expect, test } from 'vitest'
import { messageLines } from './message-lines.js'

function splitting(maxBytes: number) {
  const lines: string[] = []
  let tooLong = 0
  const take = messageLines(
    maxBytes,
    line => lines.push(line),
    () => {
      tooLong += 1
    },
  )
  return { lines, tooLong: () => tooLong, take: (text: string) => take(Buffer.from(text)) }
}

describe('lines of a process', () => {
  test('come whole, however they are cut into chunks', () => {
    const bytes = Buffer.from('{"a":"é"}\n\n  \n{"b":2}\r\nrest')
    for (let size = 1; size <= bytes.length; size += 1) {
      const lines: string[] = []
      const take = messageLines(
        100,
        line => lines.push(line),
        () => expect.unreachable(),
      )
      for (let at = 0; at < bytes.length; at += size) take(bytes.subarray(at, at + size))
      expect(lines).toEqual(['{"a":"é"}', '{"b":2}\r'])
    }
  })

  test('E17: a line over the limit is told once, and nothing after it', () => {
    const { lines, tooLong, take } = splitting(10)
    take('1234567890\n')
    take('12345')
    take('678901')
    take('2\nmore\n')
    expect([lines, tooLong()]).toEqual([['1234567890'], 1])
  })

  test('E17: the limit is on each line, not on all', () => {
    const { lines, tooLong, take } = splitting(10)
    for (let i = 0; i < 100; i += 1) take('12345678\n')
    expect([lines.length, tooLong()]).toEqual([100, 0])
  })
})

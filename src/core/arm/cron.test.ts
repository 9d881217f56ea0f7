import { expect, test } from 'vitest'
import { cronProblem } from './cron.js'

test.each(['* * * * *', '0 9 * * MON-FRI', '*/15 0-6/2,23 1,15 jan,JUL-SEP 7', '30 0 9 * * *', '0  0 1 */12 */7'])(
  '"%s" is an expression',
  expression => {
    expect(cronProblem(expression)).toBeUndefined()
  },
)

test.each([
  ['', 'has 0'],
  ['* * * *', 'has 4; for example "0 9 * * MON-FRI"'],
  ['* * * * * * *', 'has 7'],
  ['60 * * * *', 'has "60" as its minute: a value is a number from 0 to 59'],
  ['0 24 * * *', 'has "24" as its hour: a value is a number from 0 to 23'],
  ['0 0 0 * *', 'has "0" as its day of the month'],
  ['0 0 * 13 *', 'a value is a number from 1 to 12, or one of JAN, FEB'],
  ['0 0 * * 8', 'a value is a number from 0 to 7, or one of SUN, MON'],
  ['0 0 * * FUN', 'as its day of the week'],
  ['0 0 * * FRI-MON', 'the range ends before it begins'],
  ['1-2-3 * * * *', 'a value is a number'],
  ['5/10 * * * *', 'a step is taken of * or of a range'],
  ['*/0 * * * *', 'the step must be from 1 to 60'],
  ['*/61 * * * *', 'the step must be from 1 to 60'],
  ['0 0 * * */8', 'the step must be from 1 to 7'],
  ['1,,2 * * * *', 'an item of the list is missing'],
  ['*/5/5 * * * *', 'the step must be'],
  ['- * * * *', 'a value is a number'],
  ['-5 * * * *', 'a value is a number'],
  ['1e1 * * * *', 'a value is a number'],
  ['? * * * *', 'a value is a number'],
  ['0 0 L * *', 'as its day of the month'],
  ['@daily', 'has 1'],
  ['60 * * * * *', 'as its second'],
  [`${'0,'.repeat(300)}0 * * * *`, 'must have at most 400 characters, and has 609'],
])('"%s" is none: %s', (expression, problem) => {
  expect(cronProblem(expression)).toContain(problem)
})

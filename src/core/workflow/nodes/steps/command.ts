import { isObject } from '../../../json.js'
import { Characters, Closed, ListOf, May, Milliseconds, OneOf } from '../../../schema/kinds.js'
import { completed, type NodeType } from '../../node-type.js'
import { LinesOrSecrets, ofProjectOnly } from '../../own-effects.js'

const REPEATS = ['safe', 'keyed', 'never'] as const

/** What only the host may say. */
const OWN_VARIABLES: readonly string[] = ['PATH', 'HOME', 'LANG', 'ASSAY_EFFECT_ID']

export const commandNode = {
  typeId: 'core.command',
  about:
    'Runs a program in the project folder, its input `stdin` on its standard input: text as it is, anything else as JSON. The output `stdout` is what it prints, 256 KiB at most; with `output: json` the value of it, as `result`. An exit code other than 0 fails the node, with the last words on its standard error. It sees a written environment, a home that is gone afterwards and `ASSAY_EFFECT_ID`, the same each time it is run again. Only workflows in files of the project may have it.',
  config: Closed({
    command: ListOf(Characters(0, 4_096), 1, 256, {
      description: 'The program and its arguments, word by word; no shell reads them',
    }),
    env: May(
      LinesOrSecrets(
        /^[A-Za-z_][A-Za-z0-9_]{0,255}$/,
        'the name of a variable',
        'More variables by name: a line of text, or where a secret is',
      ),
    ),
    output: May(OneOf(['text', 'json'], { description: 'What is printed', default: 'text' })),
    repeat: May(
      OneOf(REPEATS, {
        description: 'Whether it may be run again when nobody knows how far it came, or when it has failed',
        default: 'never',
      }),
    ),
    timeoutMs: May(Milliseconds(1, 3_600_000, { description: 'How long it may take', default: 60_000 })),
  }),
  check: ({ config: { env, command } }, permit) => [
    ...ofProjectOnly(permit, 'core.command'),
    ...(Array.isArray(command) && command[0] === '' ? ['config.command must begin with the name of a program'] : []),
    ...Object.keys(isObject(env) ? env : {})
      .filter(name => OWN_VARIABLES.includes(name))
      .map(name => `config.env.${name} is set by the host; leave it out`),
  ],
  start: ({ config: { command, env, output, repeat, timeoutMs }, inputs, ordinal }) => ({
    kind: 'waiting',
    wait: {
      kind: 'effect',
      provider: 'core.command',
      input: {
        command: command ?? [],
        env: env ?? {},
        output: output ?? 'text',
        timeoutMs: timeoutMs ?? 60_000,
        ...(inputs.stdin === undefined ? {} : { stdin: inputs.stdin }),
      },
      ordinal,
      repeat: REPEATS.find(one => one === repeat) ?? 'never',
    },
  }),
  settle: (_ctx, _wait, outcome) =>
    completed(outcome.kind === 'answer' && isObject(outcome.output) ? outcome.output : {}),
} as const satisfies NodeType

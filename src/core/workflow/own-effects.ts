import type { TSchema } from 'typebox'
import { Type } from 'typebox'
import { Closed, MapOf, Matching } from '../schema/kinds.js'
import type { Permit } from './node-type.js'

/**
 * Effects that this host performs itself for nodes without an agent. Their names are no provider's: nobody brings one
 * under such a name, and no supervisor is decided by one.
 */
export const OWN_EFFECTS = ['core.tool', 'core.http', 'core.command', 'core.step'] as const
export type OwnEffect = (typeof OWN_EFFECTS)[number]

export const isOwnEffect = (provider: string): boolean => OWN_EFFECTS.some(one => one === provider)

const WHERE = '{ env: VARIABLE } or { file: PATH }, which say where a secret is'

/** R-EVENT-6: a secret is named, never written down. */
const SecretPlace = Type.Union(
  [
    Closed({ env: Matching(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/, 'the name of a variable') }),
    Closed({ file: Matching(/^[^\0]{1,4096}$/, 'a file path') }),
  ],
  { 'x-must-be': WHERE, 'x-unquoted': true },
)

/** Lines of text by name, or where a secret is. */
export const LinesOrSecrets = (names: RegExp, what: string, description: string): TSchema =>
  MapOf(
    names,
    what,
    Type.Union([Matching(/^[^\0\r\n]{0,4096}$/, 'one line of text'), SecretPlace], {
      'x-must-be': `one line of text, or ${WHERE}`,
      'x-unquoted': true,
    }),
    { description },
  )

/** Whoever registers a workflow through the API could otherwise ask for any secret, and any program, of the operator's. */
export const ofProjectOnly = ({ ofProject }: Permit, what: string): string[] =>
  ofProject
    ? []
    : [`${what} is for workflows in files of the project only; put this workflow into workflows/ of the project folder`]

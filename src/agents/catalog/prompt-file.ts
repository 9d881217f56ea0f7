import path from 'node:path'
import { Type } from 'typebox'
import { PROMPT_KINDS } from '../../core/invocation/brief.js'
import type { JsonObject } from '../../core/json.js'
import {
  AnyObject,
  Characters,
  Closed,
  DistinctBy,
  Flag,
  ListOf,
  Matching,
  May,
  OneOf,
  TextWhere,
} from '../../core/schema/kinds.js'
import { schemaProblems } from '../../core/schema/problems.js'
import { TEMPLATE_ID } from '../prompts/ref.js'
import { type PromptTemplate, VARIABLE_SOURCES, VARIABLE_TYPES } from '../prompts/template.js'
import { MAX_PROMPT } from './manifest.js'
import { readObject, type SourceFolder } from './source-folder.js'
import { refuseIf } from './unusable.js'
import { isVersion } from './versions.js'

/** Names, with a dot before all but the first and those behind a number; numbers behind a dot or in brackets. */
const EXTRACT_PATH = /^\$?(?:[A-Za-z_][\w-]*)?(?:(?:\.\d+|\[\d+\])(?:[A-Za-z_][\w-]*)?|\.[A-Za-z_][\w-]*)*$/

const VariableSchema = Closed({
  name: Matching(/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/, 'a name of letters, digits and _, 64 at most', {
    description: 'What stands between the braces',
  }),
  type: OneOf(VARIABLE_TYPES, { description: 'What it holds' }),
  required: Flag({ description: 'The prompt cannot do without it' }),
  /** Secrets are for tools and providers; a prompt is no place for one, whoever would read it (R-PROMPT-5). */
  source: May(
    OneOf(VARIABLE_SOURCES, {
      description: 'Where it is taken from',
      'x-must-be': `one of ${VARIABLE_SOURCES.join(', ')} (secrets are not put into prompts: give one to the tool that needs it)`,
    }),
  ),
  extractPath: May(
    TextWhere('a dotted path such as $.order.items[0]', given => given !== '' && EXTRACT_PATH.test(given), {
      description: 'Where in the source it stands',
    }),
  ),
  defaultValue: May(Type.Unknown({ description: 'What it is where the source has none' })),
  description: May(Characters(0, 500, { description: 'What it is for' })),
})

const dottedIn = (text: string): string | undefined => /\{\{\s*([a-zA-Z_]\w*(?:\.\w+)+)\s*\}\}/.exec(text)?.[1]

export const PromptSchema = Closed({
  templateId: May(
    Matching(TEMPLATE_ID, 'a-z, 0-9, . _ -, 128 characters at most', {
      description: "What references name it by; the file's name where left out",
    }),
  ),
  version: May(TextWhere('a version such as 1.0.0', isVersion, { description: 'Which one this is', default: '1.0.0' })),
  kind: OneOf(PROMPT_KINDS, { description: 'What part of a conversation it is' }),
  text: Type.Refine(
    Characters(1, MAX_PROMPT, { description: 'The prompt, with {{name}} where a variable goes' }),
    text => dottedIn(text) === undefined,
    text => `has {{${dottedIn(text)}}}; declare a variable without dots, with extractPath`,
  ),
  name: May(Characters(0, 200, { description: 'What people call it' })),
  description: May(Characters(0, 2000, { description: 'What it is for' })),
  variables: May(
    DistinctBy(
      ListOf(VariableSchema, 0, 100, { description: 'What goes into it' }),
      one => (one as { readonly name: string }).name,
    ),
  ),
  modelHints: May(AnyObject({ description: 'Kept for other tools; not read here' })),
  tags: May(ListOf(Characters(1, 64), 0, 32, { description: 'Words to find it by' })),
  meta: May(AnyObject({ description: 'Kept for other tools; not read here' })),
})

/** `templateId` may be left out: then it is the file's name; so may `version`. Throws; see `problemsOf`. */
export async function readPrompt(folder: SourceFolder, file: string): Promise<PromptTemplate> {
  const given: JsonObject = {
    templateId: path.basename(file, path.extname(file)),
    version: '1.0.0',
    ...(await readObject(folder, file)),
  }
  refuseIf(`${folder.shown}${file}`, schemaProblems(PromptSchema, given))
  return given as unknown as PromptTemplate
}

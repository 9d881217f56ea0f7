import path from 'node:path'
import { PROMPT_KINDS } from '../../core/invocation/brief.js'
import type { Json, JsonObject } from '../../core/json.js'
import { TEMPLATE_ID } from '../prompts/ref.js'
import { type PromptTemplate, VARIABLE_SOURCES, VARIABLE_TYPES } from '../prompts/template.js'
import { anyObject, anything, type Check, closed, flag, listOf, oneOf, text, textOf } from './fields.js'
import { MAX_PROMPT } from './manifest.js'
import { readObject, type SourceFolder } from './source-folder.js'
import { refuseIf } from './unusable.js'
import { isVersion } from './versions.js'

const EXTRACT_PATH = /^\$?(\.?[A-Za-z_][\w-]*|\.\d+|\[\d+\])*$/

/** Secrets are for tools and providers; a prompt is no place for one, whoever would read it (R-PROMPT-5). */
const source: Check = (value, field) =>
  value === 'secret'
    ? [`${field} is "secret"; secrets are not put into prompts: give the secret to the tool that needs it`]
    : oneOf(VARIABLE_SOURCES)(value, field)

const variable = closed(
  {
    name: text('a name of letters, digits and _, 64 at most', name => /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/.test(name)),
    type: oneOf(VARIABLE_TYPES),
    required: flag,
    source,
    extractPath: text('a dotted path such as $.order.items[0]', given => EXTRACT_PATH.test(given) && given !== ''),
    defaultValue: anything,
    description: textOf(0, 500),
  },
  ['name', 'type', 'required'],
)

const FIELDS = closed(
  {
    templateId: text('a-z, 0-9, . _ -, 128 characters at most', id => TEMPLATE_ID.test(id)),
    version: text('a version such as 1.0.0', isVersion),
    kind: oneOf(PROMPT_KINDS),
    text: textOf(1, MAX_PROMPT),
    name: textOf(0, 200),
    description: textOf(0, 2000),
    variables: listOf(variable, 100),
    modelHints: anyObject,
    tags: listOf(textOf(1, 64), 32),
    meta: anyObject,
  },
  ['templateId', 'version', 'kind', 'text'],
)

/** `templateId` may be left out: then it is the file's name; so may `version`. Throws; see `problemsOf`. */
export async function readPrompt(folder: SourceFolder, file: string): Promise<PromptTemplate> {
  const given: JsonObject = {
    templateId: path.basename(file, path.extname(file)),
    version: '1.0.0',
    ...(await readObject(folder, file)),
  }
  refuseIf(`${folder.shown}${file}`, [...FIELDS(given, ''), ...variableProblems(given)])
  return given as unknown as PromptTemplate
}

function variableProblems({ variables, text: body }: JsonObject): readonly string[] {
  const names = (Array.isArray(variables) ? (variables as readonly Json[]) : []).map(each => (each as JsonObject)?.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  const dotted = typeof body === 'string' ? /\{\{\s*([a-zA-Z_]\w*(?:\.\w+)+)\s*\}\}/.exec(body)?.[1] : undefined
  return [
    ...(twice === undefined ? [] : [`variables has ${JSON.stringify(twice)} twice; keep one of them`]),
    ...(dotted === undefined ? [] : [`text has {{${dotted}}}; declare a variable without dots, with extractPath`]),
  ]
}

import type { AskedInterrupt } from '../../client/wire-shapes.js'
import { BUDGET_DIMENSIONS, settingOf } from '../../core/budget/budget.js'
import { type Json, withKey } from '../../core/json.js'
import { answerCommands, answerFrom, questionsOf } from '../progress/interrupt-text.js'
import { UsageError } from '../terminal/usage-error.js'
import { readJson } from './inputs.js'

/** How `interrupts resolve` says an answer. */
export type AnswerOptions = {
  readonly accept?: true
  readonly add: readonly string[]
  readonly reject?: true
  readonly refine?: string
  readonly edit?: string
  readonly answer: readonly string[]
  readonly value?: string
  readonly feedback?: string
  readonly shown?: string
}

type ReadStdin = () => Promise<string>

/** The resume value that the options say; throws UsageError when they do not say one, or not one for this kind. */
export async function answerGiven(interrupt: AskedInterrupt, options: AnswerOptions, stdin: ReadStdin): Promise<Json> {
  const { accept, reject, refine, edit, answer, value } = options
  const given = [accept, reject, refine, edit, answer.length > 0 ? answer : undefined, value]
  if (given.filter(one => one !== undefined).length !== 1) throw new UsageError(oneAnswer(interrupt))
  if (value !== undefined) return plainValue(await readJson(value, '--value', stdin), options)
  if (answer.length > 0) return answers(interrupt, options)
  if (interrupt.kind !== 'approval') throw new UsageError(wrongKind(interrupt, 'an approval'))
  if (options.add.length > 0 && !accept) throw new UsageError('--add goes with --accept')
  return {
    ...(accept && { action: 'accept' }),
    ...(options.add.length > 0 && { budgetDelta: added(options.add) }),
    ...(reject && { action: 'reject' }),
    ...(refine !== undefined && { action: 'refine', refineFeedback: { scope: 'whole', text: refine } }),
    ...(edit !== undefined && { action: 'edit-accept', editedArtifactData: await readJson(edit, '--edit', stdin) }),
    ...(options.feedback !== undefined && { feedback: options.feedback }),
    ...claim(options),
  }
}

/** What a run may spend more, by ceiling. */
function added(given: readonly string[]): Json {
  const amounts = given.map((text): [string, number] => {
    const [, setting = '', amount] = /^([^=]+)=(.+)$/.exec(text) ?? []
    const isKnown = BUDGET_DIMENSIONS.some(dimension => settingOf(dimension) === setting)
    if (isKnown && Number.isFinite(Number(amount))) return [setting, Number(amount)]
    const known = BUDGET_DIMENSIONS.map(settingOf).join(', ')
    throw new UsageError(`--add ${JSON.stringify(text)} is not understood; use ceiling=amount, with one of ${known}`)
  })
  return Object.fromEntries(amounts)
}

const claim = ({ shown }: AnswerOptions) => (shown === undefined ? {} : { shownHash: shown })

function plainValue(value: Json, { feedback, shown, add }: AnswerOptions): Json {
  if (feedback === undefined && shown === undefined && add.length === 0) return value
  throw new UsageError('--value is the whole answer; put the feedback, the shownHash and the budgetDelta into it')
}

function answers(interrupt: AskedInterrupt, options: AnswerOptions): Json {
  if (interrupt.kind !== 'clarification') throw new UsageError(wrongKind(interrupt, 'a clarification'))
  if (options.feedback !== undefined) throw new UsageError('--feedback is for approvals')
  const questions = questionsOf(interrupt.data)
  let said: { readonly [id: string]: Json } = {}
  for (const text of options.answer) {
    const [, id, words] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    if (id === undefined || words === undefined)
      throw new UsageError(`--answer ${JSON.stringify(text)} is not understood; use question=answer`)
    const question = questions.find(one => one.id === id)
    if (question === undefined) throw new UsageError(`${JSON.stringify(id)} was not asked; ${asked(interrupt)}`)
    said = withKey(said, id, answerFrom(question, words))
  }
  const missing = questions.filter(({ id }) => !Object.hasOwn(said, id))
  if (missing.length > 0)
    throw new UsageError(`not answered: ${missing.map(({ id }) => id).join(', ')}; every question needs its answer`)
  return { answers: said, ...claim(options) }
}

const asked = ({ data }: AskedInterrupt): string =>
  `the questions are ${questionsOf(data)
    .map(({ id }) => id)
    .join(', ')}`

const wrongKind = (interrupt: AskedInterrupt, meant: string): string =>
  `that answers ${meant}, but ${interrupt.nodeId} waits for ${interrupt.kind}; use ${answerCommands(interrupt)[0]}`

const oneAnswer = (interrupt: AskedInterrupt): string =>
  `say one answer, such as ${answerCommands(interrupt)[0]}; assay interrupts show ${interrupt.runId} ${interrupt.nodeId} has all`

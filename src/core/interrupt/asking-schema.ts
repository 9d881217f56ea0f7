import { type TSchema, Type } from 'typebox'
import { isObject, type JsonObject } from '../json.js'
import { AnyObject, Closed, DistinctBy, ListOf, May, NumberFrom, OneOf, Whole } from '../schema/kinds.js'
import { schemaProblems } from '../schema/problems.js'
import { Anything, Open, SchemaField, SomeText, Timeout } from '../workflow/fields.js'
import { APPROVAL_ACTIONS, type InterruptKind } from './interrupt.js'

/** What may be asked of people (contract core §7), as a configuration or a port says it. */

const itself = (item: unknown) => item

/** Fields of the protocol that this host cannot heed. */
const Unsupported = () =>
  May(Type.Unsafe<never>({ not: {}, 'x-must-be': 'left out: this host knows principals only; use approversList' }))

/** The part of an approval that its author writes by hand. */
export const APPROVAL_OPTIONS = {
  actions: May(
    DistinctBy(
      ListOf(OneOf(APPROVAL_ACTIONS), 1, APPROVAL_ACTIONS.length, { description: 'What may be answered' }),
      itself,
    ),
  ),
  requiredApprovals: May(
    Whole(1, Number.MAX_SAFE_INTEGER, { description: 'How many people have to accept', default: 1 }),
  ),
  approversList: May(
    DistinctBy(
      ListOf(SomeText(), 1, 100_000, {
        description: 'Principals who may answer; whoever has the scope, where absent',
        'x-must-be': 'a list of at least one name',
      }),
      itself,
    ),
  ),
  rejectionPolicy: May(
    OneOf(['single-veto', 'majority'], { description: 'How many refusals refuse it', default: 'single-veto' }),
  ),
  approverGroupRefs: Unsupported(),
  approverRoleRefs: Unsupported(),
  audience: Unsupported(),
  overrideBypassesQuorum: Unsupported(),
}

/**
 * R-ASK-15: whoever writes an empty list down means no list. One that a port brings has come out empty, and is refused:
 * nobody has said that everybody may answer.
 */
export const WRITTEN_APPROVERS = May(
  DistinctBy(
    ListOf(SomeText(), 0, 100_000, {
      description: 'Principals who may answer; whoever has the scope, where absent or empty',
      'x-must-be': 'a list of names',
    }),
    itself,
  ),
)

/** A rule about two of them. */
export function approvalProblems({ requiredApprovals, approversList }: JsonObject, field: string): string[] {
  const isNamed = Array.isArray(approversList) && approversList.length > 0
  const names = isNamed ? approversList.length : Number.POSITIVE_INFINITY
  return Number(requiredApprovals ?? 1) > names
    ? [`${field}.requiredApprovals is ${requiredApprovals}, more than approversList has names (${names}); lower it`]
    : []
}

const QUESTION = {
  id: SomeText({ description: 'By which the answer is found' }),
  question: SomeText({ description: 'What is asked' }),
  schema: May(SchemaField({ description: 'What an answer must fit' })),
}

const questionsOf = (question: TSchema) =>
  DistinctBy(
    ListOf(question, 1, 100_000, {
      description: 'What is asked, each with an id of its own',
      'x-must-be': 'a list of at least one question',
    }),
    item => isObject(item as JsonObject) && (item as JsonObject).id,
  )

/** As an author writes them: nothing but what is known. */
export const Questions = questionsOf(Closed(QUESTION))

/** How long a question stands, and what an answer must fit. */
export const WAITING = {
  timeoutMs: May(Timeout('How long an answer may take; 0 or absent: as long as it takes')),
  resumeSchema: May(SchemaField({ description: 'What the answer must fit' })),
}

const Share = (description: string) => NumberFrom(0, 1, { description })

/** What each kind of question shows. More than this may be shown. */
const ASKED: { readonly [Kind in InterruptKind]: TSchema } = {
  approval: Open({
    artifactId: SomeText(),
    artifactType: SomeText(),
    title: SomeText(),
    ...APPROVAL_OPTIONS,
    actions: DistinctBy(ListOf(OneOf(APPROVAL_ACTIONS), 1, APPROVAL_ACTIONS.length), itself),
  }),
  clarification: Open({ questions: questionsOf(Open(QUESTION)) }),
  'external-event': Open({
    eventType: SomeText(),
    correlation: AnyObject({ minProperties: 1, 'x-must-be': 'an object with at least one key' } as object),
  }),
  custom: Open({ customKind: SomeText() }),
  'low-confidence': Open({
    agentId: SomeText(),
    threshold: Share('From which on it would not have been asked'),
    observed: Share('What the agent was sure of'),
    decision: May(Anything()),
  }),
}

/** Everything wrong with what is to be asked; each entry names the field and the fix. */
export function askingProblems(kind: InterruptKind, data: JsonObject, field: string): string[] {
  const problems = schemaProblems(ASKED[kind], data, field)
  return problems.length === 0 && kind === 'approval' ? approvalProblems(data, field) : problems
}

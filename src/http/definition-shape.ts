import type { Refusal } from '../core/problem.js'
import { WorkflowDefinitionBody } from '../wire/workflow.js'
import { compileCheck } from './check.js'

/** What is wrong with the shape of a workflow definition; undefined when nothing is. */
export const definitionShape: (value: unknown) => Refusal | undefined = compileCheck(
  WorkflowDefinitionBody,
  'definition',
)

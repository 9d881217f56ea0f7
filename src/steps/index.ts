/** `assay/steps`: what files in `steps/` of a project are written with. */

export {
  defineStep,
  type StepContext,
  type StepDefinition,
  StepError,
  type StepRequest,
  type StepResponse,
  type StepSecret,
} from './code/define-step.js'
export {
  defineWorkflow,
  type EdgeOf,
  type EdgeText,
  expression,
  type NodeConfig,
  type NodeOf,
  type NodeTypeId,
  output,
  value,
  variable,
  type WorkflowSketch,
} from './code/define-workflow.js'

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

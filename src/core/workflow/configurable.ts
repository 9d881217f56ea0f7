import { BudgetSchema } from '../budget/budget.js'
import { MODEL_CLASSES } from '../invocation/brief.js'
import type { JsonObject } from '../json.js'
import { patternOf } from '../names.js'
import { Closed, MapOf, May, Milliseconds, NumberFrom, OneOf, Text, Whole } from '../schema/kinds.js'
import { schemaProblems } from '../schema/problems.js'
import { Open } from './fields.js'

const Temperature = (description: string) => May(NumberFrom(0, 2, { description }))
const Count = (description: string) => May(Whole(1, Number.MAX_SAFE_INTEGER, { description }))

/**
 * What the host understands of a run's options. Above a ceiling is not wrong: the ceiling holds (core §10). Options
 * that are not in here are for the workflow, whose `configurableSchema` judges them.
 */
export const ConfigurableSchema = Open(
  {
    ai: May(
      Closed(
        {
          provider: May(Text(256, { description: 'Who is called' })),
          model: May(Text(256, { description: 'Which of its models' })),
          temperature: Temperature('How freely it answers'),
          maxOutputTokens: Count('Tokens of one answer'),
          agents: May(
            MapOf(
              new RegExp(patternOf('actorId')),
              'the id of an agent',
              Closed({
                model: May(
                  Text(256, { description: 'Its model, as provider:model, or of the provider it would have' }),
                ),
                modelClass: May(OneOf(MODEL_CLASSES, { description: 'Its class, in place of that of its manifest' })),
              }),
              { description: 'Models of single agents, by id; verifiers keep theirs' },
            ),
          ),
        },
        { description: 'The model that agents of this run use, in place of what the host would choose' },
      ),
    ),
    budget: May(BudgetSchema),
    reasoningVerbosity: May(
      OneOf(['summary', 'full', 'off'], {
        description: 'How much of the reasoning of agents is told',
        default: 'summary',
      }),
    ),
    recursionLimit: Count('Nodes that the run may start'),
    runTimeoutMs: May(
      Milliseconds(1, Number.MAX_SAFE_INTEGER, {
        description: 'How long the run may take, from its start',
        'x-must-be': 'a whole number of milliseconds, 1 or more',
      }),
    ),
    maxLoopIterations: Count('Turns that an orchestrator may take'),
    escalationThreshold: May(
      NumberFrom(0, 1, { description: 'Below which confidence the decision of an agent is held for a person' }),
    ),
    temperature: Temperature('How freely models answer, where ai says nothing'),
    maxTokens: Count('Tokens of one answer, where ai says nothing'),
  },
  { description: 'Options of the run. What is not among these is for the workflow.' },
)

/**
 * Everything wrong with the options that the host understands; each entry names the field and what it must be. Most runs
 * have no options, and none is needed.
 */
export const configurableProblems = (configurable: JsonObject | undefined): string[] =>
  configurable === undefined ? [] : schemaProblems(ConfigurableSchema, configurable, 'configurable')

import type { Json } from '../core/json.js'
import { Closed, May, Text } from '../core/schema/kinds.js'
import { type Document, readAs } from '../core/schema/problems.js'
import type { Knowledge } from '../core/verification/gate.js'
import { PublicAddress } from './address.js'
import { StandardId } from './names.js'

const MAX_TEXT = 32 * 1024

export const KnowledgeSchema = Closed({
  entry_id: StandardId({ description: 'What gates name it by' }),
  title: Text(256, { description: 'What it is called' }),
  text: Text(MAX_TEXT, { description: 'What verifiers are told' }),
  url: May(PublicAddress({ description: 'Where it can be read in full' })),
})

/** What verifiers may know besides the output; or all that is wrong with it. */
export const completeKnowledge = (document: Json): Document<Knowledge> => readAs<Knowledge>(KnowledgeSchema, document)

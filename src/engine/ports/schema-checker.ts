import type { Json, JsonObject } from '../../core/json.js'

/** Checks values against schemas that users wrote, away from the main thread and under limits. */
export interface SchemaChecker {
  /** Undefined when the schema itself is acceptable, else what is wrong with it. */
  inspect(schema: JsonObject): Promise<string | undefined>
  /** Undefined when the value conforms, else what is wrong with it. */
  check(schema: JsonObject, value: Json): Promise<string | undefined>
  close(): Promise<void>
}

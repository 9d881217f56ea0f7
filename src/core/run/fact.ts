/** What an event is made of: see `event.ts` for what each part is for. */
export type Fact<Type extends string, Payload, Secret = never> = {
  readonly type: Type
  readonly nodeId?: string
  readonly payload: Readonly<Payload>
  readonly secret?: Secret
  /** Sequence, in the same run, of the event that led to this one. */
  readonly cause?: number
}

export type NodeFact<Type extends string, Payload, Secret = never> = Fact<Type, Payload, Secret> & {
  readonly nodeId: string
}

/** Capabilities that a suite may switch off: what is then registered is judged by a host that lacks them. */
export const SWITCHABLE = ['agents.dispatchMapping', 'subWorkflow.inputMapping'] as const
export type Switchable = (typeof SWITCHABLE)[number]

/** Which of them are off, by tenant. */
export class SwitchedOff {
  readonly #off = new Map<string, ReadonlySet<Switchable>>()

  of(tenant: string): ReadonlySet<Switchable> {
    return this.#off.get(tenant) ?? NONE
  }

  switch(tenant: string, name: Switchable, isOn: boolean): void {
    const off = new Set(this.of(tenant))
    if (isOn) off.delete(name)
    else off.add(name)
    if (off.size === 0) this.#off.delete(tenant)
    else this.#off.set(tenant, off)
  }

  reset(tenant: string): void {
    this.#off.delete(tenant)
  }
}

const NONE: ReadonlySet<Switchable> = new Set()

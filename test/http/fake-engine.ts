import type { RunEngine } from '../../src/engine/api.js'

/** The real engine with some answers replaced: for faults and states it cannot be brought to from outside. */
export const overriding =
  (replaced: (engine: RunEngine) => Partial<RunEngine>) =>
  (engine: RunEngine): RunEngine => {
    const own = replaced(engine)
    return new Proxy(engine, {
      get(target, name) {
        const value = Reflect.get(Object.hasOwn(own, name) ? own : target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { TenantErased } from '../engine/ports/tenants.js'
import { MemoryStore } from '../store/memory/memory-store.js'
import { ManualClock } from '../testing/manual-clock.js'
import { createTenantVaults } from './tenant-vaults.js'
import { createVault, DataKeyUnknown, SealBroken } from './vault.js'

const key = randomBytes(32)
const CONTENTS = { said: 'CNRY-said' }

function rig(store = new MemoryStore(), host = createVault([key])) {
  const clock = new ManualClock()
  return { store, clock, host, vaults: createTenantVaults({ host, store, clock }) }
}

it('each tenant has a key of its own, the same on every host, and only the wrapped one is stored', async () => {
  const { store, vaults } = rig()
  const sealed = (await vaults.of('acme')).seal('effect', CONTENTS)
  expect(sealed).toMatch(/^v2\.[0-9a-f]{16}\.[A-Za-z0-9_-]+$/)
  expect((await rig(store).vaults.of('acme')).open('effect', sealed)).toEqual(CONTENTS)
  const rival = await vaults.of('rival')
  expect(() => rival.open('effect', sealed)).toThrow(DataKeyUnknown)
  expect(rival.seal('effect', CONTENTS).split('.')[1]).not.toBe(sealed.split('.')[1])
  expect(await store.readDataKey('acme')).toMatch(/^v1\./)
})

it('hosts that make the key at once seal with the one that was first', async () => {
  const store = new MemoryStore()
  const hosts = await Promise.all(Array.from({ length: 4 }, () => rig(store).vaults.of('acme')))
  const sealed = hosts.map(vault => vault.seal('effect', CONTENTS))
  for (const vault of hosts) for (const text of sealed) expect(vault.open('effect', text)).toEqual(CONTENTS)
})

it('what was sealed before tenants had keys still opens', async () => {
  const { host, vaults } = rig()
  const old = host.seal('acme', 'effect', CONTENTS)
  expect((await vaults.of('acme')).open('effect', old)).toEqual(CONTENTS)
  const rival = await vaults.of('rival')
  expect(() => rival.open('effect', old)).toThrow(SealBroken)
})

it('once the key is destroyed nothing that it has sealed opens, and there is no other', async () => {
  const { store, clock, vaults } = rig()
  const sealed = (await vaults.of('acme')).seal('effect', CONTENTS)
  await store.eraseTenants([{ tenant: 'acme', askedAt: 0, keyId: 'k', signature: 's' }])
  await expect(rig(store).vaults.of('acme')).rejects.toThrow(TenantErased)
  clock.skip(10_000)
  await expect(vaults.of('acme')).rejects.toThrow(TenantErased)
  expect(() => createVault([key]).open('acme', 'effect', sealed)).toThrow(SealBroken)
})

it('a host that cannot unwrap the key goes on with its own', async () => {
  const { store, vaults } = rig()
  const sealed = (await vaults.of('acme')).seal('effect', CONTENTS)
  const other = await rig(store, createVault([randomBytes(32)])).vaults.of('acme')
  expect(() => other.open('effect', sealed)).toThrow(SealBroken)
  expect(other.open('effect', other.seal('effect', CONTENTS))).toEqual(CONTENTS)
})

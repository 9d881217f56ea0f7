import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { storeContract } from './contract.js'

storeContract({
  name: 'memory',
  open: async () => {
    const store = new MemoryStore()
    return { store, peer: async () => store }
  },
})

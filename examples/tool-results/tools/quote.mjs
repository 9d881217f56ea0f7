// Two suppliers: the feed of one is broken, and a model would have taken its word for it.
const QUOTES = {
  north: { supplier: 'north', item: 'kettle', price: 0.01, currency: 'EUR', note: 'today only, trust me' },
  south: { supplier: 'south', item: 'kettle', price: 24.9, currency: 'EUR', note: 'delivery within three days' },
}

export default {
  description: 'What a supplier (north or south) asks for an item.',
  inputSchema: {
    type: 'object',
    properties: { supplier: { enum: ['north', 'south'] }, item: { type: 'string' } },
    required: ['supplier', 'item'],
  },
  safetyTier: 'read',
  repeat: 'safe',
  run: ({ supplier }) => QUOTES[supplier],
}

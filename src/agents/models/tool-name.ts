const LONGEST = 64

/** The name by which a model knows a tool: what providers allow in names, and no other tool's. */
export function toolName(toolId: string, taken: ReadonlySet<string>): string {
  const plain = toolId.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, LONGEST) || 'tool'
  if (!taken.has(plain)) return plain
  for (let n = 2; ; n += 1) {
    const name = `${plain.slice(0, LONGEST - String(n).length - 1)}_${n}`
    if (!taken.has(name)) return name
  }
}

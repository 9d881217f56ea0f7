import type { Source } from './source.js'

/**
 * One word, one meaning: no two modules of a program export the same name. These are programs of their own, which share
 * no code with the host or stand in for one another behind the same port, so each has its own words.
 */
const PROGRAMS = ['client/', 'log-check/', 'store/memory/', 'store/sqlite/', 'store/postgres/']

/** Modules whose names may be met twice, with the reason. */
const EXCEPTIONS: { readonly [file: string]: string } = {
  'project/reading.ts': 'reads files of a project: the small words of a reader (text, flag, list)',
  'project/settings.ts': 'reads settings: the same small words',
}

const EXPORTED = /^export (?:abstract )?(?:async )?(?:function\*?|class|interface|type|const|let|enum) (\w+)/gm

const programOf = (file: string): string => PROGRAMS.find(place => file.startsWith(place)) ?? 'host'

/** Names that two modules of one program export, each with where. */
export function namesTwice(sources: readonly Source[]): string[] {
  const places = new Map<string, Set<string>>()
  for (const { file, text } of sources) {
    if (file.includes('testing/') || Object.hasOwn(EXCEPTIONS, file)) continue
    for (const [, name = ''] of text.matchAll(EXPORTED)) {
      const word = `${programOf(file)}: ${name}`
      places.set(word, (places.get(word) ?? new Set()).add(file))
    }
  }
  return [...places].flatMap(([word, files]) => (files.size > 1 ? [`${word} (${[...files].join(', ')})`] : []))
}

/** A folder is one idea: the number of source files beyond which it is two. */
const MOST_FILES = 27

/** Folders with more source files than one idea has. */
export function crowdedFolders(files: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const file of files) {
    const folder = file.slice(0, file.lastIndexOf('/') + 1)
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts].flatMap(([folder, count]) => (count > MOST_FILES ? [`${folder}: ${count} files`] : []))
}

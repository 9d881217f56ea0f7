import { refText } from '../prompts/ref.js'
import type { FindPrompt, PromptProblem, PromptTemplate } from '../prompts/template.js'
import { compareVersions } from './versions.js'

/** A template, and the library it belongs to: the host's, the project's or a pack's. */
export type LibraryPrompt = { readonly libraryId: string; readonly template: PromptTemplate }

/** Finds a template by reference: the latest version, in the one library that has it. */
export function promptFinder(prompts: readonly LibraryPrompt[]): FindPrompt {
  const byId = grouped(prompts)
  return (ref, home) => {
    const { templateId, libraryId, version } = ref
    const matching = (byId.get(templateId) ?? []).filter(
      ({ template, libraryId: library }) =>
        (version === undefined || template.version === version) && (libraryId === undefined || library === libraryId),
    )
    const near = matching.filter(({ libraryId: library }) => library === home)
    const found = near.length > 0 ? near : matching
    const libraries = [...new Set(found.map(({ libraryId: library }) => library))]
    if (libraries.length > 1) return ambiguous(refText(ref), libraries)
    const latest = found.reduce<LibraryPrompt | undefined>(
      (best, one) => (best && compareVersions(best.template.version, one.template.version) >= 0 ? best : one),
      undefined,
    )
    return latest === undefined ? missing(refText(ref), libraryId) : { ok: true, ...latest }
  }
}

function grouped(prompts: readonly LibraryPrompt[]): ReadonlyMap<string, readonly LibraryPrompt[]> {
  const byId = new Map<string, LibraryPrompt[]>()
  for (const prompt of prompts) {
    const known = byId.get(prompt.template.templateId)
    if (known === undefined) byId.set(prompt.template.templateId, [prompt])
    else known.push(prompt)
  }
  return byId
}

const ambiguous = (ref: string, libraries: readonly string[]): PromptProblem => ({
  ok: false,
  code: 'prompt_ref_ambiguous',
  message: `${ref} is in several libraries (${libraries.join(', ')}); say which with {templateId, libraryId}`,
})

const missing = (ref: string, libraryId: string | undefined): PromptProblem => ({
  ok: false,
  code: 'prompt_ref_unresolved',
  message: `there is no ${ref}${libraryId === undefined ? '' : ` in the library ${libraryId}`}`,
})

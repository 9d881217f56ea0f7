/**
 * The contract as docs/contract has it, and what is wrong between it, the tests and the source.
 *
 *   | Id | Strength | Requirement | Decided |   a requirement; `MUST · not yet` is one of something that is not built
 *   | Mark | …                                 a numbered point that tests and comments cite
 *   | Section | …                              a section of the text that they cite
 *   | Id | Why there is no test |              in untested.md
 */
import fs from 'node:fs'
import path from 'node:path'
import { collectRequirements, marksOf, readTests } from './requirements.mjs'
import { titlesOf } from './test-titles.mjs'

const PAGES = 'docs/contract'
const UNTESTED = `${PAGES}/untested.md`
const MOST_IDS = 6
const STRENGTH = /^(MUST|SHOULD|MAY)( · not yet)?$/

export function readContract(root) {
  const contract = { requirements: new Map(), marks: new Map(), sections: new Set(), untested: new Map(), problems: [] }
  const folder = path.join(root, PAGES)
  const pages = fs.existsSync(folder) ? fs.readdirSync(folder).filter(name => name.endsWith('.md')) : []
  for (const page of pages.sort())
    readPage(contract, `${PAGES}/${page}`, fs.readFileSync(path.join(folder, page), 'utf8'))
  const rules = path.join(root, 'docs/reference/log-rules.md')
  if (fs.existsSync(rules)) {
    for (const [, rule] of fs.readFileSync(rules, 'utf8').matchAll(/^\| (L\d+[a-z]?) /gm))
      state(contract, rule, 'docs/reference/log-rules.md')
  }
  for (const [file, text] of readSource(root)) {
    // The list at the head of a file: ` *  S1  …`.
    for (const [, mark] of text.matchAll(/^\s*\*\s\s([A-Z]\d{1,2})\s{1,2}(?=\S)/gm)) state(contract, mark, file)
  }
  return contract
}

function readPage(contract, page, text) {
  for (const [, mark] of text.matchAll(/^## ([A-Z]\d{1,2})\. /gm)) state(contract, mark, page)
  let columns = []
  for (const line of text.split('\n')) {
    const cells = line.startsWith('|')
      ? line
          .slice(1, line.lastIndexOf('|'))
          .split('|')
          .map(cell => cell.trim())
      : []
    if (cells.length === 0) columns = []
    else if (columns.length === 0) columns = cells
    else if (!/^-+$/.test(cells[0])) readRow(contract, page, columns, cells)
  }
}

function readRow(contract, page, columns, [first, ...others]) {
  if (columns[0] === 'Section') contract.sections.add(first)
  else if (columns[0] === 'Mark') state(contract, first, page)
  else if (columns[0] === 'Id' && page === UNTESTED) contract.untested.set(first, others[0] ?? '')
  else if (columns[0] === 'Id' && columns[1] === 'Strength') {
    const [, strength, notYet] = STRENGTH.exec(others[0]) ?? []
    if (strength === undefined) contract.problems.push(`${page}: ${first} is “${others[0]}”, not MUST, SHOULD or MAY`)
    if (!others[1] || others.length !== 3)
      contract.problems.push(`${page}: ${first} has not the four columns of its table`)
    if (contract.requirements.has(first)) contract.problems.push(`${page}: ${first} is said twice`)
    contract.requirements.set(first, {
      id: first,
      strength,
      built: !notYet,
      sentence: others[1],
      page: page.slice('docs/'.length),
    })
  }
}

function state(contract, mark, place) {
  if (!contract.marks.has(mark)) contract.marks.set(mark, new Set())
  contract.marks.get(mark).add(place)
}

/** The product, without tests, by path. */
function readSource(root) {
  const names = fs.readdirSync(path.join(root, 'src'), { recursive: true })
  const files = names.filter(name => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  return files.map(name => {
    const file = path.posix.join('src', name.split(path.sep).join('/'))
    return [file, fs.readFileSync(path.join(root, file), 'utf8')]
  })
}

/** What is wrong, each in a sentence that says what to do; nothing when the contract is kept. */
export function contractProblems(root) {
  const contract = readContract(root)
  const tests = readTests(root)
  const texts = new Map([...readSource(root), ...tests, ...readPages(root)])
  return [
    ...contract.problems,
    ...untested(contract, collectRequirements(tests)),
    ...[...tests].flatMap(([file, text]) => titlesOf(text).flatMap(title => titleProblems(contract, file, title))),
    ...[...texts].flatMap(([file, text]) => textProblems(contract, file, text)),
  ]
}

function untested({ requirements, untested }, found) {
  const problems = []
  for (const { id, strength, built, page } of requirements.values()) {
    const isDemanded = built && strength === 'MUST'
    const isTested = found.has(id)
    const isListed = untested.has(id)
    if (isDemanded && !isTested && !isListed)
      problems.push(
        `${id} (docs/${page}) is a MUST without a test: name it in the title of one, or list it with a reason in ${UNTESTED}`,
      )
    if (isListed && isTested) problems.push(`${id} is listed in ${UNTESTED} and has a test: take it off the list`)
    if (isListed && !isDemanded) problems.push(`${id} is listed in ${UNTESTED} and needs no test: take it off the list`)
    if (!built && isTested) problems.push(`${id} (docs/${page}) is marked “not yet” and has a test: take the mark away`)
  }
  for (const [id, reason] of untested) {
    if (!requirements.has(id)) problems.push(`${UNTESTED} lists ${id}, which no page of ${PAGES} knows`)
    if (reason === '') problems.push(`${UNTESTED} gives no reason for ${id}`)
  }
  return problems
}

function titleProblems({ marks }, file, title) {
  const named = marksOf(title)
  const unknown = named.filter(mark => /^[A-Z]\d/.test(mark) && !marks.has(mark))
  return [
    ...unknown.map(
      mark =>
        `${file}: “${title}” names ${mark}, which is stated nowhere: neither in ${PAGES} nor at the head of a file`,
    ),
    ...(named.length > MOST_IDS
      ? [
          `${file}: “${title}” names ${named.length} ids; ${MOST_IDS} is the most: give them to the tests that show each`,
        ]
      : []),
  ]
}

const CITED = /(?<foreign>Spec \d+ |RFC \d+ )?(?:(?<text>core|agents) )?§(?<section>\d+(?:\.\d+)*)/g

function textProblems({ requirements, marks, sections }, file, text) {
  const problems = new Set()
  for (const [, mark] of text.matchAll(/§[\d.]+ ([A-Z]\d{1,2})\b/g))
    if (!marks.has(mark)) problems.add(`${file}: ${mark} is stated nowhere: see ${PAGES}/readings.md`)
  for (const [id] of text.matchAll(/\bR-[A-Z]+-\d+[a-z]?\b/g))
    if (!requirements.has(id)) problems.add(`${file}: ${id} is on no page of ${PAGES}`)
  for (const { groups } of text.matchAll(CITED)) {
    if (groups.foreign) continue
    const places = groups.text ? [groups.text] : ['core', 'agents']
    if (!places.some(place => sections.has(`${place} §${groups.section}`)))
      problems.add(
        `${file}: ${groups.text ? `${groups.text} ` : ''}§${groups.section} is not listed in ${PAGES}/sections.md`,
      )
  }
  return [...problems]
}

/** What people read: the pages in docs/ and at the root, but for what is generated and what has been. */
function readPages(root) {
  const docs = path.join(root, 'docs')
  const names = fs.existsSync(docs) ? fs.readdirSync(docs, { recursive: true }) : []
  const pages = names
    .filter(name => name.endsWith('.md') && name !== 'requirements.md')
    .map(name => path.join('docs', name))
  return pages.map(page => [page.split(path.sep).join('/'), fs.readFileSync(path.join(root, page), 'utf8')])
}

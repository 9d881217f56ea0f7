import semver from 'semver'
import { VERSION } from '../prompts/ref.js'

/** Versions as packs and prompts have them (SemVer 2.0.0), and the ranges that packs ask for (as npm reads them). */

export const RANGE_RULE = '1.2.3, ^1.2.3, ~1.2.3, 1.x, ">=1.2.0 <2.0.0", several of them with ||, or *'

/** The pattern knows no `v1.2.3`; SemVer has no leading zeros and no numbers too large to compare. */
export const isVersion = (version: string): boolean => VERSION.test(version) && semver.valid(version) !== null

/** Nothing between two `||` would mean any version, which nobody who writes it means. */
export const isRange = (range: string): boolean =>
  range.split('||').every(part => part.trim() !== '') && semver.validRange(range) !== null

/** A pre-release is in a range that names a pre-release of the same version, and in `*`: any version at all. */
export const satisfies = (version: string, range: string): boolean =>
  semver.satisfies(version, range, { includePrerelease: range.trim() === '*' })

/** Negative when `a` is the older one. Build metadata does not count. */
export const compareVersions = (a: string, b: string): number => semver.compare(a, b)

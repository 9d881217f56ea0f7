/**
 * An effect is taken over from a claim that its host left open. It may have happened, unless the run itself already
 * counts the abandoned try: then a higher attempt is a fresh one.
 */
export const mayHaveHappened = (abandonedAttempt: number, attempt: number): boolean => abandonedAttempt >= attempt
